"""The project's YAML files, read strictly: an error names the file, the line, and what was expected there.

>>> from fairlab.data.documents import Entry, read_document
>>> class Toy(Entry):
...     rows: int
>>> read_document("toy.yaml", Toy)  # doctest: +SKIP
ValueError: toy.yaml:1: row: unknown key 'row'; did you mean 'rows'? (known: rows)
"""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Strict, ValidationError, model_validator

from fairlab.checks import suggestion
from fairlab.data.project import project

MOST_MISTAKES = 10  # listed in one error
DEEPEST = 30  # levels; deeper nesting is a mistake, or an attack

# The C parser where PyYAML has it: many times as fast on files of this size.
Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)

Several = Annotated[tuple[T, ...], Strict(False)]
"""A YAML list that becomes a tuple; for fields of an `Entry`."""


class EntryError(ValueError):
    """Raised by a model's validator about one part of its entry.

    Parameters
    ----------
    text : str
        What is wrong.
    *place : str or int
        Keys and list positions of the part, relative to the model that raises.
    """

    def __init__(self, text: str, *place: str | int):
        super().__init__(text)
        self.place = place


class Entry(BaseModel):
    """Part of a document: immutable, without unknown keys, and without conversion of strings to numbers."""

    model_config = ConfigDict(frozen=True, strict=True, arbitrary_types_allowed=True)

    @model_validator(mode="before")
    @classmethod
    def _knows_every_key(cls, content):
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in content if isinstance(content, dict) else ():
            if key not in known:
                raise EntryError(f"unknown key {key!r}{suggestion(str(key), known)}", key)
        return content


class DecimalLoader(Loader):
    """A loader whose fractions are `Decimal`, which keeps the digits as written."""


DecimalLoader.add_constructor(
    "tag:yaml.org,2002:float", lambda _, node: Decimal(node.value.replace(".inf", "Infinity"))
)


def read_document(path: Path | str, model: type[Model], *, loader: type = Loader, error: type = ValueError) -> Model:
    """Read a YAML file and check it against a model.

    Parameters
    ----------
    path : path
    model : subclass of pydantic.BaseModel
        Preferably of `Entry`, so that unknown keys are errors.
    loader : type
        `DecimalLoader` where the digits of a number matter.
    error : type
        Raised instead of ValueError.

    Returns
    -------
    instance of `model`

    Raises
    ------
    ValueError
        If the file is not YAML, has a key twice, is nested too deep, or is not as the model says. Every mistake has
        its line: ``file:line: what is wrong``. If an entry has an unknown key, only that key is reported.
    """
    content, lines = _parse(path, loader, error)
    try:
        return model.model_validate(content)
    except ValidationError as refused:
        mistakes = sorted(_mistakes(refused, lines))
    listed = [f"{project().short(path)}:{line}: {text}" for line, text in mistakes[:MOST_MISTAKES]]
    more = [f"... and {len(mistakes) - MOST_MISTAKES} more"] if len(mistakes) > MOST_MISTAKES else []
    raise error("\n".join(listed + more))


def read_yaml(path: Path | str, *, loader: type = Loader, error: type = ValueError) -> Any:
    """Return the content of a YAML file as plain values; invalid YAML and duplicate keys are errors."""
    return _parse(path, loader, error)[0]


def _parse(path: Path | str, loader: type, error: type) -> tuple[Any, dict[tuple, int]]:
    """Return the content and the line of each of its parts."""
    lines = {}
    try:
        parser = loader(Path(path).read_text(encoding="utf-8"))
        node = parser.get_single_node()
        if node is None:
            return None, lines
        _note_lines(node, (), lines)
        return parser.construct_document(node), lines
    except UnicodeDecodeError as refused:
        raise error(f"{project().short(path)}: not UTF-8: {refused}") from refused
    except (yaml.YAMLError, RecursionError) as refused:
        mark = getattr(refused, "problem_mark", None)
        place = f"{project().short(path)}:{mark.line + 1}" if mark else project().short(path)
        raise error(f"{place}: not YAML: {getattr(refused, 'problem', None) or refused}") from refused


def _note_lines(node: yaml.Node, place: tuple, lines: dict[tuple, int]) -> None:
    """Note the lines of a node and its descendants by their places; the line of a mapping's entry is its key's."""
    if len(place) > DEEPEST:
        raise yaml.MarkedYAMLError(problem=f"nested more than {DEEPEST} deep", problem_mark=node.start_mark)
    lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for number, part in enumerate(node.value):
            _note_lines(part, (*place, number), lines)
    elif isinstance(node, yaml.MappingNode):
        for key, part in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="expected text as a key", problem_mark=key.start_mark)
            name = (*place, key.value)
            if name in lines:
                raise yaml.MarkedYAMLError(
                    problem=f"key {key.value!r} is already in line {lines[name]}", problem_mark=key.start_mark
                )
            lines[name] = key.start_mark.line + 1
            _note_lines(part, name, lines)


def _mistakes(refused: ValidationError, lines: dict[tuple, int]) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each mistake; mistakes at one place, such as one per allowed type, are joined."""
    wanted, texts = {}, {}
    for one in refused.errors(include_url=False):
        own = one.get("ctx", {}).get("error")
        place = ()
        for part in one["loc"] + getattr(own, "place", ()):  # skips missing keys and names of types
            place = (*place, part) if (*place, part) in lines else place
        if own or one["type"] == "missing":
            texts.setdefault(place, []).append(str(own or f"misses {_named(one['loc'][-1])}"))
        else:
            kind = _WANTED.get(one["type"]) or one["msg"].replace("String should match pattern", "text like")
            wanted.setdefault((place, _plain(one["input"])), []).append(kind.removeprefix("Input should be "))
    for (place, found), kinds in wanted.items():
        texts.setdefault(place, []).append(f"expected {' or '.join(dict.fromkeys(kinds))}, found {found}")
    for place, several in texts.items():
        where = " > ".join(map(_named, place)) or "the document"
        yield lines.get(place, 1), f"{where}: {'; '.join(several)}"


_WANTED = {
    "dict_type": "keys and values",
    "model_type": "keys and values",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_type": "text",
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "is_instance_of": "a number",  # `Decimal`
}


def _plain(value) -> str:
    kinds = {dict: "keys and values", list: "a list", type(None): "nothing"}
    return kinds.get(type(value)) or repr(value)


def _named(part: str | int) -> str:
    """Return a key unchanged, and a position in a list counted from 1."""
    return f"number {part + 1}" if isinstance(part, int) else part
