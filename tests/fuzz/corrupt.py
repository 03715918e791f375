#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Broken models: `make fuzz SECONDS=60 SEED=0`, before random graphs. Takes a random graph (compose.py) or a file of --models, breaks
bytes of it, or types, attributes and names of the graph, and compiles it. tgc may take what came out or refuse it with
exit code 65; a crash, a bug report, a sanitizer's word or more than LIMIT seconds is a failure, and the model is left in
FOLDER/SEED.onnx. Needs nothing but Python; most is seen with TGC=build/san/tgc, which `make san` builds."""
import argparse
import collections
import concurrent.futures
import math
import os
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compose  # noqa: E402
from graph import CODES, F32, I32, I64, Value  # noqa: E402

TGC = os.environ.get("TGC", str(pathlib.Path(__file__).resolve().parent.parent.parent / "build/tgc"))
LIMIT = 60  # seconds
ODD = [0, 1, -1, 2, -2, 3, 7, 63, 64, 65, 127, 128, 255, 256, 1 << 15, (1 << 31) - 1, -(1 << 31), 1 << 32, (1 << 63) - 1, -(1 << 63), 10 ** 6, 10 ** 9]
FLOATS = [0.0, -0.0, -1.0, 1e30, -1e30, 1e-40, math.inf, -math.inf, math.nan, 0.5]
TEXTS = ["", "NOTSET", "SAME_UPPER", "linear", "ab,bc->ac", "...a->a", "a", "x" * 300, "Tanh", "none", "\0"]


def broken_bytes(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        at = rng.randrange(len(data) + 1) if rng.random() < 0.7 else rng.choice([rng.randrange(min(300, len(data))), len(data) - 1 - rng.randrange(min(300, len(data)))])
        size = rng.choice([1, 1, 2, 4, 9, 30])
        kind = rng.randrange(6)
        if kind == 0:
            data[at:at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            del data[at:at + size]
        elif kind == 2:
            data[at:at] = rng.randbytes(size)
        elif kind == 3:
            data[at:at + 1] = rng.choice([b"\xff" * 9 + b"\x01", b"\x00", b"\x7f", b"\xff\xff\xff\xff\x0f", b"\x80"])
        elif kind == 4:
            source = rng.randrange(len(data) + 1)
            data[at:at + size] = data[source:source + size]
        elif at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        if not data:
            break
    return bytes(data[:rng.randrange(len(data) + 1)] if rng.random() < 0.03 else data)


def broken_attribute(v, rng):
    if isinstance(v, float):
        return rng.choice(FLOATS)
    if isinstance(v, int):
        return rng.choice(ODD)
    if isinstance(v, str):
        return rng.choice(TEXTS)
    v = list(v)
    kind = rng.randrange(4)
    if kind == 0 or not v:
        v.append(rng.choice(ODD) if not v or isinstance(v[0], int) else rng.choice(FLOATS) if isinstance(v[0], float) else rng.choice(TEXTS))
    elif kind == 1:
        v.pop(rng.randrange(len(v)))
    else:
        i = rng.randrange(len(v))
        v[i] = broken_attribute(v[i], rng)
    return v


def broken_graph(g, rng):
    """one thing of a graph changed"""
    values, node = list(g.values), rng.choice(g.nodes) if g.nodes else None
    kind = rng.randrange(11)
    if node and kind == 0 and node.attrs:
        k = rng.choice(list(node.attrs))
        node.attrs[k] = broken_attribute(node.attrs[k], rng)
    elif node and kind == 1:
        node.attrs[rng.choice(["axis", "axes", "group", "pads", "to", "mode", "strides", "keepdims", "perm", "num_outputs", "blocksize"])] = \
            rng.choice([rng.choice(ODD), [rng.choice(ODD)], rng.choice(TEXTS), rng.choice(FLOATS)])
    elif node and kind == 2 and node.ins:
        node.ins[rng.randrange(len(node.ins))] = rng.choice([*values, "", "nowhere"])
    elif node and kind == 3 and node.ins:
        node.ins.pop(rng.randrange(len(node.ins)))
    elif node and kind == 4:
        node.ins.append(rng.choice([*values, ""]))
    elif node and kind == 5:
        node.outs = rng.choice([[], node.outs * 2, [*node.outs, "more"], [""], [rng.choice(values)]])
    elif node and kind == 6:
        node.op = rng.choice(g.nodes + compose.compose(rng.randrange(1 << 20)).nodes).op
    elif kind == 7 and g.tensors:
        k = rng.choice(list(g.tensors))
        dt, shape, data = g.tensors[k]
        if dt in (I32, I64) and data:
            data = list(data)
            data[rng.randrange(len(data))] = rng.choice([x for x in ODD if dt == I64 or -(1 << 31) <= x < 1 << 31])
            g.tensors[k] = dt, shape, data
        elif dt == F32 and data:
            data = list(data)
            data[rng.randrange(len(data))] = rng.choice(FLOATS)
            g.tensors[k] = dt, shape, data
    elif kind == 8 and g.tensors:
        k = rng.choice(list(g.tensors))
        dt, shape, data = g.tensors[k]
        g.tensors[k] = dt, rng.choice([(), (0,), (len(data),), (1, *shape), (*shape, 1), shape[::-1], shape[1:], (*shape, rng.choice(ODD))]), data
    elif kind == 9:
        v = g.values[rng.choice(values)]
        shape = list(v.shape)
        if shape and rng.random() < 0.7:
            shape[rng.randrange(len(shape))] = rng.choice([*ODD, 0, 1, 2, 3])
        else:
            shape = rng.choice([[], [1] * 9, [rng.choice(ODD)], shape + [2]])
        g.values[v.name] = Value(v.name, rng.choice([v.dt, v.dt, *CODES]), shape, v.lo, v.hi)
    else:
        g.opset = rng.choice([1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 18, 21, 22, 24, 28, 29, 1000, 0])


def examine(seed, args):
    """-> exit status, failure or None"""
    rng = random.Random(seed)
    if args.models and rng.random() < 0.5:
        data = broken_bytes(pathlib.Path(rng.choice(args.models)).read_bytes(), rng)
    else:
        g = compose.compose(rng.randrange(1 << 30))
        while rng.random() < 0.7:
            broken_graph(g, rng)
        data = g.onnx() if rng.random() < 0.8 else broken_bytes(g.onnx(), rng)
    path = args.folder / f"{seed}.onnx"
    path.write_bytes(data)
    start = time.monotonic()
    try:
        p = subprocess.run([TGC, "compile", path, "-o", args.folder / f"{seed}.b", "-q"], stdin=subprocess.DEVNULL, capture_output=True,
                           text=True, errors="replace", timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return None, f"ran past {LIMIT} s"
    finally:
        subprocess.run(["rm", "-rf", args.folder / f"{seed}.b"])
    if p.returncode not in (0, 65) or p.returncode and not p.stderr.strip():
        return p.returncode, f"status {p.returncode} after {time.monotonic() - start:.1f} s\n{p.stdout}{p.stderr}"
    path.unlink()
    return p.returncode, None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/corrupt"))
    p.add_argument("--models", nargs="*", help="files to break, besides random graphs")
    p.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS") or 1))
    args = p.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    end, seed, counts, bad = time.monotonic() + args.seconds, args.seed, collections.Counter(), 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        while time.monotonic() < end:
            for s, (status, failure) in zip(range(seed, seed + 8), pool.map(lambda s: examine(s, args), range(seed, seed + 8))):
                counts["taken" if status == 0 else "refused" if failure is None else "failed"] += 1
                if failure:
                    bad += 1
                    print(f"FAIL seed {s}: {failure[:3000]}\n  {TGC} compile {args.folder / f'{s}.onnx'} -o {args.folder / f'{s}.b'}\n", flush=True)
            seed += 8
    print(f"{sum(counts.values())} models: {dict(counts)}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
