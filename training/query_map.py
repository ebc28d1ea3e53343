"""Trains the map of question vectors: what asks in other words is moved to where the abstracts' sentences are.

    python -m training.query_map --icml icml2024.jsonl --scifact corpus.jsonl --minilm FOLDER --out query-map.npz

The abstracts' vectors stay MiniLM's, so that nothing has to be indexed again. A two-layer network is trained to bring a
question's vector nearer to its title and answering sentences than to all others, by the InfoNCE loss (van den Oord et
al., 2018) with random negatives and with those that MiniLM itself finds nearest (hard negatives, as in DPR, Karpukhin
et al., EMNLP 2020). What is printed is measured on the papers that nothing is trained on, among all papers.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.data import SEVERAL, Item, Labelled, held_out, load
from training.model import Reader, from_minilm
from training.neighbours import vectors

HIDDEN, DROPOUT, BATCH, TEMPERATURE, RATE = 1024, 0.1, 128, 0.05, 1e-3
NEAREST, HARD, RANDOM = 800, 200, 3000
"""Of so many nearest passages so many are drawn for a question, and so many of all for a batch."""
_SCALE = 4.0


class QueryMap(nn.Module):
    def __init__(self, width: int = 384):
        super().__init__()
        self.first, self.second, self.drop = nn.Linear(width, HIDDEN), nn.Linear(HIDDEN, width), nn.Dropout(DROPOUT)
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, asked: Tensor) -> Tensor:
        inner = F.gelu(self.first(self.drop(asked) * _SCALE), approximate="tanh")
        return F.normalize(asked + self.second(self.drop(inner)), dim=-1)

    def save(self, path: Path) -> None:
        """Writes ``first`` [hidden, width + 1] and ``second`` [width, hidden + 1], biases last, in half precision."""

        def whole(layer: nn.Linear, scale: float) -> np.ndarray:
            weights = torch.cat([layer.weight * scale, layer.bias.unsqueeze(1)], 1)
            return weights.detach().numpy().astype(np.float16)

        np.savez(path, first=whole(self.first, _SCALE), second=whole(self.second, 1.0))


class Passages:
    """The titles and sentences of papers, as vectors [passages, width] with the number of each passage's paper."""

    def __init__(self, reader: Reader, papers: dict[str, Labelled], kept: Path):
        texts = [[paper.abstract.title, *paper.abstract.sentences] for paper in papers.values()]
        self.place = {key: number for number, key in enumerate(papers)}
        self.starts = np.cumsum([0, *map(len, texts[:-1])])
        self.paper = torch.from_numpy(np.repeat(np.arange(len(texts)), [len(each) for each in texts]))
        self.vectors = vectors(reader, [text for each in texts for text in each], kept)

    def answering(self, key: str, item: Item) -> list[int]:
        """The passages that answer: the title and the labelled sentences."""
        start = int(self.starts[self.place[key]])
        return [start, *(start + 1 + sentence for sentence in sorted(item.answers))]

    def ranks(self, asked: Tensor, right: Tensor) -> Tensor:
        """The rank, from 0, of each question's paper among all by its best passage."""
        best = torch.from_numpy(np.maximum.reduceat((asked @ self.vectors.T).numpy(), self.starts, axis=1))
        return (best > best.gather(1, right.unsqueeze(1))).sum(1)


def asked_of(papers: dict[str, Labelled]) -> list[tuple[str, Item]]:
    """What one paper answers: questions, and statements that one supports."""
    return [
        (key, item)
        for key, paper in papers.items()
        for item in paper.items
        if item.answers and item.kind not in (*SEVERAL, "follow") and item.stance in ("", "supported")
    ]


def train(passages: Passages, asked: Tensor, pairs: list[tuple[str, Item]], steps: int) -> QueryMap:
    answering = [passages.answering(key, item) for key, item in pairs]
    width = max(map(len, answering))
    right = torch.tensor([[*each, *each[:1] * (width - len(each))] for each in answering])
    masked = torch.tensor([[0.0] * len(each) + [-1e9] * (width - len(each)) for each in answering])
    paper = torch.tensor([passages.place[key] for key, _ in pairs])
    known = torch.tensor(sorted({place for each in answering for place in each}))
    known = torch.isin(passages.paper, passages.paper[known]).nonzero()[:, 0]  # whole papers, none that is held out
    nearest = torch.cat([(part @ passages.vectors[known].T).topk(NEAREST).indices for part in asked.split(256)])
    model = QueryMap()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.02)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / 50) * (1 - step / steps)
        drawn = torch.randint(len(pairs), (BATCH,))
        query = model(asked[drawn])
        random = known[torch.randint(len(known), (RANDOM,))]
        hard = known[nearest[drawn][:, torch.randint(NEAREST, (HARD,))]]
        own = paper[drawn].unsqueeze(1)
        # Each one drawn stands for as many as it was drawn from.
        far = query @ passages.vectors[random].T / TEMPERATURE + np.log(len(known) / RANDOM)
        near = torch.einsum("bd,bnd->bn", query, passages.vectors[hard]) / TEMPERATURE + np.log(NEAREST / HARD)
        wrong = torch.cat(
            [
                far.masked_fill(passages.paper[random].unsqueeze(0) == own, -1e9),
                near.masked_fill(passages.paper[hard] == own, -1e9),
            ],
            1,
        ).logsumexp(1)
        gold = torch.einsum("bd,bnd->bn", query, passages.vectors[right[drawn]]) / TEMPERATURE
        gold = (gold + masked[drawn]).logsumexp(1)
        loss = (torch.logaddexp(wrong, gold) - gold).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 250 == 249:
            print(f"{step + 1} steps: loss {loss.item():.3f}", flush=True)
    return model.eval()


@torch.no_grad()
def report(passages: Passages, asked: Tensor, pairs: list[tuple[str, Item]], model: QueryMap) -> None:
    """Prints how often the right paper is among the best, by kind, before and after."""
    right = torch.tensor([passages.place[key] for key, _ in pairs])
    mapped = model(asked)
    ways = {"MiniLM": asked, "mapped": mapped, "both": F.normalize(asked + mapped, dim=-1)}
    ranks = {name: passages.ranks(query, right) for name, query in ways.items()}
    for kind in sorted({item.kind for _, item in pairs}):
        chosen = torch.tensor([item.kind == kind for _, item in pairs])
        shares = [
            f"{name} " + " ".join(f"{(found[chosen] < most).float().mean():.3f}" for most in (1, 5, 12, 20))
            for name, found in ranks.items()
        ]
        print(f"{kind} ({int(chosen.sum())}), right paper among 1, 5, 12, 20 of {len(passages.starts)}:", *shares)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("icml", "scifact", "minilm", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--vectors", type=Path, help="where vectors are kept for another run")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    papers = load(given.icml, given.scifact)
    held = held_out(papers)
    reader = from_minilm(given.minilm).eval()
    kept = given.vectors or given.out.with_name("vectors.pt")
    passages = Passages(reader, papers, kept)
    pairs = asked_of({key: paper for key, paper in papers.items() if key not in held})
    unseen = asked_of({key: paper for key, paper in papers.items() if key in held})
    model = train(passages, vectors(reader, [item.text for _, item in pairs], kept), pairs, given.steps)
    report(passages, vectors(reader, [item.text for _, item in unseen], kept), unseen, model)
    model.save(given.out)


if __name__ == "__main__":
    main()
