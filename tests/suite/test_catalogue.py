import pytest
import yaml
from toy_project import SPECIFICATION

from fairlab.suite.catalogue import read_specification, specification


def test_unknown_names_list_what_exists(toy):
    with pytest.raises(KeyError, match=r"did you mean 'toy/mean'"):
        specification("toy/means")
    with pytest.raises(KeyError, match="smoke, quick, paper"):
        specification("toy/mean").parameters("paperr")
    with pytest.raises(TypeError, match=r"did you mean 'n_trials'"):
        specification("toy/mean").check_parameters(["n_trial"])


def test_other_size(toy):
    spec = specification("toy/mean")
    assert spec.other_size(spec.parameters("smoke"), "table-1", "mean") == "n 10 instead of 50"
    assert spec.other_size(spec.parameters("quick"), "table-1", "mean") == ""


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
    file.write_text(SPECIFICATION.replace("size: [n]", f"size: {{n: {patterns}}}"))
    spec = specification("toy/mean")
    smoke = spec.parameters("smoke")
    rows = ("mean", "rows", "lost", "positive")
    assert {id for id in rows if spec.other_size(smoke, "table-1", id)} == dependent


def test_the_paper_profile_may_be_smaller_than_the_protocol(toy):
    file = toy / "experiments" / "toy" / "mean.yaml"
    file.write_text(SPECIFICATION + "protocol: {n: 400}\n")
    spec = specification("toy/mean")
    assert spec.other_size(spec.parameters("paper"), "table-1", "mean") == "n 50 instead of 400"
    file.write_text(SPECIFICATION + "protocol: {n_trials: 400}\n")
    with pytest.raises(ValueError, match="protocol: no sizes: n_trials"):
        specification("toy/mean")


def test_a_size_of_no_row_is_refused(toy):
    file = toy / "experiments" / "toy" / "mean.yaml"
    file.write_text(SPECIFICATION.replace("size: [n]", 'size: {n: ["table-1:men"]}'))
    with pytest.raises(ValueError, match=r"toy/mean: size: n: 'table-1:men' is not a table, figure or row"):
        specification("toy/mean")


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
    ],
)
def test_bad_specifications_are_refused(toy, change, message):
    content = {key: value for key, value in (yaml.safe_load(SPECIFICATION) | change).items() if value is not None}
    file = toy / "experiments" / "toy" / "bad.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    with pytest.raises(ValueError, match=message):
        read_specification(file, "toy/bad")


def test_an_unknown_artefact_is_refused(toy):
    file = toy / "experiments" / "toy" / "bad.yaml"
    file.write_text(SPECIFICATION.replace("figure-1", "figure-9"))
    with pytest.raises(KeyError, match="no table or figure 'figure-9'"):
        read_specification(file, "toy/bad")
