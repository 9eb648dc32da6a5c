"""What several tests of FlipTest's experiments share: a recorder in an experiment's place, a small list of people."""

import numpy as np
import pandas as pd
import pytest

from fairlab.data.dataset import Dataset, Provenance
from fairlab.papers.fliptest.strategic_subjects import LABELS
from fairlab.seeds import Trial
from fairlab.suite.catalogue import specification
from fairlab.suite.experiment import Experiment


class Recorder:
    """Takes what an experiment would keep, and knows what it must keep."""

    def __init__(self, name):
        self.published = specification(name).published
        self.artefacts = specification(name).artefacts
        self.records, self.claimed, self.skipped = {}, {}, {}

    record_frame, claims = Experiment.record_frame, Experiment.claims

    def record(self, artefact, id, values, *, reading="as_published", note="", data=None):
        values = np.atleast_1d(np.asarray(values, dtype=float))
        assert np.isfinite(values).all()
        assert (artefact, id, reading) not in self.records
        self.records[artefact, id, reading] = values.tolist()

    def claim(self, artefact, id, holds, *, detail="", data=None):
        assert isinstance(holds, bool | np.bool_)
        assert (artefact, id) not in self.claimed
        self.claimed[artefact, id] = bool(holds)

    def skip(self, artefact, id, reason):
        self.skipped[artefact, id] = reason

    def missing(self):
        """Return the published values and claims of which nothing was said."""
        said = {(artefact, id) for artefact, id, _ in self.records} | {*self.claimed} | {*self.skipped}
        expected = {
            (artefact, id)
            for artefact in self.artefacts
            for part in (self.published.artefact(artefact).values, self.published.artefact(artefact).claims)
            for id in part
        }
        return expected - said, said - expected


@pytest.fixture
def recorder():
    return Recorder


@pytest.fixture(scope="session")
def trials():
    return [Trial("x/y", k, 0) for k in range(7)]


@pytest.fixture(scope="session")
def chicago():
    rng = np.random.default_rng(0)
    n = 5_000
    race = rng.choice(["BLK", "WHI", "WWH"], n)
    features = pd.DataFrame({name: rng.poisson(1, n) for name in LABELS}).assign(age=10 * rng.integers(1, 8, n))
    features["narcotics_arrests"] += 2 * (race == "BLK")
    features["gang_affiliation"] = ((race != "BLK") & (rng.random(n) < 0.5)).astype(int)
    return Dataset(
        features=features,
        target=pd.Series(rng.integers(340, 350, n), name="score"),
        sensitive_features=pd.DataFrame({"race": race}),
        positive_label=None,
        privileged_group={"race": "WHI"},
        encoding={},
        provenance=Provenance(variant="ssl", source="surrogate", data_hash="", rows=n, citation="", note=""),
    )
