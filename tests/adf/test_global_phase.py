import numpy as np
import pytest

from fairlab.adf.global_phase import choose_partner, direction, run_global_phase, with_partner
from fairlab.cases import Schema

GENDER = np.array([2])


class Gradients:
    """A network of which only the gradients matter: first those of one side, then those of the other."""

    def __init__(self, own, theirs):
        self.answers = [np.array([own], dtype=float), np.array([theirs], dtype=float)]

    def loss_gradient(self, X):
        return self.answers.pop(0)

    def margin_gradient(self, X):
        return np.ones(1), -self.answers.pop(0)


@pytest.mark.parametrize(
    ("own", "theirs", "published", "described"),
    [
        ([3, -2, 9, 0.5], [1, 2, 9, 4], [1, 0, 0, 1], [1, 0, 0, 1]),  # agreement, never along the protected attribute
        ([3, -2, 9, 0], [0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0]),  # a flat partner: +1 whatever the sign
        ([0, 0, 0, 0], [1, -2, 9, 4], [0, 0, 0, 0], [0, 0, 0, 0]),  # a flat input does not move
    ],
)
def test_direction(own, theirs, published, described):
    X = np.zeros((1, 4), dtype=int)
    rng = np.random.default_rng(0)
    for reading, expected in (("as_published", published), ("as_described", described)):
        assert direction(Gradients(own, theirs), X, X, GENDER, reading, rng).tolist() == [expected]


def test_without_a_common_direction_one_attribute_is_drawn():
    steps = [
        direction(Gradients([1, -1, 1, 1], [-1, 1, 1, -1]), np.zeros((1, 4)), None, GENDER, "as_published", rng)[0]
        for rng in map(np.random.default_rng, range(40))
    ]
    assert {tuple(step) for step in steps} == {(1, 0, 0, 0), (0, -1, 0, 0), (0, 0, 0, 1)}


class Logits:
    """A network of two classes whose margin is given by a function."""

    def __init__(self, margin):
        self.margin = margin

    def logits(self, X):
        return np.stack([np.zeros(len(X)), self.margin(X)], axis=1).astype(np.float32)

    def predict(self, X):
        return (self.margin(X) > 0).astype(int)


AGES = Schema.from_bounds({"a": (0, 9), "age": (1, 4)})


def test_the_partner_is_the_first_of_another_class_else_the_furthest():
    network = Logits(lambda X: X[:, 0] + np.array([0, -1, -3, 2, -5])[X[:, 1]])
    X = np.array([[2, 1], [9, 1], [9, 4]])
    partner, flips = choose_partner(network, X, schema=AGES, sensitive="age", reading="as_published")
    assert flips.tolist() == [True, False, False]
    assert AGES.values("age")[partner].tolist() == [[2], [4], [3]]


def test_a_saturated_network_has_no_partner_as_published():
    network = Logits(lambda X: 1000.0 + X[:, 1])
    for reading, expected in (("as_published", -1), ("as_described", 1)):
        partner, flips = choose_partner(network, np.array([[5, 1]]), schema=AGES, sensitive="age", reading=reading)
        assert not flips.any()
        assert partner.tolist() == [expected]
    assert with_partner(np.array([[5, 1]]), np.array([-1]), schema=AGES, sensitive="age").tolist() == [[5, -1]]


def test_seeds_that_become_the_same_input_count_once(network, schema):
    seeds = np.repeat(schema.sample(30, random_state=0), 2, axis=0)
    phase = run_global_phase(
        network,
        seeds,
        schema=schema,
        sensitive="group",
        max_iter=0,
        reading="as_published",
        rng=np.random.default_rng(0),
    )
    assert (phase.seed % 2 == 0).all()
    assert len(np.unique(np.delete(phase.inputs, 1, axis=1), axis=0)) == len(phase.inputs)


@pytest.mark.parametrize("reading", ["as_published", "as_described"])
def test_global_phase_counts_iterations(network, schema, reading):
    seeds = schema.sample(80, random_state=1)
    phase = run_global_phase(
        network, seeds, schema=schema, sensitive="sex", max_iter=3, reading=reading, rng=np.random.default_rng(0)
    )
    at_once = (phase.inputs == seeds[phase.seed]).all(axis=1)
    assert (at_once == (phase.iterations[phase.seed] == 0)).all()
    assert 0 < at_once.sum() < len(at_once)
    assert (phase.iterations[~phase.successful] == 3).all()
    assert (np.abs(phase.inputs - seeds[phase.seed]).max(axis=1) <= phase.iterations[phase.seed]).all()


def test_partners_have_another_class_whatever_values_are_tried(network, schema):
    tried = Schema.from_bounds(schema.bounds | {"group": (0, 5)})
    seeds = schema.sample(80, random_state=1)
    phase = run_global_phase(
        network,
        seeds,
        schema=schema,
        sensitive="group",
        max_iter=3,
        reading="as_published",
        rng=np.random.default_rng(0),
        tried=tried,
    )
    partners = phase.inputs.copy()
    partners[:, [1]] = phase.partner
    assert not np.isin(phase.partner, [1, 2, 3]).all()
    assert (network.predict(partners) != network.predict(phase.inputs)).all()
