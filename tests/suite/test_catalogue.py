import pytest
import yaml
from toy_project import SPECIFICATION

from fairlab.suite.catalogue import read_specification, specification


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
        ({"size": {"n": ["table-1:men"]}}, "toy/bad: size: n: 'table-1:men' is not a table, figure or row"),
        ({"protocol": {"n_trials": 400}}, "protocol: no sizes: n_trials"),
    ],
)
def test_bad_specifications_are_refused(toy, change, message):
    content = {key: value for key, value in (yaml.safe_load(SPECIFICATION) | change).items() if value is not None}
    file = toy / "experiments" / "toy" / "bad.yaml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    with pytest.raises((ValueError, KeyError), match=message):
        read_specification(file, "toy/bad")
