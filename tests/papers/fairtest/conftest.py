"""Associations and contexts made by hand, and something that notes what is recorded."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fairlab.data import load
from fairlab.fairtest import NMI, Column, Sample, Section
from fairlab.fairtest.report import Association, Subgroup
from fairlab.fairtest.tree import Condition, Node
from fairlab.suite.catalogue import specification
from fairlab.suite.experiment import Experiment


class Notes:
    """Takes the place of an experiment; like it, refuses ids that the paper does not have, and doubles."""

    claims, record_frame, published = Experiment.claims, Experiment.record_frame, Experiment.published

    def __init__(self, name):
        self.specification = specification(name)
        self.records, self.judged, self.skipped = {}, {}, {}

    def record(self, artefact, id, values, *, reading="as_published", note="", data=None):
        assert id in self._artefact(artefact).values
        assert (artefact, id, reading) not in self.records
        self.records[artefact, id, reading] = values

    def claim(self, artefact, id, holds, *, detail="", data=None):
        assert id in self._artefact(artefact).claims
        assert isinstance(holds, bool | np.bool_)
        self.judged[artefact, id] = bool(holds)

    def skip(self, artefact, id, reason):
        known = self._artefact(artefact)
        assert id in known.values or id in known.claims
        self.skipped[artefact, id] = reason

    def silent(self):
        """Return the published values and claims of which nothing was said."""
        said = {key[:2] for key in (*self.records, *self.judged, *self.skipped)}
        return [
            (artefact, id)
            for artefact in self.specification.artefacts
            for id in (*self._artefact(artefact).values, *self._artefact(artefact).claims)
            if (artefact, id) not in said
        ]

    def _artefact(self, artefact):
        assert artefact in self.specification.artefacts
        return self.specification.published.artefact(artefact)


@pytest.fixture
def notes():
    """Makes the notes of an experiment by its name."""
    return Notes


def column(name, counts):
    """Return a column of categories with so many people each, in the order of `counts`."""
    codes = np.repeat(np.arange(len(counts)), list(counts.values()))
    return Column(name, codes, tuple(counts))


@pytest.fixture
def sample():
    """Makes a sample of a protected attribute and an output from counts by group and output."""

    def make(counts, *, protected="group", output="output"):
        groups, outputs = list(counts), list(next(iter(counts.values())))
        numbers = np.array([[counts[group][o] for o in outputs] for group in groups])
        group, of = np.divmod(np.repeat(np.arange(numbers.size), numbers.ravel()), len(outputs))
        return Sample(Column(protected, group, tuple(groups)), Column(output, of, tuple(outputs)))

    return make


@pytest.fixture
def association(sample):
    """Makes an association with a corrected interval and p-value."""
    coins = sample({"a": {"no": 5, "yes": 5}, "b": {"no": 5, "yes": 5}})

    def make(low, high, p_value=0.01, *, part="", of=coins, metric=None):
        return Association(part, metric or NMI(), of, low, high, p_value, p_value)

    return make


@pytest.fixture
def section(association):
    """Makes a section from contexts, a tuple of conditions each with the corrected interval and p-value."""

    def make(contexts, *, protected="group", output="output", samples=None):
        root = Node(None, 0.1, 99)
        findings = []
        for conditions, (low, high, p_value) in contexts.items():
            node = root
            for attribute, value in conditions:
                bounds = {"category": value} if isinstance(value, str) else {"low": value[0], "high": value[1]}
                node = Node(Condition(attribute, **bounds), 0.1, 9, parent=node)
            options = {"of": samples[conditions]} if samples else {}
            test = association(low, high, p_value, **options)
            findings.append(Subgroup(node, test.sample, (test,)))
        return Section(output, protected, None, NMI(), tuple(findings))

    return make


@pytest.fixture(scope="session")
def users():
    """Users of four states and three races, 1,200 of each pair; every third is below 50,000 dollars."""
    states, races = np.divmod(np.repeat(np.arange(12), 1_200), 3)
    features = pd.DataFrame({"state": states, "race": races}).astype(str).apply(lambda names: "no. " + names)
    features["gender"] = np.where(np.arange(len(features)) % 2 == 0, "female", "male")
    features["income"] = np.where(np.arange(len(features)) % 3 == 0, "<50K", ">=50K")
    target = pd.Series(["low"] * len(features), name="price")
    template = load("staples", surrogate=True)
    return replace(template, features=features, target=target, sensitive_features=features[["income", "race"]])
