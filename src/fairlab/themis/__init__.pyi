from .exact import DomainTooLargeError as DomainTooLargeError
from .exact import causal_score as causal_score
from .exact import group_score as group_score
from .exact import output_table as output_table
from .themis import Search as Search
from .themis import Themis as Themis
