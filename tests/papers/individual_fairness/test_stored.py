"""Audits of the authors' stored models give the printed digits, where the files are at hand."""

import numpy as np
import pandas as pd
import pytest

from fairlab import load
from fairlab.data.files import local_copy
from fairlab.data.registry import project_registry
from fairlab.papers.individual_fairness import stored
from fairlab.papers.individual_fairness.audits import (
    ADULT_AUDIT,
    COMPAS_AUDIT,
    MIXED_AUDITS,
    audit_on_test_part,
    group_fairness,
    metric_of_test_part,
)
from fairlab.papers.individual_fairness.learners import METHODS, classifiers
from fairlab.papers.individual_fairness.splits import ADULT_SEEDS, COMPAS_SEEDS, SEEDS, adult_split, compas_split

FILES = [file for path, file in project_registry().files.items() if path.startswith(stored.FOLDER)]
at_hand = pytest.mark.skipif(
    not all(map(local_copy, FILES)), reason="the authors' stored models are not in the cache or the mirror folder"
)


def test_the_registry_has_a_file_of_every_model():
    paths = {file.path for file in FILES}
    for study, seeds in SEEDS.items():
        for data, model in seeds:
            assert f"{stored.FOLDER}/{study}/reduction_{data}.json" in paths
            assert f"{stored.FOLDER}/{study}/sensr_{data}_{model}.json" in paths
            for method in ("baseline", "project"):
                assert f"{stored.FOLDER}/{study}/{method}_{data}_{model}.index" in paths
    assert len(FILES) == 2 * 10 * (2 + 2 * 2)


def test_without_the_files_nothing_is_given(monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRLAB_DATA_CACHE", str(tmp_path))
    monkeypatch.delenv("FAIRLAB_DATA_MIRROR", raising=False)
    monkeypatch.setenv("FAIRLAB_OFFLINE", "1")
    assert stored.stored_models("adult") is None
    assert f"{stored.FOLDER}/adult" in stored.how_to_get("adult")


@at_hand
def test_project_takes_out_the_stored_directions():
    arrays = stored.stored_models("compas")[0]
    projection = arrays["project"]["projection_"]
    np.testing.assert_allclose(projection @ projection, projection, atol=1e-6)
    assert round(np.trace(projection)) == 3  # of seven features
    network = classifiers(arrays)["project"]
    X = np.random.default_rng(0).normal(size=(20, 7)).astype(np.float32)
    np.testing.assert_allclose(network.log_odds(X), network.log_odds(X @ projection.astype(np.float32)), atol=1e-4)


@at_hand
def test_compas_to_the_printed_digits():
    """Table 4, and the test of error rates that it leaves out."""
    dataset, rows = load("compas-individual"), []
    for (seed, _), arrays in zip(COMPAS_SEEDS, stored.stored_models("compas"), strict=True):
        split = compas_split(dataset, seed)
        metric = metric_of_test_part(split)
        for method, model in classifiers(arrays).items():
            found = audit_on_test_part(model, split, **COMPAS_AUDIT, n_steps=200, metric=metric)
            tests = found.loss_ratio, found.error_rate_ratio
            numbers = [number for test in tests for number in (test.lower_bound, test.rejected)]
            rows.append([method, *group_fairness(model, split), *numbers])
    mean = pd.DataFrame(rows).groupby(0).mean().loc[list(METHODS)]
    expected = [
        [0.6746, 0.2181, 0.2598, 2.3845, 1.0, 2.1171, 1.0],
        [0.6406, 0.0393, 0.2268, 1.1613, 0.2, 1.2975, 0.5],
        [0.6523, -0.0144, 0.0370, 1.7629, 1.0, 1.9807, 1.0],
        [0.6398, 0.0464, 0.2370, 1.0982, 0.0, 1.2089, 0.4],
    ]
    np.testing.assert_allclose(mean, expected, atol=1.01e-4)


@at_hand
@pytest.mark.parametrize(
    ("method", "k", "settings", "n_steps", "by_loss", "by_error"),
    [
        ("baseline", 0, ADULT_AUDIT, 200, 2.0743, 1.9740),
        ("project", 1, ADULT_AUDIT, 500, 6.6801, 2.7432),
        ("reduction", 2, MIXED_AUDITS[2], 500, 7.2481, None),
        ("reduction", 7, MIXED_AUDITS[7], 500, 2.9300, None),
        ("sensr", 3, ADULT_AUDIT, 200, 1.0145, 1.0276),
    ],
)
def test_single_audits_behind_tables_1_and_3(method, k, settings, n_steps, by_loss, by_error):
    """Splits of a run of all ten, whose means and deviations have the printed digits."""
    arrays = {method: stored.stored_models("adult")[k][method]}
    split = adult_split(load("adult-individual"), ADULT_SEEDS[k][0])
    found = audit_on_test_part(classifiers(arrays)[method], split, **settings, n_steps=n_steps)
    assert found.loss_ratio.lower_bound == pytest.approx(by_loss, rel=2e-4)
    if by_error is not None:
        assert found.error_rate_ratio.lower_bound == pytest.approx(by_error, rel=2e-4)
