"""Further checks of statements that passed the checks in code."""
