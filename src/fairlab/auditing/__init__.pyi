from .audits import audit as audit
from .audits import forecast as forecast
from .audits import run as run
from .comparison import ModelComparison as ModelComparison
from .comparison import compare as compare
from .impact import impact_table as impact_table
from .report import Report as Report
