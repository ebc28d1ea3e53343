"""Language models that chat: one small file a provider, and the one place that calls them."""
