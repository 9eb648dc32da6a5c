"""How SenSR trains: the settings of its attacks and steps, and what the authors fixed."""

from dataclasses import dataclass

EPSILON = 1e-8  # of Adam, in the authors' TensorFlow
PENALTY_RANGE = (1e-5, 10.0)
RATE_DECAY = 0.999  # of the full attack's rate, after an attack that failed


@dataclass(frozen=True)
class Recipe:
    """Settings of a training.

    Attributes
    ----------
    subspace_steps, full_steps : int
        Adam steps of both attacks.
    subspace_rate : float
        Adam's rate inside the subspace, in units of the sensitive directions.
    distance_target : float
        rho, the mean squared fair distance that the penalty steers to.
    full_rate : float
        Adam's rate of the attack in all directions, at the start.
    penalty : float
        lambda at the start.
    learning_rate : float
        Adam's, for the network.
    """

    subspace_steps: int
    full_steps: int
    subspace_rate: float
    distance_target: float
    full_rate: float = 1e-4
    penalty: float = 2.0
    learning_rate: float = 1e-5
