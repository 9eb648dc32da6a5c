import numpy as np
import pandas as pd
import pytest
from fit_ssl_surrogate import parameters
from scipy.special import expit
from subject_statistics import check

from fairlab.data.documents import read_yaml
from fairlab.data.sources import MODELS
from fairlab.data.surrogates.copula import Counts
from fairlab.data.surrogates.subjects import (
    COLUMNS,
    COUNTED,
    MORE_TERMS,
    PAIRS,
    PATTERNS,
    PREDICTORS,
    PRESENCE_TERMS,
    Cohort,
    SubjectModel,
    group_terms,
)
from fairlab.paths import project

DATA_SCRIPTS = project().data_scripts


def model(**changes):
    values = {
        "groups": (
            Cohort("Black", "M", 20, Counts(values=(250, 300, 400), counts=(60, 30, 10))),
            Cohort("White", "F", 40, Counts(values=(200, 210), counts=(50, 50))),
        ),
        "races": {"Black": {"BLK": 1.0}, "White": {"WHI": 1.0}},
        "presence": np.zeros((len(PREDICTORS), len(PRESENCE_TERMS))),
        "pairs": np.zeros(len(PAIRS)),
        "more": np.full((len(COUNTED), len(MORE_TERMS)), -9.0),
        "largest": (4, 10, 12, 29, 4),
        "trend": Counts(values=(-1.0, 0.5), counts=(1, 1)),
        "level": (0.0,) * 7,
        "effects": ((-40.0, ("age",)), (15.0, ("violent_arrests",)), (2.0, ("violent_arrests", "gang_affiliation"))),
        "noise": (1.0,) * 7,
    }
    return SubjectModel(**values | changes)


def test_groups_have_their_sizes_and_scores():
    table = model().sample(1000, random_state=1)
    assert list(table.columns) == list(COLUMNS)
    assert table.groupby("race")["score"].value_counts().to_dict() == {
        ("BLK", 250): 300,
        ("BLK", 300): 150,
        ("BLK", 400): 50,
        ("WHI", 200): 250,
        ("WHI", 210): 250,
    }
    assert table["score"].is_monotonic_decreasing
    assert set(table.loc[table["race"] == "BLK", "sex"]) == {"M"}
    assert set(table.loc[table["race"] == "WHI", "age"]) == {40}


def test_odd_rows_go_to_the_largest_fractions():
    groups = tuple(
        Cohort("White", "M", 10 * k, Counts(values=(k,), counts=(count,))) for k, count in ((1, 5), (2, 3), (3, 2))
    )
    table = model(groups=groups).sample(7, random_state=0)  # 3.5, 2.1 and 1.4 rows
    assert table["age"].value_counts().to_dict() == {10: 4, 20: 2, 30: 1}


def test_predictors_are_as_likely_as_their_log_odds():
    presence = np.zeros((len(PREDICTORS), len(PRESENCE_TERMS)))
    presence[2, PRESENCE_TERMS.index("one")] = -1.0
    presence[2, PRESENCE_TERMS.index("black")] = 0.7
    table = model(presence=presence).sample(40_000, random_state=2)
    shares = (table["violent_arrests"] > 0).groupby(table["race"]).mean()
    assert shares["WHI"] == pytest.approx(expit(-1.0), abs=0.015)
    assert shares["BLK"] == pytest.approx(expit(-0.3), abs=0.015)
    assert table["gang_affiliation"].mean() == pytest.approx(0.5, abs=0.015)


def test_pairs_come_together():
    pairs = np.zeros(len(PAIRS))
    pairs[PAIRS.index(("shooting_victim", "gang_affiliation"))] = 2.0
    both = PATTERNS[:, 0] * PATTERNS[:, 5]
    weights = np.exp(2.0 * both)
    shares = model(pairs=pairs).presence_shares()
    np.testing.assert_allclose(shares, np.tile(weights / weights.sum(), (2, 1)))


def test_numbers_beyond_the_first_are_geometric_up_to_the_largest():
    more = np.full((len(COUNTED), len(MORE_TERMS)), 0.0)
    more[:, MORE_TERMS.index("one")] = 0.4
    table = model(more=more).sample(40_000, random_state=3)
    numbers = table.loc[table["shooting_victim"] > 0, "shooting_victim"]
    p = expit(0.4)
    expected = [1 - p, p * (1 - p), p**2 * (1 - p), p**3]
    found = numbers.value_counts(normalize=True).sort_index().to_numpy()
    np.testing.assert_allclose(found, expected, atol=0.015)


def test_expected_score_adds_up_products_with_age_in_decades():
    table = pd.DataFrame(0.0, index=[0, 1], columns=list(COLUMNS[1:9])).assign(
        age=[10, 40], violent_arrests=[2, 3], gang_affiliation=[0, 1]
    )
    found = model(level=(1.0, 0, 0, 7.0, 0, 0, 0)).expected_score(table)
    np.testing.assert_allclose(found, [1 + 30, 7 - 120 + 45 + 6])


def test_who_is_likely_to_have_a_high_score_gets_it():
    table = model(noise=(1e-6,) * 7).draw(2000, random_state=4)
    for _, rows in table.groupby("group"):
        ordered = rows.sort_values("latent", kind="stable")["score"]
        assert ordered.is_monotonic_increasing


def test_seed():
    first, second, other = (model().sample(50, random_state=seed) for seed in (5, 5, 6))
    assert first.equals(second)
    assert not first.equals(other)


def test_parameters_survive_writing():
    again = SubjectModel.model_validate(parameters(model()))
    assert again.sample(60, random_state=7).equals(model().sample(60, random_state=7))


def test_terms_of_groups_by_hand():
    groups = (
        Cohort("Black", "F", 10, Counts(values=(1,), counts=(1,))),
        Cohort("Asian", "M", 50, Counts(values=(1,), counts=(1,))),
    )
    terms = group_terms(groups)
    assert terms.loc[0].to_dict() == dict(zip(PRESENCE_TERMS, (1, 1, 0, 0, 1, 1, -2, 4), strict=True))
    assert terms.loc[1].to_dict() == dict(zip(PRESENCE_TERMS, (1, 0, 0, 1, 0, 0, 2, 4), strict=True))


ROWS = 60_000  # enough for errors of a few percent


def test_surrogate_is_like_the_list():
    content = read_yaml(DATA_SCRIPTS / "surrogates" / "ssl.yaml")
    table = SubjectModel.model_validate(content["subjects"]).sample(ROWS, random_state=0)
    published = content["published"]
    for name in published["held out"]:
        if name.startswith("F of"):  # grows as the number of rows
            published["held out"][name] *= ROWS / content["rows"]
    checked = check(table, published).set_index("statistic")
    assert set(checked["use"]) == {"fitted", "held out"}
    relative = checked["relative"].abs()
    assert relative[checked["use"] == "fitted"].median() < 0.03
    for name in ("mean of narcotics_arrests", "mean of gang_affiliation", "slope of age", "F of score by race"):
        assert relative[name] < 0.05, name
    assert relative["share with score 345 up"] < 0.01


def test_surrogate_has_the_counts_of_the_list(drawn):
    generated = drawn("ssl")
    race = generated.sensitive_features["race"].value_counts()
    assert race["BLK"] == pytest.approx(207_760, rel=1e-3)
    assert race["WHI"] == pytest.approx(82_317, rel=1e-3)
    assert len(generated.features) == 398_582
    assert generated.provenance.source == "surrogate"
    assert generated.positive_label is None


def test_every_model_of_generated_rows_can_be_read():
    keys = {key for path in (DATA_SCRIPTS / "surrogates").glob("*.yaml") for key in read_yaml(path)}
    assert set(MODELS) <= keys
