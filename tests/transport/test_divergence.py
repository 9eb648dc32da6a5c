import numpy as np

from fairlab.transport.divergence import finite_members


def test_a_member_is_finite_if_all_its_weights_are():
    network = [np.zeros((4, 2, 3)), np.zeros((4, 3))]
    assert finite_members(network).all()
    network[0][1, 0, 2] = np.nan
    network[1][3, 1] = -np.inf
    assert finite_members(network).tolist() == [True, False, True, False]
