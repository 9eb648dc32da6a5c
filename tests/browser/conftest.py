"""A built site, and a browser to open it; tests are skipped where there is no browser."""

import os
import shutil
from pathlib import Path

import pytest

from fairlab.data.project import project
from fairlab.suite.comparison import Comparison

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site: ``FAIRLAB_SITE``, which was built before, or else built here from committed files."""
    if built := os.environ.get("FAIRLAB_SITE"):
        return Path(built)
    pytest.importorskip("sphinx", reason="Sphinx is not installed; it comes with fairlab[site]")
    from fairlab.site.building import build

    folder = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRLAB_RESULTS", str(folder / "none"))
        return build(folder / "site")


@pytest.fixture(scope="session")
def rows():
    """The rows of the scorecard that the site shows."""
    return Comparison.from_json((project().root / "REPRODUCTION.json").read_bytes()).rows


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed; `make site-test` installs it"
    )
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no browser on the path: expected one of {', '.join(BROWSERS)}")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser):
    """A new window."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(120_000)  # milliseconds, for busy machines
    yield context.new_page()
    context.close()
