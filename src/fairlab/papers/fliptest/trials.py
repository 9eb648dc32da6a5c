"""GAN maps between two groups, trained for the trials of an experiment."""


def train_maps(trials, *, source, target, stream: str = "gan", **recipe) -> list:
    """Train one GAN map per trial, all at once.

    A function for `fairlab.Experiment.trials` with ``batch``: experiments that need the same maps call it with the same
    arguments and share what was trained.

    Parameters
    ----------
    trials : list of fairlab.seeds.Trial
    source, target : DataFrame of shape (n, n_features)
    stream : str
        Name of the stream of each trial that the map's seed is from.
    **recipe
        Options of `fairlab.transport.GANEnsemble`.

    Returns
    -------
    list of fairlab.transport.GANTransport
    """
    from fairlab.transport import GANEnsemble

    return GANEnsemble([trial.seed(stream) for trial in trials], **recipe).fit(source, target).maps_
