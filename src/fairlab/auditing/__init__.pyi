from .audits import audit as audit
from .audits import forecast as forecast
from .audits import run as run
from .comparison import ModelComparison as ModelComparison
from .comparison import compare as compare
from .report import Report as Report
