#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Trains the digit classifier of this example and writes digits.onnx and samples/; needs numpy only.

    python3 train.py            train, report, write the files (a few minutes)
    python3 train.py --check    only measure digits.onnx on the held-out pictures

The network: two 3x3 convolutions with ReLU and 2x2 max pooling, two dense layers, softmax. The pictures
come from data.py; training and held-out ones are drawn from different seeds."""
import pathlib
import sys
import numpy as np
from data import SIDE, draw

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools"))
from onnxfile import FLOAT, initializers, model, node, tensor, value

MODEL = HERE / "digits.onnx"
TRAIN_SEED, HELD_OUT_SEED, SAMPLE_SEED = 1, 2, 3
TRAIN, HELD_OUT, BATCH, EPOCHS, RATE = 40000, 5000, 64, 8, 1.5e-3
C1, C2, HIDDEN = 12, 24, 64


# ---- the network: forward and backward by hand ----
def windows(x):
    """[n, c, h, w] -> [n, h, w, c * 9], the 3x3 neighbourhood of every pixel, zeros outside"""
    p = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    v = np.lib.stride_tricks.sliding_window_view(p, (3, 3), (2, 3))  # [n, c, h, w, 3, 3]
    return np.ascontiguousarray(v.transpose(0, 2, 3, 1, 4, 5)).reshape(*v.shape[:1], *v.shape[2:4], -1)


def conv(x, w, b):
    cols = windows(x)
    return (cols @ w.reshape(len(w), -1).T + b).transpose(0, 3, 1, 2), cols


def conv_back(g, cols, w, want_input):
    """gradients of the weights, the bias and (a convolution with the turned kernel) the input"""
    rows = np.ascontiguousarray(g.transpose(0, 2, 3, 1)).reshape(-1, len(w))
    gw = (rows.T @ cols.reshape(len(rows), -1)).reshape(w.shape)
    turned = w[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    return gw, rows.sum(0), conv(g, np.ascontiguousarray(turned), np.float32(0))[0] if want_input else None


def pool(x):
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
    y = blocks.max((3, 5))
    return y, blocks == y[:, :, :, None, :, None]


def pool_back(g, mask):
    return (mask * g[:, :, :, None, :, None]).reshape(*g.shape[:2], g.shape[2] * 2, g.shape[3] * 2)


def forward(P, x):
    a1, cols1 = conv(x, P["conv1.w"], P["conv1.b"])
    y1, m1 = pool(np.maximum(a1, 0))
    a2, cols2 = conv(y1, P["conv2.w"], P["conv2.b"])
    y2, m2 = pool(np.maximum(a2, 0))
    flat = y2.reshape(len(x), -1)
    h = np.maximum(flat @ P["dense1.w"].T + P["dense1.b"], 0)
    z = h @ P["dense2.w"].T + P["dense2.b"]
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True), (a1, cols1, m1, a2, cols2, m2, flat, h)


def gradients(P, x, digit):
    p, (a1, cols1, m1, a2, cols2, m2, flat, h) = forward(P, x)
    loss = -np.log(p[np.arange(len(x)), digit] + 1e-9).mean()
    p[np.arange(len(x)), digit] -= 1
    gz = p / np.float32(len(x))
    G = {"dense2.w": gz.T @ h, "dense2.b": gz.sum(0)}
    gh = (gz @ P["dense2.w"]) * (h > 0)
    G |= {"dense1.w": gh.T @ flat, "dense1.b": gh.sum(0)}
    g2 = pool_back((gh @ P["dense1.w"]).reshape(len(x), C2, SIDE // 4, SIDE // 4), m2) * (a2 > 0)
    G["conv2.w"], G["conv2.b"], g = conv_back(g2, cols2, P["conv2.w"], True)
    g1 = pool_back(g, m1) * (a1 > 0)
    G["conv1.w"], G["conv1.b"], _ = conv_back(g1, cols1, P["conv1.w"], False)
    return loss, G


def accuracy(P, x, digit):
    found = np.concatenate([forward(P, x[i:i + 500])[0].argmax(1) for i in range(0, len(x), 500)])
    return (found == digit).mean()


def train():
    rng = np.random.default_rng(0)
    flat = C2 * (SIDE // 4) ** 2
    shapes = {"conv1.w": (C1, 1, 3, 3), "conv2.w": (C2, C1, 3, 3), "dense1.w": (HIDDEN, flat), "dense2.w": (10, HIDDEN)}
    P = {}
    for name, shape in shapes.items():
        P[name] = rng.normal(0, (2 / np.prod(shape[1:])) ** .5, shape).astype(np.float32)
        P[name[:-1] + "b"] = np.zeros(shape[0], np.float32)
    x, digit = draw(TRAIN, TRAIN_SEED)
    held = draw(HELD_OUT, HELD_OUT_SEED)
    first, second, step = {k: np.zeros_like(v) for k, v in P.items()}, {k: np.zeros_like(v) for k, v in P.items()}, 0
    steps = EPOCHS * (TRAIN // BATCH)
    for epoch in range(EPOCHS):
        order, total = rng.permutation(TRAIN), 0.0
        for at in range(0, TRAIN - BATCH + 1, BATCH):
            pick = order[at:at + BATCH]
            loss, G = gradients(P, x[pick], digit[pick])
            total += loss
            step += 1
            rate = RATE * .5 * (1 + np.cos(np.pi * step / steps))  # Adam under a cosine
            for k in P:
                first[k] += .1 * (G[k] - first[k])
                second[k] += .001 * (G[k] ** 2 - second[k])
                mean, spread = first[k] / (1 - .9 ** step), np.sqrt(second[k] / (1 - .999 ** step))
                P[k] -= (rate * mean / (spread + 1e-8)).astype(np.float32)
        print(f"epoch {epoch + 1}: loss {total / (TRAIN // BATCH):.4f}, held out {accuracy(P, *held):.2%}", flush=True)
    return P


# ---- ONNX ----
def onnx_bytes(P):
    window = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    half = dict(kernel_shape=[2, 2], strides=[2, 2])
    nodes = [node("Conv", ["image", "conv1.w", "conv1.b"], ["a1"], **window), node("Relu", ["a1"], ["r1"]),
             node("MaxPool", ["r1"], ["p1"], **half),
             node("Conv", ["p1", "conv2.w", "conv2.b"], ["a2"], **window), node("Relu", ["a2"], ["r2"]),
             node("MaxPool", ["r2"], ["p2"], **half), node("Flatten", ["p2"], ["flat"], axis=1),
             node("Gemm", ["flat", "dense1.w", "dense1.b"], ["d1"], transB=1), node("Relu", ["d1"], ["r3"]),
             node("Gemm", ["r3", "dense2.w", "dense2.b"], ["d2"], transB=1),
             node("Softmax", ["d2"], ["probabilities"], axis=1)]
    return model("digits", nodes, [tensor(k, FLOAT, v.shape, v.tobytes()) for k, v in P.items()],
                 [value("image", FLOAT, (1, 1, SIDE, SIDE))], [value("probabilities", FLOAT, (1, 10))])


def load(path):
    return {k: np.frombuffer(data, np.float32).reshape(shape) for k, (_, shape, data) in initializers(path.read_bytes()).items()}


def write_samples():
    """one picture of each digit, as PGM, ink is 255"""
    (HERE / "samples").mkdir(exist_ok=True)
    x, digit = draw(200, SAMPLE_SEED)
    for d in range(10):
        picture = np.round(x[np.flatnonzero(digit == d)[0], 0] * 255).astype(np.uint8)
        (HERE / f"samples/{d}.pgm").write_bytes(b"P5\n%d %d\n255\n" % (SIDE, SIDE) + picture.tobytes())


if __name__ == "__main__":
    if "--check" not in sys.argv:
        MODEL.write_bytes(onnx_bytes(train()))
        write_samples()
    print(f"{MODEL.name}: {MODEL.stat().st_size} bytes, held out {accuracy(load(MODEL), *draw(HELD_OUT, HELD_OUT_SEED)):.2%}")
