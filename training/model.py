"""The reader's network: an abstract is encoded once, and each question attends to it.

A question's tokens see the abstract at every layer, the abstract's tokens see only each other (the split of MORES, Gao
et al., EMNLP 2020). So one encoded abstract serves any number of questions: training reads a dozen for the price of
two, and answering reads a second question about a paper much sooner than the first.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from rag_assistant.reader.tokens import QUESTION_TOKENS
from rag_assistant.wordpiece import wordpiece


class Encoded(NamedTuple):
    """An abstract as questions see it, for a batch of ``b`` abstracts of up to ``t`` tokens."""

    keys: Sequence[Tensor]  # of each layer, [b, heads, t, width]
    values: Sequence[Tensor]  # of each layer, [b, heads, t, width]
    states: Tensor  # [b, t, hidden], of the last layer
    words: Tensor  # [b, t, hidden], word embeddings


class Verdict(NamedTuple):
    """Logits for ``n`` questions on each of ``b`` abstracts of up to ``s`` sentences."""

    whole: Tensor  # [b, n]: the abstract answers the question
    sentences: Tensor  # [b, n, s]: the sentence answers it
    stance: Tensor  # [b, n, 3]: read as a statement, it is supported, contradicted, not said


class Layer(nn.Module):
    def __init__(self, hidden: int, heads: int, inner: int, eps: float):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(hidden, hidden) for _ in range(4))
        self.up, self.down = nn.Linear(hidden, inner), nn.Linear(inner, hidden)
        self.attention_norm, self.norm = nn.LayerNorm(hidden, eps), nn.LayerNorm(hidden, eps)
        self.drop = nn.Dropout(0.1)

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(-2, -3)

    def after(self, x: Tensor, attended: Tensor) -> Tensor:
        x = self.attention_norm(x + self.drop(self.out(attended.transpose(-2, -3).flatten(-2))))
        return self.norm(x + self.drop(self.down(nn.functional.gelu(self.up(x)))))


def _head(width: int, out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 192), nn.GELU(), nn.Linear(192, out))


class Distances(nn.Module):
    """What attention gains or loses by how far apart two tokens are, learned for buckets of distances (Raffel et al.,
    JMLR 2020), as MPNet has it."""

    def __init__(self, heads: int, buckets: int = 32, farthest: int = 128):
        super().__init__()
        self.heads = heads
        self.weight = nn.Parameter(torch.zeros(buckets, heads))
        half = buckets // 2
        exact = half // 2
        gaps = torch.arange(512)
        far = exact + ((gaps.clamp(min=1) / exact).log() / math.log(farthest / exact) * (half - exact)).long()
        near = torch.where(gaps < exact, gaps, far.clamp(max=half - 1))
        self.register_buffer("places", torch.cat([(near[1:]).flip(0), near + half]), persistent=False)
        self.places[511] = 0  # a token to itself counts as neither side

    def forward(self, rows: Tensor, columns: Tensor) -> Tensor:
        """For positions [r] that attend to positions [c]: [heads, r, c]."""
        bucket = self.places[columns[None, :] - rows[:, None] + 511]
        return self.weight[bucket].permute(2, 0, 1)


class Reader(nn.Module):
    def __init__(
        self,
        layers: int = 6,
        hidden: int = 384,
        heads: int = 12,
        inner: int = 1536,
        vocabulary: int = 30522,
        eps: float = 1e-12,
        distances: bool = False,
    ):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, hidden), nn.Embedding(512, hidden)
        self.types, self.norm = nn.Embedding(2, hidden), nn.LayerNorm(hidden, eps)
        self.layers = nn.ModuleList(Layer(hidden, heads, inner, eps) for _ in range(layers))
        self.distances = Distances(heads) if distances else None
        self.whole, self.each, self.stance = _head(4 * hidden + 3, 1), _head(4 * hidden + 2, 1), _head(4 * hidden, 3)

    def embed(self, ids: Tensor, start: int, kind: int) -> tuple[Tensor, Tensor]:
        words = self.words(ids)
        places = torch.arange(ids.shape[-1], device=ids.device) + start
        return words, self.norm(words + self.positions(places) + self.types.weight[kind])

    def bias(self, hidden: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """What is added to attention from positions ``rows`` to ``columns``: ``hidden``, [b, 1, 1, c] or
        [b, 1, n, 1, c], and what distances add where the network knows them."""
        if self.distances is None:
            return hidden
        apart = self.distances(rows, columns)
        return hidden + (apart if hidden.ndim == 4 else apart.unsqueeze(-3))

    def encode(self, ids: Tensor, mask: Tensor, start: int = QUESTION_TOKENS, kind: int = 1) -> Encoded:
        """Encodes abstracts: ``ids`` and ``mask`` are [b, t].

        A question takes the positions below QUESTION_TOKENS, an abstract those from it on; from 0 and of kind 0 a text
        is encoded as MiniLM does.
        """
        words, x = self.embed(ids, start, kind)
        places = torch.arange(ids.shape[-1]) + start
        bias = self.bias(((1 - mask) * -1e4)[:, None, None, :], places, places)
        keys, values = [], []
        for layer in self.layers:
            q, k, v = layer.split(layer.query(x)), layer.split(layer.key(x)), layer.split(layer.value(x))
            scores = q @ k.transpose(-1, -2) / k.shape[-1] ** 0.5 + bias
            x = layer.after(x, scores.softmax(-1) @ v)
            keys.append(k)
            values.append(v)
        return Encoded(keys, values, x, words)

    def read(self, seen: Encoded, ids: Tensor, mask: Tensor, visible: Tensor, members: Tensor) -> Verdict:
        """Reads questions against encoded abstracts.

        ``ids`` and ``mask`` are [b, n, l]; ``visible`` [b, n, t] tells which tokens of the abstract each may see;
        ``members`` [b, s, t] which tokens make up each sentence, as ones and zeros.
        """
        _, n, length = ids.shape
        words, y = self.embed(ids, 0, 0)
        places = torch.arange(length)
        across_places = torch.arange(visible.shape[-1]) + QUESTION_TOKENS
        own_bias = self.bias(((1 - mask) * -1e4)[:, None, :, None, :], places, places)
        abstract_bias = self.bias(((1 - visible) * -1e4)[:, None, :, None, :], places, across_places)
        for layer, keys, values in zip(self.layers, seen.keys, seen.values, strict=True):
            q, own_keys, own_values = (layer.split(f(y)) for f in (layer.query, layer.key, layer.value))
            scale = q.shape[-1] ** -0.5
            # One matrix of all questions against the abstract: [b, heads, n * l, t].
            across = q.transpose(1, 2).flatten(2, 3) @ keys.transpose(-1, -2) * scale
            across = across.unflatten(2, (n, length)) + abstract_bias
            own = (q @ own_keys.transpose(-1, -2) * scale).transpose(1, 2) + own_bias
            weights = torch.cat([across, own], -1).softmax(-1)
            t = keys.shape[-2]
            attended = (weights[..., :t].flatten(2, 3) @ values).unflatten(2, (n, length)).transpose(1, 2)
            attended = attended + weights[..., t:].transpose(1, 2) @ own_values
            y = layer.after(y, attended)
        return self.judge(seen, words, y, mask, visible, members)

    def judge(self, seen: Encoded, words: Tensor, y: Tensor, mask: Tensor, visible: Tensor, members: Tensor) -> Verdict:
        inner = mask * 1.0
        share = inner / inner.sum(-1, keepdim=True)
        q = (share.unsqueeze(-2) @ y).squeeze(-2)  # [b, n, h]
        sizes = members.sum(-1, keepdim=True)
        means = (members / sizes.clamp(min=1)) @ seen.states  # [b, s, h]
        hidden_from = (members.unsqueeze(1) * visible.unsqueeze(2)).sum(-1) == 0  # [b, n, s]
        c = means.unsqueeze(1).expand(-1, q.shape[1], -1, -1)
        qs = q.unsqueeze(2).expand_as(c)
        near = self.match(y, seen.states, share, members)
        same = self.match(words, seen.words, share, members)
        pairs = [c, qs, c * qs, (c - qs).abs(), near.unsqueeze(-1), same.unsqueeze(-1)]
        each = self.each(torch.cat(pairs, -1)).squeeze(-1)
        masked = each.masked_fill(hidden_from, -1e4)
        evidence = (masked.softmax(-1).unsqueeze(-2) @ c).squeeze(-2)
        best = masked.max(-1).values.clamp(min=-30)
        nearest = near.masked_fill(hidden_from, -1).max(-1).values
        likest = same.masked_fill(hidden_from, -1).max(-1).values
        first = y[:, :, 0]
        pair = [q, evidence, q * evidence]
        marks = torch.stack([best / 4, nearest, likest], -1)
        return Verdict(
            self.whole(torch.cat([first, *pair, marks], -1)).squeeze(-1),
            each,
            self.stance(torch.cat([first, *pair], -1)),
        )

    @staticmethod
    def match(asked: Tensor, abstract: Tensor, share: Tensor, members: Tensor) -> Tensor:
        """How well the question's tokens are matched in each sentence, on average (late interaction): [b, n, s]."""
        asked = nn.functional.normalize(asked, dim=-1)
        abstract = nn.functional.normalize(abstract, dim=-1)
        alike = asked.flatten(1, 2) @ abstract.transpose(-1, -2)  # [b, n * l, t]
        apart = (1 - members).unsqueeze(1) * -4.0  # below any cosine
        best = (alike.unsqueeze(2) + apart).max(-1).values
        return (best.unflatten(1, asked.shape[1:3]) * share.unsqueeze(-1)).sum(-2)


def from_minilm(folder: Path) -> Reader:
    """A reader with the pretrained weights of all-MiniLM-L6-v2 and new heads."""
    config = json.loads((folder / "config.json").read_text())
    weights = load_file(folder / "model.safetensors")
    reader = Reader(layers=config["num_hidden_layers"])
    names = {
        "types": "embeddings.token_type_embeddings",
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "out": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
    }
    return _with(reader, {name.removeprefix("bert."): weight for name, weight in weights.items()}, names)


def from_mpnet(folder: Path) -> Reader:
    """A reader with the pretrained weights of all-mpnet-base-v2 and new heads: four times as wide in its parts, twice
    as deep, and so for teaching only. Its vocabulary is MiniLM's, shifted by four, with marks of its own."""
    weights = load_file(folder / "model.safetensors")
    reader = Reader(layers=12, hidden=768, inner=3072, eps=1e-5, distances=True)
    words = "embeddings.word_embeddings.weight"
    rows = torch.arange(30522) + 4
    for marks, row in (("[PAD]", 1), ("[UNK]", 3), ("[CLS]", 0), ("[SEP]", 2)):
        rows[wordpiece().token_to_id(marks)] = row
    weights[words] = weights[words][rows]
    weights["embeddings.position_embeddings.weight"] = weights["embeddings.position_embeddings.weight"][2:]
    names = {
        "distances": "encoder.relative_attention_bias",
        "query": "attention.attn.q",
        "key": "attention.attn.k",
        "value": "attention.attn.v",
        "out": "attention.attn.o",
        "attention_norm": "attention.LayerNorm",
    }
    reader = _with(reader, weights, names)
    reader.types.weight.data.zero_()
    return reader


def _with(reader: Reader, weights: dict[str, Tensor], names: dict[str, str]) -> Reader:
    """The reader with weights by the names that they have in the pretrained network."""
    names = {
        "words": "embeddings.word_embeddings",
        "positions": "embeddings.position_embeddings",
        "norm": "embeddings.LayerNorm",
        **{ours: theirs for ours, theirs in names.items() if theirs.startswith(("embeddings", "encoder"))},
    } | {
        f"layers.{k}.{ours}": f"encoder.layer.{k}.{theirs}"
        for k in range(len(reader.layers))
        for ours, theirs in {
            **{ours: theirs for ours, theirs in names.items() if theirs.startswith("attention")},
            "up": "intermediate.dense",
            "down": "output.dense",
            "norm": "output.LayerNorm",
        }.items()
    }
    state = reader.state_dict()
    for ours, theirs in names.items():
        for end in ("weight", "bias"):
            if f"{ours}.{end}" in state:
                state[f"{ours}.{end}"] = weights[f"{theirs}.{end}"].float()
    reader.load_state_dict(state)
    return reader


class LowRank(nn.Module):
    """A frozen matrix and a learned one of low rank beside it (LoRA, Hu et al., ICLR 2022): few weights to keep."""

    def __init__(self, plain: nn.Linear, rank: int):
        super().__init__()
        self.plain = plain.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, plain.in_features) / plain.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(plain.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        return self.plain(x) + (x @ self.down.T) @ self.up.T


def adapted(reader: Reader, rank: int = 32) -> Reader:
    """The reader with only its heads, norms and a matrix of low rank beside each of its own left to learn."""
    for name, weight in reader.named_parameters():
        weight.requires_grad_("norm" in name or name.startswith(("whole", "each", "stance", "types", "distances")))
    for layer in reader.layers:
        for name in ("query", "key", "value", "out", "up", "down"):
            setattr(layer, name, LowRank(getattr(layer, name), rank))
    return reader
