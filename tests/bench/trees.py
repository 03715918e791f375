#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures ensembles of trees against ONNX Runtime, with one thread each, and prints a table in Markdown. Arguments are words a
row's name must contain one of.

The ensembles are trained here on make_regression(10000, 20, random_state=0): LightGBM with 300 trees of 31 leaves, XGBoost with 200
trees of depth 6, and a forest of 100 unpruned trees of scikit-learn. Each has an f32 and an f64 form. Every run gets other rows: if one
row comes again and again, a processor predicts each branch of a walk. The column `one row again` shows that case.

Times are those of the thread that runs, so other processes disturb them little. The two competitors take turns, with a pause before
each. The time of ONNX Runtime is without what Python adds to a run, which is measured by a model that only returns its input.

Needs a Python with lightgbm, xgboost, scikit-learn, skl2onnx, onnxmltools and onnxruntime. TGC and CC are as in the tests; TREES
names a folder that keeps the models (bench/trees in the build folder), ROUNDS the turns of each (9)."""
import ctypes
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import numpy as np
import onnx
import onnxruntime

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BUILD", HERE.parents[1] / "build"))
TGC = os.environ.get("TGC", str(BUILD / "tgc"))
WORK = pathlib.Path(os.environ.get("TREES", BUILD / "bench/trees"))
ROUNDS, SECONDS, PAUSE, COLUMNS, ROWS = int(os.environ.get("ROUNDS", 9)), 0.05, 0.02, 20, (1, 16, 256)
TYPES = {"f32": np.float32, "f64": np.float64}


def trained(name):
    from sklearn.datasets import make_regression
    x, y = make_regression(10000, COLUMNS, random_state=0)
    x = x.astype(np.float32)
    if name == "lightgbm":
        import lightgbm
        return lightgbm.LGBMRegressor(n_estimators=300, num_leaves=31, random_state=0, n_jobs=1, verbose=-1).fit(x, y)
    if name == "xgboost":
        import xgboost
        return xgboost.XGBRegressor(n_estimators=200, max_depth=6, random_state=0, n_jobs=1).fit(x, y)
    from sklearn.ensemble import RandomForestRegressor
    return RandomForestRegressor(100, random_state=0, n_jobs=1).fit(x, y)


def exported(name, kind, model):
    if name == "forest":
        import skl2onnx
        from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType
        shape = {"f32": FloatTensorType, "f64": DoubleTensorType}[kind]([None, COLUMNS])
        m = skl2onnx.to_onnx(model, initial_types=[("x", shape)], target_opset={"": 15, "ai.onnx.ml": 3})
        m.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT  # the operator gives nothing else
        return m
    from onnxmltools import convert_lightgbm, convert_xgboost
    from onnxmltools.convert.common.data_types import DoubleTensorType, FloatTensorType
    shape = {"f32": FloatTensorType, "f64": DoubleTensorType}[kind]([None, COLUMNS])
    return (convert_lightgbm if name == "lightgbm" else convert_xgboost)(model, initial_types=[("x", shape)], target_opset=15)


def models(words):
    for name in ("lightgbm", "xgboost", "forest"):
        model = None
        for kind in TYPES:
            file = WORK / f"{name}-{kind}.onnx"
            if words and not any(w in file.stem for w in words):
                continue
            if not file.exists():
                model = model or trained(name)
                onnx.save(exported(name, kind, model), str(file))
            yield name, kind, file


def bundle(file, rows):
    """-> the loaded bundle, its bytes of code"""
    to = WORK / f"{file.stem}-{rows}"
    subprocess.run([TGC, "compile", file, f"--dim=x:0={rows}", "--isa=native", "--name=net", "-q", "-o", to], check=True)
    subprocess.run(["make", "-s", "-C", to], check=True)
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", f"-I{to}", "-o", to / "trees.so", HERE / "trees.c",
                    to / "build/libnet.a", "-lm", "-pthread"], check=True)
    lib = ctypes.CDLL(str(to / "trees.so"))
    lib.trees_run.restype = ctypes.c_double
    weights = np.fromfile(to / "net_weights.bin", np.uint8)
    aligned = np.empty(weights.size + 64, np.uint8)
    at = -aligned.ctypes.data % 64
    aligned[at:at + weights.size] = weights
    if lib.trees_open(ctypes.c_void_p(aligned.ctypes.data + at), ctypes.c_size_t(weights.size)):
        sys.exit(f"{to}: the bundle refuses its weights")
    lib.weights = aligned  # must outlive the bundle
    return lib


def run_bundle(lib, x, out, runs):
    spent = lib.trees_run(ctypes.c_void_p(x.ctypes.data), ctypes.c_size_t(x[0].nbytes), ctypes.c_long(len(x)),
                          ctypes.c_long(runs), ctypes.c_void_p(out.ctypes.data))
    if spent < 0:
        sys.exit("a run of a bundle fails")
    return spent / runs


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run_session(s, x, runs):
    """Each batch is bound before the clock starts."""
    bound, total = s.io_binding(), 0.0
    bound.bind_output(s.get_outputs()[0].name)
    for i in range(runs):
        bound.bind_cpu_input(s.get_inputs()[0].name, x[i % len(x)])
        start = time.thread_time()
        s.run_with_iobinding(bound)
        total += time.thread_time() - start
    return total / runs


def identity(kind):
    t = {"f32": onnx.TensorProto.FLOAT, "f64": onnx.TensorProto.DOUBLE}[kind]
    io = [onnx.helper.make_tensor_value_info(n, t, [1, COLUMNS]) for n in "xy"]
    g = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "identity", io[:1], io[1:])
    return onnx.helper.make_model(g, opset_imports=[onnx.helper.make_opsetid("", 15)], ir_version=9).SerializeToString()


def alternate(ours, theirs):
    """-> medians of the two, in seconds. Each runs as often as fills a turn."""
    runs = [max(1, int(SECONDS / max(f(1), 1e-7))) for f in (ours, theirs)]
    times = ([], [])
    for _ in range(ROUNDS):
        for k, f in enumerate((ours, theirs)):
            time.sleep(PAUSE)
            f(max(1, runs[k] // 10))
            times[k].append(f(runs[k]))
    return [statistics.median(t) for t in times]


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    cpu = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
    print(f"{cpu}, ONNX Runtime {onnxruntime.__version__}, microseconds a run\n")
    print("| model | type | rows | tgc | ONNX Runtime | ratio | one row again |\n|---|---|---|---|---|---|---|", flush=True)
    for name, kind, file in models(sys.argv[1:]):
        session = session_of(str(file))
        for rows in ROWS:
            lib = bundle(file, rows)
            x = np.random.default_rng(0).standard_normal((max(16384 // rows, 1), rows, COLUMNS)).astype(TYPES[kind])
            out = np.empty(rows, np.float32)
            for i in (0, len(x) - 1):
                run_bundle(lib, x[i:i + 1], out, 1)
                want = session.run(None, {session.get_inputs()[0].name: x[i]})[0].reshape(-1)
                np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-2)
            empty = session_of(identity(kind))
            bind = min(run_session(empty, x[:1, :1], 2000) for _ in range(5))
            cell = []
            for data in (x, x[:1]) if rows == 1 else (x,):
                ours, theirs = alternate(lambda n: run_bundle(lib, data, out, n), lambda n: run_session(session, data, n))
                cell.append((ours, theirs - bind))
            (ours, theirs), again = cell[0], f"{cell[1][1] / cell[1][0]:.2f}" if rows == 1 else ""
            print(f"| {name} | {kind} | {rows} | {ours * 1e6:.2f} | {theirs * 1e6:.2f} | {theirs / ours:.2f} | {again} |", flush=True)


main()
