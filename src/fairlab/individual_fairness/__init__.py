"""Inference for individual fairness (Maity, Xue, Yurochkin, Sun 2021): attack within a fair metric, then test."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "attack": ["Attack", "StepSizeWarning", "gradient_flow_attack"],
        "auditing": ["Audit", "RatioTest", "audit", "error_rate_ratio_test", "loss_ratio_test"],
    },
)
