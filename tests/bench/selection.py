#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures operators that select (NonMaxSuppression, TopK, CumSum) against ONNX Runtime, with one thread each, and prints a table in
Markdown. Arguments are words of which a row's name must contain one.

Each row is a model of one node on seeded data. `tgc bench --vs-ort` lets the two take turns. Boxes are uniform in a picture of 640 by
640 pixels, with sides from 8 to 136; `clusters` places them around 40 centres, so that most overlap a better one. Scores are uniform to
the given power: of the power 1, most pass the threshold of 0.25; of the power 64, few do.

Needs a Python with numpy, onnx and onnxruntime. TGC is as in the tests; SECONDS is how long each of the two runs (2), ISA the machine
(native), SELECTION a folder that keeps the models (bench/selection in the build folder)."""
import json
import os
import pathlib
import platform
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BUILD", HERE.parents[1] / "build"))
TGC = os.environ.get("TGC", str(BUILD / "tgc"))
WORK = pathlib.Path(os.environ.get("SELECTION", BUILD / "bench/selection"))
SECONDS, ISA = os.environ.get("SECONDS", "2"), os.environ.get("ISA", "native")
KIND = {np.dtype(np.float32): T.FLOAT, np.dtype(np.int64): T.INT64, np.dtype(np.float64): T.DOUBLE}


def model(op, inputs, constants, outputs, **attributes):
    """One node. inputs: arrays that a run gets; constants: arrays in the model; outputs: (type, shape)"""
    taken = [helper.make_tensor_value_info(f"x{i}", KIND[x.dtype], x.shape) for i, x in enumerate(inputs)]
    given = [helper.make_tensor_value_info(f"y{i}", *o) for i, o in enumerate(outputs)]
    weights = [onnx.numpy_helper.from_array(c, f"c{i}") for i, c in enumerate(constants)]
    names = [v.name for v in taken] + [w.name for w in weights]
    node = helper.make_node(op, names, [v.name for v in given], **attributes)
    graph = helper.make_graph([node], op, taken, given, initializer=weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def suppression(classes, boxes, most, power, clusters=False):
    r = np.random.default_rng(0)
    centre = r.uniform(0, 640, (40, 2))[r.integers(0, 40, boxes)] + r.normal(0, 4, (boxes, 2)) if clusters else \
        r.uniform(0, 640, (boxes, 2))
    half = np.full((boxes, 2), 40.0) + r.normal(0, 2, (boxes, 2)) if clusters else r.uniform(4, 68, (boxes, 2))
    x = np.concatenate([centre - half, centre + half], 1)[None].astype(np.float32)
    scores = (r.uniform(0, 1, (1, classes, boxes)) ** power).astype(np.float32)
    limits = [np.array([most], np.int64), np.array([0.5], np.float32), np.array([0.25], np.float32)]
    return [x, scores], model("NonMaxSuppression", [x, scores], limits, [(T.INT64, [None, 3])]), min(most, boxes) * classes


def top(rows, extent, k):
    x = np.random.default_rng(0).standard_normal((rows, extent)).astype(np.float32)
    shape = [rows, k]
    return [x], model("TopK", [x], [np.array([k], np.int64)], [(T.FLOAT, shape), (T.INT64, shape)], axis=-1), 0


def cumulative(rows, extent, axis=1):
    x = np.random.default_rng(0).standard_normal((rows, extent)).astype(np.float32)
    return [x], model("CumSum", [x], [np.array([axis], np.int64)], [(T.FLOAT, [rows, extent])]), 0


ROWS = {
    "NMS 80 x 8400, 100 each": lambda: suppression(80, 8400, 100, 1),
    "NMS 80 x 8400, 100 each, few pass": lambda: suppression(80, 8400, 100, 64),
    "NMS 80 x 8400, 100 each, clusters": lambda: suppression(80, 8400, 100, 1, True),
    "NMS 80 x 8400, 20 each": lambda: suppression(80, 8400, 20, 1),
    "NMS 1 x 8400, 300": lambda: suppression(1, 8400, 300, 1),
    "NMS 20 x 1000, 50 each": lambda: suppression(20, 1000, 50, 1),
    "TopK 10 of 512": lambda: top(1, 512, 10),
    "TopK 5 of 1000, 64 rows": lambda: top(64, 1000, 5),
    "TopK 100 of 8400": lambda: top(1, 8400, 100),
    "TopK 300 of 8400, 4 rows": lambda: top(4, 8400, 300),
    "TopK 1000 of 100000": lambda: top(1, 100000, 1000),
    "TopK 1000 of 1000": lambda: top(1, 1000, 1000),
    "TopK 8400 of 8400": lambda: top(1, 8400, 8400),
    "CumSum of 1000": lambda: cumulative(1, 1000),
    "CumSum of 100000": lambda: cumulative(1, 100000),
    "CumSum of 80 x 8400": lambda: cumulative(80, 8400),
    "CumSum of 8400 x 80 along axis 0": lambda: cumulative(8400, 80, 0),
}


def measured(name, make):
    """-> the medians of tgc and of ONNX Runtime in microseconds, and the bytes of code"""
    inputs, m, capacity = make()
    to = WORK / "".join(c if c.isalnum() else "-" for c in name)
    to.mkdir(parents=True, exist_ok=True)
    onnx.save(m, to / "model.onnx")
    for i, x in enumerate(inputs):
        np.save(to / f"input_{i}.npy", x)
    command = [TGC, "bench", to / "model.onnx", "--vs-ort", "--json", "-q", f"--data={to}", f"--isa={ISA}", f"--seconds={SECONDS}"]
    done = subprocess.run(command + ([f"--capacity={capacity}"] if capacity else []), stdout=subprocess.PIPE, check=True)
    report = json.loads(done.stdout)
    return report


def main():
    cpu = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
    import onnxruntime
    print(f"{cpu}, ONNX Runtime {onnxruntime.__version__}, one thread, microseconds a run\n")
    print("| model | tgc | ONNX Runtime | ratio |\n|---|---|---|---|", flush=True)
    for name, make in ROWS.items():
        if sys.argv[1:] and not any(w in name for w in sys.argv[1:]):
            continue
        r = measured(name, make)
        if os.environ.get("RAW"):
            print(json.dumps(r, indent=1))
        ours, theirs = (x["latency"]["median_ms"] * 1e3 for x in (r, r["ort"]))
        print(f"| {name} | {ours:.1f} | {theirs:.1f} | {theirs / ours:.2f} |", flush=True)


if __name__ == "__main__":
    main()
