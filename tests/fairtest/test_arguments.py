import pytest

from fairlab.fairtest.arguments import check_whole, column_names


def test_one_name_or_several():
    assert column_names("age", "protected") == ["age"]
    assert column_names(("age", 3), "protected") == ["age", "3"]
    assert column_names(3, "protected") == ["3"]
    assert column_names(None, "explanatory") == []


@pytest.mark.parametrize("names", [2.5, True, [["age"]], [None]])
def test_what_is_no_name(names):
    with pytest.raises(TypeError, match="protected: expected the name of a column or a list of names, found"):
        column_names(names, "protected")


@pytest.mark.parametrize("value", [0, 1.5, "3", None, True])
def test_what_is_no_whole_number(value):
    with pytest.raises(ValueError, match=f"budget: expected a whole number of at least 1, found {value!r}"):
        check_whole("budget", value, least=1)
