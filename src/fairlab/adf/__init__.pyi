from .aequitas import Aequitas as Aequitas
from .discrimination import Fairness as Fairness
from .discrimination import SearchResult as SearchResult
from .discrimination import discriminatory as discriminatory
from .discrimination import estimate_unfairness as estimate_unfairness
from .generation import ADF as ADF
from .generation import GlobalPhase as GlobalPhase
from .gradients import FiniteDifferences as FiniteDifferences
