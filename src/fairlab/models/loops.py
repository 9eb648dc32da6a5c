"""Loops that are compiled where numba is installed."""

from fairlab.checks import MissingExtraError, required

try:
    compiled = required("numba").njit(cache=True, error_model="numpy", nogil=True)
    IS_COMPILED = True
except MissingExtraError:  # the same in plain Python, far too slow for more than a look

    def compiled(function):
        """Leave a function as it is."""
        return function

    IS_COMPILED = False
