"""Surrogates of labelled images: how often each label occurs in each group of images."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from fairlab.data.errors import DataError

ROUNDS = 30  # of trades; every image takes part in each


@dataclass(frozen=True)
class ImageGroup:
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

    def __post_init__(self):
        label = max(self.counts, key=self.counts.get)
        if self.counts[label] > self.images:
            raise DataError(f"label rates: {self.counts[label]} images with {label!r}, {self.images} images")

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


@dataclass(frozen=True)
class LabelRates:
    """Frequencies of labels by group of images.

    Attributes
    ----------
    groups : tuple of ImageGroup
    """

    groups: tuple[ImageGroup, ...]

    def sample(self, n_rows: int, *, random_state=None) -> pd.DataFrame:
        """Draw as many images as the groups have, in the order of the groups.

        Parameters
        ----------
        n_rows : int
            The number of images, as a check.
        random_state : int, Generator or None

        Returns
        -------
        DataFrame of shape (n_rows, n_columns)
            The columns of the groups, then labels.

        Raises
        ------
        DataError
            If the groups have another number of images.
        """
        total = sum(group.images for group in self.groups)
        if n_rows != total:
            raise DataError(f"label rates: {n_rows:,} rows requested, the groups have {total:,} images")
        rng = np.random.default_rng(random_state)
        parts = [pd.DataFrame(group.values | {"labels": _texts(group, rng)}) for group in self.groups]
        return pd.concat(parts, ignore_index=True)

    def to_dict(self) -> dict:
        """Return plain values for a YAML file."""
        groups = [{"values": g.values, "images": g.images, "counts": g.counts} for g in self.groups]
        return {"groups": groups}

    @classmethod
    def from_dict(cls, content: dict) -> "LabelRates":
        """Return the rates that `to_dict` described."""
        return cls(tuple(ImageGroup(**group) for group in content["groups"]))


def count_labels(table: pd.DataFrame) -> LabelRates:
    """Count the images with each label in every group of a table whose last column is labels, joined by "|"."""
    *columns, labels = table.columns
    groups = []
    for values, images in table.groupby(columns, observed=True)[labels]:
        counts = images.str.get_dummies("|").sum()
        groups.append(ImageGroup(dict(zip(columns, values, strict=True)), len(images), counts.to_dict()))
    return LabelRates(tuple(groups))


def _texts(group: ImageGroup, rng: np.random.Generator) -> pd.Series:
    image, label = np.nonzero(group.draw(rng))
    return pd.Series(np.array(list(group.counts))[label]).groupby(image).agg("|".join)
