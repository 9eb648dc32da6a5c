"""What a notebook talks to: open an experiment, load its data, run trials, record, show, compare."""

import atexit
import inspect
import json
import os
import resource
import shutil
import sys
import time
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

from fairlab.paths import FIGURES, atomic_path
from fairlab.seeds import Trial
from fairlab.suite import run as runs
from fairlab.suite.catalogue import DEFAULT_PROFILE, specification, suggestion
from fairlab.suite.comparison import compare
from fairlab.suite.trials import run_trials, trial_key

READINGS = ("as_published", "as_described")
STAGING_VARIABLE = "FAIRLAB_STAGING"  # set by the batch runner, which then publishes the run itself
JOBS_VARIABLE = "FAIRLAB_JOBS"
FIGURE_FORMATS = ("png", "svg")
SURROGATE_MARK = "surrogate data, not the real people"


class Experiment:
    """One experiment being run.

    Parameters
    ----------
    name : str
        ``<paper>/<experiment>``, as `fairlab list` shows.
    profile : {"quick", "smoke", "paper"}
        Amount of effort.
    seed : int
        Root of every seed of the run.
    n_jobs : int or None
        Worker processes for trials; None takes what the batch runner says, else all cores.
    **parameters
        The notebook's parameters. One that is left out has the profile's value; if any differs from the profile's,
        the run is kept under ``results/custom`` and never enters the scorecard.

    Raises
    ------
    KeyError
        If the experiment or the profile does not exist; the message lists those that do.
    TypeError
        If the experiment has no such parameter.
    PermissionError
        If the results folder cannot be written.
    """

    def __init__(self, name, *, profile=DEFAULT_PROFILE, seed=0, n_jobs=None, **parameters):
        self.specification = specification(name)
        expected = self.specification.parameters(profile)
        self.specification.check_parameters(parameters)
        if not isinstance(seed, int | np.integer):
            raise TypeError(f"seed: expected an integer, found {seed!r}")
        self.n_jobs = n_jobs or int(os.environ.get(JOBS_VARIABLE) or os.cpu_count())
        changed = any(expected[key] != value for key, value in parameters.items())
        self.run = runs.Run(name, runs.CUSTOM if changed else profile, int(seed), expected | parameters)
        self.in_batch = STAGING_VARIABLE in os.environ
        self.folder = Path(os.environ[STAGING_VARIABLE]) if self.in_batch else self._stage()
        self._started = time.perf_counter()
        self._saved = 0.0  # seconds that trials found on disk would have taken

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self.specification.name

    def trial(self, index: int = 0) -> Trial:
        """Return the trial `index`: the source of its seeds and generators, by stream name."""
        return Trial(self.name, index, self.run.seed)

    def load(self, variant, **options):
        """Load one of the experiment's data sets and note where it came from; see `fairlab.load`.

        Raises
        ------
        KeyError
            If the experiment's file does not declare the variant.
        """
        if variant not in self.specification.data:
            raise KeyError(
                f"{self.name} does not declare the data {variant!r}{suggestion(variant, self.specification.data)}"
            )
        from fairlab.data import load

        dataset = load(variant, **options)
        self.run.data[variant] = dataset.provenance.to_dict()
        return dataset

    def trials(self, function, n_trials, *, batch=None, of=None, **parameters) -> list:
        """Run `n_trials` independent trials and return their results in order.

        Each result is kept on disk under the experiment, the seed, the parameters, the data and the code that computes
        it, so that a trial that was done is never done again.

        Parameters
        ----------
        function : callable
            ``function(trial, **parameters)``, with `trial` a `fairlab.seeds.Trial`; with `batch`, a function of a list
            of trials that returns a list of results.
        n_trials : int
        batch : int or None
            Most trials that one call of `function` may take, for methods whose trials are an array axis.
        of : str or None
            The experiment whose trials these are, if not this one's: with the same function and parameters they have
            its seeds and its results, and what either computed serves both.
        **parameters
            Everything else that the trials depend on: sizes, data sets, arrays.

        Returns
        -------
        list
            One result per trial.
        """
        if not inspect.isfunction(function):
            raise TypeError(f"function: expected a plain function, found {type(function).__name__}")
        if n_trials < 1:
            raise ValueError(f"n_trials: expected at least 1, found {n_trials}")
        owner = self.name if of is None else specification(of).name
        key = trial_key(function, owner, self.run.seed, parameters)
        results, saved = run_trials(
            function,
            [Trial(owner, index, self.run.seed) for index in range(n_trials)],
            parameters,
            cache=runs.results_folder() / "trials" / owner / f"{function.__name__}-{key}",
            n_jobs=self.n_jobs,
            batch=batch,
            progress=not self.in_batch and (sys.stderr.isatty() or "ipykernel" in sys.modules),
        )
        self._saved += saved / self.n_jobs
        return results

    def record(self, artefact, id, values, *, reading="as_published", note="", data=None) -> None:
        """Record our side of one published value.

        Parameters
        ----------
        artefact, id : str
            As in the paper's ``published.yaml``.
        values : float, or sequence with one value per trial
            For an interval: one pair, or one pair per trial.
        reading : {"as_published", "as_described"}
            Verdicts judge the first, the second stands beside it.
        note : str
            What a reader of the scorecard must know, such as the number of trials left out.
        data : list of str or None
            The data variants that the number rests on; None for all that the run has loaded.

        Raises
        ------
        KeyError
            If there is no such artefact or value.
        ValueError
            If a value is missing or infinite, has the wrong shape, or was recorded before.
        """
        published = self._declared(artefact, id, "values")
        if reading not in READINGS:
            raise ValueError(f"reading: expected one of {', '.join(READINGS)}, found {reading!r}")
        shape = (-1, 2) if published.kind == "interval" else (-1,)
        values = np.asarray(values, dtype=float)
        try:
            values = values.reshape(shape) if values.ndim < len(shape) else values
        except ValueError as error:
            raise ValueError(f"{artefact}:{id}: expected pairs (low, high), found shape {values.shape}") from error
        if values.ndim != len(shape) or values.shape[1:] != ((2,) if len(shape) == 2 else ()) or len(values) == 0:
            raise ValueError(f"{artefact}:{id}: expected one {published.kind} per trial, found shape {values.shape}")
        if not np.isfinite(values).all():
            trial = int(np.argwhere(~np.isfinite(values))[0][0])
            raise ValueError(f"{artefact}:{id}: trial {trial} is {values[trial]}; leave failed trials out and say so")
        if self.run.ours(artefact, id, reading) is not None:
            raise ValueError(f"{artefact}:{id}: recorded twice ({reading})")
        entry = {"artefact": artefact, "id": id, "reading": reading, "values": values.tolist(), "note": note}
        self.run.records.append(entry | {"data": self._variants(data)})

    def claim(self, artefact, id, holds, *, detail="", data=None) -> None:
        """Record whether a published claim holds.

        Parameters
        ----------
        artefact, id : str
            As in the paper's ``published.yaml``.
        holds : bool
            What the notebook found.
        detail : str
            The numbers that it rests on, in a few words.
        data : list of str or None
            As for `record`.
        """
        self._declared(artefact, id, "claims")
        if not isinstance(holds, bool | np.bool_):
            raise TypeError(f"{artefact}:{id}: expected True or False, found {holds!r}")
        if not isinstance(detail, str):
            raise TypeError(f"{artefact}:{id}: expected the detail as text, found {detail!r}")
        if any((claim["artefact"], claim["id"]) == (artefact, id) for claim in self.run.claims):
            raise ValueError(f"{artefact}:{id}: claimed twice")
        entry = {"artefact": artefact, "id": id, "holds": bool(holds), "detail": detail}
        self.run.claims.append(entry | {"data": self._variants(data)})

    def skip(self, artefact, id, reason) -> None:
        """Say why a published value or claim is left out; the scorecard then shows it as not run, with the reason."""
        known = self._artefact(artefact)
        if id not in known.values and id not in known.claims:
            raise KeyError(f"{artefact} has no value or claim {id!r}")
        self.run.skipped.append({"artefact": artefact, "id": id, "reason": reason})

    def figure(self, artefact, figure, *, data, part=None):
        """Keep a figure as PNG and SVG, with the plotted numbers as CSV; return it.

        Parameters
        ----------
        artefact : str
        figure : matplotlib.figure.Figure
        data : DataFrame
            The plotted numbers.
        part : str or None
            Names one of several figures of the artefact.
        """
        self._artefact(artefact)
        if self.run.source() == "surrogate":
            figure.text(0.5, -0.02, SURROGATE_MARK, ha="center", va="top", color="#D55E00", weight="bold")
        folder = self.folder / "figures"
        folder.mkdir(exist_ok=True)
        stem = f"{artefact}_{part}" if part else artefact
        # Without a salt and with a date every run would write another SVG.
        with mpl.rc_context({"svg.hashsalt": self.name}):
            for suffix in FIGURE_FORMATS:
                metadata = {"Date": None} if suffix == "svg" else {"Software": None}
                figure.savefig(folder / f"{stem}.{suffix}", dpi=150, bbox_inches="tight", metadata=metadata)
        self._write_csv(data, folder / f"{stem}.csv")
        return figure

    def table(self, artefact, frame, *, part=None):
        """Keep a table as CSV; return it."""
        self._artefact(artefact)
        folder = self.folder / "tables"
        folder.mkdir(exist_ok=True)
        stem = f"{artefact}_{part}" if part else artefact
        self._write_csv(frame, folder / f"{stem}.csv")
        return frame

    def compare(self):
        """Write the run and return published and own numbers with their verdicts, as a styled table.

        The last call of a notebook. In batch the runner publishes the run when the notebook has ended well; in a
        session it is published here, if every declared artefact was written.
        """
        self.run.about = runs.environment() | {
            "seconds": round(time.perf_counter() - self._started + self._saved, 1),
            "peak_memory_gb": round(_peak_memory_gb(), 2),
            "n_jobs": self.n_jobs,
        }
        self.run.write(self.folder)
        missing = missing_artefacts(self.folder)
        if missing and not self.in_batch:
            print(f"Not kept: nothing was written for {', '.join(missing)}", file=sys.stderr)
        table = compare(self.run)
        if not missing and not self.in_batch:
            # A copy, so that a cell may be run again in the same session.
            copy = runs.stage(self.name)
            shutil.copytree(self.folder, copy, dirs_exist_ok=True)
            runs.publish(copy, self.name, self.run.profile)
        return table.style_verdicts()

    def _stage(self):
        folder = runs.stage(self.name)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def _write_csv(self, frame, path):
        """Write a table, with a column that says so if it comes from surrogate data."""
        if self.run.source() == "surrogate":
            frame = frame.assign(data=SURROGATE_MARK)
        named = any(name is not None for name in frame.index.names) or not isinstance(frame.index, pd.RangeIndex)
        frame.to_csv(path, index=named, float_format="%.5g")

    def _artefact(self, artefact):
        if artefact not in self.specification.artefacts:
            known = suggestion(artefact, self.specification.artefacts)
            raise KeyError(f"{self.name} does not declare the artefact {artefact!r}{known}")
        return self.specification.published.artefact(artefact)

    def _declared(self, artefact, id, part):
        known = getattr(self._artefact(artefact), part)
        if id not in known:
            raise KeyError(f"{artefact} has no {part[:-1]} {id!r}{suggestion(id, known)}")
        return known[id]

    def _variants(self, data):
        variants = sorted(self.run.data) if data is None else list(data)
        if unknown := set(variants) - set(self.run.data):
            raise KeyError(f"not loaded in this run: {', '.join(sorted(unknown))}")
        return variants


def missing_artefacts(folder: Path) -> list[str]:
    """Return the declared artefacts for which the run in `folder` wrote nothing.

    A figure is there when its picture is; anything else when it has a figure, a table, a record, a claim or a stated
    reason for being left out.
    """
    run = runs.Run.read(folder)
    pictures, tables = ([path.stem for path in (folder / kind).glob("*")] for kind in ("figures", "tables"))
    entries = [entry["artefact"] for entry in run.records + run.claims + run.skipped]

    def written(artefact):
        drawn = any(stem == artefact or stem.startswith(f"{artefact}_") for stem in pictures)
        skipped = any(entry["artefact"] == artefact for entry in run.skipped)
        if artefact.startswith("figure-"):
            return drawn or skipped
        return drawn or artefact in entries or any(s == artefact or s.startswith(f"{artefact}_") for s in tables)

    return [artefact for artefact in run.specification.artefacts if not written(artefact)]


def keep_figures(folder: Path) -> list[Path]:
    """Copy the figures of a published run to ``figures/<paper>``, unless those there are from a better run.

    Real data is better than a surrogate, and then the paper profile than the quick one; smoke and custom runs never
    count. The index beside the figures says which run each is from.
    """
    run = runs.Run.read(folder)
    if run.profile not in (order := ("quick", "paper")):
        return []
    target = FIGURES / run.specification.paper
    index_file = target / "index.json"
    index = json.loads(index_file.read_text(encoding="utf-8")) if index_file.exists() else {}
    kept = []
    rank = [run.source() == "real", order.index(run.profile)]
    about = {"experiment": run.name, "profile": run.profile, "seed": run.seed, "data": run.source()}
    for file in sorted((folder / "figures").glob("*")):
        entry = index.get(file.stem)
        if entry and [entry["data"] == "real", order.index(entry["profile"])] > rank:
            continue
        with atomic_path(target / file.name) as temporary:
            shutil.copyfile(file, temporary)
        index[file.stem] = about | {"commit": run.about["commit"]}
        kept.append(target / file.name)
    with atomic_path(index_file) as temporary:
        temporary.write_text(json.dumps(dict(sorted(index.items())), indent=1) + "\n", encoding="utf-8")
    return kept


def _peak_memory_gb() -> float:
    """Return the peak memory of this process and of its largest ended child, in GB."""
    unit = 1 if sys.platform == "darwin" else 1024
    parts = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(parts) * unit / 1e9
