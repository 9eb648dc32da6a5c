import numpy as np
import pandas as pd
import pytest

from fairlab import fairtest
from fairlab.fairtest import Column, DataSource, ErrorProfiling
from fairlab.fairtest.error_profiling import prediction_error
from fairlab.fairtest.sample import encode


def test_errors_of_two_categories():
    truth, prediction = (Column(name, np.array(codes), ("no", "yes")) for name, codes in
                         (("truth", [0, 0, 1, 1]), ("prediction", [0, 1, 0, 1])))  # fmt: skip
    error = prediction_error(prediction, truth)
    assert [error.categories[code] for code in error.values] == [
        "correct", "false positive", "false negative", "correct"
    ]  # fmt: skip


def test_errors_of_more_categories_and_of_numbers():
    truth = Column("truth", np.array([0, 1, 2]), ("a", "b", "c"))
    prediction = Column("prediction", np.array([0, 1, 1]), ("a", "c"))
    assert prediction_error(prediction, truth).values.tolist() == [0, 1, 0]
    numbers = [Column(name, np.array(values)) for name, values in (("p", [1.0, 5]), ("t", [3.0, 4]))]
    assert prediction_error(*numbers).values.tolist() == [2, 1]
    with pytest.raises(ValueError, match="column 'p' holds numbers and 'truth' categories"):
        prediction_error(numbers[0], truth)


def test_error_profiling_leaves_prediction_and_truth_out_of_the_contexts(people):
    data = people.assign(truth=people["offer"].where(people["gender"] == "male", "yes"))
    investigation = ErrorProfiling(DataSource(data), "gender", "offer", ground_truth="truth")
    assert not {"offer", "truth"} & set(investigation.context)
    fairtest.investigate(investigation)
    root = investigation.findings_["gender"][0]
    assert root.sample.output.categories == ("correct", "false negative", "false positive")
    assert root.is_significant


def test_predictions_without_an_error(people):
    data = people.assign(truth=people["offer"])
    with pytest.raises(ValueError, match="output: column 'error of offer' has one value in the training set"):
        ErrorProfiling(DataSource(data), "gender", "offer", ground_truth="truth")


def labels(name, values):
    return encode(pd.Series(values, name=name))


def test_labels_of_two_kinds_are_refused():
    for other in ([-1, 1, 1], ["no", "yes", "no"], [True, False, True]):
        with pytest.raises(ValueError, match=r"column 'p' holds .*; expected the same two labels"):
            prediction_error(labels("p", other), labels("t", [0, 1, 1]))


def test_labels_of_one_kind_in_other_types_are_the_same():
    error = prediction_error(labels("p", [0.0, 1.0, 1.0, 0.0]), labels("t", [0, 1, 0, 1]))
    assert error.values.tolist() == [0, 0, 2, 1]
    ordered = pd.Categorical(["yes", "no"], categories=["yes", "no"], ordered=True)  # here, no is the positive one
    assert prediction_error(labels("p", ordered), labels("t", ordered[::-1])).values.tolist() == [1, 2]


def test_a_prediction_with_fewer_labels_than_the_truth():
    assert prediction_error(labels("p", [1, 1]), labels("t", [0, 1])).values.tolist() == [2, 0]
    assert prediction_error(labels("p", [9, 10, 10]), labels("t", [9, 10, 2])).values.tolist() == [0, 0, 1]
