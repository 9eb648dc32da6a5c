"""The command line, ``fairlab`` or ``python -m fairlab``; an interruption while it loads ends it like a later one."""

import gc
import signal
import sys
from contextlib import contextmanager


def main() -> int:
    """Run the command line and return its exit status; 130 if it was interrupted."""
    gc.set_threshold(30_000)  # loading libraries makes hundreds of thousands of objects that stay
    if sys.stdout:
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr, in a locale that lacks a character
    try:
        with terminated_as_interrupted():
            from fairlab import cli  # which takes most of a second

            status = cli.main()
            gc.freeze()  # or Python would look through all loaded objects before it ends
            return status
    except KeyboardInterrupt:
        print("fairlab: interrupted", file=sys.stderr)
        return 130


@contextmanager
def terminated_as_interrupted():
    """Make SIGTERM and SIGHUP raise KeyboardInterrupt in the block, as Ctrl-C does; ignored signals stay ignored."""

    def interrupt(*_):
        for number in handled:  # one is enough
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]
    handled = {number: signal.getsignal(number) for number in numbers if signal.getsignal(number) != signal.SIG_IGN}
    for number in handled:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main())
