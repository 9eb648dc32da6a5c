"""Blocks of rows of FlipTest's table 1: how well the maps of one experiment fit, and how far they move people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from fairlab.fliptest.ensemble import usable_maps
from fairlab.fliptest.validation import DISTANCES, MapValidation


@dataclass(frozen=True, eq=False)
class MapFits:
    """One block of table 1.

    Attributes
    ----------
    listed : dict of str to str
        The features that the table lists, with their names in it.
    fits : dict of str to MapValidation
        Per learnt map.
    exact : sequence of dict
        Per trial, what `fairlab.papers.fliptest.trials.exact_distances` returned.
    data : list of str
        The data sets that the block rests on.
    """

    listed: Mapping[str, str]
    fits: Mapping[str, MapValidation]
    exact: Sequence[Mapping[str, float]]
    data: list[str]

    @property
    def usable(self) -> list[str]:
        """Names of the maps that reached their target."""
        return usable_maps(self.fits)[0]

    @property
    def note(self) -> str:
        """How many maps were left out."""
        return usable_maps(self.fits)[1]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per map, learnt or exact: KS and difference in squared error by feature, and the distances."""
        rows = {
            name: {
                f"{measure} {feature}": fit.features.loc[feature, measure]
                for feature in self.listed
                for measure in ("ks", "mse_difference")
            }
            | {distance: getattr(fit, distance) for distance in DISTANCES}
            | {"used": name in self.usable}
            for name, fit in self.fits.items()
        }
        rows |= {f"exact {k}": row for k, row in enumerate(self.exact)}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("map")

    def summary(self) -> pd.Series:
        """Return the means over the usable maps, by their ids in the table: ``age.ks``, ``distance.gan`` and so on."""
        table = self.to_frame()
        used, exact = table.loc[self.usable], table.loc[[f"exact {k}" for k in range(len(self.exact))]]
        means = {
            f"{printed}.{id}": used[f"{measure} {feature}"].mean()
            for feature, printed in self.listed.items()
            for id, measure in (("ks", "ks"), ("mse_diff", "mse_difference"))
        }
        distances = {"distance.gan": used["mean_l1"].mean(), "distance.exact": exact["mean_l1"].mean()}
        return pd.Series(means | distances, name="ours")
