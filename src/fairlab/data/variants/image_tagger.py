"""Image tagger: which labels two taggers gave to pictures of black and of white people.

The datasheet is at the head of ``data_scripts/make_image_tagger.py``. Here each label is a column of 0 and 1. The
target and the sensitive feature are the same, race: the question is what the labels tell about it.

What the surrogate gets right: how many pictures of each race there are, how many labels each has, and how many pictures
of each race have each label. What it does not: labels that come together (a suit and a tie) do so by chance only; the
pictures stand in order of race.
"""

from fairlab.data.dataset import Dataset
from fairlab.data.loading import derive, load_variant

TAGGERS = ("caffe", "overfeat")


def load(*, labels: str = "caffe", surrogate: bool | None = None) -> Dataset:
    """Load `image-tagger`.

    Parameters
    ----------
    labels : {"caffe", "overfeat"}
        Whose labels.
    surrogate : bool or None
        See, also for further errors, `fairlab.data.loading.load_variant`.

    Raises
    ------
    ValueError
        If there is no such tagger.
    """
    if labels not in TAGGERS:
        raise ValueError(f"labels: expected one of {', '.join(TAGGERS)}, found {labels!r}")
    dataset = load_variant("image-tagger", surrogate=surrogate)
    own = dataset.features["tagger"] == labels
    race = dataset.target[own].reset_index(drop=True)
    return derive(
        dataset,
        features=dataset.features.loc[own, "labels"].str.get_dummies("|").reset_index(drop=True),
        target=race,
        sensitive_features=race.to_frame(),
        encoding={"race": dataset.encoding["race"]},
        options={"labels": labels},
    )
