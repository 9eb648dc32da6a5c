"""The pages: investigations, the effect over time with its band, and reports, also as text; without JavaScript."""

from datetime import datetime, timedelta

from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.ticker import MaxNLocator

from fairlab.cases.finding import decimals, percent
from fairlab.fairtest import findings
from fairlab.monitoring.logs import iso
from fairlab.plotting import PAGE_STYLE, REPORT_STYLE

LEFT, RIGHT, TOP, BOTTOM = 64, 708, 10, 208  # of the plot in its picture
N_TIMES = 3


_TEMPLATES = Environment(
    loader=PackageLoader("fairlab.monitoring"),
    autoescape=lambda name: not name.endswith(".txt"),
    undefined=StrictUndefined,
    trim_blocks=True,
    keep_trailing_newline=True,
)
_TEMPLATES.filters |= {"iso": iso, "findings": findings, "decimals": decimals, "percent": percent}


# Style of an audit's report, and rules for the monitor only.
STYLE = "\n".join([PAGE_STYLE, REPORT_STYLE, _TEMPLATES.loader.get_source(_TEMPLATES, "monitor.css")[0]])


def render(template: str, **shown) -> str:
    """Return a page, or a report as text."""
    return _TEMPLATES.get_template(template).render(shown)


def investigation(about: dict, looks: list[dict], last: dict | None, effects: dict) -> str:
    """Return the page of an investigation with its effects over time."""
    start, end = (datetime.fromisoformat(effects[name]) for name in ("start", "end"))
    finished = [datetime.fromisoformat(one["finished"]) for one in looks if one["finished"]]
    charts = [one | _chart(one["points"], start, end, finished) for one in effects["effects"]]
    return render(
        "investigation.html",
        about=about,
        looks=looks,
        last=last,
        charts=charts,
        start=effects["start"][:16],
        end=(end + timedelta(seconds=59.999)).isoformat()[:16],  # rounded up, since the form has only minutes
    )


def _chart(points: list[dict], start: datetime, end: datetime, looks: list[datetime]) -> dict:
    """Return the coordinates of line, band, ticks and looks in the picture."""
    shown = [point for point in points if point["n"]]
    if not shown:
        return {"line": "", "last": None}
    low, high = min(0, *(point["low"] for point in shown)), max(0, *(point["high"] for point in shown))
    ticks = MaxNLocator(4).tick_values(low, high)
    seconds = max((end - start).total_seconds(), 1e-3)

    def across(moment):
        return round(LEFT + (RIGHT - LEFT) * (moment - start).total_seconds() / seconds, 1)

    def up(value):
        return round(BOTTOM - (BOTTOM - TOP) * (value - ticks[0]) / (ticks[-1] - ticks[0]), 1)

    def path(name):
        return [f"{across(datetime.fromisoformat(point['time']))},{up(point[name])}" for point in shown]

    times = [start + (end - start) * k / (N_TIMES - 1) for k in range(N_TIMES)]
    form = "%H:%M:%S" if seconds < 3600 else "%d %b %H:%M" if seconds < 10 * 86_400 else "%d %b %Y"
    return {
        "line": " ".join(path("estimate")),
        "band": " ".join([*path("low"), *reversed(path("high"))]),
        "rows": [(up(tick), f"{tick:.3g}".replace("-", "−")) for tick in ticks],
        "columns": [(across(moment), moment.strftime(form)) for moment in times],
        "looks": [across(moment) for moment in looks if start <= moment <= end],
        "last": shown[-1],
    }
