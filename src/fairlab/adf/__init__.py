"""ADF (Zhang et al. 2020): discriminatory inputs by gradients, and two other methods."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "aequitas": ["Aequitas"],
        "discrimination": ["Fairness", "SearchResult", "discriminatory", "estimate_unfairness"],
        "generation": ["ADF", "GlobalPhase"],
        "gradients": ["FiniteDifferences"],
        "training": ["majority_vote", "retrain", "train_networks"],
    },
)
