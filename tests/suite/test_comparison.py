import json

import pytest
from toy_project import fill

from fairlab.plotting import COLOURS
from fairlab.suite.comparison import Comparison, Row, short_line
from fairlab.suite.experiment import Experiment
from fairlab.suite.verdicts import CLAIM_VERDICTS, JUDGED, LOOKS, VERDICTS


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
    assert page.index("fails</td>") < folded < page.index(">+10%<")  # 0.50 published, 0.55 ours


def test_rows_not_run_have_a_reason(comparison):
    lost = next(row for row in comparison.rows if row.id == "lost")
    assert (lost.verdict, lost.reason, lost.published) == ("not run", "toy/mean does not record it", 1)
    assert comparison.rows[0].reason.endswith("as specified: 0.7")


def test_json_is_a_list_of_plain_rows(comparison, tmp_path):
    mean, _, lost, positive = json.loads(comparison.to_json())
    expected = {"published": 0.5, "printed": "0.50 ± 0.10", "ours": 0.55, "n_trials": 2, "reading": "as_published"}
    assert expected.items() <= mean.items()
    assert mean["low"] < 0.55 < mean["high"]
    assert (lost["ours"], lost["low"], lost["profile"], lost["relative_difference"]) == (None,) * 4
    assert (positive["kind"], positive["published"], positive["ours"]) == ("claim", "The mean is positive.", "fails")
    file = tmp_path / "rows.json"
    file.write_text(comparison.to_json())
    assert Comparison.read(file).to_json() == comparison.to_json()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "fine"}, "0.verdict\n.*'agrees'"),
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


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([row(str(k), verdict) for k, verdict in enumerate(JUDGED)], "2 of 6 numbers agree"),
        ([row("a"), row("b", "setting"), row("c", "impossible"), claim("d", "fails")], "1 of 1 numbers agree"),
        ([row("a", "not comparable"), claim("b", "holds"), claim("c", "fails")], "1 of 2 claims hold"),
        ([row("a", "surrogate"), row("b", "not run")], "surrogate data: nothing judged"),
        ([row("a", "not run")], "nothing judged"),
    ],
)
def test_a_run_in_a_few_words(rows, line):
    assert short_line(Comparison(rows)) == line
