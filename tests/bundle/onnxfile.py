# SPDX-License-Identifier: MIT
"""Just enough of the ONNX wire format to write the models of these tests, without the onnx package."""

import struct

FLOAT, INT64, FLOAT16 = 1, 7, 10


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))


def field(number, value):
    """an integer, or bytes or text"""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, dims, values=None, raw=None, dtype=FLOAT):
    if raw is None:
        raw = struct.pack(f"<{len(values)}{'f' if dtype == FLOAT else 'q'}", *values)
    return b"".join(field(1, d) for d in dims) + field(2, dtype) + field(8, name) + field(9, raw)


def value(name, dims, dtype=FLOAT):
    """dims: integers, or text for a dimension that has only a name"""
    shape = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


def attribute(name, v):
    return field(1, name) + (field(3, v) + field(20, 2))


def node(op, inputs, outputs, name="", **attrs):
    return (
        b"".join(field(1, i) for i in inputs)
        + b"".join(field(2, o) for o in outputs)
        + field(3, name)
        + field(4, op)
        + b"".join(field(5, attribute(k, v)) for k, v in attrs.items())
    )


def model(nodes, inputs, outputs, tensors=(), name="g", opset=13, doc=""):
    graph = (
        b"".join(field(1, n) for n in nodes)
        + field(2, name)
        + b"".join(field(5, t) for t in tensors)
        + b"".join(field(11, i) for i in inputs)
        + b"".join(field(12, o) for o in outputs)
        + field(10, doc)
    )
    return field(1, 8) + field(2, doc or "test") + field(7, graph) + field(8, field(1, "") + field(2, opset))
