"""The eval harness: sets of questions, metrics, runs and their comparison.

Importing this costs next to nothing; numpy, scipy and the rest are imported by what needs them.
"""
