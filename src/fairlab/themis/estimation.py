"""Estimates of both scores from as few tests as the precision needs (section 4.1, algorithms 1 and 2)."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass

import numpy as np

from fairlab.themis.memory import Memory
from fairlab.themis.sampling import Looks, Rounds, Sampling

GROUPS_AT_ONCE = 2_000
CELLS = 50_000  # inputs that are looked at in one go
MOST_TOGETHER = 16  # estimates
SHOWN = 5  # pairs of inputs that a causal estimate gives as examples
Asking = Generator[np.ndarray, np.ndarray, object]  # yields inputs as codes, is sent their outputs, returns an estimate


@dataclass(frozen=True)
class Causal:
    """A causal estimate.

    Attributes
    ----------
    count : float
        Inputs whose output other values change, or the sum of the largest distances.
    samples : int
        Inputs that were drawn and count.
    tests : int
        Inputs that algorithm 2 looks at for them, counterparts included.
    inputs, counterparts : ndarray of int of shape (n_shown, n_characteristics)
        Codes of the first that change, at most `SHOWN`, and of what changes them.
    is_exact : bool
        Whether all inputs were tried.
    """

    count: float
    samples: int
    tests: int
    inputs: np.ndarray
    counterparts: np.ndarray
    is_exact: bool = False


@dataclass(frozen=True)
class Estimation:
    """A program, and when to stop sampling it.

    Estimates are generators that yield the inputs whose outputs they need, so that many share the program's runs; see
    `together`.

    Attributes
    ----------
    memory : Memory
    sampling : Sampling or Looks
    output_distance : callable or None
        See `fairlab.themis.Themis`.
    """

    memory: Memory
    sampling: Sampling | Looks
    output_distance: Callable | None = None

    def group(self, positions: list[int], rng: np.random.Generator) -> Asking:
        """Return positive outputs and samples of every group, in the order of `Schema.assignments` (algorithm 1)."""
        n_groups = self.memory.schema.n_assignments(positions)
        count = self._enumerate_groups if self.enumerates(positions) else self._sample_groups
        chunks = []
        for start in range(0, n_groups, GROUPS_AT_ONCE):
            chunks.append((yield from count(positions, range(start, min(start + GROUPS_AT_ONCE, n_groups)), rng)))
        counts, samples = (np.concatenate(part) for part in zip(*chunks, strict=True))
        return counts, samples

    def enumerates(self, positions: list[int]) -> bool:
        """Whether groups are so small that all of their inputs are tried, and their shares known exactly."""
        schema = self.memory.schema
        return self.sampling.enumerates(schema.n_assignments(others(positions, len(schema.sizes))), measure="group")

    def assignments(self, positions: list[int], numbers) -> np.ndarray:
        """Return the codes of assignments by their numbers."""
        sizes = [self.memory.schema.sizes[position] for position in positions]
        return np.column_stack(np.unravel_index(np.asarray(numbers), sizes))

    def causal(self, positions: list[int], rng: np.random.Generator) -> Asking:
        """Return how many random inputs, or of all, change their output with the characteristics (algorithm 2)."""
        schema, drawn = self.memory.schema, []

        def look_at(inputs):
            drawn.append((inputs, *(yield from self.changes(inputs, positions))))
            return drawn[-1][1]

        if is_exact := self.sampling.enumerates(schema.n_inputs, measure="causal"):
            changed = yield from look_at(schema.assignments(range(len(schema.sizes))))
            count, samples = changed.sum(), schema.n_inputs
        else:
            [count], [samples] = yield from _answered(
                self.sampling.rounds(1), lambda series: look_at(schema.sample_codes(len(series), random_state=rng))
            )
        inputs, changed, tests, partner = (np.concatenate(part)[:samples] for part in zip(*drawn, strict=True))
        shown = np.flatnonzero(changed)[:SHOWN]
        inputs, partner = inputs[shown], partner[shown]
        counterparts = inputs.copy()
        counterparts[:, positions] = self.assignments(positions, partner)
        return Causal(float(count), int(samples), int(tests.sum()), inputs, counterparts, is_exact)

    def changes(self, inputs: np.ndarray, positions: list[int]) -> Asking:
        """Tell for every input whether, or how far, some other values of the characteristics change its output.

        Returns
        -------
        changed, tests, partner : ndarray of shape (n_inputs,)
            The change; how many inputs had to be looked at, in the order of the assignments, up to the first change;
            and the number of the assignment that changes it most, 0 if none does.
        """
        schema = self.memory.schema
        n_values = schema.n_assignments(positions)
        own = np.ravel_multi_index(tuple(inputs[:, positions].T), [schema.sizes[p] for p in positions])
        outputs = yield inputs
        changed, looked = np.zeros(len(inputs)), np.full(len(inputs), n_values)
        partner = np.zeros(len(inputs), dtype=np.int64)
        active, start, width = np.arange(len(inputs)), 0, 1
        while start < n_values and len(active):
            stop = min(start + width, n_values)
            codes = np.empty((inputs.shape[1], len(active), stop - start), dtype=inputs.dtype)
            for column, values in zip(codes, inputs.T, strict=True):
                column[:] = values.take(active)[:, None]
            codes[positions] = schema.assignments(positions, start=start, stop=stop).T[:, None]
            answers = yield codes.reshape(len(codes), -1).T
            difference = self._difference(np.repeat(outputs[active], stop - start), answers)
            difference = difference.reshape(len(active), -1)
            more = difference.max(axis=1) > changed[active]
            changed[active[more]] = difference[more].max(axis=1)
            partner[active[more]] = start + difference[more].argmax(axis=1)
            if self.output_distance is None:  # one change is enough
                looked[active[more]] = partner[active[more]] + 1
                active = active[~more]
            start, width = stop, min(2 * width, max(1, CELLS // max(1, len(active))))
        return changed, looked + (own >= looked), partner

    def _enumerate_groups(self, positions, groups: range, rng) -> Asking:
        schema = self.memory.schema
        rest = others(positions, len(schema.sizes))
        n_others = schema.n_assignments(rest)
        codes = np.empty((len(groups), n_others, len(schema.sizes)), dtype=np.int64)
        codes[:, :, positions] = schema.assignments(positions, start=groups.start, stop=groups.stop)[:, None, :]
        if rest:
            codes[:, :, rest] = schema.assignments(rest)
        outputs = (yield codes.reshape(-1, codes.shape[-1])).reshape(len(groups), n_others)
        return outputs.sum(axis=1).astype(float), np.full(len(groups), n_others)

    def _sample_groups(self, positions, groups: range, rng) -> Asking:
        schema = self.memory.schema
        fixed = schema.assignments(positions, start=groups.start, stop=groups.stop)

        def draw(series):
            codes = schema.sample_codes(len(series), random_state=rng)
            for position, values in zip(positions, fixed.T, strict=True):  # quicker than all at once
                codes[:, position] = values.take(series)
            return (yield codes)

        return (yield from _answered(self.sampling.rounds(len(groups)), draw))

    def _difference(self, first, second) -> np.ndarray:
        if self.output_distance is None:
            return first != second
        distance = np.asarray(self.output_distance(first, second), dtype=float)
        if distance.shape != first.shape or not ((distance >= 0) & (distance <= 1)).all():
            raise ValueError(f"output_distance: expected {len(first)} numbers from 0 to 1, found {distance!r}")
        return distance


def together(memory: Memory, estimates: Iterable[Asking]) -> list[tuple[object, int]]:
    """Return what estimates return, and how many inputs were run first for each.

    The program is run for many of them at once: on as many inputs as `CELLS`, or what one of them needs.
    """
    waiting, asking, found = enumerate(estimates), {}, {}

    def go_on(number, estimate, outputs):
        try:
            asking[number] = (estimate, estimate.send(outputs))
        except StopIteration as end:
            asking.pop(number, None)
            found[number][0] = end.value

    while True:
        while len(asking) < MOST_TOGETHER and (following := next(waiting, None)):
            found[following[0]] = [None, 0]
            go_on(*following, None)
        if not asking:
            return [tuple(found[number]) for number in sorted(found)]
        ends = np.cumsum([len(codes) for _, codes in asking.values()])
        turn = list(asking.items())[: max(1, np.searchsorted(ends, CELLS, side="right"))]
        codes = [codes for _, (_, codes) in turn]
        outputs, is_new = memory.ask(codes[0] if len(codes) == 1 else np.concatenate(codes))
        for (number, (estimate, _)), start, end in zip(turn, [0, *ends], ends, strict=False):
            found[number][1] += np.count_nonzero(is_new[start:end])
            del asking[number]  # and have its next turn after all others
            go_on(number, estimate, outputs[start:end])


def _answered(rounds: Rounds, ask: Callable[[np.ndarray], Asking]) -> Asking:
    """Return what sampling returns, given what asks for the outcomes of its rounds."""
    outcomes = None
    while True:
        try:
            series = rounds.send(outcomes)
        except StopIteration as end:
            return end.value
        outcomes = yield from ask(series)


def others(positions: Iterable[int], n_characteristics: int) -> list[int]:
    """Return all other positions."""
    return [position for position in range(n_characteristics) if position not in positions]
