import sys
import time

import keras
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from fairlab.fair_metric import FairMetric
from fairlab.models import (
    CommandModel,
    KerasClassifier,
    LinearClassifier,
    SoftwareError,
    WhiteBoxClassifier,
)

# What is known of these white boxes in closed form.
POINTS = np.array([[0.5, -1.0, 2.0], [0, 0, 0], [-3, 1, 1]])
COEF, INTERCEPT = np.array([[1.0, 2, 3], [0, -1, 1], [5, 5, 5]]), np.array([0.5, -0.25, 0])


def test_a_linear_classifier_by_hand():
    model, y = LinearClassifier(COEF[0], INTERCEPT[0]), np.array([1, 0, 1])
    p = expit(POINTS @ COEF[0] + 0.5)
    np.testing.assert_allclose(model.predict_proba(POINTS), np.stack([1 - p, p], axis=1))
    np.testing.assert_array_equal(model.predict(POINTS), p > 0.5)
    np.testing.assert_allclose(model.loss(POINTS, y), -np.log(np.where(y, p, 1 - p)))
    np.testing.assert_allclose(model.loss_gradient(POINTS, y), (p - y)[:, None] * COEF[0])
    each = np.einsum("mnf,mf->mn", np.stack([POINTS] * 3), COEF) + INTERCEPT[:, None]
    np.testing.assert_allclose(LinearClassifier(COEF, INTERCEPT).log_odds(np.stack([POINTS] * 3)), each)


def test_rounded_losses_are_zero_and_infinite_where_the_model_is_sure():
    sure, exact = (LinearClassifier([1.0], 0.0, rounded_loss=is_rounded) for is_rounded in (True, False))
    X = np.float32([[200], [-200]])
    np.testing.assert_allclose([sure.loss(X, [1, 1]), exact.loss(X, [1, 1])], [[0, np.inf], [0, 200]])
    np.testing.assert_allclose(sure.loss_gradient(X, [1, 1]), [[0], [-1]])


@pytest.mark.parametrize(
    ("activation", "difference"), [(None, [1]), ("sigmoid", [1]), (None, [-1, 1]), ("softmax", [-1, 1])]
)
def test_a_keras_model_is_the_classifier_of_its_outputs(activation, difference):
    n = len(difference)  # of outputs
    keras_model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(n, activation)])
    keras_model.set_weights([np.float32(COEF[:n].T), np.float32(INTERCEPT[:n])])
    model = KerasClassifier(keras_model, from_logits=activation is None)
    expected = (POINTS @ COEF[:n].T + INTERCEPT[:n]) @ difference
    np.testing.assert_allclose(model.log_odds(np.float32(POINTS)), expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    "layers", [[keras.layers.Dense(1, "sigmoid")], [keras.layers.Dense(1), keras.layers.Activation("sigmoid")]]
)
def test_log_odds_of_a_keras_model_that_is_sure(layers):
    model = keras.Sequential([keras.Input((1,)), *layers])
    model.set_weights([np.float32([[1e4]]), np.zeros(1, np.float32)])
    X, classifier = np.float32([[1.0], [-1.0]]), KerasClassifier(model)
    np.testing.assert_allclose(classifier.log_odds(X), [1e4, -1e4])
    np.testing.assert_allclose(classifier.loss(X, [0, 0]), [1e4, 0])
    np.testing.assert_allclose(classifier.loss_gradient(X, [0, 0]), [[1e4], [0]])


def test_a_keras_model_that_goes_on_learning_is_followed():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, "sigmoid")])
    classifier = KerasClassifier(model)
    model.set_weights([np.float32([[3.0]]), np.ones(1, np.float32)])
    np.testing.assert_allclose(classifier.log_odds(np.float32([[2.0]])), [7.0])


def keras_end(n_outputs, activation):
    """Return the classifier of a Keras model that ends so."""
    return KerasClassifier(keras.Sequential([keras.Input((3,)), keras.layers.Dense(n_outputs, activation)]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *(
            (
                lambda name=name: getattr(LinearClassifier(COEF[0], 0.5), name)(POINTS, [1, -1, 1]),
                "y: expected 0 and 1, or booleans, found -1",
            )
            for name in ("loss", "loss_gradient")
        ),
        (
            lambda: LinearClassifier(COEF[0], 0.5).loss_at(np.zeros(3), [1, -1, 1]),
            "y: expected 0 and 1, or booleans, found",
        ),
        # Keras models without log odds
        (lambda: keras_end(3, "softmax"), "expected one or two outputs per point, found 3"),
        (lambda: keras_end(1, None), "ends with linear, expected sigmoid for 1 outputs; .* say from_logits=True"),
        (lambda: keras_end(1, "softmax"), "ends with softmax, expected sigmoid for 1 outputs"),
        (lambda: keras_end(2, "sigmoid"), "ends with sigmoid, expected softmax for 2 outputs"),
        (lambda: keras_end(2, None), "ends with linear, expected softmax for 2 outputs; .* say from_logits=True"),
    ],
)
def test_other_labels_and_keras_models_without_log_odds_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_points_of_whole_numbers_are_points_as_any_other():
    network = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    network.set_weights([np.full((3, 1), 0.4), np.array([0.3])])
    whole = np.array([[1, 2, 3], [0, -1, 4]])
    for model in (LinearClassifier([0.5, 0.25, -0.75], 0.5), KerasClassifier(network, from_logits=True)):
        np.testing.assert_allclose(model.log_odds(whole), model.log_odds(whole.astype(np.float32)), rtol=1e-6)
    np.testing.assert_array_equal(
        LinearClassifier([0.5, 0.25, -0.75], 0.5).log_odds_gradient(whole)[1][0], [0.5, 0.25, -0.75]
    )
    metric = FairMetric.from_directions([[1.0, 1.0, 0.0]], scale=[0.5, 2.0, 1.0])
    np.testing.assert_allclose(metric.gradient(whole, 0 * whole), metric.gradient(whole * 1.0, whole * 0.0))


class Learnt(WhiteBoxClassifier):
    """A classifier of one's own: `fit` and `log_odds` are all that it defines."""

    def fit(self, X, y):
        X, y = validate_data(self, X, y, dtype=float)
        model = LogisticRegression(C=100, max_iter=1000).fit(X, y)
        self.classes_ = model.classes_
        if len(self.classes_) > 2:
            raise ValueError(f"Only binary classification is supported, found {len(self.classes_)} classes")
        self.line_ = LinearClassifier(model.coef_[0], model.intercept_[0])
        return self

    def log_odds(self, X):
        check_is_fitted(self)
        return self.line_.log_odds(validate_data(self, X, dtype=float, reset=False))


@parametrize_with_checks([Learnt()])
def test_scikit_learn(estimator, check):
    check(estimator)


# command


def program(folder, script, **options):
    """Write a shell script and return it as software, one call at a time."""
    (folder / "program.sh").write_text(script)
    return CommandModel(["sh", str(folder / "program.sh")], by_row=True, n_jobs=1, **options)


def test_values_are_written_as_python_writes_them(tmp_path):
    table = pd.DataFrame(
        {
            "flag": [True, False],
            "share": [1.0, 0.5],
            "count": [1, 2],
            "nullable": pd.array([7, None], dtype="Int64"),
            "group": pd.Categorical(["b", "a"], categories=["b", "a"]),
            "name": ["Ann Lee", None],
            "mixed": np.array([1, "x"], dtype=object),
        }
    )
    assert program(tmp_path, 'printf "%s|" "$@" >> "$0.log"; echo >> "$0.log"; echo 1')(table).tolist() == [True, True]
    assert (tmp_path / "program.sh.log").read_text() == "True|1|1|7|b|Ann Lee|1|\nFalse|0.5|2||a||x|\n"


def test_missing_values_and_the_text_that_stands_for_them(tmp_path):
    table = pd.DataFrame({"name": ["", None]})
    assert program(tmp_path, "echo 1", missing="NA")(table).all()
    for command in (program(tmp_path, "echo 1"), CommandModel([sys.executable, "-c", "print(1, 1)"])):
        with pytest.raises(SoftwareError, match="column 'name' holds the text '', which stands for missing values"):
            command(table)


def test_whole_numbers_beside_missing_ones_have_no_point():
    code = "import sys; text = sys.stdin.read(); sys.exit(text)"
    table = pd.DataFrame({"children": [2, None, 1e20, np.inf], "share": [0.25, 1.0, 0.1, -0.0]})
    with pytest.raises(SoftwareError, match=r"children,share\n2,0\.25\n,1\n100000000000000000000,0\.1\ninf,0$"):
        CommandModel([sys.executable, "-c", code])(table)


def test_no_row_is_no_call():
    assert CommandModel(["no-such-program"], by_row=True)(pd.DataFrame({"a": []})).tolist() == []


def test_a_command_that_hangs_is_ended_with_what_it_started(tmp_path):
    alive = tmp_path / "alive"
    hanging = program(tmp_path, f'[ "$2" = 19 ] && {{ sleep 1; touch {alive}; }}; echo 1', timeout=0.2)
    with pytest.raises(SoftwareError, match=r"failed on input Male 19: no answer within 0\.2 s"):
        hanging(pd.DataFrame({"sex": "Male", "age": [18, 19, 20]}))
    time.sleep(1.1)
    assert not alive.exists()


SCORE = """
import csv, sys
rows = list(csv.DictReader(sys.stdin))
sys.stderr.write("x" * 100_000)
open(sys.argv[1], "a").write("called once\\n")
for row in rows:
    print(float(row["points"]) / 100 + 0.2 * (row["name"] == "Lee, Ann"))
"""


def test_a_batch_is_given_once_as_csv(tmp_path):
    table = pd.DataFrame({"points": np.arange(5_000) % 80, "name": ["Lee, Ann", None] * 2_500})
    log = tmp_path / "log"
    found = CommandModel([sys.executable, "-c", SCORE, str(log)])(table)
    assert found == pytest.approx(table["points"] / 100 + 0.2 * (table["name"] == "Lee, Ann"))
    assert log.read_text() == "called once\n"


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        *(
            (["sh", "-c", script, "program"], {"by_row": True, "n_jobs": 1}, f"failed on input Male 19: {message}")
            for script, message in (
                ('[ "$2" = 19 ] && { echo broken >&2; exit 3; }; echo 1', "status 3: broken"),
                ('[ "$2" = 19 ] && echo perhaps || echo 0', "printed 'perhaps', expected '1' or '0'"),
                ('[ "$2" = 19 ] && kill -9 $$; echo 1', "status -9"),
            )
        ),
        *(
            ([sys.executable, "-c", code], {"timeout": 1}, message)
            for code, message in (
                ("print(1)", "expected a number for each of 3 rows, found 1"),
                ("print('a\\nb\\nc')", "expected a number for each row; could not convert string to float: 'a'"),
                ("raise SystemExit('no licence')", "status 1: no licence"),
                ("import time; time.sleep(60)", "no answer within 1 s"),
            )
        ),
    ],
)
def test_what_a_command_does_wrong_is_said_with_its_input(command, options, message):
    with pytest.raises(SoftwareError, match=message):
        CommandModel(command, **options)(pd.DataFrame({"sex": "Male", "age": [18, 19, 20]}))


def test_whole_numbers_are_not_rounded_to_others():
    model = LinearClassifier([1.0], -16_777_216.5)
    for X in ([[16_777_217]], [[16_777_217.0]]):
        assert model.predict(np.array(X)).tolist() == [1]
    assert LinearClassifier([70_000.0], 0.0).log_odds(np.array([[1]], dtype=np.float16)).tolist() == [70_000]
