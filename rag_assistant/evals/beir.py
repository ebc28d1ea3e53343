"""Public retrieval sets in BEIR's form (Thakur et al. 2021), and a run of any retriever on one.

``corpus.jsonl`` holds ``_id`` (or ``id``), ``title`` and ``text`` (or ``abstract``); ``queries.jsonl`` holds ``_id``
(or ``id``) and ``text`` (or ``claim``, ``query``, ``question``); ``qrels`` is a table of query id, paper id and grade,
separated by tabs, with or without a header, or TREC's four columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_assistant.errors import InputError, LoadError
from rag_assistant.evals.markdown import Cell, Part, Table, markdown
from rag_assistant.evals.retrieval_metrics import scores_of
from rag_assistant.evals.statistics import Estimate, estimate, paired_p_value
from rag_assistant.types import Paper

Rank = Callable[[str], Sequence[str]]
"""A retriever: from a query to the ids of papers, best first."""

DEPTH = 100
"""How many papers of a ranking are scored."""


@dataclass(frozen=True)
class RetrievalSet:
    """Papers, queries with judged papers, and their grades: query id to paper id to a grade above 0."""

    name: str
    papers: tuple[Paper, ...]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class RetrievalRun:
    """One retriever on a set.

    Attributes:
        name: The retriever's name.
        scores: By query id.
        estimates: Means by score, with an interval over queries.
        errors: The errors raised, by query id; such a query scores 0.
    """

    name: str
    scores: Mapping[str, Mapping[str, float]]
    estimates: Mapping[str, Estimate]
    errors: Mapping[str, str]


def load_beir(corpus: Path | str, queries: Path | str, qrels: Path | str) -> RetrievalSet:
    """Reads a set; queries without a relevant paper are left out.

    Raises:
        LoadError: A file can't be read, a line lacks its fields, or the qrels name no query or paper of the files.
    """
    papers = tuple(_paper(record, where) for record, where in _records(Path(corpus)))
    asked = dict(_query(record, where) for record, where in _records(Path(queries)))
    known = {paper.id for paper in papers}
    grades: dict[str, dict[str, int]] = {}
    for query, paper, grade in _judgements(Path(qrels)):
        if grade > 0 and query in asked and paper in known:
            grades.setdefault(query, {})[paper] = grade
    if not grades:
        raise LoadError(
            f"No line of {qrels} names a query and a paper of the two files.", hint="check that they belong together"
        )
    chosen = {query: text for query, text in asked.items() if query in grades}
    return RetrievalSet(Path(corpus).parent.name or "beir", papers, chosen, grades)


def _records(path: Path) -> list[tuple[dict[str, Any], str]]:
    records: list[tuple[dict[str, Any], str]] = []
    for number, line in enumerate(_text(path).split("\n"), 1):
        if line.strip():
            try:
                record = json.loads(line)
            except ValueError:
                record = None
            if not isinstance(record, dict):
                raise LoadError(f"{path}:{number} is not a JSON object.", hint="one object a line, as in BEIR")
            records.append((record, f"{path}:{number}"))
    return records


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise LoadError(f"{path} can't be read: {error}.", hint="give a UTF-8 file") from None


def _field(record: Mapping[str, Any], names: Sequence[str], where: str) -> str:
    for name in names:
        if record.get(name) not in (None, ""):
            value = record[name]
            return " ".join(map(str, value)) if isinstance(value, list) else str(value)
    raise LoadError(f"{where} has none of the fields {', '.join(names)}.", hint="see BEIR's form in the documentation")


def _paper(record: Mapping[str, Any], where: str) -> Paper:
    title = str(record.get("title") or "")
    names = ("text", "abstract", "title")
    return Paper(_field(record, ("_id", "id", "doc_id"), where), title, _field(record, names, where), source=where)


def _query(record: Mapping[str, Any], where: str) -> tuple[str, str]:
    return _field(record, ("_id", "id"), where), _field(record, ("text", "query", "question", "claim"), where)


def _judgements(path: Path) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    for number, line in enumerate(_text(path).split("\n"), 1):
        cells = line.split("\t") if "\t" in line else line.split()
        if len(cells) == 4:
            cells = [cells[0], *cells[2:]]
        if not line.strip() or (number == 1 and len(cells) == 3 and not _whole(cells[2])):
            continue
        if len(cells) != 3 or not _whole(cells[2]):
            raise LoadError(f"{path}:{number} is not query, paper and grade.", hint="tabs between the columns")
        found.append((cells[0].strip(), cells[1].strip(), int(cells[2])))
    return found


def _whole(cell: str) -> bool:
    return cell.strip().lstrip("-").isdigit()


def evaluate_retrieval(
    judged: RetrievalSet,
    rank: Rank,
    *,
    name: str,
    limit: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> RetrievalRun:
    """Ranks papers for every query, in the set's order, and scores the rankings as :mod:`.retrieval_metrics` does.

    Args:
        judged: The set.
        rank: The retriever; a query on which it raises an error scores 0 and is named in ``errors``.
        name: The retriever's name, for the table.
        limit: Use only this many queries, from the first on.
        seed: For the intervals.
        progress: Called with the number of queries done, and of all queries.

    Raises:
        InputError: ``limit`` is below 1, or scipy isn't installed.
    """
    if limit is not None and limit < 1:
        raise InputError(f"A limit of {limit} leaves no query.", hint="give at least 1")
    queries = list(judged.queries.items())[:limit]
    scores: dict[str, dict[str, float]] = {}
    errors: dict[str, str] = {}
    for done, (query, text) in enumerate(queries, 1):
        ranking: Sequence[str] = ()
        try:
            ranking = tuple(dict.fromkeys(rank(text)))[:DEPTH]
        except Exception as error:
            errors[query] = f"{type(error).__name__}: {error}"
        grades = judged.qrels[query]
        scores[query] = scores_of(ranking, grades, tuple(grades))
        if progress is not None:
            progress(done, len(queries))
    estimates: dict[str, Estimate] = {}
    for score in next(iter(scores.values()), {}):
        value = estimate([found[score] for found in scores.values()], list(scores), seed=seed)
        if value is not None:
            estimates[score] = value
    return RetrievalRun(name, scores, estimates, errors)


def bm25(papers: Sequence[Paper]) -> Rank:
    """BM25 alone over titles and abstracts, computed as in the index: what a search has to beat.

    Papers that share no word with a query aren't ranked; papers with equal scores keep the order of the set.
    """
    from rag_assistant.index.lexical import Lexical
    from rag_assistant.index.terms import tokenize_question

    ids = [paper.id for paper in papers]
    lexical = Lexical.of(papers)

    def rank(query: str) -> list[str]:
        scores = lexical.scores(tokenize_question(query)).tolist()
        order = sorted((n for n, score in enumerate(scores) if score > 0), key=lambda n: (-scores[n], n))
        return [ids[n] for n in order[:DEPTH]]

    return rank


def render_retrieval(runs: Sequence[RetrievalRun], *, seed: int = 0) -> str:
    """The runs side by side as a Markdown table, with p-values for the difference from the last one (the baseline)."""
    return markdown(retrieval_parts(runs, seed=seed))


def retrieval_parts(runs: Sequence[RetrievalRun], *, seed: int = 0) -> Iterator[Part]:
    """The parts of what :func:`render_retrieval` writes."""
    baseline = runs[-1]
    yield f"{len(baseline.scores)} queries"
    head = ["score", *(run.name for run in runs), *(f"p ({run.name} against {baseline.name})" for run in runs[:-1])]
    rows: list[list[Cell]] = []
    for score in baseline.estimates:
        cells = [run.estimates.get(score, "–") for run in runs]
        tests = [f"{_p(run, baseline, score, seed):.4f}" for run in runs[:-1]]
        rows.append([score, *cells, *tests])
    yield Table(head, rows)
    for run in runs:
        if run.errors:
            yield f"{run.name}: {len(run.errors)} queries failed."


def _p(run: RetrievalRun, baseline: RetrievalRun, score: str, seed: int) -> float:
    shared = [query for query in baseline.scores if query in run.scores]
    before = [baseline.scores[query][score] for query in shared]
    return paired_p_value(before, [run.scores[query][score] for query in shared], seed=seed)
