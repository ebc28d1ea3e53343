"""Which abstracts are taken for a question's own: the negatives worth learning from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rag_assistant.wordpiece import wordpiece
from training.data import Labelled
from training.model import Reader


def vectors(reader: Reader, texts: list[str], kept: Path) -> Tensor:
    """Sentence vectors of the pretrained encoder, [texts, hidden]; those in the file ``kept`` are not made again."""
    known: dict[str, Tensor] = torch.load(kept) if kept.exists() else {}
    new = sorted(set(texts) - set(known))
    if new:
        known |= dict(zip(new, _vectors(reader, new), strict=True))
        torch.save(known, kept)
    return torch.stack([known[text] for text in texts])


@torch.no_grad()
def _vectors(reader: Reader, texts: list[str], batch: int = 64) -> Tensor:
    """Mean-pooled and normalised, as MiniLM was trained."""
    encoded = [wordpiece().encode(text).ids[:256] for text in texts]
    order = sorted(range(len(texts)), key=lambda k: len(encoded[k]))
    found = torch.zeros(len(texts), reader.words.embedding_dim)
    for start in range(0, len(order), batch):
        part = order[start : start + batch]
        length = max(len(encoded[k]) for k in part)
        ids, mask = torch.zeros(len(part), length, dtype=torch.long), torch.zeros(len(part), length)
        for row, k in enumerate(part):
            ids[row, : len(encoded[k])] = torch.tensor(encoded[k])
            mask[row, : len(encoded[k])] = 1
        states = reader.encode(ids, mask, start=0, kind=0).states
        pooled = (states * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        found[part] = torch.nn.functional.normalize(pooled, dim=-1)
    return found


def hard_negatives(
    reader: Reader, papers: dict[str, Labelled], kept: Path, most: int = 20
) -> dict[tuple[str, int], list[str]]:
    """For each item, by paper and number, the other papers whose title or a sentence is nearest, nearest first."""
    keys = list(papers)
    texts = [[paper.abstract.title, *paper.abstract.sentences] for paper in papers.values()]
    flat = [text for each in texts for text in each]
    starts = np.cumsum([0, *map(len, texts[:-1])])
    passages = vectors(reader, flat, kept)
    asked = [(key, k) for key in keys for k in range(len(papers[key].items))]
    questions = vectors(reader, [papers[key].items[k].text for key, k in asked], kept)
    found = {}
    for start in range(0, len(asked), 256):
        near = questions[start : start + 256] @ passages.T
        best = torch.from_numpy(np.maximum.reduceat(near.numpy(), starts, axis=1))
        top = best.topk(min(most + 1, len(keys))).indices.tolist()
        for item, places in zip(asked[start : start + 256], top, strict=True):
            found[item] = [keys[k] for k in places if keys[k] != item[0]][:most]
    return found
