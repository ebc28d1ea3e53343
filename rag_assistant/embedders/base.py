"""What the rest of the package asks of an embedding model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class WordVectors:
    """The contextual vectors of a text's words, in order.

    Attributes:
        spans: int32, shape ``(n, 2)``: the character span of each word in the text.
        vectors: int8, shape ``(n, dimension)``: unit vectors times 127, rounded.
    """

    spans: NDArray[np.int32]
    vectors: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A text's vector and, where the model gives them, its words' vectors.

    Attributes:
        vector: float32, shape ``(dimension,)``, of unit length.
        words: ``None`` for models that give one vector a text.
        truncated: Whether the text was longer than the model reads, so that its end is not in the vector.
    """

    vector: NDArray[np.float32]
    words: WordVectors | None = None
    truncated: bool = False


@runtime_checkable
class Embedder(Protocol):
    """Text to vectors.

    ``fingerprint`` identifies the numbers: two embedders with the same fingerprint give the same vectors, and cached
    vectors are kept under it. Methods may be called from several threads at once.
    """

    @property
    def name(self) -> str:
        """What a user calls it, e.g. ``minilm``."""

    @property
    def fingerprint(self) -> str:
        """Identity of model, weights and preprocessing."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def has_words(self) -> bool:
        """Whether :class:`Encoded` carries word vectors."""

    def count_tokens(self, text: str) -> int:
        """How much of :attr:`max_tokens` the text takes."""

    @property
    def max_tokens(self) -> int:
        """How many tokens of a text the model reads."""

    def encode_passages(self, texts: list[str]) -> list[Encoded]:
        """Vectors of texts to be searched, in the order given."""

    def encode_question(self, text: str) -> Encoded:
        """The vector of a question."""
