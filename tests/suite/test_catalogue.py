"""What papers and experiments state in their files."""

import numpy as np
import pytest
import yaml
from toy_project import SPECIFICATION

from fairlab.paths import write_text
from fairlab.suite.catalogue import other_notebooks, specification
from fairlab.suite.links import changed_notebooks
from fairlab.suite.published import half_step, read_paper
from fairlab.suite.verdicts import Ours, judge


def test_copies_that_jupyterlab_keeps_are_no_notebooks(toy):
    link = "[1](../../experiments/toy/published.yaml#table-9:gone)"
    for name, text in {"your_model": "", ".ipynb_checkpoints/your_model-checkpoint": link, "labs/berkeley": ""}.items():
        write_text(toy / "notebooks" / f"{name}.ipynb", text)
    assert (other_notebooks(), changed_notebooks([])) == (["your_model"], {})


def test_published_digits_are_kept(tmp_path):
    file = tmp_path / "published.yaml"
    file.write_text(
        "paper: {key: k, title: t, authors: a, venue: v, doi: d}\n"
        "artefacts:\n"
        "  - {id: t, title: t, data: [], protocol: p, values: [\n"
        "      {id: a, value: 0.070, std: 0.010, kind: statistic, exact: true},\n"
        "      {id: b, value: 5.6e-12, kind: p-value},\n"
        "      {id: c, low: 0.10, high: 0.20, kind: interval},\n"
        "      {id: d, value: 12, kind: count, impossible: see my-paper-2027/coin2}]}\n"
    )
    values = read_paper(file).artefacts["t"].values
    assert [values[id].printed for id in "abcd"] == ["0.070 ± 0.010", "5.6e-12", "[0.10, 0.20]", "12"]
    assert [half_step(values[id].printed_value) for id in "ab"] == pytest.approx([0.0005, 5e-14], rel=1e-6, abs=0)
    assert [judge(values["a"], Ours(np.array([own])))[0] == "exact" for own in (0.0704, 0.0706)] == [True, False]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{id: a, value: 1, kind: number}", r"published.yaml:2: .*kind: expected 'count'"),
        ("{id: a, kind: count}", r"published.yaml:2: .*a: expected value, found None"),
        ("{id: a, low: 2, high: 1, kind: interval}", "low 2 above high 1"),
        ("{id: a, value: 1, kind: count, vaule: 2}", "vaule: unknown key 'vaule'; did you mean 'value'"),
        ("{id: a, value: .inf, kind: count}", "expected .*a finite number"),
        ("{id: a, value: 1, kind: count, impossible: ''}", "impossible: expected text like .*, found ''"),
        ("{id: a, value: 1, kind: count, impossible: too few}", "impossible: expected text like .*, found 'too few'"),
        ("{id: a, value: 1, kind: count, impossible: true}", "impossible: expected text, found True"),
        (
            "{id: a, value: 1, kind: count, setting: true, inferred: true}",
            "setting: a: a fixed parameter cannot be impossible, single_run or inferred, too",
        ),
        ("{id: a, value: 1, std: 2, kind: count, single_run: true}", "expected one number without std of a single run"),
        ("{id: a, value: 1, kind: count}, {id: a, value: 1, kind: count}", "the id 'a' occurs twice"),
        ("{kind: count, value: 1}", r"published.yaml:2: artefacts > number 1 > values > number 1: misses id"),
        (
            "{id: a, value: true, kind: count}",
            r"published.yaml:2: .*value: expected a number or an integer, found True",
        ),
        ("{id: a, value: 1, n: few, kind: count}", "n: expected an integer, found 'few'"),
        *(
            (f"{{{entry}, value: 0.03, kind: std}}", "expected an id that ends in .std, and n of 2 or more")
            for entry in ("id: x.std", "id: x.std, n: 1", "id: x, n: 10")
        ),
        ("{id: a, id: b}", "published.yaml:2: not YAML: key 'id' is already in line 2"),
        ("{id: a", r"published.yaml:2: not YAML: "),
        ("{[]: 1}", "published.yaml:2: not YAML: expected text as a key"),
        ("[" * 3000 + "]" * 3000, "published.yaml:2: not YAML: nested more than 30 deep"),
    ],
)
def test_bad_published_files_are_refused(tmp_path, entry, message):
    file = tmp_path / "published.yaml"
    file.write_text(
        "paper: {key: k, title: t, authors: a, venue: v, doi: d}\n"
        f"artefacts: [{{id: t, title: t, data: [], protocol: p, values: [{entry}]}}]\n"
    )
    with pytest.raises(ValueError, match=message):
        read_paper(file)


@pytest.mark.parametrize(
    ("patterns", "dependent"),
    [
        ("[table-1]", {"mean", "rows", "lost", "positive"}),
        ("[figure-1]", set()),
        ('["table-1:mean", "*:lo*"]', {"mean", "lost"}),
        ('["*"]', {"mean", "rows", "lost", "positive"}),
    ],
)
def test_a_size_may_matter_to_some_rows_only(toy, patterns, dependent):
    file = toy / "experiments" / "toy" / "mean.yaml"
    file.write_text(SPECIFICATION.replace("size: [n]", f"size: {{n: {patterns}}}") + "protocol: {n: 400}\n")
    spec = specification("toy/mean")
    said = {id: spec.other_size(spec.parameters("paper"), "table-1", id) for id in ("mean", "rows", "lost", "positive")}
    assert {id: text for id, text in said.items() if text} == dict.fromkeys(dependent, "n 50 instead of 400")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"artefact": []}, r"bad.yaml:\d+: artefact: unknown key 'artefact'; did you mean 'artefacts'"),
        ({"title": None}, "the document: misses title"),
        ({"size": ["m"]}, r"bad.yaml:\d+: size: no parameters of the profiles: m"),
        ({"profiles": {"quick": {}}}, "profiles: misses smoke; misses paper"),
        (
            {"profiles": {"smoke": {"n": 1}, "quick": {"n": 1}, "paper": {}}, "size": []},
            "has the parameters , quick n",
        ),
        ({"profiles": {p: {"seed": 1} for p in ("smoke", "quick", "paper")}, "size": []}, "seed may not be"),
        ({"artefacts": ["table-1", "figure-9"]}, "no table or figure 'figure-9'"),
        ({"size": {"n": ["table-1:men"]}}, "toy/bad.yaml: n: 'table-1:men' is not a table, figure or row"),
        ({"protocol": {"n_trials": 400}}, "protocol: no sizes: n_trials"),
        ({"bounds": {"m": [1]}}, r"bad.yaml:\d+: bounds: no parameters of the profiles: m"),
    ],
)
def test_bad_specifications_are_refused(toy, change, message):
    content = {key: value for key, value in (yaml.safe_load(SPECIFICATION) | change).items() if value is not None}
    (toy / "experiments" / "toy" / "bad.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    with pytest.raises((ValueError, KeyError), match=message):
        specification("toy/bad")


COUNTS = """
bounds: {{n_splits: [2, 10], sizes: [2]}}
profiles:
  smoke: {0}
  quick: {0}
  paper: {{n: 50, n_splits: 10, rate: 1, n_more: 3, n_exact: null, sizes: [4, 16], name: a}}
""".format("{n: 10, n_splits: 2, rate: 0.1, n_more: 0, n_exact: 20, sizes: [4], name: a}")


@pytest.fixture
def counts(toy):
    general = SPECIFICATION.partition("profiles:")[0]
    (toy / "experiments" / "toy" / "counts.yaml").write_text(general + COUNTS)
    return specification("toy/counts")


@pytest.mark.parametrize(
    "given",
    [
        {"n": 1, "n_splits": 10, "rate": 2, "n_more": 0},
        {"n_exact": None, "sizes": [16, 2], "name": "b"},
        {"n_exact": 1, "rate": 1e-3},
    ],
)
def test_parameters_may_have_any_value_of_their_kind(counts, given):
    assert counts.checked(given) == given
    assert counts.checked({"n": 3.0}) == {"n": 3}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n": 0}, "n: expected a positive integer, found 0"),
        ({"n": 2.5}, "n: expected a positive integer, found 2.5"),
        ({"n": "all"}, "n: expected a positive integer, found 'all'"),
        ({"n": None}, "n: expected a positive integer, found None"),
        ({"n": [3]}, r"n: expected a positive integer, found \[3\]"),
        ({"n_more": -1}, "n_more: expected an integer, at least 0, found -1"),
        ({"n_splits": 1}, "n_splits: expected an integer from 2 to 10, found 1"),
        ({"n_splits": 11}, "n_splits: expected an integer from 2 to 10, found 11"),
        ({"rate": 0}, "rate: expected a finite number above 0, found 0"),
        ({"sizes": 4}, r"sizes: expected a list such as \[4, 16\], found 4"),
        ({"sizes": []}, r"sizes: expected a list such as \[4, 16\], found \[\]"),
        ({"sizes": [4, 1]}, "sizes: expected an integer, at least 2, found 1"),
    ],
)
def test_parameters_out_of_bounds_are_refused(counts, given, message):
    with pytest.raises(ValueError, match=message):
        counts.checked(given)
