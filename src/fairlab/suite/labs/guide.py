"""Pages made from cards and masters: a teacher's guide to each lab, and what students read first."""

from collections.abc import Sequence

from fairlab.suite.labs.card import Card
from fairlab.suite.labs.masters import exercises, solved


def guide(card: Card, master, course: int) -> str:
    """Return the teacher's page of a lab: card, plan of the minutes, points, common mistakes, rubrics."""
    graded = exercises(master)
    total = sum(exercise.points for exercise in graded)
    points = [
        f"| {exercise.name} | {exercise.points:g} | {'by hand' if exercise.by_hand else 'by tests'} |"
        for exercise in graded
    ]
    mistakes = [f"| {m.test} | {m.what} | {m.message} |" for m in card.mistakes]
    texts = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source for cell in solved(master).cells}
    rubrics = [f"### {exercise.name}\n\n{texts[exercise.name]}" for exercise in graded if exercise.by_hand]
    parts = [
        description(card),
        "## Plan\n\n" + _list(card.time),
        f"## Points: {total:g}\n\n| cell | points | graded |\n|---|---|---|\n" + "\n".join(points),
        "## Common mistakes\n\n| test | what is done | what the test says |\n|---|---|---|\n" + "\n".join(mistakes),
    ]
    if rubrics:
        about = f"Numbers in the answers are those of course {course}."
        parts.append("\n\n".join(["## Free answers", about, *rubrics]))
    return "\n\n".join(parts) + "\n"


def description(card: Card) -> str:
    """Return what a card says to everybody."""
    needs = f"the light installation and {', '.join(card.extras)}" if card.extras else "the light installation"
    return "\n\n".join(
        [
            f"# Lab {card.number}: {card.title}",
            card.idea,
            "**You will learn** to\n\n" + _list(card.aims),
            "**You should know**\n\n" + _list(card.prerequisites),
            f"**Minutes** {card.minutes}. **Data** {card.data} **Paper** {card.paper} **Needs** {needs}.",
        ]
    )


def reading(labs: Sequence[Card], *, alone: bool = False) -> str:
    """Return the README of the folder that students get.

    Parameters
    ----------
    labs : sequence of Card
    alone : bool
        Whether the notebook of the lab, which then is one, stands beside it, and not in a folder of the lab's name.
    """
    places = [lab.notebook.name if alone else f"{lab.assignment}/{lab.notebook.name}" for lab in labs]
    rows = [
        f"| {lab.number} | {lab.title} | {lab.minutes} | `{place}` |" for lab, place in zip(labs, places, strict=True)
    ]
    return "\n".join(
        [
            "# Labs on testing models for fairness",
            "",
            "| lab | title | minutes | notebook |",
            "|---|---|---|---|",
            *rows,
            "",
            "## Once",
            "",
            "You need Python 3.11, 3.12 or 3.13. In a terminal, in the folder of this file:",
            "",
            "```",
            "python -m venv .venv",
            "source .venv/bin/activate        # on Windows: .venv\\Scripts\\activate",
            "python -m pip install -r requirements-labs.txt",
            "```",
            "",
            "That needs a network, for a few minutes. Nothing after it does.",
            "",
            "## Each lab",
            "",
            "```",
            "jupyter lab                      # then open the notebook of the lab",
            "fairlab labs check NOTEBOOK      # what the tests that you have say",
            "```",
            "",
            "* Write where it says `# YOUR CODE HERE` or *Your answer here*. The cell below an exercise tests it.",
            "  A test that fails says what it expected, what it found and, if it knows it, which mistake gives that.",
            "* Stuck? Open the hints one after the other: the first asks a question, the last nearly gives the answer.",
            "* Before you hand in: *Kernel*, *Restart Kernel and Run All Cells*. What runs then runs for everybody.",
            "* Hand in the notebook under its own name. More tests than you have are run when it is graded.",
            "",
        ]
    )


def _list(texts) -> str:
    return "\n".join(f"* {text}" for text in texts)
