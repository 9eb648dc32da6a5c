"""The project's YAML files, read strictly: an error names the file, the line, and what was expected there.

>>> from fairlab.data.documents import Entry, read_document
>>> class Toy(Entry):
...     rows: int
>>> read_document("toy.yaml", Toy)  # doctest: +SKIP
ValueError: toy.yaml:1: unknown key 'row'; did you mean 'rows'? (known: rows)
"""

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, Strict, ValidationError
from pydantic_core import PydanticCustomError, core_schema

from fairlab.checks import suggestion
from fairlab.paths import ROOT

MOST_MISTAKES = 10  # listed in one error

# The C parser where PyYAML has it: many times as fast on files of this size.
Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)

Several = Annotated[tuple[T, ...], Strict(False)]
"""A YAML list that becomes a tuple; for fields of an `Entry`."""


class Entry(BaseModel):
    """Part of a document: immutable, every key known, no text taken for a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class EntryError(ValueError):
    """What a validator of a model raises about a part of its entry.

    Parameters
    ----------
    text : str
        What is wrong.
    *place : str or int
        Keys and numbers that lead to the part, from the model that raises.
    """

    def __init__(self, text: str, *place: str | int):
        super().__init__(text)
        self.place = place


class Printed(float):
    """A float that remembers how it was written, for published numbers; `PrintedLoader` makes them.

    As the type of a field it takes every number and leaves it as it is: integers stay integers.
    """

    text: str

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        return core_schema.no_info_plain_validator_function(_number)


class PrintedLoader(Loader):
    """A loader whose floats are `Printed`."""


def _printed(loader, node) -> Printed:
    number = Printed(loader.construct_yaml_float(node))
    number.text = node.value
    return number


PrintedLoader.add_constructor("tag:yaml.org,2002:float", _printed)


def read_document(path: Path | str, model: type[Model], *, loader: type = Loader, error: type = ValueError) -> Model:
    """Read a YAML file and check it against a model.

    Parameters
    ----------
    path : path
    model : subclass of pydantic.BaseModel
        Best of `Entry`, for then unknown keys are errors.
    loader : type
        `PrintedLoader` where the digits of a number matter.
    error : type
        Raised instead of ValueError.

    Returns
    -------
    instance of `model`

    Raises
    ------
    ValueError
        If the file is not YAML, has a key twice, or is not as the model says. Every mistake has a line of its own:
        ``file:line: what is wrong``, for an unknown key with the nearest known ones.
    """
    content, node = _parse(path, loader, error)
    try:
        return model.model_validate(content)
    except ValidationError as refused:
        mistakes = sorted(_mistakes(refused, model, node))
    lines = [f"{_shown(path)}:{line}: {text}" for line, text in mistakes[:MOST_MISTAKES]]
    if len(mistakes) > MOST_MISTAKES:
        lines.append(f"... and {len(mistakes) - MOST_MISTAKES} more")
    raise error("\n".join(lines))


def read_yaml(path: Path | str, *, loader: type = Loader, error: type = ValueError) -> Any:
    """Return the content of a YAML file as plain values; what is not YAML, or has a key twice, is an error."""
    return _parse(path, loader, error)[0]


def _parse(path: Path | str, loader: type, error: type) -> tuple[Any, yaml.Node | None]:
    """Return the content and the tree of nodes, which know their lines."""
    try:
        parser = loader(Path(path).read_text(encoding="utf-8"))
        node = parser.get_single_node()
        if node is None:
            return None, None
        for line, key, first in _doubled_keys(node):
            raise error(f"{_shown(path)}:{line}: key {key!r} is already in line {first}")
        return parser.construct_document(node), node
    except UnicodeDecodeError as refused:
        raise error(f"{_shown(path)}: not UTF-8: {refused}") from refused
    except yaml.YAMLError as refused:
        mark = getattr(refused, "problem_mark", None)
        place = f"{_shown(path)}:{mark.line + 1}" if mark else _shown(path)
        raise error(f"{place}: not YAML: {getattr(refused, 'problem', None) or refused}") from refused


def _doubled_keys(node: yaml.Node) -> Iterator[tuple[int, str, int]]:
    """Yield line and name of every key that its mapping has already, and the line where that is."""
    waiting, seen = [node], set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen or isinstance(node, yaml.ScalarNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
            continue
        first = {}
        for key, value in node.value:
            waiting.append(value)
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            name = (key.tag, key.value)
            if name in first:
                yield _line(key), key.value, first[name]
            first[name] = _line(key)


def _mistakes(refused: ValidationError, model: type, root: yaml.Node | None) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each mistake; those of one place, as of several types allowed there, are one."""
    expected, missing = {}, {}
    for one in refused.errors(include_url=False):
        place, kind = one["loc"], one["type"]
        own = one.get("ctx", {}).get("error") if kind == "value_error" else None
        if kind == "extra_forbidden":
            key = place[-1]
            found, where = _find(root, place)
            yield _line(found), f"unknown key {key!r}{_within(where[:-1])}{suggestion(str(key), _known(model, place))}"
        elif kind == "missing":
            found, where = _find(root, place[:-1])
            missing.setdefault((_line(found), where), []).append(_named(place[-1]))
        else:
            found, where = _find(root, place + getattr(own, "place", ()))
            texts = expected.setdefault((_line(found), where), [_plain(one["input"])])
            texts.append(str(own or _WANTED.get(kind) or one["msg"]))
    for (line, where), names in missing.items():
        yield line, f"{_path(where) or 'the document'} misses {', '.join(names)}"
    for (line, where), (found, *texts) in expected.items():
        yield line, f"{_path(where) or 'the document'}: {_joined(texts, found)}"


_WANTED = {
    kind: f"Input should be {what}"
    for what, kinds in {
        "keys and values": ("dict_type", "model_type"),
        "a list": ("list_type", "tuple_type"),
        "text": ("string_type",),
        "an integer": ("int_type",),
        "a number": ("float_type",),
        "true or false": ("bool_type",),
    }.items()
    for kind in kinds
}


def _joined(texts: list[str], found: str) -> str:
    wanted = [text.removeprefix("Input should be ") for text in texts]
    if wanted == texts:  # the text of one of our own checks
        return "; ".join(dict.fromkeys(texts))
    return f"expected {' or '.join(dict.fromkeys(wanted))}, found {found}"


def _find(node: yaml.Node | None, place: tuple) -> tuple[yaml.Node | None, tuple[str, ...]]:
    """Return the node at a place, for an entry of a mapping its key, and the part of the place that is in the file."""
    marked, where = node, []
    for part in place:
        if isinstance(node, yaml.MappingNode):
            entry = next(((key, value) for key, value in node.value if key.value == str(part)), None)
            if entry is None:
                break
            marked, node = entry
            where.append(str(part))
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            marked = node = node.value[part]
            where.append(_named(part))
        else:
            break
    return marked, tuple(where)


def _known(model: type, place: tuple) -> list[str]:
    """Return the keys that the model knows beside the last one of a place."""
    kinds = [model]
    for part in place[:-1]:
        kinds = [inner for kind in kinds for option in _options(kind) for inner in _inside(option, part)]
    fields = [kind.model_fields for kind in _all_options(kinds) if _is_model(kind)]
    return list(dict.fromkeys(field.alias or name for known in fields for name, field in known.items()))


def _inside(kind, part) -> list:
    """Return the type of the part of `kind` under a key or number, in a list; an empty list if there is none."""
    if _is_model(kind):
        return [field.annotation for name, field in kind.model_fields.items() if (field.alias or name) == part]
    inner = get_args(kind)
    return [inner[1]] if get_origin(kind) is dict else list(inner[:1]) if get_origin(kind) in (list, tuple) else []


def _all_options(kinds: list) -> list:
    return [option for kind in kinds for option in _options(kind)]


def _options(kind) -> list:
    """Return the members of a union, without annotations."""
    if get_origin(kind) is Annotated:
        return _options(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return _all_options(list(get_args(kind)))
    return [kind]


def _is_model(kind) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _number(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PydanticCustomError("number", "Input should be a number")
    return value


def _plain(value) -> str:
    kinds = {dict: "keys and values", list: "a list", type(None): "nothing"}
    return kinds.get(type(value)) or repr(value)


def _within(where: tuple[str, ...]) -> str:
    return f" in {_path(where)}" if where else ""


def _path(where: tuple[str, ...]) -> str:
    return " > ".join(where)


def _named(part: str | int) -> str:
    """Return a key as it stands and the place in a list as people count."""
    return f"number {part + 1}" if isinstance(part, int) else part


def _line(node: yaml.Node | None) -> int:
    return node.start_mark.line + 1 if node is not None else 1


def _shown(path: Path | str) -> str:
    """Return the path as seen from the project, if it is part of it."""
    path = Path(path)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)
