# Experiment belongs to the suite; everything else is the library.
from .auditing import audit as audit
from .auditing import compare as compare
from .cases import Case as Case
from .data.loading import load as load
from .fairtest import impact_table as impact_table
from .suite.experiment import Experiment as Experiment

__version__: str
