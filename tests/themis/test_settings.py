import pytest

from fairlab.cases import SchemaError
from fairlab.themis import read_settings

SETTINGS = """<settings>
  <name>loan</name><command>python loan.py</command><seed>42</seed>
  <inputs>
    <input><name>sex</name><type>categorical</type>
      <values><value>Male</value><value> Female </value></values></input>
    <input><name>age</name><type>continuousInt</type>
      <bounds><lowerbound>18</lowerbound><upperbound>20</upperbound></bounds></input>
  </inputs>
</settings>"""


def test_the_upper_bound_is_included(tmp_path):
    path = tmp_path / "settings.xml"
    path.write_text(SETTINGS)
    assert read_settings(path).to_dict() == {"sex": ["Male", "Female"], "age": {"low": 18, "high": 20}}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("continuousInt", "float", "input 'age' has type 'float'"),
        ("<upperbound>20</upperbound>", "", "lacks 'upperbound'"),
        ("<lowerbound>18", "<lowerbound>young", "lowerbound is 'young', expected a whole number"),
        ("<lowerbound>18", "<lowerbound>30", "low 30 is above high 20"),
        ("<value>Male</value><value> Female </value>", "", "'sex': expected at least one value, found none"),
        ("<name>age</name>", "<name>sex</name>", "two inputs are named 'sex'"),
        ("</settings>", "", "settings.xml: not XML"),
    ],
)
def test_bad_settings(tmp_path, old, new, message):
    path = tmp_path / "settings.xml"
    path.write_text(SETTINGS.replace(old, new))
    with pytest.raises(SchemaError, match=message):
        read_settings(path)
