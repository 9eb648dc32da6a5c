"""Movie recommender: gender, age and occupation of MovieLens' users, and the movies recommended to them.

The datasheet is at the head of ``data_scripts/make_movie_recommender.py``. The target is the mean rating of the
recommended movies; the other outputs (seen_rating, rmse, movie_age, the genres) are among the features, since each
investigation looks at one of them and drops the others. Age is a number and therefore not listed as sensitive.

What the surrogate gets right: the distribution of every column by gender; how ratings and ages of the movies go with
the user's age. What it does not: exactly five genres for everybody; no copula has pairs that exclude each other as
these do, so that correlations among genres, and of genres and rmse with age, are off by 0.05 on average and by up to
0.16. Associations are monotone and the same for women and men; contexts that rest on three columns at once are not
there.
"""

from fairlab.data.dataset import Dataset
from fairlab.data.loading import load_variant


def load(*, surrogate: bool | None = None) -> Dataset:
    """Load `movie-recommender`; for `surrogate` and errors see `fairlab.data.loading.load_variant`."""
    return load_variant("movie-recommender", surrogate=surrogate)
