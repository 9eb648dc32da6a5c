import numpy as np
import pandas as pd
import pytest

from fairlab.themis import Characteristic, Schema, SchemaError
from fairlab.themis.schema import MOST_VALUES

SETTINGS = """<settings>
  <name>loan</name><command>python loan.py</command><seed>42</seed>
  <inputs>
    <input><name>sex</name><type>categorical</type>
      <values><value>Male</value><value> Female </value></values></input>
    <input><name>age</name><type>continuousInt</type>
      <bounds><lowerbound>18</lowerbound><upperbound>20</upperbound></bounds></input>
  </inputs>
</settings>"""
LOAN = {"sex": ["Male", "Female"], "age": [18, 19, 20]}


@pytest.fixture
def schema():
    return Schema.from_dict(LOAN)


def test_xml_with_the_upper_bound_included(tmp_path):
    path = tmp_path / "settings.xml"
    path.write_text(SETTINGS)
    assert Schema.from_xml(path).to_dict() == LOAN


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("continuousInt", "float", "input 'age' has type 'float'"),
        ("<upperbound>20</upperbound>", "", "lacks 'upperbound'"),
        ("<lowerbound>18", "<lowerbound>young", "lowerbound is 'young', expected a whole number"),
        ("<lowerbound>18", "<lowerbound>30", "low 30 is above high 20"),
        ("<lowerbound>18", "<lowerbound>20", "'age': expected at least two values, found 1"),
        ("<name>age</name>", "<name>sex</name>", "two inputs are named 'sex'"),
        ("</settings>", "", "settings.xml: not XML"),
    ],
)
def test_bad_xml(tmp_path, old, new, message):
    path = tmp_path / "settings.xml"
    path.write_text(SETTINGS.replace(old, new))
    with pytest.raises(SchemaError, match=message):
        Schema.from_xml(path)


def test_yaml(tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_text("sex: [Male, Female]\nage: {low: 18, high: 20}\n")
    assert Schema.from_yaml(path).to_dict() == LOAN
    path.write_text("- sex\n- age\n")
    with pytest.raises(SchemaError, match="expected names and values, found list"):
        Schema.from_yaml(path)


def test_frame_with_the_integers_between():
    table = pd.DataFrame({"sex": ["Male", "Female", "Male"], "age": [20, 18, 18], "old": [False, True, False]})
    assert Schema.from_frame(table).to_dict() == {
        "sex": ["Female", "Male"],
        "age": [18, 19, 20],
        "old": [False, True],
    }
    with pytest.raises(SchemaError, match="column 'sex' misses 1 values"):
        Schema.from_frame(table.assign(sex=["Male", None, "Male"]))
    with pytest.raises(SchemaError, match="'age': expected at least two values, found 1"):
        Schema.from_frame(table.assign(age=7))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "at least one characteristic"),
        ({"sex": ["Male"]}, "'sex': expected at least two values, found 1"),
        ({"sex": ["Male", "Male"]}, "'sex': a value is listed twice"),
        ({"sex": "Male"}, "'sex': expected a list of values, found 'Male'"),
        ({"age": {"low": 1}}, "'age': expected low and high, found low"),
        ({"age": {"low": 0.5, "high": 2}}, "'age': expected whole numbers, found 0.5 and 2"),
        ({"age": {"low": 0, "high": MOST_VALUES}}, "'age': 1,000,001 values, more than 1,000,000"),
    ],
)
def test_bad_descriptions(content, message):
    with pytest.raises(SchemaError, match=message):
        Schema.from_dict(content)


def test_names_are_different():
    with pytest.raises(SchemaError, match="two characteristics of one name"):
        Schema((Characteristic("a", (0, 1)), Characteristic("a", (0, 1))))


def test_positions_are_in_the_order_of_the_schema(schema):
    assert schema.positions(["age", "sex"]) == (0, 1)
    assert schema.positions("age") == (1,)
    for names, message in (([], "found none"), (["agee"], "unknown characteristics agee"), (["age"] * 2, "twice")):
        with pytest.raises(SchemaError, match=message):
            schema.positions(names)


def test_assignments_vary_the_last_fastest(schema):
    assert schema.n_inputs == 6
    assert schema.assignments((0, 1)).tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert schema.assignments((0, 1), start=2, stop=4).tolist() == [[0, 2], [1, 0]]


def test_samples_are_uniform(schema):
    codes = schema.sample(60_000, np.random.default_rng(0))
    _, counts = np.unique(codes, axis=0, return_counts=True)
    assert len(counts) == 6
    assert np.abs(counts - 10_000).max() < 5 * np.sqrt(60_000 / 6 * 5 / 6)


def test_encoding_undoes_decoding(schema):
    codes = schema.assignments((0, 1))
    inputs = schema.decode(codes)
    assert inputs.iloc[3].tolist() == ["Female", 18]
    assert (schema.encode(inputs[["age", "sex"]]) == codes).all()
    with pytest.raises(SchemaError, match="inputs lack the columns age"):
        schema.encode(inputs[["sex"]])
    with pytest.raises(SchemaError, match="column 'age' holds 21"):
        schema.encode(inputs.assign(age=21))
