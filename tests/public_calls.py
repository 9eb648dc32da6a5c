"""Valid calls of public callables, for the contract of bad input."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field


class Lazy:
    """A good value that takes long to make."""

    def __init__(self, make):
        self.make = make


@dataclass
class Use:
    """A valid call of a public callable.

    Attributes
    ----------
    call : callable
    good : dict
        Arguments by name.
    then : callable
        What is done with the result: estimators check their parameters when they are used.
    bad : dict
        By parameter, a kind that its name does not tell, bad values of its own, or None if it takes everything.
    """

    call: Callable
    good: dict = field(default_factory=dict)
    then: Callable = lambda result: None
    bad: dict = field(default_factory=dict)

    @property
    def name(self):
        call = getattr(self.call, "func", self.call)
        return f"{call.__module__}.{call.__qualname__}".removeprefix("fairlab.")

    def run(self, **changes):
        given = {name: value.make() if isinstance(value, Lazy) else value for name, value in self.good.items()}
        with warnings.catch_warnings(action="ignore"):
            return self.then(self.call(**given | changes))
