"""Fit where shoppers like those of `staples` live and what they earn: python data_scripts/fit_staples_population.py.

The authors of FairTest drew a million users from tables of the US census and published 100,000 of them. From these
public users and the American Community Survey of 2013 by zip code area, this script computes the input of another such
draw and writes it to staples_population.csv: for each state, race and pair of prices, the expected number in a million
shoppers, the share of women, the share earning below 50,000 dollars, and the standard error of that share due to
differences between zip codes that the model does not explain. No published number is used.

Where they live: in proportion to the population of the zip codes, as the public users are (chi-square per zip code with
more than five expected users: 1.02).
Race: the survey's shares of white, black, Asian and Hispanic people; the rest is divided among the four small groups in
the proportions of the public users in the same state, shrunken towards the country's where there are few.
Numbers by race and price, by state and price, and by all three are then moved towards those of the public users, the
more so the larger the overdispersion of these.
Income: a logistic regression on the public users: income per head, rent, share of white people and median age of the
zip code, race, state and price, and products of them, with a penalty chosen by cross-validation.
Gender: by race, as among the public users.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar
from scipy.stats import nbinom
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

sys.path.insert(0, str(Path(__file__).parent))  # make_staples stands beside this script

from make_staples import INCOME_LIMIT, PRICES, RACES, USERS, ZIP_PRICES, read

from fairlab.data.files import fetch_file
from fairlab.data.project import project
from fairlab.data.registry import project_registry
from fairlab.paths import write_text

AREAS = "zcta/zip_demographics_acs2013.csv"
FILE = project().data_scripts / "staples_population.csv"
SHARES = {
    "percent_white": RACES["1"],
    "percent_hispanic": RACES["2"],
    "percent_black": RACES["3"],
    "percent_asian": RACES["5"],
}
SMALL = [race for race in RACES.values() if race not in SHARES.values()]
NUMBERS = ["per_capita_income", "median_rent", "percent_white", "median_age"]
CELLS = ["state", "race", *PRICES]
PENALTIES = [0.003, 0.01, 0.03, 0.1, 0.3]
MILLION = 1_000_000


def fit(raw: dict[str, Path]) -> pd.DataFrame:
    """Return one row for each state, race and pair of prices, from the files by their names in the registry."""
    zips, users = areas(raw), public_users(raw)
    users = users.join(zips[["state", *PRICES]], on="zipcode", how="inner")
    people = races(zips, users)
    people["people"] *= len(users) / people["people"].sum()
    people["people"] = shrunken(people.reset_index(), users).to_numpy()
    low, spread = incomes(people, users.join(zips[NUMBERS], on="zipcode"))
    variance = (people["people"] * low * (1 - low) * spread) ** 2
    people = people.assign(low_income=people["people"] * low, variance=variance)
    cells = people.groupby(CELLS)[["people", "low_income", "variance"]].sum().query("people > 0")
    women = users["sex"].eq("1").groupby(users["race"]).mean()
    return pd.DataFrame(
        {
            "people": cells["people"] * MILLION / cells["people"].sum(),
            "women": women[cells.index.get_level_values("race")].to_numpy(),
            "low_income": cells["low_income"] / cells["people"],
            "standard_error": np.sqrt(cells["variance"]) / cells["people"],
        }
    ).reset_index()


def areas(raw) -> pd.DataFrame:
    """Return the areas that have coordinates, with state, prices, population, and their survey data."""
    zip_codes = read(raw[ZIP_PRICES], ZIP_PRICES, ["zip", "state", *PRICES]).set_index("zip")
    survey = pd.read_csv(raw[AREAS], dtype={"zcta": str}).set_index("zcta")
    zips = survey.join(zip_codes, how="inner")
    zips = zips[zips["total_population"] > 0]
    zips[["per_capita_income", "median_rent"]] = np.log(zips[["per_capita_income", "median_rent"]])
    known = [*NUMBERS, *SHARES]
    return zips.fillna(zips.groupby("state")[list(dict.fromkeys(known))].transform("median"))


def public_users(raw) -> pd.DataFrame:
    """Return the public users by zip code, with race and whether their income is low."""
    users = read(raw[USERS], USERS, ["zipcode", "sex", "race", "income"])
    return users.assign(race=users["race"].map(RACES), low=users["income"].astype(int) < INCOME_LIMIT)


def races(zips, users) -> pd.DataFrame:
    """Return expected people by zip code and race."""
    shares = zips[list(SHARES)].rename(columns=SHARES) / 100
    rest = (1 - shares.sum(axis=1)).clip(lower=0)
    whole = users.loc[users["race"].isin(SMALL), "race"].value_counts(normalize=True)
    by_state = users[users["race"].isin(SMALL)].groupby(["state", "race"]).size().unstack(fill_value=0)
    by_state = by_state.reindex(zips["state"].unique(), fill_value=0)[whole.index]
    # Pseudo-counts: the mean number of these users per state, in the proportions of the country.
    prior = by_state.sum(axis=1).mean()
    parts = (by_state + prior * whole).div(by_state.sum(axis=1) + prior, axis=0).loc[zips["state"]].set_axis(zips.index)
    shares = pd.concat([shares, parts.mul(rest, axis=0)], axis=1)
    people = shares.div(shares.sum(axis=1), axis=0).mul(zips["total_population"], axis=0)
    long = (
        people.reset_index(names="zipcode").melt("zipcode", var_name="race", value_name="people").set_index("zipcode")
    )
    return long[long["people"] > 0].join(zips[["state", *PRICES, *NUMBERS]])


def shrunken(people, users) -> pd.Series:
    """Return expected people, moved towards the public users by race and price, by state and price, and by all three.

    The number of public users in a cell is Poisson distributed around the expected number times a factor of the cell,
    which is gamma distributed around 1; the variance of the factors is fitted by maximum likelihood. The four small
    groups, whose share of a zip code is not in the survey, have a variance of their own.
    """
    people = people.copy()
    small = people["race"].isin(SMALL)
    for by in (
        ["race", "price_as_published"],
        ["state", "price_as_published"],
        ["state", "race", "price_as_published"],
    ):
        for group, found in ((small, users[users["race"].isin(SMALL)]), (~small, users[~users["race"].isin(SMALL)])):
            expected = people[group].groupby(by)["people"].sum()
            n = found.groupby(by).size().reindex(expected.index, fill_value=0)
            variance = overdispersion(n, expected)
            ratio = (1 + n * variance) / (1 + expected * variance)
            cell = pd.MultiIndex.from_frame(people.loc[group, by])
            people.loc[group, "people"] *= ratio.loc[cell].to_numpy()
    return people["people"]


def overdispersion(n, expected) -> float:
    """Return the maximum likelihood variance of gamma factors with mean 1 on the expected values of Poisson counts."""

    def loss(log_variance):
        size = np.exp(-log_variance)
        return -nbinom.logpmf(n, size, size / (size + expected)).sum()

    return float(np.exp(minimize_scalar(loss, bounds=(-15, 3), method="bounded").x))


def incomes(people, users) -> tuple[np.ndarray, float]:
    """Return the probability of a low income by zip code and race, and the residual standard deviation of its logit."""
    names = ["state", "race", "price_as_published"]
    model = make_pipeline(_terms(), LogisticRegressionCV(Cs=PENALTIES, cv=5, max_iter=2000, scoring="neg_log_loss"))
    model.fit(_with_products(users[[*names, *NUMBERS]]), users["low"])
    print(f"penalty {model[-1].C_[0]}", file=sys.stderr)
    expected = model.predict_proba(_with_products(users[[*names, *NUMBERS]]))[:, 1]
    rest = pd.DataFrame({"left": users["low"] - expected, "variance": expected * (1 - expected)})
    rest = rest.groupby([users["zipcode"], users["race"]])
    sums, squares = rest.sum(), rest.agg(lambda values: (values**2).sum())
    # Products of the residuals of two users of the same zip code and race estimate the variance of their common logit.
    pairs = (sums**2 - squares).sum()
    spread = np.sqrt(max(pairs["left"] / pairs["variance"], 0))
    print(f"standard deviation of the logit by zip code and race {spread:.3f}", file=sys.stderr)
    return model.predict_proba(_with_products(people[[*names, *NUMBERS]]))[:, 1], float(spread)


def _with_products(table) -> pd.DataFrame:
    """Add products of categories as categories, and of income per head with race."""
    table = table.assign(
        state_race=table["state"] + table["race"],
        state_price=table["state"] + table["price_as_published"],
        race_price=table["race"] + table["price_as_published"],
        cell=table["state"] + table["race"] + table["price_as_published"],
    )
    centred = table["per_capita_income"] - 10
    return table.assign(**{f"income of {race}": centred * (table["race"] == race) for race in RACES.values()})


def _terms():
    categories = ["state", "race", "price_as_published", "state_race", "state_price", "race_price", "cell"]
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), categories),
        (StandardScaler(), NUMBERS),
        ("passthrough", [f"income of {race}" for race in RACES.values()]),
    )


def main():
    """Fetch the files if need be and write the table."""
    registry = project_registry()
    raw = {name: fetch_file(registry.files[name]) for name in (USERS, ZIP_PRICES, AREAS)}
    write_text(FILE, fit(raw).to_csv(index=False, float_format="%.5g", lineterminator="\n"))


if __name__ == "__main__":
    main()
