#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The official tests of ONNX with a thing or two changed: an attribute, an extent, a type, a constant, an opset, an edge. Each
mutant is refused with exit code 65, or its programs give what the graph gives on two machines, through both backends, and its
finite values are ONNX Runtime's where this Python has that and it takes the mutant. No crash, no exit code 70, no more than
SECONDS of a CPU and MEMORY: `make fuzz MUTANTS=5000 SEED=0`.

A mutant that fails is undone change by change as long as it fails in the same way, and left in FOLDER. Ends with counts;
exit status 1 if any failed."""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import shutil
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import runner  # noqa: E402
from fixtures import onnx_tests  # noqa: E402
from many import kind_of  # noqa: E402
from onnxfile import number_at, varint  # noqa: E402

BATCH, SECONDS, MEMORY = 50, 10, 3000
MOST = 2e7  # operations that the interpreters may take for one mutant
ODD = [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 64, 65, 127, 1000, -1, -2, -3, -4, -7, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 63) - 1, -(1 << 63)]
NEAR = [-1, 1, -1, 1, -2, 2, 3, 7]
REALS = [0.0, -0.0, 0.5, 1.0, -1.0, 2.0, 1e-3, 1e30, -1e30, 1e-40, float("inf"), float("-inf"), float("nan")]
TYPES = [1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16]  # of TensorProto that tgc has
PARTS = "node", "simple", "pytorch-operator", "pytorch-converted"
# where tgc and ONNX Runtime are known to part, with the reason
KNOWN = {
    "Bernoulli": "random", "RandomNormal": "random", "RandomUniform": "random", "RandomNormalLike": "random", "RandomUniformLike": "random",
    "Multinomial": "random", "Dropout": "random when it trains", "MaxUnpool": "docs/operators.md: places lie in their windows",
}
# results that the standard leaves open where they do not fit an integer
OPEN = {"Cast", "CastLike", "Pow"}
# attributes that are 0 or 1: of another number the standard says nothing, tgc takes it for 1 and ONNX Runtime for 0
SWITCHES = {"keepdims", "ceil_mode", "count_include_pad", "exclusive", "reverse", "select_last_index", "storage_order", "largest", "sorted",
            "align_corners", "is_causal", "noop_with_empty_axes", "fmod", "transA", "transB", "linear_before_reset", "center_point_box",
            "interleaved", "antialias", "exclude_outside", "saturate"}


# ---- messages as lists of [number, wire type, value] ----
def parse(data):
    out, at, end = [], 0, len(data)

    def number():
        nonlocal at
        n, at = number_at(data, at)
        return n

    while at < end:
        key = number()
        if key & 7 == 0:
            out.append([key >> 3, 0, number()])
        else:
            size = {1: 8, 5: 4}.get(key & 7) or (number() if key & 7 == 2 else 0)
            out.append([key >> 3, key & 7, data[at:at + size]])
            at += size
    return out


def unparse(fields):
    out = bytearray()
    for key, wire, value in fields:
        out += varint(key << 3 | wire)
        if wire == 0:
            out += varint(value)
        elif wire == 2:
            value = unparse(value) if isinstance(value, list) else value
            out += varint(len(value)) + value
        else:
            out += value
    return bytes(out)


def opened(fields, number):
    """the messages of a repeated field, taken apart in place"""
    found = []
    for f in fields:
        if f[0] == number and f[1] == 2:
            if not isinstance(f[2], list):
                f[2] = parse(f[2])
            found.append(f[2])
    return found


def first(fields, number, default=None):
    return next((f[2] for f in fields if f[0] == number), default)


def put(fields, number, wire, value):
    for f in fields:
        if f[0] == number:
            f[1:] = [wire, value]
            return
    fields.append([number, wire, value])


def signed(n):
    return n - (1 << 64) if n >> 63 else n


def text(b):
    return bytes(b).decode(errors="replace") if b is not None else ""


# ---- a test as a model whose small inputs are constants now and then ----
class Test:
    def __init__(self, folder):
        self.folder = folder
        self.model = (folder / "model.onnx").read_bytes()
        self.data = sorted(folder.glob("test_data_set_0/input_*.pb"), key=lambda p: int(p.stem.split("_")[1]))


def graph_of(model):
    return opened(model, 7)[0]


def freeze(model, test, rng):
    """inputs that real models hold as constants become those: all but the first, or some -> files of the inputs that stay"""
    g = graph_of(model)
    initial = {text(first(t, 8)) for t in opened(g, 5)}
    inputs = [f for f in g if f[0] == 11]
    opened(g, 11)
    files = []
    chance = rng.choice((0.0, 0.7, 1.0, 1.0, 1.0, 1.0))
    for i, f in enumerate(inputs):
        name = text(first(f[2], 1))
        if name in initial:
            continue
        path = test.data[i] if i < len(test.data) else None
        if path and i and rng.random() < chance and path.stat().st_size < 100000:
            t = parse(path.read_bytes())
            if any(number in (1, 2) for number, _, _ in t):  # a tensor, not a sequence
                put(t, 8, 2, name.encode())
                g.append([5, 2, t])
                g.remove(f)
                continue
        files.append((name, path))
    return files


def loosen(model):
    """the shapes of outputs are for tgc and ONNX Runtime to find out: a change may change them"""
    for t in map(tensor_type, opened(graph_of(model), 12)):
        if t:
            t[:] = [f for f in t if f[0] != 2]


# ---- changes ----
def another(n, rng):
    n = signed(n)
    return (n + rng.choice(NEAR) if rng.random() < 0.6 else rng.choice(ODD)) & ((1 << 64) - 1)


def change_attribute(model, rng):
    found = [(n, a) for n in opened(graph_of(model), 1) for a in opened(n, 5)]
    if not found:
        return change_type(model, rng)
    node_, a = rng.choice(found)
    kind = first(a, 20)
    if rng.random() < 0.1:
        node_[:] = [f for f in node_ if f[2] is not a]
        return "attribute dropped"
    for f in rng.sample(a, len(a)):
        if f[0] == 3 or (f[0] == 8 and f[1] == 0):
            f[2] = another(f[2], rng)
            return f"attribute {text(first(a, 1))}"
        if f[0] == 8 and f[1] == 2 and isinstance(f[2], (bytes, bytearray)) and kind == 7:  # packed
            ints, at = [], parse_packed(f[2])
            ints = at
            if ints:
                ints[rng.randrange(len(ints))] = another(rng.choice(ints), rng)
            f[2] = b"".join(varint(i) for i in ints)
            return f"attribute {text(first(a, 1))}"
        if f[0] in (2, 7) and f[1] == 5:
            f[2] = struct.pack("<f", rng.choice(REALS))
            return f"attribute {text(first(a, 1))}"
        if f[0] == 4:
            f[2] = rng.choice((b"", b"NOTSET", b"SAME_UPPER", b"SAME_LOWER", b"VALID", b"constant", b"edge", b"reflect", b"wrap", b"linear", b"cubic",
                               b"nearest", b"add", b"mul", b"min", b"max", b"none", b"sum", b"mean", b"tanh", b"CRD", b"DCR", b"asymmetric", b"half_pixel",
                               b"align_corners", b"bidirectional", b"reverse", b"forward", b"floor", b"ceil"))
            return f"attribute {text(first(a, 1))}"
    ints = [f for f in a if f[0] == 8]
    if ints and rng.random() < 0.5:
        a.remove(rng.choice(ints))
    else:
        a.append([8, 0, rng.choice(ODD) & ((1 << 64) - 1)])
    return f"attribute {text(first(a, 1))}"


def parse_packed(data):
    out, at = [], 0
    while at < len(data):
        n, at = number_at(data, at)
        out.append(n)
    return out


def tensor_type(value):
    for t in opened(value, 2):
        for tensor in opened(t, 1):
            return tensor
    return None


def change_dims(model, rng):
    g = graph_of(model)
    tensors = [t for t in map(tensor_type, opened(g, 11)) if t]
    dims = [d for t in tensors for s in opened(t, 2) for d in opened(s, 1)]
    if dims and rng.random() < 0.8:
        d = rng.choice(dims)
        old = first(d, 1, 1)
        d[:] = [[1, 0, another(old, rng) if rng.random() < 0.8 else rng.choice((0, 1, 2, 3, 5, 17, 33)) ]]
        return "extent"
    shapes = [s for t in tensors for s in opened(t, 2)]
    if not shapes:
        return change_constant(model, rng)
    s = rng.choice(shapes)
    if s and rng.random() < 0.5:
        s.pop(rng.randrange(len(s)))
    else:
        s.insert(rng.randint(0, len(s)), [1, 2, [[1, 0, rng.choice((1, 1, 2, 3))]]])
    return "rank"


def change_type(model, rng):
    g = graph_of(model)
    tensors = [t for field in (11, 12) for t in map(tensor_type, opened(g, field)) if t]
    if not tensors:
        return change_opset(model, rng)
    t = rng.choice(tensors)
    new = rng.choice(TYPES)
    old = first(t, 1)
    for x in tensors if rng.random() < 0.7 else [t]:  # all of one type, as templates are
        if first(x, 1) == old:
            put(x, 1, 0, new)
    return "type"


def change_constant(model, rng):
    g = graph_of(model)
    tensors = opened(g, 5) + [t for n in opened(g, 1) for a in opened(n, 5) for t in opened(a, 5)]
    if not tensors:
        return change_attribute(model, rng) if any(first(n, 5) for n in opened(g, 1)) else change_type(model, rng)
    t = rng.choice(tensors)
    kind = first(t, 2, 1)
    sizes = {1: "<f", 7: "<q", 6: "<i", 2: "B", 3: "b", 9: "B", 11: "<d"}
    raw = first(t, 9)
    if rng.random() < 0.25:  # its shape
        dims = [f for f in t if f[0] == 1 and f[1] == 0]
        if dims and rng.random() < 0.5:
            rng.choice(dims)[2] = rng.choice((0, 1, 2, 3, 4))
        else:
            t.insert(0, [1, 0, 1])
        return "shape of a constant"
    if raw and kind in sizes:
        size = struct.calcsize(sizes[kind])
        at = rng.randrange(max(1, len(raw) // size)) * size
        if len(raw) >= size:
            old = struct.unpack_from(sizes[kind], raw, at)[0]
            if kind in (1, 11):
                new = rng.choice(REALS[:7])  # greater coordinates overflow in ONNX Runtime
            else:
                bits = 8 * size
                new = old + rng.choice(NEAR) if rng.random() < 0.6 else rng.choice(ODD)
                new &= (1 << bits) - 1
                if sizes[kind][-1] in "qib" and new >> bits - 1:
                    new -= 1 << bits
            raw = bytearray(raw)
            struct.pack_into(sizes[kind], raw, at, new)
            put(t, 9, 2, bytes(raw))
            return "constant"
    for f in t:
        if f[0] in (5, 7) and f[1] == 0:
            f[2] = another(f[2], rng)
            return "constant"
        if f[0] in (5, 7) and f[1] == 2 and not isinstance(f[2], list) and f[2]:
            ints = parse_packed(f[2])
            ints[rng.randrange(len(ints))] = another(rng.choice(ints), rng)
            f[2] = b"".join(varint(i) for i in ints)
            return "constant"
    return "nothing"


def change_opset(model, rng):
    for o in opened(model, 8):
        old = first(o, 2, 1)
        put(o, 2, 0, max(1, old + rng.choice((-1, 1, -2, 2, -4, 4, -8))) if rng.random() < 0.8 else rng.choice((1, 6, 7, 9, 10, 11, 13, 18, 21, 23, 24)))
        return "opset"
    return "nothing"


def change_edge(model, rng):
    g = graph_of(model)
    nodes = opened(g, 1)
    if not nodes:
        return "nothing"
    n = rng.choice(nodes)
    ins = [f for f in n if f[0] == 1]
    names = [first(v, 1) for field in (11,) for v in opened(g, field)] + [first(t, 8) for t in opened(g, 5)] + [b""]
    names = [x for x in names if x is not None]
    kind = rng.randrange(3)
    if kind == 0 and ins:
        n.remove(ins[-1])
    elif kind == 1 and ins:
        rng.choice(ins)[2] = rng.choice(names)
    else:
        n.insert(len(ins), [1, 2, rng.choice(names)])
    return "edge"


CHANGES = [change_attribute] * 5 + [change_dims] * 4 + [change_constant] * 4 + [change_type] * 2 + [change_opset] * 1 + [change_edge] * 1


def mutant(tests, seed, leave=()):
    """-> test, bytes of the model, files of inputs in order, the changes; without those of `leave`"""
    rng = random.Random(seed)
    test = rng.choice(tests)
    model = parse(test.model)
    files = freeze(model, test, rng)
    before = shapes(model)
    if rng.random() < 0.9:
        loosen(model)
    done = []
    for i in range(rng.choice((1, 1, 1, 2, 2, 3))):
        change, own = rng.choice(CHANGES), rng.randrange(1 << 30)
        if i not in leave:
            done.append(change(model, random.Random(own)))
    after = shapes(model)
    data = [path if path and before.get(name) == after.get(name) else None for name, path in files]
    return test, unparse(model), data, done


def shapes(model):
    return {text(first(v, 1)): unparse(parse(unparse(tensor_type(v) or []))) for v in opened(graph_of(model), 11)}


def comparable(data):
    """ONNX Runtime and tgc mean the same by it, as far as one can see"""
    g = graph_of(parse(data))
    whole = {first(tensor_type(v) or [], 1, 0) for v in opened(g, 12)} - {1, 10, 11, 16}
    for n in opened(g, 1):
        op = text(first(n, 4))
        if op in KNOWN or (op in OPEN and whole):
            return False
        for a in opened(n, 5):
            name = text(first(a, 1))
            if name in SWITCHES and first(a, 3, 0) not in (0, 1):
                return False
            if name == "auto_pad" and op == "ConvTranspose":  # extents: input times stride, says the standard
                return False
    return True


# ---- the work ----
def is_tensor(path):
    try:
        return path is not None and any(number == 2 and wire == 0 for number, wire, _ in parse(path.read_bytes()))
    except Exception:
        return False


def prepare(tests, seed, folder, leave=()):
    test, data, inputs, done = mutant(tests, seed, leave)
    model = folder / f"{seed}.onnx"
    model.write_bytes(data)
    flags = "j" + "l" * (seed % 3 == 0)
    return (model, flags, folder / str(seed), [p if is_tensor(p) else "-" for p in inputs]), test, done


def verdict(job, o):
    """-> what is wrong, whether ONNX Runtime took it"""
    if o.failed:
        return o.failed[0], False
    if o.refused:
        return ("" if o.refused[:4] in ("65: ", "69: ") and len(o.refused) > 10 else f"refused with {o.refused}"), False
    if not runner.ort or not comparable(job[0].read_bytes()):
        return "", False
    return runner.against_ort(str(job[0]), job[2])


def examine(batch, args, tests):
    folder = args.folder / f"mutants-{batch}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    seeds = range(batch * BATCH + args.seed, min((batch + 1) * BATCH, args.mutants) + args.seed)
    isa = runner.MACHINES[batch % len(runner.MACHINES)]
    jobs = [prepare(tests, seed, folder) for seed in seeds]
    counts, failures = collections.Counter(mutants=len(seeds)), []
    for seed, (job, test, done), o in zip(seeds, jobs, runner.run([j for j, _, _ in jobs], isa, SECONDS, MEMORY, MOST)):
        counts.update(dict(zip(runner.COUNTS, o.counts)))
        why, taken = verdict(job, o)
        counts["ONNX Runtime"] += taken
        if not why or ("ONNX Runtime" in why and not runner.meets(test.folder)):
            continue
        leave = []
        for i in range(len(done)):
            less = prepare(tests, seed, folder, (*leave, i))[0]
            again = verdict(less, runner.run([less], isa, SECONDS, MEMORY, MOST)[0])[0]
            if kind_of(again) == kind_of(why):
                leave.append(i)
                why = again
        job, _, done = prepare(tests, seed, folder, leave)
        kept = args.folder / f"mutant-{seed}.onnx"
        shutil.copyfile(job[0], kept)
        failures.append((seed, isa, test.folder.name, done, why, str(kept)))
    shutil.rmtree(folder, ignore_errors=True)
    return counts, failures


def official():
    """tests of operators, and why there are none"""
    tests = []
    for part in PARTS:
        root, absent = onnx_tests(part)
        if absent:
            return [], absent
        tests += [Test(f) for f in sorted(root.iterdir()) if (f / "model.onnx").is_file() and (f / "model.onnx").stat().st_size < 100000]
    return tests, ""


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--mutants", type=int, default=500)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/fuzz"))
    p.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS") or os.cpu_count()))
    args = p.parse_args()
    args.folder = args.folder.resolve()
    args.folder.mkdir(parents=True, exist_ok=True)
    tests, absent = official()
    if absent:
        print(f"0 mutants: {absent}")
        return 0
    total, bad, start = collections.Counter(), 0, time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        batches = range((args.mutants + BATCH - 1) // BATCH)
        for job in concurrent.futures.as_completed([pool.submit(examine, b, args, tests) for b in batches]):
            counts, failures = job.result()
            total += counts
            for seed, isa, name, done, why, path in failures:
                bad += 1
                print(f"FAIL mutant {seed} of {name} on {isa} ({', '.join(done)}): {why}\n  {path}", flush=True)
    words = ", ".join(f"{n} {k}" for k, n in total.items() if k != "mutants")
    print(f"{total['mutants']} mutants of {len(tests)} tests in {time.monotonic() - start:.0f} s, {bad} failures: {words}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
