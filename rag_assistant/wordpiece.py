"""BERT's uncased WordPiece vocabulary, which the embedder and the reader share."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def vocabulary_path() -> Path:
    """The file with one word piece per line."""
    return Path(str(files("rag_assistant") / "data" / "minilm" / "vocab.txt"))


@cache
def wordpiece() -> Tokenizer:
    """The tokenizer of the bundled vocabulary; it adds ``[CLS]`` and ``[SEP]`` and truncates nothing."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    text = vocabulary_path().read_bytes().decode("utf-8")
    vocabulary = {word: number for number, word in enumerate(text.rstrip("\n").split("\n"))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    return tokenizer
