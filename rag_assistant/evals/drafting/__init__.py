"""Drafts of questions for one's own papers, for a person to review: from sentences by code, or by a model."""

from __future__ import annotations

from rag_assistant.evals.drafting.draft import Drafts, draft_by_model, draft_from_sentences, write_drafts

__all__ = ["Drafts", "draft_by_model", "draft_from_sentences", "write_drafts"]
