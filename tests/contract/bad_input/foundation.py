"""Bad input of fair metrics, networks, seeds and data sets."""

import numpy as np
from contract.bad_input.rows import NAN, SEX, TABLE, TEXTS, Bad, lacking, network

from fairlab.data import DataError, Dataset, Provenance, describe, fetch, load, state_of, verify
from fairlab.fair_metric import FairMetric, check_over_metric, sensitive_directions
from fairlab.networks import FeedForward, Network
from fairlab.seeds import Trial, derive_seed

WEIGHTS = [np.ones((2, 2)), np.zeros(2)]
METRIC = FairMetric.from_directions([[1.0, 0.0]])


def keras_with(*layers, n_features=3):
    import keras

    return keras.Sequential([keras.Input((n_features,)), *layers])


def linear():
    import keras

    return keras_with(keras.layers.Dense(3, activation="tanh"))


def wide_input():
    import keras

    return keras.Sequential([keras.Input((2, 2)), keras.layers.Dense(2, activation="softmax")])


FAIR_METRIC = [
    Bad(
        "FairMetric", "projection", lambda: FairMetric(np.ones((2, 3))), "expected a square matrix, found shape (2, 3)"
    ),
    Bad(
        "FairMetric",
        "projection",
        lambda: FairMetric([[1.0, 1.0], [0.0, 1.0]]),
        "expected a symmetric matrix P with P P = P, found one that is off by",
    ),
    Bad("FairMetric", "projection", lambda: FairMetric(np.zeros((2, 2))), "is zero"),
    Bad("FairMetric", "projection", lambda: FairMetric([[np.nan, 0], [0, 1]]), "1 values are missing or infinite"),
    Bad("FairMetric", "projection", lambda: FairMetric([["a", "b"], ["c", "d"]]), "expected numbers, found"),
    Bad("FairMetric", "projection", lambda: FairMetric([[1, 0], [0, 1j]]), "expected numbers, found complex128"),
    Bad("FairMetric", "directions", lambda: FairMetric.from_directions(np.eye(2)), "span all 2 features"),
    Bad(
        "FairMetric",
        "directions",
        lambda: FairMetric.from_directions(np.zeros((1, 2))),
        "are all zero, so that they span no sensitive subspace",
    ),
    Bad(
        "FairMetric",
        "directions",
        lambda: FairMetric.from_directions([1.0, 2.0]),
        "expected shape (n_directions, n_features), found (2,)",
    ),
    Bad("FairMetric", "directions", lambda: FairMetric.from_directions([["a", "b"]]), "expected numbers, found"),
    Bad("FairMetric", "degrees", lambda: METRIC.rotated(np.nan), "expected a finite number, found nan"),
    Bad(
        "FairMetric",
        "second",
        lambda: METRIC.squared_distance(np.ones((3, 2)), np.ones((3, 4))),
        "expected 2 columns each, found shapes (3, 2) and (3, 4)",
    ),
    Bad(
        "FairMetric",
        "first",
        lambda: METRIC.squared_distance(np.ones((3, 4)), np.ones((3, 4))),
        "expected 2 columns each, found shapes (3, 4) and (3, 4)",
    ),
    Bad("check_over_metric", "metric", lambda: check_over_metric(METRIC, TABLE, 3), "is over 2 features, X has 3"),
    Bad("sensitive_directions", "X", lambda: sensitive_directions(TEXTS, SEX.to_frame()), "expected numbers"),
    Bad(
        "sensitive_directions",
        "X",
        lambda: sensitive_directions(NAN, SEX.to_frame()),
        "column 'age' holds nan in row 6",
    ),
    Bad(
        "sensitive_directions",
        "sensitive_features",
        lambda: sensitive_directions(TABLE, SEX[:5].to_frame()),
        "has 5 rows, X has 8",
    ),
    Bad(
        "sensitive_directions",
        "sensitive_features",
        lambda: sensitive_directions(TABLE, SEX.to_frame() + 1),
        "expected 0 and 1, both present",
    ),
    Bad(
        "sensitive_directions",
        "sensitive_features",
        lambda: sensitive_directions(TABLE, 0 * SEX.to_frame()),
        "expected 0 and 1, both present",
    ),
    Bad(
        "sensitive_directions",
        "sensitive_features",
        lambda: sensitive_directions(TABLE, SEX.set_axis(range(9, 17)).to_frame()),
        "expected the same index",
    ),
    Bad(
        "sensitive_directions",
        "confidence_level",
        lambda: sensitive_directions(TABLE, SEX.to_frame(), confidence_level=95),
        "expected a number between 0 and 1, or None, found 95",
    ),
]

NETWORKS = [
    Bad("Network", "model", lambda: Network(3), "expected a Keras model, found int", TypeError),
    Bad("Network", "model", lambda: Network(linear()), "expected a softmax, or a sigmoid over two classes"),
    Bad(
        "Network",
        "model",
        lambda: Network(wide_input()),
        "expected one input and one output of shape (n_rows, n), found (None",
    ),
    Bad(
        "Network",
        "X",
        lambda: Network(network()).predict(np.ones((2, 4))),
        "the model takes 3 columns, was given shape (2, 4)",
    ),
    Bad(
        "Network",
        "X",
        lambda: Network(network()).predict(np.ones(3)),
        "the model takes 3 columns, was given shape (3,)",
    ),
    Bad("Network", "X", lambda: Network(network()).predict([["a", "b", "c"]]), "expected numbers, found"),
    Bad("Network", "X", lambda: Network(network()).predict(np.full((2, 3), np.nan)), "expected numbers within float32"),
    Bad("Network", "X", lambda: Network(network()).predict(np.full((2, 3), 1e300)), "expected numbers within float32"),
    Bad("Network", "X", lambda: Network(network()).predict(np.full((2, 3), 1j)), "expected numbers, found complex128"),
    Bad(
        "Network",
        "label",
        lambda: Network(network()).log_odds_gradient(np.ones((2, 3)), 7),
        "expected a class from 0 to 1, found 7",
    ),
    Bad(
        "Network",
        "from_logits",
        lambda: Network(network(), from_logits="yes"),
        "expected True, False or None, found 'yes'",
    ),
    Bad(
        "FeedForward",
        "weights",
        lambda: FeedForward([]),
        "expected kernels and biases in turn that fit each other, found shapes",
    ),
    Bad(
        "FeedForward",
        "weights",
        lambda: FeedForward(WEIGHTS[:1]),
        "expected kernels and biases in turn that fit each other, found shapes",
    ),
    Bad(
        "FeedForward",
        "weights",
        lambda: FeedForward([np.ones((2, 3)), np.zeros(2)]),
        "expected kernels and biases in turn that fit each other, found shapes",
    ),
    Bad(
        "FeedForward",
        "weights",
        lambda: FeedForward([*WEIGHTS, np.ones((5, 2)), np.zeros(2)]),
        "expected kernels and biases in turn that fit each other, found shapes",
    ),
    Bad(
        "FeedForward",
        "weights",
        lambda: FeedForward(3),
        "expected kernels and biases in turn that fit each other, found shapes",
    ),
    Bad(
        "FeedForward",
        "X",
        lambda: FeedForward(WEIGHTS).predict(np.ones((4, 3))),
        "the network takes 2 columns, was given shape (4, 3)",
    ),
]

SEEDS = [
    Bad("derive_seed", "bits", lambda: derive_seed(0, bits=12), "expected a multiple of 8 from 8 to 256, found 12"),
    Bad("derive_seed", "bits", lambda: derive_seed(0, bits=512), "expected a multiple of 8 from 8 to 256, found 512"),
    Bad("derive_seed", "bits", lambda: derive_seed(0, bits="32"), "expected a multiple of 8 from 8 to 256, found '32'"),
    Bad("derive_seed", "names", lambda: derive_seed(), "expected texts and whole numbers, at least one, found 'none'"),
    Bad(
        "derive_seed", "names", lambda: derive_seed(None), "expected texts and whole numbers, at least one, found None"
    ),
    Bad("derive_seed", "names", lambda: derive_seed(0.5), "expected texts and whole numbers, at least one, found 0.5"),
    Bad("Trial", "index", lambda: Trial("trial", -1), "expected a whole number from 0 on, found -1"),
    Bad("Trial", "index", lambda: Trial("trial", 0.5), "expected a whole number from 0 on, found 0.5"),
    Bad("Trial", "name", lambda: Trial(3, 0), "expected a text, found 3"),
]

DATA = [
    Bad("load", "adult-ucl", lambda: load("adult-ucl"), "unknown data set 'adult-ucl'", DataError),
    Bad("load", "name", lambda: load(3), "expected the name of a data set, found 3", DataError),
    Bad("load", "n_point", lambda: load("lipton", n_point=3), "expected keyword argument 'n_point'", TypeError),
    Bad("load", "n_points", lambda: load("lipton", n_points=-1), "expected a positive integer, found -1"),
    Bad("load", "n_points", lambda: load("lipton", n_points="many"), "expected a positive integer, found 'many'"),
    Bad("describe", "lypton", lambda: describe("lypton"), "unknown data set 'lypton'", DataError),
    Bad("state_of", "lypton", lambda: state_of("lypton"), "unknown data set 'lypton'", DataError),
    Bad("fetch", "lypton", lambda: fetch(["lypton"]), "unknown data set or file 'lypton'", DataError),
    Bad("fetch", "names", lambda: fetch(3), "expected names of data sets or files, found 3", DataError),
    lacking(Dataset, "features"),
    lacking(Provenance, "variant"),
    Bad("verify", "lypton", lambda: verify(["lypton"]), "unknown data set or file 'lypton'", DataError),
    Bad("verify", "names", lambda: verify(3), "expected names of data sets or files, found 3", DataError),
]

ROWS = {"fair_metric": FAIR_METRIC, "networks": NETWORKS, "seeds": SEEDS, "data": DATA}
