"""Files that nobody may pass on, brought by a user: checked as all others are."""

import io
import zipfile

import pandas as pd
import pytest

from fairlab.data import DataError, DataUnavailableError, load
from fairlab.data.tables import load_script
from fairlab.paths import project

SSL = load_script(project().data_scripts / "make_ssl.py")
EXPORT, CLEANED, ARCHIVE = SSL.EXPORT, SSL.CLEANED, "heritage/data.zip"


@pytest.fixture(params=["cache", "mirror"])
def bring(request, tmp_path, monkeypatch):
    """Return a function that puts a file where a user may: into the cache, or into a mirror."""
    folder = tmp_path / request.param
    monkeypatch.setenv("FAIRLAB_DATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", str(tmp_path / "mirror"))

    def put(path, content):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
        return folder / path

    return put


def archive(**files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return content.getvalue()


@pytest.mark.parametrize(
    ("variant", "path", "content", "said"),
    [
        ("ssl", EXPORT, b"SSL SCORE\n500\n", "number of lines 2, expected 398685"),
        ("ssl", EXPORT, b"<html>gone</html>", "is a web page, not the file"),
        (
            "ssl",
            CLEANED,
            b"score,age\n500,20-30\n",
            "git blob id .*, expected b600de8b57f4a70bee6c6364f5c60c048fe911f8",
        ),
        (
            "health",
            ARCHIVE,
            archive(Members="MemberID\n"),
            "git blob id .*, expected 3f026c0741f13d12618b070f8d88b0c1cd1655af",
        ),
        ("health", ARCHIVE, b"<html>please log in</html>", "is a web page, not the file"),
    ],
)
def test_a_wrong_file_is_named_with_what_was_expected(bring, variant, path, content, said):
    bring(path, content)
    with pytest.raises(DataUnavailableError, match=f"(?s){path} is not available:.*{said}"):
        load(variant, surrogate=False)


@pytest.fixture(scope="module")
def export(drawn):
    """The generated list in the form of the city's export, with people without age."""
    people = drawn("ssl")
    table = people.features.assign(**people.sensitive_features, score=people.target)
    ages = {number: band for band, number in SSL.AGES.items()}
    table = table.assign(age=table["age"].astype(int).map(ages)).astype(object)[list(SSL.COLUMNS)]
    without = table.head(SSL.ROWS[EXPORT] - len(table)).assign(age=None)
    return pd.concat([table, without]).set_axis([SSL.COLUMNS[name].upper() for name in SSL.COLUMNS], axis=1)


@pytest.mark.slow
def test_a_right_file_becomes_real_data_and_a_changed_one_does_not(export, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRLAB_DATA_MIRROR", str(tmp_path))
    file = tmp_path / EXPORT
    file.parent.mkdir(parents=True)
    export.to_csv(file, index=False)
    dataset = load("ssl", surrogate=False)
    assert (dataset.provenance.source, len(dataset.features)) == ("real", 398_582)
    assert file.name in "".join(dataset.provenance.files)
    age, score = (SSL.COLUMNS[name].upper() for name in ("age", "score"))
    for column, value, said in (
        (age, "a child", "unknown age bands a child"),
        (score, "9999", "column 'score'"),
        (score, "12.5", "holds '?12.5'?, expected whole numbers"),
    ):
        monkeypatch.setenv("FAIRLAB_DATA_CACHE", str(tmp_path / f"cache {column} {value}"))
        export.assign(**{column: [value, *export[column][1:]]}).to_csv(file, index=False)
        with pytest.raises(DataError, match=said):
            load("ssl", surrogate=False)
