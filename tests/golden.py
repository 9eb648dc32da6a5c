"""Compare two results folders, number by number: ``python tests/golden.py OLD NEW [--profile smoke]``.

For changes that must not move a number: run the batch before and after, each into its own folder (``FAIRLAB_RESULTS``),
and compare. Records, claims and tables must be equal, but for what counts seconds. Exit status 1 where they are not.
"""

import argparse
import json
import sys
from pathlib import Path

import pandas as pd

COUNT_SECONDS = {("adf/cost", "table-8"), ("fairtest/performance", "figure-6"), ("fairtest/performance", "section-6.2")}


def entries(run: Path, experiment: str) -> dict:
    """Return all numbers and claims of a run, by file, artefact, id and reading."""
    found = {}
    for name, side in (("records", "values"), ("claims", "holds")):
        for entry in json.loads((run / f"{name}.json").read_text()):
            if (experiment, entry["artefact"]) not in COUNT_SECONDS:
                found[name, entry["artefact"], entry["id"], entry.get("reading", "")] = entry[side]
    for table in (run / "tables").glob("*.csv"):
        if (experiment, table.stem.split("_")[0]) not in COUNT_SECONDS:
            frame = pd.read_csv(table, keep_default_na=False, dtype=str)
            found["tables", table.stem, "", ""] = [list(frame.columns), *frame.to_numpy().tolist()]
    return found


def runs(folder: Path, profile: str) -> dict[str, Path]:
    """Return the published runs of a profile, by experiment."""
    homes = {f"{file.parts[-3]}/{file.parts[-2]}": file.parent for file in (folder / profile).glob("*/*/current")}
    return {name: home / (home / "current").read_text().split()[0] for name, home in homes.items()} or {
        f"{file.parts[-3]}/{file.parts[-2]}": file.parent for file in (folder / profile).glob("*/*/records.json")
    }


def difference(old, new) -> str:
    """Say in a line how two values differ."""
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
        return f"{len(pairs)} of {len(old)} differ, first {str(pairs[0][0])[:60]} -> {str(pairs[0][1])[:60]}"
    return f"{str(old)[:60]} -> {str(new)[:60]}"


def main() -> int:
    """Print what differs between two results folders."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--profile", default="smoke")
    parser.add_argument("--only", default="", help="experiments whose name begins so")
    options = parser.parse_args()
    old, new = (runs(folder, options.profile) for folder in (options.old, options.new))
    old = {name: run for name, run in old.items() if name.startswith(options.only)}
    if not old:
        sys.exit(f"no runs of {options.profile} in {options.old}")
    n_different = n_equal = 0
    for name in sorted(old):
        if name not in new:
            print(f"{name}: not run")
            n_different += 1
            continue
        before, after = entries(old[name], name), entries(new[name], name)
        for key in sorted(before.keys() | after.keys()):
            if before.get(key) == after.get(key):
                n_equal += 1
                continue
            n_different += 1
            print(name, *filter(None, key), "|", difference(before.get(key, "missing"), after.get(key, "missing")))
    print(f"{len(old)} experiments, {n_equal} equal, {n_different} different")
    return int(n_different > 0)


if __name__ == "__main__":
    sys.exit(main())
