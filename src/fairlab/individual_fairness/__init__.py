"""Inference for individual fairness (Maity, Xue, Yurochkin, Sun 2021): attack within a fair metric, then test."""

from importlib import import_module

from fairlab.individual_fairness.metric import FairMetric, FunctionMetric
from fairlab.individual_fairness.ratio_tests import RatioTest, error_rate_ratio_test, loss_ratio_test
from fairlab.individual_fairness.sensitive_subspace import sensitive_directions

__all__ = ["Attack", "Audit", "DivergenceWarning", "FairMetric", "FunctionMetric", "KerasClassifier"]
__all__ += ["LinearClassifier", "RatioTest", "SoftVote", "WhiteBoxClassifier", "audit", "error_rate_ratio_test"]
__all__ += ["gradient_flow_attack", "loss_ratio_test", "sensitive_directions"]

_NEED_TENSORFLOW = {
    "Attack": "attack",
    "Audit": "auditing",
    "DivergenceWarning": "attack",
    "KerasClassifier": "classifiers",
    "LinearClassifier": "classifiers",
    "SoftVote": "classifiers",
    "WhiteBoxClassifier": "classifiers",
    "audit": "auditing",
    "gradient_flow_attack": "attack",
}


def __getattr__(name):
    # Lazy, since metrics and tests need no TensorFlow and it takes seconds to load.
    if name in _NEED_TENSORFLOW:
        return getattr(import_module(f"fairlab.individual_fairness.{_NEED_TENSORFLOW[name]}"), name)
    raise AttributeError(f"module 'fairlab.individual_fairness' has no attribute {name!r}")
