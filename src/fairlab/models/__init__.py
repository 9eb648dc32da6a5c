"""Models under test, one file each, and the protocol by which any model comes in."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "bounded_covariance": ["BoundedCovarianceLogistic"],
        "classifiers": ["KerasClassifier", "LinearClassifier", "SoftVote", "WhiteBoxClassifier"],
        "command": ["CommandSoftware", "SoftwareError"],
        "least_squares": ["LeastSquaresClassifier"],
        "massaging": ["balancing_weights", "massage"],
        "mlp": ["BalancedMLP"],
        "multiway_tree": ["MultiwayTree"],
        "nearby_svc": ["NearbySVC"],
        "project": ["ProjectedMLP"],
        "protocol": ["as_classifier", "as_network", "is_keras"],
        "reductions": ["EqualizedOddsMixture"],
        "sensr": ["SenSR"],
        "zafar": ["EqualRatesLogistic"],
    },
)
