"""Errors and warnings about data."""


class DataError(Exception):
    """Data is missing, is not what the registry says, or cannot be written.

    Examples
    --------
    >>> from fairlab.data import DataError, DataUnavailableError
    >>> issubclass(DataUnavailableError, DataError)
    True
    """


class RegistryError(DataError):
    """The registry contains an invalid entry.

    Examples
    --------
    >>> from fairlab.data import DataError, RegistryError
    >>> issubclass(RegistryError, DataError)
    True
    """


class DataUnavailableError(DataError):
    """No source has the right file.

    Attributes
    ----------
    rejected : tuple of str
        One reason for every source whose file was wrong.

    Examples
    --------
    >>> from fairlab.data import DataUnavailableError
    >>> raise DataUnavailableError("adult.data: no source had it", rejected=("mirror: wrong hash",))
    Traceback (most recent call last):
    ...
    fairlab.data.errors.DataUnavailableError: adult.data: no source had it
    """

    def __init__(self, message: str, rejected: tuple[str, ...] = ()):
        super().__init__(message)
        self.rejected = rejected


class SurrogateWarning(UserWarning):
    """A surrogate is used in place of real data.

    Examples
    --------
    >>> from fairlab.data import SurrogateWarning
    >>> issubclass(SurrogateWarning, UserWarning)
    True
    """
