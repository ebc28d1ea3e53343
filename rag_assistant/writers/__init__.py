"""What writes answers: sentences of the abstracts themselves, a model, lists of papers, facts from records."""
