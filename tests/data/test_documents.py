import time
from decimal import Decimal

import pytest
import yaml
from pydantic import model_validator

from fairlab.data.documents import DecimalLoader, Entry, EntryError, Several, read_document, read_yaml
from fairlab.paths import project

DATA_SCRIPTS = project().data_scripts
EXPERIMENTS = project().experiments
ROOT = project().root


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


def test_published_numbers_keep_their_digits(read):
    first, second = read(GOOD, loader=DecimalLoader).numbers
    assert str(first.value) == "0.50"
    assert second.value == 20 and type(second.value) is int


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


@pytest.mark.parametrize("content", ["", "- a\n", "text\n"])
def test_what_has_no_keys_is_an_error(read, content):
    with pytest.raises(ValueError, match=r"table.yaml:1: the document: expected keys and values, found"):
        read(content)


def test_merged_keys_may_be_overridden(tmp_path):
    path = tmp_path / "merged.yaml"
    path.write_text("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n")
    assert read_yaml(path)["b"] == {"x": 1, "y": 3}


def test_all_documents_of_the_project_are_read_fast_and_as_pyyaml_does():
    paths = [*DATA_SCRIPTS.glob("*.yaml"), *EXPERIMENTS.rglob("*.yaml")]
    started = time.process_time()
    contents = [read_yaml(path) for path in paths]
    assert time.process_time() - started < 1
    assert len(contents) > 40 and ROOT in paths[0].parents
    assert contents[0] == yaml.safe_load(paths[0].read_text(encoding="utf-8"))
