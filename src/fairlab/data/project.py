"""Where a clone of fairlab keeps its parts."""

import os
from dataclasses import dataclass
from pathlib import Path

from fairlab.paths import PARTIAL


@dataclass(frozen=True)
class Project:
    """The folders of a clone of fairlab.

    Attributes
    ----------
    root : Path
        The folder of the clone.
    """

    root: Path

    @property
    def experiments(self) -> Path:
        """Experiments and published numbers, a folder per paper."""
        return self.root / "experiments"

    @property
    def notebooks(self) -> Path:
        """Notebooks, a folder per paper."""
        return self.root / "notebooks"

    @property
    def labs(self) -> Path:
        """The masters of the labs."""
        return self.notebooks / "labs"

    @property
    def figures(self) -> Path:
        """The committed figures, a folder per paper."""
        return self.root / "figures"

    @property
    def docs(self) -> Path:
        """The pages of the site that are written by hand."""
        return self.root / "docs"

    @property
    def data_scripts(self) -> Path:
        """The registry of data, and the scripts that prepare it."""
        return self.root / "data_scripts"

    @property
    def registry(self) -> Path:
        """The registry of data, which every project has."""
        return self.data_scripts / "registry.yaml"

    @property
    def results(self) -> Path:
        """All results: ``FAIRLAB_RESULTS`` if set, else ``results``; as seen from the project."""
        return self.root / (os.environ.get("FAIRLAB_RESULTS") or "results")

    @property
    def trials(self) -> Path:
        """The cached trials, a folder per paper."""
        return self.results / "trials"

    @property
    def partial(self) -> Path:
        """Partial files of results that are being written, and nothing else."""
        return self.results / PARTIAL

    def short(self, path: Path | str) -> str:
        """Return a path relative to the project's root, if it is below the root."""
        path = Path(path)
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)

    def check(self) -> None:
        """Raise unless the project exists.

        Raises
        ------
        FileNotFoundError
            If it has no registry, for instance because the package was installed without a clone.
        """
        if not self.registry.exists():
            override = os.environ.get("FAIRLAB_ROOT")
            raise FileNotFoundError(
                "no fairlab project found"
                + (f" in FAIRLAB_ROOT={override}" if override else " above the installed package")
                + ": expected data_scripts/registry.yaml. Without a clone there is the library alone, without "
                "notebooks, experiments and data sets: `pip install -e .` in a clone, or set FAIRLAB_ROOT to one"
            )


def project() -> Project:
    """Return the current project: ``FAIRLAB_ROOT`` if set, else the folder above this package that has a registry.

    If there is none, the returned project does not exist; see `Project.check`.
    """
    if override := os.environ.get("FAIRLAB_ROOT"):
        return Project(Path(override))
    above = [Project(folder) for folder in Path(__file__).resolve().parents]
    return next((found for found in above if found.registry.exists()), above[0])


def from_project(path: str) -> Path:
    """Return a path of the environment, relative to the project if there is one: notebooks run in other folders."""
    return project().root / path if project().registry.exists() else Path(path)
