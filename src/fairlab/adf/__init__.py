"""ADF (Zhang et al. 2020): discriminatory inputs by gradients, and two other methods.

Examples
--------
>>> import fairlab
>>> from fairlab.adf import DiscriminatoryInputs, examine, examine_adf, examine_aequitas
>>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
>>> model = lambda rows: rows["points"] + 9.0 * (rows["sex"] == "m")
>>> case = fairlab.Case(model, people, sensitive_features="sex", decision_threshold=20)
>>> sorted({finding.method for finding in examine(case, budget=4_000).findings})
['ADF', 'AEQUITAS']
>>> finding = examine_adf(case, budget=2_000).findings[0]
>>> isinstance(finding, DiscriminatoryInputs), finding.low > 0
(True, True)
>>> examine_aequitas(case, budget=2_000).findings[0].low > 0
True
"""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "aequitas": ["Aequitas"],
        "discrimination": ["Fairness", "SearchResult", "discriminatory", "estimate_unfairness"],
        "examination": ["DiscriminatoryInputs", "examine", "examine_adf", "examine_aequitas"],
        "generation": ["ADF", "GlobalPhase"],
        "gradients": ["FeedForward", "FiniteDifferences"],
        "training": ["majority_vote", "retrain", "train_networks"],
    },
)
