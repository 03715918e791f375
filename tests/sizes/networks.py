#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Networks of the benchmarks with an open dimension and random weights, as ONNX files: networks.py NAME FILE [layers]. Needs numpy
and onnx."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import make_models as bench  # noqa: E402

NETWORKS = {"bert_base": lambda n, layers=12: bench.bert_base(n, "length", layers=layers),
            "gpt2_decode": lambda n, layers=12: bench.gpt2_decode(n, "past", layers=layers),
            "bilstm": lambda n: bench.ARCHITECTURES["bilstm"](n, "length")}


def main(name, path, *layers):
    n = bench.Net(name)
    NETWORKS[name](n, *map(int, layers))
    n.save(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
