"""Averages the weights of two runs of which one went on from the other: ``python -m training.average A B OUT``.

Weights between the two often read better than either (WiSE-FT, Wortsman et al., CVPR 2022; model soups, ICML 2022):
most of what the later run has learned is kept, and less of what it has forgotten is lost.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from safetensors.torch import load_file, save_file


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--share", type=float, default=0.5, help="of the second")
    given = parser.parse_args()
    first, second = load_file(given.first), load_file(given.second)
    save_file({name: (1 - given.share) * first[name] + given.share * second[name] for name in first}, given.out)


if __name__ == "__main__":
    main()
