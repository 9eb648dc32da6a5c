"""Rows, their comparison, the scorecard, and the reasons for what differs."""

import json
from types import SimpleNamespace

import pytest
from toy_project import add_experiment, fill

from fairlab.cli import main
from fairlab.paths import write_text
from fairlab.suite import run as runs
from fairlab.suite.comparison import ORIGINS, Comparison, Row, beside, short_line
from fairlab.suite.experiment import Experiment
from fairlab.suite.links import set_links
from fairlab.suite.published import load_paper
from fairlab.suite.run import failure_file, run_folder
from fairlab.suite.scorecard import (
    core_seconds,
    origins,
    other_verdicts,
    published_runs,
    scorecard,
    summary,
    table,
    to_markdown,
    unexplained,
    unreadable,
    what_is_counted,
)
from fairlab.suite.verdicts import JUDGED

STORED = [*ORIGINS][1]


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
    experiment.record("table-1", "mean", 0.7, reading="as_specified")
    experiment.run.claims[0]["holds"] = False
    return experiment.compare()


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


def test_a_reading_may_be_inferred_for_one_number_for_a_claim_or_for_an_artefact(toy):
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
    file.write_text(text.replace("{id: positive,", "{id: positive, inferred: it fits best,"))
    assert readings()[0] == {"mean": "as_published", "rows": None, "lost": None, "positive": "inferred"}
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


def rows():
    return {row.id: row for row in scorecard().rows}


def publish(profile="quick", source="real", mean=0.55, **claim):
    experiment = Experiment("toy/mean", profile=profile)
    fill(experiment)
    experiment.run.records[0]["values"] = [mean]
    experiment.run.claims[0] |= claim
    experiment.run.data[0]["source"] = source
    experiment.record("table-1", "rows", 4425)
    experiment.compare()


def test_nothing_was_run(toy):
    assert {row.verdict for row in rows().values()} == {"not run"}
    assert rows()["mean"].reason == "not run here yet: fairlab run toy/mean"
    write_text(failure_file("toy/mean", "quick"), "cell 3 failed: ZeroDivisionError: division by zero\n")
    assert rows()["mean"].reason == "failed at quick: cell 3 failed: ZeroDivisionError: division by zero"


def test_same_conclusion_and_difference(toy):
    published = toy / "experiments" / "toy" / "published.yaml"
    publish(mean=3.0, unsettled=0.4)
    assert (rows()["mean"].verdict, rows()["positive"].column) == ("differs", "unsettled")
    publish(mean=3.0)
    assert rows()["mean"].verdict == "same conclusion"
    text = published.read_text()
    for change in ("rows: [mean]", "rows: [lost]"), ("kind: statistic", "kind: statistic, inferred: by its fit"):
        published.write_text(text.replace(*change))
        assert rows()["mean"].verdict == "differs", "the claim is judged on other numbers, or the protocol by its fit"
    published.write_text(text)
    publish(mean=3.0, holds=False)
    assert (rows()["mean"].verdict, rows()["positive"].verdict) == ("differs", "fails")


def rewrite(file, content):
    """Write a file of a published run, and its sums anew."""
    file.write_text(content)
    (file.parent / runs.SUMS).write_text(json.dumps(runs._sums(file.parent)))


def test_a_claim_that_was_not_judged_speaks_for_no_number(toy):
    publish(mean=3.0)
    file = run_folder("toy/mean", "quick") / "run.json"
    content = json.loads(file.read_text())
    content["data"].append(content["data"][0] | {"variant": "other", "source": "surrogate"})
    rewrite(file, json.dumps(content))
    records = file.with_name("records.json")
    rewrite(records, json.dumps([record | {"data": ["berkeley"]} for record in json.loads(records.read_text())]))
    claims = file.with_name("claims.json")
    rewrite(claims, json.dumps([claim | {"data": None} for claim in json.loads(claims.read_text())]))
    assert (rows()["mean"].verdict, rows()["positive"].verdict) == ("differs", "surrogate")


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content | {"data": {"berkeley": {"source": "real"}}},  # as an older version had it
        lambda content: {key: value for key, value in content.items() if key != "seed"},
        lambda content: [content],
        lambda content: "{",
    ],
)
def test_a_run_of_an_older_version_is_named_with_what_to_do(toy, capsys, damage):
    publish("paper")
    file = run_folder("toy/mean", "paper") / "run.json"
    rewrite(file, json.dumps(damage(json.loads(file.read_text()))).replace('"{"', "{"))
    assert main(["scorecard", "toy"]) == 1
    captured = capsys.readouterr()
    sentence = f"{file.parent} has no run that this version can read"
    assert sentence in captured.err
    assert f"run it again: fairlab run toy/mean --profile paper, or delete {file.parents[1]}" in captured.err
    assert sentence in captured.out, "the reason of what was not run"
    publish("quick")
    assert rows()["mean"].profile == "quick"
    assert len(unreadable()) == 1
    assert unreadable("quick") == []


def test_the_best_run_is_shown(toy):
    publish("paper", source="surrogate")
    publish("quick")
    assert rows()["mean"].profile == "quick"
    publish("paper")
    assert rows()["mean"].profile == "paper"
    assert {row.profile for row in scorecard("quick").rows} == {"quick", None}


def test_page_has_differences_reasons_and_runs(toy):
    publish(mean=3.0, holds=False)
    explain(toy, "[mean, positive]", "The mean is another one.")
    file = run_folder("toy/mean", "quick") / "run.json"
    rewrite(file, json.dumps(json.loads(file.read_text()) | {"seed": 5, "commit": "abc", "core_seconds": 90}))
    text = to_markdown(scorecard(), published_runs())
    reason = "The mean is another one. [more](notebooks/toy/mean.ipynb)"
    assert f"| toy table-1 | 1 of 3 | 1 | `mean` +500% | {reason} |" in text
    assert "| toy | 1 | quick | 2 | real | 5 | abc | " in text


def test_rows_that_quick_judges_otherwise_are_listed(toy):
    publish("quick", mean=3.0, holds=False)
    publish("paper")
    pairs, n_judged = other_verdicts(scorecard())
    found = [(row.id, row.verdict, smaller.verdict) for row, smaller in pairs]
    assert found == [("mean", "agrees", "differs"), ("positive", "holds", "fails")]
    assert n_judged == 3
    text = to_markdown(scorecard(), published_runs())
    assert "2 of the 3 rows that are judged at both sizes" in text
    assert "| toy table-1 `mean` | 0.50 ± 0.10 | 0.55 (agrees) | 3 (differs) |" in text
    assert other_verdicts(scorecard("quick")) == ([], 0)


def test_a_trial_of_two_experiments_counts_once():
    abouts = (
        {"core_seconds": 70, "trial_seconds": {"a": 50.0, "b": 10.0}},
        {"core_seconds": 55, "trial_seconds": {"a": 50.0}},
    )
    assert core_seconds([SimpleNamespace(about=about) for about in abouts]) == 50 + 10 + 10 + 5


def test_the_table_counts_every_row_once(toy):
    publish()
    counted = table(scorecard())
    assert list(counted.index) == ["toy", "all"]
    assert counted.loc["toy"].drop("median difference").sum() == len(scorecard().rows)
    assert counted.loc["all", "median difference"] == "5.0%"  # 10% and 0


def test_exact_numbers_say_what_they_rest_on(toy):
    spec = toy / "experiments" / "toy" / "mean.yaml"
    publish()
    assert scorecard().bases() == {"real": 1}
    kinds = {
        "stored: {outputs: ['table-1:rows']}": ("stored outputs", "1 rest on outputs that the authors stored", STORED),
        "stored: {models: ['table-1:rows']}": ("stored models", "1 rest on models that the authors stored", STORED),
        "counted: ['table-1:rows']": ("counted data", "1 only count rows or columns of a data set", [*ORIGINS][-1]),
    }
    text = spec.read_text()
    for key, (evidence, words, origin) in kinds.items():
        spec.write_text(f"{text}\n{key}\n")
        assert rows()["rows"].evidence == evidence
        assert words in scorecard().headline()
        assert [(each["origin"], each["exact"]) for each in origins(scorecard())][-1] == (origin, 1)
    spec.write_text(f"{text}\ncounted: ['table-1:row']\n")
    with pytest.raises(ValueError, match="counted: 'table-1:row' is not a table"):
        scorecard()


@pytest.mark.parametrize(
    ("key", "is_drawn"),
    [
        ("", True),
        ("stored: {models: [table-1]}", True),
        ("stored: {outputs: [table-1]}", False),
        ("fixed: ['*:mean']", False),
    ],
)
def test_draws_are_unsettled_whoever_trained_the_model_and_given_trials_never(toy, key, is_drawn):
    spec = toy / "experiments" / "toy" / "mean.yaml"
    spec.write_text(f"{spec.read_text()}\n{key}\n")
    experiment = Experiment("toy/mean")
    experiment.load("berkeley")
    experiment.record(
        "table-1", "mean", [0.6, 0.8]
    )  # agrees with 0.50 ± 0.10; 0.8 twice, in a quarter of draws, does not
    mean = next(row for row in experiment.compare().rows if row.id == "mean")
    assert (mean.unsettled is not None, mean.is_unsettled) == (is_drawn, is_drawn)


def explain(toy, rows, why):
    file = toy / "experiments" / "toy" / "published.yaml"
    file.write_text(
        file.read_text().replace("    claims:", f"    differs: [{{rows: {rows}, why: {why}}}]\n    claims:", 1)
    )


def test_reasons_are_of_the_rows_that_they_name(toy):
    explain(toy, '["m*n", lost]', "Our mean is another one.}, {rows: [rows], why: More were drawn.")
    artefact = load_paper("toy").artefacts["table-1"]
    assert artefact.reasons(["mean", "lost"]) == ["Our mean is another one."]
    assert artefact.reasons(["rows", "mean"]) == ["Our mean is another one.", "More were drawn."]
    assert artefact.reasons(["positive"]) == []


def test_a_reason_or_claim_that_names_no_row_is_refused(toy):
    file = toy / "experiments" / "toy" / "published.yaml"
    text = file.read_text()
    explain(toy, "[meen]", "Our mean is another one.")
    with pytest.raises(ValueError, match=r"published.yaml:8: .*differs.*table-1 has no meen"):
        load_paper("toy")
    file.write_text(text.replace("rows: [mean]", "rows: [positive]"))
    with pytest.raises(ValueError, match=r"published.yaml:9: .*claims.*table-1 has no positive"):
        load_paper("toy")


def test_the_ending_has_the_table_and_what_no_reason_names(toy, capsys):
    publish(mean=3.0, holds=False)
    for pattern, left in ((None, {"mean", "positive"}), ('["m*"]', {"positive"})):
        if pattern:
            explain(toy, pattern, "Our mean is another one.")
        capsys.readouterr()
        assert main(["scorecard"]) == 0
        text = capsys.readouterr().out
        assert text.split()[:4] == ["exact", "differs", "fails", "not"]
        assert f"{len(left)} rows differ or fail without a reason" in text
        assert {row.id for row in unexplained(scorecard())} == left


LINK = "[{}](../../experiments/fliptest/published.yaml#{})"


@pytest.mark.parametrize(
    ("text", "place", "ours", "expected"),
    [
        ("1,086", "section-5.3:women_to_men.f_plus", 1218.6, "1,219"),
        ("−1.4", "section-5.3:transparency.f_minus.work_experience", -1.374, "−1.4"),
        ("+0.00", "section-5.3:transparency.f_plus.hair_length", 1.75, "+1.75"),
        ("30%", "section-5.3:hired_share.women", 0.2987, "30%"),  # a proportion
        ("0 to 1.00", "section-5.3:hired_share.women", (0.5, 0.75), "0 to 1"),
        ("1", "section-5.3:hired_share.women", None, "not run"),
    ],
)
def test_a_linked_number_has_the_digits_of_the_text_that_stands_there(text, place, ours, expected):
    artefact, id = place.split(":")
    verdict = "not run" if ours is None else "near"
    row = Row(paper="fliptest", artefact=artefact, id=id, kind="number", published=1.0, ours=ours, verdict=verdict)
    linked = f"Before {LINK.format(text, place)} and after."
    assert set_links(linked, [row]) == f"Before {LINK.format(expected, place)} and after."


@pytest.mark.parametrize(("unsettled", "expected"), [(None, "holds"), (0.04, "holds"), (0.4, "holds, unsettled")])
def test_a_linked_claim_says_that_it_is_unsettled(unsettled, expected):
    place = {"paper": "fliptest", "artefact": "figure-7", "id": "gan-flipset-higher-scores", "kind": "claim"}
    row = Row(**place, published="…", ours="holds", verdict="holds", unsettled=unsettled)
    linked = LINK.format("fails", "figure-7:gan-flipset-higher-scores")
    assert set_links(linked, [row]) == linked.replace("fails", expected)


def test_a_linked_number_is_that_of_the_protocol_that_its_address_names():
    place = {"paper": "fliptest", "artefact": "section-5.3", "id": "hired_share.women", "kind": "number"}
    row = Row(**place, published=0.3, ours=0.3, as_specified=0.27, verdict="near")
    linked = LINK.format("1%", "section-5.3:hired_share.women:as_specified")
    assert set_links(linked, [row]).startswith("[27%](")
    with pytest.raises(KeyError, match=r"expected a link to a row .*hired_share.women:as_specified"):
        set_links(linked, [row.model_copy(update={"as_specified": None})])


def test_a_text_names_the_profiles_of_the_rows_that_it_links_to():
    place = {"paper": "fliptest", "artefact": "section-5.3", "kind": "number", "published": 0.3, "ours": 0.3}
    sides = {"hired_share.women": "paper", "hired_share.men": "quick"}
    rows = [Row(**place, id=id, profile=profile, verdict="exact") for id, profile in sides.items()]
    links = [LINK.format("30%", f"section-5.3:{id}") for id in sides]
    end = "The committed scorecard (profile {}, seed 0); `smoke` is smaller."
    said = [set_links(" ".join([*part, end.format("`quick`")]), rows) for part in (links[:1], links)]
    assert [text[text.index("The") :] for text in said] == [end.format("`paper`"), end.format("`quick` and `paper`")]
    assert set_links(said[1], rows) == said[1]


@pytest.mark.parametrize(
    ("words", "expected"),
    {
        "smallest-bound": "1.021",
        "largest-at-theta_1-0": "1,027",
        "change": "−0.5",
        "rejected-Baseline": "90%",
        "SenSR": "5.0% to 6.1%",
        "lower-in": "18 of 24",
    }.items(),
)
def test_a_link_takes_the_number_after_its_words_from_the_reason_of_a_row(words, expected):
    reason = (
        "smallest bound 1.021, largest at theta_1 = 0: 1,027; change -0.5; rejected: Baseline 90%, SenSR 5.0% to 6.1%"
    )
    row = Row(
        **number("delta-to-one", 1.0).model_dump() | {"paper": "fliptest", "reason": f"{reason}; lower in 18 of 24."}
    )
    linked = LINK.format("1.3", f"table-1:delta-to-one:{words}")
    assert set_links(linked, [row]).startswith(f"[{expected}](")


@pytest.mark.parametrize("words", ["largest", "bound", "ound", "smallest"])
def test_a_link_to_no_number_or_to_two_in_a_reason_is_refused(words):
    row = Row(**number("x", 1.0).model_dump() | {"paper": "fliptest", "reason": "smallest bound 1.021, large bound 2"})
    with pytest.raises(KeyError, match="expected one number after"):
        set_links(LINK.format("1.3", f"table-1:x:{words}"), [row])


def test_a_linked_claim_has_its_verdict_and_a_link_to_no_row_is_refused():
    own = {"paper": "fliptest", "artefact": "appendix-d", "id": "directions-agree", "kind": "claim"}
    row = Row(**own, published="They agree.", ours="fails", verdict="fails")
    assert set_links(LINK.format("holds", "appendix-d:directions-agree"), [row]).startswith("[fails](")
    with pytest.raises(KeyError, match=r"found .*published.yaml#appendix-d:no"):
        set_links(LINK.format("holds", "appendix-d:no"), [row])
    with pytest.raises(ValueError, match="expected a number such as"):
        set_links(
            LINK.format("about a third", "appendix-d:n"),
            [row.model_copy(update={"id": "n", "kind": "number", "ours": 1.0})],
        )


def number(id, ours, verdict="agrees", **more):
    return Row(
        paper="toy",
        artefact="table-1",
        id=id,
        kind="number",
        published=1.0,
        printed="1.0",
        ours=ours,
        verdict=verdict,
        **more,
    )


def test_a_run_is_set_beside_the_committed_scorecard_with_what_moved_first():
    committed = [
        number("same", 1.00000012),
        number("little", 2.0),
        number("much", 1.0),
        number("verdict", 3.0, "exact"),
    ]
    ours = [number("same", 1.0), number("little", 2.2), number("much", 3.0), number("verdict", 3.0, "differs")]
    lines = beside([*ours, number("new", 1.0)], committed)
    assert [line.split()[0] for line in lines[:-1]] == ["table-1:verdict", "table-1:much", "table-1:little"]
    assert lines[1] == "table-1:much  published 1.0, committed 1 (agrees), here 3 (agrees)"
    assert lines[-1] == "3 of 4 rows are other than in the committed scorecard; not in it: 1"
    interval, none = number("i", (0.0, 1.0)), number("n", None, "not run")
    moved = beside(
        [interval, none], [interval.model_copy(update={"ours": (0.0, 2.0)}), none.model_copy(update={"ours": 1.0})]
    )
    assert moved[-1].startswith("2 of 2")
    assert beside(committed, committed, 1) == ["0 of 4 rows are other than in the committed scorecard"]
    quick, smoke, custom = (
        [row.model_copy(update={"profile": profile}) for row in committed] for profile in ("quick", "smoke", "custom")
    )
    same = "0 of 4 rows are other than in the committed scorecard"
    assert beside(smoke, quick) == [f"{same}, which is of another size (profile quick; here smoke)"]
    assert beside(quick, quick) == beside(custom, quick) == [same]


def test_a_run_does_not_fail_for_a_committed_scorecard_of_another_version(toy):
    write_text(toy / "REPRODUCTION.json", "{}")
    experiment = Experiment("toy/mean")
    fill(experiment)
    unread, _ = experiment.compare().remarks
    assert unread.startswith("not compared: the committed REPRODUCTION.json cannot be read")
    assert run_folder("toy/mean", "quick").exists()


def test_a_run_with_another_parameter_is_shown_by_its_folder(toy, capsys):
    write_text(toy / "REPRODUCTION.json", Comparison([number("mean", 0.5)]).to_json())
    experiment = Experiment("toy/mean", n=7)
    fill(experiment)
    card = experiment.compare()
    latest = runs.place("toy/mean", "custom") / "latest"
    *moved, counted, stored = card.remarks
    assert counted.startswith("1 of 1 rows are other than in the committed scorecard; not in it: ")
    assert repr(card).splitlines()[: len(card.remarks)] == list(card.remarks)
    assert stored == f"toy/mean: done, see {latest}; all rows: fairlab scorecard {latest}"
    assert all(remark in card._repr_html_() for remark in moved)
    assert {row.verdict for row in rows().values()} == {"not run"}, "it never enters the scorecard"
    assert main(["scorecard", str(latest)]) == 0
    said = capsys.readouterr().out
    assert "toy table-1:rows" in said
    assert (
        "table-1:mean  published 0.50 ± 0.10, committed 0.5 (agrees), here 0.55 [-0.08531, 1.185] (not comparable)"
        in said
    )


def test_two_runs_are_set_beside_one_another(toy, capsys):
    places = {}
    for n, own in ((7, 0.5), (8, 0.6)):
        experiment = Experiment("toy/mean", n=n)
        fill(experiment)
        experiment.run.records[0]["values"] = [own]
        experiment.compare()
        places[n] = str(run_folder("toy/mean", "custom"))
    capsys.readouterr()
    assert main(["scorecard", places[8], places[7]]) == 0
    said = capsys.readouterr().out
    line = "table-1:mean  published 0.50 ± 0.10, other 0.5 (not comparable), here 0.6 (not comparable)"
    assert said.splitlines()[-2:] == [line, "1 of 4 rows are other than in the other run"]
    assert main(["scorecard", places[8], "toy"]) == 2
    assert "expected a paper, or a table or figure" in capsys.readouterr().err
    add_experiment(toy, "other")
    experiment = Experiment("toy/other", n=7)
    fill(experiment)
    experiment.compare()
    assert main(["scorecard", places[8], str(run_folder("toy/other", "custom"))]) == 2
    assert "expected two runs of one experiment, found toy/mean and toy/other" in capsys.readouterr().err


def test_the_command_writes_the_committed_scorecard_and_the_figure_and_table_of_the_readme(toy, results):
    publish()
    readme = toy / "README.md"
    readme.write_text("Before\n<!-- summary -->\nold\n<!-- /summary -->\nAfter\n")
    committed, own = ([folder / f"REPRODUCTION.{kind}" for kind in ("json", "md")] for folder in (toy, results))
    for call, written in (([], own), (["--write"], [*own, *committed, toy / "figures" / "verdicts.svg"])):
        assert main(["scorecard", *call]) == 0
        assert [file.exists() for file in (*committed, *written)] == [bool(call)] * 2 + [True] * len(written)
    assert [file.read_text() for file in committed] == [file.read_text() for file in own]
    assert committed[1].read_text() == to_markdown(Comparison.read(committed[0]), published_runs())
    new = f"Before\n<!-- summary -->\n\n{summary(scorecard())}\n<!-- /summary -->\nAfter\n"
    assert readme.read_text() == new


def test_numbers_are_counted_once_by_what_they_rest_on(toy):
    half = {"relative_difference": 0.5, "data": "real"}
    rows = [
        row("y", "differs", **half),
        row("z", "differs", **half),
        row("e", "exact", relative_difference=0.0, data="real"),
        row("total", "exact", derived=True, data="real", relative_difference=0.0),
        row("s", "near", data="real", evidence="stored models", relative_difference=0.2),
        row("n", "exact", data="real", evidence="counted data", relative_difference=0.0),
        row("d", "differs", data="generated", relative_difference=27.0, unsettled=0.5),
        row("i", "exact", data="real", reading="inferred", relative_difference=0.0),
        row("j", "near", data="generated", reading="inferred", relative_difference=0.2, unsettled=0.5),
        claim("c", "holds").model_copy(update={"unsettled": 0.5, "data": "real"}),
    ]
    card = Comparison(rows)
    names = ("numbers", "exact", "near", "differ", "unsettled", "median")
    found = [[each[name] for name in names] for each in origins(card)]
    assert found == [
        [3, 1, 0, 2, 0, "50.0%"],
        [1, 0, 1, 0, 0, "20.0%"],
        [1, 0, 0, 0, 1, "28 times"],
        [1, 1, 0, 0, 0, ""],
    ]
    assert card.median_difference() == pytest.approx(0.35)  # of y, z, e and s
    assert "off by over 10%: toy, own runs on real data (median 50.0%); toy, models" in summary(card)


def test_the_table_says_what_it_leaves_out_and_how_numbers_agree(toy):
    off = {"relative_difference": 0.3, "ours": 2.6, "low": 2.0, "high": 3.2, "data": "real"}
    rows = [
        row("std", **off),
        row("p", published=0.01, ours=0.002, data="real"),
        row("derived", derived=True, **off),
        row("inferred", reading="inferred", **off),
        row("a", "surrogate"),
        row("b", "surrogate"),
        row("unsettled", unsettled=0.5, **off),
        claim("c", "holds"),
    ]
    text = what_is_counted(Comparison(rows))
    assert text.startswith("Counted are 3 of 7 numbers. Left out: 2 surrogate (toy), 1 that follow")
    assert "1 with an inferred protocol" in text
    assert (
        "Of the 2 that agree, 1 are p-values, of which only the side of 0.05 counts, and 1 are off by over 10%" in text
    )
    assert "wider than a quarter of the published number for 1, than half of it for 1. Of the claims, 1 hold" in text


def test_what_follows_from_other_numbers_is_marked_by_its_table(toy):
    file = toy / "experiments" / "toy" / "published.yaml"
    publish()
    file.write_text(file.read_text().replace("    values:", "    follows: ['ro*']\n    values:", 1))
    assert {row.id: row.derived for row in scorecard().rows}["rows"]
    file.write_text(file.read_text().replace("ro*", "row"))
    with pytest.raises(ValueError, match="has no row"):
        scorecard()
