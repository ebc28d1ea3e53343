"""Writers of answers: from the abstracts' own sentences, by a model, as lists of papers, from records."""
