"""The reader that ships: a small network in int8 ONNX, trained by ``training/``; see ``data/reader/README.md``."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_assistant.errors import ReaderError
from rag_assistant.reader.base import Abstract, Reading, Stance
from rag_assistant.reader.tokens import Window, question_ids, windows

if TYPE_CHECKING:
    import numpy as np
    import onnxruntime
    from numpy.typing import NDArray

MODEL_SHA256 = "a933518a56aba08c53226a811a97577afebe6636a87e884a42d3a3b152b50f05"
STANCE_SCALE, STANCE_SHIFT = 0.657, (-0.008, -0.208, 0.0)
"""What makes probabilities of the logits of a stance: printed by ``python -m training.stances``."""
_REINSTALL = "run: pip install --force-reinstall rag-assistant"
_KEPT = 32
_LAYERS, _HEADS, _HIDDEN = 6, 12, 384
_ENCODED = (*(f"{kind}_{k}" for kind in ("keys", "values") for k in range(_LAYERS)), "states", "words")
_VERDICT = ("whole", "sentences", "stance")


class _Seen(NamedTuple):
    """A window as questions see it."""

    window: Window
    arrays: tuple[NDArray[np.float16], ...]
    members: NDArray[np.float32]


class TrainedReader:
    """Reads an abstract once and keeps it encoded, for the next question about it. Thread-safe.

    The network is loaded at the first use in a process, and shared by all.

    Raises:
        ReaderError: At the first use, the weights are missing or aren't the ones expected.
    """

    name = "trained"
    fingerprint = f"reader:{MODEL_SHA256[:16]}"

    def read(self, question: str, abstracts: Sequence[Abstract]) -> list[Reading]:
        """One question against several abstracts, in their order; the best window of a long one counts."""
        asked = [question_ids(_valid(question))]
        return [self._reading(abstract, asked) for abstract in abstracts]

    def judge(self, statements: Sequence[str], abstract: Abstract) -> list[Stance]:
        """Several statements against one abstract, in their order; of a long one the window that says most counts.

        Each is read by itself: in eight bits those of one batch share their scales, and would change each other.
        """
        return [self._stance(question_ids(_valid(statement)), abstract) for statement in statements]

    def _stance(self, asked: list[int], abstract: Abstract) -> Stance:
        found = Stance(0.0, 0.0, 1.0, ())
        for seen in self._encoded(abstract):
            _, sentences, stances = self._run(seen, [asked])
            supported, contradicted, unsaid = _softmax(STANCE_SCALE * stances[0] + STANCE_SHIFT)
            if not found.sentences or unsaid < found.unsaid:
                each = _spread(seen, sentences[0], len(abstract.sentences))
                found = Stance(supported, contradicted, unsaid, each)
        return found

    def _reading(self, abstract: Abstract, asked: list[list[int]]) -> Reading:
        answers, each = 0.0, [0.0] * len(abstract.sentences)
        for seen in self._encoded(abstract):
            whole, sentences, _ = self._run(seen, asked)
            answers = max(answers, _sigmoid(whole[0]))
            for number, chance in enumerate(_spread(seen, sentences[0], len(each))):
                each[number] = max(each[number], chance)
        return Reading(answers, tuple(each))

    def _run(self, seen: _Seen, asked: list[list[int]]) -> tuple[Any, Any, Any]:
        import numpy as np

        length = max(len(ids) for ids in asked)
        ids = np.zeros((1, len(asked), length), np.int64)
        mask = np.zeros((1, len(asked), length), np.float32)
        for row, question in enumerate(asked):
            ids[0, row, : len(question)] = question
            mask[0, row, : len(question)] = 1
        feeds: dict[str, Any] = {f"{name}_in": array for name, array in zip(_ENCODED, seen.arrays, strict=True)}
        feeds |= {"ids": ids[0, :1, :2], "asked": ids, "asked_mask": mask, "members": seen.members}
        whole, sentences, stances = self._session.run(list(_VERDICT), feeds, _only_asked())
        return whole[0], sentences[0], stances[0]

    def _encoded(self, abstract: Abstract) -> tuple[_Seen, ...]:
        _, kept, lock = _shared(MODEL_SHA256)
        with lock:
            if abstract in kept:
                kept.move_to_end(abstract)
                return kept[abstract]
        sentences = [_valid(sentence) for sentence in abstract.sentences]
        seen = tuple(self._encode(window) for window in windows(_valid(abstract.title), sentences))
        with lock:
            kept[abstract] = seen
            if len(kept) > _KEPT:
                kept.popitem(last=False)
        return seen

    def _encode(self, window: Window) -> _Seen:
        import numpy as np

        ids = np.array([window.ids], np.int64)
        arrays = self._session.run(list(_ENCODED), {"ids": ids, **_nothing()}, _only_asked())
        members = np.zeros((1, len(window.spans), len(window.ids)), np.float32)
        for row, (start, end) in enumerate(window.spans):
            members[0, row, start:end] = 1
        return _Seen(window, tuple(arrays), members)

    @property
    def _session(self) -> onnxruntime.InferenceSession:
        return _shared(MODEL_SHA256)[0]


@cache
def _shared(
    sha256: str,
) -> tuple[onnxruntime.InferenceSession, OrderedDict[Abstract, tuple[_Seen, ...]], threading.Lock]:
    """The network, what it has encoded, and the lock of that: once a process, as weights of 27 MB should."""
    return _session(sha256), OrderedDict(), threading.Lock()


def _session(sha256: str) -> onnxruntime.InferenceSession:
    import onnxruntime

    path = Path(str(files("rag_assistant") / "data" / "reader" / "reader.onnx"))
    try:
        weights = path.read_bytes()
    except OSError as error:
        raise ReaderError(f"The reader's weights {path} can't be read: {error}.", hint=_REINSTALL) from error
    if hashlib.sha256(weights).hexdigest() != sha256:
        raise ReaderError(f"The reader's weights {path} aren't the ones expected.", hint=_REINSTALL)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False  # else what the longest abstract took is never given back
    return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])


def _only_asked() -> onnxruntime.RunOptions:
    """The graph has two halves; only the one that leads to what is fetched is computed."""
    import onnxruntime

    options = onnxruntime.RunOptions()
    options.only_execute_path_to_fetches = True
    return options


def _nothing() -> dict[str, Any]:
    """Stand-ins for the inputs of the half that isn't computed."""
    import numpy as np

    heads, state = (np.zeros(shape, np.float16) for shape in ((1, _HEADS, 1, _HIDDEN // _HEADS), (1, 1, _HIDDEN)))
    one = np.ones((1, 1, 1), np.float32)
    encoded = {f"{name}_in": state if name in ("states", "words") else heads for name in _ENCODED}
    return {**encoded, "asked": one.astype(np.int64), "asked_mask": one, "members": one}


def _spread(seen: _Seen, logits: Any, count: int) -> tuple[float, ...]:
    each = [0.0] * count
    for number, logit in zip(seen.window.numbers, logits, strict=True):
        each[number] = _sigmoid(logit)
    return tuple(each)


def _sigmoid(logit: Any) -> float:
    import math

    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, float(logit)))))


def _softmax(logits: Any) -> tuple[float, float, float]:
    import numpy as np

    weights = np.exp(logits - logits.max())
    one, two, three = (weights / weights.sum()).tolist()
    return one, two, three


def _valid(text: str) -> str:
    """Lone surrogates can't be encoded as UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
