"""Further checks of statements that the checks in code let pass."""
