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
    source, parsed = model, onnx.load(model, load_external_data=False)
    constants = {t.name for t in parsed.graph.initializer}
    inputs = [i for i in parsed.graph.input if i.name not in constants]
    if len(inputs) < len(parsed.graph.input):
        del parsed.graph.input[:]
        parsed.graph.input.extend(inputs)
        parsed.ir_version = max(parsed.ir_version, 4)  # since when initializers need not be inputs
        source = parsed.SerializeToString()
    session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    random, bound = np.random.default_rng(1), session.io_binding()  # bound: the least that Python adds to a run
    for k, i in enumerate(session.get_inputs()):
        if files:
            data = onnx.numpy_helper.to_array(onnx.load_tensor(files[k]))
        else:
            shape = [d if isinstance(d, int) else int(dims.get(d, 1)) for d in i.shape]
            data = random.random(shape, np.float32)
        bound.bind_cpu_input(i.name, np.ascontiguousarray(data))
    for o in session.get_outputs():
        bound.bind_output(o.name)
    print("ready", flush=True)
    for line in sys.stdin:
        end, times = time.perf_counter() + float(line), []
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            session.run_with_iobinding(bound)
            times.append(time.perf_counter() - start)
        print(f"{statistics.median(times) * 1e3:.6g}", flush=True)


main()
