"""Reproduction of FlipTest (Black, Yeom, Fredrikson 2020): data, maps, models and figures of its experiments."""
