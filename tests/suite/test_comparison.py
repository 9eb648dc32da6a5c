import json

import pytest
from pydantic import ValidationError
from toy_project import fill

from fairlab.plotting import COLOURS
from fairlab.suite.comparison import Comparison, Row, percent, short_line
from fairlab.suite.experiment import Experiment
from fairlab.suite.verdicts import CLAIM_VERDICTS, JUDGED, LOOKS, VERDICTS

KEYS = [
    *("paper", "artefact", "id", "kind", "published", "printed", "source"),
    *("ours", "low", "high", "n_trials", "relative_difference"),
    *("verdict", "reading", "data", "evidence", "profile", "seed", "commit", "reason"),
]


def row(id="x", verdict="agrees", **given):
    number = {"paper": "toy", "artefact": "t", "id": id, "kind": "number", "published": 2.0, "verdict": verdict}
    return Row(**number | given)


def claim(id, verdict):
    return Row(paper="toy", artefact="t", id=id, kind="claim", published="It holds.", ours="holds", verdict=verdict)


@pytest.fixture
def comparison(toy):
    experiment = Experiment("toy/mean")
    fill(experiment)
    experiment.record("table-1", "rows", 17)
    experiment.record("table-1", "mean", 0.7, reading="as_described")
    experiment.run.claims[0]["holds"] = False
    return experiment.compare()


def test_every_verdict_has_a_look():
    assert {*VERDICTS, *CLAIM_VERDICTS} == set(LOOKS)
    assert all(look.colour in COLOURS and look.meaning for look in LOOKS.values())
    assert len({look.shape for look in LOOKS.values()}) == len(LOOKS)


def test_counts_come_first_then_what_differs_then_the_rest_folded(comparison):
    page = comparison._repr_html_()
    counts, differs, folded = (page.index(part) for part in ("1 agrees, 1 differs, 1 fails", ">rows<", "<details>"))
    assert counts < differs < folded < page.index(">lost<")
    assert page.index("fails</td>") < folded < page.index("agrees</td>")
    assert "the other 2 rows" in page
    assert page.index(">+10%<") > folded  # 0.50 published, 0.55 ours
    assert [line.split("  ")[1].split(":")[0] for line in str(comparison).splitlines()[1:]] == ["differs", "fails"]


def test_rows_not_run_have_a_reason(comparison):
    lost = next(row for row in comparison.rows if row.id == "lost")
    assert (lost.verdict, lost.reason, lost.published) == ("not run", "toy/mean does not record it", 1)
    frame = comparison.to_frame().set_index("id")
    assert frame.loc["mean", "as_described"] == "0.7"
    assert frame.loc["mean", "published"] == "0.50 ± 0.10"
    assert comparison.rows[0].reason.endswith("as specified: 0.7")


def test_json_is_a_list_of_plain_rows(comparison, tmp_path):
    rows = json.loads(comparison.to_json())
    assert [list(row) for row in rows] == [KEYS] * 4
    mean, _, lost, positive = rows
    assert (mean["published"], mean["ours"], mean["n_trials"], mean["reading"]) == (0.5, 0.55, 2, "as_published")
    assert mean["printed"] == "0.50 ± 0.10"
    assert mean["relative_difference"] == pytest.approx(0.1)
    assert mean["low"] < 0.55 < mean["high"]
    assert (lost["ours"], lost["low"], lost["profile"], lost["relative_difference"]) == (None,) * 4
    assert (positive["kind"], positive["published"], positive["ours"]) == ("claim", "The mean is positive.", "fails")
    file = tmp_path / "rows.json"
    file.write_text(comparison.to_json())
    again = Comparison.read(file)
    assert again.to_json() == comparison.to_json()
    assert again.counts() == comparison.counts()


def test_numbers_are_written_as_numbers():
    rows = json.loads(Comparison([row(ours=6600462.0), row(ours=1 / 3), row(published=(0.25, 1.0))]).to_json())
    assert [rows[0]["ours"], rows[1]["ours"], rows[2]["published"]] == [6600462, 0.333333, [0.25, 1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "fine"}, "rows.json: row 1 > verdict: .*'agrees'"),
        ({"kind": "p-value"}, "'number' or 'claim'"),
        ({"published": None}, "published"),
        ({"verdikt": "agrees"}, "verdikt"),
        ({"seed": "0"}, "valid integer"),
    ],
)
def test_other_files_are_refused(tmp_path, change, message):
    file = tmp_path / "rows.json"
    file.write_text(json.dumps([row().model_dump() | change]))
    with pytest.raises(ValueError, match=message):
        Comparison.read(file)
    with pytest.raises(ValidationError):
        Row(**row().model_dump() | change)


def test_inferred_rows_are_counted_separately_unless_they_differ():
    inferred = {"reading": "inferred"}
    off = row("z", "differs", relative_difference=4257.0, data="reconstructed", **inferred)
    claims = [claim(verdict, verdict).model_copy(update=inferred) for verdict in ("holds", "fails")]
    numbers = [row(), row("y", relative_difference=0.01, **inferred), off, row("w", "not run", data="generated")]
    card = Comparison([*numbers, *claims])
    assert card.counts() == {"agrees": 1, "inferred": 2, "differs": 1, "not run": 1, "fails": 1}
    assert card.median_difference() == 4257
    assert short_line(card) == "1 of 2 numbers agree"
    assert card.headline() == (
        "6 published numbers and claims: 1 agrees, 1 differs (1 inferred), 1 fails (1 inferred), "
        "2 inferred and not differing, 1 not run; median difference 425700.0%"
    )


def test_a_reading_may_be_inferred_for_one_number_or_for_an_artefact(toy):
    file = toy / "experiments" / "toy" / "published.yaml"
    text = file.read_text()

    def readings():
        experiment = Experiment("toy/mean")
        fill(experiment)
        return {row.id: row.reading for row in experiment.compare().rows}, experiment.compare().rows[0].reason

    assert readings()[0] == {"mean": "as_published", "rows": None, "lost": None, "positive": None}
    file.write_text(text.replace("n: 10, kind", "n: 10, inferred: it fits best, kind"))
    assert readings()[0]["mean"] == "inferred"
    assert readings()[1].endswith("the protocol was inferred: it fits best")
    file.write_text(text.replace("title: Means", "title: Means\n    inferred: it fits best"))
    assert readings()[0] == {"mean": "inferred", "rows": None, "lost": None, "positive": "inferred"}


def test_the_median_is_of_the_sizes_of_what_was_judged():
    shares = [-0.5, 0.1, 0.2, 9.0, None]
    verdicts = ["differs", "agrees", "near", "surrogate", "agrees"]
    rows = [row(str(k), verdicts[k], relative_difference=share) for k, share in enumerate(shares)]
    assert Comparison(rows).median_difference() == 0.2
    assert "median difference 20.0%" in str(Comparison(rows))


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([row(str(k), verdict) for k, verdict in enumerate(JUDGED)], "2 of 6 numbers agree"),
        ([row("a"), row("b", "setting"), row("c", "impossible"), claim("d", "fails")], "1 of 1 numbers agree"),
        ([row("a", "not comparable"), claim("b", "holds"), claim("c", "fails")], "1 of 2 claims hold"),
        ([row("a", "surrogate")], "surrogate data: nothing judged"),
        ([row("a", "not run")], "nothing judged"),
        ([], "nothing to compare"),
    ],
)
def test_a_run_in_a_few_words(rows, line):
    assert short_line(Comparison(rows)) == line


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0%"), (0.1234, "+12%"), (-0.00123, "-0.12%"), (-0.998, "-100%"), (3.5, "+350%"), (12.5, "14 times")],
)
def test_differences_as_text(share, text):
    assert percent(share) == text


def test_row_as_one_line():
    number = row(ours=2.5, low=2.0, high=3.0, relative_difference=0.25, printed="2.0", verdict="near")
    assert number.to_text() == "toy t:x  near: 2.0, our result 2.5 [2, 3] (+25%)"
    assert claim("holds-it", "fails").to_text() == "toy t:holds-it  fails: It holds."
    assert (
        row(verdict="not run", reason="left out").to_text()
        == "toy t:x  not run: 2.0, our result not available (left out)"
    )
