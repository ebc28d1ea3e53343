"""From a question to ranked papers with their evidence."""
