"""Run the command line with ``python -m fairlab``."""

import sys

from fairlab.cli import main

sys.exit(main())
