# SPDX-License-Identifier: MIT
"""ONNX Runtime as a worker of tgc bench: MODEL THREADS [NAME TYPE:DIMS:FILE]... with the inputs as raw files.
Says "ready CREATE FIRST" (ms) when the session has run once; then answers each line "SECONDS RUNS" with "times" and
those of the runs, in ms. Weights that the model also lists as inputs are taken as constants, as tgc does."""


def clock():
    return time.perf_counter() * 1e3


def session_of(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    if not session.get_overridable_initializers():
        return session
    import onnx
    parsed = onnx.load(model)
    constants = {t.name for t in parsed.graph.initializer}
    inputs = [i for i in parsed.graph.input if i.name not in constants]
    del parsed.graph.input[:]
    parsed.graph.input.extend(inputs)
    parsed.ir_version = max(parsed.ir_version, 4)  # since when initializers need not be inputs
    return onnxruntime.InferenceSession(parsed.SerializeToString(), options, providers=["CPUExecutionProvider"])


def main():
    model, threads, *inputs = sys.argv[1:]
    onnxruntime.set_default_logger_severity(3)
    start = clock()
    session = session_of(model, int(threads))
    created = clock() - start
    bound = session.io_binding()  # the least that Python adds to a run
    for name, text in zip(inputs[::2], inputs[1::2], strict=True):
        kind, dims, file = text.split(":", 2)
        data = np.fromfile(file, TYPES[kind]).reshape([int(d) for d in dims.split(",") if d])
        bound.bind_cpu_input(name, data)
    for o in session.get_outputs():
        bound.bind_output(o.name)
    start = clock()
    session.run_with_iobinding(bound)
    print(f"ready {created:.6g} {clock() - start:.6g} v{onnxruntime.__version__}", flush=True)
    for line in sys.stdin:
        seconds, runs = (float(v) for v in line.split())
        warm = clock() + 2
        while True:
            session.run_with_iobinding(bound)
            if clock() >= warm:
                break
        end, times = clock() + seconds * 1e3, []
        while not times or (len(times) < runs and clock() < end):
            start = clock()
            session.run_with_iobinding(bound)
            times.append(clock() - start)
        print("times", *(f"{t:.6g}" for t in times), flush=True)


main()
