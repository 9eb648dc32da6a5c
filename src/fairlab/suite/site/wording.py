"""Names, labels and addresses of papers, tables, figures and rows on the site."""

import re
from dataclasses import dataclass
from html import escape

from fairlab import __version__
from fairlab.suite.comparison import Row, label_of
from fairlab.suite.published import load_paper

UNITS = {"percent": "%", "seconds": "s"}
UPPER = re.compile(r"^[a-z](?=\.|$)")

# Meanings of the verdicts for the legend; the rules are in `fairlab.suite.verdicts`.
MEANINGS = {
    "exact": "equal at the published precision",
    "agrees": "within the published standard deviation, or 10%",
    "near": "within 25%",
    "compatible": "a single published run, within the central 95% of at least twenty of ours",
    "same conclusion": "the number differs, but every claim of its table or figure holds",
    "differs": "otherwise; the paper's page says why",
    "holds": "a supported claim",
    "fails": "a claim that our results do not support",
    "setting": "a parameter of the protocol, not a result",
    "impossible": "the published number contradicts the paper's own method",
    "not comparable": "seconds, or a run smaller than the paper's",
    "surrogate": "a fallback replaces data that is not available; never counted",
    "not run": "with the reason",
}


def artefact_name(artefact: str) -> str:
    """Return the name of a table or figure from its id: ``table-4`` is Table 4, ``appendix-a.2`` Appendix A.2."""
    kind, _, rest = artefact.partition("-")
    number, _, part = rest.partition("-")
    number = UPPER.sub(lambda letter: letter[0].upper(), number)
    return f"{kind.capitalize()} {number}" + (f", {part}" if part else "")


def paper_anchor(row: Row) -> str:
    """Return the address of the row's table or figure on its paper's page, relative to the site's root."""
    return f"papers/{row.paper}.html#{row.artefact}"


def slug(words: str) -> str:
    """Return words as the name of a class or of a shape."""
    return words.replace(" ", "-")


@dataclass(frozen=True)
class Shown:
    """One row of the scorecard as text.

    Attributes
    ----------
    row : Row
    """

    row: Row

    @property
    def anchor(self) -> str:
        """Anchor of the row: ``adf:table-4:census.age.adf.id``."""
        return f"{self.row.paper}:{self.row.artefact}:{self.row.id}"

    @property
    def link(self) -> str:
        """Address of the row, seen from the site's root."""
        return f"scorecard.html#{self.anchor}"

    @property
    def is_inferred(self) -> bool:
        """Whether the protocol was inferred from the published values."""
        return self.row.is_inferred

    @property
    def published(self) -> str:
        """The published number with its unit and digits, or the claim."""
        row = self.row
        if row.kind == "claim":
            return str(row.published)
        value = load_paper(row.paper).artefact(row.artefact).values.get(row.id)
        unit = UNITS.get(value.kind, "") if value else ""
        numbers = row.published if isinstance(row.published, tuple) else (row.published,)
        as_printed = value and numbers == ((value.low, value.high) if value.kind == "interval" else (value.value,))
        text = value.printed if as_printed else plain(row.published)
        return f"{text} {unit}".strip()

    @property
    def source(self) -> str:
        """Where the number is published, and its source if that is not the text."""
        values = load_paper(self.row.paper).artefact(self.row.artefact).values
        value = values.get(self.row.id)
        extra = f" ({value.source.replace('_', ' ')})" if value and value.source else ""
        return artefact_name(self.row.artefact) + extra

    @property
    def ours(self) -> str:
        """Our number with its interval, or the result for the claim."""
        return self.row.shown or "not available"

    @property
    def trials(self) -> str:
        """The number of trials."""
        n = self.row.n_trials
        return "" if n is None else f"{n} trial{'s' * (n != 1)}"

    @property
    def run(self) -> str:
        """Data, profile, seed and commit."""
        row = self.row
        if row.profile is None:
            return ""
        return f"{row.data} data, {row.profile}, seed {row.seed}, commit {(row.commit or 'unknown')[:7]}"

    @property
    def summary(self) -> str:
        """The row in one line, for a mark that stands for it."""
        row = self.row
        verdict = label_of(row.verdict) + (" (inferred)" if self.is_inferred else "")
        if row.kind == "claim":
            return f"{row.id}: {verdict}. {row.published}"
        difference = f", {row.difference}" if row.difference else ""
        return f"{row.id}: {verdict}. Published {self.published}, our result {self.ours}{difference}"

    @property
    def citation(self) -> str:
        """A line to cite the row by."""
        row, about = self.row, load_paper(self.row.paper).about
        ours = f"{self.ours}{f' ({self.trials})' if self.trials else ''}: {label_of(row.verdict)}"
        run = f" [{self.run}]" if self.run else ""
        return (
            f"fairlab {__version__}, {self.anchor}. Published {self.published} ({about.authors.split(',')[0]} et al., "
            f"{about.venue}, {artefact_name(row.artefact)}); reproduced {ours}{run}."
        )


def plain(number) -> str:
    """Return a number, a pair of them or text as text: whole numbers without a point."""
    if isinstance(number, tuple):
        return f"[{', '.join(map(plain, number))}]"
    return f"{int(number)}" if isinstance(number, float) and number.is_integer() else str(number)


def tag(name: str, content: str = "", **attributes) -> str:
    """Return an HTML element with escaped attributes; `content` is HTML, ``class_`` stands for ``class``."""
    texts = (f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items())
    return f"<{name}{''.join(texts)}>{content}</{name}>"
