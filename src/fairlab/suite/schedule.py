"""Which experiment of a batch runs next, and how long the rest will take."""

from collections.abc import Collection, Mapping, Sequence

TRUSTED_MINUTES = 1.0  # that the planned minutes weigh against measured ones
LEAST_MEASURED = 0.2  # minutes of a core from which on they say how fast the batch is
LEAST_LEFT = 0.05  # of an experiment that runs, as a share of its minutes: what takes longer than planned is not done


class Schedule:
    """Experiments that are to run, that run, and that have ended.

    Parameters
    ----------
    minutes : mapping of str to float
        Planned minutes of one core, by experiment.
    after : mapping of str to sequence of str
        The experiments of the batch that must have ended before one begins.
    n_cores : int
        Experiments at a time.
    """

    def __init__(self, minutes: Mapping[str, float], after: Mapping[str, Sequence[str]], n_cores: int):
        self.minutes, self.after, self.n_cores = dict(minutes), dict(after), n_cores
        self.waiting = set(self.minutes)
        self.running: set[str] = set()
        self.ended: dict[str, float] = {}  # with the minutes that each took

    def next(self, among: Collection[str] | None = None) -> str | None:
        """Return the experiment to begin; None if all cores are taken or all that is left waits for another to end.

        Parameters
        ----------
        among : collection of str or None
            Only one of these.

        Notes
        -----
        Shortest first, unless an experiment, with those that wait for it, takes as long as a core's share of all that
        is left: it would keep one core busy when the others have nothing left to do.
        """
        ready = [name for name in sorted(self.waiting) if not self._awaited(name)]
        if among is not None:
            ready = [name for name in ready if name in among]
        if len(self.running) >= self.n_cores or not ready:
            return None
        longest = max(ready, key=self.chain)
        if self.chain(longest) >= sum(self.minutes[name] for name in self.waiting | self.running) / self.n_cores:
            return longest
        return min(ready, key=lambda name: (self.minutes[name], name))

    def begin(self, name: str) -> None:
        """Note that an experiment runs."""
        self.waiting.discard(name)
        self.running.add(name)

    def end(self, name: str, minutes: float) -> None:
        """Note that an experiment ended, and the minutes of one core that it took."""
        self.running.discard(name)
        self.ended[name] = minutes

    def drop(self, name: str) -> list[str]:
        """Take out, and return, what waits for an experiment that failed: it will not run."""
        dropped = [other for other in sorted(self.waiting) if name in self.after.get(other, ())]
        self.waiting.difference_update(dropped)
        return dropped + [more for other in dropped for more in self.drop(other)]

    def chain(self, name: str) -> float:
        """Return the planned minutes of an experiment and of the longest row of those that wait for it."""
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

    def _awaited(self, name):
        return [other for other in self.after.get(name, ()) if other in self.waiting | self.running]
