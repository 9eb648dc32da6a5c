"""The scorecard: all published values and claims, compared with our best runs."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import pandas as pd

from fairlab.data.dataset import SOURCES
from fairlab.paths import project, write_text
from fairlab.suite.catalogue import experiment_names, selected, specification
from fairlab.suite.comparison import (
    BASES,
    COLUMNS,
    Comparison,
    Row,
    beside,
    compare,
    compare_artefact,
    not_run,
    off_most,
    render,
)
from fairlab.suite.links import write_links
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.run import CURRENT, LATEST, Run, UnreadableRunError, failure_file, place, run_folder
from fairlab.suite.verdicts import LABELS, OPEN

RANKED_PROFILES = ("paper", "quick", "smoke")  # the best first
NAME = "REPRODUCTION"
MEDIAN = "median difference"
MOST_ROWS = 12  # of those that are other than in the committed scorecard, where a run ends


def published_runs(profile: str | None = None, paper: str = "*") -> dict[str, Run]:
    """Return the best published run of every experiment (of a paper) that has one.

    Runs on other data are preferred to runs on surrogates, then larger profiles to smaller ones; `profile` restricts to
    one. Runs that cannot be read are left out; see `unreadable`.
    """
    readable = {name: [run for run in _runs(name, profile) if isinstance(run, Run)] for name in experiment_names(paper)}
    return {name: max(runs, key=lambda run: run.source() != "surrogate") for name, runs in readable.items() if runs}


def unreadable(profile: str | None = None) -> list[str]:
    """Return a message for each published run that cannot be read, such as one of an older version."""
    runs = [run for name in experiment_names() for run in _runs(name, profile)]
    return [str(run) for run in runs if isinstance(run, UnreadableRunError)]


def _runs(name, profile) -> Iterator[Run | UnreadableRunError]:
    """Yield the published runs of an experiment, the largest profile first, or why they cannot be read."""
    for one in RANKED_PROFILES if profile is None else (profile,):
        if (place(name, one) / CURRENT).exists():
            try:
                yield Run.read(run_folder(name, one))
            except UnreadableRunError as error:
                yield error


def scorecard(profile: str | None = None) -> Comparison:
    """Return one row per published value and claim of all papers.

    Parameters
    ----------
    profile : str or None
        Only runs of this profile; None takes the best available.
    """
    runs, writing = published_runs(profile), writers()
    rows = []
    for key in paper_keys():
        for artefact in load_paper(key).artefacts.values():
            names = writing.get((key, artefact.id), [])
            tables = [list(compare_artefact(artefact, runs[name])) for name in names if name in runs]
            if tables:
                rows += _merge(tables)
            else:
                reason = _why_not(names[0], profile) if names else "no experiment produces it yet"
                rows += not_run(key, artefact, reason)
    return Comparison(rows)


def writers() -> dict[tuple[str, str], list[str]]:
    """Return the experiments that write each table or figure, by paper and artefact id."""
    writing = {}
    for name in experiment_names():
        for artefact in specification(name).artefacts:
            writing.setdefault((specification(name).paper, artefact), []).append(name)
    return writing


def _merge(tables):
    """Merge the rows of several experiments that share a table or figure: for each number, the row that was run."""
    return [next((row for row in rows if row.verdict != "not run"), rows[0]) for rows in zip(*tables, strict=True)]


def _why_not(name, profile) -> str:
    """Return why an experiment has no run that can be read."""
    failures = {one: failure_file(name, one) for one in (RANKED_PROFILES if profile is None else (profile,))}
    texts = {one: file.read_text(encoding="utf-8") for one, file in failures.items() if file.exists()}
    reasons = [f"failed at {one}: {text.splitlines()[0]}" for one, text in texts.items()]
    reasons += map(str, _runs(name, profile))
    return next(iter(reasons), f"not run here yet: fairlab run {name}")


def committed_rows() -> tuple[Row, ...]:
    """Return the rows of the committed scorecard; none if the project has none yet."""
    file = project().root / f"{NAME}.json"
    return Comparison.read(file).rows if file.exists() else ()


def ending_of(run: Run, stored: Path | None = None, most: int | None = MOST_ROWS) -> list[str]:
    """Return what a run ends with: its rows that are other than in the committed scorecard, and where it is stored."""
    rows = compare(run).rows
    try:
        lines = beside(rows, committed_rows(), most)
    except ValueError:  # of another version; a run must not fail for it
        lines = [f"not compared: the committed {NAME}.json cannot be read; fairlab scorecard --write writes it anew"]
    if stored:
        link = stored.with_name(LATEST)
        where = project().short(link if link.exists() else stored)
        lines.append(f"{run.name}: done, see {where}; all rows: fairlab scorecard {where}")
    return lines


def table(card: Comparison) -> pd.DataFrame:
    """Count the verdicts per paper and in total, with the median difference."""
    cards = _by_paper(card)
    frame = pd.DataFrame({key: one.counts() for key, one in cards.items()}).T.reindex(columns=COLUMNS)
    medians = [one.median_difference() for one in cards.values()]
    texts = ["" if median is None else f"{median:.1%}" for median in medians]
    return frame.fillna(0).astype(int).rename_axis("paper").assign(**{MEDIAN: texts})


def _by_paper(card) -> dict[str, Comparison]:
    return {key: card.of(key) for key in dict.fromkeys(row.paper for row in card.rows)} | {"all": card}


def chosen(card: Comparison, names: Sequence[str]) -> list[Row]:
    """Return the rows of papers, or of tables and figures as in ``adf:table-4``; a KeyError suggests a known name."""
    known = dict.fromkeys(f"{row.paper}:{row.artefact}" for row in card.rows)
    named = selected(names, list(known), ":")
    return [row for row in card.rows if f"{row.paper}:{row.artefact}" in named]


def ending(card: Comparison) -> str:
    """Return the summary that ends a batch or the command: table of verdicts, next steps."""
    frame = table(card)
    frame = frame[[name for name in frame if name == MEDIAN or frame[name].any()]]
    parts = [frame.rename(columns=LABELS).replace(0, "·").to_string()]
    if lost := len(unexplained(card)):
        parts.append(f"{lost} rows differ or fail without a reason in experiments/<paper>/published.yaml (`differs`).")
    parts.append(
        f"Next: see all rows in {NAME}.json, reasons for differences in {NAME}.md (both in {project().results}); "
        "`fairlab scorecard PAPER` shows the rows of a paper; executed notebooks are in the results folder."
    )
    return "\n\n".join(parts)


def unexplained(card: Comparison) -> list[Row]:
    """Return the rows that differ or fail and have no reason in ``published.yaml``."""
    off = [row for row in card.rows if row.verdict in OPEN]
    return [row for row in off if not load_paper(row.paper).artefact(row.artefact).reasons([row.id])]


def reason_of(rows: Sequence[Row]) -> str:
    """Return why rows of a table or figure differ or fail, and a link to more, as Markdown; empty without a reason."""
    paper, artefact = rows[0].paper, rows[0].artefact
    reasons = load_paper(paper).artefact(artefact).reasons(row.id for row in rows if row.verdict in OPEN)
    notebooks = [f"[more](notebooks/{name}.ipynb)" for name in writers().get((paper, artefact), ())]
    return " ".join(reasons + notebooks[:1]) if reasons else ""


def to_markdown(card: Comparison, runs: dict[str, Run]) -> str:
    """Return the text of ``REPRODUCTION.md``, one page: table of verdicts, reasons for differences, runs."""
    return render(
        "reproduction.md",
        card=card,
        papers=_by_paper(card),
        artefacts=[(place, list(rows)) for place, rows in groupby(card.rows, key=attrgetter("paper", "artefact"))],
        runs=list(runs.values()),
        columns=COLUMNS,
        labels=LABELS,
        bases=BASES,
        open=OPEN,
        off_most=off_most,
        reason_of=reason_of,
        data_of=_data_of,
    )


def _data_of(runs) -> str:
    """Return the data behind some runs by its provenance, or "real"."""
    loads = sorted({load for run in runs for load in run.sources().items()})
    named = {source: [variant for variant, of in loads if of == source] for source in SOURCES[1:]}
    return "; ".join(f"{source}: {', '.join(names)}" for source, names in named.items() if names) or "real"


def write(card: Comparison, profile: str | None = None, *, publish: bool = False) -> list[Path]:
    """Write ``REPRODUCTION.json`` and ``REPRODUCTION.md`` to the results folder, and return the files written.

    Parameters
    ----------
    card : Comparison
        As `scorecard` returns it for `profile`.
    profile : str or None
    publish : bool
        Whether to write the two committed files, too, and the numbers that notebooks link to.
    """
    folders = [project().results, project().root] if publish else [project().results]
    written = {folder / name: text for folder in folders for name, text in written_files(card, profile).items()}
    for file, text in written.items():
        write_text(file, text)
    return [*written, *(write_links(card.rows) if publish else ())]


def written_files(card: Comparison, profile: str | None = None) -> dict[str, str]:
    """Return the content of ``REPRODUCTION.json`` and ``REPRODUCTION.md`` by their names."""
    return {f"{NAME}.json": card.to_json(), f"{NAME}.md": to_markdown(card, published_runs(profile))}
