"""Labs of a course: functions for their notebooks, and building, checking and grading."""

import lazy_loader as lazy

__getattr__, __dir__, __all__ = lazy.attach(
    __name__,
    submod_attrs={
        "expectation": ["LabError", "expect", "require"],
        "programs": ["QUESTIONS", "agency", "company"],
        "sabotage": ["sabotage"],
        "tables": ["FAMILIES", "admissions", "borrowers", "families", "hiring", "shops", "trainees"],
    },
)
