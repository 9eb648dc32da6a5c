"""Lab 8: people who apply for a traineeship."""

import numpy as np
import pandas as pd

from fairlab.labs.draws import course_rng, redrawn


def trainees(course: int = 0, *, n_people: int = 2000) -> pd.DataFrame:
    """Return generated people who applied for a traineeship, and whom the firms invited.

    Firms invite people from abroad less often, and men as often as women. They are drawn again until the difference is
    at least 15 percentage points in the first half of the table, from which a model can learn, and in the second.

    Parameters
    ----------
    course : int
        How much less often is drawn from it, too.
    n_people : int

    Returns
    -------
    DataFrame
        Columns gender (man, woman), origin (foreign, local), age, district (harbour, centre, hills; tells much about
        the origin), grade (1 to 5, 5 is best), absent (days; some are missing), internship and invited (no, yes).

    Examples
    --------
    >>> from fairlab.labs.audit import trainees
    >>> trainees(n_people=200).shape[0]
    200
    """
    rng = course_rng("trainees", course)
    less = rng.uniform(1.0, 1.5) if course else 1.2
    return redrawn(lambda: _applicants(rng, n_people, less), _invites_fewer_from_abroad)


def _applicants(rng: np.random.Generator, n_people: int, less: float) -> pd.DataFrame:
    origin = rng.choice(["local", "foreign"], n_people, p=[0.7, 0.3])
    home = np.where(origin == "foreign", "harbour", "centre")
    table = pd.DataFrame(
        {
            "gender": rng.choice(["woman", "man"], n_people),
            "origin": origin,
            "age": rng.integers(16, 23, n_people),
            "district": np.where(
                rng.random(n_people) < 0.7, home, rng.choice(["harbour", "centre", "hills"], n_people)
            ),
            "grade": rng.normal(3, 0.8, n_people).clip(1, 5).round(1),
            "absent": rng.poisson(4, n_people).astype(float),
            "internship": rng.choice(["no", "yes"], n_people, p=[0.6, 0.4]),
        }
    )
    odds = 1.4 * (table["grade"] - 3) - 0.12 * (table["absent"] - 4) + 0.1 * (table["age"] - 18)
    odds += 0.9 * (table["internship"] == "yes") - less * (origin == "foreign") - 0.6
    table.loc[rng.random(n_people) < 0.08, "absent"] = np.nan
    return table.assign(invited=np.where(rng.random(n_people) < 1 / (1 + np.exp(-odds)), "yes", "no"))


def _invites_fewer_from_abroad(table: pd.DataFrame) -> bool:
    half = np.arange(len(table)) < len(table) // 2
    share = (table["invited"] == "yes").groupby([half, table["origin"]]).mean().unstack()
    return (share["local"] - share["foreign"]).min() >= 0.15
