import hashlib

import pandas as pd
import pytest

from fairlab.data import DataUnavailableError
from fairlab.papers.themis.suites import TABLE, stored_suites
from fairlab.paths import project

DATA_SCRIPTS = project().data_scripts

LINE = "1,2,3,4,5,6,1,0,{sex},7,8,9,10,{output}\n"


@pytest.fixture
def script(monkeypatch, tmp_path):
    """The script, beside a table of its own and with no suite at hand."""
    import runpy

    module = runpy.run_path(str(DATA_SCRIPTS / "count_themis_suites.py"))
    space, table = module["main"].__globals__, tmp_path / "table.csv"
    table.write_bytes(TABLE.read_bytes())
    here = {}
    monkeypatch.setitem(space, "TABLE", table)
    monkeypatch.setitem(space, "local_copy", lambda file: here.get(file.path))
    monkeypatch.setitem(space, "find_fault", lambda file, copy: None)
    return module["main"], table, here


def put(here, tmp_path, path):
    copy = tmp_path / "copy"
    copy.write_text("".join(LINE.format(sex=sex, output=sex) for sex in (0, 1)))
    here[path] = copy
    return copy


def test_without_files_nothing_is_counted_and_nothing_fetched(script, capsys):
    main, table, _ = script
    assert main(["--write"]) == 0
    assert "0 of 84 suites are here, 0 are not as" in capsys.readouterr().out
    pd.testing.assert_frame_equal(pd.read_csv(table), pd.read_csv(TABLE))


def test_a_file_that_counts_otherwise_is_named_and_written_on_request(script, capsys, tmp_path):
    main, table, here = script
    copy = put(here, tmp_path, "themis_suites/figure1/E9causal")
    assert main([]) == 1
    assert "figure1/E9causal: counts are not those of the table" in capsys.readouterr().out
    assert main(["--write"]) == 1
    rows = pd.read_csv(table).set_index("path")
    assert rows.loc["themis_suites/figure1/E9causal", ["lines", "n", "hits", "stretches"]].tolist() == [2, 1, 1, 1]
    assert rows.loc["themis_suites/figure1/E9causal", "sha256"] == hashlib.sha256(copy.read_bytes()).hexdigest()
    order = [suite.path for suite in stored_suites()]
    assert [order.index(path) for path in rows.index] == sorted(order.index(path) for path in rows.index)
    assert main([]) == 0


def test_unavailable_file_is_reported(script, monkeypatch, capsys):
    main, _, _ = script

    def refuse(file):
        raise DataUnavailableError(f"{file.path} is not available", ())

    monkeypatch.setitem(main.__globals__, "fetch_file", refuse)
    assert main(["--fetch"]) == 1
    assert "themis_suites/figure1/B99causal is not available" in capsys.readouterr().out


def test_a_wrong_file_is_refused(script, monkeypatch, capsys, tmp_path):
    main, _, here = script
    put(here, tmp_path, "themis_suites/figure1/E9causal")
    monkeypatch.setitem(main.__globals__, "find_fault", lambda file, copy: "has SHA-256 0, expected 1")
    assert main([]) == 1
    assert "E9causal: has SHA-256 0, expected 1" in capsys.readouterr().out
