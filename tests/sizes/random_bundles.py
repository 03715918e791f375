#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random ONNX models with open dimensions (random_graphs.py) as bundles for ranges, beside ONNX Runtime at six sizes each, both
ends among them. Inputs, outputs and the arena end at pages that cannot be touched. The arena is filled in three ways before runs,
which must have the same bits. Sizes that the bundle must refuse are tried, too. Models that fail stay in FOLDER with what was
said. With --refusals, each refusal is printed. Ends with counts; exit status 1 if a model failed. Needs onnx, onnxruntime and
numpy."""
import argparse
import collections
import ctypes
import json
import mmap
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import time
import traceback

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import random_graphs  # noqa: E402

TGC = os.environ.get("TGC", str(HERE.parents[1] / "build/tgc"))
CC = os.environ.get("CC", "cc")
CFLAGS = os.environ.get("TGC_CFLAGS", "").split()
CAPACITY = 24
WAYS = [["--isa=x86-64-v3"], ["--isa=x86-64-v4"], ["--isa=portable"], ["--isa=x86-64-v3", "--kernel-groups=all"],
        ["--isa=x86-64-v4", "--kernel-groups=all"], ["--isa=x86-64-v3", "--optimize=size"], ["--isa=x86-64-v4", "--optimize=ram"],
        ["--isa=x86-64-v3", "--precision=fp32-strict"], ["--isa=x86-64-v4", "--precision=bf16"],
        ["--isa=x86-64-v3", "--precision=fp16"], ["--isa=native", "--precision=fp16-arith"],
        ["--isa=x86-64-v4", "--precision=bf16x3"], ["--isa=x86-64-v3", "--weights=int8"],
        ["--isa=native", "--kernel-groups=none"]]
TYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16",
         11: "float64", 12: "uint32", 13: "uint64"}
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
PAGE = mmap.PAGESIZE


class Fenced:
    """bytes that end where memory ends"""

    def __init__(self, size):
        self.size, self.whole = size, -(-size // PAGE) * PAGE
        self.base = libc.mmap(None, self.whole + PAGE, 3, 0x22, -1, 0)
        libc.mprotect(self.base + self.whole, PAGE, 0)
        self.at = self.base + self.whole - size
        self.bytes = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(self.at)) if size else np.zeros(0, np.uint8)

    def read_only(self):
        if self.whole:
            libc.mprotect(self.base, self.whole, 1)

    def free(self):
        libc.munmap(self.base, self.whole + PAGE)


FILLS = [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\0\0\xc0\x7f"]


def fill(a, how):
    n = len(a) // 4 * 4
    a[:n] = np.tile(np.frombuffer(FILLS[how], np.uint8), n // 4)
    a[n:] = FILLS[how][0]


class Bundle:
    def __init__(self, folder, lib):
        self.lib = ctypes.CDLL(str(lib))
        for f in ("net_arena_bytes", "net_ctx_bytes", "net_input_count", "net_output_count"):
            getattr(self.lib, f).restype = ctypes.c_size_t
        for f in ("net_input_name", "net_output_name"):
            getattr(self.lib, f).restype = ctypes.c_char_p
            getattr(self.lib, f).argtypes = [ctypes.c_size_t]
        for f in ("net_input_type", "net_output_type", "net_input_rank", "net_output_rank"):
            getattr(self.lib, f).argtypes = [ctypes.c_size_t]
        self.weights = (folder / "net_weights.bin").read_bytes()
        self.arena = Fenced(-(-self.lib.net_arena_bytes() // 64) * 64)
        self.w = Fenced(-(-len(self.weights) // 64) * 64)
        self.w.bytes[:len(self.weights)] = np.frombuffer(self.weights, np.uint8)
        self.w.read_only()
        self.ctx = ctypes.create_string_buffer(self.lib.net_ctx_bytes())
        self.init()

    def init(self):
        status = self.lib.net_init(self.ctx, ctypes.c_void_p(self.arena.at), ctypes.c_size_t(self.arena.size),
                                   ctypes.c_void_p(self.w.at), ctypes.c_size_t(len(self.weights)))
        if status:
            raise RuntimeError(f"net_init: {status}")

    def side(self, what):
        n = getattr(self.lib, f"net_{what}_count")()
        return [(getattr(self.lib, f"net_{what}_name")(i).decode(), TYPES[getattr(self.lib, f"net_{what}_type")(i)],
                 getattr(self.lib, f"net_{what}_rank")(i)) for i in range(n)]

    def dims(self, what, i, rank):
        d = (ctypes.c_int64 * max(rank, 1))()
        status = getattr(self.lib, f"net_{what}_dims")(self.ctx, ctypes.c_size_t(i), d)
        if status:
            raise RuntimeError(f"net_{what}_dims: {status}")
        return tuple(d[:rank])

    def set(self, sizes):
        a = (ctypes.c_int64 * len(sizes))(*sizes)
        return self.lib.net_set_sizes(self.ctx, a), self.lib.net_bad_size(a)

    def run(self, feed, how):
        """-> status, outputs by name"""
        ins, outs = [], []
        for i, (name, dt, rank) in enumerate(self.side("input")):
            a = feed[name]
            if self.dims("input", i, rank) != a.shape or np.dtype(dt) != a.dtype:
                raise RuntimeError(f"input {name}: {dt}{self.dims('input', i, rank)} for {a.dtype}{a.shape}")
            f = Fenced(a.nbytes)
            f.bytes[:] = np.frombuffer(a.tobytes(), np.uint8)
            f.read_only()
            ins.append(f)
        shapes = [(name, np.dtype(dt), self.dims("output", i, rank)) for i, (name, dt, rank) in enumerate(self.side("output"))]
        for _, dt, s in shapes:
            outs.append(Fenced(int(np.prod(s, dtype=np.int64)) * dt.itemsize))
            fill(outs[-1].bytes, how)
        fill(self.arena.bytes, how)
        pi = (ctypes.c_void_p * max(len(ins), 1))(*[f.at for f in ins])
        po = (ctypes.c_void_p * max(len(outs), 1))(*[f.at for f in outs])
        status = self.lib.net_run_v(self.ctx, pi, po)
        got = {name: np.frombuffer(f.bytes.tobytes(), dt).reshape(s) for (name, dt, s), f in zip(shapes, outs)}
        for f in ins + outs:
            f.free()
        return status, got


def differs(got, want, part, loose, empty=False):
    """-> words, or None; empty: ONNX Runtime takes the mean of nothing for 0"""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)} for {want.dtype}{list(want.shape)}"
    if not got.size:
        return None
    if want.dtype.kind in "iub":
        bad = got != want
        if loose and want.dtype.kind != "b":
            bad = np.abs(got.astype(np.float64) - want.astype(np.float64)) > 1
    else:
        g, w = got.astype(np.float64), want.astype(np.float64)
        part = max(part, {2: 2e-2, 4: 1e-3, 8: 1e-3}[want.dtype.itemsize]) * (30 if loose else 1)
        with np.errstate(invalid="ignore"):
            bad = ~(np.isnan(g) & empty) & ~(np.abs(g - w) <= part * np.abs(w) +
                                             (part / 10) * np.abs(w[np.isfinite(w)]).max(initial=0) + 1e-6)
    if not bad.any():
        return None
    at = tuple(int(x) for x in np.argwhere(bad)[0])
    return f"{int(bad.sum())} of {bad.size} differ, {list(at)} is {got[at]!r}, there {want[at]!r}"


def wrong_sizes(b, ranges):
    """each size that must be refused is refused, and the right one is named"""
    names = list(ranges)
    good = [ranges[s][1] for s in names]
    for k, s in enumerate(names):
        low, high, step = ranges[s]
        for bad in (low - 1, high + 1, high + step, -1, 1 << 40, -(1 << 62), *([low + 1] if step > 1 else [])):
            status, which = b.set([bad if s == t else g for t, g in zip(names, good)])
            if status != 17 or which != k:
                return f"size {s}={bad}: status {status}, net_bad_size {which}"
    return None


def rows_of(got, want, counts, status):
    """-> what is wrong, and the rows of both that the bundle counts"""
    axes = [a for a in range(got.ndim) if got.shape[a] != want.shape[a]]
    if len(axes) != 1:
        return (f"{got.shape} for {want.shape}" if axes else None), got, want
    rows = want.shape[axes[0]]
    if min(rows, CAPACITY) not in counts:
        return f"counts {counts} for {rows}", got, want
    if status != 18 and rows > CAPACITY:
        return f"status {status} for {rows} rows", got, want
    first = range(min(rows, CAPACITY))
    return None, got.take(first, axes[0]), want.take(first, axes[0])


def judge(b, m, proto, outs, ranges, part):
    s = random_graphs.session(proto)
    words = wrong_sizes(b, ranges)
    if words:
        return words
    shared = {i.name for i in proto.graph.input}
    order = list(range(random_graphs.RUNS))
    random.Random(1).shuffle(order)
    for k in order + order[:2]:
        run = m.runs[k]
        feed = {i: m.values[i][k] for i in shared}
        want = dict(zip(outs, s.run(None, feed)))
        status, which = b.set([run[x] for x in ranges])
        if status or which != -1:
            return f"{run}: net_set_sizes: {status}, net_bad_size {which}"
        first = None
        for how in range(3):
            status, got = b.run(feed, how)
            if status not in (0, 18):
                return f"{run}: net_run: {status}"
            if first and any(got[n].tobytes() != first[n].tobytes() for n in got):
                return f"{run}: what the arena held has an effect on {[n for n in got if got[n].tobytes() != first[n].tobytes()]}"
            first = got
        for n in outs:
            g = got[n]
            if n in m.counted:
                words, g, want[n] = rows_of(g, want[n], [int(got[c].reshape(-1)[0]) for c in got if c.endswith(".count")], status)
                if words:
                    return f"{run}: output {n}: {words}"
            words = differs(g, want[n], part, m.loose, 0 in run.values())
            if words:
                return f"{run}: output {n}: {words}"
    return None


def build(folder, way, args):
    """-> a library, or what gcc said"""
    out = folder / "net"
    lib = folder / "net.so"
    isa = next((w.split("=")[1] for w in way if w.startswith("--isa")), "native")
    march = {"portable": "x86-64"}.get(isa, isa)
    files = [str(f) for f in out.glob("*.c") if f.name not in ("example.c", "check.c")] + [str(f) for f in out.glob("*.o")]
    p = subprocess.run([CC, "-O1", "-std=gnu11", "-w", "-shared", "-fPIC", f"-march={march}", *CFLAGS, "-o", str(lib), *files,
                        "-lm", "-lpthread"], capture_output=True, text=True)
    return lib, p.stderr[-800:] if p.returncode else None


def examine(seed, args):
    """-> kind, words"""
    folder = args.folder / str(seed)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = random_graphs.compose(seed)
    if not made:
        return "none", ""
    m, proto, outs = made
    model = folder / "model.onnx"
    model.write_bytes(proto.SerializeToString())
    r = random.Random(seed)
    way = ((["--isa=" + args.isa] if args.isa else r.choice(WAYS if r.random() < 0.6 else WAYS[:2])) +
           (["--denormals=keep"] if r.random() < 0.2 else []))
    if args.backend == "llvm" or (args.backend == "any" and r.random() < 0.6):
        way = [w.replace("portable", "x86-64") for w in way] + ["--backend=llvm"]
    dims = [f"--dim={s}={a}:{b}" + (f":{c}" if c > 1 else "") + (f"@{r.randrange(a, b + 1, c)}" if r.random() < 0.2 else "")
            for s, (a, b, c) in m.ranges.items()]
    capacity = [f"--capacity={CAPACITY}"] if any(n.op_type in ("NonZero", "Compress") for n in proto.graph.node) else []
    command = [TGC, "compile", str(model), *dims, *way, *capacity, "-o", str(folder / "net"), "-q",
               "--no-tune-store", "--no-index-status"]
    (folder / "command").write_text(" ".join(command))
    try:
        p = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=200)
    except subprocess.TimeoutExpired:
        return "fail", "tgc compile takes more than 200 s"
    if p.returncode:
        words = (p.stdout + p.stderr).strip()
        return ("refused" if p.returncode in (64, 65) else "skipped" if p.returncode == 69 else "fail",
                f"status {p.returncode}: {words[-400:]}")
    lib, why = build(folder, way, args)
    if why:
        return "fail", f"{CC}: {why}"
    part = 0
    if any("precision=bf16" in w or "precision=fp16" in w or "weights" in w for w in way) and "--precision=bf16x3" not in way:
        part = 0.1
    if "--precision=bf16x3" in way:
        part = 4e-3
    words = judge(Bundle(folder / "net", lib), m, proto, outs, m.ranges, part)
    return ("fail", words) if words else ("ok", "")


def child(seed, args):
    """in a process of its own -> kind, words"""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(read)
        try:
            kind, words = examine(seed, args)
        except BaseException:
            kind, words = "fail", traceback.format_exc()[-600:]
        os.write(write, json.dumps([kind, words]).encode()[:60000])
        os._exit(0)
    os.close(write)
    text = b""
    while part := os.read(read, 65536):
        text += part
    os.close(read)
    _, status = os.waitpid(pid, 0)
    if text:
        return json.loads(text)
    return (("fail", f"signal {status}") if (args.folder / str(seed) / "net.so").exists() else
            ("none", "ONNX Runtime ended the process"))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--graphs", type=int, default=100)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--only", type=int, help="this model alone; its files stay")
    p.add_argument("--isa")
    p.add_argument("--backend", default="any", choices=["any", "c", "llvm"])
    p.add_argument("--refusals", action="store_true")
    p.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/sizes-fuzz"))
    args = p.parse_args()
    args.folder = args.folder.resolve()
    counts, begin, reasons = collections.Counter(), time.monotonic(), collections.Counter()
    for seed in [args.only] if args.only is not None else range(args.seed, args.seed + args.graphs):
        kind, words = child(seed, args)
        counts[kind] += 1
        folder = args.folder / str(seed)
        if kind == "refused":
            reasons[re.sub(r".*: ", "", re.sub(r"\d+|'[^']*'", "#", words))[:80]] += 1
        if kind == "fail" or (kind == "refused" and args.refusals):
            print(f"{kind} {seed}: {words}\n  {(folder / 'command').read_text() if (folder / 'command').exists() else ''}",
                  flush=True)
        elif args.only is None:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"# {time.monotonic() - begin:.0f} s: " + ", ".join(f"{n} {k}" for k, n in counts.items()))
    for words, n in reasons.most_common(20):
        print(f"# {n} refused: {words}")
    return counts["fail"] > 0


if __name__ == "__main__":
    sys.exit(main())
