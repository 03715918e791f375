# SPDX-License-Identifier: MIT
"""Nodes for random_graphs.py that compute element by element, along axes, or products of matrices, and nodes that move elements.
Each function is a family: it adds nodes to the model m and gives the name of a result."""
import numpy as np
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from random_model import F, INTS, Refused

FULL = 1 << 62


def unary(m):
    v = m.some(F)
    k = m.r.choice(["Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Erf", "Softplus", "HardSwish", "Elu", "LeakyRelu", "Sin", "Cos",
                    "Softsign", "Selu", "HardSigmoid"])
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
    kinds = ["ReduceSum", "ReduceMax", "ReduceMin"] + (
        ["ReduceMean", "ReduceL2", "ReduceL1", "ReduceLogSumExp", "ReduceSumSquare"] if m.type(v) in F else [])
    k = m.r.choice(kinds)
    keep = m.r.choice([0, 1, 1])
    if k == "ReduceSum" or m.opset >= 18:
        return m.op(k, [v, m.ints(*axes)], keepdims=keep)
    return m.op(k, [v], axes=axes, keepdims=keep)


def arg(m):
    v = m.some(F + ("int32",), rank=range(1, 6))
    return m.op(m.r.choice(["ArgMax", "ArgMin"]), [v], axis=m.axis(v, 1), keepdims=m.r.choice([0, 1]),
                select_last_index=m.r.choice([0, 1]))


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
        return m.op("Einsum", [v, m.weight(n, c, dt=dt, scale=0.4)],
                    equation=m.r.choice(["abc,dc->abd", "abc,dc->adb", "abc,dc->dab"]))
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
        return m.op("Reshape", [v, m.shape_of(*d[:a], 2, d[a] // 2 if isinstance(d[a], int) else m.op("Div", [d[a], m.ints(2)]),
                                              *d[a + 1:])])
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
        return m.op("ConstantOfShape", [m.op("Shape", [w])],
                    value=numpy_helper.from_array(np.array([m.r.choice([0, 1.5])], np.float32)))
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
        return (m.type(w) == m.type(v) and m.rank(w) == m.rank(v) and
                all(x[:a] + x[a + 1:] == y[:a] + y[a + 1:] for x, y in zip(m.shapes(v), m.shapes(w))))

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
    return m.op("Pad", [v, m.ints(*lo, *hi)] +
                ([m.const(np.array(m.r.choice([0, 2]), m.type(v)))] if mode == "constant" else []), mode=mode)


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
        i = m.some(["int64", "int32"], rank=[m.rank(v)],
                   where=lambda i: all(all(x <= y or n == a for n, (x, y) in enumerate(zip(s, t)))
                                       for s, t in zip(m.shapes(i), m.shapes(v))))
        return m.op("GatherElements", [v, m.op("Mod", [i, m.const(np.array(low, m.type(i)))])], axis=a)
    if k == "scatter":
        i = m.some(["int64", "int32"], rank=[m.rank(v)],
                   where=lambda i: all(all(x <= y or n == a for n, (x, y) in enumerate(zip(s, t)))
                                       for s, t in zip(m.shapes(i), m.shapes(v))))
        u = m.some([m.type(v)], where=lambda u: m.shapes(u) == m.shapes(i))
        m.opset = max(m.opset, 18)
        return m.op("ScatterElements", [v, m.op("Mod", [i, m.const(np.array(low, m.type(i)))]), u], axis=a,
                    reduction=m.r.choice(["add", "max", "min"]))
    if m.r.random() < 0.5:
        rows = m.r.sample(range(m.least(v, 0)), min(2, m.least(v, 0)))
        u = m.op("Mul", [m.op("Slice", [v, m.ints(0), m.ints(len(rows)), m.ints(0)]), m.const(np.array(3, m.type(v)))])
        return m.op("ScatterND", [v, m.const(np.array(rows).reshape(-1, 1)), u])
    return m.op("Trilu", [v, m.int(m.r.choice([-1, 0, 1, 2]))], upper=m.r.choice([0, 1]))
