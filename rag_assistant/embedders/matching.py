"""How closely each word of a question is matched by some word of a text.

The late interaction of ColBERT (Khattab and Zaharia, 2020) with the contextual word vectors of a sentence encoder that
was not trained for it: for each word of the question the best cosine to any word of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag_assistant.embedders.base import WordVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SCALE = 127.0
_CHUNK = 96


def best_cosines(question: NDArray[np.float32], texts: Sequence[WordVectors]) -> NDArray[np.float32]:
    """The best cosine of each question word in each text.

    Args:
        question: float32, shape ``(q, d)``: unit vectors of the question's words.
        texts: The word vectors of the texts.

    Returns:
        float32, shape ``(len(texts), q)``; a text without words matches nothing, with 0.
    """
    import numpy as np

    result = np.zeros((len(texts), len(question)), dtype=np.float32)
    filled = [index for index, text in enumerate(texts) if len(text.vectors)]
    if not filled or not len(question):
        return result
    vectors = np.concatenate([texts[index].vectors for index in filled])
    starts = np.cumsum([0, *(len(texts[index].vectors) for index in filled[:-1])])
    cosines = np.empty((len(vectors), len(question)), dtype=np.float32)
    columns = np.ascontiguousarray(question.T, dtype=np.float32) / _SCALE
    buffer = np.empty((min(_CHUNK, len(vectors)), vectors.shape[1]), dtype=np.float32)
    for at in range(0, len(vectors), _CHUNK):  # pieces that stay in the cache, too small for BLAS to start threads
        piece = vectors[at : at + _CHUNK]
        buffer[: len(piece)] = piece
        with np.errstate(invalid="ignore"):  # BLAS may compute in lanes beyond the matrix, whatever is there
            np.matmul(buffer[: len(piece)], columns, out=cosines[at : at + _CHUNK])
    result[filled] = np.maximum.reduceat(cosines, starts, axis=0)
    return np.clip(result, 0.0, 1.0)
