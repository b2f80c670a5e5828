"""What can go wrong with a data set: each error says what to do."""


class UnknownDatasetError(ValueError):
    """No data set has this name."""


class MissingDatasetError(FileNotFoundError):
    """The data set is in none of the folders searched."""


class CorruptDatasetError(ValueError):
    """The file is there, but it does not hold the data set."""


class DownloadError(OSError):
    """The data set, or one of its files, could not be fetched."""
