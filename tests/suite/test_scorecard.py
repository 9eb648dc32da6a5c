"""Rows, their comparison, the scorecard, and the reasons for what differs."""

import json
import shutil

import pytest
from toy_project import add_experiment, fill, replace_in

from fairlab.cli import main
from fairlab.paths import write_text
from fairlab.suite.comparison import ORIGINS, Comparison, Row, beside, short_line
from fairlab.suite.experiment import Experiment
from fairlab.suite.links import set_links
from fairlab.suite.run import SUMS, Run, _sums, failure_file, place, run_folder
from fairlab.suite.scorecard import (
    about_runs,
    committed_rows,
    committed_runs,
    origins,
    other_verdicts,
    scorecard,
    summary,
    to_markdown,
    unexplained,
    unreadable,
    what_is_counted,
)
from fairlab.suite.verdicts import JUDGED


def row(id="x", verdict="agrees", **given):
    number = {"paper": "toy", "artefact": "t", "id": id, "kind": "number", "published": 2.0, "verdict": verdict}
    return Row(**number | given)


def claim(id, verdict, **given):
    return row(id, verdict, **{"kind": "claim", "published": "It holds.", "ours": "holds"} | given)


@pytest.fixture
def comparison(toy):
    experiment = fill(Experiment("toy/mean"))
    experiment.record("table-1", "rows", 17)
    experiment.record("table-1", "mean", 0.7, reading="as_specified")
    experiment.run.claims[0]["holds"] = False
    return experiment.compare()


def test_counts_come_first_then_what_differs_then_the_rest_folded(comparison):
    page = comparison._repr_html_()
    counts, differs, folded = (page.index(part) for part in ("1 agrees, 1 differs, 1 fails", ">rows<", "<details>"))
    assert counts < differs < folded < page.index(">lost<")
    assert page.index("fails</td>") < folded < page.index(">+10%<")  # 0.50 published, 0.55 ours


def test_json_is_a_list_of_plain_rows(comparison):
    names = ("id", "kind", "published", "printed", "ours", "n_trials", "reading", "profile", "evidence", "verdict")
    rows = [[row[name] for name in names] for row in json.loads(comparison.to_json())]
    assert rows == [
        ["mean", "number", 0.5, "0.50 ± 0.10", 0.55, 2, "as_published", "quick", "run", "agrees"],
        ["rows", "number", 4425, "4425", 17, 1, "as_published", "quick", "run", "differs"],
        ["lost", "number", 1, "1", None, None, None, None, None, "not run"],
        ["positive", "claim", "The mean is positive.", "", "fails", None, None, "quick", "run", "fails"],
    ]
    assert comparison.rows[0].reason.endswith("as specified: 0.7")
    assert comparison.rows[2].reason == "toy/mean does not record it"
    assert Comparison.from_json(comparison.to_json()).to_json() == comparison.to_json()


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
def test_other_files_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Comparison.from_json(json.dumps([row().model_dump() | change]))


def test_inferred_rows_are_counted_separately_unless_they_differ():
    inferred = {"reading": "inferred"}
    off = row("z", "differs", relative_difference=4257.0, data="reconstructed", **inferred)
    claims = [claim(verdict, verdict, **inferred) for verdict in ("holds", "fails")]
    numbers = [row(), row("y", relative_difference=0.01, **inferred), off, row("w", "not run", data="generated")]
    card = Comparison([*numbers, *claims])
    assert card.counts() == {"agrees": 1, "inferred": 2, "differs": 1, "not run": 1, "fails": 1}
    assert (card.median_difference(), short_line(card)) == (4257, "1 of 2 numbers agree")
    assert card.headline() == (
        "6 published numbers and claims: 1 agrees, 1 differs (1 inferred), 1 fails (1 inferred), "
        "2 inferred and not differing, 1 not run; median difference 425700.0%"
    )


@pytest.mark.parametrize(
    ("old", "new", "inferred"),
    [
        ("", "", []),
        ("n: 10, kind", "n: 10, inferred: it fits best, kind", ["mean"]),
        ("{id: positive,", "{id: positive, inferred: it fits best,", ["positive"]),
        ("title: Means", "title: Means\n    inferred: it fits best", ["mean", "positive"]),
    ],
)
def test_a_reading_may_be_inferred_for_one_number_for_a_claim_or_for_an_artefact(toy, old, new, inferred):
    edit(toy, "published", old, new)
    rows, said = fill(Experiment("toy/mean")).compare().rows, "the protocol was inferred: it fits best"
    found = [(row.id, said in row.reason) for row in rows if row.reading == "inferred" or said in row.reason]
    assert found == [(name, True) for name in inferred]


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


def publish(profile="quick", source="real", mean=0.55, name="toy/mean", sizes=(), **claim):
    experiment = fill(Experiment(name, profile=profile, **dict(sizes)))
    experiment.run.records[0]["values"] = [mean]
    experiment.run.claims[0] |= claim
    experiment.run.data[0]["source"] = source
    experiment.record("table-1", "rows", 4425)
    experiment.compare()
    return run_folder(name, experiment.run.profile)


def test_nothing_was_run(toy, capsys):
    assert {row.verdict for row in rows().values()} == {"not run"}
    assert rows()["mean"].reason == "not run here yet: fairlab run toy/mean"
    write_text(failure_file("toy/mean", "quick"), "cell 3 failed: ZeroDivisionError: division by zero\n")
    assert rows()["mean"].reason == "failed at quick: cell 3 failed: ZeroDivisionError: division by zero"
    write_text(toy / "REPRODUCTION.json", Comparison([number("mean", 3.0, "differs")]).to_json())
    assert main(["scorecard", "toy/mean"]) == 0
    of_experiment = capsys.readouterr().out
    assert main(["scorecard", "toy:table-1"]) == 0
    assert "division by zero; committed: 3 (differs))" in of_experiment == capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "claim", "expected"),
    [
        ("", "", {}, ("same conclusion", "holds")),
        ("", "", {"unsettled": 0.4}, ("differs", "unsettled")),
        ("", "", {"holds": False}, ("differs", "fails")),
        ("rows: [mean]", "rows: [lost]", {}, ("differs", "holds")),  # the claim is judged on other numbers
        ("kind: statistic", "kind: statistic, inferred: by its fit", {}, ("differs", "holds")),
    ],
)
def test_same_conclusion_and_difference(toy, old, new, claim, expected):
    publish(mean=3.0, **claim)
    edit(toy, "published", old, new)
    assert (rows()["mean"].verdict, rows()["positive"].column) == expected


def test_a_claim_that_was_not_judged_speaks_for_no_number(toy):
    experiment = fill(Experiment("toy/mean"))
    experiment.run.records[0] |= {"values": [3.0], "data": ["berkeley"]}
    experiment.run.claims[0]["data"] = None  # rests on all that is loaded
    experiment.run.note_load({"variant": "other", "source": "surrogate"}, {})
    verdicts = {row.id: row.verdict for row in experiment.compare().rows}
    assert (verdicts["mean"], verdicts["positive"]) == ("differs", "surrogate")


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
    file.write_text(json.dumps(damage(json.loads(file.read_text()))).replace('"{"', "{"))
    (file.parent / SUMS).write_text(json.dumps(_sums(file.parent)))
    assert main(["scorecard", "toy"]) == 1
    out, errors = capsys.readouterr()
    sentence = f"{file.parent} has no run that this version can read"
    assert f"run it again: fairlab run toy/mean --profile paper, or delete {file.parents[1]}" in errors
    assert sentence in errors and sentence in out, "the reason of what was not run"
    publish("quick")
    assert (rows()["mean"].profile, len(unreadable()), unreadable("quick")) == ("quick", 1, [])


def test_the_best_run_is_shown(toy):
    shown = []
    for profile, source in (("paper", "surrogate"), ("quick", "real"), ("paper", "real")):
        publish(profile, source=source)
        shown.append(rows()["mean"].profile)
    assert (shown, {row.profile for row in scorecard("quick").rows}) == (["paper", "quick", "paper"], {"quick", None})


def test_rows_that_quick_judges_otherwise_are_listed(toy):
    publish("quick", mean=3.0, holds=False)
    publish("paper")
    pairs, n_judged = other_verdicts(scorecard())
    found = {row.id: (row.verdict, smaller.verdict) for row, smaller in pairs}
    assert (found, n_judged) == ({"mean": ("agrees", "differs"), "positive": ("holds", "fails")}, 3)
    assert other_verdicts(scorecard("quick")) == ([], 0)


def test_a_trial_of_two_experiments_counts_once():
    both = {"core_seconds": 70, "trial_seconds": {"a": 50.0, "b": 10.0}}
    one = {"core_seconds": 55, "trial_seconds": {"a": 50.0}}
    runs = [Run(f"toy/{n}", "quick", 0, {}, about=about) for n, about in enumerate((both, one))]
    assert [about["core_seconds"] for about in about_runs(runs).values()] == [70, 5]


def publish_without_claims():
    """Publish a run of a size that is too small to judge a claim."""
    experiment = fill(Experiment("toy/mean"))
    experiment.run.claims.clear()
    experiment.compare()


# Machines one after the other: what is run there, and what is then committed of a number and of a claim, with our
# number at quick beside a larger profile.
MACHINES = [
    (lambda: publish(mean=3.0, holds=False), ("quick", "differs", None), ("quick", "fails", None)),
    (lambda: None, ("quick", "differs", None), ("quick", "fails", None)),
    (lambda: publish("paper"), ("paper", "agrees", 3.0), ("paper", "holds", "fails")),
    (lambda: publish(mean=4.0), ("paper", "agrees", 4.0), ("paper", "holds", "holds")),
    (lambda: publish("smoke", mean=5.0), ("paper", "agrees", 4.0), ("paper", "holds", "holds")),
    (publish_without_claims, ("paper", "agrees", 0.55), ("paper", "holds", "holds")),
    (lambda: write_text(failure_file("toy/mean", "quick"), "cell 3 failed\n"), *[(None, "not run", None)] * 2),
]


def test_experiments_that_were_not_run_here_keep_their_committed_rows(toy, tmp_path, monkeypatch):
    (toy / "README.md").write_text("<!-- summary -->\nold\n<!-- /summary -->\n")
    pages = []
    for number, (run, *expected) in enumerate(MACHINES):
        monkeypatch.setenv("FAIRLAB_RESULTS", str(tmp_path / f"machine {number}"))
        run()
        assert main(["scorecard", "--write"]) == 0
        found = {row.id: (row.profile, row.verdict, (row.at_quick or {}).get("ours")) for row in committed_rows()}
        assert [found["mean"], found["positive"]] == expected
        pages.append((committed_runs(), (toy / "REPRODUCTION.md").read_text()))
    first, empty, paper, smaller, *_ = pages
    assert empty == first and first[0]["toy/mean"]["platform"]
    assert smaller[0] == paper[0], "a smaller run renews no larger one"
    assert "| toy table-1 `mean` | 0.50 ± 0.10 | 0.55 (agrees) | 3 (differs) |" in paper[1]


@pytest.mark.parametrize(
    ("key", "evidence", "words", "origin"),
    [
        ("", "run", "exact", next(iter(ORIGINS))),
        (
            "stored: {outputs: ['table-1:rows']}",
            "stored outputs",
            "1 rest on outputs that the authors stored",
            [*ORIGINS][1],
        ),
        (
            "stored: {models: ['table-1:rows']}",
            "stored models",
            "1 rest on models that the authors stored",
            [*ORIGINS][1],
        ),
        ("counted: ['table-1:rows']", "counted data", "1 only count rows or columns of a data set", [*ORIGINS][-1]),
    ],
)
def test_exact_numbers_say_what_they_rest_on(toy, key, evidence, words, origin):
    publish()
    specify(toy, key)
    card = scorecard()
    assert (rows()["rows"].evidence, words in card.headline()) == (evidence, True)
    assert {each["origin"]: each["exact"] for each in origins(card)}[origin] == 1


@pytest.mark.parametrize(
    ("key", "source", "is_unsettled"),
    [
        ("", "real", True),
        ("", "surrogate", False),  # which is not judged
        ("stored: {models: [table-1]}", "real", True),
        ("stored: {outputs: [table-1]}", "real", False),
        ("fixed: ['*:mean']", "real", False),
    ],
)
def test_judged_draws_may_be_unsettled_whoever_trained_the_model_and_given_trials_never(toy, key, source, is_unsettled):
    specify(toy, key)
    experiment = fill(Experiment("toy/mean"))
    experiment.run.data[0]["source"] = source
    # Agrees with 0.50 ± 0.10; 0.8 twice, in a quarter of draws, does not.
    experiment.run.records[0]["values"] = [0.6, 0.8]
    mean = experiment.compare().rows[0]
    assert [mean.unsettled is not None, mean.is_unsettled, "unsettled" in mean.reason] == [is_unsettled] * 3


def edit(toy, name, old, new):
    """Change the specification of the toy experiment, or what its paper states."""
    replace_in(toy / "experiments" / "toy" / f"{name}.yaml", old, new)


def specify(toy, line):
    edit(toy, "mean", "title:", f"{line}\ntitle:")


def explain(toy, rows, why):
    edit(toy, "published", "    claims:", f"    differs: [{{rows: {rows}, why: {why}}}]\n    claims:")


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (
            "published",
            "    claims:",
            "    differs: [{rows: [meen], why: Another.}]\n    claims:",
            r"published.yaml:8: .*differs.*table-1 has no meen",
        ),
        ("published", "rows: [mean]", "rows: [positive]", r"published.yaml:9: .*claims.*table-1 has no positive"),
        ("published", "    values:", "    follows: ['row']\n    values:", "has no row"),
        ("mean", "size: [n]", "size: [n]\ncounted: ['table-1:row']", "counted: 'table-1:row' is not a table"),
    ],
)
def test_what_names_no_row_is_refused(toy, name, old, new, message):
    edit(toy, name, old, new)
    with pytest.raises(ValueError, match=message):
        scorecard()


@pytest.mark.parametrize(("pattern", "left"), [("[lost]", {"mean", "positive"}), ('["m*"]', {"positive"})])
def test_the_ending_has_the_table_and_what_no_reason_names(toy, capsys, pattern, left):
    publish(mean=3.0, holds=False)
    explain(toy, pattern, "Our mean is another one.")
    capsys.readouterr()
    assert main(["scorecard"]) == 0
    text = capsys.readouterr().out
    assert text.split()[:4] == ["exact", "differs", "fails", "not"]
    assert f"{len(left)} rows differ or fail without a reason" in text
    assert {row.id for row in unexplained(scorecard())} == left


REASON = (
    "smallest bound 1.021, large bound 2, largest at theta_1 = 0: 1,027; change -0.5; SenSR 5% to 6.1%; in 18 of 24."
)


def link(text, place, paper="fliptest"):
    return f"[{text}](../../experiments/{paper}/published.yaml#{place})"


def linked(place, ours, verdict="near", **more):
    """Return a row of FlipTest."""
    artefact, id = place.split(":")[:2]
    return row(id, verdict, **{"paper": "fliptest", "artefact": artefact, "published": 1.0, "ours": ours} | more)


@pytest.mark.parametrize(
    ("text", "place", "row", "expected"),
    [
        ("1,086", "section-5.3:women_to_men.f_plus", {"ours": 1218.6}, "1,219"),
        ("−1.4", "section-5.3:transparency.f_minus.work_experience", {"ours": -1.374}, "−1.4"),
        ("+0.00", "section-5.3:transparency.f_plus.hair_length", {"ours": 1.75}, "+1.75"),
        ("−1.4", "section-5.3:transparency.f_minus.work_experience", {"ours": -0.04}, "0.0"),
        ("30%", "section-5.3:hired_share.women", {"ours": 0.2987}, "30%"),  # a proportion
        ("0 to 1.00", "section-5.3:hired_share.women", {"ours": (0.5, 0.75)}, "0 to 1"),
        ("1", "section-5.3:hired_share.women", {"ours": None, "verdict": "not run"}, "not run"),
        ("1%", "section-5.3:hired_share.women:as_specified", {"ours": 0.3, "as_specified": 0.27}, "27%"),
        ("holds", "appendix-d:directions-agree", {"kind": "claim", "ours": "fails", "verdict": "fails"}, "fails"),
        ("fails", "figure-7:x", {"kind": "claim", "ours": "holds", "verdict": "holds"}, "holds"),
        ("fails", "figure-7:x", {"kind": "claim", "ours": "holds", "verdict": "holds", "unsettled": 0.04}, "holds"),
        (
            "holds",
            "figure-7:x",
            {"kind": "claim", "ours": "holds", "verdict": "holds", "unsettled": 0.4},
            "holds, unsettled",
        ),
        ("holds", "t:x", {"kind": "claim", "ours": "fails", "verdict": "fails", "paper": "my-paper-2027"}, "fails"),
        # What stands in a reason, after the words of the address.
        ("1", "table-1:x:smallest-bound", {"ours": 1.0, "reason": REASON}, "1.021"),
        ("1", "table-1:x:largest-at-theta_1-0", {"ours": 1.0, "reason": REASON}, "1,027"),
        ("1", "table-1:x:change", {"ours": 1.0, "reason": REASON}, "−0.5"),
        ("1", "table-1:x:SenSR", {"ours": 1.0, "reason": REASON}, "5% to 6.1%"),
        ("1", "table-1:x:in", {"ours": 1.0, "reason": REASON}, "18 of 24"),
    ],
)
def test_a_link_has_our_result_in_the_digits_of_the_text_that_stands_there(text, place, row, expected):
    before, after = (
        f"Before {link(said, place, row.get('paper', 'fliptest'))} and after." for said in (text, expected)
    )
    assert set_links(before, [linked(place, **row)]) == after


@pytest.mark.parametrize(
    ("text", "place", "error", "message"),
    [
        ("1", "section-5.3:no", KeyError, r"expected a link to a row .*published.yaml#section-5.3:no"),
        ("1", "section-5.3:x:as_specified", KeyError, r"expected a link to a row .*x:as_specified"),
        ("about a third", "section-5.3:x", ValueError, "expected a number such as"),
        *(
            ("1", f"section-5.3:x:{words}", KeyError, "one number after")
            for words in ("largest", "bound", "est-bound", "at")
        ),
    ],
)
def test_a_link_to_no_row_or_number_is_refused(text, place, error, message):
    with pytest.raises(error, match=message):
        set_links(link(text, place), [linked("section-5.3:x", 1.0, reason=REASON)])


@pytest.mark.parametrize(("people", "profiles"), [(["women"], "`paper`"), (["women", "men"], "`quick` and `paper`")])
def test_a_text_names_the_profiles_of_the_rows_that_it_links_to(people, profiles):
    rows = [
        linked(f"section-5.3:hired_share.{who}", 0.3, profile=profile)
        for who, profile in (("women", "paper"), ("men", "quick"))
    ]
    text = " ".join(link("30%", f"section-5.3:hired_share.{who}") for who in people)
    text += " The committed scorecard (profile `quick`, seed 0); `smoke` is smaller."
    assert set_links(text, rows) == text.replace("`quick`", profiles)


def number(id, ours, verdict="agrees", **more):
    return row(id, verdict, artefact="table-1", published=1.0, printed="1.0", ours=ours, **more)


def of_profiles(*profiles):
    return [number(f"x{k}", 1.0, profile=profile) for k, profile in enumerate(profiles)]


@pytest.mark.parametrize(
    ("committed", "ours", "moved", "counted"),
    [
        # what moved most comes first
        (
            [
                number("same", 1.00000012),
                number("little", 200.0),
                number("much", 0.01),
                number("verdict", 3.0, "exact"),
                number("interval", (0.0, 1.0), low=0.0, high=1.0),
            ],
            [
                number("same", 1.0),
                number("little", 220.0),
                number("much", 0.03),
                number("verdict", 3.0, "differs"),
                number("interval", (0.0, 2.0), low=0.0, high=2.0),
                number("new", 1.0),
            ],
            [
                "table-1:verdict  published 1.0, committed 3 (exact), here 3 (differs)",
                "table-1:much  published 1.0, committed 0.01 (agrees), here 0.03 (agrees)",
                "table-1:interval  published 1.0, committed [0, 1] (agrees), here [0, 2] (agrees)",
                "table-1:little  published 1.0, committed 200 (agrees), here 220 (agrees)",
            ],
            "4 of 5 rows are other than in the committed scorecard; not in it: 1",
        ),
        # rows that only became not comparable are counted alone, and those without a result come last
        (
            [number(name, 1.0) for name in ("gone", "same", "moved", "seconds")],
            [
                number("gone", None, "not run", reason="no label was found"),
                number("same", 1.0, "not comparable"),
                number("moved", 1.5, "not comparable"),
                number("seconds", 1.0),
            ],
            [
                "table-1:moved  published 1.0, committed 1 (agrees), here 1.5 (not comparable)",
                "table-1:gone  published 1.0, committed 1 (agrees), here no result (not run): no label was found",
            ],
            "2 of 4 rows are other than in the committed scorecard; same result, but not comparable because of the "
            "size of the run: 1",
        ),
        # another size is reported, and counted where only some rows are of one
        *(
            (
                of_profiles(*there),
                of_profiles(*[here] * len(there)),
                [],
                f"0 of {len(there)} rows are other than in {more}",
            )
            for here, there, more in (
                (
                    "smoke",
                    ["quick"],
                    "the committed scorecard, which is of another size (profile quick; here smoke)",
                ),
                ("quick", ["quick"], "the committed scorecard"),
                ("custom", ["quick"], "the committed scorecard"),
                (
                    "quick",
                    ["quick", "paper"],
                    "the committed scorecard; 1 there are of another size (profile paper; here quick)",
                ),
            )
        ),
    ],
)
def test_a_run_is_set_beside_the_committed_scorecard(committed, ours, moved, counted):
    assert beside(ours, committed) == [*moved, counted]
    assert len(beside(ours, committed, 1)) == len(moved[:1]) + 1


@pytest.mark.parametrize(
    ("given", "before"),
    [
        ({}, 0.7),
        ({"seed": 1}, 0.7),
        ({"n": 7}, 0.7),
        ({"profile": "paper"}, 0.5),
        ({"profile": "paper", "seed": 1}, 0.5),
    ],
)
def test_a_run_is_set_beside_the_committed_one_of_its_size(toy, given, before):
    committed = number("mean", 0.5, profile="paper", at_quick={"ours": 0.7})
    write_text(toy / "REPRODUCTION.json", Comparison([committed]).to_json())
    mean, *_ = fill(Experiment("toy/mean", **given)).compare().remarks
    assert f"committed {before} (agrees), here 0.55" in mean


def test_a_run_does_not_fail_for_a_committed_scorecard_of_another_version(toy):
    write_text(toy / "REPRODUCTION.json", "{}")
    unread, _ = fill(Experiment("toy/mean")).compare().remarks
    assert unread.startswith("not compared: the committed REPRODUCTION.json cannot be read")
    assert run_folder("toy/mean", "quick").exists()


@pytest.fixture
def committed(toy, monkeypatch):
    """A committed row, and a results folder whose name has a space."""
    monkeypatch.setenv("FAIRLAB_RESULTS", str(toy.parent / "my results"))
    write_text(toy / "REPRODUCTION.json", Comparison([number("mean", 0.5)]).to_json())


def test_a_run_ends_with_what_is_other_than_committed_and_where_it_is(committed):
    card = fill(Experiment("toy/mean", n=7)).compare()
    *moved, counted, sizes, stored = card.remarks
    assert counted.startswith("1 of 1 rows are other than in the committed scorecard at quick; not in it: ")
    assert sizes == "Its parameters beside those of quick: n 7, not 50."
    assert repr(card).splitlines()[: len(card.remarks)] == list(card.remarks)
    latest = place("toy/mean", "custom") / "latest"
    assert stored == f"toy/mean: done, see {latest}; all rows: fairlab scorecard '{latest}'"
    assert all(remark in card._repr_html_() for remark in moved)


def test_a_run_is_shown_by_its_folder_beside_the_committed_rows_or_another_run(toy, committed, capsys):
    add_experiment(toy, "other")
    given = (("mean", 7, 0.5), ("mean", 8, 0.6), ("other", 7, 0.5))
    first, second, other = (publish(mean=mean, name=f"toy/{name}", sizes={"n": n}) for name, n, mean in given)
    damaged = shutil.copytree(first, toy.parent / "damaged")
    (damaged / "claims.json").write_text("[]")
    unread = f"fairlab: {damaged} has no run that this version can read, perhaps one of an older version"
    mean = "table-1:mean  published 0.50 ± 0.10, {}, here 0.6 (not comparable)\n{} of {} rows are other than in the {}"
    beside_committed = mean.format("committed 0.5 (agrees)", 1, 1, "committed scorecard at quick")
    for arguments, status, said in (
        ([second.with_name("latest")], 0, beside_committed),
        ([second.parent], 0, beside_committed),
        ([second, first], 0, mean.format("other 0.5 (not comparable)", 1, 4, "other run, which has n 7")),
        ([damaged], 1, f"{unread} (claims.json: corrupted or changed since publication)\n"),
        ([second, "toy"], 2, "expected a run, two runs, or rows, found "),
        ([second, other], 2, "expected two runs of one experiment, found toy/mean and toy/other"),
        ([second, "--json"], 2, "RUN: expected no --json and no --profile beside it"),
        ([second, "--profile", "quick"], 2, "RUN: expected no --json and no --profile beside it"),
    ):
        assert main(["scorecard", *map(str, arguments)]) == status
        assert said in "".join(capsys.readouterr())
    assert {row.verdict for row in rows().values()} == {"not run"}, "they never enter the scorecard"


def test_the_command_writes_the_committed_scorecard_and_the_figure_and_table_of_the_readme(toy, results):
    publish()
    readme = toy / "README.md"
    readme.write_text("Before\n<!-- summary -->\nold\n<!-- /summary -->\nAfter\n")
    committed, own = ([folder / f"REPRODUCTION.{kind}" for kind in ("json", "md")] for folder in (toy, results))
    for call, written in (([], own), (["--write"], [*committed, toy / "figures" / "verdicts.svg"])):
        assert main(["scorecard", *call]) == 0
        assert [file.exists() for file in (*committed, *written)] == [bool(call)] * 2 + [True] * len(written)
    assert [file.read_text() for file in committed] == [file.read_text() for file in own]
    assert committed[1].read_text() == to_markdown(Comparison.from_json(committed[0].read_bytes()), committed_runs())
    assert readme.read_text() == f"Before\n<!-- summary -->\n\n{summary(scorecard())}\n<!-- /summary -->\nAfter\n"
    publish(mean=3.0)
    readme.unlink()
    assert main(["scorecard", "--write"]) != 0
    assert committed[0].read_text() == own[0].read_text(), "written as a whole, or not at all"


def test_numbers_are_counted_once_by_what_they_rest_on(toy):
    rows = [
        row("y", "differs", relative_difference=0.5, data="real"),
        row("z", "differs", relative_difference=-0.5, data="real"),
        row("e", "exact", relative_difference=0.0, data="real"),
        row("total", "exact", derived=True, data="real", relative_difference=0.0),
        row("s", "near", data="real", evidence="stored models", relative_difference=0.2),
        row("n", "exact", data="real", evidence="counted data", relative_difference=0.0),
        row("l", "surrogate", data="surrogate", relative_difference=9.0),
        row("d", "differs", data="generated", relative_difference=27.0, unsettled=0.5),
        row("i", "exact", data="real", reading="inferred", relative_difference=0.0),
        row("j", "near", data="generated", reading="inferred", relative_difference=0.2, unsettled=0.5),
        claim("c", "holds", unsettled=0.5, data="real"),
        claim("k", "holds", data="real", evidence="stored outputs"),
    ]
    card = Comparison(rows)
    names = ("numbers", "exact", "near", "differ", "unsettled", "median")
    assert [[each[name] for name in names] for each in origins(card)] == [
        [3, 1, 0, 2, 0, "50.0%"],
        [1, 0, 1, 0, 0, "20.0%"],
        [1, 0, 0, 0, 1, "28 times"],
        [1, 1, 0, 0, 0, ""],
    ]
    assert card.median_difference() == pytest.approx(0.35)  # of y, z, e and s
    parts = (
        "In 3 of the 4 groups of numbers below, more than half are off by over 10%: toy, own runs on real data (median",
        "(median 50.0%); toy, models",
        "Exact or agreeing are 1 of 3 (own runs on real data), 0 of 1 (models and",
        "Of the 2 claims, 1 holds, 1 unsettled. Of those that hold, 1 rest on models and",
    )
    assert [part for part in parts if part not in summary(card)] == []


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
    parts = (
        "Counted are 3 of 7 numbers. Left out: 2 surrogate (toy), 1 that follow",
        "1 with an inferred protocol",
        "Of the 2 that agree, 1 are p-values, of which only the side of 0.05 counts, and 1 are off by over 10%",
        "wider than a quarter of the published number for 1, than half of it for 1. Of the 1 claims, 1 hold",
    )
    assert text.startswith(parts[0])
    assert [part for part in parts if part not in text] == []


def test_what_follows_from_other_numbers_is_marked_by_its_table(toy):
    edit(toy, "published", "    values:", "    follows: ['ro*']\n    values:")
    assert [row.id for row in scorecard().rows if row.derived] == ["rows"]
