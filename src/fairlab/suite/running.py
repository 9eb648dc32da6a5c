"""``fairlab run``: one experiment directly, several in parallel, on this machine or a cluster."""

import argparse
import ast
import sys
from collections.abc import Callable
from pathlib import Path

from fairlab.paths import ROOT, results_folder
from fairlab.suite.catalogue import DEFAULT_PROFILE, PROFILES, experiment_names, specification
from fairlab.suite.machine import n_cores
from fairlab.suite.memory import memory_left_gb, refusal
from fairlab.suite.run import Run, log_file, run_folder


def add_run(command: Callable) -> None:
    """Add the command to a parser; `command` takes its name, its function and its help, and returns its own parser."""
    sub = command("run", _run, "run experiments: one directly, several in parallel")
    sub.add_argument("names", nargs="*", metavar="NAME", help="<paper>/<experiment>, as `fairlab list` shows")
    sub.add_argument("--all", action="store_true", help="every experiment")
    sub.add_argument("--profile", default=DEFAULT_PROFILE, help=f"{', '.join(PROFILES)} (default: %(default)s)")
    sub.add_argument("--seed", type=int, default=0, help="root seed (default: 0; one experiment only)")
    jobs = "processes at once: experiments, or trials of one (default: all cores; on a cluster 20)"
    sub.add_argument("--jobs", type=_positive, metavar="N", help=jobs)
    sub.add_argument("--cores", type=_positive, metavar="N", help="cores per process (default: 1; per cluster job 2)")
    sub.add_argument("-p", "--parameter", nargs=2, action="append", default=[], metavar=("NAME", "VALUE"))
    sub.add_argument("--time-limit", type=float, metavar="MINUTES", help="time limit of the notebook")
    sub.add_argument("--dry-run", action="store_true", help="show what would run")
    sub.add_argument("--scheduler", default="local", help="on a cluster: a folder of experiments/profiles, as slurm")
    shards = "distribute the trials of a large experiment over up to N cluster jobs"
    sub.add_argument("--shards", type=_positive, default=1, metavar="N", help=shards)
    rest = "on a cluster: all that follows goes to Snakemake, as --default-resources slurm_partition=long"
    sub.add_argument("--snakemake", nargs=argparse.REMAINDER, default=[], metavar="ARGUMENT", help=rest)


def short(path) -> str:
    """Return a path as seen from the project's root, where it is below it."""
    path = Path(path)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _run(options):
    if bool(options.names) == options.all:
        raise TypeError(f"name experiments or give --all; there are {', '.join(experiment_names())}")
    on_cluster = options.scheduler != "local"
    if not on_cluster and (options.snakemake or options.shards > 1):
        raise ValueError("--snakemake and --shards are for a cluster: --scheduler slurm")
    if len(options.names) == 1 and not options.dry_run and not on_cluster:
        return _run_one(options)
    if options.parameter or options.seed or options.time_limit:
        raise TypeError("--parameter, --seed and --time-limit are for one experiment at a time")
    names = options.names or experiment_names()
    if on_cluster:
        from fairlab.suite.cluster import run_on_cluster

        own = {"shards": options.shards, "arguments": _for_snakemake(options)}
        failed = run_on_cluster(names, options.profile, options.scheduler, dry_run=options.dry_run, **own)
    else:
        from fairlab.suite.batch import run_batch

        failed = run_batch(names, options.profile, jobs=options.jobs, cores=options.cores, dry_run=options.dry_run)
    if options.dry_run:
        return 0
    _report(names, failed, options.profile)
    if options.all:
        print(f"\n{_closing()}")
    return int(bool(failed))


def _run_one(options) -> int:
    """Run one experiment and return its exit status."""
    from fairlab.suite.notebook import run_experiment

    (name,) = options.names
    overrides = {key: _literal(value) for key, value in options.parameter}
    n_jobs = (options.jobs or 1) * (options.cores or 1) if options.jobs or options.cores else n_cores()
    if not overrides and options.profile in PROFILES:  # of other sizes nothing is known
        left = memory_left_gb()
        if not (options.jobs or options.cores) and refusal(name, options.profile, n_jobs, left):
            n_jobs = 1
        if reason := refusal(name, options.profile, n_jobs, left):
            raise RuntimeError(f"{name} {reason}")
    own = {"seed": options.seed, "overrides": overrides, "time_limit": options.time_limit}
    folder = run_experiment(specification(name), options.profile, n_jobs=n_jobs, **own)
    if folder.exists():  # not of a shard of the trials, which are kept
        print(f"{name}: done, see {short(folder)}")
        _print_surrogates(folder)
    return 0


def _for_snakemake(options) -> list[str]:
    """Return Snakemake's arguments, with our words for jobs and cores in its."""
    jobs = ["--jobs", str(options.jobs)] if options.jobs else []
    threads = f"experiment={options.cores}", f"shard={options.cores}"
    return [*jobs, *(["--set-threads", *threads] if options.cores else []), *options.snakemake]


def _closing() -> str:
    """Write the scorecard and return what a batch of all experiments ends with."""
    from fairlab.suite import scorecard

    card = scorecard.scorecard()
    scorecard.write(card)
    return "\n\n".join([*scorecard.unreadable(), scorecard.ending(card)])


def _report(names, failed, profile) -> None:
    """Print what a batch ends with: data that surrogates replaced, what is done, and what failed."""
    done = [name for name in names if name not in failed]
    sources = [Run.read(run_folder(name, profile)).sources().items() for name in done]
    surrogates = {variant for used in sources for variant, source in used if source == "surrogate"}
    if surrogates:
        print(f"\nsurrogate data replaced {', '.join(sorted(surrogates))}; affected results are not counted")
    print(f"\n{len(done)} of {len(names)} experiments done at {profile}: {short(results_folder() / profile)}")
    for name, reason in failed.items():
        first = (reason.splitlines() or [""])[0]
        print(f"failed: {name}: {first} ({short(log_file(name, profile))})", file=sys.stderr)


def _print_surrogates(folder):
    run = Run.read(folder)
    used = [variant for variant, source in run.sources().items() if source == "surrogate"]
    if used:
        print(f"surrogate data: {run.name} used a surrogate for {', '.join(used)}; not counted as a reproduction")


def _positive(text) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _literal(text):
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
