"""The command ``fairlab list``: experiments with tables and figures, data, minutes and memory."""

import json

from fairlab.suite.catalogue import PROFILES, experiment_names, specification


def add_list(command) -> None:
    """Add the verb; `command` makes one from its name, function and help."""
    sub = command("list", run, "list the experiments with their tables and figures, data, minutes and memory")
    sub.add_argument("--json", action="store_true", help="as JSON")


def run(options) -> None:
    """Print the experiments."""
    from fairlab.data import state_of

    specs = [specification(name) for name in experiment_names()]
    rows = [
        {
            "experiment": spec.name,
            "paper": spec.paper,
            "artefacts": list(spec.artefacts),
            "data": {variant: state_of(variant) for variant in spec.data},
            "minutes": spec.minutes.model_dump() if spec.minutes else {},
            "gigabytes": spec.gigabytes.model_dump(exclude_none=True) if spec.gigabytes else {},
        }
        for spec in specs
    ]
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    measured = ("minutes", "gigabytes")
    header = ("experiment", "tables and figures", "data", *(f"{of} ({'/'.join(PROFILES)})" for of in measured))
    table = [
        (
            row["experiment"],
            ", ".join(row["artefacts"]),
            ", ".join(f"{name} ({state})" for name, state in row["data"].items()),
            *(" / ".join(f"{row[of][p]:g}" if p in row[of] else "?" for p in PROFILES) for of in measured),
        )
        for row in rows
    ]
    _print_table(header, table)


def _print_table(header, rows):
    widths = [max(len(str(row[j])) for row in [header, *rows]) for j in range(len(header))]
    for row in [header, *rows]:
        print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
