"""``fairlab run``: one experiment directly, several in parallel, on this machine or a cluster."""

import ast
import os
import sys
from collections.abc import Callable
from pathlib import Path

from fairlab.paths import ROOT, results_folder
from fairlab.suite.catalogue import DEFAULT_PROFILE, PROFILES

OPTIONS = "--slurm-options"


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
    sub.add_argument("--scheduler", default="local", help="name of a folder of experiments/profiles (default: local)")
    options = "options of sbatch for cluster jobs, such as '--partition=long --time=4:00:00 --mem=8G'"
    sub.add_argument(OPTIONS, default="", metavar="OPTIONS", help=options)
    shards = "distribute the trials of a large experiment over up to N cluster jobs"
    sub.add_argument("--shards", type=_positive, default=1, metavar="N", help=shards)


def joined(arguments: list[str]) -> list[str]:
    """Return a command line in which what follows ``--slurm-options`` is its value, although it looks like options."""
    arguments = list(arguments)
    if OPTIONS in arguments[:-1]:
        start = arguments.index(OPTIONS)
        arguments[start : start + 2] = [f"{OPTIONS}={arguments[start + 1]}"]
    return arguments


def short(path) -> str:
    """Return a path as seen from the project's root, where it is below it."""
    path = Path(path)
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _run(options):
    from fairlab.suite.batch import run_batch
    from fairlab.suite.catalogue import experiment_names, specification
    from fairlab.suite.heartbeat import send_heartbeats
    from fairlab.suite.notebook import run_experiment
    from fairlab.suite.staging import keep_temporary_files

    if bool(options.names) == options.all:
        raise TypeError(f"name experiments or give --all; there are {', '.join(experiment_names())}")
    keep_temporary_files()
    if len(options.names) == 1 and not options.dry_run and options.scheduler == "local":
        overrides = {name: _literal(value) for name, value in options.parameter}
        n_jobs = _cores_for(options.names[0], options.profile, options.jobs, options.cores, overrides)
        with send_heartbeats():
            folder = run_experiment(
                specification(options.names[0]),
                options.profile,
                seed=options.seed,
                n_jobs=n_jobs,
                overrides=overrides,
                time_limit=options.time_limit,
            )
        if not folder.exists():  # of a shard of the trials, which are kept
            return 0
        print(f"{options.names[0]}: done, see {short(folder)}")
        _print_surrogates(folder)
        return 0
    if options.parameter or options.seed or options.time_limit:
        raise TypeError("--parameter, --seed and --time-limit are for one experiment at a time")
    names = options.names or experiment_names()
    own = {name: getattr(options, name) for name in ("scheduler", "jobs", "cores", "shards", "dry_run")}
    failed = run_batch(names, options.profile, options=options.slurm_options, **own)
    if options.dry_run:
        return 0
    status = _report_batch(names, failed, options.profile)
    if options.all:
        from fairlab.suite.forks import answer
        from fairlab.suite.workflow import batch_log

        print(f"\n{answer(_closing, log=str(batch_log(options.profile)))}")
    return status


def _cores_for(name, profile, jobs, cores, overrides) -> int:
    """Return the number of workers of one experiment; an error says if there is too little memory for them."""
    from fairlab.suite import fitting
    from fairlab.suite.cluster import JOB_VARIABLE
    from fairlab.suite.machine import n_cores
    from fairlab.suite.memory import memory_left_gb

    n_jobs = (jobs or 1) * (cores or 1) if jobs or cores else n_cores()
    if overrides or profile not in PROFILES or os.environ.get(JOB_VARIABLE):  # of other sizes, or looked at before
        return n_jobs
    left = memory_left_gb()
    if reasons := fitting.refusals([name], profile, n_jobs if jobs or cores else 1, left):
        raise RuntimeError(f"{name} {reasons[name]}")
    return n_jobs if jobs or cores else fitting.most_cores([name], profile, n_jobs, left)


def _closing() -> str:
    """Write the scorecard and return what a batch of all experiments ends with."""
    from fairlab.suite import scorecard

    card = scorecard.scorecard()
    scorecard.write(card)
    return "\n\n".join([*scorecard.unreadable(), scorecard.ending(card)])


def _report_batch(names, failed, profile):
    from fairlab.suite.cluster import lost
    from fairlab.suite.run import Run, log_file, run_folder

    done = [name for name in names if name not in failed]
    sources = [Run.read(run_folder(name, profile)).sources().items() for name in done]
    surrogates = {variant for used in sources for variant, source in used if source == "surrogate"}
    if surrogates:
        print(f"\nsurrogate data replaced {', '.join(sorted(surrogates))}; affected results are not counted")
    print(f"\n{len(done)} of {len(names)} experiments done at {profile}: {short(results_folder() / profile)}")
    for line in lost(names, profile):
        print(f"lost: {line}", file=sys.stderr)
    for name, reason in failed.items():
        first = (reason.splitlines() or [""])[0]
        print(f"failed: {name}: {first} ({short(log_file(name, profile))})", file=sys.stderr)
    return int(bool(failed))


def _print_surrogates(folder):
    from fairlab.suite.run import Run

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
