"""Write the parameters of a surrogate."""

import yaml

from fairlab.data.documents import Entry
from fairlab.data.registry import Variant
from fairlab.paths import project, write_text


class _Dumper(yaml.SafeDumper):
    """Writes tuples as lists."""


_Dumper.add_representer(tuple, _Dumper.represent_list)


def parameters(model: Entry) -> dict:
    """Return the plain values of a fitted model."""
    return model.model_dump(by_alias=True)


def write_surrogate(variant: Variant, head: str, content: dict) -> None:
    """Write a surrogate's file: a comment, of which variant it is, and what `content` adds."""
    content = {"variant": variant.name, **content}
    body = yaml.dump(content, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=118, allow_unicode=True)
    write_text(project().data_scripts / variant.surrogate.file, head + body)
