from .cost import ColumnCosts as ColumnCosts
from .cost import squared_l1 as squared_l1
from .exact import ExactTransport as ExactTransport
from .gan import GANTransport as GANTransport
from .maps import DivergenceError as DivergenceError
from .maps import marginal_distances as marginal_distances
from .solvers import SolverError as SolverError
