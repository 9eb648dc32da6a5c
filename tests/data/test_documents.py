from decimal import Decimal

import pytest
import yaml
from pydantic import model_validator

from fairlab.data.documents import DecimalLoader, Entry, EntryError, Several, read_document, read_yaml
from fairlab.paths import project


class Number(Entry):
    id: str
    value: Decimal | int | None = None
    n: int | None = None

    @model_validator(mode="after")
    def _positive(self):
        if self.n is not None and self.n < 0:
            raise EntryError(f"is {self.n}, expected no negative number", "n")
        return self


class Table(Entry):
    title: str
    data: Several[str] = ()
    numbers: Several[Number] = ()
    shares: dict[str, Decimal | str] | None = None
    best: Number | None = None


GOOD = """\
title: A table  # read by people
data: [adult]
numbers:
  - {id: a, value: 0.50}
  - id: b
    value: 20
    n: 3
shares: {women: 0.4, men: most}
"""


@pytest.fixture
def read(tmp_path):
    def read(text, **options):
        path = tmp_path / "table.yaml"
        path.write_text(text, encoding="utf-8")
        return read_document(path, Table, **options)

    return read


def test_values_and_types(read):
    table = read(GOOD, loader=DecimalLoader)
    assert (table.title, table.data, table.shares) == ("A table", ("adult",), {"women": Decimal("0.4"), "men": "most"})
    assert [type(number.value) for number in table.numbers] == [Decimal, int]
    with pytest.raises(ValueError, match="frozen"):
        table.title = "Another"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("n: 3", "m: 3", "table.yaml:7: numbers > number 2 > m: unknown key 'm' (known: id, value, n)"),
        (
            "data:",
            "date:",
            "table.yaml:2: date: unknown key 'date'; did you mean 'data'? (known: title, data, numbers,",
        ),
        (
            "shares: {women: 0.4, men: most}",
            "best: {id: a, vale: 1}",
            "table.yaml:8: best > vale: unknown key 'vale'; did you mean",
        ),
        ("id: b", "n: 1", "table.yaml:7: not YAML: key 'n' is already in line 5"),
        ("n: 3", "n: three", "table.yaml:7: numbers > number 2 > n: expected an integer, found 'three'"),
        ("n: 3", "n: -3", "table.yaml:7: numbers > number 2 > n: is -3, expected no negative number"),
        (
            "value: 20",
            "value: true",
            "table.yaml:6: numbers > number 2 > value: expected a number or an integer, found True",
        ),
        (
            "men: most",
            "men: [1]",
            "table.yaml:8: shares > men: expected a number or text, found a list",
        ),
        ("[adult]", "adult", "table.yaml:2: data: expected a list, found 'adult'"),
        ("[adult]", "", "table.yaml:2: data: expected a list, found nothing"),
        ("- id: b\n    value: 20", "- value: 20", "table.yaml:5: numbers > number 2: misses id"),
        ("title: A table", "# no title", "table.yaml:2: the document: misses title"),
        ("[adult]", "[adult", "table.yaml:3: not YAML: "),
        ("[adult]", "[" * 3000 + "]" * 3000, "table.yaml:2: not YAML: nested more than 30 deep"),
        ("adult", "{[]: 1}", "table.yaml:2: not YAML: expected text as a key"),
    ],
)
def test_a_mistake_names_file_line_and_what_was_expected(read, old, new, message):
    assert old in GOOD
    with pytest.raises(ValueError) as caught:
        read(GOOD.replace(old, new), loader=DecimalLoader)
    assert message in str(caught.value)


def test_a_document_of_the_project_is_read_as_pyyaml_does():
    path = project().data_scripts / "registry.yaml"
    assert read_yaml(path) == yaml.safe_load(path.read_text(encoding="utf-8"))
