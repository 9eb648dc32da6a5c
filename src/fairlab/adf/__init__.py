"""ADF (Zhang et al. 2020): discriminatory inputs of neural networks by gradients, and two other methods."""

from importlib import import_module

# Some of these import TensorFlow, a solver or an explainer on first use, so nothing is imported before it is asked for.
_HOMES = {
    "ADF": "generation",
    "Aequitas": "aequitas",
    "BENCHMARKS": "subjects",
    "Benchmark": "subjects",
    "Fairness": "discrimination",
    "GlobalPhase": "global_phase",
    "Network": "network",
    "SCHEMAS": "subjects",
    "Schema": "schema",
    "SearchResult": "result",
    "SymbolicGeneration": "symbolic",
    "dense_classifier": "subjects",
    "dense_network": "subjects",
    "discriminatory": "discrimination",
    "estimate_unfairness": "discrimination",
    "majority_vote": "training",
    "retrain": "training",
    "stored_weights": "subjects",
    "train_networks": "training",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(f"fairlab.adf.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'fairlab.adf' has no attribute {name!r}")
