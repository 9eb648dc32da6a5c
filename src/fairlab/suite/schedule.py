"""Scheduling of a batch: the next experiment, and the time until the end."""

from bisect import insort
from collections.abc import Collection, Mapping, Sequence

TRUSTED_MINUTES = 1.0  # that the planned minutes weigh against measured ones
LEAST_MEASURED = 0.2  # minutes of a core from which on they say how fast the batch is
LATE = 0.02  # of all minutes: what the end may come later than with all cores busy, so that the shortest go first
LEAST_LEFT = 0.05  # of an experiment that runs, as a share of its minutes: what takes longer than planned is not done


class Schedule:
    """Waiting, running and finished experiments.

    Parameters
    ----------
    minutes : mapping of str to float
        Planned minutes of one core, by experiment.
    after : mapping of str to sequence of str
        The experiments of the batch that must end before one starts.
    n_cores : int
        Experiments at a time.
    """

    def __init__(self, minutes: Mapping[str, float], after: Mapping[str, Sequence[str]], n_cores: int):
        self.minutes, self.after, self.n_cores = dict(minutes), dict(after), n_cores
        self.waiting = set(self.minutes)
        self.running: set[str] = set()
        self.ended: dict[str, float] = {}  # with the minutes that each took

    def next(self, among: Collection[str] | None = None, spent: Mapping[str, float] | None = None) -> str | None:
        """Return the next experiment; None if all cores are busy or all others wait for a running one.

        Parameters
        ----------
        among : collection of str or None
            Only one of these.
        spent : mapping of str to float, optional
            Minutes that those that run took so far; none by default.

        Notes
        -----
        Shortest first, unless the batch would then end late even if the longest remaining chain always runs next.
        """
        ready = self._ready(self.waiting, self.waiting | self.running)
        if among is not None:
            ready = [name for name in ready if name in among]
        if len(self.running) >= self.n_cores or not ready:
            return None
        shortest = min(ready, key=lambda name: (self.minutes[name], name))
        longest = max(ready, key=self.chain)
        left = {name: max(0.0, self.minutes[name] - (spent or {}).get(name, 0.0)) for name in self.running}
        shared = sum(left.values()) + sum(self.minutes[name] for name in self.waiting)
        least = (shared + LATE * sum(self.minutes.values())) / self.n_cores
        end = self._end(shortest, left)
        return longest if end > least and end > self._end(longest, left) else shortest

    def begin(self, name: str) -> None:
        """Record that an experiment has started."""
        self.waiting.discard(name)
        self.running.add(name)

    def end(self, name: str, minutes: float) -> None:
        """Record that an experiment has ended, and its minutes on one core."""
        self.running.discard(name)
        self.ended[name] = minutes

    def drop(self, name: str) -> list[str]:
        """Remove and return the experiments that wait for a failed one; they will not run."""
        dropped = [other for other in sorted(self.waiting) if name in self.after.get(other, ())]
        self.waiting.difference_update(dropped)
        return dropped + [more for other in dropped for more in self.drop(other)]

    def chain(self, name: str) -> float:
        """Return the planned minutes of an experiment and of the longest chain of those that wait for it."""
        followers = [other for other in self.waiting if name in self.after.get(other, ())]
        return self.minutes[name] + max(map(self.chain, followers), default=0.0)

    def minutes_left(self, spent: Mapping[str, float], elapsed: float) -> float:
        """Return the minutes until everything has ended.

        Parameters
        ----------
        spent : mapping of str to float
            Minutes of a core that those that run took so far.
        elapsed : float
            Minutes since the batch began.
        """
        planned = TRUSTED_MINUTES + sum(self.minutes[name] for name in self.ended)
        factor = (TRUSTED_MINUTES + sum(self.ended.values())) / planned
        left = {name: factor * self.minutes[name] for name in self.waiting}
        for name in self.running:
            whole = factor * self.minutes[name]
            left[name] = max(whole - spent.get(name, 0.0), LEAST_LEFT * whole)
        done = sum(self.ended.values()) + sum(spent.values())
        cores = done / elapsed if done > LEAST_MEASURED else self.n_cores  # that were really ours
        chains = [left[name] + factor * (self.chain(name) - self.minutes[name]) for name in left]
        return max(sum(left.values()) / cores, max(chains, default=0.0) / min(1.0, cores / self.n_cores))

    def _end(self, first, left):
        """Return the minutes until all have ended, if `first` starts now and then always the longest chain."""
        waiting, chains = self.waiting - {first}, {name: self.chain(name) for name in self.waiting}
        ends = sorted([*((minutes, name) for name, minutes in left.items()), (self.minutes[first], first)])
        clock = 0.0
        while ends:
            clock, _ = ends.pop(0)
            while len(ends) < self.n_cores:
                ready = self._ready(waiting, waiting.union(name for _, name in ends))
                if not ready:
                    break
                name = max(ready, key=chains.__getitem__)
                waiting.remove(name)
                insort(ends, (clock + self.minutes[name], name))
        return clock

    def _ready(self, waiting, unended):
        return [name for name in sorted(waiting) if unended.isdisjoint(self.after.get(name, ()))]
