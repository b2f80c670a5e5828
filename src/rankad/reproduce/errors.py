"""What can go wrong with a reproduction: each error says what to do."""


class ReproductionError(Exception):
    """The reproduction cannot go on."""


class RecordsError(ReproductionError):
    """The records in the output folder cannot be gone on with."""
