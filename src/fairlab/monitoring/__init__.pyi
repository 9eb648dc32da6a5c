from .client import Client as Client
from .client import MonitorError as MonitorError
from .client import monitored as monitored
from .client import registration_of as registration_of
from .client import registration_of_audit as registration_of_audit
