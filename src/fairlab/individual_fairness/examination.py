"""Individual fairness of any model that gives scores: people beside their counterparts in another group."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd
from scipy.stats import t

from fairlab.cases import Examination, Finding
from fairlab.cases.case import check_examination
from fairlab.cases.table import small_groups
from fairlab.individual_fairness.auditing import FOUR_FIFTHS
from fairlab.individual_fairness.counterparts import (
    Moves,
    Null,
    Scorer,
    Sums,
    log_odds_slopes,
    loss,
    loss_ratios,
    permuted,
    rows_per_person,
)
from fairlab.seeds import derive_seed

METHOD = "individual fairness"
MOST_PEOPLE = 500  # whose slopes are asked for
MOST_ROWS = 10_000  # of the table, that the directions are learned from
FEWEST = 30  # people, and members of a group
N_FOLDS = 20  # of the jackknife
N_PERMUTATIONS = 999
N_ASKED, N_SHOWN = 50, 10  # counterparts that are asked about, and the people in the evidence


def examine(
    case,
    *,
    budget: int,
    confidence: float = 0.95,
    random_state: int = 0,
    max_loss_ratio: float = FOUR_FIFTHS,
) -> Examination:
    """Ask how much the loss of people rises when they are moved to their counterparts in another group.

    A counterpart differs in the sensitive feature itself, if the model gets it, and in what shows it: along the
    direction in which the groups differ by the other features (the sensitive subspace of section 2, learned from
    standardised features, to the end), as far as the groups' means are apart, less what chance adds. The move goes
    wherever the loss rises, in one step: the log odds are taken as linear on the way, with gradients of networks, for
    other models with differences between rows. So many people as the budget allows are asked about, 500 at most, drawn
    at random.

    The effect is the mean ratio of losses (equation 3.2), at least 1. Its interval counts people and directions as
    drawn at random (a jackknife over rows of the table). Its p-value is that of the hypothesis that the ratio is at
    most `max_loss_ratio`, or that what the model takes from the other features has nothing to do with the groups
    (permutations of the sensitive column), whichever is the larger.

    Parameters
    ----------
    case : fairlab.cases.Case
    budget : int
        Most rows that the model is asked for.
    confidence : float
        Of the intervals.
    random_state : int
    max_loss_ratio : float
        Largest ratio that counts as fair.

    Returns
    -------
    Examination
        One finding for each sensitive column. Its effect names the mean ratio with the column shuffled beside it: what
        a fair model would show. Its evidence are the people whose loss rises most, when their counterparts ("other")
        are handed to the model.

    Raises
    ------
    TypeError
        If `case` is none.
    ValueError
        If an option is out of its range.

    Examples
    --------
    >>> import fairlab
    >>> from fairlab.individual_fairness import examine
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": rng.normal(size=400)})
    >>> people["repaid"] = people["points"] > 0
    >>> model = lambda rows: 1 / (1 + np.exp(-rows["points"] - (rows["sex"] == "m")))
    >>> case = fairlab.Case(
    ...     model, people, sensitive_features="sex", features=["sex", "points"], y_true="repaid", decision_threshold=0.5
    ... )
    >>> examine(case, budget=5_000).method
    'individual fairness'
    """
    budget, random_state = check_examination(case, budget=budget, confidence=confidence, random_state=random_state)
    if not isinstance(max_loss_ratio, Real) or not 1 <= max_loss_ratio < np.inf:
        raise ValueError(f"max_loss_ratio: expected a ratio of losses, 1 or more, found {max_loss_ratio!r}")
    start, asked = time.perf_counter(), case.queries.asked
    findings, not_examined = [], []
    reason = _why_not(case)
    if reason:
        not_examined.append(reason)
    else:
        with case.queries.limit(budget):
            for finding, remark in _findings(case, budget, confidence, random_state, max_loss_ratio):
                findings += [finding] if finding else []
                not_examined += [remark] if remark else []
    seconds = time.perf_counter() - start
    return Examination(METHOD, tuple(findings), tuple(not_examined), case.queries.asked - asked, seconds)


def _why_not(case) -> str:
    if case.task == "numbers":
        return "Individual fairness needs the loss of a decision: the model gives numbers without a threshold."
    if not case.has_scores:
        return "Individual fairness needs a loss, and the model gives labels only, no score to take it from."
    if not case.queries.is_deterministic:
        return (
            "Individual fairness compares single scores: the model answers the same row differently, and its noise "
            "would count as discrimination."
        )
    if len(case.table) < 2 * FEWEST:
        return f"Individual fairness needs {2 * FEWEST} people, the table has {len(case.table)}."
    return ""


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


def _findings(case, budget, confidence, random_state, max_loss_ratio) -> Iterator[tuple[Finding | None, str]]:
    """Yield a finding, and a sentence on what was not looked at."""
    groups = {name: case.groups(name) for name in case.sensitive_features}
    own = sum(groups[name].cat.categories.size for name in case.sensitive_features if name not in case.unseen)
    spare = N_ASKED * len(case.sensitive_features)
    n_people = int(min(len(case.table), MOST_PEOPLE, (budget - spare) // (rows_per_person(case) + own)))
    if n_people < FEWEST:
        needed = FEWEST * (rows_per_person(case) + own) + spare
        yield None, f"Individual fairness needs a budget of {needed:,} rows for this model, and has {budget:,}."
        return
    scorer = Scorer(case)
    people = _people(case, scorer, n_people, random_state)
    if case.y_true is None:
        yield (
            None,
            "Individual fairness had no true labels: the loss is that of the model's own decisions, so that it says "
            "how much less sure the model is of a decision, not how much more wrong.",
        )
    for name in case.sensitive_features:
        members = groups[name].iloc[people.learned]
        sizes = members.value_counts(sort=False)
        large = [group for group in sizes.index if sizes[group] >= FEWEST]
        for reason in small_groups(name, sizes, FEWEST):
            yield None, reason
        if len(large) < 2:
            yield None, f"{name}: fewer than two groups have {FEWEST} people."
            continue
        membership = np.column_stack([members == group for group in large]).astype(float)
        fall, worst = _direct(case, scorer, people, name, groups[name], large)
        yield _finding(
            case, scorer, people, name, membership[:, 1:] if len(large) == 2 else membership, fall, worst,
            confidence=confidence, random_state=derive_seed(random_state, METHOD, name), max_loss_ratio=max_loss_ratio,
        ), ""  # fmt: skip


def _people(case, scorer, n_people, random_state) -> _People:
    rng = np.random.default_rng(derive_seed(random_state, METHOD, "people"))
    learned = rng.permutation(len(case.table))[:MOST_ROWS]
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


def _finding(
    case, scorer, people, name, membership, fall, worst, *, confidence, random_state, max_loss_ratio
) -> Finding:  # fmt: skip
    sums = Sums.of(people.X, membership)
    moves = sums.moves(_gram(people.slopes))
    ratios = loss_ratios(people.margin, people.slopes, moves, fall)
    error, error_with_chance = _jackknife(people, membership, sums, fall, random_state)
    null = permuted(
        people.X, membership, people.margin, people.slopes, n_permutations=N_PERMUTATIONS, random_state=random_state
    )
    estimate = float(ratios.mean())
    # What chance adds is known on average only: from below it counts as taken off, from above as left in.
    with_chance = float(loss_ratios(people.margin, people.slopes, sums.moves(), fall).mean())
    half = t.ppf((1 + confidence) / 2, N_FOLDS - 1)
    low = max(estimate - half * error, 1.0)
    high = max(estimate + half * error, with_chance + half * error_with_chance)
    p_value = _p_value(estimate, max_loss_ratio, error)
    if not fall.any():
        p_value = max(p_value, null.p_value)
        if null.p_value > 1 - confidence:  # chance explains it
            low = 1.0
    return Finding(
        method=METHOD,
        sensitive_features=name,
        where="everyone",
        effect=_effect(case, name, max_loss_ratio, null),
        estimate=estimate,
        low=low,
        high=high,
        p_value=p_value,
        evidence=_evidence(case, scorer, people, moves, ratios, worst, name),
        n=len(ratios),
        sentence=f"For counterparts who differ in what shows {name}, the model's loss is {estimate:.2f} times that of "
        f"the people themselves, where up to {max_loss_ratio:g} counts as fair",
    )


def _gram(slopes) -> np.ndarray:
    return slopes.T @ slopes / len(slopes)


def _p_value(estimate, max_loss_ratio, error) -> float:
    if error == 0:
        return float(estimate <= max_loss_ratio)
    return float(t.sf((estimate - max_loss_ratio) / error, N_FOLDS - 1))


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
        for column, moves in enumerate((rest.moves(_gram(slopes)), rest.moves())):
            means[k, column] = loss_ratios(people.margin[kept], slopes, moves, fall[kept]).mean()
    return np.sqrt((N_FOLDS - 1) * means.var(axis=0))


def _effect(case, name, max_loss_ratio, null: Null) -> str:
    labels = "" if case.y_true is not None else " of its own decisions"
    chance = f"{null.ratio:.2f} with {name} shuffled"
    return f"mean ratio of losses{labels}, counterparts to people (fair up to {max_loss_ratio:g}; {chance})"


def _evidence(case, scorer, people, moves: Moves, ratios, worst, name) -> pd.DataFrame:
    """Return the people whose loss rises most: what they are, what their counterpart is, and its score as asked."""
    top = np.argsort(-ratios, kind="stable")[:N_ASKED]
    features = list(case.features)
    shown = case.table.iloc[people.rows[top]]
    encoded = case.encoding.transform(shown[features])
    changes = people.slopes[top] @ moves.vectors
    which = np.abs(changes).argmax(axis=1)
    sign = -people.label[top] * np.sign(changes[np.arange(len(top)), which])
    encoded[:, people.free] += sign[:, None] * moves.vectors[:, which].T * people.scale[people.free]
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
