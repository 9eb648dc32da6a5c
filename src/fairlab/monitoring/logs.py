"""Structured logs: JSON, one object a line, without the content of rows."""

import json
import logging.config
import traceback
from datetime import UTC, datetime
from pathlib import Path

LOG = logging.getLogger("fairlab.monitoring")


def iso(milliseconds: int | None) -> str | None:
    """Return a time as text."""
    moment = None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment and moment.isoformat(timespec="milliseconds")


def log(event: str, *, level: str = "info", **fields) -> None:
    """Log an event with its fields."""
    getattr(LOG, level)(event, extra={"fields": fields})


def place(caught: BaseException) -> dict:
    """Return the type of an error and where it was raised, without its message, which may contain values of rows."""
    return {
        "error": type(caught).__name__,
        "where": [f"{Path(one.filename).name}:{one.lineno}" for one in traceback.extract_tb(caught.__traceback__)[-5:]],
    }


class JsonLines(logging.Formatter):
    """Log records as JSON, one a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, without an error's traceback, whose message may contain values of rows."""
        line = {"time": iso(int(record.created * 1000)), "level": record.levelname, "event": record.getMessage()}
        return json.dumps(line | getattr(record, "fields", {}))


def log_as_json() -> None:
    """Log to standard error in this process; of alembic, httpx and httpcore, only warnings."""
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"json": {"()": JsonLines}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
            "root": {"level": "INFO", "handlers": ["stderr"]},
            # Their messages at INFO have whole addresses, which may contain a key.
            "loggers": {name: {"level": "WARNING"} for name in ("alembic", "httpx", "httpcore")},
        }
    )
