"""The bundled papers are the user's document, byte for byte, with its bibliography."""

from __future__ import annotations

import hashlib

from rag_assistant.bundled import bundled
from rag_assistant.loaders import load_papers
from rag_assistant.types import Paper

# SHA-256 of each block of the document that the project was started with, as it stands there.
SHA256 = {
    "nika24a": "7976feba0eb4f7cdfbc82ec1f5b8ac8efa58f5b399122aa1e5569def49b615c1",
    "le-bars24a": "b27c48583d2e2561bf801aba609fb4bf2312d9ad58a1a96759b1ed33d361b966",
    "allouah24a": "ac6af5baeb95d77dfc7e261f4ddb98e6a2fd82b00dc07b869f3767207284c279",
    "yang24u": "a0cabc79f0b17bbd73149e68c12675eed4529a93d8747fdc8964307e62d934a1",
    "li24bn": "6aa153dfadb7347371b32f455ce2218e6a7f4107a325b2d03e3952129b6e1251",
    "im24a": "23645309fb222d962122835a2def7cbbb042b3f95f3bbb3c23fd544bf96f6b72",
    "dahan24a": "04c67df55731992dd80d433b3e75f6dc6ce4bcd9c5347a66fbfdc561b4a6653e",
    "gao24s": "8890756aa30e354ffe4ca9a553c905d991899f85c89747ac9101d8aea28105a9",
    "bartoldson24a": "e0120bd89933f92768258fdbfffc58c71ef60edc6f74830d49b6048f6e80e827",
    "singh24d": "a4a64d0b0fa7dd728ea0af39e632a72ef6e9d273549eb7eeff88974ee0ee808e",
    "tao24b": "ee387e49ef8492a2ea28596856f1285c1c492358635dc10efc3a15eaa44cefc2",
    "cideron24a": "89a273a725e44a51d1efcf56ec18e1b3c616fde57052b04ddd00edf5d0102cd1",
    "yin24b": "85f9c6addc818eebc26c0742b96edf84010503eafa1e993f8ca91fca04a1996f",
    "goldblum24a": "a2a2ab671ad7df4e6a3f6bfb3c799452d3869da66619137751523458361483de",
    "verma24a": "61005c3d5406d5d8d1e95f198f3085697194b35390635d7a481371751ea7ee0f",
    "cai24f": "60af04ddfeb0f745a212d835397f9a322d3fb15dc29107244faeb88e0da6fede",
    "shumaylov24a": "784e03ac8f7c05cff1beffedc3d2fcff698df2c1692a0d0728c52faafc1f413c",
    "yang24p": "bd246883c6aa77de8940e4be2107098922e933653cc632f7888bf62a39c2f0cf",
    "pan24e": "81a2b5b5906fe3c66d7f1c321de39f374eaf737631ac97c7593e3312c98686a7",
}


def papers() -> tuple[Paper, ...]:
    report = load_papers(bundled("corpus"))
    assert report.problems == report.notes == ()
    return report.papers


def test_every_abstract_is_the_document_s_byte_for_byte() -> None:
    assert {paper.id: hashlib.sha256(paper.abstract.encode()).hexdigest() for paper in papers()} == SHA256


def test_every_paper_has_its_bibliography() -> None:
    for paper in papers():
        assert (paper.year, paper.venue, paper.title_derived) == (2024, "ICML 2024", False)
        assert paper.url == paper.links["proceedings"] == f"https://proceedings.mlr.press/v235/{paper.id}.html"
        assert paper.links["openreview"].startswith("https://openreview.net/forum?id=")
        assert len(paper.authors) >= 2
        assert paper.source.endswith(f"{paper.id}.md:1")
    assert sum(len(paper.authors) for paper in papers()) == 107


def test_titles_with_colons_quotes_and_mathematics_are_whole() -> None:
    titles = {paper.id: paper.title for paper in papers()}
    assert titles["nika24a"] == (
        "Reward Model Learning vs. Direct Policy Optimization: "
        "A Comparative Analysis of Learning from Human Preferences"
    )
    assert titles["yin24b"].endswith('Monotonically Impairs "Difficult" Downstream Tasks in LLMs')
    assert titles["pan24e"].endswith("(Strongly-)Convex One to $K$-Level Stochastic Optimizations")
    assert "Zhangyang “Atlas” Wang" in next(paper.authors for paper in papers() if paper.id == "yin24b")
