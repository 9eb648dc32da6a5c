"""What every method takes and gives: a model with its table, the domain of its inputs, what was found."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "case": ["Case"],
        "finding": ["Finding", "MethodResult", "Result"],
        "model": ["ModelAdapter", "wrap_model"],
        "queries": ["AnswerCache", "BudgetSpentError", "Queries"],
        "schema": ["CaseError", "Feature", "Schema"],
        "table": ["Encoding"],
    },
)
