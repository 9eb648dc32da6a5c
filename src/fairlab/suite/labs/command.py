"""``fairlab labs list | build | zip | check``."""

from fairlab.suite.labs.card import card, cards
from fairlab.suite.labs.masters import exercises, read

OF_PROJECT = ("list", "build", "zip")  # what needs the masters; `check` works wherever the library is


def add_verbs(verbs) -> None:
    """Add the verbs and their arguments to the subparsers of ``labs``."""
    for verb, help in (
        ("list", "list the labs: minutes, points, data"),
        ("build", "build a course: notebooks for students, for nbgrader, and with solutions"),
        ("zip", "write one file per lab for a learning platform"),
        ("check", "run the visible tests on a notebook"),
    ):
        sub = verbs.add_parser(verb, help=help, description=help)
        sub.set_defaults(command=run, verb=verb, of_project=verb in OF_PROJECT)
        if verb in ("build", "zip"):
            sub.add_argument("labs", nargs="*", metavar="LAB", help="number or name (default: all)")
            sub.add_argument("--out", required=True, metavar="DIR", help="a new folder")
            number = "course number: 0 (default) gives the data that the guides quote, any other number draws new data"
            sub.add_argument("--seed", type=int, default=0, metavar="N", help=number)
        if verb == "check":
            sub.add_argument("notebook", metavar="NOTEBOOK", help="notebook of a lab")


def run(options) -> int:
    """Run one verb and return its exit status; of ``check``, 1 if a test fails."""
    if options.verb == "list":
        print(_listing())
        return 0
    if options.verb == "check":
        from fairlab.suite.labs.checking import as_text, check

        lines = check(options.notebook)
        print(as_text(lines))
        return int(any(line.state in ("not yet", "error") for line in lines))
    from fairlab.suite.labs.course import build, zip_course

    chosen = [card(name) for name in options.labs] or list(cards())
    if options.verb == "build":
        folder = build(options.out, course=options.seed, labs=chosen)
        print(f"{len(chosen)} labs: {folder}/students, {folder}/course (nbgrader), {folder}/solved")
    else:
        print("\n".join(map(str, zip_course(options.out, course=options.seed, labs=chosen))))
    return 0


def _listing() -> str:
    blocks = []
    for lab in cards():
        points = sum(exercise.points for exercise in exercises(read(lab.notebook)))
        needs = f", needs {', '.join(lab.extras)}" if lab.extras else ""
        blocks.append(
            f"{lab.number}. {lab.title} ({lab.key}; {lab.minutes} minutes, {points:g} points{needs})\n   {lab.idea}"
        )
    return "\n".join(blocks)
