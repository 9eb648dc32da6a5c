"""Seeds derived from names, so that adding a draw or running a subset changes nothing else."""

import hashlib
from numbers import Integral


def derive_seed(*names: str | int, bits: int = 32) -> int:
    """Return a seed in [0, 2**bits) that depends on all `names` and on nothing else.

    Parameters
    ----------
    *names : str or int
        For instance the user's seed, the trial's name and number, and the stream (``"gan"``, ``"test"``).
    bits : int
        A multiple of 8, at most 256. Every library takes 32; NumPy's generators take any number.

    Raises
    ------
    ValueError
        If there is no name, one is neither text nor a whole number, or the bits are no such multiple.

    Examples
    --------
    >>> from fairlab.seeds import derive_seed
    >>> derive_seed(0, "fliptest/lipton", 3, "gan") == derive_seed(0, "fliptest/lipton", 3, "gan")
    True
    """
    odd = [name for name in names if not isinstance(name, str | Integral)]
    if odd or not names:
        raise ValueError(f"names: expected texts and whole numbers, at least one, found {odd[0] if odd else 'none'!r}")
    if bits not in range(8, 257, 8):
        raise ValueError(f"bits: expected a multiple of 8 from 8 to 256, found {bits!r}")
    digest = hashlib.sha256("\x1f".join(map(str, names)).encode()).digest()
    return int.from_bytes(digest[: bits // 8], "big")
