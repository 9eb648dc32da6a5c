"""Individual fairness of any model that gives scores: people and their counterparts in another group."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import expit
from threadpoolctl import threadpool_limits

from fairlab.cases import Finding
from fairlab.cases.finding import OTHER, decimals, free_name, percent
from fairlab.cases.method import Examination, Method
from fairlab.checks import POSITIVE, check_number, checked
from fairlab.fair_metric import N_FURTHER, FairMetric, chance_p_values, sensitive_directions, subspace_basis
from fairlab.individual_fairness.attack import StepSizeWarning, gradient_flow_attack
from fairlab.individual_fairness.auditing import FOUR_FIFTHS
from fairlab.individual_fairness.linearised import (
    MAX_LOG_ODDS,
    MAX_PROBABILITY,
    Scorer,
    attacked_ratio,
    linearised_ratio,
    log_odds_slopes,
    loss,
    rows_per_person,
)
from fairlab.seeds import derive_seed

MOST_PEOPLE = 500  # whose slopes are computed, or who are attacked
N_STEPS = 40  # of the attack
MOST_ROWS = 10_000  # of the table, from which the directions are learned
LEAST_ASKED = 30  # people, and members of a group
LEAST_ROWS = 5  # of the table per moved column, below which a warning is given
MOST_SURE = 0.1  # share of people whom no gradient of the loss moves, above which a warning is given
N_ASKED, PEOPLE_SHOWN = 50, 10  # counterparts to query, and people in the evidence


class IndividualFairness(Method):
    """Compares the loss of people with the loss at their counterparts in another group.

    A counterpart differs in the sensitive feature itself, if the model gets it, and in the sensitive subspace (section
    2). Logistic regressions of the groups on the other, standardised features span this subspace, reduced to the
    dimensions that show the groups (see `fairlab.fair_metric.subspace_basis`). As many random people as the budget
    allows are queried, 500 at most. The effect is the mean loss ratio (equation 3.2), at least 1. There is one finding
    for each sensitive column; its evidence is the people whose loss rises most when the model is applied to their
    counterparts ("other").

    **A network is attacked**, as in the paper: from the worst value of the sensitive feature on, every person follows
    the gradient of the loss inside the subspace (equation 2.8, without any move outside of it) for the stopping time.
    The interval is from a jackknife of the same flow along the slopes at the start. Its upper end allows for the
    directions of all groups, shown or not; if the columns show none, the subspace may lie anywhere, and it allows for
    any direction.

    **Any other model is linearised**: people are moved in one step along the direction in which the groups differ, as
    far as their means are apart, less the contribution of chance. Log odds are taken as linear, with slopes from
    differences between rows. The sentence also reports the mean loss ratio with the column shuffled, which is the ratio
    that a fair model would show.

    **The interval** treats people, directions and units as random, by a jackknife over rows of the table, on the scale
    of logarithms. Its lower end excludes the contribution of chance. Its upper end includes this, and makes up for the
    loss where few rows turn the directions away from those that the model uses (the jackknife's bias).

    The p-value is the larger of two: that of "the ratio is at most `max_loss_ratio`", and that of "the model's use of
    the other features has nothing to do with the groups", by permutations of the sensitive column. The second is not
    needed if changing the sensitive feature alone puts the ratio above the limit.

    Parameters
    ----------
    max_loss_ratio : float
        The largest ratio of losses that counts as fair, at least 1.
    stopping_time : float
        T of the attack, in standard deviations of the features; 2 is the paper's for networks on Adult.
    confidence_level : float
    random_state : int

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.individual_fairness import IndividualFairness
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
    >>> case = fairlab.Case(lambda rows: rows["points"] / 40, people, sensitive_features="sex")
    >>> [finding.measure for finding in IndividualFairness().run(case).findings]
    ['loss_ratio']
    """

    title = "individual fairness"
    description = (
        "Individual fairness attacks each person by a gradient flow inside a fair metric that is learned from the "
        "table, as in the paper, where the model has gradients; any other model is linearised: people are moved in one "
        "step along the direction in which groups differ, with log odds taken as linear; intervals are by a jackknife "
        "over people, directions and units."
    )
    share = 3
    needs = ("model", "decisions", "scores", "determinism")

    @checked(max_loss_ratio=partial(check_number, least=1), stopping_time=POSITIVE)
    def __init__(
        self,
        *,
        max_loss_ratio: float = FOUR_FIFTHS,
        stopping_time: float = 2.0,
        confidence_level: float = 0.95,
        random_state: int = 0,
    ):
        super().__init__(confidence_level=confidence_level, random_state=random_state)
        self.max_loss_ratio, self.stopping_time = max_loss_ratio, stopping_time

    def findings(self, examination: Examination) -> Iterator[Finding]:
        """Yield the mean loss ratio of each sensitive column."""
        case = examination.case
        groups = {name: case.groups(name) for name in case.sensitive_features}
        n_people = self._n_people(examination, groups)
        if not n_people:
            return
        scorer = Scorer(case)
        people = _people(case, scorer, n_people, self.random_state)
        examination.warnings.extend(_doubts(case, people))
        for name in case.sensitive_features:
            members = groups[name].iloc[people.learned]
            large = examination.large_groups(name, members, LEAST_ASKED)
            if len(large) < 2:
                examination.skip(f"{name}: fewer than two groups have {LEAST_ASKED} people.", name)
                continue
            membership = np.column_stack([members == group for group in large]).astype(float)
            membership = membership[:, 1:] if len(large) == 2 else membership
            fall, worst = _direct(case, scorer, people, name, groups[name], large)
            by = self._attacked if case.has_gradients else self._linearised
            yield by(case, scorer, people, name, membership, fall, worst)

    @staticmethod
    def _n_people(examination, groups) -> int:
        """Return the number of people that the budget allows; 0, reported as skipped, if these are too few."""
        case, budget = examination.case, examination.budget
        if len(case.table) < 2 * LEAST_ASKED:
            examination.skip(f"Individual fairness needs {2 * LEAST_ASKED} people, the table has {len(case.table)}.")
            return 0
        labelled = len(case.table) if case.y_true is None else int(case.labelled.sum())
        if labelled < LEAST_ASKED:
            examination.skip(
                f"Individual fairness needs {LEAST_ASKED} people with a true label, the table has {labelled}."
            )
            return 0
        own = sum(groups[name].cat.categories.size for name in case.sensitive_features if name not in case.unseen)
        spare, each = N_ASKED * len(case.sensitive_features), rows_per_person(case) + own
        each += (N_STEPS + 5) * len(case.sensitive_features) if case.has_gradients else 0
        n_people = int(min(labelled, MOST_PEOPLE, (budget - spare) // each))
        if n_people < LEAST_ASKED:
            needed = LEAST_ASKED * each + spare
            examination.stop(
                f"Individual fairness needs a budget of {needed:,} rows for this model, and has {budget:,}."
            )
            return 0
        return n_people

    def _attacked(self, case, scorer, people, name, membership, fall, worst) -> Finding:
        """Return the finding of the attack, which starts from the worst values of the sensitive feature."""
        seed = derive_seed(self.random_state, self.title, name)
        subspace, p_values = _sensitive_subspace(people, membership, 1 - self.confidence_level, seed)
        scale = np.where(people.scale > 0, people.scale, 1.0)
        changed = case.table[list(case.features)].iloc[people.rows]
        if name not in case.unseen:
            changed = changed.assign(**{name: case.table[name].iloc[worst].array})
        network = _Network(case, subspace, scale, scorer.decision_threshold if case.y_true is None else 0.0)
        images = start = case.encoding.transform(changed)
        before = loss(people.margin)
        after = loss(people.margin - fall)
        if subspace.any():
            metric = FairMetric(np.eye(len(scale)), scale)  # no move leaves the subspace, in which the distance is 0
            step = {"step_size": self.stopping_time / N_STEPS, "n_steps": N_STEPS, "regularizer": 0.0}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StepSizeWarning)
                attack = gradient_flow_attack(network, metric, start, people.label > 0, dtype="float64", **step)
            images, after = attack.X, np.clip(attack.attacked_loss, loss(MAX_LOG_ODDS), loss(-MAX_LOG_ODDS))
        ratios = np.maximum(before, after) / before
        with threadpool_limits(1, "blas"):  # as in `_linearised`
            found = attacked_ratio(
                people.X,
                membership,
                people.margin,
                people.slopes,
                fall,
                ratios,
                shown=p_values <= 1 - self.confidence_level,
                n_dimensions=subspace.shape[1],
                stopping_time=self.stopping_time,
                n_steps=N_STEPS,
                p_of_chance=float(p_values.min()),
                random_state=seed,
            )
        how = f"under attack in the {name} subspace"
        return self._finding(case, scorer, people, name, how, found, images, worst)

    def _linearised(self, case, scorer, people, name, membership, fall, worst) -> Finding:
        """Return the finding of one step along the directions of the groups, with log odds taken as linear."""
        known = people.X, membership, people.margin, people.slopes, fall
        random_state = derive_seed(self.random_state, self.title, name)
        with threadpool_limits(1, "blas"):  # matrices are small: threads of a busy machine would wait for each other
            found, by_chance, moves = linearised_ratio(*known, random_state=random_state)
        how = f"under perturbation along the {name} direction"
        shuffled = f", and {by_chance:.2f} times with {name} shuffled"
        images = _moved(case, people, moves)
        return self._finding(case, scorer, people, name, how, found, images, worst, shuffled)

    def _finding(self, case, scorer, people, name, how, found, images, worst, more="") -> Finding:
        """Return the finding on a mean loss ratio; `images` are the counterparts in the encoding."""
        estimate, ratios, limit = found.estimate, found.ratios, self.max_loss_ratio
        low, high = found.bounds(self.confidence_level)
        labels = "" if case.y_true is not None else "its own decisions as labels; "
        return Finding(
            method=self.title,
            sensitive_features=(name,),
            where="everyone",
            effect=f"loss ratio {how} ({labels}fair up to {limit:g})",
            estimate=estimate,
            low=low,
            high=high,
            p_value=found.p_value(limit),
            evidence=_evidence(case, scorer, people, images, ratios, worst, name),
            n=len(ratios),
            sentence=f"{how[0].upper()}{how[1:]}, the model's loss is {decimals(estimate, 2, limit)} times as high, "
            f"where up to {limit:g} counts as fair{more}",
            measure="loss_ratio",
            test=found.p_value,
            smallest=found.smallest,
            bounds=found.bounds,
            limit=limit,
        )


def _doubts(case, people: "_People") -> Iterator[str]:
    """Yield warnings that limit the interpretation of the test."""
    if case.y_true is None:
        yield (
            "Individual fairness had no true labels: the loss is that of the model's own decisions, so that it "
            "says how much less sure the model is of a decision, not how much more wrong."
        )
    if case.unit == "score":
        yield (
            "The model's scores are no probabilities: individual fairness took them as log odds, divided by their "
            "standard deviation. With another scale the loss ratio is another."
        )
    if len(people.X) < LEAST_ROWS * people.X.shape[1]:
        yield (
            f"Individual fairness learned from {len(people.X):,} rows how groups differ in {people.X.shape[1]:,} "
            "columns (each category is one): with so few, the upper end of its intervals is too low more often "
            "than their level says."
        )
    if case.has_gradients and (sure := float((people.margin >= MAX_LOG_ODDS).mean())) > MOST_SURE:
        yield (
            f"The network is right, and sure by {MAX_PROBABILITY:.1%} or more, of {percent(sure)} of the people: "
            "its loss is flat there, so that an attack hardly moves them, and a small loss ratio says little of "
            "them."
        )


def _sensitive_subspace(
    people: "_People", membership, alpha: float, random_state: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return a basis of the directions of the groups that are shown beyond chance, and each group's p-value."""
    directions, p_values = np.empty((len(membership.T), 0)), np.ones(len(membership.T))  # if no column is free
    if people.free.any():
        directions = sensitive_directions(people.X, membership, scaled=False, confidence_level=None)
        p_values = chance_p_values(people.X, membership, n_further=N_FURTHER, random_state=random_state)
    shown = p_values <= alpha
    basis = subspace_basis(people.X, membership[:, shown], directions[shown], alpha=alpha)
    subspace = np.zeros((len(people.free), basis.shape[1]))
    subspace[people.free] = basis
    return subspace, p_values


@dataclass(frozen=True, eq=False)
class _People:
    """The people who are queried: row numbers, margins, slopes by standardised columns, and the data for directions."""

    rows: np.ndarray  # of the table
    label: np.ndarray  # 1 or -1
    margin: np.ndarray
    slopes: np.ndarray
    X: np.ndarray  # standardised columns of all rows from which directions are learned
    scale: np.ndarray  # of these columns, in the encoding's units
    learned: np.ndarray  # their row numbers; the people come first
    free: np.ndarray  # columns that are moved


def _people(case, scorer, n_people, random_state) -> _People:
    rng = np.random.default_rng(derive_seed(random_state, IndividualFairness.title, "people"))
    learned = rng.permutation(len(case.table))
    if case.y_true is not None:  # people without a true label are used for the directions only
        learned = learned[np.argsort(~case.labelled[learned], kind="stable")]
    learned = learned[:MOST_ROWS]
    rows = learned[:n_people]
    encoding = case.encoding
    encoded = encoding.transform(case.table[list(case.features)].iloc[learned])
    scale = np.where(np.ptp(encoded, axis=0) > 0, encoded.std(axis=0), 0.0)
    free = np.array([source not in case.sensitive_features for source in encoding.source]) & (scale > 0)
    X = (encoded - encoded.mean(axis=0))[:, free] / scale[free]
    odds = scorer.log_odds(case.table[list(case.features)].iloc[rows])
    if case.y_true is None:
        label = np.where(case.decide(case.table.iloc[rows]), 1, -1)
        odds = odds - scorer.decision_threshold
    else:
        label = np.where(case.y_true[rows], 1, -1)
    slopes = log_odds_slopes(scorer, rows)[:, free] * scale[free]
    return _People(rows, label, label * odds, slopes, X, scale, learned, free)


def _direct(case, scorer, people, name, groups, large) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest fall of each margin when the feature itself is changed, and the row with that value."""
    fall, worst = np.zeros(len(people.rows)), people.rows.copy()
    if name in case.unseen:
        return fall, worst
    rows = case.table[list(case.features)].iloc[people.rows].reset_index(drop=True)
    odds = scorer.log_odds(rows)
    for group in large:
        example = _example(case.table[name], np.flatnonzero(groups == group))
        other = np.flatnonzero((groups.iloc[people.rows] != group).to_numpy())
        if not len(other):
            continue
        changed = rows.iloc[other].assign(**{name: case.table[name].iloc[np.full(len(other), example)].array})
        falls = people.label[other] * (odds[other] - scorer.log_odds(changed))
        more = falls > fall[other]
        fall[other[more]], worst[other[more]] = falls[more], example
    return fall, worst


def _example(column: pd.Series, members: np.ndarray) -> int:
    """Return the row whose value represents a group; for numbers, the median."""
    values = column.iloc[members]
    if pd.api.types.is_numeric_dtype(column) and not values.isna().any():
        return int(members[np.argsort(values.to_numpy(dtype=float), kind="stable")[len(members) // 2]])
    return int(members[0])


@dataclass(frozen=True, eq=False)
class _Network:
    """A case's network over its encoding, for the attack; its gradients lie inside the sensitive subspace."""

    case: object
    subspace: np.ndarray  # its basis, of shape (n_columns, n_directions), orthonormal in units of `scale`
    scale: np.ndarray
    decision_threshold: float  # log odds at which the label turns

    def loss(self, X, y):
        """Return the cross-entropy at each point."""
        return np.logaddexp(0, -self._margin(X, y)[0])

    def loss_gradient(self, X, y):
        """Return its gradient, projected on the subspace."""
        margin, sign, gradient = self._margin(X, y)
        slope = (-sign * expit(-margin))[:, None] * gradient * self.scale
        return slope @ self.subspace @ self.subspace.T / self.scale

    def predict(self, X):
        """Return the predicted label of each point."""
        return (self._margin(X, np.ones(len(X)))[0] >= 0).astype(int)

    def _margin(self, X, y):
        odds, gradient = self.case.log_odds_gradient(X)
        sign = np.where(y, 1.0, -1.0)
        return sign * (odds - self.decision_threshold), sign, gradient


def _moved(case, people, moves) -> np.ndarray:
    """Return everyone after the worst of some moves, in the encoding."""
    encoded = case.encoding.transform(case.table[list(case.features)].iloc[people.rows])
    changes = people.slopes @ moves
    which = np.abs(changes).argmax(axis=1)
    sign = -people.label * np.sign(changes[np.arange(len(which)), which])
    encoded[:, people.free] += sign[:, None] * moves[:, which].T * people.scale[people.free]
    return encoded


def _evidence(case, scorer, people, images, ratios, worst, name) -> pd.DataFrame:
    """Return the people whose loss rises most, each with their counterpart and the scores of both."""
    top = np.argsort(-ratios, kind="stable")[:N_ASKED]
    features = list(case.features)
    shown = case.table.iloc[people.rows[top]]
    everyone = case.encoding.transform(case.table[features])
    encoded = np.clip(images[top], everyone.min(axis=0), everyone.max(axis=0))
    counterpart = case.encoding.inverse_transform(encoded).set_index(shown.index)
    if name not in case.unseen:
        counterpart[name] = case.table[name].iloc[worst[top]].array
    label, shift = people.label[top], scorer.decision_threshold if case.y_true is None else 0.0
    before, after = (loss(label * (scorer.log_odds(rows[features]) - shift)) for rows in (shown, counterpart))
    ratio = after / before
    own = {
        "its label": np.where(label > 0, "favourable", "unfavourable"),
        "its score": case.score(shown[features]),
        "its counterpart's score": case.score(counterpart[features]),
        "its ratio of losses": ratio,
    }
    columns = {free_name(name, shown): values for name, values in own.items()}
    columns |= {str(feature): shown[feature].array for feature in shown}
    others = {
        free_name(f"{OTHER}{feature}", shown): feature
        for feature in features
        if not counterpart[feature].astype(object).equals(shown[feature].astype(object))
    }
    columns |= {name: counterpart[feature].array for name, feature in others.items()}
    order = np.argsort(-ratio, kind="stable")[:PEOPLE_SHOWN]
    evidence = pd.DataFrame(columns, index=shown.index).iloc[order[ratio[order] > 1]]
    evidence.attrs["others"] = others
    return evidence
