"""Text to vectors, one file for each model."""
