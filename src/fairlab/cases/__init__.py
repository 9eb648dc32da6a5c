"""What every method takes and gives: the domain of a model's inputs, and what was found."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "finding": ["Examination", "Finding", "Result"],
        "schema": ["Feature", "Schema", "SchemaError"],
    },
)
