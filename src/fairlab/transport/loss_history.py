"""The losses of a GAN while it learnt."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

LOSSES = ("critic", "adversarial", "cost")


@dataclass(frozen=True)
class LossHistory:
    """Losses of an ensemble, each the mean over the steps since the one before.

    Attributes
    ----------
    step : array of shape (n_records,)
        Generator steps done.
    critic : array of shape (n_records, n_maps)
        Mean D over real points minus mean D over generated ones, at the last critic step.
    adversarial : array of shape (n_records, n_maps)
        Mean D over generated points, which the generator minimises.
    cost : array of shape (n_records, n_maps)
        Mean squared L1 move, without the penalty's factor.
    """

    step: np.ndarray
    critic: np.ndarray
    adversarial: np.ndarray
    cost: np.ndarray

    def to_frame(self) -> pd.DataFrame:
        """Return one row per record and map, with columns step, map, critic, adversarial, cost."""
        n_records, n_maps = self.critic.shape
        columns = {"step": np.repeat(self.step, n_maps), "map": np.tile(np.arange(n_maps), n_records)}
        return pd.DataFrame(columns | {name: getattr(self, name).ravel() for name in LOSSES})

    def of_map(self, k: int) -> "LossHistory":
        """Return the history of one map."""
        return LossHistory(step=self.step, **{name: getattr(self, name)[:, [k]] for name in LOSSES})
