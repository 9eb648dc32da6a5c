"""ADF (Zhang et al. 2020): discriminatory inputs by gradients, and two other methods."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "aequitas": ["Aequitas"],
        "discrimination": ["Fairness", "discriminatory", "estimate_unfairness"],
        "examination": ["DiscriminatoryInputs", "examine", "examine_adf", "examine_aequitas"],
        "finite_differences": ["FiniteDifferences"],
        "generation": ["ADF"],
        "global_phase": ["GlobalPhase"],
        "result": ["SearchResult"],
        "symbolic": ["SymbolicGeneration"],
        "training": ["majority_vote", "retrain", "train_networks"],
    },
)
