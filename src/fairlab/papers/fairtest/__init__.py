"""Reproduction of FairTest (Tramer et al. 2017): its studies, and functions that their trials share."""
