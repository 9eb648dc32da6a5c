"""What the README and its page on models show is what happens."""

import re
import tomllib

from fairlab.cli import main
from fairlab.paths import project

ROOT = project().root

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "your_model.md").read_text(encoding="utf-8")


def test_the_command_that_it_shows_has_these_options(capsys):
    [command] = re.findall(r"^fairlab audit (.*)$", PAGE, flags=re.MULTILINE)
    assert main(["audit", "--help"]) == 0
    said = capsys.readouterr().out
    assert all(option in said for option in re.findall(r"--[a-z-]+", command))


def test_it_fits_one_screen_and_a_half():
    assert len(README.splitlines()) <= 93


def test_its_links_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / target).exists(), target


def test_its_badges_are_true():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pythons = [name.rpartition(" ")[2] for name in declared["classifiers"] if re.search(r":: 3\.\d+$", name)]
    [status] = (name.rpartition(" ")[2].lower() for name in declared["classifiers"] if name.startswith("Development"))
    facts = {"licence": declared["license"], "Python": f"{pythons[0]} to {pythons[-1]}", "status": status}
    assert (ROOT / "src" / "fairlab" / "py.typed").exists()
    assert "mypy" in (ROOT / "Makefile").read_text(encoding="utf-8")
    texts = re.findall(r"<text [^>]*>([^<]+)<", (ROOT / "docs/_static/badges.svg").read_text(encoding="utf-8"))
    assert dict(zip(texts[::2], texts[1::2], strict=True)) == facts | {"types": "checked by mypy"}
    for name, fact in facts.items():
        assert f"{name} {fact}".lower() in README.lower()
