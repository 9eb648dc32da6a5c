"""The scorecard: all published values and claims, compared with our best runs."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import pandas as pd

from fairlab.data.dataset import SOURCES
from fairlab.paths import project, write_text
from fairlab.suite.catalogue import experiment_names, selected, specification
from fairlab.suite.comparison import BASES, COLUMNS, Comparison, Row, compare_artefact, not_run
from fairlab.suite.deviations import sections, unexplained
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.run import CURRENT, Run, UnreadableRunError, failure_file, place, run_folder
from fairlab.suite.verdicts import LABELS, OPEN

RANKED_PROFILES = ("paper", "quick", "smoke")  # the best first
NAME = "REPRODUCTION"
MEDIAN = "median difference"
NOTE = (
    "Numbers are `exact` to `differs`, claims `holds` and `fails`; the other columns are counted separately. "
    "`inferred` are rows whose protocol was inferred from the published values and that do not differ; those that "
    "differ are under `differs` and `fails`. The median is of the absolute relative differences of all numbers from "
    "`exact` to `differs`."
)


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
            ran = [name for name in names if name in runs]
            if ran:
                rows += _merge([list(compare_artefact(artefact, runs[name])) for name in ran])
            elif names:
                rows += not_run(key, artefact, _why_not(names[0], profile), names[0])
            else:
                rows += not_run(key, artefact, "no experiment produces it yet")
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


def _why_not(name, profile):
    for candidate in RANKED_PROFILES if profile is None else (profile,):
        failure = failure_file(name, candidate)
        if failure.exists():
            return f"failed at {candidate}: {failure.read_text(encoding='utf-8').splitlines()[0]}"
    for run in _runs(name, profile):
        return str(run)
    return f"not run here yet: fairlab run {name}"


def table(card: Comparison) -> pd.DataFrame:
    """Count the verdicts per paper and in total, with the median difference."""
    cards = _by_paper(card)
    frame = pd.DataFrame({key: one.counts() for key, one in cards.items()}).T.reindex(columns=COLUMNS)
    medians = [one.median_difference() for one in cards.values()]
    texts = ["" if median is None else f"{median:.1%}" for median in medians]
    return frame.fillna(0).astype(int).rename_axis("paper").assign(**{MEDIAN: texts})


def bases_table(card: Comparison) -> pd.DataFrame:
    """Count what the exact numbers of each paper rest on, inferred ones left out."""
    frame = pd.DataFrame({key: one.bases() for key, one in _by_paper(card).items()}, index=list(BASES)).T
    return frame.fillna(0).astype(int).rename_axis("exact numbers of").rename(columns=BASES)


def _by_paper(card) -> dict[str, Comparison]:
    return {key: card.of(key) for key in dict.fromkeys(row.paper for row in card.rows)} | {"all": card}


def head(card: Comparison) -> str:
    """Return the headline, the table of verdicts and that of what the exact numbers rest on, as Markdown."""
    verdicts = _markdown(table(card).rename(columns=LABELS))
    return f"{card.headline()}.\n\n{verdicts}\n\n{NOTE}\n\n{_markdown(bases_table(card))}"


def _markdown(frame) -> str:
    """Return counts as a table in Markdown, with dots for zeros."""
    rows = [[key, *(cell or "·" for cell in row)] for key, row in frame.T.items()]
    return markdown_table([frame.index.name, *frame], rows)


def markdown_table(columns: Sequence[str], rows: Iterable[Iterable]) -> str:
    """Return a table in Markdown."""
    head, *lines = (f"| {' | '.join(map(str, row))} |" for row in (columns, *rows))
    return "\n".join([head, "|---" * len(columns) + "|", *lines])


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
        parts.append(f"{lost} rows differ or fail without an entry in experiments/<paper>/deviations.md.")
    parts.append(
        f"Next: see all rows in {NAME}.json, reasons for differences in {NAME}.md (both in {project().results}); "
        "`fairlab scorecard PAPER` shows the rows of a paper; executed notebooks are in the results folder."
    )
    return "\n\n".join(parts)


def to_markdown(card: Comparison, runs: dict[str, Run]) -> str:
    """Return the text of ``REPRODUCTION.md``, one page: table of verdicts, reasons for differences, runs."""
    parts = [
        "# Reproduction scorecard",
        f"Written by `fairlab scorecard`. [{NAME}.json]({NAME}.json) has a row for every number and claim that a paper "
        "published; the verdicts follow the rules of [verdicts.py](src/fairlab/suite/verdicts.py).",
        head(card),
        "## Differences and reasons",
        _differences(card),
        "## Runs",
        _provenance(runs),
    ]
    return "\n\n".join(parts) + "\n"


def _differences(card) -> str:
    lines = []
    for (key, artefact), group in groupby(card.rows, key=attrgetter("paper", "artefact")):
        rows = list(group)
        numbers, claims = ([row for row in rows if row.verdict == verdict] for verdict in OPEN)
        if not numbers and not claims:
            continue
        n_numbers = sum(row.kind == "number" for row in rows)
        differ = f"{len(numbers)} of {n_numbers}" if numbers else "·"
        worst = max(numbers, key=lambda row: abs(row.relative_difference or 0), default=None)
        farthest = f"`{worst.id}` {worst.difference}".strip() if worst else f"`{claims[0].id}`"
        known = sections(key).get(artefact)
        why = f"{known.summary} [more]({known.link})" if known else "not explained yet"
        lines.append([f"{key} {artefact}", differ, len(claims) or "·", farthest, why])
    columns = ["table or figure", "differs", "fails", "largest difference", "reason"]
    return markdown_table(columns, lines) if lines else "No row differs or fails."


def _provenance(runs) -> str:
    lines = []
    for key in dict.fromkeys(run.paper for run in runs.values()):
        own = [run for run in runs.values() if run.paper == key]
        minutes = sum(run.about.get("seconds", 0) for run in own) / 60
        loads = sorted({load for run in own for load in run.sources().items()})
        named = {source: [variant for variant, of in loads if of == source] for source in SOURCES[1:]}
        data = "; ".join(f"{source}: {', '.join(names)}" for source, names in named.items() if names) or "real"
        line = [key, len(own), _several(run.profile for run in own), f"{minutes:.0f}", data]
        lines.append([*line, _several(run.seed for run in own), _several(run.about.get("commit") for run in own)])
    columns = ["paper", "experiments", "profile", "minutes", "data", "seed", "commit"]
    return markdown_table(columns, lines) if runs else "Not run yet."


def _several(values) -> str:
    return ", ".join(sorted({str(value) for value in values}))


def write(card: Comparison, profile: str | None = None, *, publish: bool = False) -> list[Path]:
    """Write ``REPRODUCTION.json`` and ``REPRODUCTION.md`` to the results folder, and return the files written.

    Parameters
    ----------
    card : Comparison
        As `scorecard` returns it for `profile`.
    profile : str or None
    publish : bool
        Whether to write the two committed files, too.
    """
    folders = [project().results, project().root] if publish else [project().results]
    written = {folder / name: text for folder in folders for name, text in written_files(card, profile).items()}
    for file, text in written.items():
        write_text(file, text)
    return list(written)


def written_files(card: Comparison, profile: str | None = None) -> dict[str, str]:
    """Return the content of ``REPRODUCTION.json`` and ``REPRODUCTION.md`` by their names."""
    return {f"{NAME}.json": card.to_json(), f"{NAME}.md": to_markdown(card, published_runs(profile))}
