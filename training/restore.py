"""Weights that come back as they were rounded.

Those in a reader.onnx, to go on training from where nothing else of a run was kept, are of seven bits a channel, which
moves a logit by about a tenth; those of a teacher of eight bits a row.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from training.model import Reader


def rounded(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights to be kept: matrices in eight bits with a scale a row, all else as it is."""
    kept = {}
    for name, weight in weights.items():
        if weight.ndim < 2:
            kept[name] = weight
            continue
        scale = weight.abs().amax(-1, keepdim=True).clamp(min=1e-12) / 127
        kept[name], kept[f"{name}.scale"] = (weight / scale).round().to(torch.int8), scale
    return kept


def unrounded(kept: dict[str, Tensor]) -> dict[str, Tensor]:
    """What ``rounded`` was given, or nearly."""
    scales = {name.removesuffix(".scale") for name in kept if name.endswith(".scale")}
    return {
        name: weight.float() * kept[f"{name}.scale"] if name in scales else weight
        for name, weight in kept.items()
        if not name.endswith(".scale")
    }


def restored(path: Path) -> dict[str, Tensor]:
    """The state of a :class:`Reader`.

    A matrix has lost its name in the graph; it is that of the bias that is added to its product.

    Raises:
        ValueError: The graph is not one of ``training.export``.
    """
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(path).graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    users: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    state = {name: torch.tensor(held.get(f"reader.{name}", np.nan)) for name in Reader().state_dict()}
    for name in ("words", "positions"):
        rows, scales = held[f"reader.{name}.rows"], held[f"reader.{name}.scales"]
        state[f"{name}.weight"] = torch.tensor(rows.astype(np.float32) * scales)
    for node in graph.node:
        if node.op_type not in ("MatMul", "MatMulInteger") or node.input[1] not in held:
            continue
        name = node.input[1].removesuffix("_quantized")
        matrix = held[node.input[1]].astype(np.float32)
        if node.op_type == "MatMulInteger":
            matrix = (matrix - held[f"{name}_zero_point"].astype(np.float32)) * held[f"{name}_scale"]
        bias = _bias_after(node, users, held)
        state[bias.removeprefix("reader.").removesuffix("bias") + "weight"] = torch.tensor(matrix.T.copy())
    kinds = [held[name] for name in held if name.startswith("onnx::Add")]  # an abstract's, then a question's
    state["types.weight"] = torch.tensor(np.stack(kinds[::-1]))
    missing = sorted(name for name, value in state.items() if value.isnan().any())
    if missing:
        raise ValueError(f"{path} lacks {', '.join(missing)}")
    return state


def _bias_after(node: Any, users: dict[str, list[Any]], held: dict[str, Any]) -> str:
    """The bias that is added to what a node makes, a few steps on."""
    made = list(node.output)
    for _ in range(8):
        following = [user for name in made for user in users.get(name, [])]
        for user in following:
            found = [name for name in user.input if name.endswith(".bias") and name in held]
            if user.op_type == "Add" and found:
                return str(found[0])
        made = [name for user in following for name in user.output]
    raise ValueError(f"no bias follows {node.name}")
