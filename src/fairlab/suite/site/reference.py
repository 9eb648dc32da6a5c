"""The reference: one page a room of the library, with every public name, its source and its examples."""

import importlib
import inspect

# Rooms of the library with public names, in the order in which a reader meets them, and what they are for.
ROOMS = {
    "fairlab": "The door: a case, an audit, two models compared, a data set, an experiment",
    "fairlab.auditing": "All methods on one case, and the report",
    "fairlab.cases": "A model with its table: one adapter, one cache of answers, one domain of inputs",
    "fairlab.fliptest": "FlipTest: people and their counterparts",
    "fairlab.fairtest": "FairTest: subpopulations in which outputs go with a protected attribute",
    "fairlab.individual_fairness": "Inference for individual fairness: attacks inside a fair metric",
    "fairlab.themis": "Themis: programs tested by generated inputs",
    "fairlab.adf": "ADF and Aequitas: discriminatory inputs of a network",
    "fairlab.models": "Models under test, and how any model comes in",
    "fairlab.transport": "Optimal transport: exact, by networks, in one dimension",
    "fairlab.networks": "Networks given by their weights",
    "fairlab.data": "Data sets with their provenance",
    "fairlab.suite.labs": "What the labs of a course use",
}


def public_names(room: str) -> list[str]:
    """Return the public names of a room that are documented there: each in one room, at the door if in no other."""
    return [name for name in importlib.import_module(room).__all__ if _home(described(room, name))[0] == room]


def _home(thing) -> tuple[str, str]:
    """Return the room in which something is documented, and its name there."""
    for room in [*ROOMS][1:] + [*ROOMS][:1]:
        for name in importlib.import_module(room).__all__:
            if described(room, name) is thing:
                return room, name
    raise LookupError(f"{thing!r} has no public name")


def described(room: str, name: str):
    """Return the object behind a public name, for its docstring."""
    return getattr(importlib.import_module(room), name)


def has_docstring(thing) -> bool:
    """Say whether a public name is a class or a function: data is described in its room's docstring."""
    return inspect.isclass(thing) or inspect.isroutine(thing)


def room_page(room: str) -> str:
    """Return the page of a room as reStructuredText."""
    title = f"``{room}``"
    parts = [title, "=" * len(title), "", f"{ROOMS[room]}.", "", f".. automodule:: {room}", "   :no-members:", ""]
    names = public_names(room)
    elsewhere = [name for name in importlib.import_module(room).__all__ if name not in names]
    for name in elsewhere:
        parts += [f"* ``{room}.{name}`` is :obj:`{'.'.join(_home(described(room, name)))}`"]
    parts += [""]
    parts += [".. currentmodule:: " + room, "", ".. autosummary::", "   :nosignatures:", ""]
    parts += [f"   {name}" for name in names]
    for name in names:
        thing = described(room, name)
        directive = "autoclass" if inspect.isclass(thing) else "autofunction" if callable(thing) else "autodata"
        members = ["   :members:"] if directive == "autoclass" and not issubclass(thing, BaseException) else []
        parts += ["", name, "-" * len(name), "", f".. {directive}:: {room}.{name}", *members]
    return "\n".join(parts) + "\n"
