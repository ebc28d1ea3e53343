"""What answers rest on: which sentences, whether they answer, what of them a model is sent."""
