"""The exact map in one dimension, in closed form."""

import numpy as np

from fairlab.checks import check_features


def monotone_rearrangement(source, target) -> np.ndarray:
    """Return the image of each source value under the optimal map between two equally large samples.

    The smallest goes to the smallest, the second to the second and so on; this is optimal for every cost that is a
    convex function of the distance, ``squared_l1`` among them (FlipTest, section 5.5).

    Parameters
    ----------
    source, target : array-like of shape (n,)

    Returns
    -------
    array of shape (n,)
        In the order of `source`, in the unit of `target`. Equal source values keep their order.

    Raises
    ------
    ValueError
        If a sample is empty, not one-dimensional, has missing or infinite values, or the sizes differ.

    Examples
    --------
    >>> from fairlab.transport import monotone_rearrangement
    >>> monotone_rearrangement(np.array([3.0, 1.0]), np.array([10.0, 20.0])).tolist()
    [20.0, 10.0]
    """
    source, target = (
        check_features(np.reshape(values, (-1, 1)) if np.ndim(values) == 1 else values, name)[0]
        for name, values in (("source", source), ("target", target))
    )
    for name, values in (("source", source), ("target", target)):
        if values.shape[1] != 1:
            raise ValueError(f"{name}: expected one dimension, found {values.shape[1]} columns")
    if len(source) != len(target):
        raise ValueError(f"source has {len(source)} values, target has {len(target)}; expected as many")
    image = np.empty(len(source))
    image[np.argsort(source[:, 0], kind="stable")] = np.sort(target[:, 0])
    return image
