#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random graphs (compose.py) through tgc and through ONNX Runtime, whose optimiser is off: `make fuzz SECONDS=60 SEED=0`.
Needs numpy, onnx and onnxruntime, which nothing else of tgc does.

Every graph is compiled in several ways, chosen at random from WAYS, and run on the same inputs. An output is right if it is
near what ONNX Runtime gives: within 1e-3 of each element or 2e-5 of the largest, and what changes when inputs and
weights are off by a few 1e-7 of themselves, which allows for steps as of rounding and of comparisons. Ways that round
more are judged by `tgc verify`, by rules of its own.

A graph that fails is cut down as long as it fails in the same way: to the first inner value that is wrong, and to the nodes
behind it that matter, whose inputs are then what ONNX Runtime had there. It is left in FOLDER/SEED with a command that
shows the failure. Ends with a count of graphs and of failures; exit status 1 if there are any."""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import sys
import time

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
    from onnx import numpy_helper
except ImportError as e:
    sys.exit(f"fuzz: {e}; PYTHON=... names a Python with numpy, onnx and onnxruntime")

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compose  # noqa: E402
import onnxfile  # noqa: E402
from graph import FLOATS, packed  # noqa: E402

TGC = os.environ.get("TGC", str(pathlib.Path(__file__).resolve().parent.parent.parent / "build/tgc"))
LIMIT = 120  # seconds for one way
LLVM = ["--backend=llvm"]
WAYS = [  # weight, arguments: through LLVM, which takes a tenth of a C compiler's time
    (4, LLVM), (3, [*LLVM, "--kernel-groups=all"]), (2, [*LLVM, "--isa=x86-64-v3"]), (2, [*LLVM, "--isa=x86-64"]),
    (2, [*LLVM, "--threads=2"]), (1, [*LLVM, "--kernel-groups=all", "--threads=3"]), (2, [*LLVM, "--kernel-groups=none"]),
    (2, [*LLVM, "--precision=fp32-strict"]), (1, [*LLVM, "--denormals=keep"]), (1, [*LLVM, "--precision=bf16x6"]),
]
C_WAYS = [
    (3, []), (1, ["--kernel-groups=all"]), (1, ["--isa=x86-64-v3"]), (1, ["--isa=x86-64"]), (2, ["--isa=portable"]), (0.5, ["--isa=fat"]),
    (1, ["--threads=3"]), (1, ["--kernel-groups=all", "--threads=2"]), (1, ["--precision=fp32-strict"]), (1, ["--precision=bf16x6"]),
]
ROUNDING = [(1, [*LLVM, f"--{option}"]) for option in ("precision=bf16", "precision=fp16", "precision=bf16x3", "precision=fp32-fast",
                                                       "weights=bf16", "weights=fp16", "weights=int8", "weights=int4")]
UNKNOWN = "NOT_IMPLEMENTED", "Type Error", "No corresponding Numpy type", "MLDataType"  # the oracle has no kernel for these types: tgc's interpreter has to do
FOREIGN = [["--isa=neon"], ["--isa=armv8.6"], ["--isa=rv64gc"], ["--isa=neon", *LLVM]]


# ---- the oracle ----
def session(model):
    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.log_severity_level, o.intra_op_num_threads, o.inter_op_num_threads = 4, 1, 1
    return ort.InferenceSession(model, o, providers=["CPUExecutionProvider"])


def array(tensor):
    dt, shape, data = tensor
    return numpy_helper.to_array(onnx.TensorProto.FromString(onnxfile.tensor("", dt, shape, packed(dt, data))))


def oracle(g, data, model=None):
    """-> outputs"""
    values = session(model or g.onnx()).run(None, data)
    return dict(zip(g.outputs, values))


def shaken(g, data, rng):
    """outputs of the graph whose floats are all off by some parts in 10 million"""
    def shake(a):
        return a if a.dtype.kind != "f" else np.asarray(a * (1 + rng.choice([-1, 0, 1], a.shape) * 2.0 ** -(8 if a.dtype == np.float16 else 21)), a.dtype)
    m = onnx.load_from_string(g.onnx())
    sizes = {i for n in g.nodes if n.op == "Resize" for i in n.ins[1:]}
    for t in m.graph.initializer:
        if t.data_type in FLOATS and t.dims and t.name not in sizes:
            t.CopyFrom(numpy_helper.from_array(shake(numpy_helper.to_array(t)), t.name))
    return oracle(g, {k: shake(v) for k, v in data.items()}, m.SerializeToString())


def far(got, want, room=0.0):
    """where got is not near want"""
    if got.dtype != want.dtype or got.shape != want.shape:
        return np.ones(1, bool)
    if got.dtype.kind not in "fV" and got.dtype.name != "bfloat16":
        return np.abs(got.astype(np.float64) - want.astype(np.float64)) > room
    half = got.dtype.name in ("float16", "bfloat16")
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    largest = np.abs(want[finite]).max(initial=0)
    with np.errstate(invalid="ignore"):
        near = np.abs(got - want) <= (4e-2 if half else 1e-3) * np.abs(want) + (4e-2 if half else 2e-5) * largest + room + 1e-7
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    return ~np.where(finite, near, same)


# ---- one way ----
class Case:
    """a graph with inputs and what they give"""

    def __init__(self, g, data, want, folder):
        self.g, self.data, self.want, self.folder, self.rooms = g, data, want, folder, None

    def write(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / "model.onnx").write_bytes(self.g.onnx())
        for kind, values in (("input", [(k, self.data[k]) for k in self.g.inputs]), ("output", [(k, self.want.get(k)) for k in self.g.outputs])):
            for i, (name, a) in enumerate(values):
                if a is not None:
                    t = numpy_helper.from_array(np.ascontiguousarray(a).reshape(a.shape), name)
                    (self.folder / f"{kind}_{i}.pb").write_bytes(t.SerializeToString())

    def room(self):
        """what each output changes by when the inputs are shaken"""
        if self.rooms is None:
            rng = np.random.default_rng(0)
            self.rooms = {k: 0.0 for k in self.want}
            for _ in range(6):
                for k, a in shaken(self.g, self.data, rng).items():
                    with np.errstate(invalid="ignore"):
                        d = np.abs(a.astype(np.float64) - self.want[k].astype(np.float64))
                    self.rooms[k] = np.maximum(self.rooms[k], np.where(np.isfinite(d), d, np.inf))
        return self.rooms

    def command(self, way):
        if way in [w for _, w in ROUNDING] or not self.want:
            return [TGC, "verify", str(self.folder / "model.onnx"), "--no-tune-store", *way,
                    *(f"--input={k}={self.folder}/input_{i}.pb" for i, k in enumerate(self.g.inputs))]
        return [TGC, "run", str(self.folder / "model.onnx"), "--no-tune-store", "-q", *way, "-o", str(self.folder / "out"), "--format=pb",
                *(f"--input={k}={self.folder}/input_{i}.pb" for i, k in enumerate(self.g.inputs))]

    def fails(self, way):
        """-> kind of failure and what was seen, or None"""
        self.write()
        try:
            p = subprocess.run(self.command(way), stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return "hang", f"ran past {LIMIT} s"
        text = p.stdout + p.stderr
        if p.returncode < 0 or p.returncode == 70 or "Sanitizer" in text or "runtime error" in text:
            return "crash", text
        if p.returncode == 65:
            return "refused", text
        if p.returncode:
            return ("value" if p.returncode == 1 else "build"), text
        if "verify" in self.command(way)[1]:
            return None
        for i, k in enumerate(self.g.outputs):
            got = numpy_helper.to_array(onnx.load_tensor(str(self.folder / f"out/output_{i}.pb")))
            if got.shape == self.want[k].shape and not far(got, self.want[k]).any():
                continue
            wrong = far(got, self.want[k], 4 * self.room()[k])
            if wrong.any():
                if got.shape != self.want[k].shape:
                    return "value", f"{k}: {got.dtype}{got.shape} for {self.want[k].dtype}{self.want[k].shape}"
                at = tuple(int(x) for x in np.argwhere(wrong)[0])
                return "value", f"{k}: {wrong.sum()} of {wrong.size} wrong, first [{at}] {got[at]} for {self.want[k][at]}"
        return None


# ---- cutting ----
def shrink(case, way, kind, seconds=90):
    """-> a smaller case that fails in the same way"""
    end, every = time.monotonic() + seconds, case.g.cut(case.g.inputs, [o for n in case.g.nodes for o in n.outs if o])
    known = {**case.data, **(oracle(every, case.data) if case.want else {})}

    def attempt(inputs, outputs):
        nonlocal case
        if time.monotonic() > end:
            return False
        g = case.g.cut(inputs, outputs)
        if not all(i in known for i in g.inputs) or not g.nodes:
            return False
        smaller = Case(g, {i: known[i] for i in g.inputs}, {o: known[o] for o in outputs} if case.want else {}, case.folder)
        try:
            failed = smaller.fails(way)
        except Exception:  # of the oracle, on what it refuses
            return False
        if failed and failed[0] == kind:
            case = smaller
            return True
        return False

    for o in [o for n in case.g.nodes for o in n.outs if o]:  # the first value that is wrong
        if attempt(case.g.inputs, [o]):
            break
    else:
        for o in list(case.g.outputs):
            if len(case.g.outputs) > 1:
                attempt(case.g.inputs, [p for p in case.g.outputs if p != o])
    again = case.want  # inner values are known from the oracle only
    while again:
        again = False
        for n in reversed(case.g.nodes):
            if set(n.outs) & set(case.g.outputs):
                continue
            if attempt([*case.g.inputs, *n.outs], case.g.outputs):
                again = True
                break
    return case


# ---- one graph ----
def choose(ways, n, rng):
    return [list(w) for w in {tuple(rng.choices([w for _, w in ways], [k for k, _ in ways])[0]): 0 for _ in range(n)}]


def examine(seed, args):
    """-> ways run, word on the oracle, list of failures (way, kind, text, case)"""
    g = compose.compose(seed)
    rng = random.Random(seed)
    data = {k: array(v) for k, v in g.data.items()}
    word = "oracle"
    try:
        want = oracle(g, data)
        for k, a in want.items():
            if tuple(a.shape) != g.values[k].shape:
                return 0, f"composed wrongly: seed {seed}: {k} {g.values[k].shape} is {a.shape}", []
    except Exception as e:
        want, word = {}, f"oracle refuses: {' '.join(str(e).split())[:200]} (seed {seed})"
        if not any(why in str(e) for why in UNKNOWN):
            return 0, word, []
    ways = choose(WAYS, args.ways, rng)
    ways += [choose(more, 1, rng)[0] for more, p in ((C_WAYS, args.c), (ROUNDING, 0.3)) if rng.random() < p]
    if args.foreign and rng.random() < 0.1:
        ways.append(rng.choice(FOREIGN))
    if args.only:
        ways = [shlex.split(args.only)]
    failures = []
    for way in ways:
        case = Case(g, data, want, args.folder / str(seed))
        try:
            failed = case.fails(way)
        except Exception as e:
            failures.append((way, "fuzz", repr(e), case))
            break
        try:
            if failed and not args.whole:
                case = shrink(case, way, failed[0])
                failed = case.fails(way) or failed
        except Exception as e:  # the oracle refuses what was cut
            failed = (failed[0], f"{failed[1]}\n(whole: {str(e)[:200]})")
        if failed:
            failures.append((way, *failed, case))
        if failures:
            break
    if not failures:
        shutil.rmtree(args.folder / str(seed), ignore_errors=True)
    return len(ways), word, failures


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=0, help="of the first graph")
    p.add_argument("--graphs", type=int, default=1 << 60)
    p.add_argument("--ways", type=int, default=1, help="in which each graph is compiled")
    p.add_argument("--c", type=float, default=0.05, help="share of graphs that also go through the C compiler")
    p.add_argument("--only", help="one way, as arguments of tgc")
    p.add_argument("--foreign", action="store_true", help="now and then for machines that QEMU plays")
    p.add_argument("--whole", action="store_true", help="do not cut what fails")
    p.add_argument("--show", action="store_true", help="print the graphs")
    p.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/fuzz"))
    p.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS") or 1))
    args = p.parse_args()
    args.folder = args.folder.resolve()
    end, graphs, runs, bad, words, next_seed = time.monotonic() + args.seconds, 0, 0, 0, collections.Counter(), args.seed
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        pending = {}
        while pending or (time.monotonic() < end and next_seed < args.seed + args.graphs):
            while len(pending) < args.jobs and time.monotonic() < end and next_seed < args.seed + args.graphs:
                if args.show:
                    print(f"# {next_seed}\n{compose.compose(next_seed).text()}")
                pending[pool.submit(examine, next_seed, args)] = next_seed
                next_seed += 1
            done, _ = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
            for job in done:
                seed = pending.pop(job)
                n, word, failures = job.result()
                graphs, runs = graphs + 1, runs + n
                words[word.split(":")[0]] += 1
                if word.startswith("composed") or ("refuses" in word and not n):
                    print(f"# {word}", flush=True)
                for way, kind, text, case in failures:
                    bad += 1
                    print(f"FAIL seed {seed} {kind} {' '.join(way)}\n{case.g.text()}\n{text.rstrip()[:1500]}\n  {shlex.join(case.command(way))}\n", flush=True)
    print(f"{graphs} graphs, {runs} runs, {bad} failures; " + json.dumps(words))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
