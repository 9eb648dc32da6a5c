"""``python -m fairlab.benchmarks``: run benchmarks, print them, write ``results/benchmarks.json``."""

import argparse
import os
import sys

from fairlab import benchmarks
from fairlab.data.project import project


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m fairlab.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run; all by default")
    parser.add_argument("--list", action="store_true", help="list the benchmarks and what they measure")
    parser.add_argument("--quick", action="store_true", help="sizes that take seconds; the numbers are meaningless")
    parser.add_argument("--rows", type=int, metavar="N", help="size of fairtest_hundred_million")
    options = parser.parse_args(arguments)
    if options.list:
        found = benchmarks.discover()
        for name, function in found.items():
            print(f"{name:<{max(map(len, found)) + 2}}{(function.__doc__ or '').partition(chr(10))[0]}")
        return 0
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # keeps TensorFlow's messages out of the rows
    try:
        _, failed = benchmarks.run(options.names, quick=options.quick, rows=options.rows, show=_show)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"written to {project().results / 'benchmarks.json'}")
    return 1 if failed else 0


def _show(row: benchmarks.Measurement) -> None:
    value = "-" if row.value is None else f"{row.value:.4g}"
    print(f"{row.name:<40}{value:>12} {row.unit:<14}{row.note}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
