# SPDX-License-Identifier: MIT
"""Random ONNX models with one to three open dimensions. ONNX Runtime runs each node at all sizes of the test when it is added, so a
model is valid at each of them, and shapes are known. compose(seed) gives a Model."""
import random

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper, numpy_helper

RUNS = 6          # sizes at which a model is tried
MOST = 6000       # most elements of a value
FULL = 1 << 62
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
            self.ranges[s] = (low, low + step * self.r.choice([1, 2, 3, 5, 7, 11, 16] if len(names) < 3 else [1, 2, 3, 4, 6]), step)
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
        info = [helper.make_tensor_value_info(i, helper.np_dtype_to_tensor_dtype(self.values[i][0].dtype), [None] * self.rank(i)) for i in used if i not in self.inits]
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
        info = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(self.values[k][0].dtype), d) for k, d in self.inputs.items() if k in needed]
        m = self.wrap(nodes, info, outs, [t for k, t in self.inits.items() if k in needed])
        del m.graph.output[:]
        for o in outs:
            dims = [(f"{o}_{a}" if self.open(o, a) else self.shapes(o)[0][a]) for a in range(self.rank(o))]
            m.graph.output.append(helper.make_tensor_value_info(o, helper.np_dtype_to_tensor_dtype(self.values[o][0].dtype), dims))
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
        return [self.extent(v, a) if self.open(v, a) or self.r.random() < 0.1 else self.shapes(v)[0][a] for a in range(self.rank(v))]


# ---- families ----
def unary(m):
    v = m.some(F)
    k = m.r.choice(["Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Erf", "Softplus", "HardSwish", "Elu", "LeakyRelu", "Sin", "Cos", "Softsign", "Selu", "HardSigmoid"])
    return m.op(k, [v])


def rounding(m):
    v = m.some(["float32"])  # halves have ties
    return m.op(m.r.choice(["Floor", "Ceil", "Round", "Sign"]), [m.op("Mul", [v, m.const(np.array(1.37, m.type(v)))])])


def binary(m):
    v = m.some(F + INTS)
    same = [w for w in m.values if w not in m.inits and w not in m.counted and m.type(w) == m.type(v) and fits(m, v, w)]
    w = m.r.choice(same) if m.r.random() < 0.8 else m.const(m.data((), m.type(v)))
    ins = [v, w] if m.r.random() < 0.5 else [w, v]
    return m.op(m.r.choice(["Add", "Sub", "Mul", "Add", "Max", "Min"]), ins)


def fits(m, v, w):
    try:
        for a, b in zip(m.shapes(v), m.shapes(w)):
            np.broadcast_shapes(a, b)
        return True
    except ValueError:
        return False


def integer(m):
    v = m.some(INTS)
    dt = m.type(v)
    k = m.r.choice(["Div", "Mod", "BitwiseAnd", "BitwiseXor", "Mul"])
    if k.startswith("Bit"):
        m.opset = max(m.opset, 18)
    return m.op(k, [v, m.const(np.array(m.r.choice([3, 5, 7]), dt))])


def cast(m):
    v = m.some()
    to = m.r.choice(["float32", "float32", "float16", "float64", "int64", "int32", "int8", "bool", "uint8"])
    if m.type(v) == "float16" and to not in F:
        raise Refused("halves have ties")
    if m.type(v) in F and to not in F:
        v = m.op("Floor", [m.op("Abs", [m.op("Mul", [v, m.const(np.array(3.31, m.type(v)))])])])
    return m.op("Cast", [v], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def compare(m):
    v = m.some(F + ("int64", "int32"))
    same = [w for w in m.values if w not in m.inits and w not in m.counted and m.type(w) == m.type(v) and fits(m, v, w)]
    return m.op(m.r.choice(["Less", "Greater", "Equal", "LessOrEqual"]), [v, m.r.choice(same)])


def where(m):
    c = m.some(["bool"])
    v = m.some(F + INTS, where=lambda w: fits(m, c, w))
    same = [w for w in m.values if w not in m.inits and w not in m.counted and m.type(w) == m.type(v) and fits(m, v, w)]
    w = m.r.choice(same) if m.r.random() < 0.6 else m.const(m.data((), m.type(v)))
    return m.op("Where", [c, v, w])


def reduce(m):
    v = m.some(F + ("int64", "int32"), rank=range(1, 6))
    axes = m.r.sample(range(m.rank(v)), m.r.choice([1, 1, 2]) if m.rank(v) > 1 else 1)
    kinds = ["ReduceSum", "ReduceMax", "ReduceMin"] + (["ReduceMean", "ReduceL2", "ReduceL1", "ReduceLogSumExp", "ReduceSumSquare"] if m.type(v) in F else [])
    k = m.r.choice(kinds)
    keep = m.r.choice([0, 1, 1])
    if k == "ReduceSum" or m.opset >= 18:
        return m.op(k, [v, m.ints(*axes)], keepdims=keep)
    return m.op(k, [v], axes=axes, keepdims=keep)


def arg(m):
    v = m.some(F + ("int32",), rank=range(1, 6))
    return m.op(m.r.choice(["ArgMax", "ArgMin"]), [v], axis=m.axis(v, 1), keepdims=m.r.choice([0, 1]), select_last_index=m.r.choice([0, 1]))


def cumsum(m):
    v = m.some(F + ("int64", "int32"), rank=range(1, 5))
    return m.op("CumSum", [v, m.int(m.axis(v))], exclusive=m.r.choice([0, 1]), reverse=m.r.choice([0, 1]))


def softmax(m):
    v = m.some(F, rank=range(1, 5))
    return m.op(m.r.choice(["Softmax", "Softmax", "LogSoftmax", "Hardmax"]), [v], axis=m.sign(m.axis(v), v))


def norm(m):
    k = m.r.choice(["LayerNormalization", "InstanceNormalization", "GroupNormalization", "LpNormalization"])
    if k == "LpNormalization":
        v = m.some(["float32"], rank=range(1, 5))
        return m.op(k, [v], axis=m.axis(v), p=m.r.choice([1, 2]))
    if k == "LayerNormalization":
        v = m.some(["float32"], rank=range(2, 5), where=lambda v: not m.open(v, m.rank(v) - 1) and m.least(v, m.rank(v) - 1) > 1)
        c = m.shapes(v)[0][-1]
        return m.op(k, [v, m.weight(c), m.weight(c)], axis=-1)
    v = m.some(["float32"], rank=range(3, 5), where=lambda v: not m.open(v, 1) and m.least(v, 1) > 0)
    c = m.shapes(v)[0][1]
    if k == "GroupNormalization":
        m.opset = 21
        return m.op(k, [v, m.weight(c), m.weight(c)], num_groups=m.r.choice([g for g in (1, 2, 3, c) if c % g == 0]))
    return m.op(k, [v, m.weight(c), m.weight(c)])


def matmul(m):
    k = m.r.choice(["const", "const", "left", "self", "self", "gemm", "einsum", "two"])
    v = m.some(["float32", "float32", "float64", "float16"], rank=range(2, 5))
    dt = m.type(v)
    if k == "two":
        w = m.some([dt], rank=range(2, 5), where=lambda w: all(a[-1] == b[-2] for a, b in zip(m.shapes(v), m.shapes(w))))
        return m.op("MatMul", [v, w])
    if k == "self":
        perm = list(range(m.rank(v)))
        perm[-2:] = perm[:-3:-1]
        t = m.op("Transpose", [v], perm=perm)
        return m.op("MatMul", [v, t] if m.r.random() < 0.6 else [t, v])
    if k == "left":
        if m.open(v, m.rank(v) - 2):
            raise Refused("open")
        return m.op("MatMul", [m.weight(m.r.choice([1, 3, 5]), m.shapes(v)[0][-2], dt=dt, scale=0.4), v])
    if m.open(v, m.rank(v) - 1):
        raise Refused("open")
    c = m.shapes(v)[0][-1]
    n = m.r.choice([1, 2, 3, 5, 8, 16, 33])
    if k == "gemm" and m.rank(v) == 2:
        return m.op("Gemm", [v, m.weight(n, c, dt=dt, scale=0.4), m.weight(n, dt=dt)], transB=1, alpha=m.r.choice([1.0, 0.5]))
    if k == "einsum" and m.rank(v) == 3:
        return m.op("Einsum", [v, m.weight(n, c, dt=dt, scale=0.4)], equation=m.r.choice(["abc,dc->abd", "abc,dc->adb", "abc,dc->dab"]))
    return m.op("MatMul", [v, m.weight(c, n, dt=dt, scale=0.4)])


def transpose(m):
    v = m.some(rank=range(2, 5))
    return m.op("Transpose", [v], perm=m.r.sample(range(m.rank(v)), m.rank(v)))


def reshape(m):
    k = m.r.choice(["join", "join", "minus", "chain", "unsqueeze", "squeeze", "flatten", "split", "zero"])
    v = m.some(rank=range(1, 5))
    rank = m.rank(v)
    if k == "unsqueeze":
        return m.op("Unsqueeze", [v, m.ints(m.r.randrange(rank + 1))])
    if k == "squeeze":
        ones = [a for a in range(rank) if all(s[a] == 1 for s in m.shapes(v))]
        return m.op("Squeeze", [v, m.ints(m.r.choice(ones))]) if ones else m.op("Identity", [v])
    if k == "flatten":
        return m.op("Flatten", [v], axis=m.r.randrange(rank + 1))
    if k == "split":
        fits = [a for a in range(rank) if not m.open(v, a) and m.shapes(v)[0][a] % 2 == 0 and m.shapes(v)[0][a]]
        a = m.r.choice(fits) if fits else 0
        d = m.dims(v)
        if not fits:
            raise Refused("no axis")
        return m.op("Reshape", [v, m.shape_of(*d[:a], 2, d[a] // 2 if isinstance(d[a], int) else m.op("Div", [d[a], m.ints(2)]), *d[a + 1:])])
    if k == "zero":
        return m.op("Reshape", [v, m.ints(0, -1)])
    if k == "minus":
        return m.op("Reshape", [v, m.ints(-1)])
    if rank < 2:
        raise Refused("rank")
    a = m.r.randrange(rank - 1)
    d = m.dims(v)
    if k == "join":
        if isinstance(d[a], int) and isinstance(d[a + 1], int):
            both = d[a] * d[a + 1]
        else:
            both = m.op("Mul", [m.ints(x) if isinstance(x, int) else x for x in d[a:a + 2]])
        return m.op("Reshape", [v, m.shape_of(*d[:a], both, *d[a + 2:])])
    return m.op("Reshape", [v, m.shape_of(*d[:a], -1, *d[a + 2:])])


def unjoin(m):
    """joins axes and takes them apart again, with ops between"""
    v = m.some(F, rank=range(2, 5))
    s = m.op("Shape", [v])
    flat = m.op("Reshape", [v, m.ints(0, -1) if m.r.random() < 0.5 else m.ints(-1)])
    for _ in range(m.r.randrange(3)):
        flat = m.op(m.r.choice(["Tanh", "Abs", "Softplus"]), [flat])
    if m.r.random() < 0.4:
        flat = m.op("Softmax", [flat], axis=-1)
    return m.op("Reshape", [flat, s])


def expand(m):
    k = m.r.choice(["shape", "tile", "const", "fill", "range"])
    v = m.some(F + INTS, rank=range(0, 5))
    if k == "shape":
        w = m.some(rank=range(1, 5), where=lambda w: fits(m, v, w))
        return m.op("Expand", [v, m.op("Shape", [w])])
    if k == "tile":
        return m.op("Tile", [v, m.ints(*(m.r.choice([1, 1, 2, 3]) for _ in range(m.rank(v))))])
    if k == "const":
        return m.op("Expand", [m.op("Unsqueeze", [v, m.ints(0)]), m.ints(m.r.choice([2, 3]), *[1] * m.rank(v))])
    if k == "fill":
        w = m.some(rank=range(1, 4))
        return m.op("ConstantOfShape", [m.op("Shape", [w])], value=numpy_helper.from_array(np.array([m.r.choice([0, 1.5])], np.float32)))
    w = m.some(rank=range(1, 4))
    n = m.extent(w, m.axis(w), scalar=True)
    r = m.op("Range", [m.int(0), n, m.int(1)])
    return m.op("Cast", [r], to=T.FLOAT) if m.r.random() < 0.6 else r


def slices(m):
    v = m.some(rank=range(1, 5))
    a = m.axis(v)
    low = m.least(v, a)
    k = m.r.choice(["const", "const", "back", "step", "reverse", "data", "two", "first"])
    begin, end, step = m.ints(0), m.ints(FULL), 1
    if k == "const":
        begin, end = m.ints(m.r.randrange(0, max(low, 1))), m.ints(m.r.choice([FULL, -1, low, low + 3]))
    elif k == "back":
        begin = m.ints(-m.r.choice([1, 2, 3, 5]))
    elif k == "step":
        begin, step = m.ints(m.r.choice([0, 1])), m.r.choice([2, 3])
    elif k == "reverse":
        begin, end, step = m.ints(-m.r.choice([1, 1, 2])), m.ints(-FULL), m.r.choice([-1, -1, -2])
    elif k == "data":
        n = m.extent(v, a)
        begin = m.op("Div", [n, m.ints(m.r.choice([2, 3]))])
    elif k == "two":
        w = m.some(rank=range(1, 5))
        end = m.extent(w, m.axis(w))
    else:
        end = m.ints(m.r.choice([1, 2, 4, 7]))
    return m.op("Slice", [v, begin, end, m.ints(m.sign(a, v)), m.ints(step)])


def concat(m):
    v = m.some(rank=range(1, 5))
    a = m.axis(v)

    def beside(w):
        return m.type(w) == m.type(v) and m.rank(w) == m.rank(v) and all(x[:a] + x[a + 1:] == y[:a] + y[a + 1:] for x, y in zip(m.shapes(v), m.shapes(w)))
    parts = [v] + [m.some(where=beside) for _ in range(m.r.choice([1, 1, 2]))]
    if m.rank(v) == 1 and m.r.random() < 0.3:
        parts.append(m.const(m.data((m.r.choice([1, 2, 3]),), m.type(v))))
    m.r.shuffle(parts)
    return m.op("Concat", parts, axis=m.sign(a, v))


def split(m):
    v = m.some(rank=range(1, 5))
    a = m.axis(v, 2)
    if m.open(v, a):
        n = m.extent(v, a)
        first = m.ints(m.r.randrange(1, m.least(v, a)))
        if m.r.random() < 0.3:
            first = m.op("Div", [n, m.ints(2)])
        return m.op("Split", [v, m.op("Concat", [first, m.op("Sub", [n, first])], axis=0)], 2, axis=a)[m.r.randrange(2)]
    n = m.shapes(v)[0][a]
    first = m.r.randrange(1, n)
    return m.op("Split", [v, m.ints(first, n - first)], 2, axis=a)[m.r.randrange(2)]


def pad(m):
    v = m.some(F + INTS, rank=range(1, 5))
    rank = m.rank(v)
    mode = m.r.choice(["constant", "constant", "reflect", "edge", "wrap"])
    lo, hi = ([m.r.choice([0, 0, 1, 2]) for _ in range(rank)] for _ in range(2))
    if m.r.random() < 0.2 and mode == "constant":
        lo[m.axis(v, 2)] = -1
    if mode == "wrap":
        m.opset = max(m.opset, 19)
    if m.r.random() < 0.2 and mode == "constant":
        a = m.axis(v)
        n = m.extent(v, a)
        more = m.op("Mod", [m.op("Sub", [m.ints(4), m.op("Mod", [n, m.ints(4)])]), m.ints(4)])
        return m.op("Pad", [v, m.shape_of(*[0] * (rank + a), more, *[0] * (rank - a - 1))])
    return m.op("Pad", [v, m.ints(*lo, *hi)] + ([m.const(np.array(m.r.choice([0, 2]), m.type(v)))] if mode == "constant" else []), mode=mode)


def gather(m):
    k = m.r.choice(["const", "const", "data", "elements", "nd", "scatter", "scatternd", "onehot", "last"])
    v = m.some(F + INTS, rank=range(1, 5))
    a = m.axis(v, 1)
    low = m.least(v, a)
    if k == "last":
        return m.op("Gather", [v, m.int(-1)], axis=a)
    if k == "const":
        shape = m.r.choice([(), (1,), (3,), (2, 2)])
        return m.op("Gather", [v, m.const(m.rng.integers(-low, low, shape))], axis=a)
    if k == "onehot":
        i = m.some(INTS, rank=range(0, 3))
        return m.op("OneHot", [i, m.int(m.r.choice([3, 5])), m.const(np.array([0, 1], np.float32))], axis=m.r.choice([0, -1]))
    if k in ("data", "nd"):
        i = m.some(["int64", "int32"], rank=range(0, 3))
        i = m.op("Mod", [i, m.const(np.array(low, m.type(i)))])
        if k == "nd":
            return m.op("GatherND", [v, m.op("Cast", [m.op("Unsqueeze", [i, m.ints(-1)])], to=T.INT64)])
        return m.op("Gather", [v, i], axis=a)
    if k == "elements":
        i = m.some(["int64", "int32"], rank=[m.rank(v)], where=lambda i: all(all(x <= y or n == a for n, (x, y) in enumerate(zip(s, t))) for s, t in zip(m.shapes(i), m.shapes(v))))
        return m.op("GatherElements", [v, m.op("Mod", [i, m.const(np.array(low, m.type(i)))])], axis=a)
    if k == "scatter":
        i = m.some(["int64", "int32"], rank=[m.rank(v)], where=lambda i: all(all(x <= y or n == a for n, (x, y) in enumerate(zip(s, t))) for s, t in zip(m.shapes(i), m.shapes(v))))
        u = m.some([m.type(v)], where=lambda u: m.shapes(u) == m.shapes(i))
        m.opset = max(m.opset, 18)
        return m.op("ScatterElements", [v, m.op("Mod", [i, m.const(np.array(low, m.type(i)))]), u], axis=a, reduction=m.r.choice(["add", "max", "min"]))
    if m.r.random() < 0.5:
        rows = m.r.sample(range(m.least(v, 0)), min(2, m.least(v, 0)))
        u = m.op("Mul", [m.op("Slice", [v, m.ints(0), m.ints(len(rows)), m.ints(0)]), m.const(np.array(3, m.type(v)))])
        return m.op("ScatterND", [v, m.const(np.array(rows).reshape(-1, 1)), u])
    return m.op("Trilu", [v, m.int(m.r.choice([-1, 0, 1, 2]))], upper=m.r.choice([0, 1]))


def window(m):
    """sides of a window over the axes behind the channels"""
    v = m.some(["float32"], rank=[3, 3, 4, 4], where=lambda v: not m.open(v, 1) and 0 < m.least(v, 1) <= 16)
    n = m.rank(v) - 2
    kernel = [m.r.choice([1, 2, 3, 3, 4]) for _ in range(n)]
    stride = [m.r.choice([1, 1, 2, 3]) for _ in range(n)]
    dil = [m.r.choice([1, 1, 1, 2]) for _ in range(n)]
    attrs = {"kernel_shape": kernel, "strides": stride, "dilations": dil}
    auto = m.r.random()
    if auto < 0.2:
        attrs["auto_pad"] = m.r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
        attrs["dilations"] = [1] * n
    else:
        attrs["pads"] = [m.r.choice([0, 0, 1, k // 2]) for k in kernel * 2]
    return v, attrs


def conv(m):
    v, attrs = window(m)
    c = m.shapes(v)[0][1]
    k = m.r.choice(["", "", "", "group", "up", "up", "integer"])
    out = m.r.choice([1, 2, 4, 5, 8])
    if k == "up":
        if "auto_pad" in attrs:
            attrs = {x: y for x, y in attrs.items() if x != "auto_pad"}
        if m.r.random() < 0.3:
            attrs["output_padding"] = [m.r.randrange(0, s) for s in attrs["strides"]]
        return m.op("ConvTranspose", [v, m.weight(c, out, *attrs["kernel_shape"], scale=0.4), m.weight(out)], **attrs)
    if k == "group":
        g = m.r.choice([g for g in (1, 2, 3, c) if c % g == 0])
        return m.op("Conv", [v, m.weight(g * 2, c // g, *attrs["kernel_shape"], scale=0.4)], group=g, **attrs)
    if k == "integer":
        q = m.op("DynamicQuantizeLinear", [v], 3)
        m.loose = True
        return m.op("Cast", [m.op("ConvInteger", [q[0], m.const(m.rng.integers(0, 255, (out, c, *attrs["kernel_shape"])).astype(np.uint8)), q[2]], **attrs)], to=T.FLOAT)
    return m.op("Conv", [v, m.weight(out, c, *attrs["kernel_shape"], scale=0.4), m.weight(out)], **attrs)


def pool(m):
    v, attrs = window(m)
    k = m.r.choice(["MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool"])
    if k.startswith("Global"):
        return m.op(k, [v])
    if "auto_pad" not in attrs:
        attrs["pads"] = [min(p, s - 1) for p, s in zip(attrs["pads"], attrs["kernel_shape"] * 2)]
        attrs["ceil_mode"] = m.r.choice([0, 1])
    if k != "MaxPool" and m.opset < 19:
        attrs.pop("dilations")
    if k == "LpPool":
        attrs.pop("ceil_mode", 0)
        attrs.pop("dilations", 0)
    if k == "AveragePool":
        attrs["count_include_pad"] = m.r.choice([0, 1])
    return m.op(k, [v], **attrs)


def resize(m):
    v = m.some(["float32"], rank=[3, 4])
    rank = m.rank(v)
    mode = m.r.choice(["nearest", "linear", "linear", "cubic"])
    how = m.r.choice(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    more = {"nearest_mode": m.r.choice(["floor", "round_prefer_floor", "ceil", "round_prefer_ceil"])} if mode == "nearest" else {}
    if mode == "cubic" and rank != 4:
        mode = "linear"
    if m.r.random() < 0.5:
        scales = [1.0] * 2 + [m.r.choice([1.0, 2.0, 0.5, 1.5, 3.0, 0.75]) for _ in range(rank - 2)]
        return m.op("Resize", [v, "", m.const(np.array(scales, np.float32))], mode=mode, coordinate_transformation_mode=how, **more)
    w = m.some(rank=range(2, 5))
    sizes = m.op("Concat", [m.op("Slice", [m.op("Shape", [v]), m.ints(0), m.ints(rank - 1), m.ints(0)]), m.extent(w, m.axis(w, 1))], axis=0)
    return m.op("Resize", [v, "", "", sizes], mode=mode, coordinate_transformation_mode=how, **more)


def topk(m):
    v = m.some(F + ("int64",), rank=range(1, 4))
    a = m.axis(v, 1)
    k = m.r.choice(["const", "all", "half"])
    n = m.extent(v, a)
    count = m.ints(m.r.randrange(1, m.least(v, a) + 1)) if k == "const" else n if k == "all" else m.op("Div", [m.op("Add", [n, m.ints(1)]), m.ints(2)])
    return m.op("TopK", [v, count], 2, axis=m.sign(a, v), largest=m.r.choice([0, 1]))[m.r.choice([0, 0, 1])]


def recurrent(m):
    v = m.some(["float32"], rank=[3], where=lambda v: not m.open(v, 2) and 0 < m.least(v, 2) <= 20 and m.least(v, 0) and m.least(v, 1))
    h, c, way = m.r.choice([1, 3, 5]), m.shapes(v)[0][2], m.r.choice(["forward", "reverse", "bidirectional"])
    d = 2 if way[0] == "b" else 1
    k = m.r.choice(["RNN", "GRU", "LSTM"])
    g = {"RNN": 1, "GRU": 3, "LSTM": 4}[k]
    ins = [v, m.weight(d, g * h, c, scale=0.4), m.weight(d, g * h, h, scale=0.4), m.weight(d, 2 * g * h, scale=0.2)]
    outs = m.op(k, ins, 3 if k == "LSTM" else 2, hidden_size=h, direction=way)
    return outs[m.r.choice([0, 0, 1])]


def quantised(m):
    k = m.r.choice(["qdq", "qdq", "dynamic", "qmatmul"])
    v = m.some(["float32"], rank=range(1, 5))
    m.loose = True
    if k == "qdq":
        s, z = m.const(np.float32(0.05)), m.const(np.array(m.r.choice([0, 3]), m.r.choice([np.int8, np.uint8])))
        return m.op("DequantizeLinear", [m.op("QuantizeLinear", [v, s, z]), s, z])
    if k == "dynamic":
        q = m.op("DynamicQuantizeLinear", [v], 3)
        return m.op("DequantizeLinear", q)
    if m.rank(v) < 2 or m.open(v, m.rank(v) - 1):
        raise Refused("open")
    q = m.op("DynamicQuantizeLinear", [v], 3)
    w = m.const(m.rng.integers(-100, 100, (m.shapes(v)[0][-1], 5)).astype(np.int8))
    return m.op("MatMulInteger", [q[0], w, q[2]])


def info(name, dt, rank):
    return helper.make_tensor_value_info(name, dt, [None] * rank)


def scan(m):
    v = m.some(["float32"], rank=[2, 3])
    rank = m.rank(v)
    d = m.dims(v)[1:]
    zero = m.op("Expand", [m.const(np.float32(0)), m.shape_of(*d)])
    x, s = m.name("b"), m.name("b")
    t, u, o = m.name("b"), m.name("b"), m.name("b")
    nodes = [helper.make_node(m.r.choice(["Add", "Sub", "Max"]), [s, x], [t]), helper.make_node("Tanh", [t], [u]), helper.make_node("Mul", [u, x], [o])]
    body = helper.make_graph(nodes, "body", [info(s, T.FLOAT, rank - 1), info(x, T.FLOAT, rank - 1)], [info(u, T.FLOAT, rank - 1), info(o, T.FLOAT, rank - 1)])
    way = m.r.choice([0, 1])
    return m.op("Scan", [zero, v], 2, body=body, num_scan_inputs=1, scan_input_directions=[way], scan_output_directions=[m.r.choice([0, 1])])[m.r.choice([0, 1, 1])]


def loop(m):
    v = m.some(["float32"], rank=[1, 2, 3], where=lambda v: m.least(v, 0) > 0)
    rank = m.rank(v)
    trips = m.extent(v, 0, scalar=True) if m.r.random() < 0.7 else m.int(m.r.choice([1, 3]))
    i, c, a = m.name("b"), m.name("b"), m.name("b")
    e, b, s, c2, o = (m.name("b") for _ in range(5))
    start = m.op("Gather", [v, m.int(0)], axis=0)
    nodes = [helper.make_node("Gather", [v, i], [e], axis=0) if m.rank(trips) == 0 and m.nodes and not trips.startswith("c") else helper.make_node("Identity", [start], [e]),
             helper.make_node("Add", [a, e], [b]), helper.make_node("Tanh", [b], [s])]
    inits = []
    if m.r.random() < 0.4:
        inits.append(numpy_helper.from_array(np.float32(m.r.choice([0.5, 2.0, 5.0])), c + "l"))
        nodes += [helper.make_node("ReduceSum", [b], [c + "s"], keepdims=0), helper.make_node("Less", [c + "s", c + "l"], [c2])]
        outs = [info(c2, T.BOOL, 0), info(b, T.FLOAT, rank - 1)]
        return m.op("Loop", [trips, "", start], 1, body=helper.make_graph(nodes, "body", [info(i, T.INT64, 0), info(c, T.BOOL, 0), info(a, T.FLOAT, rank - 1)], outs, inits))
    nodes += [helper.make_node("Identity", [c], [c2]), helper.make_node("Identity", [s], [o])]
    outs = [info(c2, T.BOOL, 0), info(b, T.FLOAT, rank - 1), info(o, T.FLOAT, rank - 1)]
    body = helper.make_graph(nodes, "body", [info(i, T.INT64, 0), info(c, T.BOOL, 0), info(a, T.FLOAT, rank - 1)], outs, inits)
    return m.op("Loop", [trips, "", start], 2, body=body)[m.r.choice([0, 1])]


def branch(m):
    v = m.some(["float32"], rank=range(1, 4))
    w = m.some(["float32"], where=lambda w: m.shapes(w) == m.shapes(v))
    if m.r.random() < 0.5:
        n = m.extent(v, m.axis(v), scalar=True)
        test = m.op("Greater", [n, m.int(m.r.choice([1, 3, 6]))])
    else:
        test = m.op("Greater", [m.op("ReduceSum", [v], keepdims=0), m.const(np.float32(0))])
    sides = []
    for k in ("Tanh", "Abs"):
        o = m.name("b")
        sides.append(helper.make_graph([helper.make_node(k, [v if k == "Tanh" else w], [o])], "side", [], [info(o, T.FLOAT, m.rank(v))]))
    return m.op("If", [test], then_branch=sides[0], else_branch=sides[1])


def depths(m):
    v = m.some(["float32"], rank=[4], where=lambda v: not m.open(v, 1))
    c = m.shapes(v)[0][1]
    if c and c % 4 == 0 and m.r.random() < 0.6:
        return m.op("DepthToSpace", [v], blocksize=2, mode=m.r.choice(["DCR", "CRD"]))
    return m.op("SpaceToDepth", [v], blocksize=2)


def counted(m):
    """rows that data count; they become outputs"""
    v = m.some(["float32", "bool"], rank=[1, 2])
    k = m.r.choice(["NonZero", "Compress", "rows"])
    if m.type(v) == "float32":
        c = m.op("Greater", [v, m.const(np.float32(m.r.choice([-0.5, 0, 0.5])))])
    else:
        c = v
    if k == "NonZero":
        o = m.op("NonZero", [c])
        m.counted.add(o)
        if m.r.random() < 0.5:
            g = m.op("GatherND", [v, m.op("Transpose", [o], perm=[1, 0])])
            return g
        return o
    if m.rank(c) == 2:
        c = m.op("Cast", [m.op("ReduceMax", [m.op("Cast", [c], to=T.INT32), *([m.ints(1)] if m.opset >= 18 else [])], keepdims=0, axes=None if m.opset >= 18 else [1])], to=T.BOOL)
    w = m.some(["float32"], rank=range(1, 4), where=lambda w: any(all(s[a] == t[0] for s, t in zip(m.shapes(w), m.shapes(c))) for a in range(m.rank(w))))
    a = next(a for a in range(m.rank(w)) if all(s[a] == t[0] for s, t in zip(m.shapes(w), m.shapes(c))))
    o = m.op("Compress", [w, c], axis=a)
    m.counted.add(o)
    return o


FAMILIES = [unary, unary, binary, binary, binary, integer, cast, compare, where, where, reduce, reduce, reduce, arg, cumsum, softmax, softmax, norm, norm,
            matmul, matmul, matmul, transpose, transpose, reshape, reshape, reshape, unjoin, expand, expand, slices, slices, slices, concat, concat, concat,
            split, pad, pad, gather, gather, gather, conv, conv, conv, pool, pool, resize, topk, recurrent, quantised, scan, loop, branch, depths, counted, rounding]


def inputs(m):
    names = list(m.ranges)
    for k in range(m.r.choice([1, 1, 2, 3])):
        rank = m.r.choice([1, 2, 2, 3, 3, 4, 4])
        dims = [m.r.choice(names) if m.r.random() < 0.5 else m.r.choice([1, 2, 3, 4, 6, 8, 13]) for _ in range(rank)]
        if rank >= 3 and not isinstance(dims[1], int) and m.r.random() < 0.6:
            dims[1] = m.r.choice([1, 2, 3, 4, 8])
        if k < len(names) and names[k] not in dims:
            dims[m.r.randrange(rank)] = names[k]
        m.input(dims, m.r.choice(["float32"] * 6 + ["float16", "int64", "int32", "int8", "bool", "float64"]))
    for s in names:
        if not any(s in d for d in m.inputs.values()):
            m.input([s, m.r.choice([1, 3, 4])])


def compose(seed):
    """-> a Model, its proto and outputs"""
    m = Model(seed)
    inputs(m)
    wanted, tries = m.r.randrange(4, 15), 0
    results = []
    while len(results) < wanted and tries < 80:
        tries += 1
        keep = len(m.nodes), dict(m.values), m.opset, m.loose, set(m.counted)
        try:
            made = m.r.choice(FAMILIES)(m)
            if m.opset != keep[2]:
                raise Refused("nodes before it have another opset")
            results.append(made)
        except Refused:
            del m.nodes[keep[0]:]
            m.values, m.opset, m.loose, m.counted = keep[1:]
    used = {i for n in m.nodes for i in Model.captured(n)}
    ends = [v for v in results if v not in used] or results[-1:]
    outs = list(dict.fromkeys(ends[-4:] + ([m.r.choice(results)] if results and m.r.random() < 0.3 else [])))
    if not outs:
        return None
    proto = m.proto(outs)
    m.ranges = {s: r for s, r in m.ranges.items() if any(s in [d.dim_param for d in i.type.tensor_type.shape.dim] for i in proto.graph.input)}
    if not m.ranges:
        return None
    return m, proto, outs
