"""FlipTest (Black, Yeom, Fredrikson 2020) replayed: trials, records and claims of its experiments."""
