from fairlab.models import loops


@loops.compiled
def count(n):
    """Count up to n."""
    total = 0
    for _ in range(n):
        total += 1
    return total


def test_a_compiled_function_answers_as_in_plain_python():
    assert count(5) == 5
    assert hasattr(count, "py_func") == loops.IS_COMPILED
