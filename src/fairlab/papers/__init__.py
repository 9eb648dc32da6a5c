"""Code that only reproduces the papers: a package for each, and network training and checkpoints that they share."""
