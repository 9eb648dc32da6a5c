"""Compare two results folders, number by number: ``python tests/golden.py OLD NEW [--profile smoke]``.

For changes that must not move a number: run the batch before and after, each into its own folder (``FAIRLAB_RESULTS``),
and compare. Records, claims and tables must be equal, but for what counts seconds. Exit status 1 where they are not.
"""

import argparse
import json
import sys
from pathlib import Path

COUNT_SECONDS = {("adf/cost", "table-8"), ("fairtest/performance", "figure-6"), ("fairtest/performance", "section-6.2")}


def numbers(folder: Path, profile: str) -> dict[tuple, list]:
    """Return what the published runs hold: by experiment, table or figure, and place a list of values or of lines."""
    found = {}
    for current in (folder / profile).glob("*/*/current"):
        run, experiment = current.parent / current.read_text().split()[0], "/".join(current.parts[-3:-1])
        for entry in json.loads((run / "records.json").read_text()):
            found[experiment, entry["artefact"], entry["id"], entry["reading"]] = entry["values"]
        for entry in json.loads((run / "claims.json").read_text()):
            found[experiment, entry["artefact"], entry["id"], "claim"] = [entry["holds"]]
        for table in (run / "tables").glob("*.csv"):
            found[experiment, table.stem.split("_")[0], table.name] = table.read_text().splitlines()
    return {place: values for place, values in found.items() if place[:2] not in COUNT_SECONDS}


def main() -> int:
    """Print what differs between two results folders."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--profile", default="smoke")
    parser.add_argument("--only", default="", help="experiments whose name begins so")
    options = parser.parse_args()
    old, new = (numbers(folder, options.profile) for folder in (options.old, options.new))
    experiments = {name for name, *_ in old if name.startswith(options.only)}
    if not experiments:
        sys.exit(f"no runs of {options.profile} in {options.old}")
    places = sorted(place for place in old.keys() | new.keys() if place[0] in experiments)
    different = [place for place in places if old.get(place) != new.get(place)]
    for place in different:
        print(*place, "|", *(str(side.get(place))[:60] for side in (old, new)), sep="  ")
    print(f"{len(experiments)} experiments, {len(places) - len(different)} equal, {len(different)} different")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
