"""Loops that are compiled where numba is installed."""

from fairlab.checks import MissingExtraError, required

try:
    _njit, IS_COMPILED = required("numba").njit, True
except MissingExtraError:
    _njit, IS_COMPILED = None, False


def compiling(**options):
    """Return a decorator that compiles a function with further options of numba; without numba, it does nothing."""
    if IS_COMPILED:
        return _njit(cache=True, error_model="numpy", nogil=True, **options)
    return lambda function: function


compiled = compiling()  # without numba, plain Python: too slow for real runs
