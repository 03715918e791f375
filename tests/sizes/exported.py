# SPDX-License-Identifier: MIT
"""Small ONNX models with open dimensions, in the forms that exporters write: shapes are computed by Shape, Gather, Concat and
Reshape, masks by Range, Trilu and Where. MODELS: each with ranges (low, high, step)."""
import math
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
import onnxfile  # noqa: E402
from onnxfile import FLOAT, INT64  # noqa: E402

BOOL = 9


class Writer:
    """Collects nodes and constants. op() returns the name of its result, or a list of names."""

    def __init__(self):
        self.nodes, self.tensors, self.n = [], [], 0

    def name(self, text):
        self.n += 1
        return f"{text}_{self.n}"

    def op(self, kind, *inputs, outputs=1, **attributes):
        out = [self.name(kind) for _ in range(outputs)]
        self.nodes.append(onnxfile.node(kind, list(inputs), out, **attributes))
        return out if outputs > 1 else out[0]

    def ints(self, *values, scalar=False):
        name = self.name("ints")
        self.tensors.append(onnxfile.tensor(name, INT64, [] if scalar else [len(values)], struct.pack(f"<{len(values)}q", *values)))
        return name

    def number(self, value):
        name = self.name("number")
        self.tensors.append(onnxfile.tensor(name, FLOAT, [], struct.pack("<f", value)))
        return name

    def weight(self, *shape, scale=None):
        n, phase = math.prod(shape), 0.37 * (self.n + 1)
        scale = scale or 1 / shape[-2 if len(shape) == 2 else 1] ** 0.5
        name = self.name("weight")
        self.tensors.append(onnxfile.tensor(name, FLOAT, shape, struct.pack(f"<{n}f", *(scale * math.sin(0.7 * i + phase) for i in range(n)))))
        return name

    def extent(self, x, axis, scalar=False):
        """an extent of x, as Shape and Gather give it"""
        return self.op("Gather", self.op("Shape", x), self.ints(axis, scalar=True) if scalar else self.ints(axis), axis=0)

    def reshape(self, x, *dims):
        """dims: numbers, and names of extents"""
        return self.op("Reshape", x, self.op("Concat", *(self.ints(d) if isinstance(d, int) else d for d in dims), axis=0))

    def dense(self, x, n, m):
        return self.op("Add", self.op("MatMul", x, self.weight(n, m)), self.weight(m, scale=0.1))

    def norm(self, x, d):
        mean = self.op("ReduceMean", x, axes=[-1])
        c = self.op("Sub", x, mean)
        v = self.op("ReduceMean", self.op("Pow", c, self.number(2)), axes=[-1])
        return self.op("Mul", self.op("Div", c, self.op("Sqrt", self.op("Add", v, self.number(1e-5)))), self.weight(d, scale=1))

    def heads(self, x, b, n, heads, d):
        return self.op("Transpose", self.reshape(x, b, n, heads, d), perm=[0, 2, 1, 3])

    def attention(self, q, k, v, mask, b, n, heads, d):
        s = self.op("Div", self.op("MatMul", q, self.op("Transpose", k, perm=[0, 1, 3, 2])), self.number(d ** 0.5))
        s = self.op("Softmax", self.op("Add", s, mask) if mask else s, axis=-1)
        return self.reshape(self.op("Transpose", self.op("MatMul", s, v), perm=[0, 2, 1, 3]), b, n, heads * d)

    def conv(self, x, c, m, k=3, act="Relu", **attributes):
        y = self.op("Conv", x, self.weight(m, c, k, k, scale=1 / (k * c ** 0.5)), self.weight(m, scale=0.1), kernel_shape=[k, k], **attributes)
        return self.op(act, y) if act else y

    def model(self, inputs, outputs, opset=17):
        """inputs: (name, type, shape); outputs: (name, value, type, shape)"""
        for name, value, _, _ in outputs:
            self.nodes.append(onnxfile.node("Identity", [value], [name]))
        return onnxfile.model("exported", self.nodes, self.tensors, [onnxfile.value(*i) for i in inputs],
                              [onnxfile.value(n, t, s) for n, _, t, s in outputs], opset)


def rotated(w, x, cos, sin, d):
    """rotary positions"""
    first = w.op("Slice", x, w.ints(0), w.ints(d // 2), w.ints(3))
    second = w.op("Slice", x, w.ints(d // 2), w.ints(2**62), w.ints(3))
    turned = w.op("Concat", w.op("Neg", second), first, axis=-1)
    return w.op("Add", w.op("Mul", x, cos), w.op("Mul", turned, sin))


def decoder(total="past_sequence_length + sequence_length", layers=2, heads=2, d=8, words=20):
    """a decoder with caches: new positions behind past ones, rotary positions, a causal mask and a mask of both"""
    w, e = Writer(), heads * d
    inputs = [("input_ids", INT64, ["batch_size", "sequence_length"]), ("attention_mask", INT64, ["batch_size", total]),
              ("position_ids", INT64, ["batch_size", "sequence_length"])]
    outputs = []
    b, n, all_of = w.extent("input_ids", 0), w.extent("input_ids", 1), w.extent("attention_mask", 1)
    x = w.op("Gather", w.weight(words, e, scale=1), "input_ids")
    past = w.extent("past_key_values.0.key", 2)
    places = w.op("Range", w.op("Squeeze", past), w.op("Squeeze", w.op("Add", past, n)), w.ints(1, scalar=True))
    seen = w.op("Range", w.ints(0, scalar=True), w.op("Squeeze", all_of), w.ints(1, scalar=True))
    later = w.op("Greater", seen, w.op("Unsqueeze", places, w.ints(1)))
    hidden = w.op("Equal", w.op("Unsqueeze", "attention_mask", w.ints(1, 2)), w.ints(0, scalar=True))
    shape = w.op("Concat", b, w.ints(1), n, all_of, axis=0)
    off = w.op("Or", w.op("Expand", later, shape), hidden)
    mask = w.op("Where", off, w.number(-1e9), w.number(0))
    angle = w.op("Mul", w.op("Unsqueeze", w.op("Cast", "position_ids", to=FLOAT), w.ints(1, 3)), w.weight(1, 1, 1, d // 2, scale=1))
    angle = w.op("Concat", angle, angle, axis=-1)
    cos, sin = w.op("Cos", angle), w.op("Sin", angle)
    for i in range(layers):
        y = w.norm(x, e)
        q, k, v = (w.heads(w.dense(y, e, e), b, n, heads, d) for _ in range(3))
        q, k = rotated(w, q, cos, sin, d), rotated(w, k, cos, sin, d)
        for kind, new in (("key", k), ("value", v)):
            name = f"past_key_values.{i}.{kind}"
            inputs.append((name, FLOAT, ["batch_size", heads, "past_sequence_length", d]))
            outputs.append((f"present.{i}.{kind}", w.op("Concat", name, new, axis=2), FLOAT, ["batch_size", heads, total, d]))
        y = w.attention(q, outputs[-2][1], outputs[-1][1], mask, b, n, heads, d)
        x = w.op("Add", x, w.dense(y, e, e))
        y = w.norm(x, e)
        x = w.op("Add", x, w.dense(w.op("Mul", w.op("Sigmoid", w.dense(y, e, 2 * e)), w.dense(y, e, 2 * e)), 2 * e, e))
    logits = w.op("MatMul", w.norm(x, e), w.weight(e, words))
    return w.model(inputs, [("logits", logits, FLOAT, ["batch_size", "sequence_length", words]), *outputs])


def sinks(d=4, first=3):
    """a cache behind constant entries, new entries behind it, and a mask of the cache's and the new entries"""
    w = Writer()
    every = w.op("Concat", w.op("Concat", w.weight(first, d), "cache", axis=0), "x", axis=0)
    mask = w.op("Pad", "mask", w.ints(first, 0), w.number(1))
    return w.model([("cache", FLOAT, ["past", d]), ("x", FLOAT, ["n", d]), ("mask", FLOAT, ["past + n"])],
                   [("y", w.op("Mul", every, w.op("Unsqueeze", mask, w.ints(1))), FLOAT, ["all", d])])


def sentence(heads=2, d=8, words=20):
    """an encoder of sentences: the mean over the positions of the mask, of length 1"""
    w, e = Writer(), heads * d
    b, n = w.extent("input_ids", 0), w.extent("input_ids", 1)
    places = w.op("Slice", w.weight(1, 512, e, scale=0.5), w.ints(0), n, w.ints(1))
    x = w.norm(w.op("Add", w.op("Gather", w.weight(words, e, scale=1), "input_ids"), places), e)
    seen = w.op("Cast", "attention_mask", to=FLOAT)
    mask = w.op("Mul", w.op("Sub", w.number(1), w.op("Unsqueeze", seen, w.ints(1, 2))), w.number(-1e4))
    q, k, v = (w.heads(w.dense(x, e, e), b, n, heads, d) for _ in range(3))
    x = w.norm(w.op("Add", x, w.dense(w.attention(q, k, v, mask, b, n, heads, d), e, e)), e)
    each = w.op("Expand", w.op("Unsqueeze", seen, w.ints(2)), w.op("Shape", x))
    total = w.op("ReduceSum", w.op("Mul", x, each), w.ints(1), keepdims=0)
    count = w.op("Max", w.op("ReduceSum", each, w.ints(1), keepdims=0), w.number(1e-9))
    mean = w.op("Div", total, count)
    unit = w.op("Div", mean, w.op("Max", w.op("ReduceL2", mean, axes=[-1]), w.number(1e-12)))
    return w.model([("input_ids", INT64, ["batch", "seq"]), ("attention_mask", INT64, ["batch", "seq"])],
                   [("sentence_embedding", unit, FLOAT, ["batch", e]), ("token_embeddings", x, FLOAT, ["batch", "seq", e])])


def segmentation(c=4):
    """strides of 2 with the padding of TensorFlow, then back to the height and width of the picture"""
    w = Writer()
    x = w.conv("image", 3, c, strides=[2, 2], auto_pad="SAME_UPPER")
    y = w.op("MaxPool", w.conv(x, c, 2 * c, auto_pad="SAME_UPPER"), kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER")
    y = w.conv(y, 2 * c, 2 * c, strides=[2, 2], auto_pad="SAME_LOWER")
    sizes = w.op("Slice", w.op("Shape", x), w.ints(2), w.ints(4), w.ints(0))
    y = w.op("Resize", y, "", "", w.op("Concat", w.op("Slice", w.op("Shape", y), w.ints(0), w.ints(2), w.ints(0)), sizes, axis=0), mode="linear",
             coordinate_transformation_mode="half_pixel")
    y = w.conv(w.op("Concat", x, y, axis=1), 3 * c, 3, 1, act=None)
    sizes = w.op("Slice", w.op("Shape", "image"), w.ints(2), w.ints(4), w.ints(0))
    y = w.op("Resize", y, "", "", w.op("Concat", w.op("Slice", w.op("Shape", y), w.ints(0), w.ints(2), w.ints(0)), sizes, axis=0), mode="linear",
             coordinate_transformation_mode="half_pixel")
    return w.model([("image", FLOAT, ["batch", 3, "height", "width"])],
                   [("probabilities", w.op("Softmax", y, axis=1), FLOAT, ["batch", 3, "height", "width"]),
                    ("classes", w.op("ArgMax", y, axis=1, keepdims=0), INT64, ["batch", "height", "width"])])


def best_boxes(c=4, classes=3, kept=6):
    """boxes of pictures of any height: the best entries of all classes, by TopK"""
    w = Writer()
    x = w.conv("images", 3, c, strides=[2, 2], pads=[1, 1, 1, 1])
    y = w.conv(x, c, 4 + classes, 1, act="Sigmoid")
    y = w.op("Transpose", w.reshape(y, w.extent(y, 0), 4 + classes, -1), perm=[0, 2, 1])
    boxes = w.op("Slice", y, w.ints(0), w.ints(4), w.ints(2))
    best = w.op("ReduceMax", w.op("Slice", y, w.ints(4), w.ints(4 + classes), w.ints(2)), axes=[2], keepdims=0)
    values, places = w.op("TopK", best, w.ints(kept), axis=1, outputs=2)
    at = w.op("Expand", w.op("Unsqueeze", places, w.ints(2)), w.op("Concat", w.extent(places, 0), w.ints(kept), w.ints(4), axis=0))
    return w.model([("images", FLOAT, ["batch", 3, "height", 16])],
                   [("scores", values, FLOAT, ["batch", kept]), ("boxes", w.op("GatherElements", boxes, at, axis=1), FLOAT, ["batch", kept, 4])])


def speech(frame=32, hop=16, bands=6, hidden=5):
    """a spectrogram of samples, bands, their logarithm, convolutions over time and an LSTM"""
    w = Writer()
    window = w.weight(frame, scale=1)
    signal = w.op("Pad", "audio", w.ints(0, frame // 2, 0, frame // 2), mode="reflect")
    z = w.op("STFT", w.op("Unsqueeze", signal, w.ints(2)), w.ints(hop, scalar=True), window, w.ints(frame, scalar=True))
    power = w.op("ReduceSum", w.op("Mul", z, z), w.ints(3), keepdims=0)
    mel = w.op("Log", w.op("Add", w.op("MatMul", power, w.op("Abs", w.weight(frame // 2 + 1, bands))), w.number(1e-4)))
    mean = w.op("ReduceMean", mel, axes=[1])
    x = w.op("Transpose", w.op("Sub", mel, mean), perm=[0, 2, 1])
    x = w.op("Relu", w.op("Conv", x, w.weight(8, bands, 3, scale=0.3), kernel_shape=[3], strides=[2], pads=[1, 1]))
    x = w.op("Transpose", x, perm=[2, 0, 1])
    y, _, _ = w.op("LSTM", x, w.weight(1, 4 * hidden, 8, scale=0.4), w.weight(1, 4 * hidden, hidden, scale=0.4), w.weight(1, 8 * hidden, scale=0.1),
                   hidden_size=hidden, outputs=3)
    y = w.op("Transpose", w.op("Squeeze", y, w.ints(1)), perm=[1, 0, 2])
    return w.model([("audio", FLOAT, ["batch", "samples"])],
                   [("log_probs", w.op("LogSoftmax", w.dense(y, hidden, 7), axis=-1), FLOAT, ["batch", "frames", 7])])


def whisper(heads=2, d=8, words=20, frames=12):
    """a decoder of text with attention to an encoder's states: learned positions, and a causal mask by Trilu"""
    w, e = Writer(), heads * d
    b, n, f = w.extent("tokens", 0), w.extent("tokens", 1), w.extent("audio_features", 1)
    places = w.op("Slice", w.weight(64, e, scale=0.3), w.ints(0), n, w.ints(0))
    x = w.op("Add", w.op("Gather", w.weight(words, e, scale=1), "tokens"), places)
    full = w.op("Expand", w.number(-1e9), w.op("Concat", n, n, axis=0))
    mask = w.op("Trilu", full, w.ints(1, scalar=True), upper=1)
    y = w.norm(x, e)
    q, k, v = (w.heads(w.dense(y, e, e), b, n, heads, d) for _ in range(3))
    x = w.op("Add", x, w.dense(w.attention(q, k, v, mask, b, n, heads, d), e, e))
    q = w.heads(w.dense(w.norm(x, e), e, e), b, n, heads, d)
    k, v = (w.heads(w.dense("audio_features", e, e), b, f, heads, d) for _ in range(2))
    x = w.op("Add", x, w.dense(w.attention(q, k, v, None, b, n, heads, d), e, e))
    last = w.op("Gather", x, w.ints(-1, scalar=True), axis=1)
    logits = w.op("MatMul", w.norm(x, e), w.weight(e, words))
    return w.model([("tokens", INT64, ["batch", "n"]), ("audio_features", FLOAT, ["batch", frames, e])],
                   [("logits", logits, FLOAT, ["batch", "n", words]), ("last", last, FLOAT, ["batch", e])])


def pyramid(c=3, mode="linear", **how):
    """features of three scales, each resized to the shape of the next finer one, whatever the size of the picture"""
    w = Writer()
    fine = w.conv("image", 3, c, pads=[1] * 4, strides=[2, 2])
    middle = w.conv(fine, c, c, pads=[1] * 4, strides=[2, 2])
    y = w.conv(middle, c, c, pads=[1] * 4, strides=[2, 2])
    for x in (middle, fine):
        sizes = w.op("Concat", w.op("Slice", w.op("Shape", y), w.ints(0), w.ints(2), w.ints(0)),
                     w.op("Slice", w.op("Shape", x), w.ints(2), w.ints(4), w.ints(0)), axis=0)
        y = w.op("Add", w.op("Resize", y, "", "", sizes, mode=mode, **how), x)
    gate = w.op("HardSigmoid", w.conv(w.op("GlobalAveragePool", y), c, c, 1, act=None))
    return w.model([("image", FLOAT, ["batch", 3, "height", "width"])],
                   [("y", w.op("Mul", y, gate), FLOAT, ["batch", c, "h", "w"])])


def pixels(c=4):
    """normalization of groups of channels, and attention between all pixels of a picture"""
    w = Writer()
    b, h, k = w.extent("x", 0), w.extent("x", 2), w.extent("x", 3)
    g = w.op("InstanceNormalization", w.op("Reshape", "x", w.ints(0, 2, -1)), w.weight(2, scale=1), w.weight(2, scale=0.1))
    g = w.op("Mul", w.op("Reshape", g, w.op("Shape", "x")), w.weight(c, 1, 1, scale=1))
    n = w.op("Mul", h, k)
    x = w.reshape(w.op("Transpose", g, perm=[0, 2, 3, 1]), b, n, c)
    q, k4, v = (w.heads(w.dense(x, c, c), b, n, 2, c // 2) for _ in range(3))
    x = w.op("Add", x, w.dense(w.attention(q, k4, v, None, b, n, 2, c // 2), c, c))
    return w.model([("x", FLOAT, ["batch", c, "height", "width"])],
                   [("y", w.op("Transpose", w.reshape(x, b, h, k, c), perm=[0, 3, 1, 2]), FLOAT, ["batch", c, "height", "width"])])


def groups(c=4):
    """normalization of channels, then of groups of them: sums of values that are gathered, and depend on sums themselves"""
    w = Writer()
    x = w.conv("x", 3, c, pads=[1] * 4)
    x = w.op("Relu", w.op("InstanceNormalization", x, w.weight(c, scale=1), w.weight(c, scale=0.1)))
    g = w.op("InstanceNormalization", w.op("Reshape", x, w.ints(0, 2, -1)), w.weight(2, scale=1), w.weight(2, scale=0.1))
    g = w.op("Mul", w.op("Reshape", g, w.op("Shape", x)), w.weight(c, 1, 1, scale=1))
    return w.model([("x", FLOAT, ["batch", 3, "height", "width"])], [("y", g, FLOAT, ["batch", c, "height", "width"])])


def patches(c=8, patch=4, grid=5):
    """a transformer of patches: a token in front of them, and learned positions that are resized to the picture"""
    w = Writer()
    x = w.op("Conv", "image", w.weight(c, 3, patch, patch, scale=0.1), w.weight(c, scale=0.1), kernel_shape=[patch] * 2, strides=[patch] * 2)
    b = w.extent(x, 0)
    places = w.weight(1, 1 + grid * grid, c, scale=1)
    first = w.op("Slice", places, w.ints(0), w.ints(1), w.ints(1))
    rest = w.op("Reshape", w.op("Slice", places, w.ints(1), w.ints(2**62), w.ints(1)), w.ints(1, grid, grid, c))
    rest = w.op("Resize", w.op("Transpose", rest, perm=[0, 3, 1, 2]), "", "", w.op("Concat", w.ints(1, c), w.extent(x, 2), w.extent(x, 3), axis=0),
                mode="cubic", coordinate_transformation_mode="pytorch_half_pixel", cubic_coeff_a=-0.75)
    rest, x = (w.op("Transpose", w.reshape(v, n, c, -1), perm=[0, 2, 1]) for v, n in ((rest, 1), (x, b)))
    token = w.op("Expand", w.weight(1, 1, c, scale=1), w.op("Concat", b, w.ints(1, c), axis=0))
    x = w.op("Add", w.op("Concat", token, x, axis=1), w.op("Concat", first, rest, axis=1))
    n = w.extent(x, 1)
    q, k, v = (w.heads(w.dense(w.norm(x, c), c, c), b, n, 2, c // 2) for _ in range(3))
    x = w.op("Add", x, w.dense(w.attention(q, k, v, None, b, n, 2, c // 2), c, c))
    return w.model([("image", FLOAT, ["batch", 3, "height", "width"])],
                   [("x", x, FLOAT, ["batch", "n", c]), ("token", w.op("Gather", x, w.ints(0, scalar=True), axis=1), FLOAT, ["batch", c])])


def levels(c=4, values=7):
    """a detector: heads of two scales as rows of one result, and the best places of all rows"""
    w = Writer()
    fine = w.conv("image", 3, c, pads=[1] * 4, strides=[2, 2])
    coarse = w.conv(fine, c, c, pads=[1] * 4, strides=[2, 2])
    rows = [w.reshape(w.conv(x, c, values, 1, act=None), w.extent(x, 0), values, -1) for x in (fine, coarse)]
    best = w.op("Transpose", w.conv(fine, c, 1, 1, act="Sigmoid"), perm=[0, 2, 3, 1])
    score, place = w.op("TopK", w.reshape(best, w.extent(best, 0), -1), w.ints(4), axis=1, outputs=2)
    width = w.extent(fine, 3)
    return w.model([("image", FLOAT, ["batch", 3, "height", "width"])],
                   [("rows", w.op("Concat", *rows, axis=2), FLOAT, ["batch", values, "n"]), ("score", score, FLOAT, ["batch", 4]),
                    ("row", w.op("Div", place, width), INT64, ["batch", 4]), ("column", w.op("Mod", place, width), INT64, ["batch", 4])])


def retina(c=4, anchors=2, classes=3, best=5):
    """a detector whose scores and boxes of two scales are outputs, and of which the best ones are picked besides"""
    w = Writer()
    fine = w.conv("image", 3, c, pads=[1] * 4, strides=[2, 2])
    scales, rows = (fine, w.conv(fine, c, c, pads=[1] * 4, strides=[2, 2])), ([], [])
    for x in scales:
        for n, all_rows in zip((classes, 4), rows):
            y = w.conv(x, c, anchors * n, pads=[1] * 4, act=None)
            b, h, k = (w.extent(y, axis) for axis in (0, 2, 3))
            all_rows.append(w.reshape(w.op("Transpose", w.reshape(y, b, anchors, n, h, k), perm=[0, 3, 4, 1, 2]), b, -1, n))
    scores, boxes = w.op("Sigmoid", w.op("Concat", *rows[0], axis=1)), w.op("Concat", *rows[1], axis=1)
    score, place = w.op("TopK", w.reshape(scores, w.extent(scores, 0), -1), w.ints(best), axis=1, outputs=2)
    box = w.op("Unsqueeze", w.op("Div", place, w.ints(classes, scalar=True)), w.ints(2))
    box = w.op("GatherElements", boxes, w.op("Expand", box, w.op("Concat", w.extent(box, 0), w.ints(best, 4), axis=0)), axis=1)
    return w.model([("image", FLOAT, ["batch", 3, "height", "width"])],
                   [("scores", scores, FLOAT, ["batch", "n", classes]), ("boxes", boxes, FLOAT, ["batch", "n", 4]),
                    ("score", score, FLOAT, ["batch", best]), ("label", w.op("Mod", place, w.ints(classes, scalar=True)), INT64, ["batch", best]),
                    ("box", box, FLOAT, ["batch", best, 4])])


def relative(e=8, heads=2, most=32):
    """attention with positions relative to each other: a part of a table, and rows that are shifted by padding and reshaping"""
    w, d = Writer(), e // heads
    b, n = w.extent("x", 0), w.extent("x", 1)
    q, k, v = (w.heads(w.dense("x", e, e), b, n, heads, d) for _ in range(3))
    table = w.op("Slice", w.weight(1, 2 * most - 1, e, scale=0.5), w.op("Sub", w.ints(most), n), w.op("Add", w.ints(most - 1), n), w.ints(1))
    p = w.op("Transpose", w.reshape(w.op("MatMul", table, w.weight(e, e)), 1, -1, heads, d), perm=[0, 2, 1, 3])
    s = w.op("MatMul", q, w.op("Transpose", p, perm=[0, 1, 3, 2]))
    long = w.extent(s, 3)
    s = w.op("Pad", s, w.ints(0, 0, 0, 1, 0, 0, 0, 0))
    s = w.op("Slice", w.reshape(s, b, heads, w.op("Add", long, w.ints(1)), n), w.ints(1), w.ints(2**62), w.ints(2))
    s = w.op("Slice", w.reshape(s, b, heads, n, long), w.ints(0), n, w.ints(3))
    y = w.attention(q, k, v, s, b, n, heads, d)
    return w.model([("x", FLOAT, ["batch", "n", e])], [("y", y, FLOAT, ["batch", "n", e])])


def cropped(c=3):
    """a U-Net without padding, which crops the fine features around the middle"""
    w = Writer()
    x = w.conv("image", 3, c)
    y = w.conv(w.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), c, c)
    y = w.op("ConvTranspose", y, w.weight(c, c, 2, 2), w.weight(c, scale=0.1), kernel_shape=[2, 2], strides=[2, 2])
    for axis in (2, 3):
        n = w.extent(y, axis)
        begin = w.op("Div", w.op("Sub", w.extent(x, axis), n), w.ints(2))
        x = w.op("Slice", x, begin, w.op("Add", begin, n), w.ints(axis))
    return w.model([("image", FLOAT, ["batch", 3, "height", "width"])],
                   [("y", w.conv(w.op("Concat", x, y, axis=1), 2 * c, 2, act=None), FLOAT, ["batch", 2, "h", "w"])])


def updated():
    """outputs that are results of scatters"""
    w = Writer()
    x = w.op("Tanh", "x")
    return w.model([("x", FLOAT, ["n", 3]), ("u", FLOAT, [2, 3])],
                   [("y", w.op("ScatterND", x, w.op("Reshape", w.ints(0, -1), w.ints(2, 1)), "u"), FLOAT, ["n", 3])])


def scaled(c=2):
    """vectors of extents as data: boxes in pixels, the divisor [w - 1, h - 1], strides of features, and shapes as outputs"""
    w = Writer()
    x = w.conv("image", 3, c, pads=[1] * 4, strides=[2, 2])
    shape, features = w.op("Shape", "image"), w.op("Shape", x)
    sides = w.op("Slice", shape, w.ints(2), w.ints(4), w.ints(0))
    boxes = w.op("Mul", "boxes", w.op("Cast", w.op("Gather", shape, w.ints(3, 2, 3, 2), axis=0), to=FLOAT))
    unit = w.op("Div", boxes, w.op("Cast", w.op("Sub", w.op("Concat", sides, sides, axis=0), w.ints(1, scalar=True)), to=FLOAT))
    strides = w.op("Div", w.op("Cast", sides, to=FLOAT), w.op("Cast", w.op("Slice", features, w.ints(2), w.ints(4), w.ints(0)), to=FLOAT))
    lengths = w.op("Expand", w.extent(x, 3), w.extent(x, 0))
    return w.model([("image", FLOAT, ["batch", 3, "height", "width"]), ("boxes", FLOAT, [5, 4])],
                   [("y", x, FLOAT, ["batch", c, "h", "w"]), ("pixels", boxes, FLOAT, [5, 4]), ("unit", unit, FLOAT, [5, 4]),
                    ("strides", strides, FLOAT, [2]), ("inverse", w.op("Reciprocal", strides), FLOAT, [2]), ("shape", features, INT64, [4]),
                    ("count", w.op("ReduceProd", shape, keepdims=0), INT64, []), ("lengths", lengths, INT64, ["batch"])])


def early(d=4):
    """a loop over the positions, which ends once a sum is too great"""
    w = Writer()
    n = w.extent("x", 0, scalar=True)
    inner = Writer()
    inner.n = 1000
    h = inner.op("Add", inner.op("Mul", "h", inner.number(1.25)), inner.op("Gather", "x", "i", axis=0))
    going = inner.op("Less", inner.op("ReduceSum", inner.op("Abs", h), keepdims=0), inner.number(30))
    nodes = [*inner.nodes, onnxfile.node("Identity", [going], ["goes_on"]), onnxfile.node("Identity", [h], ["next"])]
    body = onnxfile.graph("body", nodes, inner.tensors, [onnxfile.value("i", INT64, []), onnxfile.value("on", BOOL, []), onnxfile.value("h", FLOAT, ["n", d])],
                          [onnxfile.value("goes_on", BOOL, []), onnxfile.value("next", FLOAT, ["n", d])])
    y = w.op("Loop", n, "", w.op("Abs", "x"), body=body)
    return w.model([("x", FLOAT, ["n", d])], [("y", y, FLOAT, ["n", d])])


def nested(d=3, rows=3):
    """a scan over rows, with a scan over the positions of a row in its body"""
    def body(name, nodes, inputs, outputs):
        return onnxfile.graph(name, nodes, [], [onnxfile.value(n, FLOAT, s) for n, s in inputs], [onnxfile.value(n, FLOAT, s) for n, s in outputs])
    step = body("step", [onnxfile.node("Add", ["s", "e"], ["t"]), onnxfile.node("Tanh", ["t"], ["u"]), onnxfile.node("Identity", ["u"], ["v"])],
                [("s", [d]), ("e", [d])], [("u", [d]), ("v", [d])])
    row = body("row", [onnxfile.node("Scan", ["h", "r"], ["k", "y"], body=step, num_scan_inputs=1)], [("h", [d]), ("r", ["n", d])], [("k", [d]), ("y", ["n", d])])
    w = Writer()
    last, all_of = w.op("Scan", "start", "x", outputs=2, body=row, num_scan_inputs=1)
    return w.model([("start", FLOAT, [d]), ("x", FLOAT, [rows, "n", d])], [("last", last, FLOAT, [d]), ("y", all_of, FLOAT, [rows, "n", d])])


def decoded():
    """a grid of positions beside joined axes, a padding to a multiple, which vanishes at some sizes, and a scatter in each row of a batch"""
    w = Writer()
    h, k = w.extent("x", 2), w.extent("x", 3)
    rows, columns = (w.op("Range", w.ints(0, scalar=True), w.extent("x", axis, scalar=True), w.ints(1, scalar=True)) for axis in (2, 3))
    each = [w.op("Expand", w.op("Unsqueeze", v, w.ints(axis)), w.op("Concat", h, k, axis=0)) for v, axis in ((columns, 0), (rows, 1))]
    grid = w.op("Reshape", w.op("Concat", *(w.op("Unsqueeze", v, w.ints(2)) for v in each), axis=2), w.ints(1, -1, 2))
    y = w.op("Reshape", w.op("Transpose", "x", perm=[0, 2, 3, 1]), w.ints(0, -1, 2))
    rest = w.op("Mod", w.op("Sub", w.ints(4), w.op("Mod", h, w.ints(4))), w.ints(4))
    padded = w.op("Pad", "x", w.op("Concat", w.ints(0, 0, 0, 0, 0, 0), rest, w.ints(0), axis=0))
    return w.model([("x", FLOAT, ["batch", 2, "height", "width"]), ("sums", FLOAT, ["batch", 3]), ("at", INT64, ["batch", "width"]), ("more", FLOAT, ["batch", "width"])],
                   [("y", w.op("Add", y, w.op("Cast", grid, to=FLOAT)), FLOAT, ["batch", "n", 2]), ("padded", padded, FLOAT, ["batch", 2, "h", "width"]),
                    ("new", w.op("ScatterElements", "sums", "at", "more", axis=1, reduction="add"), FLOAT, ["batch", 3])], 18)


def suppressed(c=3, classes=2, width=8):
    """a detector: the boxes of two scales that a suppression leaves, in a batch of pictures, and places of great scores"""
    w = Writer()
    fine = w.conv("image", 3, c, pads=[1] * 4, strides=[2, 2])
    rows = [w.conv(x, c, 4 + classes, 1, act="Sigmoid") for x in (fine, w.conv(fine, c, c, pads=[1] * 4, strides=[2, 2]))]
    rows = w.op("Concat", *(w.reshape(x, w.extent(x, 0), 4 + classes, -1) for x in rows), axis=2)
    boxes = w.op("Transpose", w.op("Slice", rows, w.ints(0), w.ints(4), w.ints(1)), perm=[0, 2, 1])
    scores = w.op("Slice", rows, w.ints(4), w.ints(4 + classes), w.ints(1))
    picked = w.op("NonMaxSuppression", boxes, scores, w.ints(5, scalar=True), w.number(0.6), w.number(0.2), center_point_box=1)
    great = w.op("NonZero", w.op("Greater", w.op("ReduceMax", scores, axes=[1], keepdims=0), w.number(0.55)))
    return w.model([("image", FLOAT, ["batch", 3, "height", width])],
                   [("picked", picked, INT64, ["k", 3]), ("score", w.op("GatherND", scores, picked), FLOAT, ["k"]), ("great", great, INT64, [2, "m"])])


def network(d=3, layers=1):
    """a graph of nodes and edges, with an edge from each node to itself: sums over edges, divided by degrees, and values of edges"""
    w = Writer()
    n = w.extent("x", 0)
    ends = [w.op("Concat", w.op("Gather", "edges", w.ints(k, scalar=True), axis=0),
                 w.op("Range", w.ints(0, scalar=True), w.op("Squeeze", n), w.ints(1, scalar=True)), axis=0) for k in (0, 1)]
    y = "x"
    for _ in range(layers):
        message = w.op("Gather", w.op("MatMul", y, w.weight(d, d)), ends[0], axis=0)
        index = w.op("Expand", w.op("Unsqueeze", ends[1], w.ints(1)), w.op("Shape", message))
        total, degree = (w.op("ScatterElements", w.op("Expand", w.number(0), w.op("Concat", n, w.ints(d), axis=0)), index, v,
                              axis=0, reduction="add")
                         for v in (message, w.op("Exp", w.op("Mul", message, w.number(0)))))
        y = w.op("Div", total, degree)
    return w.model([("x", FLOAT, ["nodes", d]), ("edges", INT64, [2, "edges"])],
                   [("y", y, FLOAT, ["nodes", d]), ("each", w.op("Gather", y, ends[1], axis=0), FLOAT, ["all", d])], 18)


def network_of_two():
    """the same with two layers"""
    return network(layers=2)


def windows(c=4, side=4):
    """windows of a picture that is padded to a multiple of them and shifted; height and width have equal greatest sizes"""
    w = Writer()
    b, h, k = (w.extent("x", axis) for axis in (0, 1, 2))
    more = [w.op("Mod", w.op("Sub", w.ints(side), w.op("Mod", n, w.ints(side))), w.ints(side)) for n in (h, k)]
    y = w.op("Pad", "x", w.op("Concat", w.ints(0, 0, 0, 0, 0), *more, w.ints(0), axis=0), w.number(0))
    for axis in (1, 2):
        y = w.op("Concat", w.op("Slice", y, w.ints(1), w.ints(2**62), w.ints(axis)), w.op("Slice", y, w.ints(0), w.ints(1), w.ints(axis)), axis=axis)
    rows, columns = (w.op("Div", w.extent(y, axis), w.ints(side)) for axis in (1, 2))
    y = w.op("Transpose", w.reshape(y, b, rows, side, columns, side, c), perm=[0, 1, 3, 2, 4, 5])
    y = w.op("Softmax", w.reshape(y, -1, side * side, c), axis=1)
    y = w.op("Transpose", w.reshape(y, b, rows, columns, side, side, c), perm=[0, 1, 3, 2, 4, 5])
    y = w.reshape(y, b, w.op("Mul", rows, w.ints(side)), w.op("Mul", columns, w.ints(side)), c)
    y = w.op("Slice", w.op("Slice", y, w.ints(0), h, w.ints(1)), w.ints(0), k, w.ints(2))
    return w.model([("x", FLOAT, ["batch", "height", "width", c])], [("y", w.op("Add", "x", y), FLOAT, ["batch", "height", "width", c])])


def mirrored(c=3):
    """paddings that mirror a picture of equal greatest sizes, and means of its rows and columns side by side, which are split again"""
    w = Writer()
    x = w.op("Pad", "image", w.ints(0, 0, 1, 1, 0, 0, 1, 1), mode="reflect")
    x = w.op("InstanceNormalization", w.conv(x, c, c, act=None), w.weight(c, scale=1), w.weight(c, scale=0.1))
    rows, columns = w.op("ReduceMean", x, axes=[3]), w.op("Transpose", w.op("ReduceMean", x, axes=[2]), perm=[0, 1, 3, 2])
    both = w.conv(w.op("Concat", rows, columns, axis=2), c, c, 1, act="Sigmoid")
    rows, columns = w.op("Split", both, w.op("Concat", w.extent(x, 2), w.extent(x, 3), axis=0), axis=2, outputs=2)
    y = w.op("Mul", w.op("Mul", x, rows), w.op("Transpose", columns, perm=[0, 1, 3, 2]))
    return w.model([("image", FLOAT, ["batch", c, "height", "width"])], [("y", y, FLOAT, ["batch", c, "height", "width"])])


def chosen(d=3, most=5):
    """an If by a size, which keeps the last few positions; all but the first in reverse, and a transposed convolution of one or more"""
    w = Writer()
    x = w.op("Tanh", "x")
    last = onnxfile.graph("last", [onnxfile.node("Slice", [x, w.ints(-most), w.ints(2**62), w.ints(0)], ["a"])], [], [], [onnxfile.value("a", FLOAT, ["m", d])])
    same = onnxfile.graph("same", [onnxfile.node("Mul", [x, x], ["b"])], [], [], [onnxfile.value("b", FLOAT, ["m", d])])
    y = w.op("If", w.op("Greater", w.extent("x", 0, scalar=True), w.ints(most, scalar=True)), then_branch=last, else_branch=same)
    scores = w.op("Softmax", w.op("MatMul", y, w.op("Transpose", y, perm=[1, 0])), axis=-1)
    first = w.op("Slice", x, w.ints(0), w.ints(most), w.ints(0))
    turned = w.op("Slice", w.op("Slice", x, w.ints(1), w.ints(2**62), w.ints(0)), w.ints(-1), w.ints(-2**62), w.ints(0), w.ints(-1))
    wide = w.op("ConvTranspose", w.op("Unsqueeze", w.op("Transpose", x, perm=[1, 0]), w.ints(0)), w.weight(d, 2, 4), kernel_shape=[4], strides=[2])
    return w.model([("x", FLOAT, ["n", d])], [("y", w.op("MatMul", scores, y), FLOAT, ["m", d]), ("mean", w.op("ReduceMean", first, axes=[0]), FLOAT, [1, d]),
                                              ("turned", turned, FLOAT, ["k", d]), ("wide", wide, FLOAT, [1, 2, "wide"])])


def suppressed_both():
    """the same in pictures whose height and width have few sizes: numbers of boxes are sums of products"""
    return suppressed(width="width")


def behind(d=3, first=5):
    """what follows the first few positions, which is nothing in a short sequence, and sums of it"""
    w = Writer()
    y = w.op("Slice", w.dense("x", d, d), w.ints(first), w.ints(2**62), w.ints(1))
    y = w.op("Tanh", w.dense(y, d, d))
    return w.model([("x", FLOAT, ["batch", "n", d])],
                   [("y", y, FLOAT, ["batch", "m", d]),
                    ("sum", w.op("ReduceSum", y, w.ints(1), keepdims=0), FLOAT, ["batch", d])])


def halved(d=4, most=5):
    """a pooling of graphs: the better half of the nodes and one more, and their edges; besides, at most the five best scores"""
    w = Writer()
    h = w.op("Tanh", w.dense("x", d, d))
    score = w.op("Sigmoid", w.op("Squeeze", w.op("MatMul", h, w.weight(d, 1)), w.ints(1)))
    n = w.extent(h, 0)
    value, at = w.op("TopK", score, w.op("Add", w.op("Div", n, w.ints(2)), w.ints(1)), axis=0, outputs=2)
    y = w.op("Mul", w.op("Gather", h, at, axis=0), w.op("Unsqueeze", value, w.ints(1)))
    edges = w.op("Gather", w.op("Gather", "edges", at, axis=0), at, axis=1)
    best, _ = w.op("TopK", score, w.op("Min", n, w.ints(most)), axis=0, outputs=2)
    return w.model([("x", FLOAT, ["nodes", d]), ("edges", FLOAT, ["nodes", "nodes"])],
                   [("y", w.op("MatMul", edges, w.op("MatMul", y, w.weight(d, d))), FLOAT, ["k", d]),
                    ("best", best, FLOAT, ["b"])])


def styled(c=3):
    """two paddings that mirror, of one width and with equal greatest sizes, each in front of a convolution and a normalization"""
    w, x = Writer(), "image"
    for _ in range(2):
        x = w.op("Pad", x, w.ints(0, 0, 1, 1, 0, 0, 1, 1), mode="reflect")
        x = w.op("Relu", w.op("InstanceNormalization", w.conv(x, c, c, act=None), w.weight(c, scale=1), w.weight(c, scale=0.1)))
    return w.model([("image", FLOAT, ["batch", c, "height", "width"])],
                   [("y", w.op("Add", "image", x), FLOAT, ["batch", c, "height", "width"])])


def scales(c=3, places=2):
    """attention that samples: features of two scales in one sequence, parted by their sizes, each at places around points"""
    w = Writer()
    fine = w.conv("image", 3, c, pads=[1] * 4, strides=[2, 2])
    features = fine, w.conv(fine, c, c, pads=[1] * 4, strides=[2, 2])
    sides = [(w.extent(x, 2), w.extent(x, 3)) for x in features]
    rows = w.op("Concat", *(w.op("Transpose", w.reshape(x, 1, c, -1), perm=[0, 2, 1]) for x in features), axis=1)
    parts = w.op("Split", w.dense(rows, c, c), w.op("Concat", *(w.op("Mul", *side) for side in sides), axis=0), axis=1, outputs=2)
    picked = []
    for part, (h, k) in zip(parts, sides):
        at = w.op("Reshape", w.op("Tanh", w.dense("query", 5, 2 * places)), w.ints(1, -1, places, 2))
        at = w.op("Add", w.op("Div", at, w.op("Cast", w.op("Concat", k, h, axis=0), to=FLOAT)), w.op("Unsqueeze", w.op("Tanh", w.dense("query", 5, 2)), w.ints(2)))
        part = w.reshape(w.op("Transpose", part, perm=[0, 2, 1]), 1, c, h, k)
        picked.append(w.op("GridSample", part, at, mode="bilinear", padding_mode="border", align_corners=0))
    share = w.op("Unsqueeze", w.op("Softmax", w.dense("query", 5, 2 * places), axis=-1), w.ints(1))
    y = w.op("ReduceSum", w.op("Mul", w.op("Concat", *picked, axis=3), share), w.ints(3), keepdims=0)
    return w.model([("image", FLOAT, [1, 3, "height", "width"]), ("query", FLOAT, [1, "q", 5])], [("y", y, FLOAT, [1, c, "q"])])


def warped(c=2):
    """a picture at positions that a flow moves, as numbers from -1 to 1; height and width have equal greatest sizes"""
    w = Writer()
    flow = w.conv("image", c, 2, pads=[1] * 4, act="Tanh")
    sides = w.op("Concat", w.extent("image", 2), w.extent("image", 3), axis=0)
    columns, rows = (w.op("Range", w.ints(0, scalar=True), w.extent("image", axis, scalar=True), w.ints(1, scalar=True)) for axis in (3, 2))
    grid = [w.op("Unsqueeze", w.op("Expand", w.op("Unsqueeze", w.op("Cast", v, to=FLOAT), w.ints(axis)), sides), w.ints(0))
            for v, axis in ((columns, 0), (rows, 1))]
    at = w.op("Add", w.op("Unsqueeze", w.op("Concat", *grid, axis=0), w.ints(0)), flow)
    unit = []
    for i, axis in ((0, 3), (1, 2)):
        last = w.op("Cast", w.op("Max", w.op("Sub", w.extent("image", axis), w.ints(1)), w.ints(1)), to=FLOAT)
        one = w.op("Div", w.op("Mul", w.op("Gather", at, w.ints(i, scalar=True), axis=1), w.number(2)), last)
        unit.append(w.op("Unsqueeze", w.op("Sub", one, w.number(1)), w.ints(3)))
    y = w.op("GridSample", "image", w.op("Concat", *unit, axis=3), mode="bilinear", padding_mode="zeros", align_corners=1)
    return w.model([("image", FLOAT, ["batch", c, "height", "width"])], [("y", y, FLOAT, ["batch", c, "height", "width"])])


def codec(c=3):
    """an encoder of sound that pads to whole frames, also where the greatest size needs no padding; codes are the nearest rows of a table"""
    w, x = Writer(), "audio"
    for channels, stride in ((1, 2), (c, 3)):
        n = w.extent(x, 2)
        frames = w.op("Cast", w.op("Ceil", w.op("Div", w.op("Cast", n, to=FLOAT), w.number(stride))), to=INT64)
        more = w.op("Sub", w.op("Mul", frames, w.ints(stride)), n)
        x = w.op("Pad", x, w.op("Concat", w.ints(0, 0, stride, 0, 0), more, axis=0), w.number(0))
        x = w.op("Elu", w.op("Conv", x, w.weight(c, channels, 2 * stride, scale=0.4), kernel_shape=[2 * stride], strides=[stride]))
    x, table = w.op("Transpose", x, perm=[0, 2, 1]), w.weight(7, c, scale=1)
    far = w.op("Sub", w.op("ReduceSum", w.op("Mul", table, table), w.ints(1), keepdims=0), w.op("MatMul", x, w.op("Transpose", table, perm=[1, 0])))
    return w.model([("audio", FLOAT, [1, 1, "n"])], [("codes", w.op("ArgMin", far, axis=-1, keepdims=0), INT64, [1, "frames"]), ("x", x, FLOAT, [1, "frames", c])])


def points(k=4):
    """a cloud of points: the k nearest ones of each, of which there may be no more than k, and some of the points, a share of all"""
    w = Writer()
    squares = w.op("ReduceSum", w.op("Mul", "x", "x"), w.ints(2), keepdims=1)
    near = w.op("Sub", w.op("MatMul", "x", w.op("Transpose", "x", perm=[0, 2, 1])), w.op("Transpose", squares, perm=[0, 2, 1]))
    _, at = w.op("TopK", near, w.ints(k), axis=-1, outputs=2)
    b, n = w.extent("x", 0), w.extent("x", 1)
    first = w.op("Mul", w.op("Range", w.ints(0, scalar=True), w.op("Squeeze", b), w.ints(1, scalar=True)), w.op("Squeeze", n))
    at = w.op("Reshape", w.op("Add", at, w.op("Reshape", first, w.ints(-1, 1, 1))), w.ints(-1))
    beside = w.reshape(w.op("Gather", w.op("Reshape", "x", w.ints(-1, 3)), at, axis=0), b, n, k, 3)
    x = w.op("ReduceMax", w.op("Relu", w.dense(w.op("Sub", beside, w.op("Unsqueeze", "x", w.ints(2))), 3, 5)), axes=[2], keepdims=0)
    share = w.op("Cast", w.op("Ceil", w.op("Mul", w.op("Cast", n, to=FLOAT), w.number(0.3))), to=INT64)
    best, _ = w.op("TopK", w.op("ReduceSum", x, w.ints(2), keepdims=0), share, axis=1, outputs=2)
    return w.model([("x", FLOAT, ["batch", "n", 3])], [("y", x, FLOAT, ["batch", "n", 5]), ("best", best, FLOAT, ["batch", "some"])])


PICTURE = {"batch": (1, 2, 1), "height": (8, 24, 1), "width": (8, 24, 1)}
NEAREST = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}

MODELS = {
    "decoder": (decoder, {"batch_size": (1, 3, 1), "sequence_length": (1, 6, 1), "past_sequence_length": (1, 12, 1)}),
    "sinks": (sinks, {"past": (0, 6, 1), "n": (1, 3, 1)}),
    "sentence": (sentence, {"batch": (1, 4, 1), "seq": (1, 24, 1)}),
    "segmentation": (segmentation, {"batch": (1, 2, 1), "height": (16, 48, 8), "width": (16, 48, 8)}),
    "best_boxes": (best_boxes, {"batch": (1, 2, 1), "height": (8, 24, 1)}),
    "speech": (speech, {"batch": (1, 3, 1), "samples": (64, 256, 1)}),
    "whisper": (whisper, {"batch": (1, 3, 1), "n": (1, 16, 1)}),
    "pyramid": (pyramid, {"batch": (1, 2, 1), "height": (16, 40, 1), "width": (16, 40, 1)}),
    "pyramid of nearest": (lambda: pyramid(**NEAREST), {"batch": (1, 2, 1), "height": (16, 40, 1), "width": (16, 40, 1)}),
    "pixels": (pixels, {"batch": (1, 2, 1), "height": (2, 10, 1), "width": (2, 10, 1)}),
    "groups": (groups, {"batch": (1, 2, 1), "height": (5, 26, 1), "width": (6, 31, 1)}),
    "patches": (patches, {"batch": (1, 2, 1), "height": (8, 40, 4), "width": (8, 40, 4)}),
    "levels": (levels, PICTURE),
    "retina": (retina, PICTURE),
    "relative": (relative, {"batch": (1, 3, 1), "n": (1, 24, 1)}),
    "cropped": (cropped, {"batch": (1, 2, 1), "height": (12, 30, 1), "width": (12, 30, 1)}),
    "scaled": (scaled, PICTURE),
    "updated": (updated, {"n": (2, 12, 1)}),
    "decoded": (decoded, {"batch": (1, 3, 1), "height": (2, 12, 1), "width": (1, 9, 1)}),
    "nested": (nested, {"n": (1, 12, 1)}),
    "early": (early, {"n": (1, 24, 1)}),
    "windows": (windows, {"batch": (1, 2, 1), "height": (1, 16, 1), "width": (1, 16, 1)}),
    "mirrored": (mirrored, {"batch": (1, 2, 1), "height": (2, 16, 1), "width": (2, 16, 1)}),
    "chosen": (chosen, {"n": (1, 24, 1)}),
    "behind": (behind, {"batch": (1, 3, 1), "n": (1, 24, 1)}),
    "halved": (halved, {"nodes": (2, 16, 1)}),
    "styled": (styled, {"batch": (1, 2, 1), "height": (6, 9, 1), "width": (6, 9, 1)}),
    "scales": (scales, {"q": (1, 6, 1), "height": (8, 20, 1), "width": (8, 20, 1)}),
    "warped": (warped, {"batch": (1, 2, 1), "height": (2, 12, 1), "width": (2, 12, 1)}),
    "codec": (codec, {"n": (1, 30, 1)}),
    "points": (points, {"batch": (1, 2, 1), "n": (4, 24, 1)}),
}
