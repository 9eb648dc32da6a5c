"""Many codes drawn as NumPy draws them: a compiled loop."""

import numpy as np

from fairlab.models.loops import IS_COMPILED as IS_COMPILED
from fairlab.models.loops import compiled


@compiled
def codes_of(numbers: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return what Lemire's method makes of random numbers, and whether it would take others for some of them.

    A number becomes the upper half of its product with the size. If the lower half is less than the size, which
    happens in a few of 10^8 cases, the method may need another number, and all that follow are others.

    Parameters
    ----------
    numbers : ndarray of uint32 of shape (n_rows * n_features,)
    sizes : ndarray of int64 of shape (n_features,)

    Returns
    -------
    codes : ndarray of int64 of shape (n_features, n_rows)
        From 0 to less than the feature's size.
    is_doubtful : bool

    Examples
    --------
    >>> from fairlab.cases.draws import codes_of
    >>> codes, is_doubtful = codes_of(np.array([2**31, 2**31, 2**32 - 1, 2**30], dtype=np.uint32), np.array([2, 7]))
    >>> codes.tolist(), bool(is_doubtful)
    ([[1, 1], [3, 1]], True)
    """
    n_rows, is_doubtful = len(numbers) // len(sizes), False
    codes = np.empty((len(sizes), n_rows), dtype=np.int64)
    for row in range(n_rows):
        for feature in range(len(sizes)):
            product = np.int64(numbers[row * len(sizes) + feature]) * sizes[feature]
            codes[feature, row] = product >> 32
            is_doubtful |= (product & 0xFFFFFFFF) < sizes[feature]
    return codes, is_doubtful
