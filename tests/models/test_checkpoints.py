import numpy as np
import pytest

from fairlab.models.checkpoints import read_tensor


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Tensors of several shapes, and the index of the checkpoint that TensorFlow made of them."""
    import tensorflow as tf

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


def test_other_tensors_are_rejected(stored, tmp_path):
    _, index = stored
    for name in ("linear_99/kernel", "steps"):
        with pytest.raises(ValueError, match=f"expected floats named '{name}'"):
            read_tensor(index, name)
    other = tmp_path / "other.index"
    other.write_bytes(b"text")
    with pytest.raises(ValueError, match="expected the index of a checkpoint"):
        read_tensor(other, "linear/kernel")
