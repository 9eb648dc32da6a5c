"""FairTest (Tramer et al. 2017) replayed: trials, studies, records and claims of its experiments."""
