"""What the README and its page on models show is what happens."""

import re

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
    assert len(README.splitlines()) <= 88


def test_its_links_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / target).exists(), target
