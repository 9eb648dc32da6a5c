# Experiment belongs to the suite; everything else is the library.
from . import adf as adf
from . import auditing as auditing
from . import cases as cases
from . import fairtest as fairtest
from . import fliptest as fliptest
from . import individual_fairness as individual_fairness
from . import models as models
from . import themis as themis
from . import transport as transport
from .auditing import audit as audit
from .auditing import compare as compare
from .cases import Case as Case
from .data.loading import load as load
from .fairtest import impact_table as impact_table
from .suite.experiment import Experiment as Experiment

__version__: str
