"""Imported first by the process that the kernels of a batch are forks of: it ends with the batch, and they with it."""

import os

from fairlab.suite.processes import end_with_parent

end_with_parent(os.getppid())
