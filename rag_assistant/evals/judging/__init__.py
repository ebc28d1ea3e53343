"""A model as a judge of what patterns can't see. It never gates: it stands beside the deterministic metrics."""

from __future__ import annotations

from rag_assistant.evals.judging.judge import judge_run
from rag_assistant.evals.judging.judgement import Agreement, Judgement, Verdict, agreements, judgement_of, kappa

__all__ = ["Agreement", "Judgement", "Verdict", "agreements", "judge_run", "judgement_of", "kappa"]
