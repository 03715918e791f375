#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random models of one to six nodes at the corners of operators: odd strides and dilations, negative steps, axes of one element or
of none, NaN, infinities and denormals, integers that overflow, odd zero points, halves, duplicate indices, loops and scans.
`cases` takes each through two machines (bounds, programs in the interpreter, code by LLVM between guard pages; every eighth by the
C compiler as well). The interpreter's results are held against ONNX Runtime's, infinities and NaN too; where they differ, the
reference implementation of the package onnx judges. With --run=SHARE, that share also goes through `tgc run` with random options.

A model that fails stays in FOLDER. Ends with counts; exit status 1 if any failed. Needs onnx, onnxruntime and numpy."""
import argparse
import collections
import concurrent.futures
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import runner  # noqa: E402

if runner.ort:
    import numpy as np
    import onnx
    from onnx import TensorProto as T
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

BATCH = 40  # models of one process
TGC = os.environ.get("TGC", str(pathlib.Path(__file__).resolve().parents[2] / "build/tgc"))
FULL = 1 << 62
INT_MOST = 2**31 - 1


# ---- a model in the making ----
class Model:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.nodes, self.inits, self.inputs, self.count = [], [], {}, 0
        self.strict = bool(seed // 20 & 1)  # denormals are kept only then (docs/numerics.md)
        self.hard = [np.nan, np.inf, -np.inf]
        self.known = {}  # value: its type and shape, where shapes are not inferred
        self.opset, self.loose, self.domains = self.r.choice([13, 17, 18, 19, 20, 21, 22, 23]), False, set()

    def name(self, letter="v"):
        self.count += 1
        return f"{letter}{self.count}"

    def const(self, a, dt=None):
        name = self.name("c")
        t = numpy_helper.from_array(
    np.asarray(a), name) if dt is None else helper.make_tensor(
        name, dt, np.shape(a), np.asarray(a).ravel())
        self.inits.append(t)
        return name

    def input(self, a):
        name = self.name("x")
        self.inputs[name] = np.ascontiguousarray(a).reshape(np.shape(a))
        return name

    def any(self, a):
        """an input, or sometimes a constant"""
        return self.const(a) if self.r.random() < 0.25 else self.input(a)

    def op(self, kind, ins, outs=1, **attrs):
        names = [self.name() for _ in range(outs)]
        domain = attrs.pop("domain", "")
        if domain:
            self.domains.add(domain)
        attrs = {k: v for k, v in attrs.items() if v is not None}
        self.nodes.append(helper.make_node(kind, ins, names, domain=domain, **attrs))
        return names[0] if outs == 1 else names

    def ints(self, *a):
        return self.const(np.array(a, np.int64))

    # -- data --
    def shape(self, rank, most=7, zero=0.03):
        return tuple(0 if self.r.random() < zero else self.r.choice(
            [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 19, 33][:max(most * 2, 4)]) for _ in range(rank))

    def floats(self, shape, wild=0.25, dt=None, positive=False):
        a = self.rng.standard_normal(shape)
        if self.r.random() < 0.3:
            a = np.round(a * 3)
        if positive:
            a = np.abs(a) + 0.1
        if self.r.random() < wild and a.size:  # no largest numbers: the order of sums says whether these overflow
            small = [1e-40, -3e-42] if self.strict else []
            for v in self.r.sample([*self.hard, *small, 0.0, -0.0, 0.5, 1.5, 2.5, -0.5, 65504.0, 65520.0], 5):
                a.reshape(-1)[self.rng.integers(0, a.size, max(1, a.size // 9))] = v
        with np.errstate(over="ignore"):
            return a.astype(dt or np.float32)

    def integers(self, shape, dt, extreme=0.5):
        i = np.iinfo(dt)
        a = self.rng.integers(max(i.min, -9), 10, shape).astype(dt)
        if self.r.random() < extreme and a.size:
            for v in self.r.sample([i.min, i.max, i.min + 1, i.max - 1, i.max // 2, i.max // 2 + 1, 0, 1, i.max // 3], 4):
                a.reshape(-1)[self.rng.integers(0, a.size, max(1, a.size // 6))] = v
        return a

    def data(self, shape, dt):
        dt = np.dtype(dt)
        if dt == np.bool_:
            return self.rng.integers(0, 2, shape).astype(bool)
        return self.floats(shape, dt=dt) if dt.kind == "f" else self.integers(shape, dt)

    def broadcasts(self, n, rank=None):
        full = self.shape(self.r.randrange(0, 5) if rank is None else rank, 5)
        out = []
        for _ in range(n):
            s = [1 if self.r.random() < 0.3 else d for d in full]
            out.append(tuple(s[self.r.randrange(0, len(s) + 1) if s and self.r.random() < 0.3 else 0:]))
        return out

    def proto(self, outs):
        info = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
                                              for k, v in self.inputs.items()]
        known = {k: helper.make_tensor_value_info(k, *v) for k, v in self.known.items()}
        g = helper.make_graph(self.nodes, "corner", info, [known.get(o) or onnx.ValueInfoProto(name=o) for o in outs], self.inits,
                              value_info=[v for k, v in known.items() if k not in outs])
        sets = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(d, 1) for d in sorted(self.domains)]
        m = helper.make_model(g, opset_imports=sets)
        m.ir_version = 8 if self.opset < 21 else 10
        inferred = onnx.shape_inference.infer_shapes(m, strict_mode=False)
        for o in inferred.graph.output:
            if not o.type.tensor_type.elem_type:
                raise ValueError("no type for the output")
        del m.graph.output[:]
        m.graph.output.extend(inferred.graph.output)
        return m


FLOATS = ["float32"] * 4 + ["float16", "float64"]
INTS = ["int8", "uint8", "int16", "uint16", "int32", "int64", "uint32", "uint64"]


# ---- families: each gives the names of its results ----
def elementwise(m):
    dt = m.r.choice(FLOATS)
    x = m.input(m.floats(m.shape(m.r.randrange(0, 5)), 0.6, dt))
    kinds = [
    "Abs",
    "Neg",
    "Floor",
    "Ceil",
    "Round",
    "Sign",
    "Relu",
    "Sqrt",
    "Reciprocal",
    "Exp",
    "Log",
    "Tanh",
    "Sigmoid",
    "Erf",
    "Softplus",
    "Softsign",
    "HardSigmoid",
    "HardSwish",
    "Elu",
    "Selu",
    "Celu",
    "LeakyRelu",
    "ThresholdedRelu",
    "Sin",
    "Cos",
    "Tan",
    "Asin",
    "Acos",
    "Atan",
    "Sinh",
    "Cosh",
    "Asinh",
    "Acosh",
    "Atanh",
    "IsNaN",
    "Mish",
    "Gelu",
     "Shrink"]
    k = m.r.choice(kinds)
    m.opset = max(m.opset, 20 if k == "Gelu" else 18)
    attrs = {}
    if k in ("Elu", "LeakyRelu", "ThresholdedRelu", "HardSigmoid") or (k == "Celu" and m.r.random() < 0.5):
        attrs["alpha"] = m.r.choice([0.1, 1.0, 2.5, -0.5, 0.0]) if k != "Celu" else m.r.choice([0.5, 2.0])
    if k == "Gelu" and m.r.random() < 0.5:
        attrs["approximate"] = "tanh"
    if k == "Shrink":
        attrs = {"bias": m.r.choice([0.0, 0.3, -0.5]), "lambd": m.r.choice([0.0, 0.5, 1.5])}
    return [m.op(k, [x], **attrs)]


def binary(m):
    a, b = m.broadcasts(2)
    k = m.r.choice(["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mod", "Less",
                   "LessOrEqual", "Greater", "GreaterOrEqual", "Equal", "PRelu"])
    floats = k in ("Pow", "PRelu") or m.r.random() < 0.5
    if k in ("Max", "Min") and m.r.random() < 0.3:
        a, b, c = m.broadcasts(3)
        dt = m.r.choice(FLOATS + INTS)
        return [m.op(k, [m.any(m.data(a, dt)), m.input(m.data(b, dt)), m.any(m.data(c, dt))])]
    dt = m.r.choice(FLOATS if floats else INTS)
    x, y = m.data(a, dt), m.data(b, dt)
    if k in ("Div", "Mod") and not floats:
        y = np.where(y == 0, np.ones_like(y), y)
        if np.dtype(dt).kind == "i":
            y = np.where(y == -1, np.ones_like(y), y)
    if k == "Mod":
        fmod = 1 if floats else m.r.choice([0, 1])
        return [m.op("Mod", [m.input(x), m.any(y)], fmod=fmod)]
    if k == "PRelu":
        return [m.op(k, [m.input(m.data(tuple(max(p, 1) for p in np.broadcast_shapes(a, b)), dt)), m.any(y)])
                     ] if 0 not in a + b else elementwise(m)
    if k == "Pow" and m.r.random() < 0.4:
        y = np.round(np.clip(np.nan_to_num(y.astype(np.float64), posinf=3, neginf=-3), -4, 4)).astype(dt)
    return [m.op(k, [m.input(x), m.any(y)])]


def bits(m):
    a, b = m.broadcasts(2)
    k = m.r.choice(["BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift",
                   "And", "Or", "Xor", "Not", "Where", "IsInf", "Clip", "Sum", "Mean"])
    m.opset = max(m.opset, 20 if k == "IsInf" else 18)
    if k == "IsInf":
        return [m.op(k, [m.input(m.floats(a, 1.0))], detect_negative=m.r.choice([0, 1]), detect_positive=m.r.choice([0, 1]))]
    if k in ("And", "Or", "Xor"):
        return [m.op(k, [m.input(m.data(a, bool)), m.any(m.data(b, bool))])]
    if k == "Not":
        return [m.op(k, [m.input(m.data(a, bool))])]
    if k == "BitwiseNot":
        return [m.op(k, [m.input(m.data(a, m.r.choice(INTS)))])]
    if k == "Where":
        a, b, c = m.broadcasts(3)
        dt = m.r.choice(FLOATS + INTS + ["bool"])
        return [m.op(k, [m.any(m.data(a, bool)), m.input(m.data(b, dt)), m.any(m.data(c, dt))])]
    if k == "BitShift":
        dt = m.r.choice(["uint8", "uint16", "uint32", "uint64"])
        return [m.op(k, [m.input(m.data(a, dt)), m.any(m.rng.integers(0, np.iinfo(dt).bits, b).astype(dt))],
                     direction=m.r.choice(["LEFT", "RIGHT"]))]
    if k == "Clip":
        dt = m.r.choice(FLOATS + INTS)
        lo, hi = sorted(m.r.sample([0, 1, 2, 3, 5], 2))
        lo, hi = (np.asarray(v, dt) for v in ((hi, lo) if m.r.random() < 0.1 else (lo, hi)))
        how = m.r.randrange(3)
        return [m.op(k, [m.input(m.data(a, dt)), m.any(lo) if how else "", *([m.any(hi)] if how < 2 else [])])]
    if k in ("Sum", "Mean"):
        return [m.op(k, [m.input(m.floats(s, 0.3)) for s in m.broadcasts(m.r.randrange(1, 5))])]
    dt = m.r.choice(INTS)
    return [m.op(k, [m.input(m.data(a, dt)), m.any(m.data(b, dt))])]


def cast(m):
    kinds = ["float32", "float16", "float64", "int8", "uint8", "int16", "int32", "int64", "bool", "uint16", "uint32"]
    a, b = m.r.choice(kinds), m.r.choice(kinds)
    s = m.shape(m.r.randrange(0, 4))
    x = m.data(s, a)
    if np.dtype(a).kind == "f" and np.dtype(b).kind in "iu":
        i = np.iinfo(b)
        lo, hi = max(i.min, -30000), min(i.max, 30000)
        x = np.clip(np.nan_to_num(x.astype(np.float64)), lo, hi).astype(a)
    y = m.op("Cast", [m.input(x)], to=helper.np_dtype_to_tensor_dtype(np.dtype(b)))
    if m.r.random() < 0.3:
        y = m.op("Cast", [y], to=T.BFLOAT16) if np.dtype(b).kind == "f" else y
        y = m.op("Cast", [y], to=T.FLOAT)
    return [y]


def conv(m):
    rank = m.r.choice([1, 1, 2, 2, 2, 3])
    group = m.r.choice([1, 1, 1, 2, 3, 4, 5, 8])
    per, out = m.r.choice([1, 1, 2, 3, 5, 8]), m.r.choice([1, 1, 2, 3, 4, 7])
    kernel = [m.r.choice([1, 1, 2, 3, 4, 5, 7]) for _ in range(rank)]
    dil = [m.r.choice([1, 1, 1, 2, 3, 5]) for _ in range(rank)]
    stride = [m.r.choice([1, 1, 2, 3, 4, 5, 7, 11]) for _ in range(rank)]
    pads = [m.r.choice([0, 0, 0, 1, 2, 3, 7]) for _ in range(2 * rank)]
    size = [max(m.r.choice([1, 2, 5, 8, 11, 16, 23]), (k - 1) * d + 1 - pads[i] - pads[i + rank])
                for i, (k, d) in enumerate(zip(kernel, dil))]
    n = m.r.choice([1, 1, 2, 3])
    dt = m.r.choice(FLOATS)
    x = m.input(m.floats((n, group * per, *size), 0, dt))
    w = m.any(m.floats((group * out, per, *kernel), 0, dt))
    ins = [x, w] + ([m.any(m.floats((group * out,), 0, dt))] if m.r.random() < 0.5 else [])
    attrs = dict(group=group, dilations=dil, strides=stride)
    auto = m.r.random()
    if auto < 0.2 and set(dil) == {1}:
        attrs["auto_pad"] = m.r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
        if attrs["auto_pad"] == "VALID" and any(s < k for s, k in zip(size, kernel)):
            attrs["auto_pad"] = "SAME_UPPER"
    else:
        attrs["pads"] = pads
    return [m.op("Conv", ins, **attrs)]


def conv_transpose(m):
    rank = m.r.choice([1, 2, 2, 3])
    group = m.r.choice([1, 1, 2, 3])
    per, out = m.r.choice([1, 2, 3, 5]), m.r.choice([1, 2, 3, 5])
    kernel = [m.r.choice([1, 2, 3, 4, 5]) for _ in range(rank)]
    dil = [m.r.choice([1, 1, 2, 3]) for _ in range(rank)]
    stride = [m.r.choice([1, 1, 2, 3, 4, 5]) for _ in range(rank)]
    more = [m.r.randrange(0, max(s, d)) if m.r.random() < 0.4 else 0 for s, d in zip(stride, dil)]
    size = [m.r.choice([1, 2, 3, 5, 8]) for _ in range(rank)]
    full = [(s - 1) * t + (k - 1) * d + 1 + p for s, t, k, d, p in zip(size, stride, kernel, dil, more)]
    pads = [m.r.randrange(0, min(4, (f + 1) // 2)) if f > 1 else 0 for f in full] * 2
    dt = m.r.choice(["float32"] * 4 + ["float16"])
    ins = [m.input(m.floats((m.r.choice([1, 2]), group * per, *size), 0, dt)),
                   m.any(m.floats((group * per, out, *kernel), 0, dt))]
    if m.r.random() < 0.5:
        ins.append(m.any(m.floats((group * out,), 0, dt)))
    return [m.op("ConvTranspose", ins, group=group, dilations=dil, strides=stride, pads=pads, output_padding=more)]


def pool(m):
    m.hard = []  # a NaN counts as the greatest (docs/numerics.md), not there
    rank = m.r.choice([1, 2, 2, 3])
    kernel = [m.r.choice([1, 2, 3, 4, 5]) for _ in range(rank)]
    k = m.r.choice(["MaxPool", "MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool"])
    m.opset = max(m.opset, 19)
    dil = [m.r.choice([1, 1, 2, 3]) if k in ("MaxPool", "AveragePool") else 1 for _ in range(rank)]
    stride = [m.r.choice([1, 1, 2, 3, 5, 7]) for _ in range(rank)]
    pads = [m.r.randrange(0, q) if m.r.random() < 0.4 else 0 for q in kernel] + \
                          [m.r.randrange(0, q) if m.r.random() < 0.4 else 0 for q in kernel]
    size = [max(m.r.choice([1, 2, 5, 8, 11, 16]), (q - 1) * d + 1 - pads[i] - pads[i + rank])
                for i, (q, d) in enumerate(zip(kernel, dil))]
    dt = m.r.choice(["float32"] * 3 + ["float64", "int8", "uint8"]) if k == "MaxPool" else "float32"
    x = m.input(m.floats((m.r.choice([1, 2]), m.r.choice([1, 3, 8, 17]), *size), 0 if k == "LpPool" else 0.25)
                if dt == "float32" else m.data((m.r.choice([1, 2]), m.r.choice([1, 3, 8, 17]), *size), dt))
    if k.startswith("Global"):
        return [m.op(k, [x])]
    attrs = dict(kernel_shape=kernel, strides=stride, pads=pads, ceil_mode=m.r.choice([0, 0, 1]))
    if k != "LpPool":
        attrs["dilations"] = dil
    if k == "AveragePool":
        attrs["count_include_pad"] = m.r.choice([0, 1])
    if k == "LpPool":
        attrs["p"] = m.r.choice([1, 2, 3])
        attrs.pop("ceil_mode")
    if k == "MaxPool" and rank < 3 and m.r.random() < 0.4:
        return m.op(k, [x], 2, storage_order=0, **attrs)
    return [m.op(k, [x], **attrs)]


def slices(m):
    rank = m.r.randrange(1, 5)
    shape = m.shape(rank, 7)
    dt = m.r.choice(FLOATS + INTS + ["bool"])
    axes = m.r.sample(range(rank), m.r.randrange(1, rank + 1))
    starts, ends, steps = [], [], []
    for a in axes:
        d, step = shape[a], m.r.choice([1, 1, -1, -1, 2, -2, 3, -3, 5, -7, INT_MOST, -INT_MOST])
        lo, hi = m.r.choice([0, 1, -1, d, -d - 3, d + 5, FULL, -FULL, d // 2]
                            ), m.r.choice([0, d, -1, -d - 1, d + 5, FULL, -FULL, d // 2 + 1])
        starts.append(lo), ends.append(hi), steps.append(step)
    x = m.input(m.data(shape, dt))
    y = m.op("Slice", [x, m.ints(*starts), m.ints(*ends),
             m.ints(*[a - rank if m.r.random() < 0.4 else a for a in axes]), m.ints(*steps)])
    if m.r.random() < 0.4:
        y = m.op("Slice", [y, m.ints(FULL), m.ints(-FULL), m.ints(m.r.randrange(-rank, rank)), m.ints(-m.r.choice([1, 2, 3]))])
    return [y]


def pads(m):
    rank = m.r.randrange(1, 5)
    shape = m.shape(rank, 6, 0)
    mode = m.r.choice(["constant", "constant", "reflect", "edge", "wrap"])
    m.opset = max(m.opset, 19)
    p = [m.r.randrange(-min(2, shape[i % rank] - 1), 5) for i in range(2 * rank)]
    if mode == "reflect":
        p = [min(v, shape[i % rank] - 1) for i, v in enumerate(p)]
    if mode in ("wrap", "edge", "reflect"):
        p = [min(max(v, 0), shape[i % rank]) for i, v in enumerate(p)]
    for i in range(rank):
        if shape[i] + min(p[i], 0) + min(p[i + rank], 0) < 1:
            p[i] = p[i + rank] = 0
    dt = m.r.choice(FLOATS + INTS[:2] + ["int64", "bool"])
    ins = [m.input(m.data(shape, dt)), m.ints(*p)]
    if mode == "constant" and m.r.random() < 0.6:
        ins.append(m.any(m.data((), dt)))
    return [m.op("Pad", ins, mode=mode)]


def gathers(m):
    rank = m.r.randrange(1, 5)
    shape = m.shape(rank, 6, 0)
    dt, it = m.r.choice(FLOATS + INTS + ["bool"]), m.r.choice(["int32", "int64"])
    k = m.r.choice(["Gather", "Gather", "GatherElements", "GatherND"])
    x, axis = m.input(m.data(shape, dt)), m.r.randrange(-rank, rank)
    d = shape[axis]
    if k == "Gather":
        idx = m.rng.integers(-d, d, m.shape(m.r.randrange(0, 3), 5)).astype(it)
        return [m.op(k, [x, m.any(idx)], axis=axis)]
    if k == "GatherElements":
        s = [m.r.randrange(1, q + 1) for q in shape]
        s[axis] = m.r.choice([1, 3, 9, 17])
        return [m.op(k, [x, m.any(m.rng.integers(-d, d, s).astype(it))], axis=axis)]
    batch = m.r.randrange(0, rank)
    last = m.r.randrange(1, rank - batch + 1)
    lead = m.shape(m.r.randrange(0, 2), 4, 0)
    idx = np.stack([m.rng.integers(-shape[batch + i], shape[batch + i], (*shape[:batch], *lead))
                   for i in range(last)], -1).astype(np.int64)
    return [m.op(k, [x, m.any(idx)], batch_dims=batch)]


def scatters(m):
    m.hard = [np.inf]
    rank = m.r.randrange(1, 4)
    shape = m.shape(rank, 6, 0)
    m.opset = max(m.opset, 18)
    red = m.r.choice(["none", "add", "mul", "max", "min"])
    dt = m.r.choice(["float32"] * 3 + ["int32", "int64", "float64", "uint8", "int8", "float16"])
    k = m.r.choice(["ScatterElements", "ScatterND"])
    x = m.any(m.data(shape, dt)) if m.r.random() < 0.2 else m.input(m.data(shape, dt))
    if k == "ScatterElements":
        axis = m.r.randrange(-rank, rank)
        s = [m.r.randrange(1, q + 1) for q in shape]
        d = shape[axis]
        s[axis] = m.r.choice([1, 2, 5, 11]) if red != "none" else min(d, m.r.choice([1, 2, 3]))
        idx = m.rng.integers(-d, d, s)
        if red == "none":
            idx = np.argsort(m.rng.random(s[:axis %
    rank] + [d] + s[axis %
    rank + 1:]), axis %
    rank).take(range(s[axis]), axis %
     rank)
            idx = np.where(m.rng.random(s) < 0.3, idx - d, idx)
        return [m.op(k, [x, m.any(idx.astype(m.r.choice(["int32", "int64"]))),
                     m.any(m.data(tuple(s), dt))], axis=axis, reduction=red)]
    last = m.r.randrange(1, rank + 1)
    if red == "none":
        total = math.prod(shape[:last])
        n = m.r.randrange(1, min(total, 9) + 1)
        flat = m.rng.permutation(total)[:n]
        idx = np.stack(np.unravel_index(flat, shape[:last]), -1).astype(np.int64)
        lead = (n,)
    else:
        lead = m.shape(m.r.randrange(1, 3), 5, 0)
        idx = np.stack([m.rng.integers(-shape[i], shape[i], lead) for i in range(last)], -1).astype(np.int64)
    return [m.op(k, [x, m.any(idx), m.any(m.data((*lead, *shape[last:]), dt))], reduction=red)]


def reduces(m):
    rank = m.r.randrange(0, 5)
    k = m.r.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd",
                   "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"])
    m.opset = max(m.opset, 20)
    shape = m.shape(rank, 7, 0 if k in ("ReduceMean", "ReduceMax", "ReduceMin") else 0.05)
    dt = m.r.choice(["float32", "float32", "float64", "int32", "int64"] +
     (["int8", "uint8", "bool"] if k in ("ReduceMax", "ReduceMin") else []))
    if k in ("ReduceLogSum", "ReduceLogSumExp", "ReduceL2", "ReduceMean") and np.dtype(dt).kind != "f":
        dt = "float32"
    x = m.data(shape, dt)
    if k == "ReduceLogSum":
        x = np.abs(x)
    if k not in ("ReduceMax", "ReduceMin", "ReduceSum"):  # ONNX Runtime computes the others of integers in other types
        x = np.clip(np.nan_to_num(x), -9, 9)
    axes = m.r.sample(range(rank), m.r.randrange(0, rank + 1))
    ins = [m.input(x)] + ([m.ints(*[a - rank if m.r.random() < 0.3 else a for a in axes])] if axes or m.r.random() < 0.5 else [])
    return [m.op(k, ins, keepdims=m.r.choice([0, 1]), noop_with_empty_axes=m.r.choice([0, 0, 1]))]


def args(m):
    rank = m.r.randrange(1, 5)
    shape = m.shape(rank, 7, 0)
    axis = m.r.randrange(-rank, rank)
    k = m.r.choice(["ArgMax", "ArgMin", "TopK", "TopK", "CumSum", "NonZero", "Trilu",
                   "Hardmax", "OneHot", "EyeLike", "Unique", "ReverseSequence", "Compress"])
    dt = m.r.choice(["float32", "float32", "float64", "int32", "int64", "int8", "uint8"])
    small = np.round(
    np.clip(
        np.nan_to_num(
            m.data(
                shape, dt).astype(
                    np.float64)), -3 if np.dtype(dt).kind != "u" else 0, 3)).astype(dt)
    if k in ("ArgMax", "ArgMin"):
        return [m.op(k, [m.input(small)], axis=axis, keepdims=m.r.choice([0, 1]), select_last_index=m.r.choice([0, 0, 1]))]
    if k == "TopK":
        dt = m.r.choice(["float32", "float32", "int32", "int64"])
        a = m.data(shape, dt)
        a = np.nan_to_num(a) if np.dtype(dt).kind == "f" else a
        if m.r.random() < 0.5:
            a = np.round(np.clip(a, -3, 3)).astype(dt)
        return m.op(k, [m.input(a), m.ints(m.r.randrange(0, shape[axis] + 1))],
                    2, axis=axis, largest=m.r.choice([0, 1]), sorted=1)
    if k == "CumSum":
        dt = m.r.choice(["float32", "float64", "int32", "int64"])
        return [m.op(k, [m.input(m.data(shape, dt) if np.dtype(dt).kind != "f" else m.floats(shape, 0, dt)),
                     m.const(np.asarray(axis, np.int64))], exclusive=m.r.choice([0, 1]), reverse=m.r.choice([0, 1]))]
    if k == "Trilu":
        s = m.shape(m.r.randrange(2, 5), 6)
        dt = m.r.choice(FLOATS + ["int64", "bool", "int32"])
        return [m.op(k, [m.input(m.data(s, dt)), m.const(np.asarray(m.r.choice(
            [0, 1, -1, 3, -4, 100, -100, FULL, -FULL]), np.int64))], upper=m.r.choice([0, 1]))]
    if k == "Hardmax":
        return [m.op(k, [m.input(small.astype(np.float32))], axis=axis)]
    if k == "OneHot":
        depth = m.r.choice([1, 2, 5, 9])
        idx = m.rng.integers(-depth - 2, depth + 2, shape).astype(m.r.choice(["int64", "int32", "float32"]))
        idx = np.clip(idx, -depth, depth - 1)
        return [m.op(k, [m.input(idx), m.const(np.asarray(depth, np.int64)), m.any(
            m.data((2,), m.r.choice(["float32", "int64", "int32"])))], axis=m.r.randrange(-rank - 1, rank + 1))]
    if k == "EyeLike":
        return [m.op(k, [m.input(m.data(m.shape(2, 6, 0), "float32"))], k=m.r.choice(
            [0, 1, -1, 3, -7]), dtype=m.r.choice([T.FLOAT, T.INT32, T.INT64, T.DOUBLE]))]
    if k == "ReverseSequence" and rank >= 2:
        b = m.r.choice([0, 1])
        return [m.op(k, [m.input(m.data(shape, m.r.choice(["float32", "int64"]))), m.any(
            m.rng.integers(1, shape[1 - b] + 1, shape[b]).astype(np.int64))], batch_axis=b, time_axis=1 - b)]
    if k == "Compress":
        return [m.op(k, [m.input(m.data(shape, "float32")), m.const(m.rng.integers(0, 2, shape[axis]).astype(bool))], axis=axis)]
    if k in ("NonZero", "Unique"):  # the number of results has to be known
        found = m.op(k, [m.const(small.astype(np.float32))])
        return [m.op("Add", [m.op("Cast", [found], to=T.FLOAT), m.input(m.floats((1,), 0))])]
    return [m.op("ArgMax", [m.input(small)], axis=axis)]


def resize(m):
    rank = m.r.choice([1, 2, 2, 3])
    shape = (m.r.choice([1, 2]), m.r.choice([1, 2, 3]), *[m.r.choice([1, 2, 3, 4, 5, 8, 11]) for _ in range(rank)])
    m.opset = max(m.opset, 18)
    mode = m.r.choice(["nearest", "nearest", "linear", "linear", "cubic"])
    if mode == "cubic":
        shape = (*shape[:2], *[max(d, 4) for d in shape[2:4]])[:4]
        if len(shape) < 4:
            shape = (*shape, 5)
    coord = m.r.choice(["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                       "asymmetric"] + (["tf_crop_and_resize"] if m.r.random() < 0.3 else []))
    attrs = dict(mode=mode, coordinate_transformation_mode=coord)
    if mode == "nearest":
        attrs["nearest_mode"] = m.r.choice(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attrs["cubic_coeff_a"] = m.r.choice([-0.75, -0.5])
        attrs["exclude_outside"] = m.r.choice([0, 0, 1])
    if mode != "nearest" and m.r.random() < 0.3:
        attrs["antialias"] = 1
    roi = ""
    if coord == "tf_crop_and_resize":
        attrs["extrapolation_value"] = 7.0
        attrs.pop("antialias", None)
        roi = m.const(np.array([0.0] * 2 + [m.r.choice([0.0, 0.2, -0.3]) for _ in shape[2:]] + \
                      [1.0] * 2 + [m.r.choice([1.0, 0.7, 1.4]) for _ in shape[2:]], np.float32))
    dt = m.r.choice(["float32"] * 4 + ["uint8", "int8", "int32"]) if mode == "nearest" else "float32"
    x = m.input(m.data(shape, dt) if dt != "float32" else m.floats(shape, 0))
    if m.r.random() < 0.5:
        sizes = [*shape[:2], *[m.r.choice([1, 2, 3, 5, 7, 10, 16]) for _ in shape[2:]]]
        return [m.op("Resize", [x, roi, "", m.ints(*sizes)], **attrs)]
    scales = [1.0, 1.0, *[m.r.choice([0.3, 0.5, 0.6, 1.0, 1.5, 2.0, 2.5, 3.0]) for _ in shape[2:]]]
    if any(math.floor(d * s) < 1 for d, s in zip(shape, scales)):
        scales = [1.0, 1.0, *[2.0 for _ in shape[2:]]]
    return [m.op("Resize", [x, roi, m.const(np.array(scales, np.float32))], **attrs)]


def matmul(m):
    k = m.r.choice([1, 1, 2, 3, 5, 8, 16, 17, 33, 64])
    a, b = m.r.choice([1, 2, 3, 4, 7, 16, 33]), m.r.choice([1, 2, 3, 4, 7, 8, 16, 31])
    batch = m.broadcasts(2, m.r.randrange(0, 3))
    dt = m.r.choice(FLOATS + ["int32", "int64"])
    sa, sb = (*batch[0], a, k), (*batch[1], k, b)
    if m.r.random() < 0.15:
        sa = (k,)
    if m.r.random() < 0.15:
        sb = (k,)
    make = (lambda s: m.integers(s, dt)) if dt.startswith("i") else lambda s: m.floats(s, 0.05, dt)
    return [m.op("MatMul", [m.input(make(sa)), m.any(make(sb))])]


def gemm(m):
    k, a, b = m.r.choice([1, 2, 5, 16, 17]), m.r.choice([1, 2, 3, 7, 16]), m.r.choice([1, 2, 4, 7, 16])
    ta, tb = m.r.choice([0, 1]), m.r.choice([0, 1])
    c = m.r.choice([None, (), (1,), (b,), (a, 1), (1, b), (a, b)])
    dt = m.r.choice(["float32", "float32", "float16", "float64"])
    ins = [m.input(m.floats((k, a) if ta else (a, k), 0, dt)), m.any(m.floats((b, k) if tb else (k, b), 0, dt))]
    if c is not None:
        ins.append(m.any(m.floats(c, 0, dt)))
    return [m.op("Gemm", ins, alpha=m.r.choice([1.0, 0.5, -2.0, 0.0]),
                 beta=m.r.choice([1.0, 0.5, -1.0, 0.0]), transA=ta, transB=tb)]


def einsum(m):
    eq = m.r.choice(["ij,jk->ik",
    "bij,bjk->bik",
    "bhid,bhjd->bhij",
    "ii->i",
    "ii",
    "i,j->ij",
    "ijk->kji",
    "bij,bkj->bik",
    "ab,bc,cd->ad",
    "...ij,...jk->...ik",
    "ij->",
    "bi,bi->b",
    "abc,cd->abd",
    "aij,jk->aki",
    "ij,ij->ij",
    "i,i->",
     "abcd,cdef->abef"])
    sizes = {c: m.r.choice([1, 2, 3, 4, 7]) for c in "abcdefhijk"}
    ins = []
    for term in eq.split("->")[0].split(","):
        a = m.floats(tuple(sizes[c] for c in term.replace("...", "")), 0)
        ins.append(m.any(a) if ins else m.input(a))
    return [m.op("Einsum", ins, equation=eq)]


def attention(m):
    m.opset = 23
    b, kvh, rep = m.r.choice([1, 2]), m.r.choice([1, 2, 3]), m.r.choice([1, 1, 2, 4])
    q, kv, d, dv = m.r.choice([1, 2, 3, 5, 8]), m.r.choice(
        [1, 2, 4, 7, 16, 17]), m.r.choice([1, 2, 4, 8, 9]), m.r.choice([1, 2, 4, 8, 9])
    h, past = kvh * rep, m.r.choice([0, 0, 0, 1, 3, 8])
    flat = m.r.random() < 0.4
    dt = m.r.choice(["float32"] * 4 + ["float16"])
    mk = lambda *s: m.input(m.floats(s, 0, dt))
    ins = [mk(b, q, h * d), mk(b, kv, kvh * d), mk(b, kv, kvh * dv)
              ] if flat else [mk(b, h, q, d), mk(b, kvh, kv, d), mk(b, kvh, kv, dv)]
    attrs = dict(is_causal=m.r.choice([0, 0, 1]), softcap=m.r.choice([0.0, 0.0, 2.0, 30.0]), scale=m.r.choice([None, 0.5, 1.0]))
    if flat:
        attrs |= dict(q_num_heads=h, kv_num_heads=kvh)
    total, how = kv + past, m.r.randrange(4)
    mask = ""
    if how:
        shape = m.r.choice([(q, total), (1, 1, q, total), (b, 1, q, total), (b, h, q, total), (1, h, q, total)])
        if how == 1:
            a = m.rng.random(shape) < 0.7
            a[..., 0] = True
            mask = m.any(a)
        else:
            a = m.floats(shape, 0, dt)
            if how == 3:
                a = np.where(m.rng.random(shape) < 0.2, -np.inf, a).astype(dt)
                a[..., 0] = 0
            mask = m.any(a)
    ins.append(mask)
    outs = 1
    if past:
        ins += [mk(b, kvh, past, d), mk(b, kvh, past, dv)]
        outs = 3
    while ins[-1] == "":
        ins.pop()
    y = m.op("Attention", ins, outs, **attrs)
    return [y] if outs == 1 else y


def old_attention(m):
    """by hand, with a mask, and soft maxima along any axis"""
    b, h, q, k, d = m.r.choice([1, 2]), m.r.choice([1, 3]), m.r.choice(
        [1, 2, 5, 16]), m.r.choice([1, 3, 8, 17]), m.r.choice([1, 4, 8, 16])
    x, y, z = m.input(m.floats((b, h, q, d), 0)), m.input(m.floats((b, h, k, d), 0)), m.input(m.floats((b, h, k, d), 0))
    s = m.op("MatMul", [x, m.op("Transpose", [y], perm=[0, 1, 3, 2])])
    s = m.op(m.r.choice(["Mul", "Div"]), [s, m.const(np.float32(1.7))])
    if m.r.random() < 0.5:
        mask = np.where(m.rng.random((q, k)) < 0.3, np.float32(m.r.choice([-np.inf, -1e9, -3.4e38, -10000.0])), np.float32(0))
        mask[:, 0] = 0
        s = m.op("Add", [s, m.any(mask.astype(np.float32))])
    elif m.r.random() < 0.5:
        s = m.op("Where", [m.input(m.rng.integers(0, 2, (b, 1, 1, k)).astype(
            bool) | (np.arange(k) == 0)), s, m.const(np.float32(-1e30))])
    s = m.op("Softmax", [s], axis=m.r.choice([-1, 3, 3, 2]))
    return [m.op("MatMul", [s, z])]


def softmaxes(m):
    rank = m.r.randrange(1, 5)
    k = m.r.choice(["Softmax", "LogSoftmax"])
    x = m.floats(m.shape(rank, 7, 0.02), 0)
    if m.r.random() < 0.5 and x.size:
        x = x * m.r.choice([1, 30, 1000, 1e-3])
        x.reshape(-1)[m.rng.integers(0, x.size, max(1, x.size // 5))] = m.r.choice([-np.inf, -1e30, 88.0, 1e4])
    return [m.op(k, [m.input(x.astype(m.r.choice(["float32", "float32", "float64", "float16"])))], axis=m.r.randrange(-rank, rank))]


def norms(m):
    k = m.r.choice(["LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization",
                   "LpNormalization", "LRN", "BatchNormalization", "MeanVarianceNormalization"])
    rank = m.r.randrange(2, 5)
    shape = (m.r.choice([1, 2]), m.r.choice([1, 4, 6, 8]), *m.shape(rank - 2, 5, 0))
    x, c = m.input(m.floats(shape, 0)), shape[1]
    if k == "LayerNormalization":
        axis = m.r.randrange(-rank, rank)
        s = shape[axis:] if axis else shape
        ins = [x, m.any(m.floats(s, 0))] + ([m.any(m.floats(s, 0))] if m.r.random() < 0.6 else [])
        m.opset = max(m.opset, 17)
        return m.op(k, ins, 3, axis=axis, epsilon=m.r.choice([1e-5, 1e-3, 0.1])
                    ) if m.r.random() < 0.3 else [m.op(k, ins, axis=axis)]
    if k == "RMSNormalization":
        m.opset = 23
        axis = m.r.randrange(-rank, rank)
        return [m.op(k, [x, m.any(m.floats(shape[axis:], 0))], axis=axis)]
    if k == "InstanceNormalization" and rank > 2:
        return [m.op(k, [x, m.any(m.floats((c,), 0)), m.any(m.floats((c,), 0))])]
    if k == "GroupNormalization" and rank > 2:
        m.opset = max(m.opset, 21)
        return [m.op(k, [x, m.any(m.floats((c,), 0)), m.any(m.floats((c,), 0))],
                     num_groups=m.r.choice([g for g in (1, 2, 3, 4) if c % g == 0]))]
    if k == "LRN" and rank > 2:
        return [m.op(k, [x], size=m.r.choice([1, 3, 5, 7, 2]), alpha=m.r.choice(
            [1e-4, 0.5]), beta=m.r.choice([0.75, 0.5]), bias=m.r.choice([1.0, 2.0]))]
    if k == "BatchNormalization":
        p = lambda: m.any(m.floats((c,), 0))
        return [m.op(k, [x, p(), p(), p(), m.any(m.floats((c,), 0, positive=True))], epsilon=m.r.choice([1e-5, 1e-2]))]
    if k == "MeanVarianceNormalization":
        return [m.op(k, [x], axes=m.r.sample(range(rank), m.r.randrange(1, rank + 1)))]
    return [m.op("LpNormalization", [x], axis=m.r.randrange(-rank, rank), p=m.r.choice([1, 2]))]


def quantised(m):
    """chains of QuantizeLinear, sums, products and DequantizeLinear with odd zero points"""
    dt = m.r.choice(["uint8", "int8"])
    i = np.iinfo(dt)
    zero = lambda: m.const(np.asarray(m.r.choice([0, i.min, i.max, 1, i.max // 2, i.min // 3, 77]), dt))
    scale = lambda: m.const(np.asarray(m.r.choice([0.1, 0.013, 1.0, 0.5, 2.0, 1 / 3]), np.float32))
    how = m.r.randrange(7)
    if how == 0:  # along an axis
        rank = m.r.randrange(1, 4)
        shape, axis = m.shape(rank, 6, 0), m.r.randrange(-rank, rank)
        n = shape[axis]
        s, z = m.const(np.abs(m.floats((n,), 0)) + np.float32(0.05)), m.const(m.rng.integers(i.min, i.max + 1, n).astype(dt))
        q = m.op("QuantizeLinear", [m.input(m.floats(shape, 0) * 9), s, z], axis=axis)
        return [q, m.op("DequantizeLinear", [q, s, z], axis=axis)]
    if how == 1:
        a, b, k = m.r.choice([1, 2, 5, 16]), m.r.choice([1, 3, 8, 17]), m.r.choice([1, 2, 4, 7, 16, 33, 64])
        other = m.r.choice(["uint8", "int8"])
        j = np.iinfo(other)
        zb = m.const(m.rng.integers(j.min, j.max + 1, b).astype(other)
                     ) if m.r.random() < 0.2 else m.const(np.asarray(m.r.choice([0, j.min, j.max, 3]), other))
        x, w = m.input(m.rng.integers(i.min, i.max + 1, (a, k)).astype(dt)
                       ), m.any(m.rng.integers(j.min, j.max + 1, (k, b)).astype(other))
        return [m.op("MatMulInteger", [x, w, zero(), zb])]
    if how == 2:
        c, o, g = m.r.choice([1, 2, 4, 5]), m.r.choice([1, 3, 8]), m.r.choice([1, 1, 2])
        kk = m.r.choice([1, 2, 3])
        x = m.input(m.rng.integers(0, 256, (1, c * g, m.r.choice([3, 5, 8]), m.r.choice([3, 6, 9]))).astype(np.uint8))
        other = m.r.choice(["uint8", "int8"])
        j = np.iinfo(other)
        w = m.any(m.rng.integers(j.min, j.max + 1, (o * g, c, kk, kk)).astype(other))
        return [m.op("ConvInteger", [x, w, m.const(np.asarray(m.r.choice([0, 255, 128, 3]), np.uint8)), m.const(np.asarray(m.r.choice(
            [0, j.max]), other))], group=g, pads=[m.r.randrange(0, 3) for _ in range(4)], strides=[m.r.choice([1, 2, 3]) for _ in range(2)])]
    if how == 3:
        a, b, k = m.r.choice([1, 2, 5, 16]), m.r.choice([1, 3, 8, 17]), m.r.choice([1, 2, 4, 7, 16, 33])
        x, w = m.input(m.rng.integers(i.min, i.max + 1, (a, k)).astype(dt)
                       ), m.any(m.rng.integers(i.min, i.max + 1, (k, b)).astype(dt))
        m.loose = True
        return [m.op("QLinearMatMul", [x, scale(), zero(), w, scale(), zero(), scale(), zero()])]
    if how == 4:
        shape = m.shape(m.r.randrange(1, 4), 6, 0)
        q = m.op("QuantizeLinear", [m.input(m.floats(shape, 0.3) * 5), scale(), zero()])
        s2, z2 = scale(), zero()
        d = m.op("DequantizeLinear", [q, s2, z2])
        e = m.op(m.r.choice(["Relu", "Neg", "Sigmoid"]), [d])
        m.loose = True
        return [q, m.op("QuantizeLinear", [e, scale(), zero()])]
    if how == 5:
        return m.op("DynamicQuantizeLinear", [m.input(m.floats(m.shape(m.r.randrange(1, 4), 6, 0), 0))], 3)
    m.opset = 21  # int4 and blocks
    rows, cols, block = m.r.choice([1, 3, 8]), m.r.choice([2, 4, 6, 16]), m.r.choice([1, 2])
    t = m.r.choice([T.INT4, T.UINT4])
    lo, hi = (-8, 8) if t == T.INT4 else (0, 16)
    w = m.const(m.rng.integers(lo, hi, (cols, rows)), t)
    if m.r.random() < 0.5:
        s = m.const(np.abs(m.floats((cols // block, rows), 0)) + np.float32(0.1))
        d = m.op("DequantizeLinear", [w, s, m.const(m.rng.integers(lo, hi, (cols // block, rows)), t)], axis=0, block_size=block)
    else:
        d = m.op("DequantizeLinear", [w, scale(), m.const(m.rng.integers(lo, hi, ()), t)])
    return [m.op("MatMul", [m.input(m.floats((m.r.choice([1, 5]), cols), 0)), d])]


def recurrent(m):
    k = m.r.choice(["LSTM", "GRU", "RNN"])
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[k]
    t, b, i, h, d = m.r.choice([1, 2, 5]), m.r.choice([1, 2, 3]), m.r.choice(
        [1, 3, 8]), m.r.choice([1, 2, 5, 8]), m.r.choice(["forward", "reverse", "bidirectional"])
    n = 2 if d == "bidirectional" else 1
    f = lambda *s: m.any(m.floats(s, 0) * np.float32(0.5))
    ins = [m.input(m.floats((t, b, i), 0)), f(n, gates * h, i), f(n, gates * h, h), f(n, 2 * gates * h) if m.r.random() < 0.6 else "",
           m.any(m.rng.integers(1, t + 1, b).astype(np.int32)) if m.r.random() < 0.4 else "", f(n, b, h) if m.r.random() < 0.4 else ""]
    if k == "LSTM":
        ins += [f(n, b, h) if m.r.random() < 0.4 else "", f(n, 3 * h) if m.r.random() < 0.3 else ""]
    while ins[-1] == "":
        ins.pop()
    attrs = dict(hidden_size=h, direction=d)
    if k == "GRU":
        attrs["linear_before_reset"] = m.r.choice([0, 1])
    if m.r.random() < 0.2:
        attrs["clip"] = 0.5
    return m.op(k, ins, 3 if k == "LSTM" else 2, **attrs)


def loops(m):
    n = m.r.choice([0, 1, 2, 5, 9])
    w = m.r.choice([1, 3, 8, 17])
    how = m.r.choice(["loop", "while", "scan", "scan", "if"])
    x = m.input(m.floats((w,), 0))
    info = helper.make_tensor_value_info
    if how == "if":
        body = lambda kind, name: helper.make_graph([helper.make_node(kind, [x], [name])], name, [], [info(name, T.FLOAT, (w,))])
        return [
    m.op(
        "If", [
            m.input(
                np.asarray(
                    m.r.random() < 0.5))], then_branch=body(
                        "Neg", "t1"), else_branch=body(
                            "Exp", "e1"))]
    if how == "scan":
        length, flip = m.r.choice([1, 2, 5, 8]), m.r.choice([0, 1])
        seq = m.input(m.floats((length, w), 0))
        kind = m.r.choice(["Add", "Sub", "Max", "Mul"])
        body = helper.make_graph([helper.make_node(kind, ["s", "i"], ["s2"]), helper.make_node("Sub", ["i", "s"], ["o"])], "b", [
                                 info("s", T.FLOAT, (w,)), info("i", T.FLOAT, (w,))], [info("s2", T.FLOAT, (w,)), info("o", T.FLOAT, (w,))])
        return m.op("Scan", [x, seq], 2, num_scan_inputs=1, body=body, scan_input_directions=[
                    flip], scan_output_directions=[m.r.choice([0, 1])])
    trips = m.const(np.asarray(n, np.int64))
    cond = m.const(np.asarray(True))
    nodes = [
    helper.make_node(
        "Mul", [
            "a", "half"], ["h"]), helper.make_node(
                "Add", [
                    "h", x], ["a2"]), helper.make_node(
                        "Cast", ["it"], ["fi"], to=T.FLOAT), helper.make_node(
                            "Mul", [
                                "a2", "fi"], ["o"])]
    inits = [numpy_helper.from_array(np.float32(0.5), "half")]
    if how == "while":
        inits.append(numpy_helper.from_array(np.int64(m.r.randrange(0, 6)), "stop"))
        nodes.append(helper.make_node("Less", ["it", "stop"], ["more"]))
    else:
        nodes.append(helper.make_node("Identity", ["c"], ["more"]))
    outs = [info("more", T.BOOL, ()), info("a2", T.FLOAT, (w,))] + ([info("o", T.FLOAT, (w,))] if how == "loop" else [])
    body = helper.make_graph(nodes, "b", [info("it", T.INT64, ()), info("c", T.BOOL, ()), info("a", T.FLOAT, (w,))], outs, inits)
    start = m.op("Identity", [x])
    y = m.op("Loop", [trips, cond, start], 2 if how == "loop" else 1, body=body)
    y = y if isinstance(y, list) else [y]
    m.known.update(zip(y, [(T.FLOAT, (w,)), (T.FLOAT, (n, w))]))
    return y


def views(m):
    """transposes, reshapes, joins and parts, one behind another"""
    rank = m.r.randrange(1, 6)
    shape = m.shape(rank, 5)
    dt = m.r.choice(FLOATS + INTS + ["bool"])
    x, s = m.input(m.data(shape, dt)), list(shape)
    for _ in range(m.r.randrange(1, 5)):
        k = m.r.choice(["t", "r", "c", "s", "e", "u", "tile", "d"])
        if k == "t":
            perm = m.r.sample(range(len(s)), len(s))
            x, s = m.op("Transpose", [x], perm=perm), [s[p] for p in perm]
        elif k == "r" and s:
            cut = m.r.randrange(len(s) + 1)
            new = [math.prod(s[:cut]), math.prod(s[cut:])]
            x, s = m.op("Reshape", [x, m.ints(*new)], allowzero=1), new
        elif k == "c" and s:
            a = m.r.randrange(len(s))
            x = m.op(
    "Concat", [
        x, x] if m.r.random() < 0.5 else [
            x, m.any(
                m.data(
                    tuple(s), dt)), x], axis=a - len(s) if m.r.random() < 0.3 else a)
            s[a] *= len(m.nodes[-1].input)
        elif k == "s" and s:
            a = m.r.randrange(len(s))
            if s[a] >= 2:
                first = m.r.randrange(0, s[a] + 1)
                y = m.op("Split", [x, m.ints(first, s[a] - first)], 2, axis=a)
                s[a], x = (first, y[0]) if m.r.random() < 0.5 else (s[a] - first, y[1])
        elif k == "e":
            grown = [m.r.choice([1, 2, 3]) for _ in range(m.r.randrange(0, 2))] + \
                                [m.r.choice([1, 2, 5]) if d == 1 else d for d in s]
            x, s = m.op("Expand", [x, m.ints(*grown)]), grown
        elif k == "u" and len(s) < 6:
            a = m.r.randrange(len(s) + 1)
            x = m.op("Unsqueeze", [x, m.ints(a)])
            s.insert(a, 1)
        elif k == "tile" and s:
            by = [m.r.choice([1, 1, 2, 3]) for _ in s]
            x, s = m.op("Tile", [x, m.ints(*by)]), [a * b for a, b in zip(s, by)]
        if math.prod(s) > 40000:
            break
    return [x]


def depths(m):
    b = m.r.choice([2, 3])
    c, h, w = m.r.choice([1, 2, 3]), m.r.choice([1, 2, 5]), m.r.choice([1, 3, 4])
    k = m.r.choice(["DepthToSpace", "SpaceToDepth", "GridSample", "Col2Im", "RoiAlign"])
    if k == "DepthToSpace":
        return [m.op(k, [m.input(m.floats((2, c * b * b, h, w), 0))], blocksize=b, mode=m.r.choice(["DCR", "CRD"]))]
    if k == "GridSample":
        m.opset = 20
        grid = m.rng.uniform(-1.4, 1.4, (2, m.r.choice([1, 4]), m.r.choice([1, 5]), 2)).astype(np.float32)
        return [m.op(k, [m.input(m.floats((2, c, h + 1, w), 0)), m.any(grid)], mode=m.r.choice(["linear", "cubic"]),
                     padding_mode=m.r.choice(["zeros", "border", "reflection"]), align_corners=m.r.choice([0, 1]))]
    if k == "Col2Im":
        m.opset = max(m.opset, 18)
        kh, kw, p, st, d = m.r.choice([1, 2, 3]), m.r.choice([1, 2]), m.r.choice(
            [0, 1]), m.r.choice([1, 2, 3]), m.r.choice([1, 2])
        H, W = 5, 6
        n = ((H + 2 * p - d * (kh - 1) - 1) // st + 1) * ((W + 2 * p - d * (kw - 1) - 1) // st + 1)
        return [m.op(k, [m.input(m.floats((1, c * kh * kw, n), 0)), m.ints(H, W), m.ints(kh, kw)],
                     pads=[p] * 4, strides=[st] * 2, dilations=[d] * 2)]
    if k == "RoiAlign":
        m.opset = max(m.opset, 16)
        n = m.r.choice([1, 3])
        roi = np.sort(m.rng.uniform(-2, 12, (n, 2, 2)), 1).reshape(n, 4).astype(np.float32)
        return [m.op(k, [m.input(m.floats((2, c, 7, 6), 0)), m.any(roi), m.any(m.rng.integers(0, 2, n).astype(np.int64))], output_height=m.r.choice([1, 2, 3]),
                     output_width=m.r.choice([1, 2, 3]), sampling_ratio=m.r.choice([0, 1, 2, 3]), spatial_scale=m.r.choice([1.0, 0.5]), mode="avg",
                     coordinate_transformation_mode=m.r.choice(["half_pixel", "output_half_pixel"]))]
    return [m.op("SpaceToDepth", [m.input(m.floats((1, c, h * b, w * b), 0))], blocksize=b)]


FAMILIES = [
    elementwise,
    elementwise,
    elementwise,
    binary,
    bits,
    cast,
    conv,
    conv,
    conv,
    conv_transpose,
    pool,
    pool,
    slices,
    pads,
    gathers,
    scatters,
    scatters,
    reduces,
    reduces,
    args,
    args,
    resize,
    matmul,
    matmul,
    gemm,
    einsum,
    attention,
    attention,
    old_attention,
    softmaxes,
    norms,
    norms,
    quantised,
    quantised,
    recurrent,
    loops,
    loops,
    views,
    views,
     depths]


# ---- what goes before and behind ----
def tail(m, x):
    """ops that take any shape and any of the usual types"""
    k = m.r.choice(["flat", "flat", "rev", "twice", "sum", "T", "cast", "max0", "id"])
    if k == "flat":
        return m.op("Reshape", [x, m.ints(-1)])
    if k == "rev":
        return m.op("Slice", [m.op("Reshape", [x, m.ints(-1)]), m.ints(-1),
                    m.ints(-FULL), m.ints(0), m.ints(-m.r.choice([1, 2, 3]))])
    if k == "twice":
        y = m.op("Reshape", [x, m.ints(-1)])
        return m.op("Concat", [y, m.op("Slice", [y, m.ints(1), m.ints(FULL)]), y], axis=0)
    if k == "T":
        return m.op("Transpose", [x])
    if k == "cast":
        return m.op("Cast", [x], to=T.FLOAT)
    if k == "sum":
        return m.op("Add", [m.op("Cast", [x], to=T.FLOAT), m.const(np.float32(0.5))])
    return m.op("Identity", [x])


def compose(seed):
    """-> a model and its inputs"""
    for again in range(20):
        m = Model(seed * 20 + again)
        outs = list(m.r.choice(FAMILIES)(m))
        for _ in range(m.r.choice([0, 0, 1, 2])):
            outs.append(tail(m, m.r.choice(outs)))
        if m.r.random() < 0.3:
            outs = outs[-1:]
        made = {o for n in m.nodes for o in n.output}
        outs = [o for o in dict.fromkeys(outs) if o in made]
        try:
            proto = m.proto(outs)
            onnx.checker.check_model(proto)
        except Exception:
            continue
        return proto, m.inputs, m.loose
    return None, None, None


# ---- judging ----
def session(proto):
    return runner.session(proto.SerializeToString())


def differs(got, want, loose, half=False):
    """-> words, or None; infinities and NaN have to be where they are there"""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)} for {want.dtype}{list(want.shape)}"
    if not got.size:
        return None
    wide = lambda a: a.astype(np.float64)
    if want.dtype.kind in "iub":
        bad = wide(got) != wide(want) if want.dtype.itemsize < 8 else got != want
        if loose:
            bad = np.abs(wide(got) - wide(want)) > 1
    else:
        small = 2e-2 if half else {2: 2e-2, 4: 1e-3, 8: 1e-5}[want.dtype.itemsize]
        g, w = wide(got), wide(want)
        fine = np.isfinite(w)
        largest = np.abs(w[fine & (np.abs(w) < 1e30)]).max(initial=0)
        with np.errstate(invalid="ignore", over="ignore"):
            near = np.abs(g - w) <= small * np.abs(w) + (small / 20) * largest + 1e-30
        bad = ~np.where(fine, near, (g == w) | (np.isnan(g) & np.isnan(w)))
    if not bad.any():
        return None
    at = tuple(int(x) for x in np.argwhere(bad)[0])
    return f"{int(bad.sum())} of {bad.size} differ, {list(at)} is {got[at]!r}, there {want[at]!r}"


def judged(proto, feed, got, loose):
    """-> words on a difference, or None; who judged"""
    try:
        want, who = session(proto).run(None, feed), "ONNX Runtime"
    except Exception:
        want, who = None, "nobody"
    half = any(t.data_type == T.FLOAT16 for t in proto.graph.initializer) or any(a.dtype == np.float16 for a in feed.values())
    words = None
    if want is not None:
        words = next((f"output {i}: {w}" for i, (a, b) in enumerate(zip(got, want)) if (w := differs(a, b, loose, half))), None)
        if not words:
            return None, who
    try:
        with np.errstate(all="ignore"):
            other = ReferenceEvaluator(proto).run(None, feed)
        second = next((f"output {i}: {w}" for i, (a, b) in enumerate(
            zip(got, map(np.asarray, other))) if (w := differs(a, b, loose, half))), None)
        if want is None:
            return (f"reference: {second}" if second else None), "the reference"
        if not second:
            return None, "the reference against ONNX Runtime"
        return f"ORT {words} || reference {second}", who
    except Exception as e:
        return (f"ORT {words} || reference cannot: {str(e)[:80]}" if words else None), who


WAYS = [["--backend=llvm",
    "--kernel-groups=all"],
    ["--backend=llvm",
    "--threads=2"],
    ["--backend=llvm",
    "--optimize=size"],
    ["--backend=llvm",
    "--optimize=ram"],
    ["--backend=llvm",
    "--isa=x86-64-v2"],
    ["--backend=llvm",
    "--precision=fp32-strict"],
    ["--backend=llvm",
    "--kernel-groups=all",
    "--threads=2"],
    ["--backend=llvm",
    "--isa=portable"],
    ["--backend=llvm",
    "--precision=bf16x6"],
    ["--threads=2"],
    ["--optimize=size"],
    ["--kernel-groups=all"],
    ["--isa=x86-64-v3"],
    ["--isa=portable"],
    ["--optimize=ram",
     "--threads=2"]]


def more_ways(path, prefix, seed, proto, feed, loose, base):
    r = random.Random(seed)
    way = r.choice(WAYS) + (["--denormals=keep"] if seed & 1 else [])
    out = pathlib.Path(f"{prefix}.out")
    ins = [f"--input={k}={prefix}.in{i}.pb" for i, k in enumerate(feed)]
    p = subprocess.run([TGC, "run", str(path), "--no-tune-store", "-q", *way, "-o", str(out), "--format=pb", *ins],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=120)
    if p.returncode:
        return None if p.returncode in (65, 69) else f"{way}: status {p.returncode}: {(p.stdout + p.stderr)[-300:]}"
    got = [numpy_helper.to_array(onnx.load_tensor(str(out / f"output_{i}.pb"))) for i in range(len(proto.graph.output))]
    words = next((f"output {i}: {w}" for i, (a, b) in enumerate(zip(got, base)) if (w := differs(a, b, loose, True))), None)
    return f"{way}: {words}" if words else None


def examine(batch, args):
    folder = args.folder / f"batch-{batch}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    seeds = range(args.seed + batch * BATCH, args.seed + min((batch + 1) * BATCH, args.graphs))
    isa = runner.MACHINES[batch % len(runner.MACHINES)] if not args.isa else args.isa
    counts, failures, jobs, made = collections.Counter(), [], [], {}
    for seed in seeds:
        proto, feed, loose = compose(seed)
        if proto is None:
            counts["not composed"] += 1
            continue
        path = folder / f"{seed}.onnx"
        path.write_bytes(proto.SerializeToString())
        for i, (k, a) in enumerate(feed.items()):
            (folder / f"{seed}.in{i}.pb").write_bytes(numpy_helper.from_array(a, k).SerializeToString())
        jobs.append((path, "l" + ("c" if seed % 8 == 0 else "") + "j" + ("s" if seed & 1 else ""),
                    folder / f"{seed}", [folder / f"{seed}.in{i}.pb" for i in range(len(feed))]))
        made[seed] = proto, feed, loose
    for (seed, (proto, feed, loose)), job, o in zip(made.items(), jobs, runner.run(jobs, isa)):
        counts["graphs"] += 1
        counts.update(dict(zip(runner.COUNTS, o.counts)))
        why = o.failed[0] if o.failed else ""
        if not why and o.counts[runner.COUNTS.index("clamped")]:
            why = "clamped accesses"
        if not why and o.refused:
            try:
                session(proto).run(None, feed)
                counts["only refused by tgc"] += 1
                why = "" if args.refusals is None else f"refused: {o.refused}"
            except Exception:
                pass
        elif not why:
            got = [numpy_helper.to_array(t) for t in runner.saved(job[2], "output")]
            if got:
                why, who = judged(proto, feed, got, loose)
                counts[who] += 1
                if not why and random.Random(seed).random() < args.run:
                    try:
                        why = more_ways(job[0], job[2], seed, proto, feed, loose, got)
                        counts["runs"] += 1
                    except subprocess.TimeoutExpired:
                        why = "hang"
        if why:
            kept = args.folder / f"{seed}.onnx"
            kept.write_bytes(proto.SerializeToString())
            for i in range(len(feed)):
                shutil.copy(folder / f"{seed}.in{i}.pb", args.folder)
            failures.append(
    (seed,
    isa,
    why,
    " ; ".join(
        f"{n.op_type}({','.join(n.input)})" for n in proto.graph.node),
         str(kept)))
    if not args.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return counts, failures


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--graphs", type=int, default=400)
    p.add_argument("--seed", type=int, default=0, help="of the first graph")
    p.add_argument("--isa", help="pair of machines for all")
    p.add_argument("--run", type=float, default=0.1, help="share that goes through tgc run as well")
    p.add_argument("--refusals", action="store_const", const=True,
                   help="models that ONNX Runtime takes and tgc refuses are failures")
    p.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/fuzz/corners"))
    p.add_argument("--keep", action="store_true", help="keep all files")
    p.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS") or os.cpu_count()))
    args = p.parse_args()
    if not runner.ort:
        print(f"# without ONNX Runtime: {runner.MISSING}")
        return 0
    args.folder = args.folder.resolve()
    args.folder.mkdir(parents=True, exist_ok=True)
    total, bad, start = collections.Counter(), 0, time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        batches = range((args.graphs + BATCH - 1) // BATCH)
        for job in concurrent.futures.as_completed([pool.submit(examine, b, args) for b in batches]):
            counts, failures = job.result()
            total += counts
            for seed, isa, why, text, path in failures:
                bad += 1
                print(f"FAIL seed {seed} on {isa}: {why}\n  {path}\n  {text}", flush=True)
    print(
    f"{total.pop('graphs', 0)} graphs in {time.monotonic() - start:.0f} s, {bad} failures: " +
    ", ".join(
        f"{n} {k}" for k,
         n in total.items()))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
