"""Individual fairness of any model that gives scores: people beside their counterparts in another group."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import t

from fairlab.cases import Finding
from fairlab.cases.method import Examination, Method
from fairlab.checks import check_number
from fairlab.individual_fairness.auditing import FOUR_FIFTHS
from fairlab.individual_fairness.counterparts import (
    Scorer,
    Sums,
    log_odds_slopes,
    loss,
    loss_ratios,
    mean_product,
    permuted,
    rows_per_person,
)
from fairlab.seeds import derive_seed
from fairlab.statistics import smallest_effect

MOST_PEOPLE = 500  # whose slopes are asked for
MOST_ROWS = 10_000  # of the table, that the directions are learned from
FEWEST = 30  # people, and members of a group
N_FOLDS = 20  # of the jackknife
N_PERMUTATIONS = 999
N_ASKED, N_SHOWN = 50, 10  # counterparts that are asked about, and the people in the evidence


class IndividualFairness(Method):
    """Compares the loss of people with that at their counterparts in another group.

    A counterpart differs in the sensitive feature itself, if the model gets it, and in what shows it: along the
    direction in which the groups differ by the other features (the sensitive subspace of section 2, learned from
    standardised features, to the end), as far as the groups' means are apart, less what chance adds. The move goes
    wherever the loss rises, in one step: the log odds are taken as linear on the way, with gradients of networks, for
    other models with differences between rows. So many people as the budget allows are queried, 500 at most, drawn
    at random.

    The effect is the mean loss ratio (equation 3.2), at least 1. Its interval counts people and directions as
    drawn at random (a jackknife over rows of the table). Its p-value is that of the hypothesis that the ratio is at
    most `max_loss_ratio` (two-sided, so that it agrees with the interval), or that what the model takes from the other
    features has nothing to do with the groups (permutations of the sensitive column), whichever is the larger.

    There is one finding for each sensitive column. Its effect names the mean loss ratio with the column shuffled, too,
    which is what a fair model would show. Its evidence are the people whose loss rises most, when their counterparts
    ("other") are handed to the model.

    Parameters
    ----------
    max_loss_ratio : float
        The largest ratio of losses that counts as fair, at least 1.
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
        "Individual fairness here is a linearised jackknife: people are moved in one step along the direction "
        "in which groups differ, with log odds taken as linear, and the standard error of the mean loss ratio is that "
        "of a jackknife over people and directions; the paper attacks each person by a gradient flow inside a fair "
        "metric."
    )
    share = 3
    needs = ("decisions", "scores", "determinism")

    def __init__(self, *, max_loss_ratio: float = FOUR_FIFTHS, confidence_level: float = 0.95, random_state: int = 0):
        super().__init__(confidence_level=confidence_level, random_state=random_state)
        self.max_loss_ratio = check_number(max_loss_ratio, "max_loss_ratio", least=1)

    def findings(self, examination: Examination) -> Iterator[Finding]:
        """Yield the mean loss ratio of each sensitive column."""
        case, budget = examination.case, examination.budget
        if len(case.table) < 2 * FEWEST:
            examination.skip(f"Individual fairness needs {2 * FEWEST} people, the table has {len(case.table)}.")
            return
        groups = {name: case.groups(name) for name in case.sensitive_features}
        own = sum(groups[name].cat.categories.size for name in case.sensitive_features if name not in case.unseen)
        spare, each = N_ASKED * len(case.sensitive_features), rows_per_person(case) + own
        labelled = len(case.table) if case.y_true is None else int(case.labelled.sum())
        n_people = int(min(labelled, MOST_PEOPLE, (budget - spare) // each))
        if labelled < FEWEST:
            examination.skip(f"Individual fairness needs {FEWEST} people with a true label, the table has {labelled}.")
            return
        if n_people < FEWEST:
            needed = FEWEST * each + spare
            examination.skip(
                f"Individual fairness needs a budget of {needed:,} rows for this model, and has {budget:,}."
            )
            return
        scorer = Scorer(case)
        people = _people(case, scorer, n_people, self.random_state)
        if case.y_true is None:
            examination.warnings.append(
                "Individual fairness had no true labels: the loss is that of the model's own decisions, so that it "
                "says how much less sure the model is of a decision, not how much more wrong."
            )
        for name in case.sensitive_features:
            members = groups[name].iloc[people.learned]
            large = examination.large_groups(name, members, FEWEST)
            if len(large) < 2:
                examination.skip(f"{name}: fewer than two groups have {FEWEST} people.")
                continue
            membership = np.column_stack([members == group for group in large]).astype(float)
            membership = membership[:, 1:] if len(large) == 2 else membership
            fall, worst = _direct(case, scorer, people, name, groups[name], large)
            yield self._finding(case, scorer, people, name, membership, fall, worst)

    def _finding(self, case, scorer, people, name, membership, fall, worst) -> Finding:
        random_state, max_loss_ratio = derive_seed(self.random_state, self.title, name), self.max_loss_ratio
        sums = Sums.of(people.X, membership)
        moves = sums.moves(mean_product(people.slopes))
        ratios = loss_ratios(people.margin, people.slopes, moves, fall)
        error, error_with_chance = _jackknife(people, membership, sums, fall, random_state)
        p_of_chance, ratio_by_chance = permuted(
            people.X, membership, people.margin, people.slopes, n_permutations=N_PERMUTATIONS, random_state=random_state
        )
        estimate = float(ratios.mean())
        # What chance adds is known on average only: from below it counts as taken off, from above as left in.
        with_chance = float(loss_ratios(people.margin, people.slopes, sums.moves(), fall).mean())
        half = t.ppf((1 + self.confidence_level) / 2, N_FOLDS - 1)
        low = max(estimate - half * error, 1.0)
        high = max(estimate + half * error, with_chance + half * error_with_chance)
        if fall.any():
            p_of_chance = 0.0  # what the feature itself changes is no chance
        elif p_of_chance > 1 - self.confidence_level:  # chance explains it
            low = 1.0
        test = partial(_p_value, estimate, float(error), p_of_chance)
        direction = f"under perturbation along the {name} direction"
        labels = "" if case.y_true is not None else "its own decisions as labels; "
        shuffled = f"{ratio_by_chance:.2f} with {name} shuffled"
        return Finding(
            method=self.title,
            sensitive_features=(name,),
            where="everyone",
            effect=f"loss ratio {direction} ({labels}fair up to {max_loss_ratio:g}; {shuffled})",
            estimate=estimate,
            low=low,
            high=high,
            p_value=test(max_loss_ratio),
            evidence=_evidence(case, scorer, people, moves, ratios, worst, name),
            n=len(ratios),
            sentence=f"Under perturbation along the {name} direction, the model's loss is {estimate:.2f} times as "
            f"high, where up to {max_loss_ratio:g} counts as fair",
            measure="loss_ratio",
            test=test,
            smallest=partial(smallest_effect, low, high, self.confidence_level),
            limit=max_loss_ratio,
        )


@dataclass(frozen=True, eq=False)
class _People:
    """The people who are asked about: row numbers, margins, slopes by standardised columns, and what stands beside."""

    rows: np.ndarray  # of the table
    label: np.ndarray  # 1 or -1
    margin: np.ndarray
    slopes: np.ndarray
    X: np.ndarray  # standardised columns of all rows that directions are learned from
    scale: np.ndarray  # of these columns, in the encoding's units
    learned: np.ndarray  # their row numbers; the people come first
    free: np.ndarray  # columns that are moved


def _people(case, scorer, n_people, random_state) -> _People:
    rng = np.random.default_rng(derive_seed(random_state, IndividualFairness.title, "people"))
    learned = rng.permutation(len(case.table))
    if case.y_true is not None:  # people without a true label count for the directions alone
        learned = learned[np.argsort(~case.labelled[learned], kind="stable")]
    learned = learned[:MOST_ROWS]
    rows = learned[:n_people]
    encoding = case.encoding
    encoded = encoding.transform(case.table[list(case.features)].iloc[learned])
    scale = encoded.std(axis=0)
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
    """Return how far each margin falls, at worst, when the feature itself is changed, and to which value (a row)."""
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
    """Return the row whose value stands for a group: the middle one of numbers."""
    values = column.iloc[members]
    if pd.api.types.is_numeric_dtype(column) and not values.isna().any():
        return int(members[np.argsort(values.to_numpy(dtype=float), kind="stable")[len(members) // 2]])
    return int(members[0])


def _p_value(estimate: float, error: float, p_of_chance: float, limit: float) -> float:
    """Return the p-value of "the mean loss ratio is at most `limit`", which is no smaller than that of chance."""
    if estimate <= limit:
        return 1.0
    return max(p_of_chance, float(2 * t.sf((estimate - limit) / error, N_FOLDS - 1)) if error else 0.0)


def _jackknife(people, membership, sums, fall, random_state) -> np.ndarray:
    """Return standard errors of the mean ratio, without what chance adds and with it.

    Folds of rows are left out in turn, people and directions alike.
    """
    fold = np.random.default_rng(random_state).permutation(len(people.X)) % N_FOLDS
    means = np.empty((N_FOLDS, 2))
    for k in range(N_FOLDS):
        out = fold == k
        kept = ~out[: len(people.rows)]
        rest, slopes = sums - Sums.of(people.X[out], membership[out]), people.slopes[kept]
        for column, moves in enumerate((rest.moves(mean_product(slopes)), rest.moves())):
            means[k, column] = loss_ratios(people.margin[kept], slopes, moves, fall[kept]).mean()
    return np.sqrt((N_FOLDS - 1) * means.var(axis=0))


def _evidence(case, scorer, people, moves, ratios, worst, name) -> pd.DataFrame:
    """Return the people whose loss rises most: what they are, what their counterpart is, and its score as asked."""
    top = np.argsort(-ratios, kind="stable")[:N_ASKED]
    features = list(case.features)
    shown = case.table.iloc[people.rows[top]]
    encoded = case.encoding.transform(shown[features])
    changes = people.slopes[top] @ moves
    which = np.abs(changes).argmax(axis=1)
    sign = -people.label[top] * np.sign(changes[np.arange(len(top)), which])
    encoded[:, people.free] += sign[:, None] * moves[:, which].T * people.scale[people.free]
    everyone = case.encoding.transform(case.table[features])
    encoded = np.clip(encoded, everyone.min(axis=0), everyone.max(axis=0))
    counterpart = case.encoding.inverse_transform(encoded).set_index(shown.index)
    if name not in case.unseen:
        counterpart[name] = case.table[name].iloc[worst[top]].array
    label, shift = people.label[top], scorer.decision_threshold if case.y_true is None else 0.0
    before, after = (loss(label * (scorer.log_odds(rows[features]) - shift)) for rows in (shown, counterpart))
    ratio = after / before
    columns = {
        "its label": np.where(label > 0, "favourable", "unfavourable"),
        "its score": case.score(shown[features]),
        "its counterpart's score": case.score(counterpart[features]),
        "its ratio of losses": ratio,
    }
    columns |= {str(feature): shown[feature].array for feature in shown}
    for feature in features:
        if not counterpart[feature].astype(object).equals(shown[feature].astype(object)):
            columns[f"other {feature}"] = counterpart[feature].array
    order = np.argsort(-ratio, kind="stable")[:N_SHOWN]
    return pd.DataFrame(columns, index=shown.index).iloc[order[ratio[order] > 1]]
