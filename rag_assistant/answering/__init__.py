"""From one question to its answer: the steps, the backend's calls, streams, batches and what they may cost."""
