"""The interface of a notebook: open an experiment, load data, run trials, record, show, compare."""

import atexit
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any

import joblib
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from fairlab import data, plotting
from fairlab.checks import EXTRAS, check_choice, check_count, check_text, required, suggestion
from fairlab.data.dataset import Dataset
from fairlab.data.project import project
from fairlab.paths import write_text
from fairlab.suite import processes
from fairlab.suite import run as runs
from fairlab.suite.catalogue import CUSTOM, DEFAULT_PROFILE, specification
from fairlab.suite.comparison import Comparison, compare
from fairlab.suite.drawing import DOTS_PER_INCH, SURROGATE_MARK, keep
from fairlab.suite.fingerprint import state
from fairlab.suite.scorecard import ending_of
from fairlab.suite.seeds import Trial
from fairlab.suite.tables import only_counts, use_tables
from fairlab.suite.trials import run_trials
from fairlab.suite.verdicts import judge_trials

READINGS = ("as_published", "as_specified")
SHOWN_DOTS_PER_INCH = 100  # width of a figure in a notebook
OURS = ("ours", "ours_low", "ours_high")  # columns of our results beside published ones


class Experiment:
    """One experiment being run.

    Parameters
    ----------
    name : str
        ``<paper>/<experiment>``, as `fairlab list` shows.
    profile : {"quick", "smoke", "paper"}
        Size of the run.
    seed : int
        Root of every seed of the run.
    n_jobs : int or None
        Worker processes for trials; None takes the number of the batch, else all cores.
    **parameters
        The notebook's parameters; the default is the profile's value. If any differs from the profile's, or the seed
        from 0, the run is stored under ``results/custom`` and never enters the scorecard.

    Raises
    ------
    KeyError
        If the experiment or the profile does not exist; the message suggests known ones.
    TypeError
        If the experiment has no such parameter.
    ValueError
        If the seed is no whole number of at least 0, a parameter has a value that it cannot have, or `n_jobs` is no
        number of processes.
    PermissionError
        If the results folder cannot be written.

    Examples
    --------
    >>> from fairlab import Experiment
    >>> exp = Experiment("fliptest/lipton", profile="smoke")
    >>> exp.name, exp.run.profile, exp.run.seed
    ('fliptest/lipton', 'smoke', 0)
    >>> exp.published("section-5.3").loc["women_to_men.f_plus", "kind"]
    'count'
    >>> exp.trial(3).rng("draw").integers(10, size=3).shape
    (3,)
    """

    def __init__(
        self,
        name: str,
        *,
        profile: str = DEFAULT_PROFILE,
        seed: int = runs.DEFAULT_SEED,
        n_jobs: int | None = None,
        **parameters: Any,
    ):
        self.run = runs.Run.of(check_text(name, "name"), profile, seed, parameters)
        self.name, self.specification, self._profile = name, self.run.specification, profile
        if n_jobs is not None:
            check_count(n_jobs, "n_jobs")
        task = processes.kernel_task  # of a batch, which publishes the run itself
        self.n_jobs = n_jobs or (task["n_jobs"] if task else joblib.cpu_count())
        self.in_batch = task is not None
        # When it is opened: code may change while it runs.
        self.run.about = runs.environment() | {"state": state(name) if task else None}
        self.folder = Path(task["folder"]) if task else runs.work_folder()
        if not task:
            atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self._names = {}  # of the notebook that opened it
        self._trial_seconds, self._own_seconds = {}, 0.0  # of trials when they were computed; of this process for them

    @classmethod
    def open(cls, namespace: dict[str, Any]) -> "Experiment":
        """Open the experiment of a notebook from the names that its parameters cell sets.

        Parameters
        ----------
        namespace : dict
            ``globals()`` of the notebook, with `experiment`, `profile`, `seed` and the experiment's parameters.

        Raises
        ------
        KeyError
            If a name is missing; the message says which.
        ValueError
            If the profile was changed by hand and the sizes were not: they would be those of another one.
        """
        needed = ["experiment", "profile", "seed"]
        if "experiment" in namespace:
            needed += specification(namespace["experiment"]).profiles.quick
        if missing := [name for name in needed if name not in namespace]:
            raise KeyError(
                f"the parameters cell does not set {', '.join(missing)}; run it before opening the experiment"
            )
        given = {name: namespace[name] for name in needed}
        if processes.kernel_task is None:
            check_sizes(given)
        if "matplotlib" in sys.modules:
            plotting.use_style()
        use_tables()
        exp = cls(given.pop("experiment"), **given)
        exp._names = namespace
        if exp.run.profile == CUSTOM:
            print("Other parameters or another seed: texts and titles describe the committed run, not this one.")
        return exp

    def __reduce__(self):
        raise TypeError("an Experiment stays in its notebook")  # a trial that names it would be computed in every run

    def trial(self, index: int = 0) -> Trial:
        """Return the trial `index`, as `trials` gives it to a function: the source of seeds, by stream name."""
        return Trial(self.specification.paper, index, self.run.seed)

    def load(self, variant: str, **options: Any) -> Dataset:
        """Load one of the experiment's data sets and record its provenance; see `fairlab.load`.

        Raises
        ------
        KeyError
            If the experiment's file does not declare the variant.
        """
        if variant not in self.specification.data:
            raise KeyError(
                f"{self.name} does not declare the data {variant!r}{suggestion(variant, self.specification.data)}"
            )
        dataset = data.load(variant, **options)
        self.run.note_load(dataset.provenance.to_dict(), options)
        return dataset

    def note_fallback(self, variant: str, missing: Sequence[str]) -> None:
        """Record that a fallback replaces stored files: results on the variant count as surrogate.

        Parameters
        ----------
        variant : str
            A data variant that the experiment declares.
        missing : list of str
            The files, as ``fairlab data fetch`` takes them.
        """
        self.run.note_load({"variant": variant, "source": "surrogate", "missing": list(missing)}, {})

    def stored(self, name: str) -> list[str]:
        """Record that stored files of the authors are read, which are real; return them as `data`."""
        self.run.note_load({"variant": name, "source": "real"}, {})
        return [name]

    def trials(
        self,
        function: Callable,
        n_trials: int,
        *,
        batch: int | None = None,
        each: Mapping[str, Sequence] | None = None,
        **parameters: Any,
    ) -> list:
        """Run `n_trials` independent trials and return their results in order.

        Each result is cached on disk under the function, its seeds, the parameters, the data and the code that computes
        it, so that a finished trial is never computed again. Seeds are derived from the paper, the trial's number and
        the names of its streams: experiments of one paper share trials with the same arguments, and functions that use
        streams of the same name get the same random numbers.

        Parameters
        ----------
        function : callable
            ``function(trial, **parameters)``, with `trial` a `fairlab.suite.seeds.Trial`; with `batch`, a function of a
            list of trials that returns a list of results. A result is what `pickle` takes: numbers, text, arrays and
            tables, in dictionaries, lists and tuples.
        n_trials : int
        batch : int or None
            Most trials that one call of `function` may take, for methods whose trials are an array axis.
        each : dict of str to sequence, optional
            Further parameters with one value per trial, for instance the results of another call of `trials`.
        **parameters
            All other arguments of the trials: sizes, data sets, arrays.

        Returns
        -------
        list
            One result per trial.
        """
        n_trials = check_count(n_trials, "n_trials")
        started = time.process_time()
        results, seconds = run_trials(
            function,
            [self.trial(index) for index in range(n_trials)],
            parameters,
            cache=project().trials / self.specification.paper / getattr(function, "__name__", ""),
            each=each,
            n_jobs=self.n_jobs,
            batch=batch,
            progress=not self.in_batch and (sys.stderr.isatty() or "ipykernel" in sys.modules),
        )
        self._trial_seconds |= seconds
        self._own_seconds += time.process_time() - started
        return results

    def record(
        self,
        artefact: str,
        id: str,
        values: Any,
        *,
        reading: str = "as_published",
        note: str = "",
        data: Sequence[str] | None = None,
        missing: str | None = None,
    ) -> None:
        """Record our result for one published value.

        Parameters
        ----------
        artefact, id : str
            As in the paper's ``published.yaml``.
        values : float, or sequence with one value per trial
            For an interval: one pair, or one pair per trial.
        reading : {"as_published", "as_specified"}
            Protocol variant. Verdicts judge the first; the second is shown beside it.
        note : str
            Remark for readers of the scorecard, such as the number of trials left out.
        data : list of str or None
            The data variants behind the number: None for all loaded ones, [] for none of them.
        missing : str or None
            Why a trial may have no value. Such trials are left out; if no other is left, the number is skipped with
            this reason. None if every trial has one.

        Raises
        ------
        KeyError
            If there is no such artefact or value.
        ValueError
            If a value is missing or infinite, has the wrong shape, or was recorded before.
        """
        published = self._declared(artefact, id, "values")
        check_choice(reading, "reading", READINGS)
        of_one_trial = (2,) if published.kind == "interval" else ()
        values = np.asarray(values, dtype=float)
        values = values[np.newaxis] if values.shape == of_one_trial else values
        if values.shape[1:] != of_one_trial or values.size == 0:
            raise ValueError(f"{artefact}:{id}: expected one {published.kind} per trial, found shape {values.shape}")
        if missing is not None:
            values = values[~np.isnan(values.reshape(len(values), -1)).any(axis=1)]
            if not len(values):
                if reading == READINGS[0]:
                    self.skip(artefact, id, missing)
                return
        if not np.isfinite(values).all():
            trial = int(np.argwhere(~np.isfinite(values))[0][0])
            raise ValueError(f"{artefact}:{id}: trial {trial} is {values[trial]}; omit failed trials and report them")
        if self.run.find("records", artefact, id, reading):
            raise ValueError(f"{artefact}:{id}: recorded twice ({reading}); in a session, run all cells again")
        self.run.records.append(
            {
                "artefact": artefact,
                "id": id,
                "reading": reading,
                "values": values.tolist(),
                "note": note,
                "data": self._variants(data),
            }
        )

    def record_frame(
        self,
        artefact: str,
        frame: pd.DataFrame,
        *,
        id: str,
        values: str | None = None,
        reading: str = "as_published",
        note: str = "",
        data: Sequence[str] | None = None,
        missing: str | None = None,
    ) -> None:
        """Record the numbers of a table; rows with the same id are the trials of one number, in their order.

        Parameters
        ----------
        artefact : str
        frame : DataFrame
            Index levels count as columns.
        id : str
            Pattern that makes an id from the columns: ``"{benchmark}.{method}.gdiff"``.
        values : str or None
            The column of numbers. None for a wide table: all columns that `id` does not name, and ``{column}`` is
            replaced by their names.
        reading, note, data, missing
            As for `record`; a column ``reading`` of the table has precedence.

        Raises
        ------
        KeyError
            If an id from the table is not published.
        ValueError
            If a value is missing; drop the rows of failed trials first.

        Examples
        --------
        >>> from fairlab import Experiment
        >>> exp = Experiment("adf/versus_aequitas", profile="smoke")
        >>> found = pd.DataFrame({"method": ["adf", "aequitas"], "gdiff": [10, 5], "id": [3, 1]})
        >>> exp.record_frame("table-4", found, id="census.age.{method}.{column}")
        >>> exp.published("table-4", id="census.age.{method}.{column}")["ours"].dropna().tolist()
        [5.0, 1.0, 10.0, 3.0]
        """
        long = frame if frame.index.names == [None] else frame.reset_index()
        fields = fields_of(id)
        if values is None:
            fixed = [name for name in (*fields, "reading") if name in long]
            long = long.melt(fixed, var_name="column", value_name="value", ignore_index=False)
        else:
            long = long.rename(columns={values: "value"})
        readings = long["reading"] if "reading" in long else pd.Series(reading, index=long.index)
        if absent := [name for name in fields if name not in long]:
            raise KeyError(f"id: the table has no column {', '.join(absent)}; it has {', '.join(map(str, frame))}")
        ids = long[fields].apply(lambda row: id.format(**row), axis=1) if fields else pd.Series(id, index=long.index)
        for (own_reading, own_id), group in long["value"].groupby([readings, ids], sort=False):
            self.record(artefact, own_id, group, reading=own_reading, note=note, data=data, missing=missing)

    def claims(
        self,
        artefact: str,
        judged: Mapping[str, tuple],
        *,
        data: Sequence[str] | None = None,
    ) -> None:
        """Record which claims of a table or figure hold.

        Parameters
        ----------
        artefact : str
            As in the paper's ``published.yaml``.
        judged : dict of str to tuple
            By id: whether the claim holds, and the numbers behind the result, as text or by name (a number, or one per
            trial). If one of these is missing, the claim is not judged. Whether it holds is True or False, None with a
            reason if it cannot be judged, or one of these for each trial that is drawn: it holds if it does in more
            than half of them. What is judged from drawn trials together is a function instead, with the trials as a
            third item: an array with one trial a row, or a frame; see `fairlab.suite.verdicts.judge_trials`.
        data : list of str or None
            As for `record`.
        """
        for id, (holds, detail, *trials) in judged.items():
            self._declared(artefact, id, "claims")
            missing, unsettled = None, None
            if isinstance(detail, Mapping):
                detail, missing = _numbers_as_text(detail)
            if missing:
                holds, detail = None, missing
            elif trials:
                if not callable(holds):
                    raise TypeError(f"{artefact}:{id}: expected a function of the trials, found {holds!r}")
                holds, unsettled = judge_trials(holds, trials[0])
            elif isinstance(holds, np.ndarray | pd.Series) and holds.ndim:
                holds, unsettled = judge_trials(lambda held: np.mean(held) > 0.5, holds)
            if not isinstance(detail, str):
                raise TypeError(f"{artefact}:{id}: expected the detail as text, found {detail!r}")
            if holds is None:
                self.skip(artefact, id, detail)
                continue
            if not isinstance(holds, bool | np.bool_):
                raise TypeError(f"{artefact}:{id}: expected True or False, found {holds!r}")
            if self.run.find("claims", artefact, id):
                raise ValueError(f"{artefact}:{id}: claimed twice; in a session, run all cells again")
            entry = {"artefact": artefact, "id": id, "holds": bool(holds), "detail": detail, "unsettled": unsettled}
            self.run.claims.append(entry | {"data": self._variants(data)})

    def skip(self, artefact: str, id: str, reason: str) -> None:
        """Record why a published value or claim is skipped; the scorecard shows it as not run, with the reason."""
        self._declared(artefact, id, "values", "claims")
        self.run.skipped.append({"artefact": artefact, "id": id, "reason": reason})

    def figure(
        self,
        artefact: str,
        figure: Figure,
        *,
        data: pd.DataFrame,
        caption: str = "",
        part: str | None = None,
        rests_on: Sequence[str] | None = None,
    ) -> None:
        """Save a figure as PNG and SVG with its numbers as CSV, and show it with its caption.

        Parameters
        ----------
        artefact : str
        figure : matplotlib.figure.Figure
            Any figure with a title, of its own or of its panels: a sentence that says what it shows.
        data : DataFrame
            The plotted numbers. An index becomes columns. With a column ``data``, of the provenance of each row, the
            figure says that data are not real *in part*.
        caption : str
            Quantities, units, number of trials and what to look for, in Markdown. Remarks on data that is not real, on
            smaller sizes and on figures without published numbers are added.
        part : str or None
            Name of the part, if a table or figure has several.
        rests_on : list of str or None
            The data variants behind the numbers, as for `record`. The figure says so if they are not real.

        Raises
        ------
        TypeError
            If `figure` is no figure, or `caption` no text.
        ValueError
            If the figure has no title, or breaks a rule of `fairlab.suite.drawing.save`.
        """
        source = self.run.source(self._variants(rests_on))
        stem = self._file("figures", artefact, part)
        entry = keep(self.run, figure, stem, caption, source, data)
        _write_csv(data, source, stem)
        runs.write_json(stem.with_name(f"{stem.name}.json"), entry)
        _show(stem.with_name(f"{stem.name}.png"), f"**{stem.name}.** {entry['caption']}" if caption else "")

    def table(self, artefact: str, frame: pd.DataFrame, *, part: str | None = None) -> pd.DataFrame:
        """Save a table as CSV; return it."""
        stem = self._file("tables", artefact, part)
        _write_csv(frame, self.run.source(), stem)
        return frame

    def published(self, artefact: str, id: str = "{id}") -> pd.DataFrame:
        """Return the published numbers of a table or figure beside those that this run has recorded so far.

        Parameters
        ----------
        artefact : str
        id : str
            Pattern of ids: ``"{benchmark}.{method}.gdiff"`` selects the matching ids and gives an index of benchmarks
            and methods. Names but the first have no dot: of ``census.age.adf.gdiff`` the benchmark is ``census.age``.

        Returns
        -------
        DataFrame
            One row per published number, in their order. Columns: ``printed`` (as text), ``value``, ``std``, ``low``,
            ``high``, ``n`` and ``kind``, and ``ours`` (mean over trials) with ``ours_low`` and ``ours_high`` (95%
            interval of the mean, or the mean interval's ends); missing if there is none.
        """
        columns, rows = ("printed", "value", "std", "low", "high", "n", "kind"), []
        field = r"\\{(\w+)\\}"  # as `escape` leaves it
        pattern = re.sub(field, r"(?P<\1>[^.]+)", re.sub(field, r"(?P<\1>.+)", re.escape(id), count=1))
        for value in self._artefact(artefact).values.values():
            if found := re.fullmatch(pattern, value.id):
                ours = self.run.ours(artefact, value.id)
                own = [np.nan] * 3 if ours is None else [ours.centre, *(ours.interval or (np.nan, np.nan))]
                published = {column: getattr(value, column) for column in columns}
                rows.append(found.groupdict() | published | dict(zip(OURS, map(float, own), strict=True)))
        if id != "{id}" and not rows:
            raise KeyError(f"{artefact} has no value of the form {id!r}")
        names = fields_of(id)
        return pd.DataFrame(rows, columns=[*names, *columns, *OURS]).set_index(names)

    def compare(self) -> Comparison:
        """Write the run and return its comparison with published numbers, which a notebook shows as a table.

        The last call of a notebook. In a batch the runner publishes the run when the notebook has succeeded; in a
        session it is published here, if every declared table and figure was written. Like the end of ``fairlab run``,
        it is compared with the committed scorecard, too: what moved most comes first.

        Raises
        ------
        ValueError
            If a parameter of the notebook has another value than when the experiment was opened.
        """
        self._check_parameters()
        self.run.about |= {
            "core_seconds": round(time.process_time() - self._own_seconds + sum(self._trial_seconds.values()), 1),
            # Those worth counting, since other experiments may use the same trials.
            "trial_seconds": {key: round(seconds, 1) for key, seconds in self._trial_seconds.items() if seconds >= 1},
            "peak_memory_gb": round(runs.peak_memory_gb(), 2),
            "n_jobs": self.n_jobs,
            "imported": sorted(name for name in EXTRAS if EXTRAS[name] != "suite" and name in sys.modules),
        }
        self.run.write(self.folder)
        stored = None
        if not self.in_batch:
            try:
                stored = runs.publish(self.folder)
            except runs.IncompleteRunError as error:
                print(f"Not stored: {error}", file=sys.stderr)
        return Comparison(compare(self.run).rows, ending_of(self.run, stored))

    def earlier_runs(self) -> list[runs.Run]:
        """Return the runs, at this profile and seed, of the experiments that this one comes after (``after:``).

        With another seed they are `custom` runs, of which those with other parameters than the profile's are left out.
        """
        wanted = [runs.Run.of(name, self._profile, self.run.seed, {}) for name in self.specification.after]
        folders = {runs.run_folder(own.name, own.profile): own for own in wanted}
        found = [(runs.Run.read(folder), own) for folder, own in folders.items() if (folder / "run.json").exists()]
        return [run for run, own in found if (run.seed, run.parameters) == (own.seed, own.parameters)]

    def _check_parameters(self) -> None:
        """Refuse a run that would be stored under other parameters than its cells had; lists may be sorted."""
        for name, opened in self.run.parameters.items():
            now = self._names.get(name, opened)
            if {*np.ravel(now).tolist()} != {*np.ravel(opened).tolist()}:
                raise ValueError(
                    f"{name}: expected {opened!r}, as when the experiment was opened, found {now!r}; run all cells"
                )

    def _file(self, kind, artefact, part) -> Path:
        """Return the path of a table or figure, without a suffix."""
        self._artefact(artefact)
        folder = self.folder / kind
        folder.mkdir(exist_ok=True)
        return folder / (f"{artefact}_{part}" if part else artefact)

    def _artefact(self, artefact):
        if artefact not in self.specification.artefacts:
            known = suggestion(artefact, self.specification.artefacts)
            raise KeyError(f"{self.name} does not declare the table or figure {artefact!r}{known}")
        return self.specification.published.artefact(artefact)

    def _declared(self, artefact, id, *parts):
        own = self._artefact(artefact)
        known = {key: item for part in parts for key, item in getattr(own, part).items()}
        if id not in known:
            what = " or ".join(part.removesuffix("s") for part in parts)
            raise KeyError(f"{artefact} has no {what} {id!r}{suggestion(id, known)}")
        return known[id]

    def _variants(self, data):
        loaded = self.run.sources()
        variants = sorted(loaded) if data is None else list(data)
        if unknown := set(variants) - set(loaded):
            raise KeyError(f"not loaded in this run: {', '.join(sorted(unknown))}")
        return variants


def check_sizes(given: Mapping[str, Any]) -> None:
    """Refuse another profile with the sizes of the usual one, as ``papermill -p profile smoke`` makes of a notebook."""
    spec, profile = specification(given["experiment"]), given["profile"]
    usual, own = spec.parameters(DEFAULT_PROFILE), spec.parameters(profile)
    if own != usual and all(given[name] == value for name, value in usual.items()):
        wanted = ", ".join(f"{name}={own[name]!r}" for name in own if own[name] != usual[name])
        raise ValueError(
            f"profile: expected the sizes of {profile} ({wanted}), found those of {DEFAULT_PROFILE}; "
            f"fairlab run {spec.name} --profile {profile} sets them"
        )


def fields_of(id: str) -> list[str]:
    """Return the names in the braces of an id pattern."""
    return [name for _, name, *_ in Formatter().parse(id) if name]


def _numbers_as_text(numbers) -> tuple[str, str | None]:
    """Return the numbers behind a claim by name as text, and which are missing, if any."""
    of_trials = {name: np.atleast_1d(np.asarray(values, dtype=float)) for name, values in numbers.items()}
    missing = [name for name, values in of_trials.items() if not len(values) or not np.isfinite(values).all()]
    listed = ", ".join(f"{name} {plotting.span(values)}" for name, values in of_trials.items() if name not in missing)
    return listed, f"not every trial has a value: {', '.join(missing)}" if missing else None


def _write_csv(frame, source, stem) -> None:
    """Write numbers, with a column that says so if they rest on a surrogate."""
    marked = frame.assign(data=SURROGATE_MARK) if source == "surrogate" and "data" not in frame else frame
    text = marked.to_csv(index=not only_counts(frame.index), float_format="%.5g", lineterminator="\n")
    write_text(stem.with_name(f"{stem.name}.csv"), text)


def _show(picture, caption) -> None:
    """Show a saved figure and its caption if this is a notebook."""
    if "ipykernel" not in sys.modules:
        return
    shown = required("IPython.display")
    content = picture.read_bytes()
    width = int.from_bytes(content[16:20], "big")  # where a PNG has it
    shown.display(shown.Image(content, width=round(width * SHOWN_DOTS_PER_INCH / DOTS_PER_INCH)))
    if caption:
        shown.display(shown.Markdown(caption))
