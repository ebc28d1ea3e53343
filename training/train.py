"""Trains the reader on labelled questions and statements.

    python -m training.train --icml icml2024.jsonl --scifact corpus.jsonl --minilm FOLDER --out reader.safetensors

FOLDER holds config.json and model.safetensors of all-MiniLM-L6-v2. A run is kept every 100 steps and goes on where it
stopped when the same command is given again. Seeds are fixed; how far a run gets in its minutes is the machine's.

With --mpnet, the folder of all-mpnet-base-v2, a teacher is trained instead: that network with matrices of low rank
beside its own. With --teacher, what that wrote, the reader also learns what the teacher thinks of each item (Hinton et
al., 2015, arXiv 1503.02531).
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor

from training.data import STANCES, Abstract, Item, Labelled, Packs, held_out, load
from training.encoding import collate, thirds
from training.model import Reader, Verdict, adapted, from_minilm, from_mpnet
from training.neighbours import hard_negatives
from training.restore import restored, rounded, unrounded

RATE, TEACHER_RATE = 1.5e-4, 4e-4
WEIGHTS = {"whole": 1.5, "sentences": 2.0, "first": 0.5, "stance": 1.5, "choice": 0.5}


TAUGHT = 1.0
"""The weight of what a teacher thinks, where labels have those of WEIGHTS."""


class Part(NamedTuple):
    """Items as they were put to a batch of abstracts."""

    packs: list[tuple[Abstract, list[Item]]]
    verdict: Verdict
    members: Tensor  # the sentences' tokens, [b, s, t]
    taught: Verdict | None  # what the teacher thinks of the same


def losses(parts: Iterable[Part]) -> dict[str, Tensor]:
    """What each head got wrong in a batch, as means.

    ``whole``: does the abstract answer; ``sentences``: which do; ``first``: is an answering one before the others;
    ``stance``: of statements; ``choice``: of the abstracts a question is put to, the right one, or none; ``taught``:
    what the teacher thinks, where there is one.
    """
    found: dict[str, list[Tensor]] = {name: [] for name in (*WEIGHTS, "taught")}
    groups: dict[int, list[tuple[Tensor, bool]]] = {}
    for packs, verdict, members, taught in parts:
        for i, (_, items) in enumerate(packs):
            there = (members[i].sum(-1) > 0).nonzero()[:, 0].tolist()
            for k, item in enumerate(items):
                seen = [s for s in there if s not in item.without]
                row = verdict.sentences[i, k, seen]
                gold = torch.tensor([float(s in item.answers) for s in seen])
                if taught:
                    found["taught"].append(unlike(verdict, taught, (i, k), seen, bool(item.stance)))
                if seen:
                    bce = F.binary_cross_entropy_with_logits(row, gold, pos_weight=torch.tensor(2.0))
                    found["sentences"].append(bce)
                if gold.any():
                    found["first"].append(row.logsumexp(0) - row[gold > 0].logsumexp(0))
                if item.stance:
                    stance = torch.tensor(STANCES.index(item.stance))
                    found["stance"].append(F.cross_entropy(verdict.stance[i, k], stance))
                    continue
                right = bool(item.answers)
                whole = verdict.whole[i, k]
                found["whole"].append(F.binary_cross_entropy_with_logits(whole, torch.tensor(float(right))))
                if item.group != -1:
                    groups.setdefault(item.group, []).append((whole, right))
    for group in groups.values():
        if len(group) > 1 and sum(right for _, right in group) == 1:
            logits = torch.stack([whole for whole, _ in group] + [torch.zeros(())])
            place = next(k for k, (_, right) in enumerate(group) if right)
            found["choice"].append(F.cross_entropy(logits, torch.tensor(place)))
    return {name: torch.stack(each).mean() for name, each in found.items() if each}


def unlike(verdict: Verdict, taught: Verdict, item: tuple[int, int], seen: list[int], states: bool) -> Tensor:
    """How far the reader is from its teacher on one item: cross-entropies with the teacher's chances, summed."""
    soft = F.binary_cross_entropy_with_logits
    each, wanted = verdict.sentences[item][seen], taught.sentences[item][seen]
    far = torch.zeros(())
    if seen:
        far = soft(each, wanted.sigmoid()) + F.cross_entropy(each, wanted.softmax(0)) / 2
    if states:
        return far + F.cross_entropy(verdict.stance[item], taught.stance[item].softmax(0))
    return far + soft(verdict.whole[item], taught.whole[item].sigmoid())


def rate(highest: float, done: float, step: int) -> float:
    """Warm-up, a plateau, and a linear descent over the last half of the time."""
    return highest * min(1, (step + 1) / 80) * min(1, max(0.0, 2 * (1 - done)))


def train(
    reader: Reader, packs: Packs, minutes: float, out: Path, highest: float = RATE, teacher: Reader | None = None
) -> None:
    """Trains what of a reader is left to learn, at most at the rate ``highest``, and writes just that to ``out``."""
    reader.words.weight.requires_grad_(False)
    learned = [p for p in reader.parameters() if p.requires_grad]
    plain = [p for p in learned if p.ndim < 2]
    matrices = [p for p in learned if p.ndim >= 2]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=highest, betas=(0.9, 0.98))
    step, spent = 0, 0.0
    kept = out.with_suffix(".state")
    if kept.exists():
        state = torch.load(kept)
        reader.load_state_dict(state["reader"], strict=False)
        optimizer.load_state_dict(state["optimizer"])
        step, spent = state["step"], state["spent"]
    said: dict[str, float] = {}
    last = time.perf_counter()
    while spent < minutes * 60:
        drawn = packs.batch()
        for group in optimizer.param_groups:
            group["lr"] = rate(highest, spent / 60 / minutes, step)
        first = collate(drawn)
        seen = reader.encode(first.ids, first.mask)
        with torch.no_grad():
            known = teacher.encode(first.ids, first.mask) if teacher else None
        parts = []
        for part in thirds(drawn):
            batch = collate(part)
            asked = batch.asked, batch.asked_mask, batch.visible, batch.members
            with torch.no_grad():
                taught = teacher.read(known, *asked) if teacher and known else None
            parts.append(Part(part, reader.read(seen, *asked), batch.members, taught))
        each = losses(parts)
        loss = sum(WEIGHTS.get(name, TAUGHT) * value for name, value in each.items())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
        step += 1
        now = time.perf_counter()
        spent, last = spent + now - last, now
        for name, value in each.items():
            said[name] = 0.98 * said.get(name, value.item()) + 0.02 * value.item()
        if step % 25 == 0:
            told = " ".join(f"{name} {value:.3f}" for name, value in said.items())
            print(f"{step} {spent / 60:.1f} min {spent / step:.2f} s a step: {told}", flush=True)
        if step % 100 == 0:
            torch.save(
                {"reader": learned_of(reader), "optimizer": optimizer.state_dict(), "step": step, "spent": spent}, kept
            )
    save_file(rounded(learned_of(reader)) if reader.distances else learned_of(reader), out)
    kept.unlink(missing_ok=True)


def learned_of(reader: Reader) -> dict[str, Tensor]:
    """The weights that a run changes; those of an ordinary reader are all of them, word embeddings included."""
    learned = {name for name, weight in reader.named_parameters() if weight.requires_grad}
    adapts = any(name.endswith(".plain.weight") for name in reader.state_dict())
    return {name: weight for name, weight in reader.state_dict().items() if name in learned or not adapts}


def teacher_of(weights: Path, mpnet: Path) -> Reader:
    """The teacher that a run with --mpnet wrote."""
    teacher = adapted(from_mpnet(mpnet)).eval()
    teacher.load_state_dict(unrounded(load_file(weights)), strict=False)
    return teacher


def learned_on(papers: dict[str, Labelled], share: float) -> dict[str, Labelled]:
    """The papers that may be trained on, or a share of them, the same for the same share."""
    held = held_out(papers)
    keys = sorted(set(papers) - held)
    random.Random(2).shuffle(keys)
    return {key: papers[key] for key in keys[: round(len(keys) * share)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("icml", "scifact", "minilm", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--mpnet", type=Path, help="the folder of all-mpnet-base-v2, to train a teacher")
    parser.add_argument("--teacher", type=Path, help="what a run with --mpnet wrote, to learn from it")
    parser.add_argument("--start", type=Path, help="weights to go on from: those of a run before, or a reader.onnx")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--share", type=float, default=1.0, help="of the papers, for a learning curve")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    papers = learned_on(load(given.icml, given.scifact), given.share)
    reader = from_minilm(given.minilm).eval()
    hard = hard_negatives(reader, papers, given.out.with_name("vectors.pt"))
    teacher = None
    if given.mpnet and given.teacher:
        teacher = teacher_of(given.teacher, given.mpnet)
    elif given.mpnet:
        reader = adapted(from_mpnet(given.mpnet))
    if given.start:
        weights = restored(given.start) if given.start.suffix == ".onnx" else unrounded(load_file(given.start))
        reader.load_state_dict(weights, strict=given.start.suffix == ".onnx")
    highest = TEACHER_RATE if given.mpnet and not teacher else RATE
    train(reader.train(), Packs(papers, hard, given.seed), given.minutes, given.out, highest, teacher)


if __name__ == "__main__":
    main()
