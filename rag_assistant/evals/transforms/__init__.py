"""The same questions under harder conditions, made by code: other wordings; missing, additional or hostile papers."""

from __future__ import annotations

from rag_assistant.evals.transforms.transform import TRANSFORMS, Transform, Variant, transform_of

__all__ = ["TRANSFORMS", "Transform", "Variant", "transform_of"]
