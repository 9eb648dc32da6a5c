import numpy as np
import pandas as pd
import pytest
import surrogate_files
from fit_copula import MOST_VALUES, SMALLEST_COUNT, fit_copula
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from fairlab.data import DataError
from fairlab.data.documents import read_yaml
from fairlab.data.registry import project_registry
from fairlab.data.surrogates.copula import Copula, Counts


@pytest.fixture(scope="module")
def table():
    """Two groups that differ in everything, and one too small to publish."""
    rng = np.random.default_rng(0)
    n = 6000
    sex = rng.choice(["f", "m"], n, p=[0.4, 0.6])
    skill = rng.normal(size=n) + (sex == "m")
    years = rng.poisson(8, n)
    grade = pd.cut(skill + rng.normal(size=n), [-9, -0.5, 0.5, 1.5, 9], labels=["d", "c", "b", "a"]).astype(str)
    frame = pd.DataFrame(
        {
            "sex": sex,
            "score": skill.round(2),
            "years": years,
            "grade": grade,
            "points": pd.Series(grade).map({"d": 1, "c": 2, "b": 3, "a": 4}),
            "hired": np.where(skill + years / 4 + rng.normal(size=n) > 3, "yes", "no"),
        }
    )
    frame.loc[:2, "grade"], frame.loc[:2, "points"] = "rare", 9
    frame.loc[3:5, "sex"] = "u"
    return frame.astype({"grade": "category"})


@pytest.fixture(scope="module")
def copula(table):
    return fit_copula(table, sensitive=["sex"], score=(table["hired"] == "yes").astype(float))


@pytest.fixture(scope="module")
def sample(copula):
    return copula.sample(20000, random_state=0)


def test_same_columns_and_kinds(table, sample):
    assert list(sample.columns) == list(table.columns)
    assert [dtype.kind for dtype in sample.dtypes] == [dtype.kind for dtype in table.dtypes]
    assert set(sample["hired"]) == {"yes", "no"}


def test_marginals_by_group(table, sample):
    for column in ("score", "years"):
        real, drawn = (t.groupby("sex")[column].agg(["mean", "std"]).loc[["f", "m"]] for t in (table, sample))
        np.testing.assert_allclose(drawn, real, rtol=0.05, atol=0.04)
    real, drawn = (pd.crosstab(t["sex"], t["hired"], normalize="index").loc[["f", "m"], "yes"] for t in (table, sample))
    np.testing.assert_allclose(drawn, real, atol=0.02)


def test_association_within_groups(table, sample):
    def spearman(frame):
        codes = frame.assign(grade=frame["grade"].map({"d": 1, "c": 2, "b": 3, "a": 4}), hired=frame["hired"] == "yes")
        codes = codes.dropna()
        parts = [codes[codes["sex"] == sex][["score", "years", "grade", "hired"]] for sex in "fm"]
        return np.mean([spearmanr(part).statistic for part in parts], axis=0)

    np.testing.assert_allclose(spearman(sample), spearman(table), atol=0.03)


def test_rare_values_are_not_published(table, copula, sample):
    assert "u" not in set(sample["sex"])
    assert "rare" not in str(copula)
    for stratum in copula.strata:
        counts = [c for m in stratum.marginals.values() if isinstance(m, Counts) for c in m.counts]
        assert min(counts) >= SMALLEST_COUNT
        assert min(count for *_, count in stratum.groups) >= SMALLEST_COUNT
    assert table["score"].nunique() > MOST_VALUES
    extremes = {table["score"].min(), table["score"].max()}
    assert extremes.isdisjoint(q for s in copula.strata for q in s.marginals["score"].quantiles)


def test_a_determined_column_follows(copula, sample):
    assert copula.derived["points"].parent == "grade"
    assert (sample["points"] == sample["grade"].map({"d": 1, "c": 2, "b": 3, "a": 4})).all()


def test_the_seed_decides(copula):
    assert copula.sample(50, random_state=1).equals(copula.sample(50, random_state=1))
    assert not copula.sample(50, random_state=1).equals(copula.sample(50, random_state=2))


def test_survives_a_yaml_file(copula, tmp_path, monkeypatch):
    variant = project_registry().variant("bank-adf")
    (tmp_path / "data_scripts" / "surrogates").mkdir(parents=True)
    monkeypatch.setenv("FAIRLAB_ROOT", str(tmp_path))
    surrogate_files.write_surrogate(variant, "# head\n", {"copula": surrogate_files.parameters(copula)})
    content = read_yaml(tmp_path / "data_scripts" / variant.surrogate.file)
    assert content["variant"] == "bank-adf"
    again = Copula.model_validate(content["copula"])
    assert again == copula
    assert again.sample(500, random_state=3).equals(copula.sample(500, random_state=3))


def test_small_groups_share_a_stratum():
    rng = np.random.default_rng(1)
    group = np.repeat(["big", "small", "tiny"], [1000, 60, 40])
    frame = pd.DataFrame({"group": group, "x": rng.integers(0, 5, 1100)})
    strata = fit_copula(frame, sensitive=["group"], score=frame["x"]).strata
    assert [[name for name, _ in stratum.groups] for stratum in strata] == [["big"], ["small", "tiny"]]


@settings(deadline=None, max_examples=15)
@given(rho=st.floats(-0.9, 0.9), levels=st.integers(2, 6), seed=st.integers(0, 1000))
def test_spearman_of_the_sample_is_the_fitted_one(rho, levels, seed):
    rng = np.random.default_rng(seed)
    z = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], 3000)
    frame = pd.DataFrame({"g": "one", "a": z[:, 0].round(3), "b": np.floor(z[:, 1] * levels / 2).astype(int)})
    drawn = fit_copula(frame, sensitive=["g"], score=frame["a"]).sample(20000, random_state=seed)
    # four standard errors of the difference
    assert spearmanr(drawn["a"], drawn["b"]).statistic == pytest.approx(
        spearmanr(frame["a"], frame["b"]).statistic, abs=0.03
    )


def test_a_constant_column_stays_constant():
    frame = pd.DataFrame({"g": "one", "x": 3, "y": np.arange(100)})
    drawn = fit_copula(frame, sensitive=["g"], score=frame["y"]).sample(30, random_state=0)
    assert (drawn["x"] == 3).all()


def test_too_few_records_are_an_error():
    frame = pd.DataFrame({"g": "one", "x": range(15)})
    with pytest.raises(DataError, match="column 'x': 15 records in a stratum, needs 20"):
        fit_copula(frame, sensitive=["g"], score=frame["x"])
