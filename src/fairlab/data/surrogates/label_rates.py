"""Surrogates of labelled images: how often each label occurs in each group of images."""

import numpy as np
import pandas as pd

from fairlab.data.documents import Entry, Several

ROUNDS = 30  # of trades; every image takes part in each


class ImageGroup(Entry):
    """Images that share their values in all columns but their labels.

    Attributes
    ----------
    values : dict of str to str
    images : int
    counts : dict of str to int
        Images with each label.
    """

    values: dict[str, str]
    images: int
    counts: dict[str, int]

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return which image has which label, at random among all ways to give each label to so many images.

        All images have the same number of labels, give or take one. The first table is filled in turn; then, again and
        again, images trade at random the labels that only one of two has (Strona et al. 2014, "curveball").

        Returns
        -------
        ndarray of bool of shape (images, n_labels)
        """
        label = np.repeat(np.arange(len(self.counts)), list(self.counts.values()))
        has = np.zeros((self.images, len(self.counts)), dtype=bool)
        has[np.arange(len(label)) % self.images, label] = True
        for _ in range(ROUNDS):
            first, second = rng.permutation(self.images)[: self.images // 2 * 2].reshape(2, -1)
            common, single = has[first] & has[second], has[first] ^ has[second]
            rank = np.where(single, rng.random(single.shape), 1).argsort(axis=1).argsort(axis=1)
            taken = single & (rank < (has[first] & single).sum(axis=1, keepdims=True))
            has[first], has[second] = common | taken, common | (single & ~taken)
        return has

    def texts(self, rng: np.random.Generator) -> pd.Series:
        """Return the labels of each image that has any, joined by "|"."""
        image, label = np.nonzero(self.draw(rng))
        return pd.Series(np.array(list(self.counts))[label]).groupby(image).agg("|".join)


class LabelRates(Entry):
    """Frequencies of labels by group of images."""

    groups: Several[ImageGroup]

    def sample(self, n_rows: int, *, random_state=None) -> pd.DataFrame:
        """Draw as many images as the groups have, in the order of the groups.

        Parameters
        ----------
        n_rows : int
            Not used: the groups say how many images there are.
        random_state : int, Generator or None

        Returns
        -------
        DataFrame of shape (n_images, n_columns)
            The columns of the groups, then labels.
        """
        rng = np.random.default_rng(random_state)
        parts = [pd.DataFrame(group.values | {"labels": group.texts(rng)}) for group in self.groups]
        return pd.concat(parts, ignore_index=True)
