"""The method against models whose unfairness is known: by enumeration of a small domain, and of many audits at once."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from truth import check_committed, main, tabulate

from fairlab.auditing import run
from fairlab.cases import Case
from fairlab.fair_metric import FairMetric
from fairlab.individual_fairness import error_rate_ratio_test, gradient_flow_attack, loss_ratio_test
from fairlab.models import LinearClassifier

N_MODELS, N_PEOPLE, BUDGET = 300, 2_000, 20_000
N_AUDITS = 400
LEVELS = {"years": range(5), "debts": range(4), "job": ("clerk", "cook", "smith")}
DOMAIN = pd.DataFrame(list(product(*LEVELS.values())), columns=list(LEVELS))
COLUMNS = pd.get_dummies(DOMAIN, dtype=float).to_numpy()  # two numbers and three jobs
CERTAIN = 0.995


class Linear:
    """Log odds that are linear in numbers, jobs and group; classes as scikit-learn has them."""

    classes_ = np.array([0, 1])

    def __init__(self, intercept, weights, direct):
        self.intercept, self.weights, self.direct = intercept, weights, direct

    def log_odds(self, rows):
        columns = [rows["years"], rows["debts"], *(rows["job"] == job for job in LEVELS["job"])]
        odds = self.intercept + np.column_stack(columns).astype(float) @ self.weights
        return odds + self.direct * (rows["group"] == "b") if "group" in rows else odds

    def predict_proba(self, rows):
        odds = np.asarray(self.log_odds(rows), dtype=float)
        return np.column_stack([expit(-odds), expit(odds)])


def draw_world(rng, *, fair, clear=False):
    """Return chances of domain and group, shape (60, 2), a model, whether it gets the group, and its true ratio."""
    chances = rng.dirichlet(np.ones(len(DOMAIN)) * 2)
    shows = 0.0 if fair and rng.random() < 0.3 else 1.0
    centred = COLUMNS - chances @ COLUMNS
    lean = shows * centred @ rng.normal(0, [0.5, 0.5, 1, 1, 1])
    member = expit(lean + rng.normal(0, 0.5))
    joint = chances[:, None] * np.stack([1 - member, member], axis=1)
    # The direction in which the groups differ: least squares on standardised columns, of the whole population.
    spread = np.sqrt(chances @ centred**2)
    X = centred / spread
    covariance = (X * chances[:, None]).T @ X
    together = X.T @ (chances * (member - chances @ member))
    direction = np.linalg.pinv(covariance, rcond=1e-9) @ together
    share = joint[:, 1].sum()
    apart = together / (share * (1 - share))
    size = direction @ apart / (direction @ direction) if shows else 0.0
    slopes = rng.normal(0, 0.6, 5)
    sees = clear or rng.random() < 0.5
    direct = 0.0
    if fair and shows:
        slopes -= direction * (direction @ slopes) / (direction @ direction)
    elif not fair:
        direct = 2.0 if clear else sees * rng.normal(0, 0.7)
    weights = slopes / spread
    odds = COLUMNS @ weights
    model = Linear(rng.normal(0, 0.3) - chances @ odds, weights, direct)
    move = size * abs(direction @ slopes)
    return joint, model, sees, round(true_ratio(joint, model, sees, move), 9)


def chance_of_label(odds):
    """Return the chance of a favourable label: the model is right about its log odds, by and large."""
    return expit(0.8 * odds)


def true_ratio(joint, model, sees, move):
    """Sum over domain, group and label: chance times the ratio of losses."""
    total = 0.0
    for g, group in enumerate("ab"):
        rows = DOMAIN.assign(group=group) if sees else DOMAIN
        odds = np.asarray(model.log_odds(rows), dtype=float)
        for label in (1, -1):
            chance = joint[:, g] * (chance_of_label(odds) if label == 1 else 1 - chance_of_label(odds))
            fall = max(0.0, label * model.direct * (1 if group == "b" else -1)) if sees else 0.0
            margin = label * np.clip(odds, -logit(CERTAIN), logit(CERTAIN))
            total += (chance * loss(margin - fall - move) / loss(margin)).sum()
    return total


def loss(margin):
    return -np.log(expit(np.clip(margin, -logit(CERTAIN), logit(CERTAIN))))


def examined(seed, *, n_people=N_PEOPLE, **kind):
    """Draw a world and a table from it; return the true ratio and the finding, None where a group is too small."""
    rng = np.random.default_rng(seed)
    joint, model, sees, truth = draw_world(rng, **kind)
    cells = rng.choice(joint.size, size=n_people, p=joint.ravel())
    table = DOMAIN.iloc[cells // 2].reset_index(drop=True).assign(group=np.array(["a", "b"])[cells % 2])
    odds = np.asarray(model.log_odds(table if sees else table.drop(columns="group")), dtype=float)
    label = rng.random(n_people) < chance_of_label(odds)
    features = [*LEVELS, "group"] if sees else list(LEVELS)
    case = Case(model, table, sensitive_features="group", features=features, y_true=label.astype(int), pos_label=1)
    found = run("individual_fairness", case, budget=BUDGET, random_state=seed)
    assert found.n_queries <= BUDGET
    return truth, (*found.findings, None)[0]


def audits():
    """Return whether the intervals of both tests hold the ratios of linear models, attacked within a known metric."""
    rng, metric = np.random.default_rng(0), FairMetric.from_directions([[1.0, 0.0, 0.0]])
    coef, intercept = rng.normal(0, [0.4, 0.7, 0.7], (N_AUDITS, 3)), rng.normal(0, 0.3, N_AUDITS)
    held = []
    for start in range(0, N_AUDITS, 50):
        some = slice(start, start + 50)
        model, found = LinearClassifier(coef[some], intercept[some]), []
        for n in (20_000, 500):
            X = rng.normal(size=(50, n, 3))
            odds = np.einsum("mnf,mf->mn", X, coef[some]) + intercept[some, None]
            y = (rng.random(odds.shape) < expit(odds)).astype(int)
            attack = gradient_flow_attack(model, metric, X, y, regularizer=50.0, step_size=0.02, n_steps=50)
            by_loss = loss_ratio_test(attack.loss, attack.attacked_loss)
            found.append((by_loss, error_rate_ratio_test(attack.wrong, attack.attacked_wrong)))
        held.append(
            [(t.interval[:, 0] <= p.statistic) & (p.statistic <= t.interval[:, 1]) for p, t in zip(*found, strict=True)]
        )
    return np.concatenate(held, axis=1)


class Hidden:
    """A network of one hidden layer, as `fairlab.cases.wrap_model` knows networks."""

    n_classes = 2

    def __init__(self, kernel, bias, output):
        self.kernel, self.bias, self.output = kernel, bias, output
        self.n_features, self.model = len(kernel), self

    def logits(self, X):
        odds = np.maximum(np.asarray(X, dtype=float) @ self.kernel + self.bias, 0) @ self.output
        return np.column_stack([np.zeros(len(odds)), odds])

    def log_odds(self, X, label):
        return (2 * label - 1) * self.logits(X)[:, 1]

    def log_odds_gradient(self, X, label):
        is_on = np.asarray(X, dtype=float) @ self.kernel + self.bias > 0
        return self.log_odds(X, label), (2 * label - 1) * (is_on * self.output) @ self.kernel.T


def attacked(seed, kind):
    """Return the findings about a random network, by the attack and, of the same network as a function, without it.

    Of a free one nothing shows the group; of a fair one a column does that the network does not take, of a clear one a
    column that adds twice its value to the log odds.
    """
    rng = np.random.default_rng([seed, 1])
    n, n_features, steep = rng.choice([300, 800, 2_000]), rng.integers(3, 9), rng.choice([1.0, 2.0, 4.0])
    group = (rng.random(n) < rng.choice([0.2, 0.5])).astype(int)
    X = rng.normal(size=(n, n_features))
    X[:, 0] += 0 if kind == "free" else 1.5 * group
    kernel = rng.normal(size=(n_features, 8)) * steep / np.sqrt(n_features)
    if kind != "free":
        kernel[0] = 0
    bias, output = rng.normal(0, 0.3, 8), rng.normal(0, 0.75, 8)
    if kind == "clear":
        kernel = np.column_stack([kernel, np.eye(n_features)[0], -np.eye(n_features)[0]])
        bias, output = np.append(bias, [0, 0]), np.append(output, [2, -2])
    network, names = Hidden(kernel, bias, output), [f"x{j}" for j in range(n_features)]
    table = pd.DataFrame(X, columns=names).assign(group=group)
    y = rng.random(n) < expit(network.logits(X)[:, 1])
    options = {"sensitive_features": "group", "features": names, "y_true": y.astype(int), "pos_label": 1}
    by_rows = lambda rows: expit(network.logits(rows.to_numpy())[:, 1])  # noqa: E731
    cases = Case(network, table, **options), Case(by_rows, table, decision_threshold=0.5, **options)
    return [run("individual_fairness", case, budget=60_000, random_state=seed).findings[0] for case in cases]


def counts():
    """Return one row for each statement: models, how many it held for, their share, and the share that is stated."""
    fair = [examined(seed, fair=True) for seed in range(N_MODELS)]
    others = [examined(seed, fair=False) for seed in range(N_MODELS, 2 * N_MODELS)]
    clear = [examined(seed, fair=False, clear=True) for seed in range(2 * N_MODELS, 2 * N_MODELS + 60)]
    few = [examined(seed, fair=False, n_people=100) for seed in range(3 * N_MODELS, 4 * N_MODELS)]
    few = [pair for pair in few if pair[1]]
    mild = [pair for pair in (*fair, *others) if pair[0] <= 1.25]
    by_loss, by_errors = audits()
    networks = {kind: [attacked(seed, kind) for seed in range(150)] for kind in ("free", "fair", "clear")}
    both = [(a.p_value <= 0.05) == (b.p_value <= 0.05) for found in networks.values() for a, b in found]

    def by(kind):
        return [attack.p_value > 0.05 for attack, _ in networks[kind]]

    rows = [
        ("interval holds the mean loss ratio, fair models", [f.low <= t <= f.high for t, f in fair], 0.95),
        ("interval holds the mean loss ratio, other models", [f.low <= t <= f.high for t, f in others], 0.95),
        ("interval holds the mean loss ratio, 100 people", [f.low <= t <= f.high for t, f in few], 0.95),
        ("it is not above the interval, 100 people", [t <= f.high for t, f in few], 0.975),
        ("no alarm at 5%, fair models", [f.p_value > 0.05 for _, f in fair], 0.95),
        ("no alarm at 5%, models with a ratio of 1.25 or less", [f.p_value > 0.05 for _, f in mild], 0.95),
        ("alarm at 5%, models that add 2 to the log odds of a group", [f.p_value <= 0.05 for _, f in clear], 1.0),
        ("no alarm at 5%, networks whose columns do not show the group", by("free"), 0.95),
        ("no alarm at 5%, networks that do not take the column which shows it", by("fair"), 0.95),
        ("alarm at 5%, networks that add twice a column which shows it", [not is_no for is_no in by("clear")], 0.99),
        ("attack and linearisation of a network agree at 5%", both, 0.95),
        ("interval of an audit holds the mean loss ratio, known metric", by_loss, 0.95),
        ("interval of an audit holds the ratio of error rates, known metric", by_errors, 0.95),
    ]
    return tabulate((statement, held, stated) for statement, several, stated in rows for held in several)


@pytest.mark.slow
def test_what_is_stated_is_kept():
    check_committed("individual_fairness", counts())


@pytest.mark.parametrize("seed", range(3))
def test_a_few_networks(seed):
    free, fair, clear = (attacked(seed, kind)[0].p_value for kind in ("free", "fair", "clear"))
    assert (free > 0.05, fair > 0.05, clear < 0.01) == (True, True, True)


@pytest.mark.parametrize(("seed", "is_fair"), [(0, True), (1, True), (2, True), (7, False)])
def test_a_few_worlds(seed, is_fair):
    truth, finding = examined(seed, fair=is_fair, clear=not is_fair)
    assert (truth == pytest.approx(1), truth > 1.5) == (is_fair, not is_fair)
    assert (finding.p_value > 0.05, finding.p_value < 0.001) == (is_fair, not is_fair)


if __name__ == "__main__":
    main("individual_fairness", counts)
