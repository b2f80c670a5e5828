"""Errors of a reproduction. Each message says what to do."""


class ReproductionError(Exception):
    """The reproduction cannot continue."""


class RecordsError(ReproductionError):
    """The records in the output folder cannot be used."""
