"""Checks on what is said: gates, refusals, citations and support."""
