# SPDX-License-Identifier: MIT
"""A small attention layer as an ONNX file: one model for any number of tokens, with caches of keys and values."""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
import onnxfile as o  # noqa: E402

WIDTH, PAST = 32, 48


def floats(name, shape, seed):
    """numbers from a seed, in [-0.5, 0.5) / sqrt(WIDTH)"""
    data, n = [], 1
    for d in shape:
        n *= d
    for _ in range(n):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        data.append(((seed >> 8) / (1 << 24) - 0.5) / WIDTH ** 0.5 * 2)
    return o.tensor(name, o.FLOAT, shape, struct.pack(f"<{n}f", *data))


def numbers(name, *values):
    return o.tensor(name, o.INT64, [len(values)], struct.pack(f"<{len(values)}q", *values))


def scalar(name, value):
    return o.tensor(name, o.INT64, [], struct.pack("<q", value))


def write(path):
    nodes = [
        o.node("MatMul", ["x", "wq"], ["q"]),
        o.node("MatMul", ["x", "wk"], ["k"]),
        o.node("MatMul", ["x", "wv"], ["v"]),
        o.node("Concat", ["past_k", "k"], ["present_k"], axis=0),
        o.node("Concat", ["past_v", "v"], ["present_v"], axis=0),
        o.node("Transpose", ["present_k"], ["keys"], perm=[1, 0]),
        o.node("MatMul", ["q", "keys"], ["scores"]),
        # token i sees the past, and the tokens up to itself
        o.node("Shape", ["x"], ["shape"]),
        o.node("Gather", ["shape", "zero"], ["tokens"]),
        o.node("Range", ["zero", "tokens", "one"], ["at"]),
        o.node("Range", ["before", "tokens", "one"], ["seen"]),
        o.node("Unsqueeze", ["at", "last"], ["rows"]),
        o.node("LessOrEqual", ["seen", "rows"], ["allowed"]),
        o.node("Where", ["allowed", "scores", "never"], ["masked"]),
        o.node("Softmax", ["masked"], ["weights"], axis=1),
        o.node("MatMul", ["weights", "present_v"], ["mixed"]),
        o.node("MatMul", ["mixed", "wo"], ["y"]),
    ]
    tensors = [floats(w, [WIDTH, WIDTH], 7 * i + 1) for i, w in enumerate(["wq", "wk", "wv", "wo"])]
    tensors += [scalar("zero", 0), scalar("one", 1), scalar("before", -PAST), numbers("last", 1),
                o.tensor("never", o.FLOAT, [], struct.pack("<f", -1e9))]
    cache = [o.value(f"past_{c}", o.FLOAT, [PAST, WIDTH]) for c in "kv"]
    present = [o.value(f"present_{c}", o.FLOAT, ["all", WIDTH]) for c in "kv"]
    path.write_bytes(o.model("attention", nodes, tensors, [o.value("x", o.FLOAT, ["tokens", WIDTH]), *cache],
                             [o.value("y", o.FLOAT, ["tokens", WIDTH]), *present]))


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]))
