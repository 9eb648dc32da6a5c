import numpy as np
import pytest
import tensorflow as tf

from fairlab.papers.checkpoints import read_tensor


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Tensors of several shapes, and the index of the checkpoint that TensorFlow made of them."""
    rng = np.random.default_rng(0)
    shapes = {
        f"linear_{k}/{part}": shape for k in range(30) for part, shape in (("kernel", (3, k + 1)), ("bias", (k,)))
    }
    tensors = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    prefix = tmp_path_factory.mktemp("checkpoint") / "model"
    names = [*tensors, "steps"]
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=[*map(tf.constant, tensors.values()), tf.constant(64_000, tf.int64)],
    )
    return tensors, prefix.with_suffix(".index")


def test_tensors_are_those_that_tensorflow_stored(stored):
    tensors, index = stored
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(read_tensor(index, name), tensor, strict=True)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (None, "linear_99/kernel", "expected floats named 'linear_99/kernel'"),
        (None, "steps", "expected floats named 'steps'"),
        (b"text", "linear/kernel", "expected the index of a checkpoint"),
        (b"text" * 100, "linear/kernel", "expected the index of a checkpoint"),
    ],
)
def test_other_tensors_are_rejected(stored, tmp_path, content, name, message):
    index = tmp_path / "other.index"
    index.write_bytes(content or stored[1].read_bytes())
    with pytest.raises(ValueError, match=message):
        read_tensor(index, name)
