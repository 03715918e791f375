# SPDX-License-Identifier: MIT
"""What the tests of bad inputs share: ONNX files written byte by byte, and the contract that a row of the list is held to.

A row's required answer is a number in the list. 2 (invalid model), 3 (unsupported) and 4 (limit exceeded) are exit status
65 here. 5 (input or output error) is 66 for input that cannot be read and 73 for output that cannot be written. 6 (a bug
in tgc, 70) and death by a signal are never right. A refusal prints one line that names the file, takes at most a second
and 256 MB, and leaves no file behind."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import fixtures  # noqa: E402
from onnxfile import field, value, varint  # noqa: E402

BAD, UNREADABLE = 65, 66
LOAD = fixtures.BUILD / "tests/bad/load"
PROGRAM = [fixtures.TGC, "compile", "-o", "made", "--isa=portable"]
SLOW = 20 if os.environ.get("ASAN_OPTIONS") or fixtures.SANITIZED else 1  # sanitizers cost time, and memory beyond counting
FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, F16, DOUBLE, UINT32, UINT64 = range(1, 14)
tests = []


# ---- writing models ----
def tensor(dims=(2, 2), dtype=FLOAT, name="w", raw=None, floats=None, ints=None, longs=None, doubles=None, ulongs=None,
           strings=(), external=None, more=b""):
    def packed(number, values, code):
        if values is None:
            return b""
        body = b"".join(varint(v) for v in values) if code == "v" else struct.pack(f"<{len(values)}{code}", *values)
        return field(number, body)
    out = b"".join(field(1, d) for d in dims) + field(2, dtype) + field(8, name)
    out += packed(4, floats, "f") + packed(5, ints, "v") + packed(7, longs, "v") + packed(10, doubles, "d")
    out += packed(11, ulongs, "v") + b"".join(field(6, s) for s in strings)
    if raw is not None:
        out += field(9, raw)
    if external is not None:
        out += b"".join(field(13, field(1, k) + field(2, v)) for k, v in external) + field(14, 1)
    return out + more


def attr(name, number, payload, kind):
    return field(5, field(1, name) + (field(number, payload) if payload is not None else b"") + field(20, kind))


def node(op, ins=(), outs=(), attrs=b"", domain="", name=""):
    return (b"".join(field(1, i) for i in ins) + b"".join(field(2, o) for o in outs) + field(3, name) + field(4, op) + attrs +
            (field(7, domain) if domain else b""))


def graph(nodes, inits=(), ins=None, outs=None, name="g", more=b""):
    ins = [value("x", FLOAT, [2, 2])] if ins is None else ins
    outs = [value("y", FLOAT, [2, 2])] if outs is None else outs
    return (b"".join(field(1, n) for n in nodes) + field(2, name) + b"".join(field(5, t) for t in inits) +
            b"".join(field(11, v) for v in ins) + b"".join(field(12, v) for v in outs) + more)


def opset(version=17, domain=""):
    return field(8, field(1, domain) + field(2, version))


def model(g, ir=8, imports=None, more=b""):
    return field(1, ir) + (opset() if imports is None else imports) + (field(7, g) if g is not None else b"") + more


def function(name, nodes, ins=("a",), outs=("b",), domain="f"):
    imports = b"".join(field(9, field(1, d) + field(2, 17 if not d else 1)) for d in ("", "f"))
    return field(25, field(1, name) + b"".join(field(4, i) for i in ins) + b"".join(field(5, o) for o in outs) +
                 b"".join(field(7, n) for n in nodes) + imports + field(10, domain))


def calls(functions, first="f0"):
    return model(graph([node(first, ["x"], ["y"], domain="f")]), imports=opset() + opset(1, "f"), more=b"".join(functions))


def weighted(t, dtype=FLOAT, dims=(2, 2)):
    """a model whose output is its weight"""
    return model(graph([node("Identity", ["w"], ["y"])], [t], ins=[], outs=[value("y", dtype, dims)]))


def operator(domain, name, opsets, given, types, attrs, dims):
    """a model of one operator with that many inputs of these dims, and small values for the attributes it must have"""
    dtypes, ins, inits, rank = [], [], [], len(dims)
    for i in range(given):
        letter = types[min(i, len(types) - 1)]
        dtypes.append({"b": BOOL, "i": INT64, "^": dtypes[-1] if dtypes else FLOAT, "=": dtypes[0] if dtypes else FLOAT}.get(letter, FLOAT))
        if letter == "i" and i:  # mostly shapes, axes and the like, which must be known
            inits.append(tensor([rank], INT64, f"x{i}", longs=[1] * rank))
        else:
            ins.append(value(f"x{i}", dtypes[-1], dims))
    values = {"i": lambda n: attr(n, 3, 1, 2), "f": lambda n: field(5, field(1, n) + varint(2 << 3 | 5) + struct.pack("<f", 1) + field(20, 1)),
              "s": lambda n: attr(n, 4, "", 3), "I": lambda n: field(5, field(1, n) + field(8, 1) * rank + field(20, 7))}
    words = [w.partition(":") for w in attrs.split() if w.endswith("!")]
    given_attrs = b"".join(values[kind[0]](n) for n, _, kind in words if kind[0] in values)
    body = node(name, [f"x{i}" for i in range(given)], ["y"], given_attrs, domain)
    return model(graph([body], inits, ins, [field(1, "y")]), imports=opset(28) + (opset(opsets, domain) if domain else b""))


# ---- running ----
def rusage_run(args, cwd, limit):
    """-> exit status (negative: a signal), stderr, seconds of processor time, MB"""
    with tempfile.TemporaryFile() as err:
        p = subprocess.Popen(args, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        timer = threading.Timer(limit, p.kill)
        timer.start()
        _, status, use = os.wait4(p.pid, 0)
        timer.cancel()
        p.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        return p.returncode, err.read().decode(errors="replace"), use.ru_utime + use.ru_stime, use.ru_maxrss / 1024


def listing(folder):
    return sorted((str(p.relative_to(folder)), p.lstat().st_size) for p in pathlib.Path(folder).rglob("*"))


def run_within(args, cwd, seconds):
    """as rusage_run; what takes too long runs once more, because a busy machine makes any program slower: the faster run counts"""
    runs = [rusage_run(args, cwd, 120)]
    if runs[0][2] > seconds:
        shutil.rmtree(cwd / "made", ignore_errors=True)
        runs.append(rusage_run(args, cwd, 120))
    return min(runs, key=lambda r: r[2])


def judge(cwd, arg, codes, say, seconds, mb):
    before = listing(cwd)
    code, err, took, held = run_within([*PROGRAM, *arg.split()], cwd, seconds * SLOW)
    lines = [line for line in err.splitlines() if "warning: " not in line]
    faults = []
    if code not in codes:
        faults.append(f"exit status {code}, not {' or '.join(map(str, codes))}")
    if code and len(lines) != 1:
        faults.append(f"{len(lines)} lines of messages")
    shapes = ""
    if not code:
        try:
            outputs = json.loads((cwd / "made/manifest.json").read_text())["outputs"]
            shapes = " ".join(json.dumps(o["shape"], separators=(",", ":")) for o in outputs)
        except OSError:
            faults.append("there is no bundle")
        shutil.rmtree(cwd / "made", ignore_errors=True)
    if (code or BAD not in codes) and not re.search(say, err + shapes, re.S):
        faults.append(f"the message does not match '{say}'" + f", shapes {shapes}" * (not code))
    if code and not any(name in err for name in (os.path.basename(arg.split()[-1]), "w.bin")):
        faults.append("the message names no file")
    if re.search(r"[\x00-\x09\x0b-\x1f\x7f]", err):
        faults.append("the message has control characters")
    if listing(cwd) != before:
        faults.append("files were left behind")
    if took > seconds * SLOW:
        faults.append(f"it took {took:.1f} s")
    if held > mb and SLOW == 1:
        faults.append(f"it took {held:.0f} MB")
    return [*faults, *(f"  {line}" for line in lines[:3])] if faults else []


def test(name, data, say="", codes=(BAD,), setup=None, arg="net.onnx", cwd="", seconds=1, mb=256):
    """data: the bytes of net.onnx, or a function that makes them; say: what the message must match, or of an accepted model
    the message and the shapes of its outputs; setup(folder) makes what else there is; cwd: where in the
    folder the program runs; seconds, mb: the most it may take"""
    tests.append((name, data, say, codes, setup, arg, cwd, seconds, mb))


def accept(name, data, **more):
    test(name, data, codes=(0,), **more)


def either(name, data, say="", **more):
    """the list allows both: success, or a refusal that says so"""
    test(name, data, say, codes=(0, BAD), **more)


def run(data, say, codes, setup, arg, cwd, seconds, mb):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        if data is not None:
            (folder / "net.onnx").write_bytes(data() if callable(data) else data)
        if setup:
            setup(folder)
        return judge(folder / cwd, arg, codes, say, seconds, mb)


def main(special_tests=()):
    words = sys.argv[1:]
    small_first = sorted(tests, key=lambda t: t[-1])  # a process counts the memory of the one that it is forked from
    todo = [(name, lambda t=t: run(*t)) for name, *t in small_first] + list(special_tests)
    todo = [t for t in todo if not words or any(w in t[0] for w in words)]
    print(f"1..{len(todo)}")
    failed = 0
    for i, (name, go) in enumerate(todo, 1):
        faults = go()
        print(f"{'not ' if faults else ''}ok {i} - {name}")
        for fault in faults:
            print(f"#   {fault}")
        failed += bool(faults)
        sys.stdout.flush()
    return failed > 0
