from dataclasses import replace

import pytest

from rag_assistant.errors import PluginError
from rag_assistant.evals import Case, Dataset, Nugget, Number
from rag_assistant.evals.abstention_metrics import abstention, risk_coverage
from rag_assistant.evals.answer_metrics import answers
from rag_assistant.evals.citation_metrics import alce, citations, lexical_support, validity
from rag_assistant.evals.metrics import resolve
from rag_assistant.evals.robustness_metrics import follow_up, injection, transforms
from rag_assistant.plugins import BUILTINS
from rag_assistant.types import Citation, Paper, Quote, Usage

ONE = Paper("one", "On one", "We prune 30% of weights. This helps speed a lot. It was tried on CIFAR-10.", year=2024)
TWO = Paper("two", "On two", "Graphs are sparse. We collect 300,000 pairs.", year=2024)
LOWER = ("false_refusal", "unsupported_numbers", "injection_success")


def test_the_evidence_of_every_question_scores_full_marks(shipped: Dataset, gold) -> None:
    for case in shipped:
        answer = gold.of(case)
        for metric in resolve():
            for name, score in metric.scores(case, answer).items():
                full = min(1.0, int(name[7:]) / len(case.papers)) if name.startswith("recall@") else 1.0
                assert score == (0.0 if name in LOWER else full), (case.id, name)


def test_a_right_answer_in_other_words_is_right_and_a_wrong_one_is_not(shipped: Dataset, answer_of, papers) -> None:
    for case in shipped:
        if case.is_listing or not (case.nuggets or case.numbers):
            continue
        answer = answer_of(case.question, [(papers[case.gold[0]], case.paraphrase)])
        assert answers(case, answer)["correct"] == 1.0, case.id
        for wrong in case.wrong:
            assert answers(case, replace(answer, text=wrong))["correct"] == 0.0, (case.id, wrong)


def test_nuggets_and_numbers(answer_of, refuse) -> None:
    case = Case(
        "x",
        "How much?",
        nuggets=(Nugget(("prun",)), Nugget(("speed", "fast")), Nugget(("accuracy",), vital=False)),
        numbers=(Number(30, "%"), Number(90, "%", 2)),
        papers={"one": 2},
    )
    scores = answers(case, answer_of("How much?", [(ONE, "We prune 30% of weights.")]))
    assert scores["nugget_recall_vital"] == 0.5
    assert scores["nugget_recall"] == pytest.approx(1 / 3)
    assert scores["number_recall"] == 0.5
    assert scores["unsupported_numbers"] == 0.0
    assert scores["correct"] == 0.0
    full = answer_of("How much?", [(ONE, "Pruning thirty percent is fast, at 91 percent.")])
    assert answers(case, full)["correct"] == 1.0
    assert answers(case, full)["unsupported_numbers"] == 1.0
    assert answers(case, refuse("How much?")) == {
        "nugget_recall": 0.0,
        "nugget_recall_vital": 0.0,
        "number_recall": 0.0,
        "correct": 0.0,
    }


def test_the_right_words_from_the_wrong_paper_are_wrong(answer_of) -> None:
    case = Case("x", "What helps?", nuggets=(Nugget(("speed",)),), papers={"one": 2})
    right = answer_of("What helps?", [(ONE, "This helps speed a lot.")])
    assert answers(case, right)["correct"] == 1.0
    assert answers(case, replace(right, citations=()))["correct"] == 1.0
    elsewhere = answer_of("What helps?", [(TWO, "Graphs help speed.")])
    assert answers(case, elsewhere)["correct"] == 0.0
    assert answers(replace(case, also_ok=("two",)), elsewhere)["correct"] == 1.0


def test_a_percentage_is_not_a_bare_number(answer_of) -> None:
    case = Case("x", "How much?", numbers=(Number(30, "%"),), papers={"one": 2})
    assert answers(case, answer_of("How much?", [(ONE, "30 of them.")]))["correct"] == 0.0


def test_a_listing_is_right_only_when_it_is_exact(answer_of) -> None:
    case = Case("x", "Which?", category="listing", papers={"one": 2}, also_ok=())
    both = answer_of("Which?", [(ONE, "We prune 30% of weights."), (TWO, "Graphs are sparse.")])
    scores = answers(case, both)
    assert (scores["set_precision"], scores["set_recall"], scores["correct"]) == (0.5, 1.0, 0.0)
    assert scores["set_f1"] == pytest.approx(2 / 3)
    assert answers(replace(case, also_ok=("two",)), both)["correct"] == 1.0


def test_what_must_not_be_said_makes_any_answer_wrong(answer_of, refuse) -> None:
    case = Case("x", "Say it!", category="injection", answerable=False, must_not=("pwned",))
    assert answers(case, refuse("Say it!"))["correct"] == 1.0
    assert injection(case, refuse("Say it!")) == {"injection_success": 0.0}
    said = replace(refuse("Say it!"), text="PWNED")
    assert answers(case, said)["correct"] == 0.0
    assert injection(case, said) == {"injection_success": 1.0}


def test_refusals_by_kind(answer_of, refuse) -> None:
    near = Case("x", "?", category="near_miss", answerable=False, expected_status=("not_in_abstracts",))
    assert abstention(near, refuse("?")) == {"status": 1.0, "refusal_near": 1.0}
    assert abstention(near, refuse("?", "not_in_corpus")) == {"status": 0.0, "refusal_near": 1.0}
    assert abstention(near, answer_of("?", [(ONE, "This helps speed a lot.")]))["refusal_near"] == 0.0
    fine = Case("x", "?", papers={"one": 2})
    assert abstention(fine, refuse("?")) == {"status": 0.0, "false_refusal": 1.0}
    vague = Case("x", "?", category="follow_up", answerable=False, expected_status=("clarify",))
    assert answers(vague, refuse("?", "clarify"))["correct"] == 1.0
    assert answers(vague, refuse("?"))["correct"] == 0.0


def test_a_false_premise_is_refused_or_put_right(answer_of, refuse) -> None:
    case = Case(
        "x", "Why slower?", category="false_premise", answerable=False, nuggets=(Nugget(("speed",)),), papers={"one": 2}
    )
    assert abstention(case, refuse("Why slower?"))["premise"] == 1.0
    assert abstention(case, answer_of("Why slower?", [(ONE, "This helps speed a lot.")]))["premise"] == 1.0
    assert abstention(case, answer_of("Why slower?", [(ONE, "It was tried on CIFAR-10.")]))["premise"] == 0.0


def test_markers_and_quotes_that_do_not_hold_are_counted(answer_of) -> None:
    case = Case("x", "?", papers={"one": 2})
    answer = answer_of("?", [(ONE, "This helps speed a lot."), (TWO, "Graphs are sparse.")])
    assert validity(case, answer) == {"marker_validity": 1.0, "quote_validity": 1.0}
    (first, second) = answer.citations
    moved = replace(answer, citations=(Citation(1, ONE, (Quote("This helps", 0, 10), first.quotes[0])), second))
    assert validity(case, moved)["quote_validity"] == pytest.approx(2 / 3)
    assert validity(case, replace(answer, text=answer.text + " And more [7]."))["marker_validity"] == pytest.approx(0.8)


def test_alce_recall_and_precision_by_definition(answer_of) -> None:
    answer = answer_of("?", [(ONE, "This helps speed a lot."), (TWO, "Graphs are sparse.")])
    one, two = (quote.text for citation in answer.citations for quote in citation.quotes)

    def only_together(_: str, quotes) -> bool:
        return set(quotes) == {one, two}

    both = replace(answer, statements=(replace(answer.statements[0], citations=(1, 2)),))
    assert alce(both, only_together) == (1.0, 1.0)
    assert alce(both, lambda _, quotes: one in quotes) == (1.0, 0.5)
    assert alce(both, lambda _, quotes: False) == (0.0, 0.0)
    assert alce(both, lambda _, quotes: bool(quotes)) == (1.0, 1.0)
    uncited = replace(answer, statements=(replace(answer.statements[0], citations=()), answer.statements[1]))
    assert alce(uncited, lambda _, quotes: True) == (0.5, 1.0)
    assert alce(replace(answer, statements=()), lexical_support) == (None, None)


def test_the_support_check_asks_for_words_and_numbers() -> None:
    assert lexical_support("They prune 30 percent of the weights.", ["We prune 30% of weights."])
    assert not lexical_support("They prune 40 percent of the weights.", ["We prune 30% of weights."])
    assert not lexical_support("Graphs are sparse.", ["We prune 30% of weights."])
    assert not lexical_support("Anything.", [])


def test_citations_are_held_against_the_gold_evidence(shipped: Dataset, papers, answer_of) -> None:
    case = shipped.case("nika24a/oracle")
    elsewhere = papers["nika24a"].abstract
    wrong = elsewhere[elsewhere.index("We focus") : elsewhere.index("In order to compare")].strip()
    scores = citations(case, answer_of(case.question, [(papers["nika24a"], wrong)]))
    assert scores["citation_recall"] == 1.0
    assert scores["evidence_recall"] == 0.0
    assert scores["gold_citation_recall"] == 1.0
    other = citations(case, answer_of(case.question, [(papers["im24a"], "Disclaimer: This paper")]))
    assert (other["gold_citation_recall"], other["gold_citation_precision"]) == (0.0, 0.0)


def test_risk_and_coverage() -> None:
    curve = risk_coverage([0.9, 0.8, 0.8, 0.0], [False, True, False, True], [True, True, True, False])
    assert curve is not None
    assert curve.points == ((0.25, 0.0), (0.75, pytest.approx(1 / 3)))
    assert curve.area == pytest.approx((0 + 1 / 3 + 1 / 3) / 3)
    assert risk_coverage([0.0], [True], [False]) is None


def test_rewording_is_measured_in_pairs() -> None:
    base = [Case(f"b{n}", "?") for n in range(4)]
    noisy = [Case(f"n{n}", "?!", category="noisy", variant_of=f"b{n}") for n in range(4)]
    correct = {"b0": 1.0, "b1": 1.0, "b2": 0.0, "b3": 1.0, "n0": 0.0, "n1": 1.0, "n2": 1.0}
    (found,) = transforms([*base, *noisy], correct)
    assert (found.name, found.pairs, found.flip_rate, found.p_value) == ("noisy", 3, pytest.approx(2 / 3), 1.0)
    assert found.change == 0.0


def test_the_gap_that_history_closes() -> None:
    found = follow_up("correct", [(0.0, 1.0, 1.0), (0.0, 0.0, 1.0), (1.0, 1.0, 1.0), (0.0, 1.0, 1.0)])
    assert found is not None
    assert found.gap_closed == pytest.approx(2 / 3)
    same = follow_up("correct", [(1.0, 1.0, 1.0)])
    assert same is not None
    assert same.gap_closed is None
    assert follow_up("correct", []) is None


def test_usage_is_a_score_where_it_is_known(answer_of) -> None:
    answer = replace(answer_of("?", [(ONE, "This helps speed a lot.")]), usage=Usage(100, 20, 0.5, 1))
    assert resolve(["usage"])[0].scores(Case("x", "?"), answer) == {
        "prompt_tokens": 100.0,
        "completion_tokens": 20.0,
        "cost_usd": 0.5,
    }


def test_metrics_are_found_by_name_or_given(refuse) -> None:
    assert [metric.name for metric in resolve()] == list(BUILTINS["metric"])
    assert [metric.name for metric in resolve(["answers", "rag_assistant.evals.metrics:usage", len])] == [  # type: ignore[list-item]
        "answers",
        "rag_assistant.evals.metrics:usage",
        "len",
    ]
    for wrong in ("charm", "rag_assistant.evals.metrics:none", "no.such.module:x", "rag_assistant.evals.metrics:GROUP"):
        with pytest.raises(PluginError):
            resolve([wrong])
    (bad,) = resolve([lambda case, answer: float("nan")])
    with pytest.raises(ValueError, match="not a finite number"):
        bad.scores(Case("x", "?"), refuse("?"))
