import numpy as np
import pandas as pd
import pytest

from fairlab import load
from fairlab.papers.individual_fairness.splits import ADULT_SEEDS, COMPAS_SEEDS, Split, adult_split, compas_split


def test_seeds():
    assert len(set(ADULT_SEEDS)) == len(set(COMPAS_SEEDS)) == 10
    assert [k for k in range(10) if ADULT_SEEDS[k] != COMPAS_SEEDS[k]] == [0, 8]


@pytest.fixture(scope="module")
def adult():
    return load("adult-individual", surrogate=True)


@pytest.fixture(scope="module")
def compas():
    return load("compas-individual", surrogate=True)


def test_adult(adult):
    split = adult_split(adult, 98539)
    assert split.X_train.shape == (36177, 39)
    assert split.X_test.shape == (9045, 39)
    numbers = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    assert list(split.X_train)[:5] == numbers
    one_hot = list(split.X_train)[5:]
    groups = list(dict.fromkeys(name.split("_")[0] for name in one_hot))
    assert groups == ["workclass", "marital-status", "occupation", "relationship"]
    assert [sum(name.startswith(f"{group}_") for name in one_hot) for group in groups] == [7, 7, 14, 6]
    assert one_hot == [name for group in groups for name in sorted(n for n in one_hot if n.startswith(f"{group}_"))]
    np.testing.assert_allclose(split.X_train[numbers].mean(), 0, atol=1e-9)
    np.testing.assert_allclose(split.X_train[numbers].std(ddof=0), 1)
    assert (split.X_test[one_hot].sum(axis=1) == 4).all()
    order = np.random.RandomState(98539).permutation(45222)
    expected = (adult.target == ">50K").to_numpy().astype(int)[order]
    assert split.y_train.tolist() + split.y_test.tolist() == expected.tolist()
    men = (adult.sensitive_features["sex"] == "Male").to_numpy().astype(int)[order]
    assert split.sensitive_train["sex"].tolist() + split.sensitive_test["sex"].tolist() == men.tolist()


def test_compas(compas):
    split = compas_split(compas, 767)
    assert split.X_train.shape == (4222, 7)
    assert split.X_test.shape == (1056, 7)
    assert list(split.X_train) == [
        "sex", "race", "priors_count", "age_cat_25 - 45", "age_cat_Greater than 45", "age_cat_Less than 25",
        "c_charge_degree_F",
    ]  # fmt: skip
    for name in ("sex", "race"):
        assert split.X_test[name].tolist() == split.sensitive_test[name].tolist()
    assert abs(split.y_train.mean() - split.y_test.mean()) < 1e-3
    assert split.X_train["priors_count"].std(ddof=0) == pytest.approx(1)
    women = (compas.sensitive_features["sex"] == "Female").mean()
    assert split.sensitive_train["sex"].mean() == pytest.approx(women, abs=0.02)


def test_one_class_in_a_part_is_refused():
    table, both, one = pd.DataFrame({"x": [1.0, 2.0]}), pd.Series([0, 1]), pd.Series([1, 1])
    with pytest.raises(ValueError, match="the test part has one class only: every label is 1"):
        Split(table, table, both, one, table, table)
