#!/usr/bin/env python3
"""ONNX Runtime as a peer of bench.py: ort.py MODEL [INPUT.pb ...] [NAME=N ...]. One thread, all graph optimisations.
Prints "ready" when the session exists; then, for each line "SECONDS" on standard input, runs that long and prints
the median of a run in milliseconds. Weights that the model also lists as inputs are taken as constants, as tgc does."""
import statistics
import sys
import time
import numpy as np
import onnx
import onnxruntime


def main():
    model, *rest = sys.argv[1:]
    dims = dict(a.split("=") for a in rest if "=" in a and not a.endswith(".pb"))
    files = [a for a in rest if a.endswith(".pb")]
    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    source = model
    if any(i.name in {t.name for t in (m := onnx.load(model)).graph.initializer} for i in m.graph.input):
        names = {t.name for t in m.graph.initializer}
        keep = [i for i in m.graph.input if i.name not in names]
        del m.graph.input[:]
        m.graph.input.extend(keep)
        m.ir_version = max(m.ir_version, 4)  # since when initializers need not be inputs
        source = m.SerializeToString()
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    random, feed = np.random.default_rng(1), {}
    for k, i in enumerate(session.get_inputs()):
        if files:
            feed[i.name] = onnx.numpy_helper.to_array(onnx.load_tensor(files[k]))
        else:
            shape = [d if isinstance(d, int) else int(dims.get(d, 1)) for d in i.shape]
            feed[i.name] = random.random(shape, np.float32)
    print("ready", flush=True)
    for line in sys.stdin:
        end, times = time.perf_counter() + float(line), []
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            session.run(None, feed)
            times.append(time.perf_counter() - start)
        print(f"{statistics.median(times) * 1e3:.6g}", flush=True)


main()
