import ast

import pandas as pd
import pytest
from fidelity import compare

from fairlab.data import DataError, load
from fairlab.data.tables import load_script
from fairlab.paths import project

DATA_SCRIPTS = project().data_scripts

MAKE = load_script(DATA_SCRIPTS / "make_movie_recommender.py")
HEAD = "\t".join(MAKE.COLUMNS)
ROW = "M\t45\twriter\t4.25\t3.5\t0.75\t40.5\t['Drama', \"Children's\"]"


def made(tmp_path, *lines):
    path = tmp_path / "recommendations.txt"
    path.write_text("\n".join(lines) + "\n")
    return MAKE.make({MAKE.FILE: path})


def test_make_by_hand(tmp_path):
    table = made(tmp_path, HEAD, ROW, ROW.replace("45", "1", 1).replace("Drama", "War"))
    assert list(table.columns)[-3:] == ["Children's", "Drama", "War"]
    assert table.iloc[0].tolist() == ["M", 50, "writer", 4.25, 3.5, 0.75, 40.5, 1, 1, 0]
    assert table.iloc[1].tolist() == ["M", 10, "writer", 4.25, 3.5, 0.75, 40.5, 1, 0, 1]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((HEAD, ROW.replace("45", "44", 1)), "unknown age codes 44; expected 1, 18, 25"),
        ((HEAD.replace("RMSE", "MAE"), ROW), r"recommendations\.txt: columns are Gender, .*MAE.*; expected Gender"),
    ],
)
def test_other_files_are_refused(tmp_path, lines, message):
    with pytest.raises(DataError, match=message):
        made(tmp_path, *lines)


def test_columns(drawn_once):
    dataset = load("movie-recommender", surrogate=True)
    assert list(dataset.features.columns[:6]) == ["gender", "age", "occupation", "seen_rating", "rmse", "movie_age"]
    assert len(dataset.features.columns) == 6 + 17
    assert set(dataset.features["age"]) == {10, 20, 30, 40, 50, 60}
    assert dataset.target.name == "recommended_rating"


def test_the_real_rows_are_those_of_the_file(mirror):
    dataset = load("movie-recommender")
    raw = pd.read_csv(mirror / MAKE.FILE, sep="\t")
    assert dataset.target.tolist() == raw["Avg Recommended Rating"].tolist()
    assert dataset.features["occupation"].tolist() == raw["Occupation"].tolist()
    assert (dataset.features["age"] // 10).tolist() == raw["Age"].replace({1: 10}).add(5).floordiv(10).tolist()
    genres = dataset.features.columns[6:]
    assert (dataset.features[genres].sum(axis=1) == 5).all()
    for row in (0, 17, 6039):
        assert set(genres[dataset.features.loc[row, genres] == 1]) == set(ast.literal_eval(raw["Types"][row]))


def test_surrogate_is_as_near_as_the_registry_says(mirror, drawn_once):
    fidelity = compare(load("movie-recommender"), load("movie-recommender", surrogate=True))
    associations = fidelity.associations
    assert fidelity.marginals["distance"].max() < 0.03
    assert associations["difference"].abs().mean() < 0.055
    assert associations["difference"].abs().max() < 0.165
    for output in ("seen_rating", "movie_age", "recommended_rating"):
        assert abs(associations.loc[("age", output), "difference"]) < 0.04
