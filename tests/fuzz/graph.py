# SPDX-License-Identifier: MIT
"""Graphs as the fuzzer holds them: nodes, tensors and values whose types are known, to be written as ONNX and to be
cut. Needs neither numpy nor onnx."""
import math
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
import onnxfile  # noqa: E402

F32, U8, I8, U16, I16, I32, I64, BOOL, F16, F64, U32, U64, BF16 = 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16
CODES = {F32: "f", U8: "B", I8: "b", U16: "H", I16: "h", I32: "i", I64: "q", BOOL: "?", F16: "e", F64: "d", U32: "I", U64: "Q"}
FLOATS, SIGNED, UNSIGNED = (F32, F16, F64, BF16), (I8, I16, I32, I64), (U8, U16, U32, U64)
INTS = SIGNED + UNSIGNED
RANGES = {dt: (-(1 << 8 * struct.calcsize(CODES[dt]) - 1), (1 << 8 * struct.calcsize(CODES[dt]) - 1) - 1) for dt in SIGNED}
RANGES |= {dt: (0, (1 << 8 * struct.calcsize(CODES[dt])) - 1) for dt in UNSIGNED}


def packed(dt, data):
    """the bytes of a tensor"""
    if dt != BF16:
        return struct.pack(f"<{len(data)}{CODES[dt]}", *data)
    out = bytearray()
    for x in data:
        bits = struct.unpack("<I", struct.pack("<f", x))[0]
        out += struct.pack("<H", min(bits + 0x7FFF + (bits >> 16 & 1) >> 16, 0xFFFF))
    return bytes(out)


class Value:
    """what is known of a value: its type, its shape, and that its elements lie in [lo, hi]"""

    def __init__(self, name, dt, shape, lo, hi):
        self.name, self.dt, self.shape, self.lo, self.hi = name, dt, tuple(shape), lo, hi

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def most(self):
        return max(abs(self.lo), abs(self.hi))


class Node:
    def __init__(self, op, ins, outs, attrs, domain=""):
        self.op, self.ins, self.outs, self.attrs, self.domain = op, ins, outs, attrs, domain

    def __str__(self):
        attrs = "".join(f" {k}={v if not isinstance(v, bytes) else '...'}" for k, v in self.attrs.items())
        return f"{', '.join(self.outs)} = {self.op}({', '.join(self.ins)}){attrs}"


class Graph:
    def __init__(self, opset):
        self.opset = opset
        self.nodes, self.tensors, self.values = [], {}, {}  # tensors: name -> (type, shape, elements)
        self.inputs, self.outputs = [], []                   # names
        self.data = {}                                       # of inputs: as tensors

    def info(self, name):
        v = self.values[name]
        return onnxfile.value(name, v.dt, v.shape)

    def onnx(self):
        domains = {""} | {n.domain for n in self.nodes}
        nodes = [onnxfile.node(n.op, n.ins, n.outs, **n.attrs) + (onnxfile.field(7, n.domain) if n.domain else b"") for n in self.nodes]
        used = {i for n in self.nodes for i in n.ins} | set(self.outputs) | set(self.inputs)
        tensors = [onnxfile.tensor(k, dt, shape, packed(dt, data)) for k, (dt, shape, data) in self.tensors.items() if k in used]
        graph = onnxfile.graph("fuzz", nodes, tensors, map(self.info, self.inputs), map(self.info, self.outputs))
        imports = b"".join(onnxfile.field(8, onnxfile.field(1, d) + onnxfile.field(2, 1 if d else self.opset)) for d in sorted(domains))
        return onnxfile.field(1, 8 if self.opset < 21 else 10) + onnxfile.field(7, graph) + imports

    def cut(self, inputs, outputs):
        """what computes outputs out of inputs, which may be inner values: without their elements in data"""
        g = Graph(self.opset)
        g.values, g.tensors, wanted, kept = self.values, self.tensors, set(outputs), []
        for n in reversed(self.nodes):
            if wanted & set(n.outs) - set(inputs):
                kept.append(n)
                wanted |= {i for i in n.ins if i}
        made = {o for n in kept for o in n.outs}
        g.nodes = kept[::-1]
        g.inputs = [v for v in self.values if v in wanted and v not in self.tensors and (v in inputs or v not in made)]
        g.outputs, g.data = list(outputs), {k: v for k, v in self.data.items() if k in g.inputs}
        return g

    def text(self):
        lines = [f"opset {self.opset}"]
        lines += [f"{kind} {v}: {self.values[v].dt}{list(self.values[v].shape)}" for kind, names in
                  (("input", self.inputs), ("tensor", [t for t in self.tensors if any(t in n.ins for n in self.nodes)]),
                   ("output", self.outputs)) for v in names]
        return "\n".join(lines + [f"{n}  -> {[list(self.values[o].shape) for o in n.outs if o]}" for n in self.nodes])
