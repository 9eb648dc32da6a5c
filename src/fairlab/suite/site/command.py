"""The verb ``fairlab site``."""

from importlib.util import find_spec

from fairlab.checks import MissingExtraError

NEEDED = ("sphinx", "myst_nb", "pydata_sphinx_theme", "numpydoc", "sphinx_design", "latex2mathml", "nbgrader")


def add_site(command) -> None:
    """Add the verb; `command` makes one from its name, function and help."""
    sub = command("site", run, "build the site: scorecard, papers, notebooks, gallery, guide, reference")
    sub.add_argument("--out", default="site", metavar="FOLDER", help="a new folder or an earlier site (default: site)")
    sub.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")


def run(options) -> None:
    """Build the site and print a summary.

    Raises
    ------
    MissingExtraError
        If a package needed for building is not installed; the message names it.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise MissingExtraError(f"the site needs {', '.join(missing)}: pip install 'fairlab[site,labs]'")
    from fairlab.suite.site.building import build

    print(build(options.out, n_jobs=options.jobs))
