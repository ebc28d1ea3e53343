"""``arxiv:``, ``doi:`` and ``openreview:``: what services send, how they fail, and how they are asked."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_assistant.errors import LoadError, PluginError
from rag_assistant.loaders import load_papers
from rag_assistant.types import Paper

from .services import Reply, Services, entry, note, serving
from .test_load import install

CSL: dict[str, object] = {
    "DOI": "10.1145/12345.678",
    "title": "On <i>Lasius niger</i> &amp; others",
    "author": [{"given": "Ann", "family": "Lee"}, {"name": "The Ant Group"}, {"literal": "Bob Ray"}],
    "container-title": "Journal of Ants",
    "issued": {"date-parts": [[2024, 7, 21]]},
    "abstract": "<jats:title>Abstract</jats:title><jats:p>We study <jats:italic>ants</jats:italic> at\n length."
    "</jats:p><jats:sec><jats:title>Results</jats:title><jats:p>Of\t<jats:inline-formula><jats:alternatives><jats:tex-math>"
    "\\documentclass{minimal} \\begin{document}$$n &lt; 5$$\\end{document}</jats:tex-math><mml:math><mml:mi>n</mml:mi>"
    "</mml:math></jats:alternatives></jats:inline-formula> ants, CO<jats:sub>2</jats:sub> is made.</jats:p></jats:sec>",
}


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Services]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving() as made:
        for name, value in made.environment().items():
            monkeypatch.setenv(name, value)
        yield made


def kept(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "cache").rglob("listings/*"))


def test_arxiv_is_asked_once_for_several_and_once_in_three_seconds(services: Services, tmp_path: Path) -> None:
    summary = "  We study ants\nat length.\n  They <work> & \\emph{win}.\n"
    services.entries["2401.00001"] = entry("2401.00001", "On\n  ants", summary, "Ann Lee", "Bob Ray")
    doi = "<arxiv:doi>10.1145/12345.678</arxiv:doi><arxiv:journal_ref>J. Ants 7 (2025)</arxiv:journal_ref>"
    services.entries["hep-th/9901001"] = entry("hep-th/9901001", "Old", "Strings.", "Cy Twombly", more=doi)
    report = load_papers(["arxiv:2401.00001v2,hep-th/9901001,2401.00009,ants", "ARXIV:2401.00001"])
    page = "https://arxiv.org/abs/2401.00001"
    assert report.papers[0] == Paper(
        id="arxiv:2401.00001",
        title="On ants",
        abstract="We study ants at length.\nThey <work> & win.",
        authors=("Ann Lee", "Bob Ray"),
        year=2024,
        venue="arXiv",
        url=page,
        links={"arxiv": page},
    )
    assert report.papers[0].source == "arxiv:2401.00001:1"
    assert [(p.id, p.venue) for p in report.papers[1:]] == [("doi:10.1145/12345.678", "J. Ants 7 (2025)")]
    assert [str(problem) for problem in report.problems] == [
        "arxiv:ants: is no arXiv id, such as arxiv:1707.08567",
        "arxiv:2401.00009: is not known to arXiv",
    ]
    assert len(report.merged) == 1
    assert len(services.asked) == 2
    assert services.gaps()[0] >= 3.0
    assert kept(tmp_path) == []


def test_a_doi_is_read_from_its_agency(services: Services) -> None:
    services.works["10.1145/12345.678"] = CSL
    services.first["doi"].append(Reply(302, headers={"Location": f"{services.address}/doi/10.1145/12345.678"}))
    report = load_papers("doi:10.1145/12345.678")
    assert report.papers == (
        Paper(
            id="doi:10.1145/12345.678",
            title="On Lasius niger & others",
            abstract="We study ants at length.\nResults: Of $$n < 5$$ ants, CO2 is made.",
            authors=("Ann Lee", "The Ant Group", "Bob Ray"),
            year=2024,
            venue="Journal of Ants",
            url="https://doi.org/10.1145/12345.678",
            doi="10.1145/12345.678",
        ),
    )
    assert {accept for *_, accept in services.asked} == {"application/vnd.citationstyles.csl+json"}
    assert len(services.asked) == 2


def test_what_is_no_paper_is_a_problem_beside_others(services: Services) -> None:
    services.works["10.1145/1"] = {**CSL, "title": ["As Crossref's own API has it"], "author": None}
    services.works["10.1145/2"] = {"title": "Silent"}
    services.works["10.48550/arXiv.2401.00001"] = {**CSL, "title": "A preprint"}
    report = load_papers(
        ["doi:10.1145/1", "doi:10.1145/2", "doi:10.1145/3", "doi:ants", "doi:10.48550/arXiv.2401.00001"]
    )
    assert [paper.title for paper in report.papers] == ["As Crossref's own API has it", "Silent", "A preprint"]
    assert [paper.title for paper in report.without_abstract] == ["Silent"]
    assert report.papers[2].id == "arxiv:2401.00001"
    assert [str(problem) for problem in report.problems] == [
        "doi:10.1145/3: is not registered, or its agency tells nothing of it",
        "doi:ants: is no DOI, such as doi:10.1145/3292500.3330701",
    ]
    assert min(services.gaps()) >= 0.5


def test_a_venue_is_listed_page_by_page(services: Services) -> None:
    services.notes["v2", "ICLR.cc/2024/Conference"] = [note(number) for number in range(2003)]
    report = load_papers("openreview:ICLR/2024")
    assert len(report.papers) == 2003
    assert report.papers[7] == Paper(
        id="openreview:note7",
        title="On ants, part 7",
        abstract="We study 7 ants. They work.",
        authors=("Ann Lee", "Bob Ray"),
        year=2024,
        venue="ICLR 2024 poster",
        url="https://openreview.net/forum?id=note7",
        links={"openreview": "https://openreview.net/forum?id=note7"},
    )
    assert [path.partition("offset=")[2] for path in services.paths()] == ["0", "1000", "2000"]
    assert min(services.gaps()) >= 1.0


def test_older_venues_are_in_the_older_api(services: Services) -> None:
    services.notes["v1", "auai.org/UAI/2022/Conference"] = [
        note(1, wrapped=False, venue="UAI 2022"),
        note(2, abstract=None),
    ]
    report = load_papers("openreview:auai.org/UAI/2022/Conference")
    assert [(paper.venue, paper.year) for paper in report.papers] == [("UAI 2022", 2022), ("ICLR 2024 poster", 2024)]
    assert [paper.id for paper in report.without_abstract] == ["openreview:note2"]
    with pytest.raises(LoadError, match=r"OpenReview lists no paper of NONE\.cc/2022/Conference"):
        load_papers("openreview:NONE/2022")


def test_a_listing_goes_on_where_it_stopped(services: Services, tmp_path: Path) -> None:
    services.notes["v2", "TMLR"] = [note(number) for number in range(1500)]
    good = services.reply("v2", "/notes?content.venueid=TMLR&limit=1000&offset=0")
    services.first["v2"].extend([good, Reply(403)])
    with pytest.raises(LoadError, match=r"OpenReview refused the request \(403\)"):
        load_papers("openreview:TMLR")
    assert len(kept(tmp_path)) == 1
    assert len(load_papers("openreview:TMLR").papers) == 1500
    assert kept(tmp_path) == []
    assert len(load_papers("openreview:TMLR").papers) == 1500
    offsets = [path.partition("offset=")[2] for path in services.paths()]
    assert offsets == ["0", "1000", "1000", "0", "1000"]


def test_half_of_a_listing_is_none(services: Services, tmp_path: Path) -> None:
    """Else an index of what came would drop the rest."""
    (tmp_path / "papers.jsonl").write_text('{"abstract": "Ants work."}')
    services.notes["v2", "TMLR"] = [note(number) for number in range(1500)]
    good = services.reply("v2", "/notes?content.venueid=TMLR&limit=1000&offset=0")
    services.first["v2"].extend([good, Reply(403)])
    with pytest.raises(LoadError, match="OpenReview refused"):
        load_papers([tmp_path / "papers.jsonl", "openreview:TMLR"])


@pytest.mark.parametrize("status", [429, 503])
def test_a_service_that_asks_to_wait_is_waited_for(services: Services, status: int) -> None:
    services.works["10.1145/1"] = CSL
    services.first["doi"].append(Reply(status, headers={"Retry-After": "3"}))
    told: list[str] = []
    report = load_papers("doi:10.1145/1", progress=lambda stage, done, total: told.append(stage))
    assert len(report.papers) == 1
    assert services.gaps()[0] >= 3.0
    assert told == [f"waiting: doi.org refused the request ({status}); asking again in 3 seconds"]


def test_what_fails_for_now_is_tried_again_and_what_doesnt_isnt(services: Services) -> None:
    services.works["10.1145/1"] = CSL
    services.first["doi"].extend([Reply(500), Reply(body=b"cut", headers={"Content-Length": "99"})])
    assert len(load_papers("doi:10.1145/1").papers) == 1
    assert len(services.asked) == 3
    services.first["doi"].append(Reply(400))
    with pytest.raises(LoadError, match=r"doi\.org refused the request \(400\)"):
        load_papers("doi:10.1145/1")
    services.first["doi"].append(Reply(429, headers={"Retry-After": "5400"}))
    with pytest.raises(LoadError, match="429") as caught:
        load_papers("doi:10.1145/1")
    assert caught.value.hint.startswith("run it again in 90 minutes; ")
    assert len(services.asked) == 5


def test_a_service_that_isnt_there(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_DOI_URL", "http://127.0.0.1:9")
    with pytest.raises(LoadError, match=r"doi\.org can't be reached") as caught:
        load_papers("doi:10.1145/1")
    assert caught.value.hint.startswith("run it again later")


@pytest.mark.parametrize(
    "place",
    [
        "http://10.0.0.1/x",
        "https://10.0.0.1/x",
        "https://127.0.0.1/x",
        "https://[::1]/x",
        "https://169.254.169.254/latest",
        "https://localhost/x",
        "http://127.0.0.1:9/x",  # a neighbour of the address that was named
        "file:///etc/passwd",
    ],
)
def test_redirects_lead_to_public_hosts_only(services: Services, place: str) -> None:
    services.first["doi"].append(Reply(302, headers={"Location": place}))
    with pytest.raises(LoadError, match="is not asked: only public hosts are, over https"):
        load_papers("doi:10.1145/1")
    assert len(services.asked) == 1


def test_redirects_end(services: Services) -> None:
    services.first["doi"].extend([Reply(302, headers={"Location": f"{services.address}/doi/10.1145/1"})] * 9)
    with pytest.raises(LoadError, match="one redirect too many"):
        load_papers("doi:10.1145/1")


def test_too_much_and_too_slow(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = gzip.compress(b" " * (80 << 20))
    services.first["doi"].append(Reply(body=bomb, headers={"Content-Encoding": "gzip"}))
    with pytest.raises(LoadError, match="sends more than 64 MB"):
        load_papers("doi:10.1145/1")
    monkeypatch.setattr("rag_assistant.loaders.web._SECONDS", 1.0)
    slow = Reply(body=[b" "] * 100, pause=0.1)
    services.first["doi"].extend([slow] * 4)
    with pytest.raises(LoadError, match=r"doi\.org didn't answer in time"):
        load_papers("doi:10.1145/1")


BOMB = b"""<!DOCTYPE lolz [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><feed>&b;</feed>"""


@pytest.mark.parametrize(
    ("name", "service", "bodies"),
    [
        ("doi:10.1145/1", "doi", [b"<html>Please wait</html>", b"[]", b"[" * 9000, b"\xff\xfe"]),
        ("openreview:TMLR", "v2", [b"<html>Please wait</html>", b"{}", b'{"notes": 3}', b"[" * 9000]),
        ("arxiv:2401.00001", "arxiv", [b"Rate exceeded.", BOMB]),
    ],
)
def test_what_is_no_such_reply_is_told(services: Services, name: str, service: str, bodies: list[bytes]) -> None:
    for body in bodies:
        services.first[service].append(Reply(body=body))
        with pytest.raises(LoadError, match="sent something that is no") as caught:
            load_papers(name)
        assert caught.value.hint == "run it again later"


def test_replies_with_anything_in_them_raise_nothing_else(services: Services) -> None:
    odd: list[object] = [None, 3, "text", [], [3], {}, {"value": 3}, {"date-parts": [[None]]}, {"date-parts": 3}]
    names = ["title", "author", "authors", "container-title", "issued", "abstract", "publisher", "venue"]
    venue = [{"id": 1, "content": dict.fromkeys(names, value)} for value in odd] + [{"content": 3}, {}]
    services.notes["v2", "TMLR"] = [*venue, note(1)]
    report = load_papers("openreview:TMLR")
    assert [paper.title for paper in report.papers][-1] == "On ants, part 1"
    services.works["10.1145/1"] = CSL
    for value in odd[1:4]:
        services.works["10.1145/2"] = {**CSL, **dict.fromkeys(names, value)}
        report = load_papers(["doi:10.1145/1", "doi:10.1145/2"])
        assert "loader failed" not in str(report.problems)


def test_a_file_of_that_name_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("doi:ants.jsonl").write_text('{"abstract": "Ants work."}')
    assert len(load_papers("doi:ants.jsonl").papers) == 1


def test_a_source_is_added_by_one_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = """
from rag_assistant.loaders import Record, papers_from

def fetch(name, web):
    yield from papers_from(Record(file=f"ants:{name}", line=1, title=name, abstract="Ants work."))
"""
    install(tmp_path, "anthill", module, "[rag_assistant.sources]", "ants = anthill:fetch", "gone = anthill:absent")
    monkeypatch.syspath_prepend(str(tmp_path))
    report = load_papers("ants:Lasius")
    assert [(paper.title, paper.source) for paper in report.papers] == [("Lasius", "ants:Lasius:1")]
    assert report.sources == ("ants:Lasius",)
    with pytest.raises(PluginError, match="source 'gone' can't be loaded"):
        load_papers("gone:1")
    with pytest.raises(LoadError, match="Can't read 'bees:1'"):
        load_papers("bees:1")
