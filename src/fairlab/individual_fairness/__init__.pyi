from .attack import Attack as Attack
from .attack import StepSizeWarning as StepSizeWarning
from .attack import gradient_flow_attack as gradient_flow_attack
from .auditing import Audit as Audit
from .auditing import RatioTest as RatioTest
from .auditing import audit as audit
from .auditing import error_rate_ratio_test as error_rate_ratio_test
from .auditing import loss_ratio_test as loss_ratio_test
