"""The suite's commands: ``fairlab list | run | data | scorecard | figures``.

Parts of the suite and of the data are imported at their first use, so that help and errors come at once.
"""

import ast
import sys
from pathlib import Path

import click

from fairlab import data, suite
from fairlab.checks import memory_left_gb, suggestion
from fairlab.data.project import project
from fairlab.suite.catalogue import DEFAULT_PROFILE, PROFILES, experiment_names, inputs, specification
from fairlab.suite.published import paper_keys

# What nbformat's checker of schemas loads for formats that no notebook has, longer than all else takes; none of these
# commands runs code of users in its own process, which might need them.
sys.modules |= dict.fromkeys({"rfc3987_syntax", "isoduration", "webcolors", "uri_template"} - sys.modules.keys())
AT_LEAST_ONE = click.IntRange(min=1)


class RunCommand(click.Command):
    """The command ``run``: all that follows ``--snakemake`` is for Snakemake."""

    def parse_args(self, ctx, args):
        """Parse arguments; those for Snakemake become values of the option, one each."""
        if "--snakemake" in args:
            own = args.index("--snakemake")
            args = args[:own] + [f"--snakemake={argument}" for argument in args[own + 1 :]]
        return super().parse_args(ctx, args)


commands = click.Group()


# Experiments


@commands.command("list")
def list_experiments():
    """List the experiments with their tables and figures, data, minutes and memory."""
    of_profiles = "/".join(PROFILES)
    rows = [("experiment", "tables and figures", "data", f"minutes ({of_profiles})", f"gigabytes ({of_profiles})")]
    for spec in map(specification, experiment_names()):
        variants = ", ".join(f"{variant} ({data.state_of(variant)})" for variant in spec.data)
        numbers = (" / ".join("?" if n is None else f"{n:g}" for _, n in of) for of in (spec.minutes, spec.gigabytes))
        rows.append((spec.name, ", ".join(spec.artefacts), variants, *numbers))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


@commands.command(cls=RunCommand)
@click.argument("names", nargs=-1, metavar="[NAME]...", help="a paper, or <paper>/<experiment> as `fairlab list` shows")
@click.option("--all", "everything", is_flag=True, help="every experiment")
@click.option(
    "--profile", default=DEFAULT_PROFILE, metavar="PROFILE", show_default=True, help=f"one of {', '.join(PROFILES)}"
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="root seed (default: 0; one experiment only)")
@click.option(
    "--jobs",
    type=AT_LEAST_ONE,
    metavar="N",
    help="processes at once: experiments, or trials of one (default: all cores; on a cluster 20)",
)
@click.option("--cores", type=AT_LEAST_ONE, metavar="N", help="cores per process (default: 1; per cluster job 2)")
@click.option(
    "-p",
    "--parameter",
    "parameters",
    nargs=2,
    multiple=True,
    metavar="NAME VALUE",
    help="set a parameter of the notebook; the run is stored under results/custom",
)
@click.option("--dry-run", is_flag=True, help="show what would run")
@click.option("--scheduler", default="local", help="on a cluster: a folder of experiments/profiles, such as slurm")
@click.option(
    "--snakemake",
    multiple=True,
    metavar="ARGUMENTS...",
    help="on a cluster: everything that follows goes to Snakemake, such as --default-resources slurm_partition=long",
)
def run(names, everything, profile, jobs, cores, dry_run, scheduler, snakemake, **of_one):
    """Run experiments: one directly, several in parallel."""
    if bool(names) == everything:
        raise TypeError(f"name experiments or give --all; there are {', '.join(experiment_names())}")
    of_papers = {key: experiment_names(key) for key in paper_keys()}
    names = list(dict.fromkeys(one for name in names for one in of_papers.get(name, [name])))
    on_cluster = scheduler != "local"
    if snakemake and not on_cluster:
        raise TypeError("--snakemake is for a cluster: --scheduler slurm")
    is_custom = bool(of_one["parameters"] or of_one["seed"])
    if len(names) == 1 and not on_cluster:
        return _run_one(*names, profile, jobs, cores, dry_run, **of_one)
    if is_custom:
        raise TypeError("--parameter and --seed are for one experiment at a time, on this machine")
    names = names or experiment_names()
    for name in names:
        specification(name).parameters(profile)  # an error if there is no such experiment or profile
    if on_cluster:
        more = {"jobs": jobs, "cores": cores, "dry_run": dry_run}
        failed = suite.cluster.run_on_cluster(names, profile, scheduler, **more, arguments=list(snakemake))
    else:
        failed = suite.batch.run_batch(names, profile, jobs=jobs, cores=cores, dry_run=dry_run)
    if dry_run or failed is None:
        return 0
    _report(names, failed, profile)
    if everything:
        card = suite.scorecard.scorecard()
        suite.scorecard.write(card)
        print("\n" + "\n\n".join([*suite.scorecard.unreadable(), suite.scorecard.ending(card)]))
    return int(bool(failed))


def _run_one(name, profile, jobs, cores, dry_run, *, parameters, seed) -> int:
    """Run one experiment and return its exit status."""
    import joblib

    spec, overrides = specification(name), {}
    for key, value in parameters:
        if key in overrides:
            raise TypeError(f"{key}: given twice")
        overrides[key] = _literal(value)
    if options := sorted({"profile", "seed"}.intersection(overrides)):
        raise TypeError(f"{options[0]}: not a parameter of the experiment; expected --{options[0]}")
    try:
        planned = suite.run.Run.of(name, profile, seed, overrides)  # an error if there is no such parameter
    except ValueError as error:
        raise TypeError(error) from None
    if dry_run:
        print(f"{name}: about {spec.minutes.least(profile):g} min of one core at the sizes of {profile}")
        return 0
    n_jobs = (jobs or 1) * (cores or 1) if jobs or cores else joblib.cpu_count()
    if not overrides:  # of other sizes nothing is known
        left = memory_left_gb()
        if not (jobs or cores) and spec.refusal(profile, n_jobs, left):
            n_jobs = 1
        if reason := spec.refusal(profile, n_jobs, left):
            raise RuntimeError(f"{name} {reason}")
    try:
        folder = suite.notebook.run_experiment(spec, profile, seed=seed, overrides=overrides, n_jobs=n_jobs)
    except RuntimeError as error:
        _print_failure(name, planned.profile, str(error))
        return 1
    run = suite.run.Run.read(folder)
    if used := ", ".join(run.missing()):
        print(f"surrogate data: {name} used a surrogate for {used}; not counted as a reproduction")
    print("\n".join(suite.scorecard.ending_of(run, folder)))
    return 0


def _literal(text):
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _report(names, failed, profile) -> None:
    """Print what a batch ends with: data that surrogates replaced, what is done, and what failed."""
    done = [name for name in names if name not in failed]
    folders = [suite.run.run_folder(name, profile) for name in done]
    surrogates = {lost for folder in folders for lost in suite.run.Run.read(folder).missing()}
    if surrogates:
        print(f"\nsurrogate data replaced {', '.join(sorted(surrogates))}; affected results are not counted")
    print(
        f"\n{len(done)} of {len(names)} experiments done at {profile}: {project().short(project().results / profile)}"
    )
    for name, reason in failed.items():
        _print_failure(name, profile, reason)
    if failed:
        print("the same command runs again what failed, with the trials that are finished", file=sys.stderr)


def _print_failure(name, profile, reason) -> None:
    """Print why an experiment failed, and the notebook and log that show more."""
    first = (reason.splitlines() or [""])[0]
    files = (suite.run.failure_file(name, profile).with_suffix(".ipynb"), suite.run.log_file(name, profile))
    where = ", ".join(project().short(file) for file in files if file.exists())
    print(f"failed: {name}: {first}" + (f" ({where})" if where else ""), file=sys.stderr)


# Data


@commands.group("data")
def data_sets():
    """Show, fetch, verify or describe the data sets."""


data_names = click.argument("names", nargs=-1, metavar="[NAME]...", help="variants, files or folders of the registry")


@data_sets.command("status")
def data_status():
    """Show which files are available, and the sources of the others."""
    return _print_files(data.status())


@data_sets.command()
@data_names
@click.option("--keep-going", is_flag=True, help="continue, with exit status 0, if something is missing")
def fetch(names, keep_going):
    """Prepare data sets (default: all that experiments use).

    It says what it downloads, its size and its terms. Large files, and those under restrictive terms, are downloaded
    only if they are named.
    """
    default = dict.fromkeys([*data.available(), *inputs(experiment_names())])
    frame = data.fetch(names or default, keep_going=keep_going, requested=bool(names), report=print)
    return int((frame["state"] == "error").any())


@data_sets.command("verify")
@data_names
def verify_data(names):
    """Check every cached file and prepared table against its hash."""
    return _print_files(data.verify(names or None))


def _print_files(frame) -> int:
    """Print the states of files; return 1 if one is corrupt."""
    nothing = "nothing is cached; files that come with fairlab are checked whenever they are unpacked"
    shown = frame.drop(columns=["terms", "detail"], errors="ignore").astype(object).fillna("")
    print(nothing if frame.empty else shown.to_string())
    corrupt = frame.loc[frame["state"] == "corrupt"]
    for name, detail in corrupt["detail"].items() if len(corrupt) else ():
        print(f"{name}: {detail}", file=sys.stderr)
    return int(len(corrupt) > 0)


@data_sets.command("describe")
@click.argument("names", nargs=-1, required=True, metavar="NAME...", help="variants, files or folders of the registry")
def describe_data(names):
    """Describe data sets: content, provenance, accuracy of surrogates."""
    print("\n\n".join(map(data.describe, names)))


# Results


def _folder_of_run(text: str) -> Path | None:
    """Return the folder of the run that is there, or of the latest of an experiment's; None if there is none."""
    places = (Path(text), Path(text, suite.run.LATEST))
    return next((place.resolve() for place in places if (place / "run.json").exists()), None)


@commands.command()
@click.argument(
    "rows",
    nargs=-1,
    metavar="[PAPER[:ARTEFACT] | EXPERIMENT | RUN [OTHER]]...",
    help="show these rows instead of the summary, as adf:table-4 or adf/cost; or a run by its folder, or two runs",
)
@click.option("--json", "as_json", is_flag=True, help="print one object per published value or claim")
@click.option("--profile", type=click.Choice(PROFILES), help="only runs of this profile (default: the best available)")
@click.option(
    "--write",
    is_flag=True,
    help="also update the committed scorecard, the README and the numbers that notebooks link to",
)
@click.pass_obj
def scorecard(write_bars, rows, as_json, profile, write):
    """Compare published numbers with our results."""
    if write and (rows or as_json):
        raise click.UsageError("--write: expected no rows and no --json beside it, as it writes all rows")
    names = experiment_names()
    folders = [None if row in names else _folder_of_run(row) for row in rows]
    if strange := [
        row for row, folder in zip(rows, folders, strict=True) if "/" in row and not (folder or row in names)
    ]:
        example = project().short(project().results / "quick" / "adf" / "cost")
        expected = f"expected the folder of a run, as {example}, an experiment, or rows, as adf:table-4"
        of_paper = [name for name in names if name.partition("/")[0] == strange[0].partition("/")[0]]
        raise KeyError(f"{expected}, found {strange[0]!r}" + (suggestion(strange[0], of_paper) if of_paper else ""))
    if any(folders) and not (len(rows) <= 2 and all(folders)):
        raise click.UsageError(f"expected a run, two runs, or rows, found {' '.join(rows)}")
    if any(folders):
        if as_json or profile:
            raise click.UsageError("RUN: expected no --json and no --profile beside it")
        run, *other = map(suite.run.Run.read, folders)
        own, moved = suite.comparison.compare(run).rows, suite.scorecard.ending_of(run, most=None)
        if other:
            if other[0].name != run.name:
                raise TypeError(f"expected two runs of one experiment, found {run.name} and {other[0].name}")
            others = [f"{name} {value}" for name, value in other[0].parameters.items() if run.parameters[name] != value]
            of = "the other run" + (f", which has {', '.join(others)}" if others else "")
            moved = suite.comparison.beside(own, suite.comparison.compare(*other).rows, before="other", of=of)
        print("\n".join([*(row.to_text() for row in own), "", *moved]))
        return 0
    card = suite.scorecard.scorecard(profile)
    unreadable = suite.scorecard.unreadable(profile)
    for sentence in unreadable:
        print(f"fairlab: {sentence}", file=sys.stderr)
    if rows:
        card = suite.comparison.Comparison(suite.scorecard.chosen(card, rows))
    if as_json:
        click.echo(card.to_json().encode(), nl=False)  # JSON is UTF-8 whatever the locale
    elif rows:
        committed = {row.place: row for row in suite.scorecard.committed_rows()}
        print("\n".join(row.to_text(committed.get(row.place)) for row in card.rows))
    else:
        card = suite.scorecard.to_commit(card, profile) if write else card
        written = suite.scorecard.write(card, profile, publish=write)
        if write:
            written.append(write_bars(card))
        print(suite.scorecard.ending(card, project().root if write else None))
        print("scorecard: " + ", ".join(map(project().short, written)))
    return int(bool(unreadable))


# Figures


@commands.command()
@click.argument("names", nargs=-1, metavar="[PAPER[/FIGURE]]...", help="adf or adf/table-4 (default: all)")
@click.option("--write", "to_project", is_flag=True, help="write to figures/")
@click.option("--output", metavar="FOLDER", help="output folder, with a subfolder per paper (default: results/figures)")
def figures(names, to_project, output):
    """Copy figures with their numbers: those of the best runs, otherwise the committed ones."""
    if to_project and output:
        raise click.UsageError("--write and --output exclude each other")
    target = project().figures if to_project else Path(output or project().results / "figures")
    print(f"figures in {target}: {len(suite.drawing.copy_figures(names, target))}")
