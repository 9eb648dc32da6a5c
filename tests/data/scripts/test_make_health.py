import zipfile

import numpy as np
import pandas as pd
import pytest

from fairlab.data import DataError
from fairlab.data.registry import project_registry
from fairlab.data.tables import check_table, load_script
from fairlab.paths import project

DATA_SCRIPTS = project().data_scripts

MAKE = load_script(DATA_SCRIPTS / "make_health.py")
VARIANT = project_registry().variant("health")
CLAIM = dict.fromkeys(MAKE.FILES["Claims.csv"]) | {"MemberID": "1", "Year": "Y1", "ProviderID": "p", "PCP": "q"}


def claim(**values):
    return CLAIM | {"PayDelay": "10", "DSFS": "0- 1 month", "CharlsonIndex": "0", "SupLOS": "0"} | values


def contest():
    """One man with three claims in the first year and one in the second, and people who are left out."""
    claims = [
        claim(PayDelay="162+", DSFS="2- 3 months", CharlsonIndex="3-4", LengthOfStay="1- 2 weeks", Vendor="v",
              PrimaryConditionGroup="AMI", PlaceSvc="Urgent Care", Specialty="Internal", ProcedureGroup="EM"),
        claim(PayDelay="21", CharlsonIndex="1-2", LengthOfStay="2 days", PlaceSvc="Urgent Care", ProviderID="r",
              PrimaryConditionGroup="AMI", Specialty="Surgery"),
        claim(SupLOS="1", PrimaryConditionGroup="UTI"),
        claim(Year="Y2", Vendor="v", DSFS=None, PlaceSvc="Home"),
        claim(MemberID="2"), claim(MemberID="3"), claim(Year="Y3"),
    ]  # fmt: skip
    months = [["1", "Y1", "3"], ["1", "Y1", "7+"], ["1", "Y3", "2"], ["9", "Y1", "1"]]
    rows = {
        "Members.csv": [["1", "70-79", "M"], ["2", None, "F"], ["3", "0-9", None], ["4", "80+", "F"]],
        "DrugCount.csv": months,
        "LabCount.csv": [["1", "Y2", "10+"]],
        "DaysInHospital_Y2.csv": [["1", "1", "4"], ["2", "0", "0"], ["3", "0", "0"]],
        "DaysInHospital_Y3.csv": [["1", "0", "0"]],
    }
    tables = {name: pd.DataFrame(table, columns=MAKE.FILES[name], dtype=object) for name, table in rows.items()}
    return tables | {"Claims.csv": pd.DataFrame(claims)[MAKE.FILES["Claims.csv"]]}


def test_attributes_by_hand():
    table = MAKE.attributes(contest())
    assert len(table) == 2
    first = {
        "Age": 75, "Gender": "male", "days": 4, "Suppressed Claims": 1,
        "Number Of Claims": 3, "Number Of Providers": 2, "Number of Vendors": 1, "Number of Primary Physicians": 1,
        "Number of Places Where Treated": 1, "Number Of Specialties": 2, "Number of Primary Condition Groups": 2,
        "Number of Procedure Groups": 1,
        "Average Payment Delay": 64, "Max Payment Delay": 162, "Min Payment Delay": 10,
        "Average Days Since First Service": 1, "Max Days Since First Service": 3, "Min Days Since First Service": 1,
        "Range Days Since First Service": 2,
        "Average Charlson Index": 2, "Max Charlson Index": 4, "Min Charlson Index": 0, "Range Charlson IndexI_range": 4,
        "Stdev Charlson Index": 2.0,
        "Average Length Of Stay": 6, "Max Length Of Stay": 11, "Min Length Of Stay": 2,
        "Known Length Of Stay": 2, "Unknown Length Of Stay": 0, "Supressed Length Of Stay": 1,
        "Condition AMI": 2, "Condition UTI": 1, "Condition NULL": 0, "Speciality NULL": 1, "Treated at Urgent Care": 2,
        "Treated at NULL": 1, "Treatment Code EM": 1, "Treatment Code NULL": 2,
        "Average Drug Count": 5.0, "Max Drug Count": 7, "Min Drug Count": 3, "Drug Months": 2, "No Drug Count": 0,
        "Lab Months": 0, "No Lab Count": 1, "Max Lab Count": 0,
    }  # fmt: skip
    assert table.loc[0, list(first)].to_dict() == first
    assert table.loc[0, "Stdev Length Of Stay"] == pytest.approx(9 / np.sqrt(2))
    second = {
        "days": 0, "Number Of Claims": 1, "Average Days Since First Service": 0, "Range Days Since First Service": -1,
        "Stdev Days Since First Service": 0.0, "Stdev Length Of Stay": 0.0, "Unknown Length Of Stay": 1,
        "Treated at Home": 1, "No Drug Count": 1, "Average Lab Count": 10.0, "Lab Months": 1,
    }  # fmt: skip
    assert table.loc[1, list(second)].to_dict() == second


def test_names_and_types_are_those_of_the_registry():
    table = MAKE.attributes(contest())
    assert list(table.columns) == [name for name in VARIANT.columns if name not in ("predicted_days", "confidence")]
    complete = table.assign(predicted_days=0.5, confidence="high")[list(VARIANT.columns)]
    check_table(complete, VARIANT, rows=2)


def test_a_spread_is_missing_where_only_one_of_several_claims_has_a_stay():
    tables = contest()
    tables["Claims.csv"].loc[1, "LengthOfStay"] = None
    assert MAKE.attributes(tables).loc[0, "Stdev Length Of Stay"] == -1


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("Members.csv", {"AgeAtFirstClaim": "70-80"}, "'AgeAtFirstClaim' holds '70-80', expected one of 0-9, 10-19"),
        ("Claims.csv", {"PayDelay": "soon"}, "'PayDelay' holds 'soon', expected numbers"),
        ("Claims.csv", {"PlaceSvc": "Moon"}, "'PlaceSvc' holds 'Moon', expected one of Ambulance"),
        ("Claims.csv", {"MemberID": "8"}, "no claims of 2 members with days in hospital"),
        ("DrugCount.csv", {"DrugCount": "many"}, "'DrugCount' holds 'many'"),
    ],
)
def test_strange_values_are_errors(file, change, message):
    tables = contest()
    tables[file] = tables[file].assign(**change)
    with pytest.raises(DataError, match=message):
        MAKE.attributes(tables)


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(0)
    names = [name for name in VARIANT.columns if name not in ("predicted_days", "confidence", "Gender", "days")]
    table = pd.DataFrame(rng.integers(0, 4, (1000, len(names))), columns=names)
    return table.assign(Gender=rng.choice(["female", "male"], 1000), days=np.minimum(table["Age"] * 2, 15))


def test_predictions_are_made_for_the_rows_not_trained_on(patients):
    table = MAKE.predict(patients, n_trees=60)
    assert len(table) == 750
    assert list(table.columns) == list(VARIANT.columns)
    assert table["predicted_days"].corr(table["days"]) > 0.99
    assert table["predicted_days"].between(0, 15).all()
    assert set(table["confidence"]) == {"low", "high"}
    assert (table["confidence"] == "low").mean() >= 0.5


def test_folder_and_archive(tmp_path, monkeypatch):
    monkeypatch.setattr(MAKE, "predict", lambda table: table)
    for name, table in contest().items():
        table.to_csv(tmp_path / name, index=False)
    expected = MAKE.attributes(contest())
    pd.testing.assert_frame_equal(MAKE.make_from_folder(tmp_path), expected)
    archive = tmp_path / "data.zip"
    with zipfile.ZipFile(archive, "w") as bundle:
        for name in MAKE.FILES:
            bundle.write(tmp_path / name, f"data/{name}")
    pd.testing.assert_frame_equal(MAKE.make({MAKE.ARCHIVE: archive}), expected)
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.write(tmp_path / "Claims.csv", "Claims.csv")
    with pytest.raises(DataError, match=r"heritage/data\.zip: has no Members\.csv"):
        MAKE.make({MAKE.ARCHIVE: archive})
    archive.write_text("moved")
    with pytest.raises(DataError, match=r"data\.zip: not an intact zip"):
        MAKE.make({MAKE.ARCHIVE: archive})


def test_sample_of_the_authors_obeys_the_rules(mirror):
    sample = pd.read_csv(mirror / "fairtest" / "medical" / "tiny_predictions_reg.csv")
    assert list(sample.columns[:128]) == list(VARIANT.columns)[:128]
    claims = sample["Number Of Claims"]
    for column, (word, values) in MAKE.COUNTED.items():
        counts = sample[[f"{word} {value}" for value in values]]
        assert (counts.sum(axis=1) == claims).all()
        stated = counts.drop(columns=f"{word} NULL")
        assert ((stated > 0).sum(axis=1) == sample[MAKE.DISTINCT[column]]).all()
    stays = sample[["Known Length Of Stay", "Unknown Length Of Stay", "Supressed Length Of Stay"]]
    assert (stays.sum(axis=1) == claims).all()
    spread = sample["Stdev Length Of Stay"]
    assert (spread[claims == 1] == 0).all()
    assert (spread[(claims > 1) & (stays["Known Length Of Stay"] == 0)] == -1).all()
    assert set(sample["Age"]) == set(MAKE.AGES.values())
    check_table(
        sample.iloc[:, :128].assign(
            predicted_days=sample["Prediction"], confidence="high", days=sample["Ground_Truth"].astype(int)
        ),
        VARIANT,
        rows=1000,
    )
