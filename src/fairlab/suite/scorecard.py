"""The scorecard: all published values and claims, compared with our best runs."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, product
from pathlib import Path

import pandas as pd

from fairlab.data.dataset import SOURCES
from fairlab.data.project import project
from fairlab.paths import write_text
from fairlab.suite.catalogue import PROFILES, experiment_names, selected, specification
from fairlab.suite.comparison import (
    BY_CHANCE,
    COLUMNS,
    MULTIPLES,
    ORIGINS,
    QUICK,
    ROUNDING_ERROR,
    Comparison,
    Row,
    beside,
    compare,
    off_most,
    published_row,
    render,
)
from fairlab.suite.links import changed_notebooks
from fairlab.suite.published import load_paper, paper_keys
from fairlab.suite.run import CURRENT, LATEST, Run, UnreadableRunError, failure_file, place, read_json, run_folder
from fairlab.suite.verdicts import AGREES, CLAIM_VERDICTS, JUDGED, LABELS, OPEN, label_of

RANKED_PROFILES = PROFILES[::-1]  # the best first
NAME = "REPRODUCTION"
RUNS = "runs.json"  # among the figures: what is known of the runs behind the committed rows
SUMMARY = re.compile(r"(<!-- summary -->\n).*?(\n<!-- /summary -->)", re.DOTALL)  # in README
STORED = ORIGINS["models and outputs that the authors stored"]
FOLLOWING = "that follow from others of their paper (percentages, totals, means, further points, printed twice)"
UNSUPPORTED = "with an inferred protocol that do not differ"
NOT_HAD = ("surrogate", "not run")
LEFT = LABELS | {"setting": "fixed parameters"}
INTERVAL_WIDTHS = (0.25, 0.5)  # widths of our 95% intervals, relative to the published number
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
                advice = f"run it again: fairlab run {name} --profile {one}, or delete {place(name, one)}"
                yield UnreadableRunError(f"{error}; {advice}")


def scorecard(profile: str | None = None) -> Comparison:
    """Return one row per published value and claim of all papers.

    Parameters
    ----------
    profile : str or None
        Only runs of this profile; None takes the best available, and what a run of ``quick`` found stands beside it.
    """
    rows = _rows(profile)
    if all(row.profile in (None, QUICK) for row in rows):
        return Comparison(rows)
    pairs = zip(rows, _rows(QUICK), strict=True)
    return Comparison(_with_quick(row, quick) for row, quick in pairs)


def _with_quick(row: Row, quick: Row | None) -> Row:
    """Return a row of a larger profile with the outcome of that row at ``quick``, if there is one."""
    if row.profile in (None, QUICK) or row.at_quick or quick is None or quick.profile != QUICK:
        return row
    return row.model_copy(update={"at_quick": quick.outcome})


def _rows(profile) -> list[Row]:
    runs, found = published_runs(profile), {}
    rows = [row for run in runs.values() for row in compare(run).rows]
    for row in sorted(rows, key=lambda row: row.verdict == "not run"):  # of several runs, the first one that has it
        found.setdefault(row.place, row)
    reasons = {place: _why_not(names[0], profile) for place, names in writers().items() if names[0] not in runs}
    published = [
        published_row(key, artefact, item, reason=reasons.get((key, artefact.id), "no experiment produces it yet"))
        for key in paper_keys()
        for artefact in load_paper(key).artefacts.values()
        for item in (artefact.values | artefact.claims).values()
    ]
    return [found.get(row.place, row) for row in published]


def writers() -> dict[tuple[str, str], list[str]]:
    """Return the experiments that write each table or figure, by paper and artefact id."""
    specifications = map(specification, experiment_names())
    writing = [((spec.paper, artefact), spec.name) for spec in specifications for artefact in spec.artefacts]
    return {place: [name for other, name in writing if other == place] for place, _ in writing}


def _why_not(name, profile) -> str:
    """Return why an experiment has no run that can be read."""
    for one in RANKED_PROFILES if profile is None else (profile,):
        if (file := failure_file(name, one)).exists():
            return f"failed at {one}: {file.read_text(encoding='utf-8').splitlines()[0]}"
    return next(map(str, _runs(name, profile)), f"not run here yet: fairlab run {name}")


def committed_rows() -> tuple[Row, ...]:
    """Return the rows of the committed scorecard; none if the project has none yet."""
    file = project().root / f"{NAME}.json"
    return Comparison.from_json(file.read_bytes()).rows if file.exists() else ()


def committed_runs() -> dict[str, dict]:
    """Return what is known of the runs behind the committed rows, by experiment; see `about_runs`."""
    return read_json(project().figures / RUNS)


def renewing(runs: dict[str, Run]) -> dict[str, Run]:
    """Return the runs that what is committed of their experiments gives way to: not those of a smaller profile."""
    committed = committed_runs()
    return {
        name: run for name, run in runs.items() if not _is_smaller(run.profile, committed.get(name, {}).get("profile"))
    }


def _is_smaller(profile: str | None, other: str | None) -> bool:
    """Return whether a profile is smaller than another one; not if either is none."""
    return {profile, other} <= {*PROFILES} and RANKED_PROFILES.index(profile) > RANKED_PROFILES.index(other)


def to_commit(card: Comparison, profile: str | None = None) -> Comparison:
    """Return the rows of a scorecard for the project: where an experiment was not run here, the committed ones.

    So the scorecard is renewed experiment by experiment. Rows of a larger profile have what came out at ``quick``,
    here or else as committed; a run of ``quick`` alone renews just that of them, and leaves out none.
    """
    committed = {(row.place, row.kind, row.published, row.printed): row for row in committed_rows()}
    known, runs = writers(), published_runs(profile)
    absent = {name for name in experiment_names() if not _was_tried(name)} | (runs.keys() - renewing(runs).keys())

    def with_committed(row: Row) -> Row:
        old = committed.get((row.place, row.kind, row.published, row.printed))
        if profile is None and old and _is_smaller(row.profile, old.profile):
            of_quick = row.outcome if row.profile == QUICK else old.at_quick
            return old.model_copy(update={"source": row.source, "derived": row.derived, "at_quick": of_quick})
        if row.verdict == "not run":
            is_kept = old and profile in (None, old.profile) and absent.intersection(known.get(row.place[:2], ()))
            return old.model_copy(update={"source": row.source, "derived": row.derived}) if is_kept else row
        return _with_quick(row, old and old.of_profile(QUICK))

    return Comparison(map(with_committed, card.rows))


def _was_tried(name) -> bool:
    """Return whether an experiment was run here at any profile, be it that it failed."""
    return any((place(name, one) / CURRENT).exists() or failure_file(name, one).exists() for one in PROFILES)


def ending_of(run: Run, stored: Path | None = None, most: int | None = MOST_ROWS) -> list[str]:
    """Return what a run ends with: its rows that are other than in the committed scorecard, and where it is stored."""

    def n_equal(profile):
        return sum(run.parameters.get(name) == own for name, own in run.specification.parameters(profile).items())

    is_custom = run.profile not in PROFILES
    size = max(QUICK, PROFILES[-1], key=n_equal) if is_custom else run.profile
    of = "the committed scorecard" + f" at {size}" * is_custom
    try:
        lines = beside(compare(run).rows, [row.of_profile(size) for row in committed_rows()], most, of=of)
    except ValueError:  # of another version; a run must not fail for it
        lines = [f"not compared: the committed {NAME}.json cannot be read; fairlab scorecard --write writes it anew"]
    if is_custom and (sizes := _other_sizes(run, size)):
        lines.append(f"Its parameters beside those of {size}: {sizes}.")
    if stored:
        link = stored.with_name(LATEST)
        where = project().short(link if link.exists() else stored)
        lines.append(f"{run.name}: done, see {where}; all rows: fairlab scorecard {shlex.quote(where)}")
    return lines


def _other_sizes(run: Run, profile: str) -> str:
    """Return the parameters of a run that are not those of a profile, each with both values."""
    there, own = run.specification.parameters(profile), run.parameters
    return "; ".join(f"{name} {own[name]}, not {value}" for name, value in there.items() if own.get(name) != value)


def table(card: Comparison) -> pd.DataFrame:
    """Count the verdicts per paper and in total, with the median difference."""
    cards = {key: card.of(key) for key in dict.fromkeys(row.paper for row in card.rows)} | {"all": card}
    counts = pd.DataFrame([one.counts() for one in cards.values()], index=pd.Index(cards, name="paper"))
    medians = [_in_words(one.median_difference()) for one in cards.values()]
    return counts.reindex(columns=COLUMNS).fillna(0).astype(int).assign(**{"median difference": medians})


def origins(card: Comparison) -> list[dict]:
    """Return how the numbers of each paper came out by what they rest on, our own runs on real data first.

    Each origin of each paper has its `numbers` and how many of them are `exact`, `agree`, are `near` (or within
    run-to-run variation, or of the same conclusion), `differ` and are `unsettled`; its `median` difference as text, and
    whether it `is_off`: whether half of the numbers are farther off than what counts as agreeing.
    """
    rows = []
    counted = [row for row in card.rows if row.is_counted]
    for (origin, bases), key in product(ORIGINS.items(), dict.fromkeys(row.paper for row in counted)):
        numbers = Comparison(row for row in counted if row.paper == key and row.basis in bases)
        if numbers.rows:
            counts, median = numbers.counts(), numbers.median_difference((*JUDGED, BY_CHANCE))
            exact, agree, *near, differ, unsettled = (counts[column] for column in (*JUDGED, BY_CHANCE))
            rows.append(
                {"origin": origin, "paper": key, "numbers": len(numbers.rows), "exact": exact, "agree": agree}
                | {"near": sum(near), "differ": differ, "unsettled": unsettled, "is_off": (median or 0) > AGREES}
                | {"median": _in_words(median)}
            )
    return rows


def what_is_counted(card: Comparison) -> str:
    """Return which numbers `origins` counts, which it leaves out, and by what rules those in it agree."""
    numbers = [row for row in card.rows if row.kind == "number"]
    counted, left = [row for row in numbers if row.is_counted], [row for row in numbers if not row.is_counted]
    reasons = {}
    for row in left:
        reason = FOLLOWING if row.derived else UNSUPPORTED if row.is_inferred else LEFT.get(row.verdict, row.verdict)
        reasons.setdefault(reason, []).append(row.paper)
    parts = [
        f"{len(papers)} {reason}" + (f" ({', '.join(dict.fromkeys(papers))})" if reason in NOT_HAD else "")
        for reason, papers in sorted(reasons.items(), key=lambda item: -len(item[1]))
    ]
    agreeing = [row for row in counted if row.column == "agrees"]
    off = sum(abs(row.relative_difference or 0) > AGREES + ROUNDING_ERROR for row in agreeing)
    sides = sum(row.relative_difference is None and row.published != 0 for row in agreeing)
    wide, wider = (sum(row.relative_width > width for row in agreeing) for width in INTERVAL_WIDTHS)
    claims = Comparison(row for row in card.rows if row.kind == "claim")
    stored = sum(row.column == "holds" and row.basis in STORED for row in claims.rows)
    return (
        f"Counted are {len(counted)} of {len(numbers):,} numbers. Left out: {', '.join(parts)}. Near are also those "
        f"within run-to-run variation or of the same conclusion. Of the {len(agreeing)} that agree, {sides} are "
        f"p-values, of which only the side of 0.05 counts, and {off} are off by over {AGREES:.0%} and agree by a "
        "published standard deviation, overlapping intervals or half a percentage point; our 95% interval is wider "
        f"than a quarter of the published number for {wide}, than half of it for {wider}. Of the "
        f"{len(claims.rows)} claims, {claims.verdicts()}. Of those that hold, {stored} rest on models and outputs that "
        "the authors stored."
    )


def _in_words(median: float | None) -> str:
    """Return a median difference as text, large ones as multiples."""
    if median is None:
        return ""
    return f"{median:.1%}" if median < MULTIPLES else f"{1 + median:,.0f} times"


def summary(card: Comparison) -> str:
    """Return `origins` as Markdown, the papers whose numbers do not come out first: part of the page and of README."""
    rows = origins(card)
    off = [f"{row['paper']}, {row['origin']} (median {row['median']})" for row in rows if row["is_off"]]
    return render("origins.md", rows=rows, off=off, what_is_counted=what_is_counted(card))


def chosen(card: Comparison, names: Sequence[str]) -> list[Row]:
    """Return the rows of papers, of tables and figures as in ``adf:table-4``, or of experiments as in ``adf/cost``.

    A KeyError suggests a known name.
    """
    rows = {place: list(own) for place, own in groupby(card.rows, lambda row: ":".join(row.place[:2]))}
    chosen = set()
    for name in names:
        paper, is_experiment, _ = name.partition("/")
        if is_experiment:
            chosen.update(f"{paper}:{artefact}" for artefact in specification(name).artefacts)
        else:
            chosen.update(selected([name], list(rows), ":"))
    return [row for place, of_place in rows.items() if not names or place in chosen for row in of_place]


def ending(card: Comparison, folder: Path | None = None) -> str:
    """Return the summary that ends a batch or the command: table of verdicts, next steps.

    Parameters
    ----------
    card : Comparison
    folder : Path, optional
        Where it is written; by default the results folder.
    """
    frame = table(card)
    frame = frame.loc[:, frame.astype(bool).any()].rename(columns=label_of)
    parts = [frame.replace(0, "·").to_string()]
    if lost := len(unexplained(card)):
        parts.append(f"{lost} rows differ or fail without a reason in experiments/<paper>/published.yaml (`differs`).")
    where = folder or project().results
    parts.append(
        f"Next: see all rows in {NAME}.json, reasons for differences in {NAME}.md (both in {where}); "
        "`fairlab scorecard PAPER` shows the rows of a paper; executed notebooks are in the results folder."
    )
    return "\n\n".join(parts)


def unexplained(card: Comparison) -> list[Row]:
    """Return the rows that differ or fail and have no reason in ``published.yaml``."""
    return [row for row in card.rows if row.verdict in OPEN and not reasons_of([row])]


def reasons_of(rows: Sequence[Row]) -> list[str]:
    """Return why rows of a table or figure differ or fail, one sentence each."""
    artefact = load_paper(rows[0].paper).artefact(rows[0].artefact)
    return artefact.reasons([row.id for row in rows if row.verdict in OPEN])


def to_markdown(card: Comparison, runs: dict[str, dict]) -> str:
    """Return the text of ``REPRODUCTION.md``, one page: table of verdicts, reasons for differences, runs.

    Parameters
    ----------
    card : Comparison
    runs : dict
        See `about_runs`.
    """
    return render(
        "reproduction.md",
        card=card,
        table=table(card),
        artefacts=[(place, list(rows)) for place, rows in groupby(card.rows, key=lambda row: row.place[:2])],
        runs=[{"paper": name.partition("/")[0]} | runs[name] for name in experiment_names() if name in runs],
        others=other_verdicts(card),
        without_rows=[
            (key, each)
            for key in paper_keys()
            for each in load_paper(key).artefacts.values()
            if not (each.values or each.claims)
        ],
        label_of=label_of,
        origins=summary(card),
        open=OPEN,
        off_most=off_most,
        reasons_of=reasons_of,
        writers=writers(),
        data_of=_data_of,
    )


def other_verdicts(card: Comparison) -> tuple[list[tuple[Row, Row]], int]:
    """Return rows that another verdict at ``quick`` stands against, each with that one, and how many both judge."""
    both = [(row, row.of_profile(QUICK)) for row in card.rows if row.at_quick]
    both = [
        pair for pair in both if all(row.verdict in JUDGED + CLAIM_VERDICTS and not row.is_unsettled for row in pair)
    ]
    return [pair for pair in both if pair[0].verdict != pair[1].verdict], len(both)


def about_runs(runs: Iterable[Run]) -> dict[str, dict]:
    """Return what the page says of runs, by experiment: ``profile``, ``seed``, ``commit`` and ``platform``.

    ``core_seconds`` are those of one core; trials that several of the runs use count for the first of them. ``data``
    has the provenance of every variant that is not real.
    """
    counted, about = set(), {}
    for run in runs:
        trials = run.about.get("trial_seconds", {})
        seconds = run.about.get("core_seconds", 0) - sum(trials[key] for key in counted.intersection(trials))
        counted.update(trials)
        data = {variant: source for variant, source in sorted(run.sources().items()) if source != SOURCES[0]}
        about[run.name] = {"profile": run.profile, "seed": run.seed} | {
            "commit": run.about.get("commit"),
            "platform": run.about.get("platform"),
            "core_seconds": round(seconds, 1),
            "data": data,
        }
    return about


def _data_of(runs) -> str:
    """Return the data behind some runs that is not real, by its provenance."""
    loads = sorted({load for run in runs for load in run["data"].items()})
    named = {source: [variant for variant, of in loads if of == source] for source in SOURCES[1:]}
    return "; ".join(f"{source}: {', '.join(names)}" for source, names in named.items() if names) or "·"


def write(card: Comparison, profile: str | None = None, *, publish: bool = False) -> list[Path]:
    """Write ``REPRODUCTION.json`` and ``REPRODUCTION.md`` to the results folder, and return the files written.

    Parameters
    ----------
    card : Comparison
        As `scorecard` returns it for `profile`, or `to_commit` for the project.
    profile : str or None
    publish : bool
        Whether to write to the project instead, with what is known of the runs, the numbers that notebooks link to,
        and the table in README.
    """
    runs, card = published_runs(profile), Comparison.from_json(card.to_json())  # one rounding
    about = about_runs((renewing(runs) if publish and profile is None else runs).values())
    written, folder = {}, project().results
    if publish:
        about, folder, readme = committed_runs() | about, project().root, project().root / "README.md"
        about = {name: about[name] for name in experiment_names() if name in about}
        text = SUMMARY.sub(rf"\g<1>\n{summary(card)}\g<2>", readme.read_text(encoding="utf-8"))
        written = {project().figures / RUNS: json.dumps(about, indent=1) + "\n", readme: text}
        written |= changed_notebooks(card.rows)
    written |= {folder / f"{NAME}.json": card.to_json(), folder / f"{NAME}.md": to_markdown(card, about)}
    for file, text in written.items():  # all are made before the first is written
        write_text(file, text)
    return [*written]
