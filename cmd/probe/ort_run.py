# SPDX-License-Identifier: MIT
"""ONNX Runtime as the reference of tgc verify: MODEL FOLDER RUNS NIN [NAME TYPE:DIMS]..., with raw inputs in the files
FOLDER/ort_in_RUN_J. Writes the outputs to FOLDER/ort_out_RUN_J and says "ready RUNS VERSION"."""


def main():
    model, folder, runs, nin, *words = sys.argv[1:]
    onnxruntime.set_default_logger_severity(3)
    values = list(zip(words[::2], words[1::2]))
    inputs, outputs = values[:int(nin)], values[int(nin):]
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    known = {o.name for o in session.get_outputs()}
    for name, _ in outputs:
        if name not in known:
            sys.exit(print(f"missing output '{name}': ONNX Runtime gives only the model's own outputs", flush=True))
    for run in range(int(runs)):
        feed = {}
        for j, (name, text) in enumerate(inputs):
            kind, dims = text.split(":")
            data = np.fromfile(f"{folder}/ort_in_{run}_{j}", TYPES[kind])
            feed[name] = data.reshape([int(d) for d in dims.split(",") if d])
        for j, got in enumerate(session.run([name for name, _ in outputs], feed)):
            want = TYPES[outputs[j][1].split(":")[0]]
            np.ascontiguousarray(np.asarray(got).astype(want, copy=False)).tofile(f"{folder}/ort_out_{run}_{j}")
    print(f"ready {runs} v{onnxruntime.__version__}", flush=True)
    sys.stdin.read()


main()
