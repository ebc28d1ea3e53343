"""How close a follow-up that was made to stand alone comes to what people made of it.

    python -m benchmarks.rewriting [--followups FILE] [--limit N] [--base-url URL --model NAME --out FILE]

Each follow-up is taken as it is, as the rules reword it, and, with ``--base-url``, as the assistant would have it: by
the rules, and by a model where these only guess. Its words are held against the reference's by F1 over tokens
(Rajpurkar et al. 2016, "SQuAD"), with 95% intervals. Follow-ups are those of the eval set, and of FILE: JSON Lines with
``id``, ``history`` (questions, the last one included), ``last_turn`` and ``rewrite``, as MTRAG has them (Katsis et al.
2025, "MTRAG"); they come without answers. What a model wrote is kept in ``--out``: the same command goes on where one
stopped.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_assistant.answering.rewriting import needs_model, reworded
from rag_assistant.assistant import bundled_papers
from rag_assistant.conversation import stand_alone
from rag_assistant.evals import Dataset
from rag_assistant.evals.headline import cell
from rag_assistant.evals.markdown import table
from rag_assistant.evals.statistics import estimate
from rag_assistant.models.replies import ModelReply
from rag_assistant.prompts import render_rewrite
from rag_assistant.settings import Settings
from rag_assistant.types import Paper, Turn
from rag_assistant.writers.generative import GenerativeWriter
from rag_assistant.writers.resolve import resolve_backend


@dataclass(frozen=True)
class FollowUp:
    """A follow-up with what was said before, and as people put it to stand alone."""

    id: str
    asked: str
    turns: tuple[Turn, ...]
    reference: str
    conversation: str


def main() -> None:
    """Rewords what is left to be reworded and prints the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--followups", type=Path)
    parser.add_argument("--limit", type=int, default=60, help="of FILE, taken at random but the same each time")
    parser.add_argument("--base-url")
    parser.add_argument("--model", default="model")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    backend = None
    if given.base_url:
        settings = Settings(backend="openai-like", model=given.model, base_url=given.base_url, timeout=600.0)
        backend = resolve_backend("openai-like", settings)
        assert isinstance(backend, GenerativeWriter)
    own = [
        FollowUp(case.id, case.question, case.history, case.standalone, case.cluster)
        for case in Dataset.load().select(categories=["follow_up"])
        if case.history
    ]
    report("the eval set", own, bundled_papers(), backend, given.out)
    if given.followups is not None:
        others = read(given.followups)
        random.Random(0).shuffle(others)
        report(given.followups.stem, others[: given.limit], (), backend, given.out)


def read(path: Path) -> list[FollowUp]:
    """The follow-ups of a file that have something before them."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        before = tuple((question, "") for question in record["history"][:-1])
        if before:
            conversation = record["id"].split("<")[0]
            found.append(FollowUp(record["id"], record["last_turn"], before, record["rewrite"], conversation))
    return found


def report(
    name: str,
    followups: Sequence[FollowUp],
    papers: tuple[Paper, ...],
    backend: GenerativeWriter | None,
    out: Path | None,
) -> None:
    """Rewords one set of follow-ups in each way and prints how close they come."""
    kept = _kept(out)
    scores: dict[str, list[float]] = {"as asked": [], "rules": []}
    called = refused = 0
    for followup in followups:
        alone = stand_alone(followup.asked, followup.turns, papers)
        text = alone.text
        scores["as asked"].append(overlap(followup.asked, followup.reference))
        scores["rules"].append(overlap(text, followup.reference))
        if not needs_model(alone, followup.asked):
            scores.setdefault("with the model", []).append(overlap(text, followup.reference))
            continue
        called += 1
        if backend is None:
            continue
        reply = kept.get(followup.id)
        if reply is None:
            reply = _asked(backend, followup)
            if out is not None:
                with out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"id": followup.id, "reply": reply}) + "\n")
        better = reworded(alone, followup.asked, reply, followup.turns)
        refused += better is None
        scores.setdefault("with the model", []).append(overlap((better or alone).text, followup.reference))
    if backend is None:
        scores.pop("with the model", None)
    clusters = [followup.conversation for followup in followups]
    rows = [[way, cell(estimate(values, clusters, seed=0))] for way, values in scores.items()]
    print(f"{name}: {len(followups)} follow-ups; a model is asked about {called} of them", end="")
    print(f", and not taken at its word in {refused}" if backend else "")
    print(table(["token F1 against the reference", ""], rows) + "\n", flush=True)


def overlap(text: str, reference: str) -> float:
    """F1 over tokens, in [0, 1]."""
    one, other = (Counter(re.findall(r"\w+", t.lower())) for t in (text, reference))
    shared = (one & other).total()
    return 2 * shared / (one.total() + other.total()) if shared else 0.0


def _asked(backend: GenerativeWriter, followup: FollowUp) -> str:
    reply = ModelReply(backend.server)
    for _ in backend.caller.prepared(render_rewrite(followup.asked, followup.turns), reply).pieces():
        pass
    return reply.text


def _kept(out: Path | None) -> dict[str, str]:
    if out is None or not out.exists():
        return {}
    records = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    return {record["id"]: record["reply"] for record in records}


if __name__ == "__main__":
    main()
