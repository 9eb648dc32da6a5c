import pickle

import pytest

from fairlab.data.errors import DataError, DataUnavailableError, RegistryError, SurrogateWarning


@pytest.mark.parametrize("kind", [RegistryError, DataUnavailableError])
def test_one_kind_catches_them_all(kind):
    with pytest.raises(DataError, match="missing"):
        raise kind("missing")


def test_unavailable_data_names_wrong_copies():
    assert DataUnavailableError("missing").rejected == ()
    error = DataUnavailableError("missing", ("mirror has 6 bytes",))
    assert (str(error), error.rejected) == ("missing", ("mirror has 6 bytes",))


def test_errors_survive_the_way_from_another_process():
    error = pickle.loads(pickle.dumps(DataUnavailableError("missing", ("mirror has 6 bytes",))))
    assert error.rejected == ("mirror has 6 bytes",)


def test_surrogate_warning_is_not_an_error():
    assert issubclass(SurrogateWarning, UserWarning)
