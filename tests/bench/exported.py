# SPDX-License-Identifier: MIT
"""Architectures as exporters write them: shapes that are computed, normalisation in its parts, groups by way of instances,
attention that splits heads with Reshape and Transpose; small and with random weights."""
import math

import numpy as np
from onnx import TensorProto

from architectures import conv, dense, relu, silu, turn
from layers import gelu_erf


def ints(n, *values):
    return n.const(values, np.int64)


def extent(n, x, axis):
    return n.op("Gather", n.op("Shape", x), n.const(axis, np.int64), axis=0)


def view(n, x, *dims):
    """Reshape by a list of numbers and of extents"""
    return n.op("Reshape", x, n.op("Concat", *(ints(n, d) if isinstance(d, int) else n.op("Unsqueeze", d, ints(n, 0)) for d in dims), axis=0))


def cut(n, x, axis, begin, end):
    return n.op("Slice", x, ints(n, begin), ints(n, end), ints(n, axis))


def halves(n, x, width, axis):
    return n.op("Split", x, ints(n, width, width), outputs=2, axis=axis)


def conv1(n, x, cin, cout, size=1, groups=1, dilation=1):
    w = n.normal(math.sqrt(1.5 / (cin // groups * size)), cout, cin // groups, size)
    return n.op("Conv", x, n.const(w), n.const(n.normal(0.02, cout)), kernel_shape=[size], dilations=[dilation], group=groups,
                pads=[dilation * (size // 2)] * 2)


def gemm(n, x, rows, columns):
    return n.op("Gemm", x, n.const(n.normal(1 / math.sqrt(rows), columns, rows)), n.const(n.normal(0.02, columns)), transB=1)


def layer_norm(n, x, width):
    d = n.op("Sub", x, n.op("ReduceMean", x, axes=[-1]))
    spread = n.op("Sqrt", n.op("Add", n.op("ReduceMean", n.op("Pow", d, n.const(2)), axes=[-1]), n.const(1e-5)))
    return n.op("Add", n.op("Mul", n.op("Div", d, spread), n.const(1 + n.normal(0.02, width))), n.const(n.normal(0.02, width)))


def group_norm(n, x, groups, width):
    y = n.op("Reshape", x, ints(n, 0, groups, -1))
    y = n.op("InstanceNormalization", y, n.const(np.ones(groups)), n.const(np.zeros(groups)))
    y = n.op("Reshape", y, n.op("Shape", x))
    return n.op("Add", n.op("Mul", y, n.const(1 + n.normal(0.02, width, 1, 1))), n.const(n.normal(0.02, width, 1, 1)))


def rms_norm(n, x, width):
    scale = n.op("Div", n.const(1), n.op("Sqrt", n.op("Add", n.op("ReduceMean", n.op("Pow", x, n.const(2)), axes=[-1]), n.const(1e-6))))
    return n.op("Mul", n.const(1 + n.normal(0.02, width)), n.op("Mul", x, scale))


def split_heads(n, x, heads, size):
    return turn(n, view(n, x, extent(n, x, 0), -1, heads, size), 0, 2, 1, 3)


def mixed(n, scores, v, width):
    """softmax(scores) v, with heads side by side again"""
    y = turn(n, n.op("MatMul", n.op("Softmax", scores, axis=-1), v), 0, 2, 1, 3)
    return view(n, y, extent(n, y, 0), -1, width)


def doubled(n, x):
    return n.op("Resize", x, "", n.const([1, 1, 2, 2]), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def yolov8(n, side=320, classes=80):
    """a detector up to its suppression: parts of channels, distances as distributions"""
    def c2f(x, cin, cout, repeat, adds):
        parts = halves(n, conv(n, x, cin, cout, act=silu), cout // 2, 1)
        for _ in range(repeat):
            y = conv(n, conv(n, parts[-1], cout // 2, cout // 2, 3, act=silu), cout // 2, cout // 2, 3, act=silu)
            parts.append(n.op("Add", parts[-1], y) if adds else y)
        return conv(n, n.op("Concat", *parts, axis=1), (2 + repeat) * cout // 2, cout, act=silu)

    def half(x, cin, cout):
        return conv(n, x, cin, cout, 3, 2, act=silu)

    x = half(half(n.input("images", 1, 3, side, side), 3, 16), 16, 32)
    p3 = c2f(half(c2f(x, 32, 32, 1, True), 32, 64), 64, 64, 2, True)
    p4 = c2f(half(p3, 64, 128), 128, 128, 2, True)
    pools = [conv(n, c2f(half(p4, 128, 256), 256, 256, 1, True), 256, 128, act=silu)]
    for _ in range(3):
        pools.append(n.op("MaxPool", pools[-1], kernel_shape=[5, 5], strides=[1, 1], pads=[2] * 4))
    p5 = conv(n, n.op("Concat", *pools, axis=1), 512, 256, act=silu)
    up4 = c2f(n.op("Concat", doubled(n, p5), p4, axis=1), 384, 128, 1, False)
    d3 = c2f(n.op("Concat", doubled(n, up4), p3, axis=1), 192, 64, 1, False)
    d4 = c2f(n.op("Concat", half(d3, 64, 64), up4, axis=1), 192, 128, 1, False)
    d5 = c2f(n.op("Concat", half(d4, 128, 128), p5, axis=1), 384, 256, 1, False)
    found, anchors, strides = [], [], []
    for x, width, stride in (d3, 64, 8), (d4, 128, 16), (d5, 256, 32):
        heads = [conv(n, conv(n, conv(n, x, width, w, 3, act=silu), w, w, 3, act=silu), w, out) for w, out in ((64, 64), (80, classes))]
        found.append(n.op("Reshape", n.op("Concat", *heads, axis=1), ints(n, 1, 64 + classes, -1)))
        y, x = np.mgrid[:side // stride, :side // stride] + 0.5
        anchors.append(np.stack([x.ravel(), y.ravel()]))
        strides.append(np.full(x.size, stride))
    count = sum(map(len, strides))
    box, scores = n.op("Split", n.op("Concat", *found, axis=2), ints(n, 64, classes), outputs=2, axis=1)
    box = n.op("Softmax", turn(n, n.op("Reshape", box, ints(n, 1, 4, 16, count)), 0, 2, 1, 3), axis=1)
    box = n.op("Conv", box, n.const(np.arange(16).reshape(1, 16, 1, 1)), kernel_shape=[1, 1])
    near, far = halves(n, n.op("Reshape", box, ints(n, 1, 4, count)), 2, 1)
    center = n.const(np.concatenate(anchors, 1)[None])
    low, high = n.op("Sub", center, near), n.op("Add", center, far)
    box = n.op("Concat", n.op("Div", n.op("Add", low, high), n.const(2)), n.op("Sub", high, low), axis=1)
    box = n.op("Mul", box, n.const(np.concatenate(strides)[None]))
    n.output(n.op("Concat", box, n.op("Sigmoid", scores), axis=1), 1, 4 + classes, count)


def diffusion_unet(n, side=32, width=128, words=77, context_width=256, heads=4):
    """a step of latent diffusion: norms of groups, attention to a text, gated layers"""
    x, text = n.input("sample", 1, 4, side, side), n.input("context", 1, words, context_width)
    angle = n.op("Mul", n.op("Unsqueeze", n.input("timestep", 1), ints(n, 1)), n.const(np.exp(-np.arange(64) / 64 * math.log(10000))[None]))
    time = n.op("Concat", n.op("Cos", angle), n.op("Sin", angle), axis=-1)
    time = silu(n, gemm(n, silu(n, gemm(n, time, 128, 512)), 512, 512))

    def residual(x, cin, cout):
        y = conv(n, silu(n, group_norm(n, x, 32, cin)), cin, cout, 3)
        y = n.op("Add", y, n.op("Unsqueeze", gemm(n, time, 512, cout), ints(n, 2, 3)))
        y = conv(n, silu(n, group_norm(n, y, 32, cout)), cout, cout, 3)
        return n.op("Add", conv(n, x, cin, cout) if cin != cout else x, y)

    def attend(x, seen, width, seen_width):
        q = split_heads(n, dense(n, x, width, width, False), heads, width // heads)
        k, v = (split_heads(n, dense(n, seen, seen_width, width, False), heads, width // heads) for _ in range(2))
        scores = n.op("Mul", n.op("MatMul", q, turn(n, k, 0, 1, 3, 2)), n.const((width // heads) ** -0.5))
        return dense(n, mixed(n, scores, v, width), width, width)

    def spatial(x, width, side):
        y = view(n, turn(n, conv(n, group_norm(n, x, 32, width), width, width), 0, 2, 3, 1), 1, side * side, width)
        z = layer_norm(n, y, width)
        y = n.op("Add", y, attend(z, z, width, width))
        y = n.op("Add", y, attend(layer_norm(n, y, width), text, width, context_width))
        a, gate = halves(n, dense(n, layer_norm(n, y, width), width, 8 * width), 4 * width, -1)
        y = n.op("Add", y, dense(n, n.op("Mul", a, gelu_erf(n, gate)), 4 * width, width))
        return n.op("Add", x, conv(n, turn(n, view(n, y, 1, side, side, width), 0, 3, 1, 2), width, width))

    first = spatial(residual(conv(n, x, 4, width, 3), width, width), width, side)
    second = spatial(residual(conv(n, first, width, width, 3, 2), width, 2 * width), 2 * width, side // 2)
    x = residual(spatial(residual(second, 2 * width, 2 * width), 2 * width, side // 2), 2 * width, 2 * width)
    x = spatial(residual(n.op("Concat", x, second, axis=1), 4 * width, 2 * width), 2 * width, side // 2)
    x = conv(n, doubled(n, x), 2 * width, 2 * width, 3)
    x = spatial(residual(n.op("Concat", x, first, axis=1), 3 * width, width), width, side)
    n.output(conv(n, silu(n, group_norm(n, x, 32, width)), width, 4, 3), 1, 4, side, side)


def conformer(n, frames=400, width=144, heads=4, layers=4):
    """speech: attention by relative places, shifted by way of a Reshape, and depthwise convolutions of 31"""
    x = n.op("Unsqueeze", n.input("features", 1, frames, 80), ints(n, 1))
    x = conv(n, conv(n, x, 1, width, 3, 2, act=relu, pads=[0] * 4), width, width, 3, 2, act=relu, pads=[0] * 4)
    length, bands, size = ((frames - 1) // 2 - 1) // 2, 19, width // heads
    x = dense(n, view(n, turn(n, x, 0, 2, 1, 3), 1, length, width * bands), width * bands, width)
    places = n.const(n.normal(1, 1, 2 * length - 1, width))

    def half_step(x):
        return n.op("Add", x, n.op("Mul", dense(n, silu(n, dense(n, layer_norm(n, x, width), width, 4 * width)), 4 * width, width), n.const(0.5)))

    for _ in range(layers):
        x = half_step(x)
        y = layer_norm(n, x, width)
        q, k, v = (view(n, dense(n, y, width, width), 1, -1, heads, size) for _ in range(3))
        p = turn(n, view(n, dense(n, places, width, width, False), 1, -1, heads, size), 0, 2, 3, 1)
        what, where = (turn(n, n.op("Add", q, n.const(n.normal(0.1, heads, size))), 0, 2, 1, 3) for _ in range(2))
        by_place = n.op("Pad", n.op("MatMul", where, p), ints(n, 0, 0, 0, 1, 0, 0, 0, 0), n.const(0))
        by_place = view(n, by_place, 1, heads, 2 * length, length)
        by_place = cut(n, view(n, cut(n, by_place, 2, 1, 2 * length), 1, heads, length, 2 * length - 1), 3, 0, length)
        scores = n.op("Add", n.op("MatMul", what, turn(n, k, 0, 2, 3, 1)), by_place)
        y = mixed(n, n.op("Div", scores, n.const(math.sqrt(size))), turn(n, v, 0, 2, 1, 3), width)
        x = n.op("Add", x, dense(n, y, width, width))
        a, gate = halves(n, conv1(n, turn(n, layer_norm(n, x, width), 0, 2, 1), width, 2 * width), width, 1)
        y = silu(n, conv1(n, n.op("Mul", a, n.op("Sigmoid", gate)), width, width, 31, groups=width))
        x = n.op("Add", x, turn(n, conv1(n, y, width, width), 0, 2, 1))
        x = layer_norm(n, half_step(x), width)
    n.output(n.op("LogSoftmax", dense(n, x, width, 512), axis=-1), 1, length, 512)


def hifigan(n, frames=32):
    """from a spectrogram to sound: transposed and dilated convolutions of one axis"""
    def leaky(x):
        return n.op("LeakyRelu", x, alpha=0.1)

    x, width, length = conv1(n, n.input("mel", 1, 80, frames), 80, 256, 7), 256, frames
    for size, stride in (16, 8), (16, 8), (4, 2), (4, 2):
        w = n.normal(math.sqrt(stride / (width * size)), width, width // 2, size)
        x = n.op("ConvTranspose", leaky(x), n.const(w), n.const(n.normal(0.02, width // 2)), kernel_shape=[size], strides=[stride], pads=[(size - stride) // 2] * 2)
        width, length, total = width // 2, length * stride, None
        for size in 3, 7, 11:
            y = x
            for dilation in 1, 3, 5:
                y = n.op("Add", y, conv1(n, leaky(conv1(n, leaky(y), width, width, size, dilation=dilation)), width, width, size))
            total = n.op("Add", total, y) if total else y
        x = n.op("Div", total, n.const(3))
    n.output(n.op("Tanh", conv1(n, leaky(x), width, 1, 7)), 1, 1, length)


def t5_decoder(n, past=40, source=64, width=512, heads=8, layers=4, inner=1024, words=8000):
    """one token, with attention to those before it, by buckets of distances, and to what the encoder said"""
    size, ids = width // heads, n.input("decoder_input_ids", 1, 1, kind=TensorProto.INT64)
    table = n.const(n.normal(1, words, width))
    x, states = n.op("Gather", table, ids), []
    keys = [n.input(f"past_k{i}", 1, heads, past, size) for i in range(layers)]
    place = n.op("Range", n.const(0, np.int64), n.op("Add", extent(n, keys[0], 2), extent(n, ids, 1)), n.const(1, np.int64))
    distance = n.op("Sub", n.op("Unsqueeze", extent(n, keys[0], 2), ints(n, 0)), place)
    far = n.op("Log", n.op("Div", n.op("Cast", n.op("Max", distance, ints(n, 1)), to=TensorProto.FLOAT), n.const(16)))
    far = n.op("Add", n.op("Cast", n.op("Mul", far, n.const(16 / math.log(8))), to=TensorProto.INT64), ints(n, 16))
    bucket = n.op("Where", n.op("Less", distance, ints(n, 16)), distance, n.op("Min", far, ints(n, 31)))
    bias = n.op("Unsqueeze", turn(n, n.op("Gather", n.const(n.normal(0.5, 32, heads)), bucket), 1, 0), ints(n, 0, 2))

    def project(y):
        return split_heads(n, dense(n, y, width, width, False), heads, size)

    for i in range(layers):
        y = rms_norm(n, x, width)
        q, k, v = (project(y) for _ in range(3))
        k, v = n.op("Concat", keys[i], k, axis=2), n.op("Concat", n.input(f"past_v{i}", 1, heads, past, size), v, axis=2)
        states += [(f"k{i}", k), (f"v{i}", v)]
        y = mixed(n, n.op("Add", n.op("MatMul", q, turn(n, k, 0, 1, 3, 2)), bias), v, width)
        x = n.op("Add", x, dense(n, y, width, width, False))
        q, k, v = project(rms_norm(n, x, width)), n.input(f"cross_k{i}", 1, heads, source, size), n.input(f"cross_v{i}", 1, heads, source, size)
        x = n.op("Add", x, dense(n, mixed(n, n.op("MatMul", q, turn(n, k, 0, 1, 3, 2)), v, width), width, width, False))
        x = n.op("Add", x, dense(n, relu(n, dense(n, rms_norm(n, x, width), width, inner, False)), inner, width, False))
    x = n.op("Mul", rms_norm(n, x, width), n.const(width ** -0.5))
    n.output(n.op("MatMul", x, turn(n, table, 1, 0)), 1, 1, words)
    for name, value in states:
        n.output(value, 1, heads, past + 1, size, name=name)


def seq2seq(n, source=24, steps=8, words=4000, width=128, inner=192):
    """recurrences of both directions, then words one by one, each the most probable one"""
    def recurrence(x, cin, before="", both=False):
        d = 1 + both
        w, r = n.normal(1 / math.sqrt(cin), d, 3 * inner, cin), n.normal(1 / math.sqrt(inner), d, 3 * inner, inner)
        return n.op("GRU", x, n.const(w), n.const(r), n.const(n.normal(0.02, d, 6 * inner)), "", before, outputs=2, hidden_size=inner,
                    linear_before_reset=1, direction="bidirectional" if both else "forward")

    table = n.const(n.normal(1, words, width))
    y, last = recurrence(n.op("Gather", table, n.input("source", source, 1, kind=TensorProto.INT64)), width, both=True)
    said = turn(n, n.op("Tanh", dense(n, n.op("Reshape", turn(n, y, 0, 2, 1, 3), ints(n, 0, 0, -1)), 2 * inner, inner)), 1, 0, 2)
    state = n.op("Tanh", dense(n, n.op("Reshape", turn(n, last, 1, 0, 2), ints(n, 1, 1, 2 * inner)), 2 * inner, inner))
    word, outputs = n.const(np.ones((1, 1)), np.int64), []
    for _ in range(steps):
        weights = n.op("Softmax", n.op("MatMul", turn(n, state, 1, 0, 2), turn(n, said, 0, 2, 1)), axis=-1)
        seen = turn(n, n.op("MatMul", weights, said), 1, 0, 2)
        _, state = recurrence(n.op("Concat", n.op("Gather", table, word), seen, axis=2), width + inner, state)
        outputs.append(dense(n, n.op("Concat", state, seen, axis=2), 2 * inner, words))
        word = n.op("Squeeze", n.op("TopK", outputs[-1], ints(n, 1), outputs=2, axis=-1)[1], ints(n, 2))
    n.output(n.op("Concat", *outputs, axis=0), steps, 1, words)


def dgcnn(n, points=512, nearest=10):
    """points in space, with convolutions over the nearest neighbours of each"""
    x, width, features = n.input("points", 1, 3, points), 3, []
    for out in 32, 64:
        flat = turn(n, x, 0, 2, 1)
        squares = n.op("ReduceSum", n.op("Pow", x, n.const(2)), ints(n, 1))
        near = n.op("Sub", n.op("Sub", n.op("Mul", n.op("MatMul", flat, x), n.const(2)), squares), turn(n, squares, 0, 2, 1))
        index = n.op("TopK", near, ints(n, nearest), outputs=2, axis=-1)[1]
        others = n.op("GatherND", flat, n.op("Unsqueeze", index, ints(n, -1)), batch_dims=1)
        own = n.op("Expand", n.op("Unsqueeze", flat, ints(n, 2)), n.op("Shape", others))
        edges = turn(n, n.op("Concat", n.op("Sub", others, own), own, axis=3), 0, 3, 1, 2)
        x, width = n.op("ReduceMax", n.op("LeakyRelu", conv(n, edges, 2 * width, out), alpha=0.2), axes=[3], keepdims=0), out
        features.append(x)
    y = n.op("LeakyRelu", conv1(n, n.op("Concat", *features, axis=1), 96, 256), alpha=0.2)
    y = n.op("Concat", n.op("Flatten", n.op("GlobalMaxPool", y)), n.op("Flatten", n.op("GlobalAveragePool", y)), axis=1)
    n.output(dense(n, relu(n, dense(n, y, 512, 128)), 128, 40), 1, 40)


def graph_network(n, nodes=2000, edges=8000, width=64):
    """means over the neighbours in a graph that is an input"""
    x, pairs, cin = n.input("x", nodes, 32), n.input("edge_index", 2, edges, kind=TensorProto.INT64), 32
    source, target = (n.op("Gather", pairs, n.const(i, np.int64), axis=0) for i in range(2))
    count = n.op("ScatterND", n.const(np.zeros(nodes)), n.op("Unsqueeze", target, ints(n, 1)), n.const(np.ones(edges)), reduction="add")
    count = n.op("Unsqueeze", n.op("Max", count, n.const(1)), ints(n, 1))
    for _ in range(2):
        said = n.op("Gather", dense(n, x, cin, width), source)
        index = n.op("Expand", n.op("Unsqueeze", target, ints(n, 1)), n.op("Shape", said))
        total = n.op("ScatterElements", n.const(np.zeros((nodes, width))), index, said, axis=0, reduction="add")
        x, cin = relu(n, n.op("Add", n.op("Div", total, count), dense(n, x, cin, width))), width
    n.output(n.op("LogSoftmax", dense(n, x, width, 7), axis=-1), nodes, 7)


EXPORTED = {f.__name__: f for f in (yolov8, diffusion_unet, conformer, hifigan, t5_decoder, seq2seq, dgcnn, graph_network)}
