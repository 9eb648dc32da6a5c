"""The experiments there are: one small YAML file each, ``experiments/<paper>/<experiment>.yaml``."""

import ast
import difflib
from dataclasses import dataclass, field, fields
from pathlib import Path

import nbformat
import yaml

from fairlab.paths import EXPERIMENTS, ROOT
from fairlab.suite.published import Paper, load_paper

PROFILES = ("smoke", "quick", "paper")
DEFAULT_PROFILE = "quick"


@dataclass(frozen=True)
class Specification:
    """What an experiment is, before it is run.

    Attributes
    ----------
    name : str
        ``<paper>/<experiment>``.
    title : str
    notebook : Path
    artefacts : tuple of str
        Ids of the paper's artefacts that it writes.
    data : tuple of str
        Data variants that it may load.
    profiles : dict
        Parameters of the notebook for each profile.
    size : tuple of str
        Parameters that must equal the paper profile's before published values can be compared.
    minutes : dict
        Rough minutes per profile on two cores, for planning.
    """

    name: str
    title: str
    notebook: Path
    artefacts: tuple[str, ...]
    data: tuple[str, ...]
    profiles: dict[str, dict]
    size: tuple[str, ...] = ()
    minutes: dict[str, float] = field(default_factory=dict)

    @property
    def paper(self) -> str:
        """Key of the paper."""
        return self.name.split("/")[0]

    @property
    def published(self) -> Paper:
        """The paper with its published numbers."""
        return load_paper(self.paper)

    def parameters(self, profile: str) -> dict:
        """Return the notebook's parameters under `profile`; a KeyError lists the profiles."""
        if profile not in self.profiles:
            raise KeyError(f"unknown profile {profile!r}; {self.name} has {', '.join(self.profiles)}")
        return dict(self.profiles[profile])

    def check_parameters(self, names) -> None:
        """Raise a TypeError that lists the known parameters unless all `names` are among them."""
        known = list(self.profiles[DEFAULT_PROFILE])
        for name in names:
            if name not in known:
                raise TypeError(f"{self.name} has no parameter {name!r}{suggestion(name, known)}")

    def other_size(self, parameters: dict) -> str:
        """Say which parameters keep a run from being comparable with the paper; empty if none does."""
        paper = self.parameters("paper")
        return ", ".join(
            f"{name} {parameters.get(name)} instead of {paper[name]}"
            for name in self.size
            if parameters.get(name) != paper[name]
        )


def experiment_names() -> list[str]:
    """Return the names of all experiments, ``<paper>/<experiment>``, sorted."""
    files = (path for path in EXPERIMENTS.glob("*/*.yaml") if path.stem != "published")
    return sorted(f"{path.parent.name}/{path.stem}" for path in files if path.parent.name != "profiles")


def specification(name: str) -> Specification:
    """Return the specification of the experiment `name`.

    Raises
    ------
    KeyError
        If there is no such experiment; the message lists those there are.
    ValueError
        If its file is not as it should be; the message says where.
    """
    if name not in (names := experiment_names()):
        raise KeyError(f"unknown experiment {name!r}{suggestion(name, names)}")
    return read_specification(EXPERIMENTS / f"{name}.yaml", name)


def read_specification(path: Path, name: str) -> Specification:
    """Read and check one experiment file; see `specification`."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    known = {f.name for f in fields(Specification)} - {"name"}
    required = {"title", "notebook", "artefacts", "data", "profiles"}
    if unknown := set(content) - known:
        raise ValueError(f"{path}: unknown keys {', '.join(sorted(unknown))}; known are {', '.join(sorted(known))}")
    if missing := required - set(content):
        raise ValueError(f"{path}: missing keys {', '.join(sorted(missing))}")
    lists = {key: tuple(content[key]) for key in ("artefacts", "data", "size") if key in content}
    spec = Specification(name=name, **(content | lists | {"notebook": ROOT / content["notebook"]}))
    if tuple(spec.profiles) != PROFILES:
        raise ValueError(f"{path}: expected the profiles {', '.join(PROFILES)}, found {', '.join(spec.profiles)}")
    names = {profile: list(parameters) for profile, parameters in spec.profiles.items()}
    for profile in PROFILES:
        if sorted(names[profile]) != sorted(names[DEFAULT_PROFILE]):
            raise ValueError(f"{path}: profile {profile} has the parameters {names[profile]}, quick {names['quick']}")
    if odd := set(spec.size) - set(names[DEFAULT_PROFILE]):
        raise ValueError(f"{path}: size names no parameters: {', '.join(sorted(odd))}")
    if reserved := {"profile", "seed"} & set(names[DEFAULT_PROFILE]):
        raise ValueError(f"{path}: {', '.join(sorted(reserved))} may not be a parameter of a profile")
    for artefact in spec.artefacts:
        spec.published.artefact(artefact)
    return spec


def notebook_parameters(path: Path) -> dict:
    """Return names and default values of the cell tagged ``parameters`` of a notebook.

    Raises
    ------
    ValueError
        If not exactly one cell has the tag, or it holds anything but assignments of literals.
    """
    notebook = nbformat.read(path, as_version=4)
    tagged = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ())]
    if len(tagged) != 1 or tagged[0].cell_type != "code":
        raise ValueError(f"{path}: expected one code cell tagged `parameters`, found {len(tagged)}")
    parameters = {}
    for statement in ast.parse(tagged[0].source).body:
        try:
            (target,) = statement.targets
            parameters[target.id] = ast.literal_eval(statement.value)
        except (AttributeError, ValueError, TypeError) as error:
            line = ast.unparse(statement)
            raise ValueError(f"{path}: the parameters cell may only assign literals, found `{line}`") from error
    return parameters


def suggestion(name: str, known) -> str:
    """Return the tail of an error about an unknown name: the nearest known ones and the whole list."""
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    meant = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"{meant} (known: {', '.join(known) or 'none'})"
