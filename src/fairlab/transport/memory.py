"""Refusing a problem that will not fit, before it takes the machine down."""

import psutil

from fairlab.checks import check_number

GIB = 2**30


def free_bytes(limit_gb: float | None) -> int:
    """Return the bytes that may be used: those that the machine has free, or the user's limit in GiB if it is lower."""
    if limit_gb is not None:
        check_number(limit_gb, "memory_limit_gb", above=0)
    available = psutil.virtual_memory().available
    return available if limit_gb is None else min(available, int(limit_gb * GIB))


def require_memory(n_bytes: int, what: str, *, limit_gb: float | None, advice: str) -> None:
    """Raise a MemoryError with advice if `n_bytes` exceed the free memory or the limit.

    Parameters
    ----------
    n_bytes : int
        Estimated need.
    what : str
        What needs it.
    limit_gb : float or None
        The user's limit in GiB; none by default.
    advice : str
        What to do instead.
    """
    allowed = free_bytes(limit_gb)
    if n_bytes > allowed:
        limited = limit_gb is not None and allowed == int(limit_gb * GIB)
        source = "the limit is" if limited else "this machine has free"
        raise MemoryError(f"{what} needs about {n_bytes / GIB:.2g} GiB, {source} {allowed / GIB:.2g} GiB; {advice}")
