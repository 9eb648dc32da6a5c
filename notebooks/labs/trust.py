"""Lab 7: a method that does not keep its error rate, hidden among others that do."""

from collections.abc import Callable, Mapping

import numpy as np

from fairlab.labs.draws import course_rng


def sabotage(methods: Mapping[str, Callable], course: int = 0) -> dict[str, Callable]:
    """Return methods by name, one of which was broken: its intervals are too narrow.

    Parameters
    ----------
    methods : mapping of str to callable
        Each returns the lower and the upper ends of intervals.
    course : int
        Which method, and by how much, is drawn from it.

    Examples
    --------
    >>> from fairlab.labs.trust import sabotage
    >>> methods = {"a": lambda tables: ([0.0], [1.0]), "b": lambda tables: ([0.0], [1.0])}
    >>> broken = sabotage(methods)
    >>> sum(np.ptp(broken[name](None)) < 1 for name in methods)
    1
    """
    rng = course_rng("sabotage", course)
    names = list(methods)
    broken, factor = names[rng.integers(len(names))], rng.uniform(0.6, 0.7)

    def company(name):
        """Return a function whose name does not tell whether it was broken."""

        def method(tables):
            low, high = map(np.asarray, methods[name](tables))
            middle, half = (low + high) / 2, factor * (high - low) / 2
            return (middle - half, middle + half) if name == broken else (low, high)

        return method

    return {name: company(name) for name in names}
