"""Check whether experiments fit into the available memory, before any of them starts.

The file of an experiment declares its memory on one core; every run measures it (``gigabytes`` in ``run.json``).
"""

from collections.abc import Iterable

from fairlab.suite.catalogue import PROFILES, specification

OWN_GB = 0.5  # of a batch: its own processes, and the libraries that those of all experiments share
JOB_GB = 0.015  # of each experiment that waits for its turn
ALONE_GB = 0.4  # of one experiment that is run by itself: its own process and the notebook's
LIBRARIES_GB = 0.2  # of each of its workers, which share none


def need_gb(name: str, profile: str, n_cores: int, n_experiments: int | None = None) -> float:
    """Return the memory that an experiment needs, in GB; 0 if its file does not declare it.

    If the paper profile was not measured, this is a lower bound.

    Parameters
    ----------
    name, profile : str
    n_cores : int
        Workers that compute its trials.
    n_experiments : int or None
        Size of the batch; None for a single run.
    """
    known = specification(name).gigabytes
    if known is None:
        return 0.0
    own = known.least(profile)
    if n_experiments is None:
        return ALONE_GB + n_cores * (LIBRARIES_GB + own)
    return OWN_GB + JOB_GB * n_experiments + n_cores * own


def is_measured(name: str, profile: str) -> bool:
    """Return whether the memory of an experiment was measured at this profile."""
    known = specification(name).gigabytes
    return known is not None and getattr(known, profile) is not None


def most_cores(
    names: Iterable[str], profile: str, wished: int, left_gb: float, n_experiments: int | None = None
) -> int:
    """Return the largest number of cores, up to `wished`, on which all fit that fit on one."""
    names = [name for name in names if need_gb(name, profile, 1, n_experiments) <= left_gb]

    def fit(n_cores):
        return all(need_gb(name, profile, n_cores, n_experiments) <= left_gb for name in names)

    return next((n_cores for n_cores in range(wished, 1, -1) if fit(n_cores)), 1)


def refusals(
    names: Iterable[str],
    profile: str,
    n_cores: int,
    left_gb: float,
    n_experiments: int | None = None,
    flag: str = "--jobs",
) -> dict[str, str]:
    """Return the experiments that do not fit, each with needed and available memory, and what would fit.

    `flag` is the option for the number of cores.
    """
    reasons = {}
    for name in names:
        need = need_gb(name, profile, n_cores, n_experiments)
        if need <= left_gb:
            continue
        on = f"{n_cores} core" + "s" * (n_cores > 1)
        fits = _what_fits(name, profile, n_cores, left_gb, n_experiments, flag)
        words = "needs" if is_measured(name, profile) else "needs at least"
        reasons[name] = f"{words} {need:.1f} GB of memory on {on}, {left_gb:.1f} GB are available; {fits}"
    return reasons


def _what_fits(name, profile, n_cores, left_gb, n_experiments, flag) -> str:
    fewer = most_cores([name], profile, n_cores, left_gb, n_experiments)
    if need_gb(name, profile, fewer, n_experiments) <= left_gb:
        return f"it fits with {flag} {fewer}"
    for smaller in reversed(PROFILES[: PROFILES.index(profile)]):
        if need_gb(name, smaller, 1, n_experiments) <= left_gb:
            return f"it fits with --profile {smaller}" + f" {flag} 1" * (n_cores > 1)
    return "no smaller size fits"
