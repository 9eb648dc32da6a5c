"""What methods return: a line to read, a table, a figure; and, of one finding, who, where, how much and how sure."""

from abc import ABC, abstractmethod
from html import escape

import pandas as pd
from matplotlib.figure import Figure

ROWS_SHOWN = 10


class Result(ABC):
    """Anything that a method returns: shown as one line, in a notebook with the first rows of its table."""

    @property
    @abstractmethod
    def summary(self) -> str:
        """One line with what matters most."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return all numbers as a table."""

    @abstractmethod
    def plot(self) -> Figure:
        """Return a figure of the numbers, closed for pyplot."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.summary}"

    def _repr_html_(self) -> str:
        table = self.to_frame()
        left_out = f"<p>{len(table) - ROWS_SHOWN} more rows</p>" if len(table) > ROWS_SHOWN else ""
        return f"<p>{escape(repr(self))}</p>{table.head(ROWS_SHOWN).to_html(index=False, border=0)}{left_out}"


class Finding(Result):
    """One answer about one set of sensitive features; methods derive their results from it.

    Attributes
    ----------
    who : str
        The sensitive features, or the group.
    where : str
        Of which inputs or people.
    effect : float
        How strong, on the method's scale; 0 is none.
    interval : tuple of float
        Confidence interval of the effect, low and high.
    evidence : DataFrame
        Inputs, people or groups that show it.
    """

    who: str
    where: str
    effect: float
    interval: tuple[float, float]
    evidence: pd.DataFrame

    @property
    def summary(self) -> str:
        """Who, where, the effect and its interval."""
        low, high = self.interval
        return f"{self.who}, {self.where}: {self.effect:.3g} [{low:.3g}, {high:.3g}]"
