"""Tensors of abstracts and the items put to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from rag_assistant.reader.tokens import question_ids, windows
from training.data import Abstract, Item


class Batch(NamedTuple):
    """``b`` abstracts of up to ``t`` tokens and ``s`` sentences, each with up to ``n`` items of up to ``l`` tokens."""

    ids: Tensor  # [b, t]
    mask: Tensor  # [b, t]
    asked: Tensor  # [b, n, l]
    asked_mask: Tensor  # [b, n, l]
    visible: Tensor  # [b, n, t]
    members: Tensor  # [b, s, t]


def thirds(packs: Sequence[tuple[Abstract, Sequence[Item]]]) -> list[list[tuple[Abstract, list[Item]]]]:
    """The same abstracts three times, each with a third of their items, of like length: less padding to compute."""
    parts: list[list[tuple[Abstract, list[Item]]]] = [[], [], []]
    for abstract, items in packs:
        ordered = sorted(items, key=lambda item: len(item.text))
        for k, part in enumerate(parts):
            part.append((abstract, ordered[k * len(ordered) // 3 : (k + 1) * len(ordered) // 3]))
    return parts


def collate(packs: Iterable[tuple[Abstract, Sequence[Item]]]) -> Batch:
    """Of an abstract longer than a window only the first window is taken."""
    rows = []
    for abstract, items in packs:
        window = windows(abstract.title, abstract.sentences)[0]
        rows.append((window, [(question_ids(item.text), item.without) for item in items]))
    b = len(rows)
    t = max(len(window.ids) for window, _ in rows)
    s = max(len(window.numbers) for window, _ in rows)
    n = max(len(items) for _, items in rows)
    length = max((len(ids) for _, items in rows for ids, _ in items), default=1)
    ids, mask = torch.zeros(b, t, dtype=torch.long), torch.zeros(b, t)
    asked, asked_mask = torch.zeros(b, n, length, dtype=torch.long), torch.zeros(b, n, length)
    asked_mask[:, :, 0] = 1  # items that are only padding still need something to attend to
    visible, members = torch.zeros(b, n, t), torch.zeros(b, s, t)
    for i, (window, items) in enumerate(rows):
        ids[i, : len(window.ids)] = torch.tensor(window.ids)
        mask[i, : len(window.ids)] = 1
        visible[i, :, : len(window.ids)] = 1
        for k, (start, end) in enumerate(window.spans):
            members[i, k, start:end] = 1
        for k, (question, without) in enumerate(items):
            asked[i, k, : len(question)] = torch.tensor(question)
            asked_mask[i, k, : len(question)] = 1
            for sentence in without:
                if sentence < len(window.spans):
                    start, end = window.spans[sentence]
                    visible[i, k, start:end] = 0
    return Batch(ids, mask, asked, asked_mask, visible, members)
