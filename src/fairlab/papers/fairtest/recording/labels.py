"""Records and claims on many labels at once: the image tagger's, and the genres of recommended movies."""

from collections.abc import Mapping

import pandas as pd

from fairlab.data import Dataset
from fairlab.fairtest.finding import SIGNIFICANCE, Association
from fairlab.papers.fairtest.movies import ERROR, MOVIE_AGE, RATING

# The labels that figure 9 prints, and the sign of the difference: black people's share minus white people's.
SIGNS = {"cart": 1, "drum": 1, "helmet": 1, "cattle": 1, "face powder": -1, "maillot": -1, "person": -1, "lipstick": -1}
SINGLE = "single ratings (fairlab data fetch fairtest/recommender/movielens-1m/ratings.dat) are not read here"
SMALL, NEGLIGIBLE = 0.3, 0.1  # by Cohen's conventions: "slight" or "small", "the same"


def image_tagger(
    exp, photos: Mapping[str, Dataset], tables: Mapping[str, pd.DataFrame], n_tested: Mapping[str, int]
) -> None:
    """Record figure 9 and section 6.3.2.

    Parameters
    ----------
    exp : fairlab.Experiment
    photos : dict of str to Dataset
        By tagger, ``caffe`` and ``overfeat``.
    tables : dict of str to DataFrame
        The labels tested, as `fairlab.fairtest.label_table` returns them.
    n_tested : dict of str to int
        Photos tested.
    """
    table = tables["caffe"]
    absent = {label: f"{label} is not among the {len(table)} labels" for label in SIGNS if label not in table.index}
    for label in SIGNS:
        id = label.replace(" ", "_")
        if label in absent:
            for what in ("black", "white", "diff", "p"):
                exp.skip("figure-9", f"{id}.{what}", absent[label])
            continue
        row = table.loc[label]
        exp.record("figure-9", f"{id}.black", round(100 * row["Black"]))
        exp.record("figure-9", f"{id}.white", round(100 * row["White"]))
        exp.record("figure-9", f"{id}.diff", [row["low"], row["high"]])
        exp.record("figure-9", f"{id}.p", row["p_value"])
    exp.record("figure-9", "global.size", n_tested["overfeat"])
    exp.record("figure-9", "top_k", len(table))

    details, holds = {}, {}
    for label, sign in SIGNS.items():
        if label in absent:
            details[label], holds[label] = absent[label], False
            continue
        low, high, p = table.loc[label, ["low", "high", "p_value"]]
        details[label] = f"{label}: [{low:.4f}, {high:.4f}], p = {p:.2g}"
        holds[label] = bool((low > 0 if sign > 0 else high < 0) and p <= SIGNIFICANCE)
    exp.claim("figure-9", "cattle-black", holds["cattle"], detail=details["cattle"])
    exp.claim("figure-9", "person-less-black", holds["person"], detail=details["person"])
    exp.claim("figure-9", "signs", all(holds.values()), detail="; ".join(details.values()))

    for race, n in photos["overfeat"].target.value_counts().items():
        exp.record("section-6.3.2", f"images.{race.lower()}", int(n))
    labels = photos["caffe"].features
    exp.record("section-6.3.2", "labels_per_image", labels.sum(axis=1).max())
    exp.record("section-6.3.2", "tags", labels.shape[1])


def recommender(
    exp,
    rating: Mapping[str, Association],
    movie_age: Mapping[str, Association],
    error: Mapping[str, Association],
    genres: Mapping[str, pd.DataFrame],
    *,
    n_users: int,
) -> None:
    """Record figure 12 and appendix A.2.

    Figure 12 has no numbers. Correlations are read by Cohen's conventions: "slight" or "small" if the whole corrected
    interval lies within ±0.3, "the same" if within ±0.1. A direction holds if the interval excludes 0.

    Parameters
    ----------
    exp : fairlab.Experiment
    rating, movie_age, error : dict of str to Association
        Among everybody, with ``gender`` and with ``age``.
    genres : dict of str to DataFrame
        By ``gender`` and by ``generation``, as `fairlab.fairtest.label_table` returns them.
    n_users : int
    """
    claims = {
        "women-less-popular": (
            rating["gender"].low > 0 and _within(rating["gender"], SMALL),
            {f"gender, {RATING}": rating["gender"]},
        ),
        "women-same-period": (_within(movie_age["gender"], NEGLIGIBLE), {f"gender, {MOVIE_AGE}": movie_age["gender"]}),
        "older-users-older-and-higher-rated": (
            movie_age["age"].low > 0 and rating["age"].low > 0,
            {f"age, {MOVIE_AGE}": movie_age["age"], f"age, {RATING}": rating["age"]},
        ),
        "error-small": (
            all(error[name].high < 0 and _within(error[name], SMALL) for name in ("gender", "age")),
            {f"{name}, {ERROR}": error[name] for name in ("gender", "age")},
        ),
    }
    for id, (holds, rests_on) in claims.items():
        detail = "; ".join(f"{name}: [{a.low:.3f}, {a.high:.3f}]" for name, a in rests_on.items())
        exp.claim("figure-12", id, bool(holds), detail=detail)
    by_gender, by_generation = genres["gender"], genres["generation"]
    _claim_genres(exp, "women-genres", by_gender, more=["Romance", "Musical", "Children's"])
    _claim_genres(exp, "men-genres", by_gender, fewer=["Action", "Thriller", "War"])
    _claim_genres(exp, "older-war", by_generation, more=["War"], fewer=["Action", "Crime"])
    exp.skip(
        "appendix-a.2", "war-high-rated", f"the authors' file has no ratings by genre, only averages by user; {SINGLE}"
    )
    exp.record("appendix-a.2", "users", n_users)
    for id in ("movies", "ratings", "min_ratings_per_user", "test_ratings_per_user"):
        exp.skip(
            "appendix-a.2", id, f"the authors' file has one row of averages per user, not the single ratings; {SINGLE}"
        )


def _within(association, bound):
    """Return whether an interval lies between -bound and bound."""
    return -bound < association.low and association.high < bound


def _claim_genres(exp, id, table, *, more=(), fewer=()):
    """Claim that the first group gets some genres more often and others less often."""
    if missing := [name for name in (*more, *fewer) if name not in table.index]:
        exp.skip("appendix-a.2", id, f"no differences between users of this run in {', '.join(missing)}")
        return
    rows = table.loc[[*more, *fewer]]
    exp.claim(
        "appendix-a.2",
        id,
        bool((rows.loc[list(more), "low"] > 0).all() and (rows.loc[list(fewer), "high"] < 0).all()),
        detail="; ".join(f"{name} [{row['low']:.3f}, {row['high']:.3f}]" for name, row in rows.iterrows()),
    )
