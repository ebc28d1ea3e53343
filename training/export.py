"""Exports a trained reader to int8 ONNX.

    python -m training.export reader.safetensors reader.onnx

One graph holds both halves, so that they share their weights: ``ids`` leads to what an abstract is encoded to, and
that, fed back with questions, to the verdict. Weights are quantised per channel to seven bits: with eight, products
overflow on processors without VNNI, and results would differ from machine to machine.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from training.model import Encoded, Reader

ENCODED = ("keys", "values", "states", "words")
INPUTS = ("ids", *(f"{name}_in" for name in ENCODED), "asked", "asked_mask", "members")
OUTPUTS = (*ENCODED, "whole", "sentences", "stance")


class Both(nn.Module):
    """The two halves side by side; neither feeds the other inside the graph."""

    def __init__(self, reader: Reader):
        super().__init__()
        self.reader = reader

    def forward(
        self,
        ids: Tensor,
        keys: Tensor,
        values: Tensor,
        states: Tensor,
        words: Tensor,
        asked: Tensor,
        asked_mask: Tensor,
        members: Tensor,
    ) -> tuple[Tensor, ...]:
        encoded = self.reader.encode(ids, torch.ones_like(ids))
        seen = Encoded(keys, values, states, words)
        visible = torch.ones_like(asked[:, :, :1]).float() * torch.ones_like(states[:, None, :, 0])
        verdict = self.reader.read(seen, asked, asked_mask, visible, members)
        return (*encoded, *verdict)


def export(weights: Path, out: Path) -> None:
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    reader = Reader().eval()
    reader.load_state_dict(load_file(weights))
    ids = torch.tensor([[101, 2054, 102, 2003, 102, 2009, 102]])
    encoded = reader.encode(ids, torch.ones_like(ids))
    asked = torch.tensor([[[101, 2054, 102], [101, 102, 0]]])
    members = torch.tensor([[[0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 1, 1]]]).float()
    axes = {"ids": {1: "t"}, "asked": {1: "n", 2: "l"}, "asked_mask": {1: "n", 2: "l"}, "members": {1: "s", 2: "u"}}
    axes |= {"keys": {3: "t"}, "values": {3: "t"}, "states": {1: "t"}, "words": {1: "t"}}
    axes |= {"keys_in": {3: "u"}, "values_in": {3: "u"}, "states_in": {1: "u"}, "words_in": {1: "u"}}
    axes |= {"whole": {1: "n"}, "sentences": {1: "n", 2: "s"}, "stance": {1: "n"}}
    with TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.onnx"
        torch.onnx.export(
            Both(reader),
            (ids, *encoded, asked, (asked != 0).float(), members),
            str(plain),
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
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
        heads = [n.name for n in graph.node if n.op_type in ("MatMul", "Gemm") and n.input[1] not in encoder]
        quantize_dynamic(
            plain, out, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True, nodes_to_exclude=heads
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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    export(given.weights, given.out)


if __name__ == "__main__":
    main()
