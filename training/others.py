"""Makes an eval set of the sealed questions on 140 abstracts that are no part of this project.

    python -m training.others --icml icml2024.jsonl --out FOLDER [--part 1]
    rag-assistant index --index FOLDER/index FOLDER/papers.jsonl
    rag-assistant eval run --set FOLDER/questions.jsonl --index FOLDER/index --out runs/others

The questions are ours, the abstracts aren't: they are read from the file and only places in them are kept here. Three
parts of equal mix, so that each is looked at once.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from training.data import HERE, _lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--icml", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", type=int, choices=(1, 2, 3), help="only these questions, over all 140 papers")
    given = parser.parse_args()
    papers = {paper["id"]: paper for paper in _lines(given.icml)}
    rows = list(_lines(HERE / "others.jsonl"))
    given.out.mkdir(parents=True, exist_ok=True)
    with (given.out / "papers.jsonl").open("w", encoding="utf-8") as out:
        for key in sorted({key for row in rows for key in row["papers"]}):
            out.write(json.dumps(papers[key], ensure_ascii=False) + "\n")
    with (given.out / "questions.jsonl").open("w", encoding="utf-8") as out:
        for row in rows:
            if given.part and not row["id"].startswith(f"s{given.part}/"):
                continue
            spans = row.pop("spans", [])
            [paper] = row["papers"]
            quotes = [papers[paper]["abstract"][start:end] for start, end in spans]
            row["evidence"] = [{"paper": paper, "quote": quote} for quote in quotes]
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
