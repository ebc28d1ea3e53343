"""The wordings that show what a question asks for, as regular expressions; one per line, however long."""

from __future__ import annotations

import re
from typing import Literal

from rag_assistant.numerals import SMALL

Field = Literal[
    "authors", "link", "year", "venue", "title", "abstract", "papers_by", "records", "without", "similar", "code", "doi", "count", "citations", "affiliations",
    "funding",
]  # fmt: skip
"""The part of a paper's record that is asked for; ``papers_by`` asks for a person's papers, ``records`` for those whose
records fit, ``without`` for those not about something, ``similar`` for those like another, ``count`` for how many."""

PAPER_NOUN = r"(?:papers?|works?|studies|study|articles?|abstracts?|publications?|authors|of (?:them|these|those))"
_AUXILIARY = r"(?:had|have|has|do|does|did|can|could|will|would|may|might|must|should)\b"
"""Before "papers" it makes these the subject of the question: "What had recent works suggested?" asks for no list."""
LIST = re.compile(
    rf"""^\W*(?:
        (?:in\s+|by\s+)?(?:which|what)\s+(?!{_AUXILIARY})(?:of\s+(?:the|these|those)\s+)?(?:\w+\s+){{0,2}}?(?:papers|works|studies|articles|abstracts)\b
      | (?:which|what)\s+(?:paper|work|study)s?\b(?=.*\b(?:papers|all|any)\b)
      | (?:list|name|enumerate|find|show(?:\s+me)?|give(?:\s+me)?|collect)\s+(?:me\s+)?(?:all\s+|every\s+|each\s+)?(?:of\s+)?
        (?:the\s+)?(?:\w+\s+){{0,2}}?(?:papers?|works|studies|articles|abstracts)\b
      | (?:are|is)\s+there\s+(?:any\s+|other\s+|more\s+)*{PAPER_NOUN}\b
      | what\s+(?:do|does|did(?=\s+(?:each|the|these)\b))\s+(?:each\s+of\s+)?(?:the(?:se)?\s+)?(?:\w+\s+){{0,3}}?(?:papers|works|studies|articles|abstracts)\b
      | (?:in\s+)?how\s+many\s+(?:of\s+(?:the|these|those)\s+)?(?:\w+\s+)?(?:papers|works|studies|articles|abstracts)\b
      | how\s+many\s+of\s+(?:them|these|those)\b
      | (?:all|any)\s+(?:the\s+)?(?:papers|works|studies|articles|abstracts)\b
      | who\s+(?:else\s+)?(?:works|worked)\s+on\b
      | (?:papers|works|studies|articles|abstracts)\s+(?:about|on|that|which|using|with|dealing|related|mentioning|in)\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
GREETING = re.compile(
    r"\W*(?:(?:(?P<thanks>thanks|thank\s+you|thx)|hi|hello|hey|good\s+(?:morning|afternoon|evening|day)|ok|okay|great|cool|nice|bye|goodbye|yes|no|there|very|much|so|a|"
    r"lot|then|again|(?:what|who|how)\s+are\s+you|what\s+(?:can|should|could)\s+(?:you\s+do|i\s+(?:ask|do)(?:\s+you)?)|help(?:\s+me)?|please)\b\W*)+",
    re.IGNORECASE,
)
"""Says hello or thanks, or asks what one can ask; not about any paper."""
_ALL_OF = r"(?:(?:all|every|any|the|of|your|our|full|whole|complete|entire)\s+){0,5}"
_ALL_PAPERS = rf"(?:{_ALL_OF}(?:papers|works|articles|abstracts|studies|publications|titles|everything|all)|(?:every|each)\s+(?:single\s+)?(?:paper|work|article|abstract|study|publication|title))"
_COLLECTION = r"(?:here|(?:the|your|this|our)\s+(?:collection|corpus|index|database|library|list))"
_YOU_HAVE = r"(?:do\s+you\s+(?:have|hold|cover|contain|know(?:\s+(?:of|about))?)|have\s+you(?:\s+got)?)"
_THERE = rf"(?:(?:(?:that|which)\s+)?(?:you(?:['’]ve|\s+have)?(?:\s+(?:have|got|hold|cover|know(?:\s+(?:of|about))?))?|there\s+(?:are|is)|(?:are|is)\s+(?:there|available|indexed))|(?:(?:that|which)\s+)?(?:(?:are|is)\s+)?(?:in|of|from)\s+{_COLLECTION}|here|there|please)"
ALL_PAPERS = re.compile(
    rf"""^\W*(?:(?:please|can|could|would|will|you|i|want|like|to)\s+){{0,5}}(?:
        (?:list|show|give|name|enumerate|display|print|see|browse|tell)\s+(?:(?:me|us)\s+)?(?:(?:an?|the)\s+(?:(?:full|complete|whole)\s+)?(?:list|overview)\s+of\s+)?{_ALL_PAPERS}(?:\s+{_THERE}){{0,3}}
      | (?:what|which)\s+{_ALL_PAPERS}\s+(?:{_YOU_HAVE}(?:\s+in\s+{_COLLECTION})?|{_THERE})(?:\s+{_THERE}){{0,2}}
      | what\s+are\s+{_ALL_PAPERS}(?:\s+{_THERE}){{0,3}}
      | what\s+(?:do\s+you\s+have|have\s+you\s+got)(?:\s+{_THERE})?
      | what(?:['’]s|\s+is)\s+(?:available|here|(?:available\s+)?in\s+{_COLLECTION})
      | (?:do\s+you\s+have|are\s+there)\s+{_ALL_PAPERS}(?:\s+{_THERE})?
      | (?:all|everything|papers|(?:all|every|the)\s+{_ALL_PAPERS})(?:\s+{_THERE}){{0,3}}
    )\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
"""Asks for all papers, whatever they are about: "List all papers", "What papers do you have?", "show me everything"."""
NUMBER = rf"(?P<n>\d{{1,3}}|{'|'.join(SMALL[:13])})"
_GIVE = r"(?:(?:please\s+)?(?:list|name|show|give|find|tell)(?:\s+(?:me|us))?)"
_BOUND = r"(?:(?:only|just|at\s+most|up\s+to)\s+)?(?:the\s+)?(?:(?:first|top|best)\s+)?"
SO_MANY = rf"(?:{_GIVE}\s+|(?=only|just|at\s+most|up\s+to)){_BOUND}{NUMBER}(?:\W+(?:of\s+(?:them|these|those)|papers|ones|please))*\W*"
LIMITS = (
    re.compile(rf"(?<=[.?!]) (?P<said>{SO_MANY})$", re.IGNORECASE),
    re.compile(
        rf"^\W*(?:which|what|{_GIVE})\s+(?P<said>{_BOUND}{NUMBER})(?=\s+(?:\w+\s+)?(?:papers?|works?|studies|articles|abstracts)\b)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"^\W*(?:and\s+)?(?:{_GIVE}\s+)?(?P<said>(?:the\s+)?(?:next|another|other|further)\s+{NUMBER})(?=\W+(?:papers|ones|of|please)\b|\W*$)",
        re.IGNORECASE,
    ),
    re.compile(rf"^\W*(?:and\s+)?(?:{_GIVE}\s+)?(?P<said>{NUMBER}\s+)(?:more|others?)\b", re.IGNORECASE),
)
"""How many papers are to be told: behind a question, before a noun, and in a follow-up."""
COUNTING = re.compile(r"^\W*how\s+(?:many|often)\b", re.IGNORECASE)
YESNO = re.compile(
    r"^\W*(?:(?:and|but|so|then)\s+)?(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|may|might|must|isn't|aren't|"
    r"doesn't|don't|didn't|can't|won't|hasn't)\b",
    re.IGNORECASE,
)
COMPARISON = (
    re.compile(
        r"\b(?:differences?|distinction|trade-?offs?|comparison|similarit\w+)\s+between\s+(?P<a>.+?)\s+and\s+(?P<b>.+)",
        re.I,
    ),
    re.compile(r"\bcompar(?:e|es|ed|ing)\s+(?P<a>.+?)\s+(?:and|with|to|against|versus|vs\.?)\s+(?P<b>.+)", re.I),
    re.compile(
        r"\bhow\s+(?:does|do|did|is|are)\s+(?P<a>.+?)\s+(?:compares?|differs?|different)\s*(?:to|with|from|against)\s+(?P<b>.+)",
        re.I,
    ),
    re.compile(
        r"\bhow\s+(?:do|does|did|are)\s+(?P<a>.+?)\s+and\s+(?P<b>.+?)\s+(?:compare|differ|relate|different)\b", re.I
    ),
    re.compile(r"^(?P<a>.+?)\s+(?:vs\.?|versus)\s+(?P<b>.+)", re.I),
    re.compile(
        r"\bwhich\s+(?:\w+\s+){0,5}?(?:better|worse|faster|more|less|higher|lower|cheaper|larger|smaller)\b[^,:]*[,:]\s*(?P<a>.+?)\s+or\s+(?P<b>.+)",
        re.I,
    ),
)
BIBLIOGRAPHY: tuple[tuple[Field, re.Pattern[str]], ...] = (
    ("papers_by", re.compile(
        r"(?i:papers?|works?|articles?|studies|publications?)\s+(?:\w+\s+){0,3}?(?:written\s+|authored\s+|published\s+)?(?:by|from)\s+(?P<who>[A-ZÀ-Þ].+)")),
    ("papers_by", re.compile(
        r"[Ww](?:hich|hat)\s+(?:paper|work|article|publication|stud)\w*\s+(?:did|does|do|has|have|was|were)\s+(?P<who>[A-ZÀ-Þ][^?]{1,200}?)\s+(?:(?:co-?)?(?:write|wrote|author(?:ed)?|publish(?:ed)?|written|involved|contribute[ds]?)\b)")),
    ("papers_by", re.compile(r"[Ww](?:hich|hat)\s+(?:\w+\s+)?(?:has|did)\s+(?P<who>[A-ZÀ-Þ][^?]{1,200}?)\s+(?:write|written|publish(?:ed)?|author(?:ed)?)\b")),
    ("papers_by", re.compile(r"\b(?:author|someone|somebody|anyone|researcher)s?\s+(?:named|called|whose\s+(?:\w+\s+)?(?:sur|last\s+|first\s+|family\s+)?name\s+is)\s+(?P<who>[A-ZÀ-Þ].+)")),
    ("papers_by", re.compile(r"^\W*(?:[Ii]s|[Dd]id|[Ww]as)\s+(?P<who>[A-ZÀ-Þ][^?]{1,80}?)\s+(?:an?\s+author\b|(?:co-?)?author(?:ed)?\b|writ|publish)")),
    ("papers_by", re.compile(r"[Hh]ow\s+many\s+(?:papers|works|articles|publications)\s+(?:did|does|do|has|have)\s+(?P<who>[A-ZÀ-Þ][^?]{1,100}?)\s+(?:co-?)?(?:write|written|author(?:ed)?|publish(?:ed)?|have)\b")),
    ("code", re.compile(r"\bwhere\b.*\b(?:code|repository|repo)\b|\b(?:link|url|address|github)\b.*\b(?:code|repository|repo)\b|\b(?:code|repository|repo|github)\s+(?:link|url|address|page)\b", re.I)),
    ("count", re.compile(r"how\s+many\s+(?:papers|abstracts)\s+(?:are|do|does|is)\s+(?:there|you|it|the\s+(?:corpus|collection))?\b[^?]*\b(?:corpus|collection|index\w*|altogether|in\s+total|there|have|cover|know)\s*\??\W*$", re.I)),
    ("count", re.compile(r"how\s+many\s+authors\b(?P<per>)", re.I)),
    ("citations", re.compile(r"\bhow\s+(?:often|many\s+times)\b.*\bcited\b|\b(?:number\s+of|how\s+many)\s+citations\b|\bcitation\s+counts?\b", re.I)),
    ("funding", re.compile(r"\bwho\s+(?:has\s+)?(?:funded|financed|sponsored|paid\s+for)\b|\bwhat\s+(?:grants?|funding)\b", re.I)),
    ("affiliations", re.compile(r"\baffiliat(?:ions?|ed)\b|\b(?:which|what)\s+(?:universit(?:y|ies)|institut(?:e|ion)s?)\b", re.I)),
    ("authors", re.compile(r"\bwho\s+(?:are|is|were|was)\s+the\s+(?:(?:first|last|lead|senior|corresponding)\s+)?(?:authors?|writers?|researchers?|people)\b|\bwho\s+(?:co-?)?(?:wrote|authored|published|developed|proposed|introduced|invented|created)\b|\b(?:the\s+)?(?:(?:first|last|lead|senior)\s+)?authors?\s+of\b|\bwritten\s+by\s+whom\b|\bby\s+whom\b|\bwhose\s+(?:paper|work)\b|\blist\s+(?:all\s+)?(?:the\s+)?authors\b|\bauthors?\s*\?\s*$|\bwho\s+is\s+behind\b", re.I)),
    ("doi", re.compile(r"\bdoi\b", re.I)),
    ("link", re.compile(r"\b(?:link|url|web\s?page|openreview|pdf|proceedings\s+page|webpage|website)\b(?!\s+prediction)(?=.*\b(?:of|to|for|page|paper|about)\b|\W*$)|\bwhere\s+can\s+i\s+(?:read|find|get|download)\b", re.I)),
    ("year", re.compile(r"\b(?:what|which|in\s+(?:what|which))\s+year\b|\bwhen\s+(?:was|were|did)\b.*\b(?:publish\w*|appear\w*|come\s+out|presented|written)\b|\bhow\s+(?:old|recent)\s+is\b", re.I)),
    ("venue", re.compile(r"\b(?:what|which|at\s+(?:what|which))\s+(?:conference|venue|journal|proceedings)\b|\bwhere\s+(?:was|were|is|did)\b.*\b(?:publish\w*|appear\w*|presented)\b", re.I)),
    ("title", re.compile(r"\bwhat(?:'s|\s+is|\s+was)\s+the\s+(?:exact\s+|full\s+)?title\b|\btitle\s+of\s+(?:the|this|that)\b", re.I)),
)  # fmt: skip
ASKING = r"(?:which|what|how|who|why|when|where)"
SECOND_CLAUSE = re.compile(rf",? and (?=(?:(?:in|on|by|for|to|from|with|at|under) )?{ASKING}\b)", re.IGNORECASE)
"""Where a second question begins: "What is A, and in which B is C?"."""
PARALLEL = re.compile(
    r"^(?P<lead>.*?\b(?P<of>about|against|at|between|by|for|from|in|of|on|over|to|under|with)\s+)(?P<a>.+?),?\s+and\s+(?:also\s+)?(?P=of)\s+(?P<b>.+)$",
    re.IGNORECASE,
)
"""A question that asks the same about two things: "What is proved for A and for B?"."""
RELATION = re.compile(
    r"\b(?:papers|works|studies|articles|abstracts|publications)\s+(?:that\s+|which\s+)?"
    r"(?!(?:on|about|in|by|with|of|from|are|is|have|has|do|does|that|which|deal|use|using)\b)(?P<verb>[a-z]+)\b",
    re.IGNORECASE,
)
THE_PAPER_ON = re.compile(r"\bthe\s+(?:paper|work|study|article|abstract)\s+(?:on|about)\s", re.IGNORECASE)
ON_A_TOPIC = re.compile(r"\b(?:papers|works|studies|articles|abstracts) (?:on|about)\b", re.IGNORECASE)
WHAT_DO = re.compile(r"^\W*what (?:do|does|did)\b", re.IGNORECASE)
MULTI = re.compile(
    r"\b(?:papers|works|studies|approaches|methods|both|across|various|several|all\s+the|these\s+abstracts|recent\s+work)\b",
    re.IGNORECASE,
)
LEADING = re.compile(
    r"^\W*(?:and|but|so|ok|okay|then|well|hi|hello|hey|please|thanks|thank\s+you)\b[\s,.!:;-]*", re.IGNORECASE
)
