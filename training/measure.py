"""Measures a reader on the papers that nothing was trained on.

    python -m training.measure --icml icml2024.jsonl --scifact corpus.jsonl [--reader module:Class]
    python -m training.measure ... --weights teacher.safetensors --mpnet FOLDER

It reads as the product does; a teacher, which is not exported, as it is trained, and of a long abstract one window.
``taken out`` asks answerable questions of their own abstract once whole and once without the sentences that answer: no
style of a question can tell these apart.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from rag_assistant.plugins import load_plugin
from rag_assistant.reader.base import Abstract as Text
from rag_assistant.reader.base import Reader, Reading, Stance
from training.data import SEVERAL, Abstract, Item, Labelled, held_out, load
from training.encoding import collate
from training.model import Encoded

FALSE_REFUSALS = (0.10, 0.15)


def auroc(right: Iterable[float], wrong: Iterable[float]) -> float:
    """The chance that one of the first is above one of the second; ties count half."""
    a, b = np.array(list(right)), np.array(list(wrong))
    if not len(a) or not len(b):
        return float("nan")
    return float((a[:, None] > b).mean() + 0.5 * (a[:, None] == b).mean())


def refused(right: list[float], wrong: list[float], share: float, weights: list[float] | None = None) -> float:
    """How much of the wrong is refused by the threshold at which this share of the right is, weighed where weights of
    the right are given."""
    if not right or not wrong:
        return float("nan")
    threshold = np.quantile(right, share, weights=weights, method="inverted_cdf" if weights else "linear")
    return float((np.array(wrong) < threshold).mean())


def text(abstract: Abstract, without: frozenset[int] = frozenset()) -> Text:
    """The abstract as the reader takes it, really without some sentences."""
    kept = (sentence for k, sentence in enumerate(abstract.sentences) if k not in without)
    return Text(abstract.title, tuple(kept))


class Teacher:
    """A teacher as something that reads."""

    name = fingerprint = "teacher"

    def __init__(self, weights: Path, mpnet: Path) -> None:
        from training.train import teacher_of

        self._network = teacher_of(weights, mpnet)
        self._last: tuple[Text, Encoded] | None = None

    def read(self, question: str, abstracts: Sequence[Text]) -> list[Reading]:
        """One question against several abstracts."""
        found = []
        for abstract in abstracts:
            whole, each, _ = self._verdict((question,), abstract)
            sentences = [*each[0].sigmoid().tolist(), *[0.0] * (len(abstract.sentences) - len(each[0]))]
            found.append(Reading(whole[0].sigmoid().item(), tuple(sentences)))
        return found

    def judge(self, statements: Sequence[str], abstract: Text) -> list[Stance]:
        """Several statements against one abstract."""
        if not statements:
            return []
        _, each, stances = self._verdict(tuple(statements), abstract)
        chances = stances.softmax(-1).tolist()
        return [Stance(*three, tuple(row.sigmoid().tolist())) for three, row in zip(chances, each, strict=True)]

    def _verdict(self, texts: tuple[str, ...], abstract: Text) -> tuple[Tensor, Tensor, Tensor]:
        items = [Item(one, "", frozenset()) for one in texts]
        batch = collate([(Abstract("", abstract.title, abstract.sentences), items)])
        with torch.no_grad():
            if self._last is None or self._last[0] != abstract:
                self._last = abstract, self._network.encode(batch.ids, batch.mask)
            asked = batch.asked, batch.asked_mask, batch.visible, batch.members
            whole, sentences, stances = self._network.read(self._last[1], *asked)
        return whole[0], sentences[0], stances[0]


def questions(reader: Reader, papers: list[Labelled]) -> None:
    """Prints how well questions are told apart and sentences found."""
    answers: dict[str, list[float]] = defaultdict(list)
    gone: dict[str, list[float]] = defaultdict(list)
    first: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for paper in papers:
        for item in paper.questions:
            if item.kind in SEVERAL:
                continue
            reading = reader.read(item.text, [text(paper.abstract)])[0]
            answers[item.kind].append(reading.answers)
            if not item.answers:
                continue
            order = np.argsort(reading.sentences)[::-1]
            first[item.kind].append((order[0] in item.answers, bool(item.answers & set(order[:3].tolist()))))
            if len(item.answers) < len(paper.abstract.sentences):
                left = text(paper.abstract, item.answers)
                gone[item.kind].append(reader.read(item.text, [left])[0].answers)
    right = [chance for kind in ("fact", "mixed", "para") for chance in answers[kind]]
    rows = [(kind, right, answers[kind]) for kind in ("near", "near2", "nearpara")]
    near = answers["fact"] + answers["mixed"]
    rows += [("taken out, near the words", near, gone["fact"] + gone["mixed"])]
    rows += [("taken out, paraphrases", answers["para"], gone["para"])]
    for name, able, unable in rows:
        at = "  ".join(f"{refused(able, unable, share):.2f} at {share:.2f}" for share in FALSE_REFUSALS)
        print(f"{name:28} {len(unable):5}  AUROC {auroc(able, unable):.3f}  refused {at}")
    for kind, rows_ in first.items():
        one, three = np.mean(rows_, axis=0)
        print(f"sentence first, of three: {kind:10} {len(rows_):5}  {one:.2f}  {three:.2f}")


def statements(reader: Reader, papers: list[Labelled]) -> None:
    """Prints how well true statements are told from false ones."""
    found: dict[str, list[float]] = defaultdict(list)
    for paper in papers:
        stances = reader.judge([item.text for item in paper.statements], text(paper.abstract))
        for item, stance in zip(paper.statements, stances, strict=True):
            found["true" if item.stance == "supported" else item.kind].append(stance.supported)
    for kind in ("swap", "flip", "unsaid"):
        lost = "  ".join(f"{refused(found['true'], found[kind], share):.2f} at {share:.2f}" for share in (0.1, 0.37))
        print(f"{kind:28} {len(found[kind]):5}  AUROC {auroc(found['true'], found[kind]):.3f}  caught {lost}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--icml", type=Path, required=True)
    parser.add_argument("--scifact", type=Path, required=True)
    parser.add_argument("--reader", default="trained")
    parser.add_argument("--weights", type=Path, help="a teacher's, with --mpnet, instead of a reader")
    parser.add_argument("--mpnet", type=Path, help="the folder of all-mpnet-base-v2")
    parser.add_argument("--most", type=int, help="measure on so many papers only")
    given = parser.parse_args()
    papers = load(given.icml, given.scifact)
    kept = [papers[key] for key in sorted(held_out(papers))][: given.most]
    reader: Reader = Teacher(given.weights, given.mpnet) if given.weights else load_plugin("reader", given.reader)()
    print(f"{len(kept)} papers")
    questions(reader, kept)
    statements(reader, kept)


if __name__ == "__main__":
    main()
