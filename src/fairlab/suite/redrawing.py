"""The verb ``fairlab figures``: draw the committed figures anew from the numbers beside them, without a run."""

import sys
from pathlib import Path

from fairlab.checks import suggestion
from fairlab.paths import FIGURES
from fairlab.suite.artefacts import read_index
from fairlab.suite.drawing import Drawing


def add_figures(command) -> None:
    """Add the verb; `command` makes one from its name, function and help."""
    sub = command("figures", run, "draw the committed figures anew from the numbers beside them, without a run")
    sub.add_argument("names", nargs="*", metavar="PAPER[/FIGURE]", help="adf or adf/table-4 (default: all)")
    sub.add_argument(
        "--output", metavar="FOLDER", help="leave the committed ones alone and write there, a folder a paper"
    )


def run(options) -> int:
    """Draw the figures and say how many; 1 if some were left as they are."""
    names = chosen(options.names)
    left = [sentence for name in names if (sentence := redraw(name, options.output))]
    print("\n".join(left), file=sys.stderr, end="\n" * bool(left))
    print(f"{len(names) - len(left)} of {len(names)} figures drawn anew")
    return int(bool(left))


def chosen(names: list[str]) -> list[str]:
    """Return the figures, as ``<paper>/<figure>``, that `names` mean: papers or figures; all if there are none.

    Raises
    ------
    KeyError
        For a name that is neither.
    """
    known = [
        f"{index.parent.name}/{stem}"
        for index in sorted(FIGURES.glob("*/index.json"))
        for stem in read_index(index.parent)
    ]
    papers = list(dict.fromkeys(name.partition("/")[0] for name in known))
    for name in names:
        if name not in known and name not in papers:
            of_paper = [one for one in known if one.partition("/")[0] == name.partition("/")[0]]
            raise KeyError(f"no committed figure or paper with figures {name!r}{suggestion(name, of_paper or papers)}")
    return [name for name in known if not names or name in names or name.partition("/")[0] in names]


def redraw(name: str, output: str | None = None) -> str:
    """Draw a committed figure from its numbers, in place or below the folder `output`; return why not, if it cannot."""
    paper, _, stem = name.partition("/")
    entry = read_index(FIGURES / paper)[stem]
    folder = FIGURES / paper if output is None else Path(output) / paper
    folder.mkdir(parents=True, exist_ok=True)
    try:
        Drawing.read(entry).paint(FIGURES / paper / stem, folder / stem, salt=entry["experiment"])
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        return f"{name}: left as it is: {message}"
    return ""
