"""What can go wrong with a data set: each error says what to do."""


class DatasetError(Exception):
    """A data set could not be loaded."""


class UnknownDatasetError(DatasetError, ValueError):
    """No data set has this name."""


class MissingDatasetError(DatasetError, FileNotFoundError):
    """The data set is in none of the folders searched."""


class CorruptDatasetError(DatasetError, ValueError):
    """The file is there, but it does not hold the data set."""


class DownloadError(DatasetError, OSError):
    """The data set, or one of its files, could not be fetched."""
