"""ADF: seeds from all clusters, the global phase (Algorithm 1), the local phase (Algorithms 3 and 4).

`"published"` is the version behind the published tables. Its global phase takes gradients in float32, which are exactly
0 for many inputs. A seed whose own gradient is 0 does not move; one whose partner's gradient is 0 moves by +1 along
every attribute of nonzero gradient; without any common direction, one random attribute moves. Its local phase accepts
moves as SciPy's basinhopping does at temperature 1, which no listing mentions: a discriminatory input always, another
one with probability 1/e if it would replace a discriminatory one. The partner's values stay those of the global phase,
and negative values bring in neighbours (see `truncated_neighbours`).

`"sound"` is Algorithms 1, 3 and 4 with gradients that cannot vanish by rounding: every move of a walk is kept, and the
partner is looked up anew wherever there is one. In both the label of the loss is the predicted class: section 2 says
so; the algorithm's text says ground truth, which generated inputs do not have.
"""

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from fairlab.adf.discrimination import Partners, SearchResult, Trace, collect, repeated, with_every_value
from fairlab.adf.gradients import FiniteDifferences
from fairlab.adf.method import MOST_WALKS, SHARE_OF_A_STEP, Sample, SearchMethod
from fairlab.cases.finding import Finding
from fairlab.cases.method import Examination
from fairlab.cases.model import is_keras
from fairlab.cases.schema import Schema
from fairlab.checks import COUNT_OR_ZERO, check_count, checked
from fairlab.networks import Network, softmax

PUBLISHED_SEED = 2019
N_RESTARTS = 10
SHARE_OF_PEOPLE = 0.3  # of the budget of a case's sensitive feature, to find people whose decision it changes
SHARE_OF_NEAREST = 0.1  # of the queries of a search, for the distance of its seeds from the threshold
MOST_CLUSTERED = 10_000  # people among whom clusters are formed
STEPS_PER_GRADIENT = 25  # of walks on a case without gradients


def cluster_labels(X: np.ndarray, *, n_clusters: int = 4) -> np.ndarray:
    """Return the k-means cluster of every row, on the raw columns.

    The clusters are those that the authors stored: exactly for census and credit, for all but a thousandth of the rows
    of bank.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_attributes)
    n_clusters : int
    """
    X = np.ascontiguousarray(X)
    return _cluster_labels(X.tobytes(), X.dtype, X.shape, n_clusters)


@lru_cache(maxsize=4)  # every search of one table needs the same clusters
def _cluster_labels(content: bytes, dtype: np.dtype, shape: tuple[int, int], n_clusters: int) -> np.ndarray:
    X = np.frombuffer(content, dtype).reshape(shape)
    with threadpool_limits(1):  # or the threads of a busy machine wait for each other
        labels = KMeans(n_clusters, n_init=N_RESTARTS, random_state=PUBLISHED_SEED).fit_predict(X)
    labels.flags.writeable = False
    return labels


def round_robin(labels: np.ndarray, n: int) -> np.ndarray:
    """Return `n` rows by taking one from each cluster in turn, each cluster in the order of its rows.

    Exhausted clusters are skipped. If there are fewer than `n` rows, all are returned.

    Parameters
    ----------
    labels : ndarray of int of shape (n_rows,)
        Clusters.
    n : int
    """
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], labels[order])
    rank = np.arange(len(labels)) - starts  # position of each row in its own cluster
    return order[np.lexsort((labels[order], rank))][:n]


@dataclass(frozen=True, eq=False)
class GlobalPhase:
    """Seeds that became discriminatory.

    Attributes
    ----------
    inputs : ndarray of int of shape (n_found, n_attributes)
    partner : ndarray of int of shape (n_found, n_sensitive)
        Sensitive values that give another class.
    seed : ndarray of int of shape (n_found,)
        Number of the seed.
    iterations : ndarray of int of shape (n_seeds,)
        Steps taken; `max_iter` for seeds that failed.

    Examples
    --------
    >>> from fairlab.adf import GlobalPhase
    >>> inputs, partner = np.array([[3, 0], [9, 1]]), np.array([[1], [0]])  # the second attribute is the sensitive one
    >>> GlobalPhase(inputs, partner, seed=np.array([0, 2]), iterations=np.array([2, 10, 0])).successful.tolist()
    [True, False, True]
    """

    inputs: np.ndarray
    partner: np.ndarray
    seed: np.ndarray
    iterations: np.ndarray

    @property
    def successful(self) -> np.ndarray:
        """Whether each seed became discriminatory."""
        return np.isin(np.arange(len(self.iterations)), self.seed)


def choose_partner(network, X, columns, values, *, variant: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the combination of sensitive values to pair with every input, and whether it has another class.

    It is the first combination with another class, else the one with the largest difference in probability (equation
    3). As published, -1 if every difference is exactly 0.

    Parameters
    ----------
    network : model with ``logits``
    X : ndarray of int of shape (n_rows, n_attributes)
    columns : sequence of int
        The sensitive ones.
    values : ndarray of int of shape (n_combinations, n_sensitive)
        Combinations to try.
    variant : {"sound", "published"}
    """
    every = with_every_value(X, columns, values)
    logits = network.logits(every.reshape(-1, X.shape[1])).reshape(*every.shape[:2], -1)
    own_logits = network.logits(X)
    if variant == "sound":
        logits, own_logits = logits.astype(float), own_logits.astype(float)
    probabilities, own = softmax(logits), softmax(own_logits)
    label = own.argmax(axis=1)
    flips = probabilities.argmax(axis=2) != label[:, None]
    difference = np.abs(
        np.take_along_axis(probabilities, label[:, None, None], axis=2)[:, :, 0]
        - own[np.arange(len(X)), label][:, None]
    )
    furthest = difference.argmax(axis=1)
    if variant == "published":
        furthest[difference.max(axis=1) == 0] = -1
    else:
        same = (every == X[:, None, :]).all(axis=2)
        furthest = np.where(same, -1.0, difference).argmax(axis=1)
    return np.where(flips.any(axis=1), flips.argmax(axis=1), furthest), flips.any(axis=1)


def with_partner(X: np.ndarray, partner: np.ndarray, columns, values: np.ndarray) -> np.ndarray:
    """Return every input with its partner's sensitive values, or with -1 if it has no partner.

    Parameters
    ----------
    X : ndarray of int of shape (n_rows, n_attributes)
    partner : ndarray of int of shape (n_rows,)
        As `choose_partner` returns it.
    columns, values
        As there.
    """
    other = X.copy()
    other[:, columns] = np.where(partner[:, None] < 0, -1, values[partner])
    return other


def direction(network, X, other, sensitive_features: np.ndarray, variant: str, rng) -> np.ndarray:
    """Return the step of every input in {-1, 0, 1}: where both sides of the pair agree in sign.

    Parameters
    ----------
    network : model with ``log_odds_gradient``; as published, with ``loss_gradient``
    X, other : ndarray of int of shape (n_rows, n_attributes)
        Inputs and their partners.
    sensitive_features : sequence of int
        Columns that are not moved.
    variant : {"sound", "published"}
    rng : numpy.random.Generator
        As published, it draws the attribute that moves where there is no common direction.
    """
    if variant == "sound":
        own, theirs = (-np.sign(network.log_odds_gradient(side)[1]) for side in (X, other))
        step = np.where(own == theirs, own, 0)
        step[:, sensitive_features] = 0
        return step
    own, theirs = (np.sign(network.loss_gradient(side)) for side in (X, other))
    no_own, no_theirs = (~side.any(axis=1, keepdims=True) for side in (own, theirs))
    mask = np.where(no_own, theirs, np.where(no_theirs, own, own == theirs))
    mask[:, sensitive_features] = 0
    nowhere = np.flatnonzero(~mask.any(axis=1))
    free = np.setdiff1d(np.arange(X.shape[1]), sensitive_features)
    mask[nowhere, rng.choice(free, len(nowhere))] = 1
    return own * mask


ACCEPT_WORSE = np.exp(-1)  # basinhopping at temperature 1, where the objective rises from 0 to 1


def saliency(network, X: np.ndarray, other: np.ndarray, variant: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the absolute gradients of both sides of each pair, up to a common factor.

    In the sound variant, the gradient of the loss is that of the log odds times the other classes' probability, carried
    as a logarithm so that it does not vanish.

    Parameters
    ----------
    network : model with ``log_odds_gradient``; as published, with ``loss_gradient``
    X, other : ndarray of int of shape (n_rows, n_attributes)
    variant : {"sound", "published"}
    """
    if variant == "published":
        return np.abs(network.loss_gradient(X)).astype(float), np.abs(network.loss_gradient(other)).astype(float)
    sides = [network.log_odds_gradient(side) for side in (X, other)]
    logs = np.stack([-np.logaddexp(0, log_odds) for log_odds, _ in sides])
    factors = np.exp(logs - logs.max(axis=0))
    first, second = (factor[:, None] * np.abs(g).astype(float) for factor, (_, g) in zip(factors, sides, strict=True))
    return first, second


def attribute_weights(first: np.ndarray, second: np.ndarray, sensitive_features: np.ndarray) -> np.ndarray:
    """Return the probability of moving along each attribute, in inverse proportion to both gradients (Algorithm 4).

    If attributes have zero gradient, they share all probability; sensitive ones have probability 0.

    Parameters
    ----------
    first, second : ndarray of shape (n_rows, n_attributes)
        As `saliency` returns them.
    sensitive_features : sequence of int
        Columns.
    """
    total = first + second
    total[:, sensitive_features] = np.inf
    zero = total == 0
    with np.errstate(divide="ignore"):
        weights = np.where(zero.any(axis=1, keepdims=True), zero, 1 / total)
    return weights / weights.sum(axis=1, keepdims=True)


def truncated_neighbours(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the inputs that a finite difference of 1e-8 turns into others, since -3 + 1e-8 is truncated to -2.

    The inner minimiser of basinhopping evaluates them; its additional line search is not reproduced here.

    Returns
    -------
    inputs : ndarray of int of shape (n_negative, n_attributes)
    owner : ndarray of int of shape (n_negative,)
        Row of `X` that each comes from.
    """
    owner, column = np.nonzero(X < 0)
    neighbours = X[owner]
    neighbours[np.arange(len(owner)), column] += 1
    return neighbours, owner


@checked(
    n_clusters=check_count,
    max_iter=COUNT_OR_ZERO,
    global_step=check_count,
    local_step=check_count,
    refresh=check_count,
)
class ADF(SearchMethod):
    """Adversarial discrimination finder (section 3), many seeds at a time.

    `run` searches a case; `generate`, or its phases `seeds`, `global_search` and `local_search`, a model over a schema.

    **On a case**, the budget is divided evenly over the sensitive features that the model gets. First comes a sample of
    inputs whose features are drawn one by one from the table, or all combinations where they are few; then the search,
    from people of all clusters: first those whose own decision changes with another value, then those nearest to the
    decision threshold. If a model has no gradients, they are replaced by differences of its score between neighbours,
    each of which is checked for discrimination, too. The estimate is the number of discriminatory inputs per 1,000
    queries of the search, or of the sample if that holds all combinations; it has no interval and no test.

    Parameters
    ----------
    model : Keras model, Network or FeedForward; with a threshold, object with ``predict_proba``, or callable
        A network of two or more classes, whose gradients are followed; or a model that gives scores, whose gradients
        are differences between neighbours (a `FiniteDifferences` is also accepted). A case has its own.
    schema : Schema
        A case has its own.
    sensitive_features : str or sequence of str
        The protected attributes of the paper. With several, every combination of their values is tried. A case has its
        own, each of which is searched by itself.
    n_clusters : int
        c_num of Table 2.
    max_iter : int
        Maximum number of steps of a seed in the global phase (Table 2).
    n_local : int
        Steps of the local phase from every discriminatory input. On a case a maximum: fewer if the budget is too small
        for all inputs.
    global_step, local_step : int
        Step sizes s_g and s_l of Table 2: by how much an attribute moves in one step of either phase.
    refresh : int or None
        Steps of the local phase for which the odds of the attributes are kept before gradients are computed again.
        Larger values save queries where gradients are differences, which cost two rows for every attribute. None is 1,
        as in the paper, but 25 on a case without gradients.
    variant : {"sound", "published"}
        See `fairlab.adf.generation`. The published variant also tries sensitive values that a case does not have.
    decision_threshold : float or None
        For models that give scores: the class is whether the score is at least this. A case has its own.
    random_state : int, Generator or None
        For `run`, an int.

    Notes
    -----
    Parameters are checked by `run` and by `generate`, `seeds`, `global_search`, `local_search` and `steps`: a
    `ValueError` names one that is out of range, a sensitive feature that is not in the schema, or a model whose number
    of inputs differs from the number of attributes; a `TypeError` names a missing argument, a schema of the wrong type,
    or a model without gradients.

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.adf import ADF
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> rule = lambda rows: rows["points"] + 9.0 * (rows["sex"] == "m")
    >>> case = fairlab.Case(rule, people, sensitive_features="sex", decision_threshold=21)
    >>> [finding.n_found for finding in ADF().run(case).findings]
    [9]
    >>> from fairlab.cases import Schema
    >>> schema = Schema.from_bounds({"income": (0, 9), "sex": (0, 1)})
    >>> score = lambda X: X[:, 0] + 2.0 * X[:, 1]
    >>> search = ADF(score, schema, "sex", decision_threshold=5, n_local=20)
    >>> search.generate(schema.sample(20, random_state=0)).n_discriminatory
    2
    """

    title = "ADF"
    description = (
        "ADF searches as in the paper, by differences between neighbours where a model has no gradients, and from "
        "people near the decision threshold first; what it finds is counted as in the paper, and is no test."
    )
    needs = (*SearchMethod.needs, "scores")

    def __init__(
        self,
        model: Any = None,
        schema: Schema | None = None,
        sensitive_features: str | Sequence[str] | None = None,
        *,
        n_clusters: int = 4,
        max_iter: int = 10,
        n_local: int = 1000,
        global_step: int = 1,
        local_step: int = 1,
        refresh: int | None = None,
        variant: str = "sound",
        decision_threshold: float | None = None,
        random_state: int | np.random.Generator | None = 0,
    ):
        self.model, self.schema, self.sensitive_features = model, schema, sensitive_features
        self.n_clusters, self.max_iter, self.n_local, self.refresh = n_clusters, max_iter, n_local, refresh
        self.global_step, self.local_step = global_step, local_step
        self.variant, self.decision_threshold, self.random_state = variant, decision_threshold, random_state

    def findings(self, examination: Examination) -> Iterator[Finding]:
        """Yield the number of discriminatory inputs found from people of all clusters, for each sensitive feature."""
        if self.variant == "published":
            raise ValueError("variant: expected 'sound' on a case, found 'published', which queries values it lacks")
        return super().findings(examination)

    def _starts(self, sample: Sample, sampled: np.ndarray) -> np.ndarray:
        """Return people whose decision changes with another value, among as many as this part of the budget allows."""
        case, most = sample.case, int(SHARE_OF_PEOPLE * sample.budget) // (sample.n_values + 1)
        chosen = np.sort(sample.rng("people").permutation(len(case.table))[:most])
        rows = case.table[list(case.features)].iloc[chosen]
        return chosen[(case.vary(rows, (sample.name,)) != case.decide(rows)[:, None]).any(axis=1)]

    def _search_case(self, sample: Sample, starts: np.ndarray) -> None:
        """Search from some seeds at a time, with as many steps as the budget allows for all of them."""
        case, rng, left = sample.case, sample.rng("adf"), sample.case.queries.left
        n_slopes, refresh = (1, 1) if case.has_gradients else (2 * len(case.features), STEPS_PER_GRADIENT)
        refresh = self.refresh or refresh
        n_together = int(np.clip(2 * SHARE_OF_A_STEP * left // (2 * n_slopes + sample.n_values), 1, MOST_WALKS))
        rows = 4 * n_together * (2 * n_slopes / refresh + sample.n_values)  # of four steps
        given = {"n_local": min(self.n_local, max(int(left // rows), 1)), "refresh": refresh, "random_state": rng}
        search, seeds = self._on_case(sample, sample.model, **given), self._people(sample, starts, rng)
        for start in range(0, len(seeds), n_together):
            search.local_search(search.global_search(seeds[start : start + n_together]))

    def _people(self, sample: Sample, concerned: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return people as codes, as in the paper from all clusters in turn.

        In each cluster, those come first whose own decision changes with another value (`concerned`), then those
        nearest to the threshold: others need more steps, and if gradients are differences, a step takes many rows.
        """
        case = sample.case
        people = np.concatenate([rng.permutation(concerned), rng.permutation(len(case.table))[:MOST_CLUSTERED]])
        seeds = case.schema.encode(case.table.iloc[people][list(case.features)])
        first = ~pd.DataFrame(seeds).duplicated().to_numpy()
        first[len(concerned) + max(int(SHARE_OF_NEAREST * case.queries.left), 1) :] = False
        seeds, is_concerned = seeds[first], (np.arange(len(people)) < len(concerned))[first]
        order = np.lexsort([np.abs(sample.model.leads(seeds)), ~is_concerned])
        labels = cluster_labels(seeds, n_clusters=min(self.n_clusters, len(seeds)))[order]
        return seeds[order][round_robin(labels, len(seeds))]

    def seeds(self, X: Any, n: int) -> np.ndarray:
        """Return `n` rows of `X` as integers, taken from its clusters in turn.

        Parameters
        ----------
        X : DataFrame or array of int of shape (n_rows, n_attributes)
        n : int
            There are fewer if `X` has fewer rows.

        Warns
        -----
        UserWarning
            If rows lie outside of the bounds, with their number by attribute.
        """
        n, values = check_count(n, "n_seeds"), self._check().check(X)
        outside = self.schema.outside(values)
        if outside.any():
            counts = ", ".join(f"{name} {n_rows}" for name, n_rows in outside[outside > 0].items())
            warnings.warn(f"X: rows outside of the bounds of the schema: {counts}", stacklevel=2)
        return values[round_robin(cluster_labels(values, n_clusters=min(self.n_clusters, len(values))), n)]

    def global_search(self, seeds: ArrayLike) -> GlobalPhase:
        """Try to make every seed discriminatory (Algorithm 1).

        Parameters
        ----------
        seeds : array of int of shape (n_seeds, n_attributes)
        """
        network, rng = self._begin()
        return self._global_phase(network, self.schema.check(seeds, "seeds"), rng)

    def local_search(self, pairs: Any, *, max_found: int | None = None) -> SearchResult:
        """Search around discriminatory inputs (Algorithm 3).

        Parameters
        ----------
        pairs : GlobalPhase, or array of int of shape (n, 2, n_attributes)
            Discriminatory inputs, each with its partner.
        max_found : int or None
            Stop after the step that reaches this number of distinct discriminatory inputs.
        """
        started, begun = time.perf_counter(), self._begin()
        return self._local_search(self._as_phase(pairs), *begun, max_found, started)

    def steps(self, pairs: Any) -> Iterator[Trace]:
        """Yield the starts of the local search, then the inputs that each step evaluates, candidates of walks first.

        Parameters
        ----------
        pairs
            See `local_search`.
        """
        network, rng = self._begin()
        return self._local_phase(network, self._as_phase(pairs), rng)

    def generate(self, X: Any, *, n_seeds: int = 1000, max_found: int | None = None) -> SearchResult:
        """Run both phases from `n_seeds` rows of a data set.

        Parameters
        ----------
        X : DataFrame or array of int of shape (n_rows, n_attributes)
            Rows outside of the schema's bounds may be seeds; their first move brings them inside.
        n_seeds, max_found
            See `global_search` and `local_search`.

        Returns
        -------
        SearchResult
        """
        started, (network, rng) = time.perf_counter(), self._begin()
        phase = self._global_phase(network, self.seeds(X, n_seeds), rng)
        return self._local_search(phase, network, rng, max_found, started)

    def _begin(self) -> tuple:
        """Return the model with gradients, and a generator; raise an error if a parameter is out of range."""
        self._check()
        network = with_gradients(self.model, self.schema, self.sensitive_features, self.decision_threshold)
        if network.n_features != len(self.schema.names):
            raise ValueError(
                f"model: takes {network.n_features} columns, the schema has {len(self.schema.names)} attributes"
            )
        return network, np.random.default_rng(self.random_state)

    def _global_phase(self, network, seeds: np.ndarray, rng: np.random.Generator) -> GlobalPhase:
        """Advance all seeds together, one step at a time.

        An input that another seed has already reached does not count: the seed continues.
        """
        columns, values = self.schema.positions(self.sensitive_features), self.schema.values(self.sensitive_features)
        X, active, found = seeds.copy(), np.arange(len(seeds)), np.zeros(len(seeds), dtype=bool)
        iterations, partners = np.full(len(seeds), self.max_iter), np.repeat(values[:1], len(seeds), axis=0)
        for step in range(self.max_iter + 1):
            if not len(active):
                break
            partner, flips = choose_partner(network, X[active], columns, values, variant=self.variant)
            hits = np.flatnonzero(flips)
            known = X[found]
            hits = hits[~repeated(np.concatenate([known, X[active[hits]]]), columns)[len(known) :]]
            new = active[hits]
            found[new], iterations[new], partners[new] = True, step, values[partner[hits]]
            left = np.setdiff1d(np.arange(len(active)), hits)
            active, partner = active[left], partner[left]
            if step < self.max_iter and len(active):
                other = with_partner(X[active], partner, columns, values)
                move = direction(network, X[active], other, columns, self.variant, rng)
                X[active] = self.schema.clip(X[active] + self.global_step * move)
        owner = np.flatnonzero(found)
        return GlobalPhase(X[owner], partners[owner], owner, iterations)

    def _local_search(self, phase: GlobalPhase, network, rng, max_found, started) -> SearchResult:
        steps = self._local_phase(network, phase, rng)
        return SearchResult.count(
            collect(steps, self.schema.positions(self.sensitive_features), max_found),
            schema=self.schema,
            sensitive_features=self.sensitive_features,
            iterations=phase.iterations,
            successful=phase.successful,
            seconds=time.perf_counter() - started,
        )

    def _local_phase(self, network, phase: GlobalPhase, rng: np.random.Generator) -> Iterator[Trace]:
        """Walk from all starts together; yield the starts, then the inputs of each step, the candidates first."""
        partners = Partners(network.predict, self.sensitive_features, schema=self.schema)
        X, anchor, seed = phase.inputs, phase.partner, phase.seed
        columns, low, high = partners.columns, self.schema.low, self.schema.high

        def evaluate(inputs, owner):
            return Trace(inputs, partners(inputs), owner)

        first = evaluate(X, seed)
        yield first
        found = first.partner >= 0  # false for a start whose partner lies outside of the schema
        for number in range(self.n_local if len(X) else 0):
            if number % (self.refresh or 1) == 0:
                other = X.copy()
                other[:, columns] = anchor
                weights = attribute_weights(*saliency(network, X, other, self.variant), columns)
            chosen = (weights.cumsum(axis=1) > rng.random((len(X), 1))).argmax(axis=1)
            moved = X.copy()
            moved[np.arange(len(X)), chosen] += self.local_step * rng.choice([-1, 1], len(X))
            moved = np.clip(moved, low, high)
            step = evaluate(moved, seed)
            hit = step.partner >= 0
            if self.variant == "published":
                neighbours, owner = truncated_neighbours(moved)
                yield Trace.join([step, evaluate(neighbours, seed[owner])], X.shape[1]) if len(owner) else step
                accepted = hit | ~found | (rng.random(len(X)) < ACCEPT_WORSE)
            else:
                yield step
                anchor = np.where(hit[:, None], partners.values[step.partner], anchor)
                accepted = np.ones(len(X), dtype=bool)
            X = np.where(accepted[:, None], moved, X)
            found = np.where(accepted, hit, found)

    def _as_phase(self, pairs) -> GlobalPhase:
        """Return pairs of inputs as the start of the local phase."""
        if isinstance(pairs, GlobalPhase):
            return pairs
        pairs = np.asarray(pairs)
        if pairs.dtype.kind not in "iu":
            raise ValueError(f"pairs: expected integers, found {pairs.dtype}")
        if pairs.ndim != 3 or pairs.shape[1:] != (2, len(self.schema.names)):
            raise ValueError(f"pairs: expected shape (n, 2, {len(self.schema.names)}), found {pairs.shape}")
        partner = pairs[:, 1][:, self.schema.positions(self.sensitive_features)]
        known = (partner[:, None] == self.schema.values(self.sensitive_features)).all(axis=2)
        if not known.any(axis=1).all():
            raise ValueError("pairs: a partner has sensitive values outside of the schema")
        n = len(pairs)
        return GlobalPhase(pairs[:, 0], partner, np.arange(n), np.zeros(n, dtype=int))


def with_gradients(model, schema: Schema, sensitive_features, decision_threshold: float | None):
    """Return a model with classes and gradients: its own or, with a threshold, those of its scores by differences.

    Parameters
    ----------
    model, schema, sensitive_features, decision_threshold
        As for `ADF`.

    Raises
    ------
    TypeError, ValueError
        If the model has no gradients and there is no threshold, or both are given.
    """
    if is_keras(model) or (hasattr(model, "logits") and hasattr(model, "log_odds_gradient")):
        if decision_threshold is not None:
            raise ValueError(f"decision_threshold: expected none, since {type(model).__name__} has classes of its own")
        return Network(model) if is_keras(model) else model
    if decision_threshold is None:
        found = type(model).__name__
        raise TypeError(
            f"model: expected a Keras model, or a model that gives scores and a decision_threshold, found {found}"
        )
    return FiniteDifferences(model, schema, sensitive_features, decision_threshold=decision_threshold)
