"""The settings files of Themis 1.0 and 2.0, which describe a program's inputs."""

from pathlib import Path
from xml.etree import ElementTree

from fairlab.cases.schema import CaseError, Schema


def read_settings(path: str | Path) -> Schema:
    """Read the input section of a Themis settings file.

    Types are ``categorical``, with a list of values, and ``continuousInt``, with bounds. The upper bound is included,
    as in Themis 2.0; version 1.0 excluded it.

    Raises
    ------
    CaseError
        If the file is not XML, two inputs have one name, or an input lacks a part or has another type.

    Examples
    --------
    >>> from fairlab.papers.themis.settings import read_settings
    >>> import tempfile
    >>> from pathlib import Path
    >>> values = "<values><value>f</value><value>m</value></values>"
    >>> sex = f"<input><name>sex</name><type>categorical</type>{values}</input>"
    >>> text = f"<settings><inputs>{sex}</inputs></settings>"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "settings.xml").write_text(text)
    ...     read_settings(Path(folder, "settings.xml")).names
    ['sex']
    """
    if not isinstance(path, str | Path):
        raise TypeError(f"path: expected the path of a settings file, found {path!r}")
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError as error:
        raise CaseError(f"{path}: not XML: {error}") from error
    found = {}
    for element in root.iter("input"):
        name, kind = (_text(element, tag, path) for tag in ("name", "type"))
        if name in found:
            raise CaseError(f"{path}: two inputs are named {name!r}")
        if kind == "categorical":
            found[name] = [value.text.strip() for value in element.iter("value") if value.text]
        elif kind == "continuousInt":
            found[name] = {"low": _bound(element, "lowerbound", path), "high": _bound(element, "upperbound", path)}
        else:
            raise CaseError(f"{path}: input {name!r} has type {kind!r}, expected categorical or continuousInt")
    return Schema.from_dict(found)


def _text(element: ElementTree.Element, tag: str, path) -> str:
    found = next(element.iter(tag), None)
    if found is None or not (found.text or "").strip():
        raise CaseError(f"{path}: an input lacks {tag!r}")
    return found.text.strip()


def _bound(element: ElementTree.Element, tag: str, path) -> int:
    text = _text(element, tag, path)
    try:
        return int(text)
    except ValueError:
        raise CaseError(f"{path}: {tag} is {text!r}, expected a whole number") from None
