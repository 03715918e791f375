# SPDX-License-Identifier: MIT
"""Random ONNX models with one to three open dimensions: compose(seed) gives a Model (random_model.py), its proto and its outputs.
The families here make nodes with windows, states, bodies, quantised numbers, or rows that data count. The other families are in
random_nodes.py. FAMILIES has all of them, each as often as its share."""
import numpy as np
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from random_model import F, RUNS, Model, Refused, session  # noqa: F401 (random_bundles.py takes RUNS and session from here)
from random_nodes import (arg, binary, cast, compare, concat, cumsum, expand, gather, integer, matmul, norm, pad,
                          reduce, reshape, rounding, slices, softmax, split, transpose, unary, unjoin, where)


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
        return m.op("Cast", [m.op("ConvInteger", [
            q[0], m.const(m.rng.integers(0, 255, (out, c, *attrs["kernel_shape"])).astype(np.uint8)), q[2]
        ], **attrs)], to=T.FLOAT)
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
        return m.op("Resize", [v, "", m.const(np.array(scales, np.float32))],
                    mode=mode, coordinate_transformation_mode=how, **more)
    w = m.some(rank=range(2, 5))
    sizes = m.op("Concat", [m.op("Slice", [m.op("Shape", [v]), m.ints(0), m.ints(rank - 1), m.ints(0)]),
                            m.extent(w, m.axis(w, 1))], axis=0)
    return m.op("Resize", [v, "", "", sizes], mode=mode, coordinate_transformation_mode=how, **more)


def topk(m):
    v = m.some(F + ("int64",), rank=range(1, 4))
    a = m.axis(v, 1)
    k = m.r.choice(["const", "all", "half"])
    n = m.extent(v, a)
    count = (m.ints(m.r.randrange(1, m.least(v, a) + 1)) if k == "const" else n if k == "all" else
             m.op("Div", [m.op("Add", [n, m.ints(1)]), m.ints(2)]))
    return m.op("TopK", [v, count], 2, axis=m.sign(a, v), largest=m.r.choice([0, 1]))[m.r.choice([0, 0, 1])]


def recurrent(m):
    v = m.some(["float32"], rank=[3],
               where=lambda v: not m.open(v, 2) and 0 < m.least(v, 2) <= 20 and m.least(v, 0) and m.least(v, 1))
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
    nodes = [helper.make_node(m.r.choice(["Add", "Sub", "Max"]), [s, x], [t]),
             helper.make_node("Tanh", [t], [u]), helper.make_node("Mul", [u, x], [o])]
    body = helper.make_graph(nodes, "body", [info(s, T.FLOAT, rank - 1), info(x, T.FLOAT, rank - 1)],
                             [info(u, T.FLOAT, rank - 1), info(o, T.FLOAT, rank - 1)])
    way = m.r.choice([0, 1])
    return m.op("Scan", [zero, v], 2, body=body, num_scan_inputs=1, scan_input_directions=[way],
                scan_output_directions=[m.r.choice([0, 1])])[m.r.choice([0, 1, 1])]


def loop(m):
    v = m.some(["float32"], rank=[1, 2, 3], where=lambda v: m.least(v, 0) > 0)
    rank = m.rank(v)
    trips = m.extent(v, 0, scalar=True) if m.r.random() < 0.7 else m.int(m.r.choice([1, 3]))
    i, c, a = m.name("b"), m.name("b"), m.name("b")
    e, b, s, c2, o = (m.name("b") for _ in range(5))
    start = m.op("Gather", [v, m.int(0)], axis=0)
    nodes = [helper.make_node("Gather", [v, i], [e], axis=0) if m.rank(trips) == 0 and m.nodes and not trips.startswith("c") else
             helper.make_node("Identity", [start], [e]),
             helper.make_node("Add", [a, e], [b]), helper.make_node("Tanh", [b], [s])]
    inits = []
    if m.r.random() < 0.4:
        inits.append(numpy_helper.from_array(np.float32(m.r.choice([0.5, 2.0, 5.0])), c + "l"))
        nodes += [helper.make_node("ReduceSum", [b], [c + "s"], keepdims=0), helper.make_node("Less", [c + "s", c + "l"], [c2])]
        outs = [info(c2, T.BOOL, 0), info(b, T.FLOAT, rank - 1)]
        return m.op("Loop", [trips, "", start], 1, body=helper.make_graph(
            nodes, "body", [info(i, T.INT64, 0), info(c, T.BOOL, 0), info(a, T.FLOAT, rank - 1)], outs, inits))
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
        sides.append(helper.make_graph([helper.make_node(k, [v if k == "Tanh" else w], [o])], "side", [],
                                       [info(o, T.FLOAT, m.rank(v))]))
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
        c = m.op("Cast", [m.op("ReduceMax", [m.op("Cast", [c], to=T.INT32), *([m.ints(1)] if m.opset >= 18 else [])], keepdims=0,
                               axes=None if m.opset >= 18 else [1])], to=T.BOOL)
    w = m.some(["float32"], rank=range(1, 4),
               where=lambda w: any(all(s[a] == t[0] for s, t in zip(m.shapes(w), m.shapes(c))) for a in range(m.rank(w))))
    a = next(a for a in range(m.rank(w)) if all(s[a] == t[0] for s, t in zip(m.shapes(w), m.shapes(c))))
    o = m.op("Compress", [w, c], axis=a)
    m.counted.add(o)
    return o


FAMILIES = [unary, unary, binary, binary, binary, integer, cast, compare, where, where, reduce, reduce, reduce, arg, cumsum,
            softmax, softmax, norm, norm, matmul, matmul, matmul, transpose, transpose, reshape, reshape, reshape, unjoin, expand,
            expand, slices, slices, slices, concat, concat, concat, split, pad, pad, gather, gather, gather, conv, conv, conv,
            pool, pool, resize, topk, recurrent, quantised, scan, loop, branch, depths, counted, rounding]


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
    m.ranges = {s: r for s, r in m.ranges.items()
                if any(s in [d.dim_param for d in i.type.tensor_type.shape.dim] for i in proto.graph.input)}
    if not m.ranges:
        return None
    return m, proto, outs
