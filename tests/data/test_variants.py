import hashlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import geom

from fairlab.data import DataError, documents, encoding, load, registry, tables
from fairlab.data.files import git_blob_sha1
from fairlab.data.project import project
from fairlab.data.surrogates.copula import Copula, Counts, Stratum
from fairlab.data.surrogates.patients import SMALLEST_RISK, PatientModel
from fairlab.data.surrogates.subjects import (
    COLUMNS,
    COUNTED,
    MORE_TERMS,
    PAIRS,
    PREDICTORS,
    PRESENCE_TERMS,
    Cohort,
    SubjectModel,
)
from fairlab.data.variants import arrests, individual_simulation, lipton
from fairlab.data.variants.staples_population import LEVELS, draw_counts, expected_cells
from fairlab.paths import write_text


def test_arrests_are_geometric_from_zero():
    n = 20000
    for group, table in arrests.draw(n, seed=5).groupby("group"):
        expected = geom(arrests.STOP[group], loc=-1).pmf(np.arange(4))
        np.testing.assert_allclose(np.bincount(table["arrests"])[:4] / len(table), expected, atol=4 * np.sqrt(0.25 / n))


def by_the_global_generator(n, seed, reseed_labels):
    """The authors' order, once more, with NumPy's global generator as they used it."""
    np.random.seed(seed)  # noqa: NPY002
    work = [np.random.poisson(mean, size=n) - np.random.normal(20, 0.2, size=n) for mean in (31, 25)]  # noqa: NPY002
    np.random.seed(seed + 1)  # noqa: NPY002
    hair = [35 * np.random.beta(2, b, size=n) for b in (7, 2)]  # noqa: NPY002
    if reseed_labels:
        np.random.seed(seed + 2)  # noqa: NPY002
    hired = [np.random.binomial(1, 1 / (1 + np.exp(25.5 - 2.5 * of))) for of in work]  # noqa: NPY002
    parts = {"work_experience": work, "hair_length": hair, "hired": hired}
    table = pd.DataFrame({name: np.concatenate(of) for name, of in parts.items()})
    return table.assign(gender=["male"] * n + ["female"] * n)


@pytest.mark.parametrize("reseed_labels", [False, True])
@pytest.mark.parametrize("seed", [0, 7])
def test_draw_order_of_lipton(seed, reseed_labels):
    table = lipton.draw(500, seed=seed, reseed_labels=reseed_labels)
    expected = by_the_global_generator(500, seed, reseed_labels)
    pd.testing.assert_frame_equal(table, expected, check_like=True, check_dtype=False, check_exact=True)


def test_draw_order_of_individual_simulation():
    np.random.seed(3)  # noqa: NPY002
    x = np.random.normal(scale=0.25, size=(50, 2))  # noqa: NPY002
    majority = np.random.choice([False, True], p=[0.1, 0.9], size=50)  # noqa: NPY002
    noise = np.random.standard_normal(50) * 0.01  # noqa: NPY002
    side, (first, second) = np.where(majority, -1, 1), x.T
    columns = {"x1": first + 1.5 * side, "x2": second, "label": 0.2 * side * first - 0.01 * second + noise > 0}
    expected = pd.DataFrame(columns).assign(group=np.where(majority, "majority", "minority"))
    pd.testing.assert_frame_equal(individual_simulation.draw(50, seed=3), expected, check_like=True, check_dtype=False)


def test_rows_are_the_counts():
    dataset, counts = load("staples-population", n_users=5_000, seed=3), draw_counts(5_000, seed=3)
    rows = dataset.features.assign(price=dataset.target).value_counts()
    assert rows.reorder_levels(LEVELS).to_dict() == counts.to_dict()
    assert (dataset.provenance.source, len(dataset.target)) == ("reconstructed", 5_000)


def test_draws_scatter_around_the_expected_cells():
    cells = expected_cells()
    drawn = np.mean([draw_counts(200_000, seed=seed) for seed in range(20)], axis=0)
    drawn = draw_counts(1).to_frame("n").assign(n=drawn)["n"]
    expected = cells.groupby(["state", "race", "price_as_published"])["people"].sum() / 5
    found = drawn.groupby(["state", "race", "price"]).sum().reindex(expected.index)
    large = expected > 100
    assert ((found - expected)[large] / np.sqrt(expected[large] / 20)).std() == pytest.approx(1, abs=0.2)
    low = drawn.xs("<50K", level="income").sum() / drawn.sum()
    assert low == pytest.approx(np.average(cells["low_income"], weights=cells["people"]), abs=0.003)


@given(n_points=st.integers(1, 40), seed=st.integers(0, 2**31))
def test_only_people_with_one_arrest_depend_on_the_coin(n_points, seed):
    table = arrests.draw(n_points, seed=seed)
    sure = table[table["arrests"] != 1]
    assert (len(table), sure["high_risk"].tolist()) == (2 * n_points, (sure["arrests"] >= 2).tolist())
    assert arrests.classify([0, 1, 1, 2, 7], [1, 0, 1, 0, 0]).tolist() == [0, 0, 1, 1, 1]


# tables

RAW = b"sex;x;y\nf;0.1;no\nm;2.5;yes\nm;3;no\n"
PREPARED = b"sex,x,y\nf,0.1,no\nm,2.5,yes\nm,3.0,no\n"
SCRIPT = '''
import pandas as pd

def make(raw):
    """Read the toy."""
    return pd.read_csv(raw["toy/raw.csv"], sep=";")
'''
VARIANT = registry.Variant(
    name="toy",
    description="a toy",
    source="real",
    rows=3,
    label="y",
    privileged_group={"sex": "m"},
    columns={
        "sex": registry.ColumnSpec(type="category", categories=("f", "m")),
        "x": registry.ColumnSpec(type="float", min=0, max=5),
        "y": registry.ColumnSpec(type="category", categories=("no", "yes")),
    },
    citation="Anon",
    positive_label="yes",
    raw=("toy/raw.csv",),
    make="make_toy.py",
    sha256=hashlib.sha256(PREPARED).hexdigest(),
)
TABLE = pd.DataFrame({"sex": ["f", "m", "m"], "x": [0.1, 2.5, 3.0], "y": ["no", "yes", "no"]})


def changed(variant, **parts):
    return variant.model_copy(update=parts)


@pytest.fixture
def toy(tmp_path, monkeypatch, make_file):
    """A registry of one file and one variant, with its script in a folder of its own; returns the folder."""
    raw = make_file(path="toy/raw.csv", bytes=len(RAW), sha256=hashlib.sha256(RAW).hexdigest())
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", str(tmp_path / "mirror"))
    write_text(tmp_path / "mirror" / "toy" / "raw.csv", RAW.decode())
    write_text(tmp_path / "data_scripts" / "make_toy.py", SCRIPT)
    monkeypatch.setenv("FAIRLAB_ROOT", str(tmp_path))
    monkeypatch.setattr(tables, "project_registry", lambda: registry.Registry({"toy/raw.csv": raw}, {"toy": VARIANT}))
    return tmp_path / "data_scripts"


def prepared():
    return sorted((tables.cache_folder() / "prepared").glob("*"))


@pytest.mark.parametrize(
    ("variant", "end"),
    [(VARIANT, ""), (changed(VARIANT, sha256=None), f"-{hashlib.sha256(PREPARED).hexdigest()}")],
    ids=["known hash", "under its own hash"],
)
def test_a_prepared_table_is_kept_and_an_altered_one_made_anew(toy, variant, end):
    made, files, data_hash = tables.prepare(variant)
    assert made.astype({"sex": str, "y": str}).equals(TABLE.astype({"sex": str, "y": str}))
    assert files == {"toy/raw.csv": hashlib.sha256(RAW).hexdigest()}
    (path,) = prepared()
    assert (path.name, path.read_bytes()) == (f"toy-{data_hash[:16]}{end}.csv", PREPARED)
    before = path.stat().st_mtime_ns
    assert tables.prepare(variant)[0].equals(made)
    assert path.stat().st_mtime_ns == before
    path.write_bytes(PREPARED.replace(b"2.5", b"2.6"))
    assert tables.prepare(variant)[0].equals(made)
    (toy / "make_toy.py").write_text(SCRIPT + "\n# changed\n")
    assert tables.prepare(variant)[2] != data_hash, "another script is another digest"


def test_options_of_a_script_make_another_table(toy):
    (toy / "make_toy.py").write_text(SCRIPT.replace("make(raw)", "make(raw, rows)").replace('";")', '";").tail(rows)'))
    variant = changed(VARIANT, sha256=None, rows=2)
    assert tables.prepare(variant, rows=2)[0]["x"].tolist() == [2.5, 3.0]
    with pytest.raises(DataError, match="1 rows, expected 2"):
        tables.prepare(variant, rows=1)


def test_a_script_that_makes_something_else_is_an_error_and_keeps_nothing(toy):
    (toy / "make_toy.py").write_text(SCRIPT.replace('sep=";")', 'sep=";").assign(x=1.0)'))
    with pytest.raises(DataError, match=r"toy: the table of make_toy\.py has SHA-256"):
        tables.prepare(VARIANT)
    assert prepared() == []


def test_any_one_of_several_sources_will_do(toy, monkeypatch):
    known = tables.project_registry().files
    raw = {"toy/other.csv": changed(known["toy/raw.csv"], path="toy/other.csv")} | known
    variant = changed(VARIANT, raw=tuple(raw), any_raw=True, sha256=None)
    monkeypatch.setattr(tables, "project_registry", lambda: registry.Registry(raw, {"toy": variant}))
    (toy / "make_toy.py").write_text(SCRIPT.replace('raw["toy/raw.csv"]', "*raw.values()"))
    table, files, _ = tables.prepare(variant)
    assert (list(files), len(table)) == (["toy/raw.csv"], 3)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TABLE.drop(columns="x"), "columns are sex, y; expected sex, x, y"),
        (TABLE[["x", "sex", "y"]], "columns are x, sex, y; expected sex, x, y"),
        (TABLE.head(2), "2 rows, expected 3"),
        (TABLE.assign(sex=["f", "m", "u"]), "column 'sex' holds 'u', expected one of f, m"),
        (TABLE.assign(sex=["f", None, "m"]), "column 'sex' misses 1 values"),
        (TABLE.assign(x=[0.1, np.nan, 3]), "column 'x' misses 1 values"),
        (TABLE.assign(x=[0.1, np.inf, 3]), "column 'x' holds infinite values"),
        (TABLE.assign(x=[0.1, 6, 3]), "column 'x' spans 0.1 to 6.0, expected 0 to 5"),
        (TABLE.assign(x=["a", "b", "c"]), "column 'x' has type .*, expected float"),
        *(
            (TABLE.assign(**{name: "x"}), f"columns identify people: {name}; drop them in make_toy.py")
            for name in ("name", "First Name", "DOB", "date_of_birth", "last-name", "E-Mail")
        ),
    ],
)
def test_check_table(table, message):
    tables.check_table(TABLE, VARIANT)
    with pytest.raises(DataError, match=f"toy: {message}"):
        tables.check_table(table, VARIANT)


def test_text_that_looks_missing_is_kept(tmp_path):
    texts = ["NA", "nan", "?"]
    columns = VARIANT.columns | {"y": registry.ColumnSpec(type="category", categories=texts)}
    (tmp_path / "t.csv").write_bytes(tables.to_bytes(TABLE.assign(y=texts)))
    assert tables.read_table(tmp_path / "t.csv", changed(VARIANT, columns=columns))["y"].tolist() == texts


PEOPLE = pd.DataFrame({"age": [17, 30], "balance": [-51, 9000], "pdays": ["-1", "40"], "sex": ["f", "m"]})


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"race": encoding.Rule()}, "the raw table lacks the columns race"),
        ({"sex": encoding.Rule(codes={"f": 0})}, "column 'sex': 'm' has no code"),
        ({"sex": encoding.Rule()}, "column 'sex': Unable to parse"),
    ],
)
def test_rules_that_do_not_fit(rules, message):
    with pytest.raises(DataError, match=message):
        encoding.encode(PEOPLE, rules)


def test_another_table_than_the_published_one_is_an_error():
    file = registry.project_registry().file("encoded/census")
    table = encoding.encode(PEOPLE, {"age": encoding.Rule()})
    same = file.model_copy(update={"sha256": hashlib.sha256(b"a\n17\n30").hexdigest()})
    assert encoding.check_published(table, same, final_newline=False) is table
    with pytest.raises(DataError, match=r"the encoded table has SHA-256 .*, encoded/census has"):
        encoding.check_published(table, file, final_newline=False)


@pytest.mark.parametrize(
    ("name", "path", "in_words", "final_newline", "blob"),
    [
        ("census-themis", "encoded/census", False, False, "1a00cfe51381fa374f01b84ce420c6d4abc02b7e"),
        ("census-balanced", "encoded/census_sample", False, True, "de072f11bf15151fa5ebd4fc5203b5a477a97a15"),
        ("credit-themis", "encoded/credit_themis", False, False, "c34327a1d03eca92d1c4f89e5aa3b4cf2767897f"),
        ("census-adf", "encoded/census", True, False, "1a00cfe51381fa374f01b84ce420c6d4abc02b7e"),
        ("credit-adf", "encoded/credit_sample", True, True, "0a02e3664c9ed21bf23d0c63adad42baac787477"),
        ("bank-adf", "encoded/bank", True, True, "340eac6bbb4a38ae92926b77ea6d86d983dd1fdf"),
    ],
)
def test_encoded_variants_have_the_published_bytes(tmp_path, name, path, in_words, final_newline, blob):
    dataset, made = load(name), tmp_path / "made"
    table = dataset.features.join(dataset.target)
    made.write_text(encoding.published_text(encoding.codes(table) if in_words else table, final_newline=final_newline))
    assert git_blob_sha1(made) == blob == registry.project_registry().file(path).git_blob_sha1


# subjects


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
    assert (list(table.columns), table["score"].is_monotonic_decreasing) == (list(COLUMNS), True)
    assert table.value_counts(["race", "sex", "age", "score"]).to_dict() == {
        ("BLK", "M", 20, 250): 300,
        ("BLK", "M", 20, 300): 150,
        ("BLK", "M", 20, 400): 50,
        ("WHI", "F", 40, 200): 250,
        ("WHI", "F", 40, 210): 250,
    }


def test_expected_score_adds_up_products_with_age_in_decades():
    table = pd.DataFrame(0.0, index=[0, 1], columns=list(COLUMNS[1:9])).assign(
        age=[10, 40], violent_arrests=[2, 3], gang_affiliation=[0, 1]
    )
    expected = [1 + 30, 7 - 120 + 45 + 6]
    np.testing.assert_allclose(model(level=(1.0, 0, 0, 7.0, 0, 0, 0)).expected_score(table), expected)


ROWS = 60_000  # enough for errors of a few percent


def test_surrogate_is_like_the_list():
    content = documents.read_yaml(project().data_scripts / "surrogates" / "ssl.yaml")
    table = SubjectModel.model_validate(content["subjects"]).sample(ROWS, random_state=0)
    statistics = {name: value for values in content["published"].values() for name, value in values.items()}
    found = {
        "mean of narcotics_arrests": table["narcotics_arrests"].mean(),
        "mean of gang_affiliation": table["gang_affiliation"].mean(),
        "correlation of score and age": np.corrcoef(table["score"], table["age"])[0, 1],
        "share with score 345 up": (table["score"] >= 345).mean(),
    } | {f"mean score, gang {gang}": own["score"].mean() for gang, own in table.groupby("gang_affiliation")}
    assert found == pytest.approx({name: statistics[name] for name in found}, rel=0.05)
    assert found["share with score 345 up"] == pytest.approx(statistics["share with score 345 up"], rel=0.01)


AGE, RISK = Counts(values=[25, 75], counts=[20, 20]), Counts(values=[0.0, 0.5], counts=[20, 20])
COPULA = Copula(
    columns=["Age", "Gender", "risk"],
    sensitive=["Gender"],
    derived={},
    correlation=[[], [0.8]],
    strata=[Stratum(groups=[["f", 20], ["m", 20]], marginals={"Age": AGE, "risk": RISK})],
)


def test_patients_stay_as_their_risk_says_and_trees_disagree_more_on_high_predictions():
    days = Counts(values=[1, 3], counts=[30, 10])
    model = PatientModel(copula=COPULA, intercept=0.4, slope=1.0, days=days, disagreement=0.5)
    patients = model.sample(40_000, random_state=0)
    patients = patients.assign(
        stays=patients["days"] > 0, low=patients["confidence"] == "low", logarithm=np.log1p(patients["days"])
    )
    by_prediction = patients.groupby("predicted_days")[["stays", "low", "logarithm"]].mean()
    odds = [0.4 + np.log(risk) for risk in (SMALLEST_RISK, 0.5)]
    np.testing.assert_allclose(by_prediction["stays"], expit(odds), atol=0.01)
    assert (patients["days"][patients["days"] > 0] == 3).mean() == pytest.approx(0.25, abs=0.015)
    # The prediction is right on average of logarithms.
    np.testing.assert_allclose(by_prediction["logarithm"], np.log1p(by_prediction.index), atol=0.01)
    assert patients["confidence"].value_counts().tolist() == [20_000, 20_000]
    np.testing.assert_allclose(by_prediction["low"], [0, 1], atol=0.01)
