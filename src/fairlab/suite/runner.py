"""One experiment of a batch, in its own process that is forked with preloaded libraries.

``python -m fairlab.suite.runner NAME ...`` is the job of Snakemake: ``fairlab run NAME ...`` by the batch that it
belongs to, or where there is none, as on a cluster, by itself. It imports next to nothing, since all jobs wait at once.
"""

import os
import sys

from fairlab.suite import pool


def run(name: str, profile: str, n_jobs: int, variables: dict[str, str], connection) -> None:
    """Run an experiment in this process, which is for nothing else, and send how it ended.

    What is sent: whether it ended well; a line on what it reproduced, or the reason of the failure; the seconds that
    this process and its kernel computed.
    """
    os.environ.update(variables)
    from fairlab.suite.catalogue import specification
    from fairlab.suite.comparison import compare, short_line
    from fairlab.suite.notebook import run_experiment
    from fairlab.suite.run import Run

    try:
        folder = run_experiment(specification(name), profile, n_jobs=n_jobs, forked=hasattr(os, "fork"))
        good, line = True, short_line(compare(Run.read(folder)))
    except Exception as error:  # whatever it is, the batch goes on and says so
        good, line = False, str(error) or type(error).__name__
    times = os.times()
    connection.send((good, line, times.user + times.system + times.children_user + times.children_system))


def ask(name: str) -> bool:
    """Let this process's batch run an experiment, and return whether it succeeded."""
    with pool.call("experiment", name) as connection:
        try:
            return connection.recv()
        except (EOFError, OSError):  # the batch was stopped
            return False


def _failed(arguments) -> str:
    """Return why an experiment failed by itself in this batch on a cluster, nothing if it did not."""
    from fairlab.suite.run import failure_file

    file = failure_file(arguments[0], arguments[arguments.index("--profile") + 1])
    return file.read_text(encoding="utf-8") if file.exists() else ""


def main(arguments: list[str]) -> int:
    """Run one Snakemake job and return its exit status."""
    if pool.address():
        return 0 if ask(arguments[0]) else 1
    if os.environ.get("FAIRLAB_CLUSTER_JOB") and (text := _failed(arguments)):
        print(f"not retried: {text}", file=sys.stderr)
        return 1
    os.execv(sys.executable, [sys.executable, "-m", "fairlab", "run", *arguments])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
