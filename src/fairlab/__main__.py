"""The command line, ``fairlab`` or ``python -m fairlab``: stopped while it loads, it ends as it does later."""

import gc
import sys

from fairlab.suite.processes import terminated_as_interrupted


def main() -> int:
    """Run the command line and return its exit status; 130 if it was interrupted."""
    gc.set_threshold(30_000)  # loading libraries makes hundreds of thousands of objects that stay
    if sys.stdout:
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr, in a locale that lacks a character
    try:
        with terminated_as_interrupted():
            from fairlab import cli  # which takes most of a second

            status = cli.main()
            gc.freeze()  # or Python looks through all that was loaded before it ends
            return status
    except KeyboardInterrupt:
        print("fairlab: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
