"""Labelled questions and statements, and the abstracts they were written on."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

HERE = Path(__file__).parent / "data"
SEVERAL = ("list", "list-not", "compare", "synthesis")
"""Kinds of questions that more than one abstract answers, and so no other abstract's wrong question."""
STANCES = ("supported", "contradicted", "unsaid")


@dataclass(frozen=True)
class Abstract:
    id: str
    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Item:
    """A question or a statement as it is put to an abstract.

    ``answers`` are the sentences that answer or decide it, ``without`` those that it may not see.
    """

    text: str
    kind: str
    answers: frozenset[int]
    stance: str = ""  # one of STANCES, for a statement
    without: frozenset[int] = frozenset()
    group: int = -1  # the same for one question put to several abstracts, or to one with its answer taken out


@dataclass
class Labelled:
    abstract: Abstract
    questions: list[Item] = field(default_factory=list)
    statements: list[Item] = field(default_factory=list)

    @property
    def items(self) -> list[Item]:
        return self.questions + self.statements


def _lines(path: Path) -> Iterator[dict]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def abstracts(icml: Path, scifact: Path, sentences: Path) -> dict[str, Abstract]:
    """Abstracts by id, cut where the labels were counted."""
    texts = {paper["id"]: (paper["title"], paper["abstract"]) for paper in _lines(icml)}
    texts |= {f"scifact-{paper['id']}": (paper["title"], paper["abstract"]) for paper in _lines(scifact)}
    found = {}
    for row in _lines(sentences):
        title, text = texts[row["paper"]]
        found[row["paper"]] = Abstract(row["paper"], title, tuple(text[a:b] for a, b in row["sentences"]))
    return found


def load(icml: Path, scifact: Path, folder: Path = HERE) -> dict[str, Labelled]:
    """All labelled abstracts by id."""
    papers = {key: Labelled(paper) for key, paper in abstracts(icml, scifact, folder / "sentences.jsonl").items()}
    for row in _lines(folder / "questions.jsonl"):
        item = Item(row["question"], row["kind"], frozenset(row["sentences"]))
        papers[row["paper"]].questions.append(item)
    for row in _lines(folder / "statements.jsonl"):
        item = Item(row["statement"], row["kind"], frozenset(row["sentences"]), row["label"])
        papers[row["paper"]].statements.append(item)
    return papers


def held_out(papers: dict[str, Labelled]) -> set[str]:
    """The papers that nothing is trained on: those of ``data/validation.txt``, for every stage the same."""
    return set((HERE / "validation.txt").read_text().split()) & set(papers)


def slip(text: str, rng: random.Random) -> str:
    """The text with two letters of one word exchanged."""
    words = text.split()
    long = [k for k, word in enumerate(words) if len(word) > 4]
    if not long:
        return text
    k = rng.choice(long)
    word, at = words[k], rng.randrange(1, len(words[k]) - 2)
    words[k] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return " ".join(words)


def worn(text: str, rng: random.Random) -> str:
    """Now and then as people type: small letters, a slip, no question mark."""
    if rng.random() < 0.12:
        text = text.lower()
    if rng.random() < 0.08:
        text = slip(text, rng)
    if rng.random() < 0.12:
        text = text.rstrip(" ?.")
    return text


class Packs:
    """Draws batches: neighbouring abstracts, each with its own items, copies without the answer, and others' items."""

    def __init__(self, papers: dict[str, Labelled], hard: dict[tuple[str, int], list[str]], seed: int, most: int = 16):
        self.papers, self.most, self.rng = papers, most, random.Random(seed)
        self.hard = hard
        self.lured: dict[str, list[tuple[str, int]]] = {key: [] for key in papers}
        for asked, wrong in hard.items():
            for key in wrong:
                if key in self.lured and self.papers[asked[0]].items[asked[1]].kind not in SEVERAL:
                    self.lured[key].append(asked)
        self.todo: list[str] = []

    def epoch(self) -> None:
        self.todo = list(self.papers)
        self.rng.shuffle(self.todo)

    def batch(self, size: int = 4) -> list[tuple[Abstract, list[Item]]]:
        if len(self.todo) < size:
            self.epoch()
        anchor = self.todo.pop()
        left = set(self.todo)
        near = [
            key
            for k in range(len(self.papers[anchor].items))
            for key in self.hard.get((anchor, k), [])[:8]
            if key in left
        ]
        self.rng.shuffle(near)
        keys = [anchor, *dict.fromkeys(near)][:size]
        for key in keys[1:]:
            self.todo.remove(key)
        while len(keys) < size:
            keys.append(self.todo.pop())
        return [(self.papers[key].abstract, self.pack(key, keys)) for key in keys]

    def pack(self, key: str, together: list[str]) -> list[Item]:
        rng, paper = self.rng, self.papers[key]
        own = list(enumerate(paper.items))
        rng.shuffle(own)
        own = own[:8]
        items = []
        for k, item in own:
            group = hash((key, k)) if item.answers else -1
            items.append(replace(self.faded(item, paper), group=group))
            if item.answers and rng.random() < (0.6 if not item.stance else 0.25):
                stance = "unsaid" if item.stance else ""
                taken = replace(item, answers=frozenset(), without=item.answers, stance=stance, group=group)
                if len(item.answers) < len(paper.abstract.sentences):
                    items.append(self.faded(taken, paper))
        others = [
            (other, k)
            for other in together
            if other != key
            for k in range(len(self.papers[other].items))
            if key in self.hard.get((other, k), ()) and self.papers[other].items[k].kind not in SEVERAL
        ]
        rng.shuffle(others)
        lured = rng.sample(self.lured[key], min(4, len(self.lured[key])))
        for other, k in [*others[:6], *lured][: max(6, self.most - len(items))]:
            item = self.papers[other].items[k]
            items.append(
                Item(
                    worn(item.text, rng),
                    "foreign",
                    frozenset(),
                    "unsaid" if item.stance else "",
                    group=hash((other, k)) if item.answers else -1,
                )
            )
        return items[: self.most + 4]

    def faded(self, item: Item, paper: Labelled) -> Item:
        """The item worn, and now and then without some sentences that don't matter, so that a gap tells nothing."""
        without = item.without
        if self.rng.random() < 0.35:
            spare = [k for k in range(len(paper.abstract.sentences)) if k not in item.answers | without]
            if len(spare) > 2:
                without = without | set(self.rng.sample(spare, self.rng.choice((1, 2))))
        return replace(item, text=worn(item.text, self.rng), without=without)
