"""Strategic Subject List: 398,582 people with an arrest in Chicago, eight predictors and a risk score from 0 to 500.

The datasheet is at the head of ``data_scripts/make_ssl.py``. The target is the score (`positive_label` is None);
experiments that need a class cut it, FlipTest at 345. All races are kept; experiments choose.

The list cannot be passed on with this project, so nearly everybody works with the surrogate: generated people, see
`fairlab.data.surrogates.subjects`, fitted to what others published about the list by ``data_scripts/fit_ssl_surrogate.py``, which
prints how near it is to every number, fitted or held out. `fairlab.data.surrogates.subject_statistics.check` does it for any table
with these columns.

What the surrogate gets right: scores by race, sex and age (they are the published counts); means and deviations of the
predictors, mostly within 3%; the linear fit of the score on them and how much it leaves open; mean scores by gang
affiliation; the trend.

What it does not:

- How the predictors go with race is known from one place only: counts among those whom a model predicts to have a high
  score. Elsewhere it is what a log-linear model makes of that. Flipsets between races rest on it.
- Those counts come out with a median error of about an eighth, pairs and triples of predictors worse; one in ten is off
  by half or more.
- Weapons and violent arrests go together less than on the list (their variance inflation is too low), and the score
  rises by an eighth or so too little with each time of being a victim.
- Hardly anyone has a score of 400 or more without any predictor; on the list one in fifty of these has.
- The trend depends on nothing. On the list it at least goes with the year of the last arrest.
- The codes WBH, I and U have the shares that mean scores suggest, and nothing else of their own.
- Age is the band of today's age, since no counts by age at the latest arrest are published.
"""

from fairlab.data.dataset import Dataset
from fairlab.data.loading import load_variant


def load(*, surrogate: bool | None = None) -> Dataset:
    """Load `ssl`; for `surrogate` and errors see `fairlab.data.loading.load_variant`."""
    return load_variant("ssl", surrogate=surrogate)
