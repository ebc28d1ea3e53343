"""Ways of writing an answer, one file each."""
