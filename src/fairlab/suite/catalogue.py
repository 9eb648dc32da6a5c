"""The catalogue of experiments: one YAML file each, ``experiments/<paper>/<experiment>.yaml``."""

import fnmatch
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from fairlab.checks import check_count, check_number, suggestion
from fairlab.data.documents import Entry, EntryError, Several, read_document
from fairlab.data.project import project
from fairlab.suite.published import Paper, load_paper

PROFILES = ("smoke", "quick", "paper")
CUSTOM = "custom"  # profile of a run whose parameters are those of no profile
OWN_GB = 0.6  # of a notebook's process besides what its experiment declares, and of its runner
# Of a number: a run of ours, what the authors stored, or a data set whose rows and columns are only counted.
EVIDENCE = ("run", "stored models", "stored outputs", "counted data")
DEFAULT_PROFILE = "quick"


class Profiles(Entry):
    """Parameters of a notebook for each profile."""

    smoke: dict[str, Any]
    quick: dict[str, Any]
    paper: dict[str, Any]

    @model_validator(mode="after")
    def _have_the_same_parameters(self):
        for profile, names in self:
            if names.keys() != self.quick.keys():
                raise EntryError(f"has the parameters {', '.join(names)}, quick {', '.join(self.quick)}", profile)
            if reserved := {"experiment", "profile", "seed"}.intersection(names):
                raise EntryError(f"{', '.join(sorted(reserved))} may not be a parameter of a profile", profile)
        return self


class Measured(Entry):
    """Measured minutes or GB for each profile; an unmeasured paper profile takes at least those of quick."""

    smoke: float
    quick: float
    paper: float | None = None

    def least(self, profile: str) -> float:
        """Return the value of a profile, or its lower bound."""
        own = getattr(self, profile)
        return self.quick if own is None else own


class Specification(Entry):
    """Specification of an experiment.

    Attributes
    ----------
    name : str
        ``<paper>/<experiment>``, from the path of the file.
    title : str
    artefacts : tuple of str
        Ids of the tables and figures that it writes.
    data : tuple of str
        Data variants that it may load.
    files : tuple of str
        Other files of the registry, or folders of them, that it reads if they are available.
    profiles : Profiles
        Parameters of the notebook for each profile.
    size : dict of str to tuple of str
        Parameters that must have the `paper` values before numbers are judged, and which numbers: artefacts, or
        patterns ``artefact:id``; a list of parameters in the file applies to all.
    bounds : dict of str to tuple
        The smallest and, if there is one, the largest value of a parameter that is a count. Others are at least 1, or 0
        if a profile has it; numbers that are no counts are above 0.
    protocol : dict
        Published sizes that the paper profile does not reach; it is then not comparable either.
    stored : dict of str to tuple of str
        Which numbers score what the authors stored instead of coming from a run of ours: patterns ``artefact:id`` of
        those that rest on their trained models (``models``) or on outputs of their runs (``outputs``).
    counted : tuple of str
        Patterns of the numbers that only count the rows or columns of a data set, or of the half that FairTest tests;
        no method has a part in them.
    fixed : tuple of str
        Patterns of the numbers whose trials are given by the paper, such as splits by its seeds, and not drawn.
    minutes : Measured
        Minutes on one core, used for scheduling a batch and estimating its duration; an hour if none are stated.
    gigabytes : Measured
        Memory on one core, in addition to what every experiment needs.
    after : tuple of str
        Experiments whose trials this one reuses; in a batch they run first, so that no trial is computed twice.
    """

    title: str
    artefacts: Several[str]
    data: Several[str]
    files: Several[str] = ()
    profiles: Profiles
    size: dict[str, Several[str]] = Field(default_factory=dict)
    bounds: dict[str, Several[int]] = Field(default_factory=dict)
    protocol: dict[str, Any] = Field(default_factory=dict)
    stored: dict[Literal["models", "outputs"], Several[str]] = Field(default_factory=dict)
    counted: Several[str] = ()
    fixed: Several[str] = ()
    minutes: Measured = Measured(smoke=60, quick=60)
    gigabytes: Measured = Measured(smoke=0, quick=0)
    after: Several[str] = ()
    name: str = Field("", exclude=True)

    @field_validator("size", mode="before")
    @classmethod
    def _a_list_is_for_all(cls, size):
        return dict.fromkeys(size, ("*",)) if isinstance(size, list) else size

    @model_validator(mode="after")
    def _sizes_are_parameters(self):
        for key in ("size", "bounds"):
            if odd := set(getattr(self, key)).difference(self.profiles.quick):
                raise EntryError(f"no parameters of the profiles: {', '.join(sorted(odd))}", key)
        if odd := set(self.protocol).difference(self.size):
            raise EntryError(f"no sizes: {', '.join(sorted(odd))}", "protocol")
        return self

    @property
    def notebook(self) -> Path:
        """The notebook, which has the name of the experiment."""
        return project().notebooks / f"{self.name}.ipynb"

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
        if profile not in PROFILES:
            raise KeyError(f"unknown profile {profile!r}; {self.name} has {', '.join(PROFILES)}")
        return dict(getattr(self.profiles, profile))

    def checked(self, parameters: dict) -> dict:
        """Return parameters of a run with counts as integers.

        Raises
        ------
        ValueError
            For one that is out of bounds, or of another kind than in the profiles.
        """
        return {
            name: _checked(value, name, [of_profile[name] for _, of_profile in self.profiles], self.bounds.get(name))
            for name, value in parameters.items()
        }

    def need_gb(self, profile: str, n_cores: int) -> float:
        """Return the memory that it needs, in GB; a lower bound where the paper profile was not measured."""
        return OWN_GB + n_cores * self.gigabytes.least(profile)

    def refusal(self, profile: str, n_cores: int, left_gb: float) -> str | None:
        """Return why it does not fit into memory, None if it does."""
        need, least = self.need_gb(profile, n_cores), self.need_gb(profile, 1)
        if need <= left_gb:
            return None
        advice = "it fits with --cores 1" if least <= left_gb else "choose a smaller --profile"
        cores = f"{n_cores} core" + "s" * (n_cores > 1)
        return f"needs {need:.1f} GB of memory on {cores}, {left_gb:.1f} GB are available; {advice}"

    def other_size(self, parameters: dict, artefact: str, id: str) -> str:
        """Return the parameters that prevent comparing a number or claim of a run; empty if there are none."""
        published = self.parameters("paper") | self.protocol
        return ", ".join(
            f"{name} {parameters.get(name)} instead of {published[name]}"
            for name, patterns in self.size.items()
            if parameters.get(name) != published[name] and _depends(patterns, artefact, id)
        )

    def evidence(self, artefact: str, id: str) -> str:
        """Return what a number rests on, a word of `EVIDENCE`."""
        kinds = {EVIDENCE[3]: self.counted} | {f"stored {kind}": patterns for kind, patterns in self.stored.items()}
        return next((kind for kind, patterns in kinds.items() if _depends(patterns, artefact, id)), EVIDENCE[0])

    def is_drawn(self, artefact: str, id: str) -> bool:
        """Return whether the trials behind a number are draws, so that other ones might well differ."""
        return self.evidence(artefact, id) in EVIDENCE[:2] and not _depends(self.fixed, artefact, id)


def experiment_names(paper: str = "*") -> list[str]:
    """Return the names of the experiments of a paper (default: of all), ``<paper>/<experiment>``, sorted.

    Raises
    ------
    FileNotFoundError
        Where the library is installed without its project.
    """
    project().check()
    files = (path for path in project().experiments.glob(f"{paper}/*.yaml") if path.stem != "published")
    return sorted(f"{path.parent.name}/{path.stem}" for path in files if path.parent.name != "profiles")


def selected(names: Iterable[str], known: list[str], mark: str) -> list[str]:
    """Return those of `known`, such as ``adf:table-4``, that `names` name, or their paper; all if there are no names.

    Raises
    ------
    KeyError
        For a name that is neither; the message suggests known ones.
    """
    papers = dict.fromkeys(one.partition(mark)[0] for one in known)
    for name in names:
        if name not in (*known, *papers):
            of_paper = [one for one in known if one.partition(mark)[0] == name.partition(mark)[0]]
            raise KeyError(
                f"expected a paper, or a table or figure as in adf{mark}table-4, "
                f"found {name!r}{suggestion(name, of_paper or papers)}"
            )
    return [one for one in known if not names or {one, one.partition(mark)[0]}.intersection(names)]


def other_notebooks() -> list[str]:
    """Return the names of the notebooks that belong to no experiment and no lab, such as ``your_model``, sorted."""
    folder = project().notebooks  # in which JupyterLab keeps copies in hidden folders
    files = [*folder.glob("*.ipynb"), *folder.glob("[!.]*/*.ipynb")]
    paths = [path.relative_to(folder).with_suffix("") for path in files]
    return sorted({str(path) for path in paths if path.parent.name != "labs"} - set(experiment_names()))


def inputs(names: Iterable[str]) -> list[str]:
    """Return the data sets of experiments, and the other files and folders that they read, sorted."""
    return sorted({data for name in names for data in (*specification(name).data, *specification(name).files)})


def specification(name: str) -> Specification:
    """Return the specification of the experiment `name`.

    Raises
    ------
    KeyError
        If there is no such experiment; the message suggests known ones.
    ValueError
        If its file is invalid; the message says where.
    """
    if name not in (names := experiment_names()):
        raise KeyError(f"unknown experiment {name!r}{suggestion(name, names)}")
    file = project().experiments / f"{name}.yaml"
    spec = read_document(file, Specification).model_copy(update={"name": name})
    written = list(spec.artefacts)
    for artefact in map(spec.published.artefact, spec.artefacts):
        written += [f"{artefact.id}:{id}" for id in artefact.values | artefact.claims]
    for key, patterns in [*spec.size.items(), *spec.stored.items(), ("counted", spec.counted), ("fixed", spec.fixed)]:
        if none := [pattern for pattern in patterns if not fnmatch.filter(written, pattern)]:
            raise ValueError(
                f"{project().short(file)}: {key}: {none[0]!r} is not a table, figure or row that it writes"
            )
    return spec


def _checked(value, name, usual, bounds):
    """Return the value of a parameter; raise a ValueError if it cannot be one beside the usual ones."""
    if any(isinstance(own, list) for own in usual):
        if not isinstance(value, list) or not value:
            raise ValueError(f"{name}: expected a list such as {usual[-1]}, found {value!r}")
        return [_checked(part, name, list(chain(*usual)), bounds) for part in value]
    if value is None and None in usual:
        return None
    numbers = [own for own in usual if own is not None]
    kinds = set(map(type, numbers))
    if kinds == {int}:
        return check_count(value, name, **dict(zip(("least", "most"), bounds or (min(1, *numbers),), strict=False)))
    if kinds <= {int, float}:
        check_number(value, name, above=0)
    return value


def _depends(patterns, artefact: str, id: str) -> bool:
    return any(fnmatch.filter([artefact, f"{artefact}:{id}"], pattern) for pattern in patterns)
