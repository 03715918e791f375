# SPDX-License-Identifier: MIT
"""Small ONNX files without the onnx package: a writer for the examples, tests and benchmarks, and a reader of
their tensors. A protobuf message is a row of keys (number << 3 | kind) and values; only what is needed is here.
Tensors go in and out as (type, shape, bytes), so that numpy is not needed either."""
import struct

FLOAT, INT32, INT64 = 1, 6, 7


def varint(n):
    out = b""
    n &= (1 << 64) - 1  # negative numbers take ten bytes
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    """one field: an integer, or text, or the bytes of a message"""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def number_at(data, at):
    """the reverse of varint: the number that begins at a byte, and where it ends"""
    n = shift = 0
    while True:
        byte = data[at]
        at += 1
        n |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return n, at


def fields(data):
    """the reverse: (number, integer or bytes) of one message"""
    at = 0

    def read():
        nonlocal at
        n, at = number_at(data, at)
        return n

    while at < len(data):
        key = read()
        if key & 7 == 0:
            yield key >> 3, read()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or read()
            yield key >> 3, data[at:at + size]
            at += size


def slices(data):
    """(number, bytes of the whole field, key included) of one message, to copy fields as they are"""
    at = 0
    while at < len(data):
        start, numbers = at, []
        for _ in range(2):  # the key, and the number or length behind it
            n = shift = 0
            while not shift or data[at - 1] > 127:
                n, shift, at = n | (data[at] & 127) << shift, shift + 7, at + 1
            numbers.append(n)
            if numbers[0] & 7 in (1, 5):
                break
        at += {0: 0, 1: 8, 5: 4}.get(numbers[0] & 7) if numbers[0] & 7 != 2 else numbers[1]
        yield numbers[0] >> 3, data[start:at]


def tensor(name, dtype, shape, data):
    """a TensorProto; also the content of an input_0.pb"""
    return b"".join(field(1, d) for d in shape) + field(2, dtype) + field(8, name) + field(9, data)


def attribute(name, value):
    if isinstance(value, int):
        body = field(3, value) + field(20, 2)
    elif isinstance(value, float):
        body = varint(2 << 3 | 5) + struct.pack("<f", value) + field(20, 1)
    elif isinstance(value, str):
        body = field(4, value) + field(20, 3)
    elif isinstance(value, bytes):  # of graph()
        body = field(6, value) + field(20, 5)
    elif value and isinstance(value[0], float):
        body = b"".join(varint(7 << 3 | 5) + struct.pack("<f", v) for v in value) + field(20, 6)
    elif value and isinstance(value[0], str):
        body = b"".join(field(9, v) for v in value) + field(20, 8)
    else:
        body = b"".join(field(8, v) for v in value) + field(20, 7)
    return field(5, field(1, name) + body)


def node(op, inputs, outputs, **attributes):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(4, op) +
            b"".join(attribute(k, v) for k, v in attributes.items()))


def value(name, dtype, shape):
    dims = b"".join(field(1, field(2 if isinstance(d, str) else 1, d)) for d in shape)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, dims)))


def graph(name, nodes, tensors, inputs, outputs):
    """a GraphProto, from the results of node(), tensor() and value(); also the body of If, Loop and Scan"""
    return b"".join([*(field(1, n) for n in nodes), field(2, name), *(field(5, t) for t in tensors),
                     *(field(11, v) for v in inputs), *(field(12, v) for v in outputs)])


def model(name, nodes, tensors, inputs, outputs, opset=17):
    """the bytes of a file"""
    return (field(1, 8) + field(2, "tgc") + field(7, graph(name, nodes, tensors, inputs, outputs)) +
            field(8, field(1, "") + field(2, opset)))


def initializers(data):
    """name -> (type, shape, bytes) of the tensors of a model that hold raw data"""
    found = {}
    for number, body in fields(dict(fields(data))[7]):
        if number == 5:
            parts = list(fields(body))
            one = dict(parts)
            found[one[8].decode()] = one[2], [d for k, d in parts if k == 1], one[9]
    return found
