#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The models of the benchmarks that nobody has to download: make_models.py NAME FILE [LIGHT].

Networks by the shapes of their papers with random weights (He et al.: variance 2 / inputs), so their speed is real and
their answers are noise; batch normalisation is folded already, as exporters do. LIGHT turns a light network of the
official tests, whose weights are all constants of one value, into one with random weights. kernel_* are single layers.
Needs numpy and onnx. The same name always gives the same bytes."""
import math
import sys
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from architectures import ARCHITECTURES
from exported import EXPORTED
from layers import gelu_erf, layer_norm


class Net:
    """a graph under construction: every method returns the name of a value"""
    def __init__(self, name):
        self.name, self.nodes, self.constants, self.inputs, self.outputs = name, [], [], [], []
        self.random = np.random.default_rng(zlib.crc32(name.encode()))

    def input(self, name, *shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value, *shape, name=None):
        name = name or f"out{len(self.outputs)}"
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def const(self, value, kind=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def normal(self, deviation, *shape):
        return self.random.standard_normal(shape, np.float32) * np.float32(deviation)

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=f"{kind}{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def save(self, path, opset=17):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)


# ---- layers ----
class Plain:
    """how a network computes: in float"""
    def __init__(self, n):
        self.n = n

    def value(self, x, signed=False):
        return x

    def weights(self, w):
        return self.n.const(w), self.n.const(self.n.normal(0.05, len(w)))


class Quantised(Plain):
    """as a quantiser leaves it: every activation in u8, weights in s8 per channel, between pairs of Q and DQ"""
    STEP = 0.05

    def value(self, x, signed=False):
        scale, zero = self.n.const(self.STEP), self.n.const(128 if signed else 0, np.uint8)
        return self.n.op("DequantizeLinear", self.n.op("QuantizeLinear", x, scale, zero), scale, zero)

    def weights(self, w):
        n, scale = self.n, np.abs(w).reshape(len(w), -1).max(axis=1) / 127
        steps = np.rint(w / scale.reshape(-1, *[1] * (w.ndim - 1)))
        bias = n.random.integers(-500, 500, len(w))
        return [n.op("DequantizeLinear", n.const(v, kind), n.const(s), n.const(np.zeros(len(w)), kind), axis=0)
                for v, s, kind in ((steps, scale, np.int8), (bias, scale * self.STEP, np.int32))]


def conv(n, x, cin, cout, k=1, stride=1, groups=1, form=Plain):
    fan_in = cin // groups * k * k
    w = n.normal(math.sqrt(2 / fan_in), cout, cin // groups, k, k)
    return n.op("Conv", x, *form(n).weights(w), kernel_shape=[k, k], strides=[stride, stride], pads=[k // 2] * 4, group=groups)


def dense(n, x, rows, columns):
    return n.op("Add", n.op("MatMul", x, n.const(n.normal(0.02, rows, columns))), n.const(n.normal(0.02, columns)))


def classifier(n, x, width, form=Plain, classes=1000):
    f = form(n)
    pooled = f.value(n.op("Flatten", f.value(n.op("GlobalAveragePool", x))))
    n.output(f.value(n.op("Gemm", pooled, *f.weights(n.normal(0.02, classes, width)), transB=1), signed=True), 1, classes)


def number(extent):
    """an extent in a Reshape: a dimension with a name is open"""
    return extent if isinstance(extent, int) else -1


def heads(n, x, length, count, size):
    return n.op("Transpose", n.op("Reshape", x, n.const([1, number(length), count, size], np.int64)), perm=[0, 2, 1, 3])


def attend(n, q, k, v, length, width, mask=None):
    """softmax(q k' / sqrt(d) + mask) v, heads side by side again"""
    size = width // 12
    scores = n.op("Div", n.op("MatMul", q, n.op("Transpose", k, perm=[0, 1, 3, 2])), n.const(math.sqrt(size)))
    weights = n.op("Softmax", n.op("Add", scores, mask) if mask else scores, axis=-1)
    mixed = n.op("Transpose", n.op("MatMul", weights, v), perm=[0, 2, 1, 3])
    return n.op("Reshape", mixed, n.const([1, number(length), width], np.int64))


def gelu_tanh(n, x):
    cubic = n.op("Mul", n.op("Pow", x, n.const(3)), n.const(0.044715))
    inner = n.op("Mul", n.op("Add", x, cubic), n.const(math.sqrt(2 / math.pi)))
    return n.op("Mul", n.op("Mul", x, n.const(0.5)), n.op("Add", n.op("Tanh", inner), n.const(1)))


# ---- networks ----
def mobilenetv2(n):
    def relu6(x):
        return n.op("Clip", x, n.const(0), n.const(6))

    x, width = relu6(conv(n, n.input("image", 1, 3, 224, 224), 3, 32, 3, 2)), 32
    for expand, out, repeat, first in (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1):
        for stride in [first] + [1] * (repeat - 1):
            inner, y = expand * width, x
            if expand > 1:
                y = relu6(conv(n, y, width, inner))
            y = relu6(conv(n, y, inner, inner, 3, stride, groups=inner))
            y = conv(n, y, inner, out)
            x, width = n.op("Add", x, y) if stride == 1 and width == out else y, out
    classifier(n, relu6(conv(n, x, width, 1280)), 1280)


def resnet18(n, form=Plain):
    f = form(n)

    def layer(x, *shape, relu=True):
        y = conv(n, x, *shape, form=form)
        return f.value(n.op("Relu", y) if relu else y, signed=not relu)

    x = layer(f.value(n.input("image", 1, 3, 224, 224), signed=True), 3, 64, 7, 2)
    x, width = f.value(n.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)), 64
    for out, first in (64, 1), (128, 2), (256, 2), (512, 2):
        for stride in first, 1:
            y = layer(layer(x, width, out, 3, stride), out, out, 3, relu=False)
            if width != out:
                x = layer(x, width, out, 1, stride, relu=False)
            x, width = f.value(n.op("Relu", n.op("Add", x, y))), out
    classifier(n, x, 512, form)


def resnet18_qdq(n):
    resnet18(n, Quantised)


def bert_base(n, length=128, width=768, layers=12):
    ids = n.input("ids", 1, length, kind=TensorProto.INT64)
    words = n.op("Gather", n.const(n.normal(0.02, 30522, width)), ids)
    if isinstance(length, int):
        places = n.const(n.normal(0.02, 1, length, width))
    else:
        places = n.op("Slice", n.const(n.normal(0.02, 1, 512, width)), n.const([0], np.int64), n.op("Shape", ids, start=1), n.const([1], np.int64))
    x = layer_norm(n, n.op("Add", words, places), width)
    seen = n.op("Cast", n.input("mask", 1, length, kind=TensorProto.INT64), to=TensorProto.FLOAT)
    hidden = n.op("Sub", n.const(1), n.op("Unsqueeze", seen, n.const([1, 2], np.int64)))
    mask = n.op("Mul", hidden, n.const(-10000))
    for _ in range(layers):
        q, k, v = (heads(n, dense(n, x, width, width), length, 12, width // 12) for _ in range(3))
        x = layer_norm(n, n.op("Add", x, dense(n, attend(n, q, k, v, length, width, mask), width, width)), width)
        inner = gelu_erf(n, dense(n, x, width, 4 * width))
        x = layer_norm(n, n.op("Add", x, dense(n, inner, 4 * width, width)), width)
    n.output(x, 1, length, width)


def gpt2_decode(n, past=511, width=768, layers=12, words=50257):
    """one token, with keys and values of those before it as inputs, and with its own appended as outputs"""
    size = width // 12
    table = n.normal(0.02, words, width)
    token = n.op("Gather", n.const(table), n.input("id", 1, 1, kind=TensorProto.INT64))
    place = n.op("Gather", n.const(n.normal(0.02, 1024, width)), n.input("position", 1, 1, kind=TensorProto.INT64))
    x, states = n.op("Add", token, place), []
    for layer in range(layers):
        qkv = n.op("Split", dense(n, layer_norm(n, x, width), width, 3 * width), outputs=3, axis=2)
        q, k, v = (heads(n, t, 1, 12, size) for t in qkv)
        k = n.op("Concat", n.input(f"past_k{layer}", 1, 12, past, size), k, axis=2)
        v = n.op("Concat", n.input(f"past_v{layer}", 1, 12, past, size), v, axis=2)
        states += [(f"k{layer}", k), (f"v{layer}", v)]
        x = n.op("Add", x, dense(n, attend(n, q, k, v, 1, width), width, width))
        inner = gelu_tanh(n, dense(n, layer_norm(n, x, width), width, 4 * width))
        x = n.op("Add", x, dense(n, inner, 4 * width, width))
    n.output(n.op("MatMul", layer_norm(n, x, width), n.const(np.ascontiguousarray(table.T))), 1, 1, words)
    for name, value in states:
        n.output(value, 1, 12, past + 1 if isinstance(past, int) else "more", size, name=name)


# ---- single layers ----
def gemm(n, m, depth, columns):
    n.output(n.op("MatMul", n.input("x", m, depth), n.const(n.normal(0.02, depth, columns))), m, columns)


def conv_layer(n, size, cin, cout, k, groups=1):
    n.output(n.op("Relu", conv(n, n.input("x", 1, cin, size, size), cin, cout, k, groups=groups)), 1, cout, size, size)


def conv_layer_last(n, size, cin, cout, k, groups=1):
    """with channels last before and behind it, as between the layers of a network"""
    x = n.op("Transpose", n.input("x", 1, size, size, cin), perm=[0, 3, 1, 2])
    y = n.op("Relu", conv(n, x, cin, cout, k, groups=groups))
    n.output(n.op("Transpose", y, perm=[0, 2, 3, 1]), 1, size, size, cout)


def unary_layer(n, kind, *shape, **attributes):
    n.output(n.op(kind, n.input("x", *shape), **attributes), *shape)


def norm_layer(n, rows, width):
    n.output(layer_norm(n, n.input("x", rows, width), width), rows, width)


def gelu_layer(n, rows, width):
    n.output(gelu_erf(n, n.input("x", rows, width)), rows, width)


NETWORKS = {f.__name__: f for f in (mobilenetv2, resnet18, resnet18_qdq, bert_base, gpt2_decode)}
CONVOLUTIONS = { # size, channels, window, groups
    "conv 1x1 56x56 64-64": (56, 64, 64, 1),
    "conv 1x1 56x56 64-256": (56, 64, 256, 1),
    "conv 1x1 28x28 128-512": (28, 128, 512, 1),
    "conv 1x1 14x14 1024-256": (14, 1024, 256, 1),
    "conv 1x1 7x7 512-2048": (7, 512, 2048, 1),
    "conv 3x3 56x56 64-64": (56, 64, 64, 3),
    "conv 3x3 28x28 128-128": (28, 128, 128, 3),
    "conv 3x3 14x14 256-256": (14, 256, 256, 3),
    "conv 3x3 7x7 512-512": (7, 512, 512, 3),
    "depthwise 56x56 144": (56, 144, 144, 3, 144),
    "depthwise 7x7 960": (7, 960, 960, 3, 960),
}
KERNELS = {
    "gemm 128x768x3072": lambda n: gemm(n, 128, 768, 3072),
    "gemm 128x3072x768": lambda n: gemm(n, 128, 3072, 768),
    "gemv 768x3072": lambda n: gemm(n, 1, 768, 3072),
    "gemv 9216x4096": lambda n: gemm(n, 1, 9216, 4096),
    "softmax 1536x128": lambda n: unary_layer(n, "Softmax", 1536, 128, axis=-1),
    "layer norm 128x768": lambda n: norm_layer(n, 128, 768),
    "exp 256x256": lambda n: unary_layer(n, "Exp", 256, 256),
    "tanh 256x256": lambda n: unary_layer(n, "Tanh", 256, 256),
    "erf 256x256": lambda n: unary_layer(n, "Erf", 256, 256),
    "sigmoid 256x256": lambda n: unary_layer(n, "Sigmoid", 256, 256),
    "gelu 256x256": lambda n: gelu_layer(n, 256, 256),
    "sin 256x256": lambda n: unary_layer(n, "Sin", 256, 256),
    **{name: lambda n, shape=shape: conv_layer(n, *shape) for name, shape in CONVOLUTIONS.items()},
    **{f"{name} last": lambda n, shape=shape: conv_layer_last(n, *shape) for name, shape in CONVOLUTIONS.items()},
}


# ---- the light networks of the official tests ----
def weights_for(random, user, place, shape):
    """values that keep activations of about the same size through the network"""
    if user.op_type == "BatchNormalization":  # scale, shift, mean, variance
        low, high = {1: (0.5, 1), 2: (-0.1, 0.1), 3: (-0.1, 0.1), 4: (0.8, 1.2)}[place]
        return random.uniform(low, high, shape)
    if user.op_type in ("Conv", "Gemm", "MatMul") and place == 1:
        return random.standard_normal(shape, np.float32) * math.sqrt(2 / math.prod(shape[1:]))
    return random.uniform(0.4, 0.8, shape) if user.op_type in ("Mul", "Unsqueeze") else random.standard_normal(shape) * 0.05


def light(source, name):
    model = onnx.load(source)
    graph, random = model.graph, np.random.default_rng(zlib.crc32(name.encode()))
    given = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    users = {v: (node, i) for node in graph.node for i, v in enumerate(node.input)}
    made = [node for node in graph.node if node.op_type == "ConstantOfShape" and node.input[0] in given]
    for node in made:
        shape = [int(d) for d in given[node.input[0]]]
        values = weights_for(random, *users[node.output[0]], shape).astype(np.float32)
        graph.initializer.append(numpy_helper.from_array(values, node.output[0]))
        graph.node.remove(node)
    constants = {t.name for t in graph.initializer}
    inputs = [i for i in graph.input if i.name not in constants]
    del graph.input[:]
    graph.input.extend(inputs)
    model.ir_version = max(model.ir_version, 4)  # since when constants need not be inputs
    onnx.checker.check_model(model)
    return model


def main():
    name, path, *source = sys.argv[1:]
    if source:
        onnx.save(light(source[0], name), path)
        return
    n = Net(name)
    {**NETWORKS, **ARCHITECTURES, **EXPORTED, **KERNELS}[name](n)
    n.save(path)


if __name__ == "__main__":
    main()
