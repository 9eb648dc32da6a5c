from .classifiers import KerasClassifier as KerasClassifier
from .classifiers import LinearClassifier as LinearClassifier
from .classifiers import WhiteBoxClassifier as WhiteBoxClassifier
from .command import CommandModel as CommandModel
from .command import SoftwareError as SoftwareError
