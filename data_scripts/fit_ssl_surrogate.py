"""Fit the surrogate of `ssl` to published aggregates: python data_scripts/fit_ssl_surrogate.py.

The list itself is not needed, nor read. Fitted are: moments of the predictors, linear fits of the score, counts of
scores by race, sex and age, and counts of predictors, alone and in pairs, among people who are predicted to have a
high score. Each step of the fit draws a table, compares its statistics with the published ones and corrects the
parameters by a damped Gauss-Newton step, each difference in units of a tolerance. The result is the mean of the
parameters of the last steps.

Prints how near the surrogate is, also to aggregates that were held out. None of FlipTest's results is used.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.optimize import least_squares
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from subject_statistics import FEATURES, Statistic, check, fitted, mean, spread
from surrogate_files import write_surrogate

from fairlab.data.documents import read_yaml
from fairlab.data.files import fetch_file
from fairlab.data.registry import project_registry
from fairlab.data.surrogates.copula import Counts
from fairlab.data.surrogates.subjects import (
    COUNTED,
    MORE_TERMS,
    PAIRS,
    PATTERNS,
    PREDICTORS,
    PRESENCE_TERMS,
    TOGETHER,
    Cohort,
    SubjectModel,
    decade,
    group_terms,
)
from fairlab.seeds import derive_seed

HEAD = """\
# Parameters of the surrogate of ssl: fitted to published aggregates, without the list itself.
# Written by data_scripts/fit_ssl_surrogate.py; what they mean: fairlab.data.surrogates.subjects.
"""
STEPS, AVERAGED, ROWS = 60, 15, 100_000
LONGEST_STEP = 0.5  # of any log-odds
DAMPING = 0.05

# Words of the aggregates' files.
NAMES = {
    "vshoot": "shooting_victim",
    "vbatt": "assault_victim",
    "violent": "violent_arrests",
    "gang": "gang_affiliation",
    "narc": "narcotics_arrests",
    "trend": "crime_trend",
    "uuw": "weapons_arrests",
}
SEXES = {"Men": "M", "Women": "F", "Other": "X"}
AGES = {"<20": 10, "less than 20": 10, **{f"{age}-{age + 10}": age for age in range(20, 80, 10)}}

# The counts of the high-risk group are of a test part of so many people; smaller groups' moments are left alone.
TEST_ROWS, HIGH_RISK = 119_575, 345
SMALLEST_GROUP = 400

# How strongly an effect is drawn to zero: levels and noise not at all, constants neither.
RIDGE = np.concatenate(
    [
        np.tile([0.0] + [0.2] * (len(PRESENCE_TERMS) - 1), len(PREDICTORS)),
        np.full(len(PAIRS), 0.2 * 0.3),
        np.tile([0.0] + [0.2] * (len(MORE_TERMS) - 1), len(COUNTED)),
        np.zeros(2 * len(set(AGES.values()))),
    ]
)


def read(name: str) -> pd.DataFrame | dict:
    """Return one of the aggregates."""
    path = fetch_file(project_registry().file(f"ssl_aggregates/{name}"))
    return read_yaml(path) if path.suffix == ".yaml" else pd.read_csv(path)


def first_model() -> SubjectModel:
    """Return the model before the fit: groups, trend and the score's cubic fit are final, the effects are not."""
    facts, cubic = read("ssl_facts.yaml"), read("ols_cubic.csv")
    groups = read_groups()
    share = np.array([0.015, 0.03, 0.09, 0.2, 0.03, 0.16])  # a start, of the size of the predictors' means
    presence, more = np.zeros((len(PREDICTORS), len(PRESENCE_TERMS))), np.zeros((len(COUNTED), len(MORE_TERMS)))
    presence[:, 0], presence[:, 1], more[:, 0] = logit(share) - 0.5, 0.5, -1.5
    effects = tuple((effect, tuple(NAMES.get(n, n) for n in term.split("*"))) for term, effect in cubic.values[1:, :2])
    ages = len(set(AGES.values()))
    return SubjectModel(
        groups=groups,
        races=race_codes(groups, facts["score"]["mean_by_race_code"]),
        presence=presence,
        pairs=np.full(len(PAIRS), 0.5),
        more=more,
        largest=tuple(max(facts["values_seen"][short]) for short, name in NAMES.items() if name in COUNTED),
        trend=fit_trend(facts["trend"]),
        level=(float(cubic["coef"][0]),) * ages,
        effects=effects,
        noise=(float(facts["regression"]["cubic"]["rmse_test"]),) * ages,
    )


def read_groups() -> tuple[Cohort, ...]:
    """Return the groups of race, sex and age with their scores."""
    table = read("treemap_ssl_groups.csv").sort_values("ssl_score")
    return tuple(
        Cohort(race, SEXES[sex], AGES[age], Counts(values=rows["ssl_score"].tolist(), counts=rows["count"].tolist()))
        for (race, sex, age), rows in table.groupby(["race", "sex", "age"], sort=True)
    )


def race_codes(groups, mean_by_code) -> dict[str, dict[str, float]]:
    """Return the shares of the official codes in the races of the groups, from the mean scores of both."""
    codes = {"Asian": ["API"], "Black": ["BLK"], "Hispanic": ["WWH", "WBH"], "White": ["WHI"]}
    shares = {}
    for race, found in (codes | {"Unknown-Not-Listed": ["U", "I"]}).items():
        shares[race] = {found[0]: 1.0}
        if len(found) == 2:
            own = [group.scores for group in groups if group.race == race]
            total = sum(np.dot(scores.values, scores.counts) for scores in own) / sum(sum(s.counts) for s in own)
            first, second = (mean_by_code[code] for code in found)
            second_share = round(float((total - first) / (second - first)), 3)
            shares[race] = {found[0]: 1 - second_share, found[1]: second_share}
    return shares


def fit_trend(facts) -> Counts:
    """Return a distribution of the trend with the published quantiles, mean and standard deviation.

    Between the quantiles the log-odds of the cumulative share are linear; those of two tail shares are placed so that
    the moments are right, and beyond the outermost the values are equally likely.
    """
    values = np.arange(-82, 74) / 10
    places = [-0.35, -0.25, -0.2, -0.1, -0.05, 0.1, 0.2, 0.3]  # sextiles, quartiles, and the share above the mean
    shares = [1 / 6, 0.25, 1 / 3, 0.5, 1 - facts["share_above_mean"], 2 / 3, 0.75, 5 / 6]

    def distribution(tails):
        x = [-8.25, -3.25, facts["p0_25"], tails[0], *places, tails[1], facts["p99_75"], 3.15, 7.35]
        p = np.array([1e-6, 3e-4, 2.5e-3, 0.03, *shares, 0.97, 1 - 2.5e-3, 1 - 3e-4, 1 - 1e-6])
        edges = values + 0.05
        cumulative = expit(np.interp(edges, x, logit(p)))
        low, high = edges < x[1], edges > x[-2]
        cumulative[low] = p[1] * (edges[low] - x[0]) / (x[1] - x[0])
        cumulative[high] = 1 - p[1] * (x[-1] - edges[high]) / (x[-1] - x[-2])
        cumulative[-1] = 1
        return np.diff(cumulative, prepend=0)

    def misfit(tails):
        p = distribution(tails)
        center = p @ values
        return [center - facts["mean"], np.sqrt(p @ values**2 - center**2) - facts["std"]]

    tails = least_squares(misfit, [-0.8, 0.8], bounds=([-1.9, 0.35], [-0.4, 1.5])).x
    counts = np.round(distribution(tails) * 1_000_000).astype(int)
    kept = counts > 0
    return Counts(values=values[kept].tolist(), counts=counts[kept].tolist())


def pack(model: SubjectModel) -> np.ndarray:
    """Return the parameters that are fitted as one vector: the noise by its logarithm."""
    parts = (model.presence, model.pairs, model.more, np.log(model.noise), np.asarray(model.level))
    return np.concatenate([part.ravel() for part in parts])


def unpack(model: SubjectModel, vector: np.ndarray) -> SubjectModel:
    """Return the model with other parameters."""
    sizes = [model.presence.size, model.pairs.size, model.more.size, len(model.noise)]
    presence, pairs, more, noise, level = np.split(vector, np.cumsum(sizes))
    return replace(
        model,
        presence=presence.reshape(model.presence.shape),
        pairs=pairs,
        more=more.reshape(model.more.shape),
        noise=tuple(np.exp(noise).tolist()),
        level=tuple(level.tolist()),
    )


def likelihood_gradient(model: SubjectModel, table: pd.DataFrame) -> np.ndarray:
    """Return the gradient of every row's log-likelihood by the packed parameters, of a table that the model drew."""
    terms, group = group_terms(model.groups), table["group"].to_numpy()
    numbers = table[list(COUNTED)].to_numpy()
    present = np.column_stack([numbers > 0, table["gang_affiliation"]]).astype(float)
    by_group = terms[list(PRESENCE_TERMS)].to_numpy()[group]
    shares = model.presence_shares()
    presence = (present - (shares @ PATTERNS)[group])[:, :, None] * by_group[:, None, :]
    pattern = (present @ (2 ** np.arange(len(PREDICTORS))[::-1])).astype(int)
    pairs = TOGETHER[pattern] - (shares @ TOGETHER)[group]
    go_on = model.continuation(group, present)
    ended = numbers < model.largest
    by_odds = present[:, : len(COUNTED)] * ((numbers - 1) * (1 - go_on) - ended * go_on)
    others = present.sum(axis=1, keepdims=True) - 1
    of_more = np.column_stack([terms[list(MORE_TERMS[:-1])].to_numpy()[group], others])
    more = by_odds[:, :, None] * of_more[:, None, :]
    age = decade(table["age"])
    noise = np.asarray(model.noise)[age]
    z = (table["latent"].to_numpy() - model.expected_score(table)) / noise
    of_age = np.eye(len(model.noise))[age]
    n_rows = len(table)
    return np.hstack(
        [
            presence.reshape(n_rows, -1),
            pairs,
            more.reshape(n_rows, -1),
            of_age * (z**2 - 1)[:, None],
            of_age * (z / noise)[:, None],
        ]
    )


def group_targets(model: SubjectModel, table: pd.DataFrame):
    """Yield statistics of the unranked score in every large group, the published values and tolerances.

    Ranking changes the scores of a group least if the unranked ones are already distributed as they are.
    """
    latent, group = table["latent"].to_numpy(), table["group"].to_numpy()
    for number, (size, scores) in enumerate(zip(model.sizes, (g.scores for g in model.groups), strict=True)):
        if size < SMALLEST_GROUP:
            continue
        values = np.repeat(scores.values, scores.counts)
        own = group == number
        tolerance = max(0.4, 15 / np.sqrt(size))
        yield mean(latent, among=own), values.mean(), tolerance
        yield spread(latent, among=own), values.std(), tolerance
        for cut, tolerance in (
            (np.quantile(values, 0.05), 0.12),
            *((np.quantile(values, q), None) for q in (0.95, 0.99)),
        ):
            share = (values >= cut).mean()
            tolerance = max(tolerance or 0.15 * share, 0.3 / np.sqrt(size))
            yield mean((latent >= cut - 0.5).astype(float), among=own), share, tolerance


def predicted_high(table: pd.DataFrame) -> np.ndarray:
    """Return who is predicted to have a high score by a logistic regression fitted to the table."""
    dummies = pd.get_dummies(table[["age", "race"]].astype(str), dtype=float)
    X = pd.concat([dummies, table[list(FEATURES[1:])].astype(float)], axis=1).to_numpy()
    return LogisticRegression(C=1e3, max_iter=300).fit(X, table["score"] >= HIGH_RISK).predict(X)


def item_targets(items: pd.DataFrame, table: pd.DataFrame, high: np.ndarray):
    """Yield numbers of women and of men with the listed items among those predicted high, with published ones."""
    sexes = {sex: (table["sex"] == sex).to_numpy() & high for sex in ("F", "M")}
    for row in items.to_dict("records"):
        has = np.ones(len(table), dtype=bool)
        for item, value in row.items():
            if not item.startswith("n_") and pd.notna(value):
                has &= item_holds(table, item, value)
        for sex, published in (("F", int(row["n_female"])), ("M", int(row["n_male"]))):
            share = mean((has & sexes[sex]).astype(float))
            number = Statistic(share.value * TEST_ROWS, share.influence * TEST_ROWS)
            yield number, published, 1.5 * np.hypot(np.sqrt(published), 0.05 * published)


def item_holds(table: pd.DataFrame, item: str, value: str) -> np.ndarray:
    """Return whose row has a value."""
    if item == "race":
        return (table["race"] == value).to_numpy()
    if item == "age":
        return (table["age"] == AGES[value]).to_numpy()
    return np.isclose(table[NAMES[item]], float(value))


def read_items(name: str, *, most: int) -> pd.DataFrame:
    """Return published counts of at most so many items together; the trend, which depends on nothing here, left out."""
    path = fetch_file(project_registry().file(f"ssl_aggregates/{name}"))
    items = pd.read_csv(path, dtype=str)
    listed = items.drop(columns=["n_female", "n_male"])
    return items[(listed.notna().sum(axis=1) <= most) & listed["trend"].isna()]


def published_statistics() -> dict[str, dict[str, float]]:
    """Return published values of what `subject_statistics` computes, fitted and held out."""
    facts, moments = read("ssl_facts.yaml"), read("describe.csv").set_index("stat")
    slopes = read("ols_linear.csv").set_index("term")["coef_raw"]
    short = {name: key for key, name in NAMES.items()}
    score, trend, regression = facts["score"], facts["trend"], facts["regression"]
    inflation = regression["derived"]["variance_inflation"]
    zero = facts["zero_in_the_six_predictors_other_than_age_and_trend"]
    use = {"intercept": slopes["1"]}
    for name in PREDICTORS:
        use[f"mean of {name}"] = moments.loc["mean", short[name]]
        use[f"deviation of {name}"] = moments.loc["std", short[name]]
    for name in FEATURES:
        use[f"slope of {name}"] = slopes[short.get(name, name)]
        use[f"inflation of {name}"] = inflation[short.get(name, name)]
    use["residual of the linear fit"] = regression["linear"]["rmse"]
    for gang in (0, 1):
        use[f"mean score, gang {gang}"] = score["mean_by_gang"][str(gang)]
    use["share without predictors, score 250 up"] = zero["score_250_up"][0] / zero["score_250_up"][1]
    held = {
        "correlation of score and age": regression["age_only"]["correlation_score_age"],
        "residual of the fit on age": regression["age_only"]["rmse"],
        "residual of the cubic fit": regression["cubic"]["rmse_test"],
        "share with score 345 up": score["at_or_above_345_cleaned_csv"]["test_split"] / TEST_ROWS,
        "share without predictors, score 400 up": zero["score_400_up"][0] / zero["score_400_up"][1],
        "deviation of crime_trend": trend["std"],
        "share with crime_trend above its mean": trend["share_above_mean"],
        "F of score by race": score["anova_F"]["race"],
        "F of score by sex": score["anova_F"]["sex_M_F_X"],
        "F of score by gang": score["anova_F"]["gang"],
    }
    held |= {f"mean score, race {code}": value for code, value in score["mean_by_race_code"].items()}
    as_floats = {"fitted": use, "held out": held}
    return {kind: {name: float(value) for name, value in values.items()} for kind, values in as_floats.items()}


def tolerance(name: str, value: float) -> float:
    """Return by how much a fitted statistic may miss."""
    if name.startswith(("mean of", "deviation of")):
        return 0.0125 * value
    if name.startswith("mean score"):
        return 0.4
    if name.startswith("inflation"):
        return 0.02
    if name.startswith("share"):
        return 0.01 * value
    return max(0.02 * abs(value), 0.1) if not name.startswith("residual") else 0.1


def improve(model: SubjectModel, published: dict[str, float], items: pd.DataFrame, *, random_state) -> SubjectModel:
    """Return the model after one step of the fit."""
    table = model.draw(ROWS, random_state=random_state)
    found = fitted(table)
    # The trend is drawn by itself and already right: its inflation cannot be fitted.
    targets = [(found[n], v, tolerance(n, v)) for n, v in published.items() if n != "inflation of crime_trend"]
    targets += group_targets(model, table)
    targets += item_targets(items, table, predicted_high(table))
    influence = np.array([statistic.influence for statistic, *_ in targets])
    tolerances = np.array([t for *_, t in targets])
    misfit = np.array([value - statistic.value for statistic, value, _ in targets]) / tolerances
    gradient = influence @ likelihood_gradient(model, table) / len(table) / tolerances[:, None]
    weights = 1 / np.maximum(1, np.abs(misfit) / 5)  # far outliers count by their size, not its square
    curvature = (gradient.T * weights) @ gradient
    curvature += DAMPING * np.diag(np.diag(curvature)) + np.diag(RIDGE + 1e-6)
    vector = pack(model)
    step = np.linalg.solve(curvature, (gradient.T * weights) @ misfit - RIDGE * vector)
    step *= min(1, LONGEST_STEP / np.abs(step[: -len(model.level)]).max())
    print(f"median misfit {np.median(np.abs(misfit)):.2f}, mean square {np.mean(misfit**2):.1f} tolerances", flush=True)
    return unpack(model, vector + step)


def fit() -> SubjectModel:
    """Return the fitted model."""
    model, published = first_model(), published_statistics()["fitted"]
    items = read_items("high_risk_itemsets_run1.csv", most=2)
    vectors = []
    for step in range(STEPS):
        model = improve(model, published, items, random_state=derive_seed("surrogate", "ssl", "fit", step))
        vectors.append(pack(model))
    return unpack(model, np.mean(vectors[-AVERAGED:], axis=0).round(4))


def check_items(table: pd.DataFrame, name: str, *, most: int) -> str:
    """Compare numbers of the predicted high-risk group with published ones, in words."""
    items = read_items(name, most=most)
    found = np.array([(s.value, value) for s, value, _ in item_targets(items, table, predicted_high(table))])
    relative = np.abs(found[:, 0] / found[:, 1] - 1)
    return (
        f"{name}, up to {most} items: {len(found)} numbers; relative difference: "
        f"median {np.median(relative):.0%}, nine in ten below {np.quantile(relative, 0.9):.0%}"
    )


def parameters(model: SubjectModel) -> dict:
    """Return plain values for a YAML file."""
    return {
        "races": model.races,
        "presence": dict(zip(PREDICTORS, model.presence.tolist(), strict=True)),
        "pairs": [[*pair, effect] for pair, effect in zip(PAIRS, model.pairs.tolist(), strict=True)],
        "more": dict(zip(COUNTED, model.more.tolist(), strict=True)),
        "largest": list(model.largest),
        "trend": model.trend.model_dump(),
        "level": list(model.level),
        "effects": [[*names, effect] for effect, names in model.effects],
        "noise": list(model.noise),
        "groups": [[g.race, g.sex, g.age, list(g.scores.values), list(g.scores.counts)] for g in model.groups],
    }


if __name__ == "__main__":
    model, published = fit(), published_statistics()
    variant = project_registry().variant("ssl")
    content = {"fitted_on": "published counts, moments and fits", "rows": variant.rows}
    write_surrogate(variant, HEAD, content | {"published": published, "subjects": parameters(model)})
    table = model.sample(variant.rows, random_state=derive_seed("surrogate", "ssl"))
    print(check(table, published).to_string(index=False, float_format="%.4g"))
    print(check_items(table, "high_risk_itemsets_run1.csv", most=2))
    for most in (2, 3):
        print(check_items(table, "high_risk_itemsets_run2.csv", most=most))
