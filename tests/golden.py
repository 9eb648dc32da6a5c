"""Compare two results folders, number by number: ``python tests/golden.py OLD NEW [PROFILE]``, by default of `smoke`.

For changes that must not move a number: run the batch before and after, each into its own folder (``FAIRLAB_RESULTS``),
and compare. Records, claims and tables must be equal, except those that count seconds. The exit status is 1 if they are
not, or if there is no run.
"""

import json
import sys
from pathlib import Path

COUNT_SECONDS = {("adf/cost", "table-8"), ("fairtest/performance", "figure-6"), ("fairtest/performance", "section-6.2")}


def numbers(folder: str, profile: str) -> dict[tuple, list]:
    """Return the values or lines of the published runs by experiment, table or figure, and place."""
    found = {}
    for current in Path(folder, profile).glob("*/*/current"):
        run, experiment = current.parent / current.read_text().split()[0], "/".join(current.parts[-3:-1])
        for entry in [one for name in ("records", "claims") for one in json.loads((run / f"{name}.json").read_text())]:
            place = experiment, entry["artefact"], entry["id"], entry.get("reading", "claim")
            found[place] = entry["values" if "values" in entry else "holds"]
        for table in (run / "tables").glob("*.csv"):
            found[experiment, table.stem.split("_")[0], table.name] = table.read_text().splitlines()
    return {place: values for place, values in found.items() if place[:2] not in COUNT_SECONDS}


def main(old_folder: str, new_folder: str, profile: str = "smoke") -> bool:
    """Print the differences between two results folders, and return whether there are any."""
    old, new = numbers(old_folder, profile), numbers(new_folder, profile)
    experiments = {name for name, *_ in old}
    places = sorted(place for place in old.keys() | new.keys() if place[0] in experiments)
    different = [place for place in places if old.get(place) != new.get(place)]
    for place in different:
        print(*place, "|", *(str(side.get(place))[:60] for side in (old, new)), sep="  ")
    print(f"{len(experiments)} experiments, {len(places) - len(different)} equal, {len(different)} different")
    return bool(different) or not experiments


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
