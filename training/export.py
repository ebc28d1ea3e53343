"""Exports a trained reader to int8 ONNX.

    python -m training.export reader.safetensors reader.onnx --check tests/reader-fp32.json

One graph holds both halves, so that they share their weights: ``ids`` leads to what an abstract is encoded to, and
that, fed back with questions, to the verdict. Matrices are quantised per channel to seven bits: with eight, products
overflow on processors without VNNI, and results would differ from machine to machine. Word embeddings keep a scale a
word: with one for all of them, rare words drown. ``--check`` keeps what the weights say before they are quantised, of
the bundled abstracts, for a test.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from rag_assistant.loaders.load import load_papers
from training.data import Abstract, Item
from training.encoding import collate
from training.model import Encoded, Reader

MARKS = ("states", "words")


def names(layers: int) -> tuple[str, ...]:
    """What an abstract is encoded to: keys and values of each layer, and two that the heads match words in."""
    return (*(f"{kind}_{k}" for kind in ("keys", "values") for k in range(layers)), *MARKS)


def flat(encoded: Encoded) -> tuple[Tensor, ...]:
    return (*encoded.keys, *encoded.values, encoded.states, encoded.words)


class Rows(nn.Module):
    """An embedding in int8 with a scale a row."""

    def __init__(self, embedding: nn.Embedding):
        super().__init__()
        weight = embedding.weight.data
        scales = weight.abs().amax(1, keepdim=True).clamp(min=1e-8) / 127
        self.register_buffer("scales", scales)
        self.register_buffer("rows", (weight / scales).round().to(torch.int8))

    def forward(self, ids: Tensor) -> Tensor:
        return nn.functional.embedding(ids, self.rows).float() * nn.functional.embedding(ids, self.scales)


class Both(nn.Module):
    """The two halves side by side; neither feeds the other inside the graph. What is fed back is of half precision."""

    def __init__(self, reader: Reader):
        super().__init__()
        reader.words, reader.positions = Rows(reader.words), Rows(reader.positions)
        self.reader = reader

    def forward(self, ids: Tensor, *fed: Tensor) -> tuple[Tensor, ...]:
        encoded = self.reader.encode(ids, torch.ones_like(ids))
        layers = len(self.reader.layers)
        *given, asked, asked_mask, members = fed
        given = [tensor.float() for tensor in given]
        seen = Encoded(given[:layers], given[layers : 2 * layers], *given[2 * layers :])
        visible = torch.ones_like(asked[:, :, :1]).float() * torch.ones_like(seen.states[:, None, :, 0])
        verdict = self.reader.read(seen, asked, asked_mask, visible, members)
        return (*(tensor.half() for tensor in flat(encoded)), *verdict)


def export(weights: Path, out: Path) -> None:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    reader = Reader().eval()
    reader.load_state_dict(load_file(weights))
    ids = torch.tensor([[101, 2054, 102, 2003, 102, 2009, 102]])
    encoded = [tensor.half() for tensor in flat(reader.encode(ids, torch.ones_like(ids)))]
    asked = torch.tensor([[[101, 2054, 102], [101, 102, 0]]])
    members = torch.tensor([[[0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1, 1]]]).float()
    kept = names(len(reader.layers))
    axes = {"ids": {1: "t"}, "asked": {1: "n", 2: "l"}, "asked_mask": {1: "n", 2: "l"}, "members": {1: "s", 2: "u"}}
    axes |= {"whole": {1: "n"}, "sentences": {1: "n", 2: "s"}, "stance": {1: "n"}}
    for name in kept:
        place = 1 if name in MARKS else 2
        axes |= {name: {place: "t"}, f"{name}_in": {place: "u"}}
    with TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.onnx"
        torch.onnx.export(
            Both(reader),
            (ids, *encoded, asked, (asked != 0).float(), members),
            str(plain),
            input_names=["ids", *(f"{name}_in" for name in kept), "asked", "asked_mask", "members"],
            output_names=[*kept, "whole", "sentences", "stance"],
            dynamic_axes=axes,
            opset_version=17,
            dynamo=False,
        )
        model = onnx.load(plain)
        graph = model.graph
        _share_weights(graph)
        onnx.save(model, plain)
        # The heads stay as they are: small, and what is lost there shows in every logit.
        encoder = {tensor.name for tensor in graph.initializer if sorted(tensor.dims)[:1] == [384]}
        rest = [
            n.name for n in graph.node if n.op_type == "Gather" or (n.op_type == "MatMul" and n.input[1] not in encoder)
        ]
        quantize_dynamic(
            plain, out, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True, nodes_to_exclude=rest
        )
    model = onnx.load(out)
    used = {name for node in model.graph.node for name in node.input}
    for tensor in list(model.graph.initializer):  # of a weight with two uses the quantiser leaves the original behind
        if tensor.name not in used:
            model.graph.initializer.remove(tensor)
    onnx.save(model, out)


def _share_weights(graph: Any) -> None:
    """Has both halves use a weight by its one name: the exporter gives the second half a copy by way of Identity, and
    the quantiser passes over what isn't a weight itself."""
    weights = {tensor.name for tensor in graph.initializer}
    renamed = {}
    for node in list(graph.node):
        if node.op_type == "Identity" and node.input[0] in weights:
            renamed[node.output[0]] = node.input[0]
            graph.node.remove(node)
    for node in graph.node:
        for k, name in enumerate(node.input):
            node.input[k] = renamed.get(name, name)


ASKED = (
    "What problem does the paper address?",
    "is the code available",
    "The proposed method outperforms earlier ones.",
)


def check(weights: Path, out: Path) -> None:
    """Writes the logits of the trained weights for ``ASKED`` on every bundled abstract, before any quantisation."""
    reader = Reader().eval()
    reader.load_state_dict(load_file(weights))
    found = []
    for paper in load_papers("corpus").papers:
        sentences = tuple(paper.abstract.split(". "))
        items = [Item(text, "", frozenset()) for text in ASKED]
        batch = collate([(Abstract(paper.id, paper.title, sentences), items)])
        with torch.no_grad():
            seen = reader.encode(batch.ids, batch.mask)
            verdict = reader.read(seen, batch.asked, batch.asked_mask, batch.visible, batch.members)
        for k, text in enumerate(ASKED):
            row = {"paper": paper.id, "asked": text, "whole": verdict.whole[0, k].item()}
            each, stance = verdict.sentences[0, k].tolist(), verdict.stance[0, k].softmax(-1).tolist()
            found.append(row | {"sentences": each, "stance": stance})
    rounded = json.loads(json.dumps(found), parse_float=lambda number: round(float(number), 3))
    out.write_text("[\n" + ",\n".join(json.dumps(row) for row in rounded) + "\n]\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--check", type=Path)
    given = parser.parse_args()
    export(given.weights, given.out)
    if given.check:
        check(given.weights, given.check)


if __name__ == "__main__":
    main()
