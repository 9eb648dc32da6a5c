"""The scorecard: everything the papers published, and how our best runs stand to it."""

import re
from pathlib import Path

from fairlab.paths import EXPERIMENTS, ROOT, results_folder, write_text
from fairlab.suite.catalogue import DEFAULT_PROFILE, experiment_names, specification
from fairlab.suite.comparison import Comparison, compare_artefact, not_run
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.run import Run, failure_file, run_folder
from fairlab.suite.verdicts import VERDICTS

RANKED_PROFILES = ("paper", "quick", "smoke")  # the best first
README_MARKS = ("<!-- scorecard -->", "<!-- end of scorecard -->")


def published_runs(profile: str | None = None) -> dict[str, Run]:
    """Return the best published run of every experiment that has one.

    Real data is better than a surrogate, then a larger profile than a smaller; `profile` restricts to one.
    """
    profiles = RANKED_PROFILES if profile is None else (profile,)
    best = {}
    for name in experiment_names():
        folders = [run_folder(name, p) for p in profiles]
        runs = [Run.read(folder) for folder in folders if (folder / "run.json").exists()]
        if runs:
            best[name] = max(runs, key=lambda run: (run.source() == "real", -RANKED_PROFILES.index(run.profile)))
    return best


def scorecard(profile: str | None = None) -> Comparison:
    """Return one row per published value and claim of all papers.

    Parameters
    ----------
    profile : str or None
        Only runs of this profile; None takes the best there is.
    """
    runs = published_runs(profile)
    writers = {}
    for name in experiment_names():
        for artefact in specification(name).artefacts:
            writers.setdefault((specification(name).paper, artefact), []).append(name)
    rows = []
    for key in paper_keys():
        for artefact in load_paper(key).artefacts.values():
            names = writers.get((key, artefact.id), [])
            ran = [name for name in names if name in runs]
            if ran:
                rows += _merge([list(compare_artefact(artefact, runs[name])) for name in ran])
            elif names:
                rows += not_run(key, artefact, _why_not(names[0], profile), names[0])
            else:
                rows += not_run(key, artefact, "no experiment writes it yet")
    return Comparison(tuple(rows))


def _merge(tables):
    """Join the rows of several experiments that share an artefact: of each number, the row that was run."""
    return [next((row for row in rows if row.verdict != "not run"), rows[0]) for rows in zip(*tables, strict=True)]


def _why_not(name, profile):
    for candidate in RANKED_PROFILES if profile is None else (profile,):
        failure = failure_file(name, candidate)
        if failure.exists():
            return f"failed at {candidate}: {failure.read_text(encoding='utf-8').splitlines()[0]}"
    return f"not run here yet: fairlab run {name}"


def explained_differences(paper: str) -> dict[str, set[str]]:
    """Return, per artefact, the ids that ``deviations.md`` of a paper explains.

    A section ``## table-1: ...`` explains the ids that stand in it in backticks.
    """
    file = EXPERIMENTS / paper / "deviations.md"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return {
        re.match(r"[\w.-]+", section)[0].rstrip(":"): set(re.findall(r"`([^`\s]+)`", section)) for section in sections
    }


def unexplained(card: Comparison) -> list:
    """Return the rows that differ or fail and are not explained in their paper's ``deviations.md``."""
    explained = {key: explained_differences(key) for key in paper_keys()}
    return [
        row
        for row in card.rows
        if row.verdict in ("differs", "fails") and row.id not in explained[row.paper].get(row.artefact, ())
    ]


def to_markdown(card: Comparison, runs: dict[str, Run]) -> str:
    """Return the scorecard of `runs` as the text of ``REPRODUCTION.md``."""
    parts = [
        "# Reproduction scorecard",
        "Written by `fairlab scorecard`. Every row is a number or a claim that a paper published; the verdicts "
        "follow the rules of `src/fairlab/suite/verdicts.py`. Where a row differs, `experiments/<paper>/deviations.md` "
        "says why.",
        head(card),
    ]
    for key in paper_keys():
        paper = load_paper(key)
        about = paper.about
        parts.append(f"## {about.title}\n\n{about.authors}, {about.venue}, doi:{about.doi}")
        rows = [row for row in card.rows if row.paper == key]
        pending = [id for id in paper.artefacts if all(row.experiment is None for row in rows if row.artefact == id)]
        for artefact in paper.artefacts.values():
            if artefact.id not in pending:
                parts.append(_artefact_markdown(artefact, [row for row in rows if row.artefact == artefact.id], runs))
        if pending:
            parts.append(f"Not written by any experiment yet: {', '.join(pending)}.")
    return "\n\n".join(parts) + "\n"


def head(card: Comparison) -> str:
    """Return the summary of the scorecard: verdicts per paper, as a Markdown table."""
    verdicts = [*VERDICTS[:-1], "holds", "fails", "not run"]
    lines = ["| paper | " + " | ".join(verdicts) + " |", "|---" * (len(verdicts) + 1) + "|"]
    for key in paper_keys():
        counts = Comparison(tuple(row for row in card.rows if row.paper == key)).counts()
        lines.append(f"| {key} | " + " | ".join(str(counts[verdict] or "·") for verdict in verdicts) + " |")
    note = "`holds` and `fails` are claims; `exact` to `differs` are numbers; the other columns count both."
    return "\n".join(lines) + f"\n\n{note}"


def write(card: Comparison, profile: str | None = None, *, publish: bool = False) -> list[Path]:
    """Write the scorecard to ``results/REPRODUCTION.md``, and return the files written.

    Parameters
    ----------
    card : Comparison
        As `scorecard` returns it for `profile`.
    profile : str or None
    publish : bool
        Whether to write the project's own ``REPRODUCTION.md`` and the summary in its README too, for a commit.
    """
    text = to_markdown(card, published_runs(profile))
    own, target, readme = results_folder() / "REPRODUCTION.md", ROOT / "REPRODUCTION.md", ROOT / "README.md"
    write_text(own, text)
    if not publish:
        return [own]
    write_text(target, text)
    start, end = README_MARKS
    before, _, rest = readme.read_text(encoding="utf-8").partition(start)
    _, _, after = rest.partition(end)
    if rest:
        write_text(readme, f"{before}{start}\n{head(card)}\n{end}{after}")
    return [own, target, readme]


def _artefact_markdown(artefact, rows, runs):
    names = list(dict.fromkeys(row.experiment for row in rows if row.experiment))
    commands = []
    for name in names:
        run = runs.get(name)
        profile = run.profile if run else DEFAULT_PROFILE
        took = f" ({run.about['seconds'] / 60:.1f} minutes)" if run else ""
        data = ", ".join(f"{variant} {source}" for variant, source in run.sources().items()) if run else "not run"
        about = f"; seed {run.seed}, fairlab {run.about['fairlab']} at commit {run.about['commit']}" if run else ""
        seed = f" --seed {run.seed}" if run and run.seed else ""
        command = f"fairlab run {name} --profile {profile}{seed}"
        commands.append(f"`{command}`{took}; data: {data or 'none'}{about}")
    lines = [f"### {artefact.id}: {artefact.title}", "\n".join(commands)]
    table = ["| id | published | ours | verdict | why |", "|---|---|---|---|---|"]
    for row in rows:
        ours = row.ours + (f" (as described: {row.as_described})" if row.as_described else "")
        cells = (row.id, row.published, ours, f"**{row.verdict}**", row.reason)
        table.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n\n".join([*lines, "\n".join(table)])
