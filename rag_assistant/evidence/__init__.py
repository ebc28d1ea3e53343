"""What answers rest on: which sentences, whether they answer, and which of them are sent to a model."""
