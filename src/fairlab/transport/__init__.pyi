from .cost import ColumnCosts as ColumnCosts
from .cost import squared_l1 as squared_l1
from .exact import ExactTransport as ExactTransport
from .gan import GANTransport as GANTransport
from .gan import fit_gans as fit_gans
from .maps import DivergenceError as DivergenceError
from .maps import marginal_distances as marginal_distances
from .solvers import SolverError as SolverError
