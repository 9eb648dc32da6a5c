"""Refusing a problem that will not fit, before it takes the machine down."""

import psutil

GIB = 2**30


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
    available = psutil.virtual_memory().available
    allowed = available if limit_gb is None else min(available, limit_gb * GIB)
    if n_bytes > allowed:
        source = "the limit is" if allowed < available else "this machine has free"
        raise MemoryError(f"{what} needs about {n_bytes / GIB:.2g} GiB, {source} {allowed / GIB:.2g} GiB; {advice}")
