import hashlib

import pandas as pd
import pytest

from fairlab.data import DataError, load
from fairlab.data.encoding import Rule, check_published, codes, decode, encode, encodings, published_text
from fairlab.data.files import git_blob_sha1
from fairlab.data.registry import project_registry
from fairlab.paths import project, write_text

RAW = pd.DataFrame({"age": [17, 30], "balance": [-51, 9000], "pdays": ["-1", "40"], "sex": ["f", "m"]})


def test_rules_by_hand():
    rules = {
        "balance": Rule(width=50, clip=(-20, 179)),
        "sex": Rule(codes={"f": 0, "m": 1}),
        "age": Rule(),
        "pdays": Rule(equals=-1),
    }
    table = encode(RAW, rules)
    assert table.to_dict("list") == {"balance": [-2, 179], "sex": ["0", "1"], "age": [17, 30], "pdays": [1, 0]}
    assert published_text(table, final_newline=True) == "a,b,c,d\n-2,0,17,1\n179,1,30,0\n"


def test_bins_round_towards_minus_infinity():
    raw = pd.DataFrame({"balance": [-1, 0, 49, 50, -50, -51]})
    assert encode(raw, {"balance": Rule(width=50)})["balance"].tolist() == [-1, 0, 0, 1, -1, -2]


def test_numbers_may_be_text_and_are_cut_off_at_both_ends():
    raw = pd.DataFrame({"age": ["5", "17", "99", "140"], "previous": ["0", "1", "7", "-1"]})
    table = encode(raw, {"age": Rule(width=10, clip=(1, 9)), "previous": Rule(clip=(0, 1))})
    assert table.to_dict("list") == {"age": [1, 1, 9, 9], "previous": [0, 1, 1, 0]}
    assert (table.dtypes == "int64").all()


def test_words_and_codes_undo_each_other():
    table = pd.DataFrame({"sex": [1, 0, 1], "age": [3, 4, 5]})
    words = table.assign(sex=decode(table["sex"], ["female", "male"]))
    assert words["sex"].tolist() == ["male", "female", "male"]
    pd.testing.assert_frame_equal(codes(words), table)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"race": Rule()}, "the raw table lacks the columns race"),
        ({"sex": Rule(codes={"f": 0})}, "column 'sex': 'm' has no code"),
        ({"sex": Rule()}, "column 'sex': Unable to parse"),
    ],
)
def test_rules_that_do_not_fit(rules, message):
    with pytest.raises(DataError, match=message):
        encode(RAW, rules)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            "{widht: 10}",
            "adult > age > widht: unknown key 'widht'; did you mean 'width'? (known: width, codes, equals, clip)",
        ),
        ("{width: 10, equals: 1}", "adult > age: expected one of width, codes and equals, found width, equals"),
        ("{codes: {1: 0}}", "adult > age > codes: expected text, found 1"),
        ("{clip: [0]}", "adult > age > clip: misses number 2"),
        ("{width: 0}", "adult > age > width: expected greater than 0, found 0"),
    ],
)
def test_rules_that_cannot_be_meant(monkeypatch, tmp_path, rule, message):
    text = (project().data_scripts / "encodings.yaml").read_text(encoding="utf-8")
    write_text(tmp_path / "data_scripts" / "encodings.yaml", text.replace("age: {width: 10}", f"age: {rule}", 1))
    monkeypatch.setenv("FAIRLAB_ROOT", str(tmp_path))
    with pytest.raises(DataError) as caught:
        encodings()
    assert f"encodings.yaml:9: {message}" in str(caught.value)


def test_another_table_than_the_published_one_is_an_error():
    file = project_registry().file("encoded/census")
    table = encode(RAW, {"age": Rule()})
    same = file.model_copy(update={"sha256": hashlib.sha256(b"a\n17\n30").hexdigest()})
    assert check_published(table, same, final_newline=False) is table
    with pytest.raises(DataError, match=r"the encoded table has SHA-256 .*, encoded/census has"):
        check_published(table, file, final_newline=False)


def test_the_schema_of_themis_has_the_columns_of_the_encodings():
    from fairlab.papers.themis.instances import CENSUS, CREDIT

    rules = encodings()
    assert [*CENSUS.names, "income"] == list(rules["adult"])
    assert [*CREDIT.names, "class"] == list(rules["german"])


@pytest.mark.parametrize(
    ("name", "path", "final_newline", "blob"),
    [
        ("census-themis", "encoded/census", False, "1a00cfe51381fa374f01b84ce420c6d4abc02b7e"),
        ("census-balanced", "encoded/census_sample", True, "de072f11bf15151fa5ebd4fc5203b5a477a97a15"),
        ("credit-themis", "encoded/credit_themis", False, "c34327a1d03eca92d1c4f89e5aa3b4cf2767897f"),
    ],
)
def test_encoded_variants_have_the_published_bytes(mirror, tmp_path, name, path, final_newline, blob):
    dataset = load(name, surrogate=False)
    made = tmp_path / "made"
    made.write_text(published_text(dataset.features.join(dataset.target), final_newline=final_newline))
    assert git_blob_sha1(made) == blob == project_registry().file(path).git_blob_sha1


@pytest.mark.parametrize(
    ("name", "path", "final_newline", "blob"),
    [
        ("census-adf", "encoded/census", False, "1a00cfe51381fa374f01b84ce420c6d4abc02b7e"),
        ("credit-adf", "encoded/credit_sample", True, "0a02e3664c9ed21bf23d0c63adad42baac787477"),
        ("bank-adf", "encoded/bank", True, "340eac6bbb4a38ae92926b77ea6d86d983dd1fdf"),
    ],
)
def test_codes_of_variants_in_words_have_the_published_bytes(mirror, tmp_path, name, path, final_newline, blob):
    dataset = load(name, surrogate=False)
    made = tmp_path / "made"
    table = codes(dataset.features.join(dataset.target))
    made.write_text(published_text(table, final_newline=final_newline))
    assert git_blob_sha1(made) == blob == project_registry().file(path).git_blob_sha1


def test_race_and_income_are_confounded_in_the_balanced_census():
    people = load("census-balanced", surrogate=True)
    rich = (people.target == "1").groupby(people.features["race"], observed=True).mean()
    assert rich["0"] > 0.75
    assert rich["4"] < 0.15
