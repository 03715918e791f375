# SPDX-License-Identifier: MIT
"""ONNX Runtime as the reference of tgc verify: MODEL FOLDER RUNS NIN fused|unfused [NAME TYPE:DIMS]..., with raw inputs in the files
FOLDER/ort_in_RUN_J. Writes the outputs to FOLDER/ort_out_RUN_J and says "ready RUNS VERSION"."""


def typed(text):
    """-> NumPy's type and the dimensions of "f32:1,3", or of "string:1,3,64", where a string has 64 bytes"""
    kind, dims = text.split(":")
    dims = [int(d) for d in dims.split(",") if d]
    return (TYPES[kind], dims) if kind != "string" else (f"S{dims[-1]}", dims[:-1])


def texts(data):
    """strings end at their first zero"""
    return np.array([s.split(b"\0")[0].decode() for s in data.ravel()], object).reshape(data.shape)


def main():
    model, folder, runs, nin, form, *words = sys.argv[1:]
    onnxruntime.set_default_logger_severity(3)
    values = list(zip(words[::2], words[1::2]))
    inputs, outputs = values[:int(nin)], values[int(nin):]
    options = onnxruntime.SessionOptions()
    if form == "unfused":
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    known = {o.name for o in session.get_outputs()}
    for name, _ in outputs:
        if name not in known:
            sys.exit(print(f"missing output '{name}': ONNX Runtime gives only the model's own outputs", flush=True))
    for run in range(int(runs)):
        feed = {}
        for j, (name, text) in enumerate(inputs):
            kind, dims = typed(text)
            data = np.fromfile(f"{folder}/ort_in_{run}_{j}", kind)
            feed[name] = texts(data.reshape(dims)) if kind[0] == "S" else data.reshape(dims)
        for j, got in enumerate(session.run([name for name, _ in outputs], feed)):
            kind, _ = typed(outputs[j][1])
            if kind[0] == "S":
                got = np.array([s.encode() for s in np.asarray(got).ravel()], kind)
            np.ascontiguousarray(np.asarray(got).astype(kind, copy=False)).tofile(f"{folder}/ort_out_{run}_{j}")
    print(f"ready {runs} v{onnxruntime.__version__}", flush=True)
    sys.stdin.read()


main()
