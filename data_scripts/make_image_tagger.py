"""Datasheet of `image-tagger`: five labels that two image taggers gave to pictures of black and of white people.

What: pictures from ImageNet that the authors of FairTest (Tramer et al. 2017) sorted by race, and the five labels that
    a tagger found likeliest. Caffe: 1,372 pictures of black and 1,243 of white people, 200 different labels. OverFeat:
    1,404 and 1,243 pictures, 745 labels. The pictures themselves are not here and the files do not name them, so a
    row of the one tagger cannot be matched with a row of the other.
Columns: tagger; race; labels, joined by "|", likeliest first.
Rows: those of Caffe in the order of its file, then those of OverFeat.
Quirks: OverFeat gives "maillot" twice to some pictures, since ImageNet has two kinds of it.
Licence: Apache-2.0 (FairTest).
Fit for: repeating the study. Unfit for: judging taggers of today, or race, which somebody saw in a picture.
"""

from ast import literal_eval
from pathlib import Path

import pandas as pd

from fairlab.data.errors import DataError

FILES = {"caffe": "fairtest/images/caffe.txt", "overfeat": "fairtest/images/overfeat_raw.txt"}
LABELS_PER_IMAGE = 5


def make(raw: dict[str, Path]) -> pd.DataFrame:
    """Return one row per picture and tagger."""
    tables = [read(raw[name], name).assign(tagger=tagger) for tagger, name in FILES.items()]
    return pd.concat(tables, ignore_index=True)[["tagger", "race", "labels"]]


def read(path: Path, name: str) -> pd.DataFrame:
    """Return race and labels of one of the files.

    Raises
    ------
    DataError
        If the header is another, or a picture has not five labels.
    """
    table = pd.read_csv(path, sep="\t", dtype=str, keep_default_na=False)
    if list(table.columns) != ["Race", "Labels"]:
        raise DataError(f"{name}: columns are {', '.join(table.columns)}; expected Race, Labels")
    labels = table["Labels"].map(literal_eval)
    numbers = labels.map(len)
    if (numbers != LABELS_PER_IMAGE).any():
        row = numbers.ne(LABELS_PER_IMAGE).idxmax()
        raise DataError(f"{name}: row {row} has {numbers[row]} labels, expected {LABELS_PER_IMAGE}")
    return pd.DataFrame({"race": table["Race"], "labels": labels.str.join("|")})


if __name__ == "__main__":
    from fairlab.data.tables import main

    main(__file__)
