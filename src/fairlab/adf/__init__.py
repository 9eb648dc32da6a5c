"""ADF (Zhang et al. 2020): discriminatory inputs by gradients, and two other methods.

Examples
--------
>>> import fairlab
>>> from fairlab.adf import DiscriminatoryInputs, examine, examine_adf, examine_aequitas
>>> people = pd.DataFrame({"sex": ["f", "m"] * 200, "points": np.arange(400) % 40})
>>> model = lambda rows: rows["points"] + 9.0 * (rows["sex"] == "m")
>>> case = fairlab.Case(model, people, sensitive="sex", threshold=20)
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
