"""``ask`` and ``search`` over the 19 bundled papers, as another process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rag_assistant.render import clean
from tests.cli.conftest import COMMAND, Run, run_command

DPO = "Does DPO keep its advantage when the true reward is not realizable?"
REFUSALS = {"not_in_corpus", "not_in_abstracts", "clarify"}


def test_the_first_ask_builds_its_index(tmp_path: Path) -> None:
    home = {"XDG_DATA_HOME": str(tmp_path / "data")}
    first = run_command("ask", DPO, cwd=tmp_path, **home)
    assert first.code == 0, first.err
    assert "[1]" in first.out
    assert (tmp_path / "data" / "rag-assistant" / "index").is_dir()
    assert run_command("ask", DPO, cwd=tmp_path, **home).out == first.out


def test_an_index_that_is_named_but_not_there(rag_alone: Run, tmp_path: Path) -> None:
    """It is made of the bundled papers, as in the default place, and told, since the name may be a slip."""
    done = rag_alone("ask", DPO)
    assert done.code == 0
    assert done.out.count("[1]") == 2
    assert f"There was no index at {tmp_path / 'index'}; the bundled papers are indexed there now." in done.err
    assert rag_alone("ask", DPO).err == ""


def test_a_folder_of_papers_is_not_taken_for_an_index(rag_alone: Run, tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "mine.txt").write_text("A ziggurat has seven levels.")
    done = rag_alone("ask", "--index", "papers", DPO)
    assert (done.code, done.out) == (1, "")
    assert "There is no index at " in done.err
    assert "hint: run: rag-assistant index" in done.err
    assert [path.name for path in (tmp_path / "papers").iterdir()] == ["mine.txt"]


def test_a_piped_answer_is_plain_text_with_sources_and_quotes(rag: Run) -> None:
    done = rag("ask", DPO)
    assert (done.code, done.err) == (0, "")
    assert done.out == clean(done.out)
    answer, source = done.out.split("\n\n", 1)
    assert "not realizable" in answer
    assert answer.rstrip().endswith("[1]")
    assert source.startswith("[1] Reward Model Learning vs. Direct Policy Optimization")
    assert "https://proceedings.mlr.press/v235/nika24a.html" in source
    quotes = re.findall("“(.*)”", source)
    assert any("not realizable" in quote for quote in quotes)


def test_json_is_the_whole_answer(rag: Run) -> None:
    answer = rag("ask", "--json", DPO).json
    assert answer["question"] == DPO
    assert answer["status"] == "answered"
    paper = answer["citations"][0]["paper"]
    assert paper["id"] == "nika24a"
    for quote in answer["citations"][0]["quotes"]:
        assert paper["abstract"][quote["start"] : quote["end"]] == quote["text"]


def test_markdown_and_bibtex(rag: Run) -> None:
    markdown = rag("ask", "--markdown", DPO).out
    assert markdown.startswith(f"## {DPO}\n")
    assert "### References" in markdown
    assert rag("ask", "--bibtex", DPO).out.startswith("@inproceedings{nika24a,")


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_the_question_on_stdin(rag: Run, arguments: tuple[str, ...]) -> None:
    assert rag("ask", *arguments, stdin=f"  {DPO}\n").out == rag("ask", DPO).out


def test_a_question_of_several_words_needs_no_quotation_marks(rag: Run) -> None:
    assert rag("ask", *DPO.split()).out == rag("ask", DPO).out


def test_a_refusal_is_no_error_and_names_the_nearest_papers(rag: Run) -> None:
    done = rag("ask", "--json", "Which wine goes well with grilled salmon?")
    assert done.code == 0
    assert done.json["status"] == "not_in_corpus"
    assert done.json["citations"] == []
    nearest = done.json["nearest"]
    assert nearest
    plain = rag("ask", "Which wine goes well with grilled salmon?").out
    assert all(paper["title"] in plain and paper["url"] in plain for paper in nearest)


@pytest.mark.parametrize(
    "question",
    ["", "   \n", "?!.", "\x00\x1b[31m\x07", "x" * 50_000, "日本語の論文はありますか", "for i in range(3): print(i)"],
)
def test_odd_questions_get_an_answer_or_a_refusal(rag: Run, question: str) -> None:
    done = rag("ask", "--json", stdin=question)
    assert done.code == 0, done.err
    assert done.json["status"] in REFUSALS | {"answered", "partial"}
    plain = rag("ask", stdin=question)
    assert plain.code == 0
    assert plain.out.strip()
    assert plain.out == clean(plain.out)


def test_bytes_that_are_no_text(rag: Run) -> None:
    assert rag("ask", stdin=b"\xff\xfe\x80 reward \xed\xa0\x80").code == 0


def test_filters_narrow_what_is_asked(rag: Run) -> None:
    only = rag("ask", "--json", "--id", "le-bars24a", DPO).json
    assert only["considered"] == 1
    assert all(hit["paper"]["id"] == "le-bars24a" for hit in only["hits"])
    assert rag("ask", "--json", "--year", "1999", DPO).json["status"] in REFUSALS
    assert rag("ask", "--json", "--year", "2023-", "--venue", "icml", "--author", "nika", DPO).json["considered"] == 1


def test_k_limits_the_papers(rag: Run) -> None:
    assert len(rag("ask", "--json", "-k", "2", DPO).json["hits"]) <= 2
    assert len(rag("search", "--json", "-k", "3", "reward").json["hits"]) == 3


def test_length_by_flag_and_by_variable(rag: Run) -> None:
    short, long = (rag("ask", "--json", "--length", length, DPO).json["statements"] for length in ("short", "long"))
    assert len(short) == 1 < len(long)
    assert rag("ask", "--json", DPO, RAG_LENGTH="short").json["statements"] == short
    refused = rag("ask", "--length", "epic", DPO)
    assert refused.code == 2
    assert "short" in refused.err


def test_search_lists_columns_in_a_pipe(rag: Run) -> None:
    done = rag("search", "direct preference optimization")
    assert (done.code, done.err) == (0, "")
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert all(len(row) == 6 for row in rows)
    assert [row[0] for row in rows] == [str(rank) for rank in range(1, len(rows) + 1)]
    assert rows[0][2] == "nika24a"
    assert rows[0][3] == "2024"


def test_search_that_finds_nothing_says_so(rag: Run) -> None:
    done = rag("search", "--year", "1999", "reward")
    assert (done.code, done.out) == (0, "")
    assert "no paper" in done.err


def test_verbose_tells_the_timings_on_stderr(rag: Run) -> None:
    done = rag("ask", "-v", DPO)
    assert "total" in done.err
    assert "ms" in done.err
    assert done.out == rag("ask", DPO).out


def test_a_reader_that_goes_away_is_no_error(built: Path, tmp_path: Path) -> None:
    command = [*COMMAND, "papers", "--json", "--index", str(built)]
    script = (
        "import subprocess, sys\np = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE)\n"
    )
    script += "p.stdout.close()\nerror = p.stderr.read()\nprint(p.wait(), error)"
    done = subprocess.run([sys.executable, "-c", script, *command], cwd=tmp_path, capture_output=True, timeout=120)
    assert done.stdout.decode().strip() == "141 b''"


def test_a_plug_in_in_the_current_folder(rag: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from rag_assistant.drafts import Draft, Label\n"
        "class First:\n"
        "    name, model = 'first', ''\n"
        "    def stream(self, prompt):\n"
        "        yield Draft(prompt.evidence.papers[0].sentences[0].passage.text, (Label(0, 0),))\n"
        "    async def astream(self, prompt):\n"
        "        for piece in self.stream(prompt):\n"
        "            yield piece\n"
    )
    answer = rag("ask", "--json", "--backend", "mine:First", DPO).json
    assert answer["backend"] == "first"
    assert answer["statements"][0]["support"] == "supported"


def test_a_cold_ask_imports_no_llama_index(built: Path, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom rag_assistant.cli import main\n"
        f"assert main(['ask', '--index', {str(built)!r}, {DPO!r}]) == 0\n"
        "heavy = {'llama_index', 'gradio', 'openai', 'torch', 'tiktoken', 'pandas'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
