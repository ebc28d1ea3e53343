"""Papers on disk, searchable: passages, vectors in Chroma, BM25, and a manifest that says what they are."""
