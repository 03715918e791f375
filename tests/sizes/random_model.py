# SPDX-License-Identifier: MIT
"""A random ONNX model in the making, for random_graphs.py: its open dimensions with their ranges, its nodes, and its values. ONNX
Runtime runs each node at all sizes of the test when it is added. So a model is valid at each of them, and shapes are known."""
import random

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

RUNS = 6          # sizes at which a model is tried
MOST = 6000       # most elements of a value
F = ("float32", "float16", "float64")
INTS = ("int64", "int32", "int8", "uint8")


class Refused(Exception):
    """ONNX Runtime does not take the node at some size"""


def session(proto):
    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.log_severity_level, o.intra_op_num_threads, o.inter_op_num_threads = 4, 1, 1
    return ort.InferenceSession(proto.SerializeToString(), o, providers=["CPUExecutionProvider"])


class Model:
    def __init__(self, seed):
        self.r, self.rng = random.Random(seed), np.random.default_rng(seed)
        self.opset = self.r.choice([17, 18, 19, 20, 21])
        self.nodes, self.inits, self.count = [], {}, 0
        self.values = {}   # name: its arrays, one for each run
        self.inputs = {}   # name: its dimensions, numbers and symbols
        self.counted = set()  # values with rows that data count
        self.loose = False
        names = ["n", "m", "k"][:self.r.choice([1, 1, 2, 2, 3])]
        self.ranges = {}
        for s in names:
            step = self.r.choice([1, 1, 1, 1, 2, 4])
            low = self.r.choice([1, 1, 2, 3, 5, 8]) if step == 1 else step * self.r.choice([1, 2])
            low = 0 if self.r.random() < 0.05 else low
            self.ranges[s] = (low, low + step * self.r.choice([1, 2, 3, 5, 7, 11, 16] if len(names) < 3 else [1, 2, 3, 4, 6]),
                              step)
        self.runs = [{s: r[0] for s, r in self.ranges.items()}, {s: r[1] for s, r in self.ranges.items()}]
        while len(self.runs) < RUNS:
            self.runs.append({s: self.r.randrange(a, b + 1, c) for s, (a, b, c) in self.ranges.items()})

    # -- values --
    def name(self, letter="v"):
        self.count += 1
        return f"{letter}{self.count}"

    def const(self, a):
        name = self.name("c")
        self.inits[name] = numpy_helper.from_array(np.asarray(a), name)
        self.values[name] = [np.asarray(a)] * RUNS
        return name

    def ints(self, *a):
        return self.const(np.array(a, np.int64))

    def int(self, a):
        return self.const(np.array(a, np.int64))

    def weight(self, *shape, dt="float32", scale=1.0):
        return self.const((self.rng.standard_normal(shape) * scale).astype(dt))

    def data(self, shape, dt):
        if dt == "bool":
            return self.rng.integers(0, 2, shape).astype(bool)
        if dt in F:
            return self.rng.standard_normal(shape).astype(dt)
        i = np.iinfo(dt)
        return self.rng.integers(max(i.min, -20), 21, shape).astype(dt)

    def input(self, dims, dt="float32"):
        name = self.name("x")
        self.inputs[name] = dims
        self.values[name] = [self.data(tuple(run.get(d, d) for d in dims), dt) for run in self.runs]
        return name

    def shapes(self, v):
        return [a.shape for a in self.values[v]]

    def rank(self, v):
        return self.values[v][0].ndim

    def type(self, v):
        return self.values[v][0].dtype.name

    def open(self, v, axis):
        return len({s[axis] for s in self.shapes(v)}) > 1

    def least(self, v, axis):
        return min(s[axis] for s in self.shapes(v))

    def some(self, types=None, rank=None, where=lambda v: True, fresh=True):
        """a value that fits; the last ones are likelier"""
        fits = [v for v in self.values if v not in self.inits and (types is None or self.type(v) in types) and
                (rank is None or self.rank(v) in rank) and where(v) and v not in self.counted]
        if not fits:
            raise Refused("no value fits")
        return fits[max(self.r.randrange(len(fits)), self.r.randrange(len(fits)))]

    def axis(self, v, least=0):
        fits = [a for a in range(self.rank(v)) if self.least(v, a) >= least]
        if not fits:
            raise Refused("no axis fits")
        fits += [a for a in fits if self.open(v, a)] * 2
        return self.r.choice(fits)

    def sign(self, a, v):
        return a - self.rank(v) if self.r.random() < 0.3 else a

    # -- nodes --
    def op(self, kind, ins, outs=1, domain="", **attrs):
        names = [self.name() for _ in range(outs)]
        node = helper.make_node(kind, ins, names, domain=domain, **{k: v for k, v in attrs.items() if v is not None})
        used = [i for i in dict.fromkeys(self.captured(node)) if i]
        info = [helper.make_tensor_value_info(i, helper.np_dtype_to_tensor_dtype(self.values[i][0].dtype), [None] * self.rank(i))
                for i in used if i not in self.inits]
        proto = self.wrap([node], info, names, [self.inits[i] for i in used if i in self.inits])
        results = []
        try:
            s = session(proto)
            for k in range(RUNS):
                results.append(s.run(None, {i: self.values[i][k] for i in used if i not in self.inits}))
        except Exception as e:
            raise Refused(str(e)[:200])
        for k, name in enumerate(names):
            arrays = [np.asarray(r[k]) for r in results]
            if any(a.size > MOST or a.ndim > 6 for a in arrays) or len({a.ndim for a in arrays}) > 1:
                raise Refused("too large")
            if arrays[0].dtype.kind == "f" and any(not np.isfinite(a).all() or np.abs(a).max(initial=0) > 1e4 for a in arrays):
                raise Refused("too large")
            if arrays[0].dtype.kind == "O":
                raise Refused("type")
        for k, name in enumerate(names):
            self.values[name] = [np.asarray(r[k]) for r in results]
            if any(i in self.counted for i in used):
                self.counted.add(name)
        self.nodes.append(node)
        return names[0] if outs == 1 else names

    @staticmethod
    def captured(node):
        """inputs, and outer values that bodies use"""
        names = list(node.input)
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                made = {i.name for i in a.g.input} | {t.name for t in a.g.initializer}
                for n in a.g.node:
                    names += [i for i in Model.captured(n) if i not in made]
                    made |= set(n.output)
                names += [o.name for o in a.g.output if o.name not in made]
        return names

    def wrap(self, nodes, info, outs, inits):
        g = helper.make_graph(nodes, "g", info, [onnx.ValueInfoProto(name=o) for o in outs], inits)
        m = helper.make_model(g, opset_imports=[helper.make_opsetid("", self.opset)])
        m.ir_version = 8 if self.opset < 21 else 10
        return m

    def proto(self, outs):
        needed, nodes = set(outs), []
        for n in reversed(self.nodes):
            if needed & set(n.output):
                nodes.insert(0, n)
                needed |= set(self.captured(n))
        info = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(self.values[k][0].dtype), d)
                for k, d in self.inputs.items() if k in needed]
        m = self.wrap(nodes, info, outs, [t for k, t in self.inits.items() if k in needed])
        del m.graph.output[:]
        for o in outs:
            dims = [(f"{o}_{a}" if self.open(o, a) else self.shapes(o)[0][a]) for a in range(self.rank(o))]
            m.graph.output.append(helper.make_tensor_value_info(o, helper.np_dtype_to_tensor_dtype(self.values[o][0].dtype),
                                                                dims))
        return m

    # -- extents as data --
    def extent(self, v, a, scalar=False):
        s = self.op("Shape", [v])
        if self.r.random() < 0.5 or scalar:
            return self.op("Gather", [s, self.int(a) if scalar else self.ints(a)], axis=0)
        return self.op("Slice", [s, self.ints(a), self.ints(a + 1), self.ints(0)])

    def shape_of(self, *parts):
        """numbers, and names of extents"""
        if self.type_of_numbers(parts):
            return self.ints(*parts)
        return self.op("Concat", [self.ints(p) if isinstance(p, int) else p for p in parts], axis=0)

    @staticmethod
    def type_of_numbers(parts):
        return all(isinstance(p, int) for p in parts)

    def dims(self, v):
        """extents of a value as data, one by one"""
        return [self.extent(v, a) if self.open(v, a) or self.r.random() < 0.1 else self.shapes(v)[0][a]
                for a in range(self.rank(v))]
