"""An experiment that has loaded its data, which the recording functions of all papers write to."""

from importlib import import_module

import pytest

from fairlab.suite.experiment import Experiment
from fairlab.suite.published import half_step


class Recorded(Experiment):
    """What one recording function wrote: records and claims by artefact and id, and why others were skipped."""

    def __init__(self, name):
        super().__init__(name, profile="smoke")
        for variant in self.specification.data:
            self.run.note_load({"variant": variant, "source": "real"}, {})

    @property
    def records(self):
        """Values by artefact, id and reading, one for each trial."""
        return {(entry["artefact"], entry["id"], entry["reading"]): entry["values"] for entry in self.run.records}

    @property
    def notes(self):
        return {(entry["artefact"], entry["id"], entry["reading"]): entry["note"] for entry in self.run.records}

    @property
    def judged(self):
        return {(entry["artefact"], entry["id"]): entry["holds"] for entry in self.run.claims}

    @property
    def failed(self):
        return {id for (_, id), holds in self.judged.items() if not holds}

    @property
    def skipped(self):
        return {(entry["artefact"], entry["id"]): entry["reason"] for entry in self.run.skipped}

    def check_records(self, expected):
        """Compare some records as published, by artefact and id."""
        found = {key[:2]: values for key, values in self.records.items() if key[2] == "as_published"}
        assert found == found | expected

    def check_complete(self):
        """Compare what was recorded, judged or skipped with all that the experiment's artefacts publish."""
        noted = {key[:2] for key in [*self.records, *self.judged, *self.skipped]}
        artefacts = [self.specification.published.artefact(name) for name in self.specification.artefacts]
        assert noted == {(a.id, id) for a in artefacts for part in (a.values, a.claims) for id in part}

    def check_as_printed(self):
        """Compare the records as published with the published numbers, to their precision."""
        for (artefact, id, reading), values in self.records.items():
            value = self.specification.published.artefact(artefact).values[id]
            ours = sum(values) / len(values)
            assert reading != "as_published" or ours == pytest.approx(
                value.value, abs=1.01 * half_step(value.printed_value)
            ), id


@pytest.fixture
def recorded(results):
    """Call the recording function of an experiment, check that nothing published is left out, and return the record."""

    def make(name, *args, **options):
        paper, function = name.split("/")
        exp = Recorded(name)
        getattr(import_module(f"fairlab.papers.{paper}.recording"), function)(exp, *args, **options)
        exp.check_complete()
        return exp

    return make
