"""What every figure promises; these tests run over every committed figure."""

import re

import pandas as pd
import pytest

from fairlab.paths import project
from fairlab.plotting import SOURCE_MARKS, WIDEST
from fairlab.suite import drawing, published
from fairlab.suite.catalogue import experiment_names

FIGURES = project().figures

POINTS = 72  # to an inch, as SVG files count


@pytest.mark.parametrize("key", published.paper_keys())
def test_every_committed_figure_comes_with_its_numbers_and_its_run(key):
    index = drawing.read_index(FIGURES / key)
    files = {f"{stem}.{suffix}" for stem in index for suffix in drawing.FORMATS}
    assert {file.name for file in (FIGURES / key).glob("*.*")} - {drawing.INDEX} == files
    assert {entry["experiment"] for entry in index.values()} <= set(experiment_names())


@pytest.mark.parametrize("key", published.paper_keys())
def test_every_committed_figure_has_numbers_a_caption_a_title_and_fits_a_page(key):
    for stem, entry in drawing.read_index(FIGURES / key).items():
        numbers = pd.read_csv(FIGURES / key / f"{stem}.csv")
        assert numbers.select_dtypes("number").notna().any(axis=None), stem
        assert len(entry["caption"].split()) > 4, stem
        assert SOURCE_MARKS.get(entry["data"], "")[1:] in entry["caption"], stem
        assert ("smaller than the paper profile" not in entry["caption"]) or entry["profile"] != "paper", stem
        assert entry["sentence"], stem
        assert entry["alternative"].endswith(entry["sentence"]), stem
        head = (FIGURES / key / f"{stem}.svg").read_text(encoding="utf-8")[:2000]
        [width] = re.findall(r'<svg [^>]*\bwidth="([\d.]+)pt"', head.replace("\n", " "))
        assert float(width) <= WIDEST * POINTS + 0.5, stem
