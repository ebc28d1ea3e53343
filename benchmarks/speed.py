"""How fast this is beside the bare libraries it stands on, as ratios measured in one run.

    python benchmarks/speed.py [--papers FILE.jsonl] [--limit N]

Without a file, papers are made from the sentences of the bundled ones. Absolute times depend on the machine; the ratios
are what counts.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rag_assistant import Assistant, Paper
from rag_assistant.bundled import bundled
from rag_assistant.embedders.minilm import MiniLM
from rag_assistant.index.build import build_index
from rag_assistant.index.passages import embedding_text, sentences, windows
from rag_assistant.loaders import load_papers

QUESTIONS = (
    "Does DPO keep its advantage when the true reward is not realizable?",
    "What is the Centered Trimmed Meta Aggregator?",
    "How many pairwise preferences were collected?",
    "Which convergence rate is proved for comonotone inclusion?",
    "How can the memory of fine-tuning be reduced?",
)
BARE_IMPORTS = "import chromadb, onnxruntime, tokenizers"


def made_papers(number: int) -> tuple[Paper, ...]:
    """Papers of the bundled ones' sentences in other combinations, always the same."""
    pool = [sentence.text for paper in load_papers([bundled("corpus")]).papers for sentence in sentences(paper)]
    rng = random.Random(0)
    return tuple(Paper(f"made-{n}", f"Made paper {n}", " ".join(rng.sample(pool, 8))) for n in range(number))


def texts_to_embed(papers: Sequence[Paper], model: MiniLM) -> list[str]:
    """What indexing embeds: windows with titles, titles, and sentences."""
    return [
        text
        for paper in papers
        for text in (
            *(embedding_text(paper, window) for window in windows(paper, model)),
            paper.title,
            *(sentence.text for sentence in sentences(paper)),
        )
    ]


def bare_encode(model: MiniLM, text: str) -> np.ndarray:
    """Tokenise, run the network, pool: nothing else."""
    encoding = model._tokenizer.encode(text)
    ids = np.array([encoding.ids[:256]], dtype=np.int64)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    mean = model._session.run(None, feed)[0][0].mean(axis=0)
    return mean / np.linalg.norm(mean)


def seconds(function: Callable[[], object]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def indexing(papers: Sequence[Paper], folder: Path, model: MiniLM) -> None:
    """Bare embedding of the same texts against a whole build: cutting, embedding, caching, Chroma, BM25, checks."""
    texts = texts_to_embed(papers, model)
    bare = seconds(lambda: [bare_encode(model, text) for text in texts])
    whole = seconds(lambda: build_index(folder, papers, model))
    print(
        f"index {len(papers)} papers: {whole:.1f} s; bare embedding of its {len(texts)} texts: {bare:.1f} s;", end=" "
    )
    print(f"throughput ratio {bare / whole:.2f} (aim: at least 0.85)")


def asking(papers: Sequence[Paper], folder: Path, model: MiniLM, rounds: int = 20) -> None:
    """A warm question against bare embedding and an exact search by numpy."""
    matrix = np.stack([bare_encode(model, embedding_text(p, w)) for p in papers[:2000] for w in windows(p, model)[:1]])
    with Assistant.open(folder, embedder=model) as assistant:
        for question in QUESTIONS:
            assistant.ask(question)
        ours, bare = [], []
        for _ in range(rounds):
            for question in QUESTIONS:
                ours.append(seconds(lambda q=question: assistant.ask(q)))
                bare.append(seconds(lambda q=question: np.argsort(-(matrix @ bare_encode(model, q)))[:5]))
    ratio = statistics.median(ours) / statistics.median(bare)
    print(f"ask, warm: {1000 * statistics.median(ours):.1f} ms; bare embedding and exact search:", end=" ")
    print(f"{1000 * statistics.median(bare):.1f} ms; ratio {ratio:.1f} (aim: at most 3, under 30 ms)")


def measured(command: Sequence[str]) -> tuple[float, float]:
    """Wall seconds and peak megabytes of a process."""
    script = (
        "import resource, subprocess, sys, time; t = time.perf_counter();"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL);"
        "print(time.perf_counter() - t, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", script, *command], check=True, capture_output=True, text=True)
    wall, peak = done.stdout.split()
    return float(wall), float(peak)


def cold(folder: Path, rounds: int = 7) -> None:
    """The command line with an index present against importing the three libraries it can't do without."""
    ask = [sys.executable, "-m", "rag_assistant.cli", "ask", "--index", str(folder), QUESTIONS[0]]
    bare = [sys.executable, "-c", BARE_IMPORTS]
    measured(ask), measured(bare)
    pairs = [(measured(ask), measured(bare)) for _ in range(rounds)]
    ratio = statistics.median(ours[0] / theirs[0] for ours, theirs in pairs)
    print(
        f"ask, cold: {statistics.median(o[0] for o, _ in pairs):.2f} s, {max(o[1] for o, _ in pairs):.0f} MB;", end=" "
    )
    print(f"{BARE_IMPORTS}: {statistics.median(b[0] for _, b in pairs):.2f} s; ratio {ratio:.2f} (aim: at most 2)")


def main() -> None:
    """Prints one line a measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--papers", type=Path, help="a file of papers to index")
    parser.add_argument("--limit", type=int, default=300, help="how many papers (default: 300)")
    options = parser.parse_args()
    papers = load_papers([options.papers]).papers[: options.limit] if options.papers else made_papers(options.limit)
    model = MiniLM()
    bare_encode(model, "warm up")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "index"
        build_index(Path(place) / "warm", papers[:2], model)
        indexing(papers, folder, model)
        print(
            f"peak memory so far: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB (aim: under 500)"
        )
        asking(papers, folder, model)
        cold(folder)


if __name__ == "__main__":
    main()
