"""Structured logs: JSON, one object a line, without what rows hold."""

import json
import logging
from datetime import UTC, datetime

LOG = logging.getLogger("fairlab.monitoring")


def iso(milliseconds: int | None) -> str | None:
    """Return a time as text."""
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")


def place(caught: BaseException) -> dict:
    """Return the type of an error and where it was raised; its message may hold what a row holds."""
    places, step = [], caught.__traceback__
    while step:
        places.append(f"{step.tb_frame.f_code.co_filename.rpartition('/')[2]}:{step.tb_lineno}")
        step = step.tb_next
    return {"error": type(caught).__name__, "where": places[-5:]}


class JsonLines(logging.Formatter):
    """Log records as JSON, one a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line; of an error only its type and place."""
        line = {"time": iso(int(record.created * 1000)), "level": record.levelname, "event": record.getMessage()}
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[1]:
            line |= place(record.exc_info[1])
        return json.dumps(line)


def log_as_json() -> None:
    """Have this process log on standard error, and Alembic its warnings only."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)
    logging.getLogger("alembic").setLevel(logging.WARNING)
