# SPDX-License-Identifier: MIT
"""The programs in $BUILD/tests, which take many models through tgc in one process (tests/case), as Python sees them; and ONNX
Runtime, where this Python has it."""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from fixtures import BUILD, SANITIZED  # noqa: E402

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import numpy_helper
except ImportError as e:
    ort, MISSING = None, str(e)

CASES = pathlib.Path(os.environ.get("TGC_CASES") or BUILD / "tests/fuzz/cases")
COUNTS = "plans proved clamped interpreted large texts llvm objects c refused".split()  # as in case.h
# pairs of machines: the first is one that x86-64 hosts run
MACHINES = ["x86-64-v3,portable", "x86-64-v4,neon", "x86-64,cortex-m7", "x86-64-v3,rv64gcv", "x86-64-v4,armv8.6", "native,wasm32"]


DEVICES = ["opencl", "opencl-cpu", "gpu-any", "opencl-cached"]
# their programs in the interpreter of threads, which reports races (tests/device-programs/models.c)
PROGRAMS = ["programs for gpu-any", "programs for opencl", "programs for opencl-cached"]


class NoDevice(Exception):
    """there is no driver of OpenCL"""


class Outcome:
    """what the runner says of a model: failures, or why it is refused; counts"""

    def __init__(self):
        self.failed, self.refused, self.counts = [], "", [0] * len(COUNTS)


def interpret(job, isa):
    """a model as programs of threads: inputs are those of models.c"""
    o = Outcome()
    p = subprocess.run([BUILD / "tests/device-programs/models", f"--isa={isa}", job[0]], stdin=subprocess.DEVNULL, capture_output=True,
                       text=True, errors="replace")
    word, _, rest = (p.stdout.strip().splitlines() or [""])[-1].partition(" ")
    if word == "ok":
        o.counts[COUNTS.index("interpreted")] = 1
    if word == "refused":
        o.refused = "it is not taken"
    elif p.returncode or word != "ok":
        o.failed.append(f"status {p.returncode}: {rest.partition(' said: ')[2] or p.stderr[-300:]}")
    elif " unproved: " in rest:
        o.failed.append("blocks may meet: " + rest.partition(" unproved: ")[2])
    return o


def run(jobs, isa, seconds=10, memory=0, most=0, tunables=()):
    """jobs: (model, flags, prefix to save values at or "-", files of inputs or "-"), as cases.c explains; machines of OpenCL run on
    PoCL; tunables: NAME=VALUE each -> outcomes, in order"""
    if isa in PROGRAMS:
        return [interpret(job, isa.split()[-1]) for job in jobs]
    lines = "".join("\t".join(map(str, (model, flags or "-", prefix, *inputs))) + "\n" for model, flags, prefix, inputs in jobs)
    if SANITIZED:  # what is slower, and reserves memory for itself
        seconds, memory = 6 * seconds, 0
    args = [CASES, f"--isa={isa}", f"--seconds={seconds}", f"--memory={memory}", f"--most={most}", *(f"--tunable={t}" for t in tunables)]
    env = None
    if isa in DEVICES:  # PoCL's device "basic" has no threads, so its process can be copied
        args.append("--device")
        env = dict(os.environ, POCL_DEVICES="basic", POCL_CACHE_DIR=str(BUILD / "pocl"))
        (BUILD / "pocl").mkdir(parents=True, exist_ok=True)
    p = subprocess.run(args, input=lines, capture_output=True, text=True, errors="replace", env=env)
    outcomes = [Outcome() for _ in jobs]
    seen = set()
    for line in p.stdout.splitlines():
        if line.startswith("no device"):
            raise NoDevice(line)
        number, status, rest = line.split(" ", 2)
        _, counts, why = rest.split("|", 2)
        o = outcomes[int(number)]
        seen.add(int(number))
        o.counts = [a + int(b) for a, b in zip(o.counts, counts.split())] if counts.strip() else o.counts
        if status == "fail":
            o.failed.append(why.strip())
        elif status == "refused":
            o.refused = why.strip()
    for i in set(range(len(jobs))) - seen:
        outcomes[i].failed.append(f"the runner ended with {p.returncode} before it came to this: {p.stderr[-300:]}")
    return outcomes


# ---- ONNX Runtime ----
def session(model):
    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.log_severity_level, o.intra_op_num_threads, o.inter_op_num_threads = 4, 1, 1
    return ort.InferenceSession(model, o, providers=["CPUExecutionProvider"])


def saved(prefix, kind):
    """the values that the runner left, in order"""
    out = []
    while (path := pathlib.Path(f"{prefix}.{kind}_{len(out)}.pb")).exists():
        out.append(onnx.load_tensor(str(path)))
    return out


def wide(a):
    return a.astype(np.float64)


def shake(a, rng):
    if a.dtype.kind != "f" and a.dtype.name != "bfloat16":
        return a
    part = 2.0 ** -(7 if a.dtype.name == "bfloat16" else 9 if a.dtype == np.float16 else 21)
    return np.asarray(wide(a) * (1 + rng.choice([-1, 1], a.shape) * part)).astype(a.dtype)


def far(got, want, room):
    """where got is not near want, both finite"""
    if want.dtype.kind not in "fV" and want.dtype.name != "bfloat16":
        return wide(got) != wide(want) if not np.any(room) else np.abs(wide(got) - wide(want)) > room
    half = want.dtype.name in ("float16", "bfloat16")
    got, want = wide(got), wide(want)
    both = np.isfinite(got) & np.isfinite(want)
    largest = np.abs(want[both]).max(initial=0)
    with np.errstate(invalid="ignore"):
        return both & (np.abs(got - want) > (4e-2 if half else 1e-3) * np.abs(want) + (4e-2 if half else 2e-5) * largest + room + 1e-7)


def sway(model, feed, want):
    """what each element of the outputs changes by when inputs and constants are off by some parts of ten million; a normalisation
    divides by what is left of differences, of which no change of inputs tells: there it is part of the largest as well"""
    m = onnx.load(model)
    part = 2e-3 * any("Normalization" in n.op_type for n in m.graph.node)
    rng, room = np.random.default_rng(0), [np.full(np.shape(w), part * np.abs(wide(w)[np.isfinite(wide(w))]).max(initial=0)) for w in want]
    exact = {i for n in m.graph.node if n.op_type == "Resize" for i in n.input[1:]}
    constants = {t.name: numpy_helper.to_array(t) for t in m.graph.initializer if t.name not in exact}
    for _ in range(8):
        for t in m.graph.initializer:
            if t.name in constants and constants[t.name].dtype.kind in "fV":
                t.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(shake(constants[t.name], rng)).reshape(constants[t.name].shape), t.name))
        try:
            values = session(m.SerializeToString()).run(None, {n: shake(v, rng) for n, v in feed.items()})
        except Exception:  # it refuses what it took before
            return [np.full(np.shape(w), np.inf) for w in want]
        for i, (x, w) in enumerate(zip(values, want)):
            with np.errstate(invalid="ignore"):
                d = np.abs(wide(x) - wide(w)) if isinstance(x, np.ndarray) and np.shape(x) == np.shape(w) else np.inf
            room[i] = np.maximum(room[i], np.where(np.isfinite(d), d, np.inf))
    return room


# what ONNX Runtime computes otherwise than the standard's reference, with which tgc agrees
NOT_JUDGED = {
    "MeanVarianceNormalization": "its variance is the difference of two sums of squares, and NaN for one element",
}


def against_ort(model, prefix):
    """-> what is wrong with finite values, or "", and whether ONNX Runtime took the model"""
    if any(n.op_type in NOT_JUDGED for n in onnx.load(model).graph.node):
        return "", False
    inputs, outputs, exact = (saved(prefix, kind) for kind in ("input", "output", "exact"))
    if not outputs:
        return "", False
    try:
        s = session(model)
        data = {t.name: numpy_helper.to_array(t) for t in inputs}
        feed = {i.name: data[i.name] for i in s.get_inputs()}
        want = s.run(None, feed)
    except Exception:  # it refuses more than tgc does
        return "", False
    wrong, room = [], None
    for k, (t, w) in enumerate(zip(outputs, want)):
        if not isinstance(w, np.ndarray) or w.dtype.kind not in "fiubV":
            continue
        got = numpy_helper.to_array(t)
        if got.shape != w.shape or got.dtype != w.dtype:
            wrong.append(f"output {k}: {got.dtype}{list(got.shape)}, ONNX Runtime has {w.dtype}{list(w.shape)}")
            continue
        if not far(got, w, 0.0).any():
            continue
        if room is None:
            room = sway(model, feed, want)
        with np.errstate(invalid="ignore"):  # what rounding costs the interpreter it may cost others
            d = np.abs(wide(numpy_helper.to_array(exact[k])) - wide(got))
        bad = far(got, w, 4 * (room[k] + d[np.isfinite(d)].max(initial=0)))
        if bad.any():
            at = tuple(int(x) for x in np.argwhere(bad)[0])
            wrong.append(f"output {k}: {int(bad.sum())} of {bad.size} differ from ONNX Runtime, {list(at)} is {got[at]}, there {w[at]}")
    return "; ".join(wrong), True


def meets(folder):
    """ONNX Runtime gives what an official test expects of it"""
    data = {kind: [onnx.load_tensor(str(p)) for p in sorted(folder.glob(f"test_data_set_0/{kind}_*.pb"), key=lambda p: int(p.stem.split("_")[1]))]
            for kind in ("input", "output")}
    try:
        s = session(str(folder / "model.onnx"))
        values = s.run(None, {i.name: numpy_helper.to_array(t) for i, t in zip(s.get_inputs(), data["input"])})
        return all(got.shape == tuple(t.dims) and not far(got, numpy_helper.to_array(t), 0.0).any() for got, t in zip(values, data["output"]))
    except Exception:
        return False
