from .expectation import LabError as LabError
from .expectation import expect as expect
from .expectation import require as require
