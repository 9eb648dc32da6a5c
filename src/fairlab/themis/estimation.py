"""Estimates of both scores from as few tests as the precision needs (section 4.1, algorithms 1 and 2)."""

from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fairlab.cases.model import ModelAdapter, wrap_model
from fairlab.cases.queries import AnswerCache
from fairlab.cases.schema import Schema
from fairlab.statistics import exact_interval

SPENT = (1 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 2)  # of the allowed error probability, at each look of the exact rule


def error(count, n_samples, *, alpha, binary: bool = True) -> np.ndarray:
    """Return how far the share can be from the truth: the longer side of its `exact_interval`."""
    low, high = exact_interval(count, n_samples, alpha=alpha, binary=binary)
    share = np.asarray(count) / n_samples
    return np.maximum(share - low, high - share)


@lru_cache(maxsize=256)
def look_sizes(confidence_level: float, error_bound: float, *, binary: bool = True) -> tuple[int, ...]:
    """Return after how many samples the exact rule looks whether it may stop.

    The first look is where a sample without a hit meets the bound, the last where every sample does; those between
    grow by a constant factor. Each look spends its share, `SPENT`, of the allowed error probability, so that together
    they keep the bound (Bonferroni), however the truth is and wherever sampling stops.
    """

    def least(shares, spent: float) -> int:
        alpha = spent * (1 - confidence_level)
        return _least(lambda n: (error(shares * n, n, alpha=alpha, binary=binary) <= error_bound).all())

    first, last = least(np.zeros(1), SPENT[0]), least(np.linspace(0, 0.5, 201), SPENT[-1])
    return tuple(int(size) for size in np.ceil(np.geomspace(min(first, last), last, len(SPENT))))


def _least(holds) -> int:
    """Return the least positive number from which on something holds."""
    high = 1
    while not holds(high):
        high *= 2
    return bisect_left(range(high), True, high // 2 + 1, high, key=holds)


SAMPLES_AT_ONCE = 200_000  # samples drawn in one go
Queries = Generator[np.ndarray, np.ndarray, object]  # yields inputs as codes, gets outputs, returns an estimate


@dataclass(frozen=True)
class Limits:
    """What sampling has to reach, and how far it may go; a rule of when it stops has the methods of `Looks` besides.

    Attributes
    ----------
    confidence_level, error_bound : float
    min_samples, max_samples : int
        More samples than the one are taken, and no more than the other, even if the bound is not reached.
    """

    confidence_level: float
    error_bound: float
    min_samples: int
    max_samples: int


@dataclass(frozen=True)
class Looks(Limits):
    """Sampling by the exact rule: it looks a few times, and may stop there (`fairlab.themis.estimation.look_sizes`).

    Attributes
    ----------
    binary : bool
        Whether outcomes are 0 or 1, or anything between.
    """

    binary: bool = True

    @property
    def sizes(self) -> dict[int, float]:
        """After how many samples it looks, and the share of the allowed error probability that each look spends."""
        planned = look_sizes(self.confidence_level, self.error_bound, binary=self.binary)
        return dict(zip(np.clip(planned, self.min_samples + 1, self.max_samples).tolist(), SPENT, strict=True))

    def enumerates(self, n_inputs: int, *, measure: str) -> bool:
        """Whether there are so few inputs that all are tried: as many as are sampled at least."""
        return n_inputs <= max(self.min_samples, min(self.sizes))

    def rounds(self, n_series: int, query: Callable[[np.ndarray], Queries]) -> Queries:
        """Sample until every proportion is known well enough.

        Parameters
        ----------
        n_series : int
        query : callable
            Takes the number of a series for each new sample, sorted; queries its outcome, between 0 and 1.

        Returns
        -------
        counts, samples : ndarray of shape (n_series,)
            Sum of the outcomes that count, and how many these are.
        """
        counts, samples = np.zeros(n_series), np.zeros(n_series, dtype=np.intp)
        active, taken = np.arange(n_series), 0
        for size, spent in self.sizes.items():
            block = size - taken
            for some in np.array_split(active, -(-len(active) * block // SAMPLES_AT_ONCE)):
                outcomes = np.asarray((yield from query(np.repeat(some, block))), dtype=float)
                counts[some] += outcomes.reshape(len(some), block).sum(axis=1)
            samples[active], taken = size, size
            alpha = spent * (1 - self.confidence_level)
            active = active[error(counts[active], size, alpha=alpha, binary=self.binary) > self.error_bound]
            if len(active) == 0:
                break
        return counts, samples

    def interval(self, counts, samples, *, n_series: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Return intervals that hold all proportions together at the confidence, wherever each was stopped."""
        sizes, spent = (np.array(list(part)) for part in (self.sizes, self.sizes.values()))
        alpha = spent[np.searchsorted(sizes, samples)] * (1 - self.confidence_level) / n_series
        return exact_interval(counts, samples, alpha=alpha, binary=self.binary)


REPETITIONS = 200
SHARES_AT_ONCE = 2_000_000  # shares drawn in one go


def corrected_spread(counts, samples, rng: np.random.Generator) -> float:
    """Return the highest less the lowest true share, corrected for the noise that makes it look larger.

    The noise's part is what sampling adds to the spread of shares that are shrunk to their mean as far as noise
    explains their variance (parametric bootstrap).

    Parameters
    ----------
    counts, samples : ndarray of shape (n_groups,)
        How often out of how many.
    rng : Generator

    Returns
    -------
    float
        Between 0 and the spread of the observed shares.
    """
    counts, samples = np.asarray(counts), np.asarray(samples)
    shares, mean = counts / samples, counts.sum() / samples.sum()
    variance, noise = shares.var(ddof=1), (mean * (1 - mean) / samples).mean()
    likely = mean + (shares - mean) * (max(0.0, 1 - noise / variance) if variance > 0 else 0.0)
    repetitions = np.clip(SHARES_AT_ONCE // len(shares), 1, REPETITIONS)
    drawn = rng.binomial(samples, np.clip(likely, 0, 1), size=(repetitions, len(shares))) / samples
    added = np.ptp(drawn, axis=1).mean() - np.ptp(likely)
    return float(np.clip(np.ptp(shares) - added, 0, np.ptp(shares)))


def spread_interval(low, high) -> tuple[float, float]:
    """Return the interval of the highest less the lowest share that the shares' intervals together allow."""
    return float(max(0.0, low.max() - high.min())), float(high.max() - low.min())


BATCH = 200_000  # inputs in one call of the model
GROUPS_AT_ONCE = 2_000
CELLS = 50_000  # inputs that are looked at in one go
MOST_TOGETHER = 16  # estimates
SHOWN = 5  # pairs of inputs that a causal estimate gives as examples


class Program:
    """A model with its input domain, which is never applied twice to one input (section 4.1, test caching).

    Parameters
    ----------
    model : callable, or object with ``predict``
        See `fairlab.cases.wrap_model`.
    schema : Schema
    binary : bool
        Whether outputs must be false and true.
    """

    def __init__(self, model, schema: Schema, *, binary: bool = True):
        self.model, self.schema, self.binary = wrap_model(model), schema, binary
        self._answers = AnswerCache(loads_compiler=True)

    @property
    def runs(self) -> int:
        """To how many inputs the model has been applied, all of them distinct."""
        return len(self._answers)

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """Return the outputs of inputs given as codes."""
        return self.query(codes)[0]

    def query(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the outputs of inputs, and to which of them the model was applied now."""

        def outputs(is_new):
            new = codes if is_new.all() else codes.T.take(np.flatnonzero(is_new), axis=1).T
            return outputs_of(self.model, self.schema, new, binary=self.binary)

        return self._answers(self.schema.keys(codes), outputs)

    def contents(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all inputs so far, as codes in the order of the domain, and their outputs."""
        order = np.argsort(self._answers.keys, kind="stable")
        return self.schema.codes_of_keys(self._answers.keys[order]), self._answers.values[order]


def outputs_of(model: ModelAdapter, schema: Schema, codes: np.ndarray, *, binary: bool = True) -> np.ndarray:
    """Return a model's outputs for inputs given as codes, in batches.

    Raises
    ------
    CaseError
        If it does not return one output for each input, or something else than false and true.
    """
    batches = np.split(codes, range(BATCH, len(codes), BATCH))
    outputs = model.binary_of if binary else model.predict
    return np.concatenate([outputs(schema.decode(batch)) for batch in batches])


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
    inputs, counterparts : ndarray of int of shape (n_shown, n_features)
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
    program : Program
    sampling : Looks, or another rule of when to stop
    output_distance : callable or None
        See `fairlab.themis.Themis`.
    """

    program: Program
    sampling: Any
    output_distance: Callable | None = None

    def group(self, positions: list[int], rng: np.random.Generator) -> Queries:
        """Return positive outputs and samples of every group, in the order of `Schema.assignments` (algorithm 1)."""
        n_groups = self.program.schema.n_assignments(positions)
        count = self._enumerate_groups if self.enumerates(positions) else self._sample_groups
        chunks = []
        for start in range(0, n_groups, GROUPS_AT_ONCE):
            chunks.append((yield from count(positions, range(start, min(start + GROUPS_AT_ONCE, n_groups)), rng)))
        counts, samples = (np.concatenate(part) for part in zip(*chunks, strict=True))
        return counts, samples

    def enumerates(self, positions: list[int]) -> bool:
        """Whether groups are so small that all of their inputs are tried, and their shares known exactly."""
        schema = self.program.schema
        return self.sampling.enumerates(schema.n_assignments(others(positions, len(schema.sizes))), measure="group")

    def assignments(self, positions: list[int], numbers) -> np.ndarray:
        """Return the codes of assignments by their numbers."""
        sizes = [self.program.schema.sizes[position] for position in positions]
        return np.column_stack(np.unravel_index(np.asarray(numbers), sizes))

    def causal(self, positions: list[int], rng: np.random.Generator) -> Queries:
        """Return how many random inputs, or of all, change their output with the features (algorithm 2)."""
        schema, drawn = self.program.schema, []

        def look_at(inputs):
            drawn.append((inputs, *(yield from self.changes(inputs, positions))))
            return drawn[-1][1]

        if is_exact := self.sampling.enumerates(schema.n_inputs, measure="causal"):
            changed = yield from look_at(schema.assignments(range(len(schema.sizes))))
            count, samples = changed.sum(), schema.n_inputs
        else:
            [count], [samples] = yield from self.sampling.rounds(
                1, lambda series: look_at(schema.sample_codes(len(series), random_state=rng))
            )
        inputs, changed, tests, partner = (np.concatenate(part)[:samples] for part in zip(*drawn, strict=True))
        shown = np.flatnonzero(changed)[:SHOWN]
        inputs, partner = inputs[shown], partner[shown]
        counterparts = inputs.copy()
        counterparts[:, positions] = self.assignments(positions, partner)
        return Causal(float(count), int(samples), int(tests.sum()), inputs, counterparts, is_exact)

    def changes(self, inputs: np.ndarray, positions: list[int]) -> Queries:
        """Tell for every input whether, or how far, some other values of the features change its output.

        Returns
        -------
        changed, tests, partner : ndarray of shape (n_inputs,)
            The change; how many inputs had to be looked at, in the order of the assignments, up to the first change;
            and the number of the assignment that changes it most, 0 if none does.
        """
        schema = self.program.schema
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

    def _enumerate_groups(self, positions, groups: range, rng) -> Queries:
        schema = self.program.schema
        rest = others(positions, len(schema.sizes))
        n_others = schema.n_assignments(rest)
        codes = np.empty((len(groups), n_others, len(schema.sizes)), dtype=np.int64)
        codes[:, :, positions] = schema.assignments(positions, start=groups.start, stop=groups.stop)[:, None, :]
        if rest:
            codes[:, :, rest] = schema.assignments(rest)
        outputs = (yield codes.reshape(-1, codes.shape[-1])).reshape(len(groups), n_others)
        return outputs.sum(axis=1).astype(float), np.full(len(groups), n_others)

    def _sample_groups(self, positions, groups: range, rng) -> Queries:
        schema = self.program.schema
        fixed = schema.assignments(positions, start=groups.start, stop=groups.stop)

        def draw(series):
            codes = schema.sample_codes(len(series), random_state=rng)
            for position, values in zip(positions, fixed.T, strict=True):  # quicker than all at once
                codes[:, position] = values.take(series)
            return (yield codes)

        return (yield from self.sampling.rounds(len(groups), draw))

    def _difference(self, first, second) -> np.ndarray:
        if self.output_distance is None:
            return first != second
        distance = np.asarray(self.output_distance(first, second), dtype=float)
        if distance.shape != first.shape or not ((distance >= 0) & (distance <= 1)).all():
            raise ValueError(f"output_distance: expected {len(first)} numbers from 0 to 1, found {distance!r}")
        return distance


def together(program: Program, estimates: Iterable[Queries]) -> list[tuple[object, int]]:
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
        outputs, is_new = program.query(codes[0] if len(codes) == 1 else np.concatenate(codes))
        for (number, (estimate, _)), start, end in zip(turn, [0, *ends], ends, strict=False):
            found[number][1] += np.count_nonzero(is_new[start:end])
            del asking[number]  # and have its next turn after all others
            go_on(number, estimate, outputs[start:end])


def others(positions: Iterable[int], n_features: int) -> list[int]:
    """Return all other positions."""
    return [position for position in range(n_features) if position not in positions]
