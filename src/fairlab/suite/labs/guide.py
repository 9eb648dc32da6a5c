"""Pages generated from descriptions and notebooks: a teacher's guide to each lab, and the README for students."""

from collections.abc import Sequence

from fairlab.suite.labs.card import Card
from fairlab.suite.labs.masters import exercises, solved


def guide(card: Card, master, course: int) -> str:
    """Return the teacher's page of a lab: summary, time plan, points, common mistakes, rubrics."""
    graded = exercises(master)
    total = sum(exercise.points for exercise in graded)
    points = [
        f"| {exercise.name} | {exercise.points:g} | {'manually' if exercise.is_manual else 'by tests'} |"
        for exercise in graded
    ]
    mistakes = [f"| {m.test} | {m.what} | {m.message} |" for m in card.mistakes]
    texts = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell.source for cell in solved(master).cells}
    rubrics = [f"### {exercise.name}\n\n{texts[exercise.name]}" for exercise in graded if exercise.is_manual]
    parts = [
        description(card),
        "## Plan\n\n" + _list(card.time),
        f"## Points: {total:g}\n\n| cell | points | graded |\n|---|---|---|\n" + "\n".join(points),
        "## Common mistakes\n\n| test | mistake | message of the test |\n|---|---|---|\n" + "\n".join(mistakes),
    ]
    if rubrics:
        about = f"The numbers in the answers are for course {course}."
        parts.append("\n\n".join(["## Free-text answers", about, *rubrics]))
    return "\n\n".join(parts) + "\n"


def description(card: Card) -> str:
    """Return the summary of a lab, for students and teachers."""
    needs = f"the core packages and {', '.join(card.extras)}" if card.extras else "the core packages"
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
            "This needs a network for a few minutes; later steps do not.",
            "",
            "## Each lab",
            "",
            "```",
            "jupyter lab                      # then open the notebook of the lab",
            "fairlab labs check NOTEBOOK      # run the visible tests",
            "```",
            "",
            "* Write where it says `# YOUR CODE HERE` or *Your answer here*. The cell below an exercise tests it.",
            "  A failing test reports the expected value, the value found and, if known, the mistake that explains it.",
            "* Stuck? Open the hints one after the other: the first asks a question, the last nearly gives the answer.",
            "* Before you submit: *Kernel*, *Restart Kernel and Run All Cells*. What runs then runs for everybody.",
            "* Submit the notebook without renaming it. Hidden tests are run for grading.",
            "",
        ]
    )


def _list(texts) -> str:
    return "\n".join(f"* {text}" for text in texts)
