"""What can go wrong with data."""


class DataError(Exception):
    """Data is missing, is not what the registry says, or cannot be written."""


class RegistryError(DataError):
    """The registry says something that cannot be meant."""


class DataUnavailableError(DataError):
    """No source had the right file.

    Attributes
    ----------
    rejected : tuple of str
        One reason for every source that did have a file, but a wrong one.
    """

    def __init__(self, message: str, rejected: tuple[str, ...] = ()):
        super().__init__(message)
        self.rejected = rejected


class SurrogateWarning(UserWarning):
    """Generated stand-in data is used in place of real data."""
