# SPDX-License-Identifier: MIT
"""Architectures that people deploy, small and with random weights, for what the other networks of the benchmarks do not
have: transposed and dilated convolutions, statistics of channels, gates, windows of attention, recurrences, resizing."""
import math

import numpy as np
from onnx import TensorProto

from layers import gelu_erf, layer_norm


def shape(n, x, *dims):
    return n.op("Reshape", x, n.const(dims, np.int64))


def turn(n, x, *perm):
    return n.op("Transpose", x, perm=perm)


def conv(n, x, cin, cout, size=1, stride=1, groups=1, dilation=1, act=None, pads=None):
    fan_in = cin // groups * math.prod(np.broadcast_to(size, 2))
    kernel = list(np.broadcast_to(size, 2))
    pads = [dilation * (k // 2) for k in kernel] * 2 if pads is None else pads
    w, b = n.normal(math.sqrt(2 / fan_in), cout, cin // groups, *kernel), n.normal(0.05, cout)
    y = n.op("Conv", x, n.const(w), n.const(b), kernel_shape=kernel, strides=[stride] * 2, dilations=[dilation] * 2,
             group=groups, pads=pads)
    return y if act is None else act(n, y)


def grow(n, x, cin, cout, size, stride, pad=0, act=None):
    w = n.normal(math.sqrt(2 / (cin * size * size)) * stride, cin, cout, size, size)
    y = n.op("ConvTranspose", x, n.const(w), kernel_shape=[size] * 2, strides=[stride] * 2, pads=[pad] * 4)
    return y if act is None else act(n, y)


def relu(n, x):
    return n.op("Relu", x)


def silu(n, x):
    return n.op("Mul", x, n.op("Sigmoid", x))


def pool(n, x, size=2, stride=2):
    return n.op("MaxPool", x, kernel_shape=[size] * 2, strides=[stride] * 2, pads=[(size - stride) // 2] * 4 if size > stride else [0] * 4)


def dense(n, x, rows, columns, bias=True):
    y = n.op("MatMul", x, n.const(n.normal(1 / math.sqrt(rows), rows, columns)))
    return n.op("Add", y, n.const(n.normal(0.02, columns))) if bias else y


def rms_norm(n, x, width):
    mean = n.op("ReduceMean", n.op("Mul", x, x), axes=[-1])
    return n.op("Mul", n.op("Div", x, n.op("Sqrt", n.op("Add", mean, n.const(1e-6)))), n.const(1 + n.normal(0.02, width)))


def mlp(n, x, width, inner):
    return dense(n, gelu_erf(n, dense(n, x, width, inner)), inner, width)


def attention(n, x, batch, length, width, heads, bias=None):
    size = width // heads
    qkv = turn(n, shape(n, dense(n, x, width, 3 * width), batch, length, 3, heads, size), 2, 0, 3, 1, 4)
    q, k, v = (n.op("Gather", qkv, n.const(i, np.int64), axis=0) for i in range(3))
    scores = n.op("Mul", n.op("MatMul", q, turn(n, k, 0, 1, 3, 2)), n.const(size ** -0.5))
    weights = n.op("Softmax", n.op("Add", scores, bias) if bias else scores, axis=-1)
    return dense(n, shape(n, turn(n, n.op("MatMul", weights, v), 0, 2, 1, 3), batch, length, width), width, width)


def block(n, x, batch, length, width, heads):
    x = n.op("Add", x, attention(n, layer_norm(n, x, width), batch, length, width, heads))
    return n.op("Add", x, mlp(n, layer_norm(n, x, width), width, 4 * width))


def unet(n):
    """an encoder and a decoder that meet at each scale"""
    x, width, skips = n.input("image", 1, 3, 128, 128), 3, []
    for out in 32, 64, 128, 256:
        x = conv(n, conv(n, x, width, out, 3, act=relu), out, out, 3, act=relu)
        skips, width, x = skips + [x], out, pool(n, x)
    x, width = conv(n, x, 256, 512, 3, act=relu), 512
    for skip, out in zip(reversed(skips), (256, 128, 64, 32)):
        x = n.op("Concat", skip, grow(n, x, width, out, 2, 2), axis=1)
        x, width = conv(n, conv(n, x, 2 * out, out, 3, act=relu), out, out, 3, act=relu), out
    n.output(n.op("Sigmoid", conv(n, x, 32, 2)), 1, 2, 128, 128)


def efficientnet(n):
    """inverted bottlenecks whose channels are scaled by what is seen of the whole"""
    x, width = conv(n, n.input("image", 1, 3, 224, 224), 3, 32, 3, 2, act=silu), 32
    for expand, out, repeat, first, size in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
                                             (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):
        for stride in [first] + [1] * (repeat - 1):
            inner, few = width * expand, max(width // 4, 4)
            y = conv(n, x, width, inner, act=silu) if expand > 1 else x
            y = conv(n, y, inner, inner, size, stride, groups=inner, act=silu)
            seen = conv(n, conv(n, n.op("GlobalAveragePool", y), inner, few, act=silu), few, inner)
            y = conv(n, n.op("Mul", y, n.op("Sigmoid", seen)), inner, out)
            x, width = n.op("Add", x, y) if stride == 1 and width == out else y, out
    x = n.op("Flatten", n.op("GlobalAveragePool", conv(n, x, width, 1280, act=silu)))
    n.output(dense(n, x, 1280, 1000), 1, 1000)


def resnext(n):
    """convolutions in 32 groups"""
    x, width = pool(n, conv(n, n.input("image", 1, 3, 224, 224), 3, 64, 7, 2, act=relu), 4, 2), 64
    for inner, repeat, first in (128, 2, 1), (256, 2, 2), (512, 2, 2), (1024, 1, 2):
        for stride in [first] + [1] * (repeat - 1):
            y = conv(n, conv(n, x, width, inner, act=relu), inner, inner, 3, stride, groups=32, act=relu)
            y, out = conv(n, y, inner, 2 * inner), 2 * inner
            x, width = relu(n, n.op("Add", conv(n, x, width, out, 1, stride) if width != out else x, y)), out
    n.output(dense(n, n.op("Flatten", n.op("GlobalAveragePool", x)), width, 1000), 1, 1000)


def convnext(n):
    """depthwise windows of 7 x 7 and layer normalisation of channels"""
    x, width = conv(n, n.input("image", 1, 3, 224, 224), 3, 96, 4, 4, pads=[0] * 4), 96
    for out, repeat in (96, 2), (192, 2), (384, 3), (768, 1):
        if out != width:
            x = turn(n, layer_norm(n, turn(n, x, 0, 2, 3, 1), width), 0, 3, 1, 2)
            x, width = conv(n, x, width, out, 2, 2, pads=[0] * 4), out
        for _ in range(repeat):
            y = layer_norm(n, turn(n, conv(n, x, width, width, 7, groups=width), 0, 2, 3, 1), width)
            y = n.op("Mul", mlp(n, y, width, 4 * width), n.const(n.normal(0.1, width)))
            x = n.op("Add", x, turn(n, y, 0, 3, 1, 2))
    n.output(dense(n, layer_norm(n, n.op("ReduceMean", x, axes=[2, 3], keepdims=0), width), width, 1000), 1, 1000)


def style_transfer(n):
    """borders by reflection, and normalisation by the statistics of each channel of the image"""
    def layer(x, cin, cout, size, stride, act=None):
        x = n.op("Pad", x, n.const([0, 0, size // 2, size // 2] * 2, np.int64), mode="reflect")
        x = conv(n, x, cin, cout, size, stride, pads=[0] * 4)
        x = n.op("InstanceNormalization", x, n.const(1 + n.normal(0.02, cout)), n.const(n.normal(0.02, cout)))
        return x if act is None else act(n, x)

    def double(x):
        return n.op("Resize", x, "", n.const([1, 1, 2, 2]), mode="nearest")

    x = layer(n.input("image", 1, 3, 224, 224), 3, 32, 9, 1, relu)
    x = layer(layer(x, 32, 64, 3, 2, relu), 64, 128, 3, 2, relu)
    for _ in range(3):
        x = n.op("Add", x, layer(layer(x, 128, 128, 3, 1, relu), 128, 128, 3, 1))
    x = layer(double(layer(double(x), 128, 64, 3, 1, relu)), 64, 32, 3, 1, relu)
    n.output(layer(x, 32, 3, 9, 1), 1, 3, 224, 224)


def deeplab(n):
    """dilated convolutions side by side, and a map enlarged sixteen times"""
    x, width = n.input("image", 1, 3, 256, 256), 3
    for out in 32, 64, 128, 256:
        x, width = conv(n, x, width, out, 3, 2, act=relu), out
    views = [conv(n, x, 256, 64, act=relu)] + [conv(n, x, 256, 64, 3, dilation=d, act=relu) for d in (6, 12, 18)]
    whole = conv(n, n.op("GlobalAveragePool", x), 256, 64, act=relu)
    x = n.op("Concat", *views, n.op("Expand", whole, n.const([1, 64, 16, 16], np.int64)), axis=1)
    x = conv(n, conv(n, x, 320, 64, act=relu), 64, 21)
    x = n.op("Resize", x, "", n.const([1, 1, 16, 16]), mode="linear", coordinate_transformation_mode="align_corners")
    n.output(x, 1, 21, 256, 256)


def dcgan(n):
    """a picture out of noise"""
    x, width = n.input("noise", 1, 100, 1, 1), 100
    for out, stride, pad in (512, 1, 0), (256, 2, 1), (128, 2, 1), (64, 2, 1):
        x, width = grow(n, x, width, out, 4, stride, pad, act=relu), out
    n.output(n.op("Tanh", grow(n, x, width, 3, 4, 2, 1)), 1, 3, 64, 64)


def vit(n, length=197, width=384):
    x = conv(n, n.input("image", 1, 3, 224, 224), 3, width, 16, 16, pads=[0] * 4)
    x = n.op("Concat", n.const(n.normal(0.02, 1, 1, width)), turn(n, shape(n, x, 1, width, length - 1), 0, 2, 1), axis=1)
    x = n.op("Add", x, n.const(n.normal(0.02, 1, length, width)))
    for _ in range(6):
        x = block(n, x, 1, length, width, 6)
    first = n.op("Gather", layer_norm(n, x, width), n.const(0, np.int64), axis=1)
    n.output(dense(n, first, width, 1000), 1, 1000)


def swin(n, side=56, width=96, window=7):
    """attention within windows, every second time of a shifted picture"""
    def roll(x, by):
        for axis in 1, 2:
            head, tail = (n.op("Slice", x, *(n.const([v], np.int64) for v in (a, b, axis))) for a, b in ((by, side), (0, by)))
            x = n.op("Concat", head, tail, axis=axis)
        return x

    x = turn(n, conv(n, n.input("image", 1, 3, 224, 224), 3, width, 4, 4, pads=[0] * 4), 0, 2, 3, 1)
    count, length = side // window, window * window
    for shift in 0, 3, 0, 3:
        y = layer_norm(n, x, width)
        y = roll(y, shift) if shift else y
        y = shape(n, turn(n, shape(n, y, count, window, count, window, width), 0, 2, 1, 3, 4), count * count, length, width)
        y = attention(n, y, count * count, length, width, 3, n.const(n.normal(0.02, 1, 3, length, length)))
        y = shape(n, turn(n, shape(n, y, count, count, window, window, width), 0, 2, 1, 3, 4), 1, side, side, width)
        x = n.op("Add", x, roll(y, side - shift) if shift else y)
        x = n.op("Add", x, mlp(n, layer_norm(n, x, width), width, 4 * width))
    n.output(dense(n, layer_norm(n, n.op("ReduceMean", x, axes=[1, 2], keepdims=0), width), width, 1000), 1, 1000)


def mlp_mixer(n, length=196, width=256):
    x = n.input("patches", 1, length, width)
    for _ in range(4):
        x = n.op("Add", x, turn(n, mlp(n, turn(n, layer_norm(n, x, width), 0, 2, 1), length, 384), 0, 2, 1))
        x = n.op("Add", x, mlp(n, layer_norm(n, x, width), width, 4 * width))
    n.output(x, 1, length, width)


def whisper_encoder(n, width=384):
    def layer(x, cin, stride):
        w = n.normal(math.sqrt(2 / (3 * cin)), width, cin, 3)
        return gelu_erf(n, n.op("Conv", x, n.const(w), n.const(n.normal(0.02, width)), kernel_shape=[3], pads=[1, 1], strides=[stride]))

    x = turn(n, layer(layer(n.input("mel", 1, 80, 1000), 80, 1), width, 2), 0, 2, 1)
    x = n.op("Add", x, n.const(n.normal(0.02, 500, width)))
    for _ in range(4):
        x = block(n, x, 1, 500, width, 6)
    n.output(layer_norm(n, x, width), 1, 500, width)


def llama_decode(n, past=255, width=512, heads=8, inner=1376, words=32000, layers=6):
    """one token: rotated keys and queries, normalisation by mean squares, gated layers"""
    size = width // heads
    place = n.input("position", 1, kind=TensorProto.INT64)
    cos, sin = (n.op("Gather", n.const(n.normal(1, 512, size)), place) for _ in range(2))
    x, states = n.op("Gather", n.const(n.normal(0.02, words, width)), n.input("id", 1, 1, kind=TensorProto.INT64)), []

    def rotated(v):
        a, b = n.op("Split", v, outputs=2, axis=3)
        return n.op("Add", n.op("Mul", v, cos), n.op("Mul", n.op("Concat", n.op("Neg", b), a, axis=3), sin))

    for layer in range(layers):
        y = rms_norm(n, x, width)
        q, k, v = (turn(n, shape(n, dense(n, y, width, width, False), 1, 1, heads, size), 0, 2, 1, 3) for _ in range(3))
        k = n.op("Concat", n.input(f"past_k{layer}", 1, heads, past, size), rotated(k), axis=2)
        v = n.op("Concat", n.input(f"past_v{layer}", 1, heads, past, size), v, axis=2)
        states += [(f"k{layer}", k), (f"v{layer}", v)]
        scores = n.op("Mul", n.op("MatMul", rotated(q), turn(n, k, 0, 1, 3, 2)), n.const(size ** -0.5))
        mixed = turn(n, n.op("MatMul", n.op("Softmax", scores, axis=-1), v), 0, 2, 1, 3)
        x = n.op("Add", x, dense(n, shape(n, mixed, 1, 1, width), width, width, False))
        y = rms_norm(n, x, width)
        gate = n.op("Mul", silu(n, dense(n, y, width, inner, False)), dense(n, y, width, inner, False))
        x = n.op("Add", x, dense(n, gate, inner, width, False))
    n.output(dense(n, rms_norm(n, x, width), width, words, False), 1, 1, words)
    for name, value in states:
        n.output(value, 1, heads, past + 1, size, name=name)


def wavenet(n, length=2000, width=64):
    """gated causal convolutions, each twice as far apart as the one before"""
    x, skip = n.input("audio", 1, width, length), None
    for i in range(10):
        def layer(v, size=1, dilation=1):
            w = n.normal(math.sqrt(1 / (width * size)), width, width, size)
            return n.op("Conv", v, n.const(w), n.const(n.normal(0.02, width)), kernel_shape=[size], dilations=[dilation],
                        pads=[(size - 1) * dilation, 0])

        gated = n.op("Mul", n.op("Tanh", layer(x, 3, 2 ** (i % 8))), n.op("Sigmoid", layer(x, 3, 2 ** (i % 8))))
        seen = layer(gated)
        skip = n.op("Add", skip, seen) if skip else seen
        x = n.op("Add", x, layer(gated))
    n.output(n.op("Relu", skip), 1, width, length)


def bilstm(n, length=40, width=128, inner=256):
    w, r = n.normal(1 / math.sqrt(width), 2, 4 * inner, width), n.normal(1 / math.sqrt(inner), 2, 4 * inner, inner)
    y = n.op("LSTM", n.input("frames", length, 1, width), n.const(w), n.const(r), n.const(n.normal(0.02, 2, 8 * inner)),
             outputs=3, hidden_size=inner, direction="bidirectional")[0]
    n.output(n.op("LogSoftmax", dense(n, shape(n, turn(n, y, 0, 2, 1, 3), -1, 2 * inner), 2 * inner, 64), axis=-1), length, 64)


ARCHITECTURES = {f.__name__: f for f in (unet, efficientnet, resnext, convnext, style_transfer, deeplab, dcgan, vit, swin,
                                         mlp_mixer, whisper_encoder, llama_decode, wavenet, bilstm)}
