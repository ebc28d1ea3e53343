"""Checks of what an answer says: injected instructions, refusals, citations and support."""
