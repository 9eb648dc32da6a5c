"""Samples, associations and sections made by hand."""

import numpy as np
import pytest

from fairlab.fairtest import NMI, Column, Sample, Section
from fairlab.fairtest.report import Association, Subgroup
from fairlab.fairtest.tree import Condition, Node


@pytest.fixture
def sample():
    """Makes a sample of a protected attribute and an output from counts by group and output."""

    def make(counts):
        groups, outputs = list(counts), list(next(iter(counts.values())))
        numbers = np.array([[counts[group][o] for o in outputs] for group in groups])
        group, of = np.divmod(np.repeat(np.arange(numbers.size), numbers.ravel()), len(outputs))
        return Sample(Column("group", group, tuple(groups)), Column("output", of, tuple(outputs)))

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

    def make(contexts, *, protected="group", **options):
        root = Node(None, 0.1, 99)
        findings = []
        for conditions, test in contexts.items():
            node = root
            for attribute, value in conditions:
                bounds = {"category": value} if isinstance(value, str) else {"low": value[0], "high": value[1]}
                node = Node(Condition(attribute, **bounds), 0.1, 9, parent=node)
            found = association(*test, **options)
            findings.append(Subgroup(node, found.sample, (found,)))
        return Section("output", protected, None, NMI(), tuple(findings))

    return make
