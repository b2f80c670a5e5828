"""Errors of loading a data set. Each message says what to do."""


class DatasetError(Exception):
    """A data set could not be loaded."""


class UnknownDatasetError(DatasetError, ValueError):
    """There is no data set of this name."""


class MissingDatasetError(DatasetError, FileNotFoundError):
    """The data set is in none of the folders searched."""


class CorruptDatasetError(DatasetError, ValueError):
    """The file exists, but it does not hold the data set."""


class DownloadError(DatasetError, OSError):
    """The data set, or one of its files, could not be fetched."""
