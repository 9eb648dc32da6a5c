"""Image tagger: labels that two taggers gave to pictures of black and of white people.

The datasheet is at the head of ``data_scripts/make_image_tagger.py``. Its option: whose labels. Each label is a column
of 0 and 1 here.
"""

from fairlab.checks import checked, one_of
from fairlab.data.dataset import Dataset
from fairlab.data.registry import project_registry
from fairlab.data.sources import derive, load_variant

TAGGERS = ("caffe", "overfeat")


@checked(labels=one_of(*TAGGERS))
def load(*, labels: str = "caffe") -> Dataset:
    """Load `image-tagger`.

    Parameters
    ----------
    labels : {"caffe", "overfeat"}
        Whose labels.

    Raises
    ------
    ValueError
        If there is no such tagger.
    """
    dataset = load_variant(project_registry().variant("image-tagger"))
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
