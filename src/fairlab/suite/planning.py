"""What a batch has to run, and what each experiment needs: its state, minutes and memory."""

from collections.abc import Iterable

from fairlab.paths import project
from fairlab.suite.catalogue import specification
from fairlab.suite.fingerprint import notebook_fingerprint
from fairlab.suite.notebook import code_of
from fairlab.suite.run import Run, UnreadableRunError, failure_file, run_folder

OWN_GB = 0.6  # of a notebook's process besides what its experiment declares, and of its runner


def outdated(names: Iterable[str], profile: str) -> dict[str, str]:
    """Return the experiments that need to be run, each with the present state of its code and data."""
    states = {name: state(name) for name in names}
    return {name: known for name, known in states.items() if not _is_done(name, profile, known)}


def _is_done(name, profile, current) -> bool:
    """Whether an experiment has a published run of its present state, and its last run did not fail."""
    if failure_file(name, profile).exists():
        return False
    try:
        return Run.read(run_folder(name, profile)).about.get("state") == current
    except UnreadableRunError:
        return False


def state(name: str) -> str:
    """Return a digest of what a result depends on besides its profile: code, published numbers, available data.

    Titles, remarks and minutes do not count.
    """
    from fairlab.data import state_of
    from fairlab.data.registry import project_registry

    spec = specification(name)
    published = [
        [id, value.kind, value.printed, value.value, value.std, value.low, value.high]
        for artefact in map(spec.published.artefact, spec.artefacts)
        for id, value in artefact.values.items()
    ]
    texts = [repr((spec.profiles.model_dump(), spec.artefacts, spec.data, spec.files, published))]
    for variant in spec.data:
        files = [*project().data_scripts.glob(f"make_{variant.replace('-', '_')}.py")]
        files += (project().data_scripts / "surrogates").glob(f"{variant}.yaml")
        texts += [file.read_text(encoding="utf-8") for file in files]
        texts.append(f"{state_of(variant)} {project_registry().variant(variant)}")
    return notebook_fingerprint(code_of(spec.notebook), *texts)


def planned_minutes(name: str, profile: str) -> float:
    """Return the planned minutes of an experiment on one core; the default is an hour."""
    minutes = specification(name).minutes
    return minutes.least(profile) if minutes else 60


def need_gb(name: str, profile: str, n_cores: int) -> float:
    """Return the memory that an experiment needs, in GB; a lower bound where the paper profile was not measured."""
    declared = specification(name).gigabytes
    return OWN_GB + n_cores * declared.least(profile) if declared else 0.0


def refusal(name: str, profile: str, n_cores: int, left_gb: float) -> str | None:
    """Return why an experiment does not fit, None if it does."""
    need = need_gb(name, profile, n_cores)
    if need <= left_gb:
        return None
    least = need_gb(name, profile, 1)
    advice = "it fits with --cores 1" if least <= left_gb else "choose a smaller --profile"
    cores = f"{n_cores} core" + "s" * (n_cores > 1)
    return f"needs {need:.1f} GB of memory on {cores}, {left_gb:.1f} GB are available; {advice}"
