"""Generated programs whose scores are known by enumeration: how often what Themis says of them is true."""

import numpy as np
import pandas as pd
import pytest
from truth import check, check_committed, main, tabulate

from fairlab.auditing import run
from fairlab.cases import Case, Schema
from fairlab.themis import Themis, causal_score, group_score
from fairlab.themis.draws import INPUTS
from fairlab.themis.estimation import EFFECTS

N_MODELS = 320
SENSITIVE = {"sex": (0,), "race": (1,), "sex and race": (0, 1)}
CLEAR = 0.2  # a rule that changes so many decisions is to be found
BUDGET, N_PEOPLE = 4_000, 1_500
KINDS = ("fair", "rare", "balanced", "together", "strong")


def generated(number):
    """Return a table of outputs by sex, race and two others, and people; every other program is fair.

    Of the others, some change few decisions, some favour either sex on equally many inputs (so that their group score
    by sex is 0), some read both columns or neither, and some change many decisions.
    """
    rng = np.random.default_rng([0, number])
    kind = "fair" if number % 2 == 0 else KINDS[1 + number // 2 % 4]
    sizes = (2, int(rng.integers(2, 6)), *rng.integers(20, 40, size=2))
    base = rng.random(sizes[2:]) < rng.uniform(0.02, 0.98)
    outputs = np.broadcast_to(base, sizes).copy()
    n_cells = base.size
    order = rng.permutation(n_cells)
    flat = outputs.reshape(*sizes[:2], n_cells)
    if kind == "balanced":
        some = order[: 2 * (n_cells // int(rng.integers(4, 30)))]
        flat[0][:, some] = np.arange(len(some)) % 2 == 0
        flat[1][:, some] = np.arange(len(some)) % 2 == 1
    elif kind != "fair":
        share = rng.uniform(0.25, 0.6) if kind == "strong" else rng.uniform(0.005, 0.2)
        some = order[: max(1, int(share * n_cells))]
        races = [0] if kind == "together" else range(sizes[1])
        for race in races:
            flat[0, race, some] = ~base.reshape(-1)[some]
    people = np.column_stack([rng.integers(size, size=N_PEOPLE) for size in sizes])
    lower = np.minimum(people[:, 2], rng.integers(sizes[2], size=N_PEOPLE))
    people[:, 2] = np.where(people[:, 0] == 1, lower, people[:, 2])  # districts go with sex
    return kind, outputs, pd.DataFrame(people, columns=["sex", "race", "district", "income"])


def truths(outputs, people, axes):
    """Return the true scores by some axes: over all inputs, over the people, and over inputs drawn column by column."""
    changed = outputs.any(axis=axes, keepdims=True) != outputs.all(axis=axes, keepdims=True)
    changed = np.broadcast_to(changed, outputs.shape)[tuple(people.to_numpy().T)]
    drawn = (
        outputs.astype(float),
        (outputs.any(axis=axes, keepdims=True) != outputs.all(axis=axes, keepdims=True)) * 1.0,
    )
    for axis in set(range(outputs.ndim)) - set(axes):
        shares = np.bincount(people.iloc[:, axis], minlength=outputs.shape[axis]) / len(people)
        shares = shares.reshape([-1 if other == axis else 1 for other in range(outputs.ndim)])
        drawn = [(part * shares).sum(axis=axis, keepdims=True) for part in drawn]
    return {
        "causal": causal_score(outputs, axes),
        "group": group_score(outputs, axes),
        (EFFECTS["causal"], "people"): changed.mean(),
        (EFFECTS["causal"], INPUTS): drawn[1].item(),
        (EFFECTS["group"], INPUTS): float(np.ptp(drawn[0])),
    }


def look_at(number):
    """Return what holds of one program, one row a statement."""
    kind, outputs, people = generated(number)
    schema = Schema.from_dict({name: range(size) for name, size in zip(people, outputs.shape, strict=True)})

    def program(rows):
        return outputs[tuple(rows.to_numpy().T)]

    rows, name = [], list(SENSITIVE)[number % 3]
    case = Case(program, people, sensitive_features=["sex", "race"], schema=schema)
    found = run("themis", case, budget=BUDGET, random_state=number)
    found = found.to_frame().assign(who=[each.who for each in found.findings])
    true = {n: truths(outputs, people, axes) for n, axes in SENSITIVE.items()}
    for finding in found[found["who"] == name].itertuples():
        held = holds(finding, true[name][finding.effect, finding.population])
        rows.append((f"audit: the 95% interval of the {finding.effect} ({finding.population}) holds it", held, 0.95))
        if finding.effect == EFFECTS["group"] and true[name][EFFECTS["group"], INPUTS] < 1e-12:
            rows.append(("audit: no alarm (5%) by the group score where it is 0", finding.p_value > 0.05, 0.95))
    if kind == "fair":
        rows.append(("audit: no alarm (5%) about a fair model", (found["p_value"] > 0.05).all(), 0.95))
    for n, scores in true.items():
        if scores["causal"] >= CLEAR:
            alarms = found[(found["who"] == n) & (found["p_value"] <= 0.05) & (found["low"] > 0)]
            rows.append(("audit: a clear rule is found", len(alarms) > 0, 0.99))

    themis = Themis(program, schema, random_state=number)
    causal, group = (score(name.split(" and ")) for score in (themis.causal_score, themis.group_score))
    off = abs(causal.estimate - true[name]["causal"])
    rows += [
        ("Themis: the causal score is within 0.05 of the truth (99%)", off <= 0.05, 0.99),
        ("Themis: the 99% interval of the causal score holds it", holds(causal, true[name]["causal"]), 0.99),
        ("Themis: the 99% interval of the group score holds it", holds(group, true[name]["group"]), 0.99),
    ]
    for measure in ("causal", "group"):
        search = themis.search(0.05, measure=measure, sensitive_features=["sex", "race"])
        wrong = [names for names in search.found[measure] if true[" and ".join(names)][measure] < 0.05 - 1e-12]
        rows.append((f"Themis: a {measure} search at 0.05 names no set below it (99%)", not wrong, 0.99))
    return rows


def holds(score, truth):
    return score.low - 1e-12 <= truth <= score.high + 1e-12


def count(numbers):
    """Return how often each statement holds."""
    return tabulate(row for number in numbers for row in look_at(number))


@pytest.mark.slow
def test_what_is_said_of_generated_programs_is_true_at_its_stated_rate():
    check_committed("themis", count(range(N_MODELS)))


def test_a_few_generated_programs():
    check(count(range(10)))


if __name__ == "__main__":
    main("themis", lambda: count(range(N_MODELS)))
