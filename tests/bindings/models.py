# SPDX-License-Identifier: MIT
"""Models with interfaces of every kind: models.py FOLDER writes mixed.onnx, inputless.onnx, states.tg and ranges.tg."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bundle"))
import onnxfile as onnx  # noqa: E402

NAMES = ["past.0/key:0", 'quote" \\ */ ??/ %s\n', "日本", "scalar"]


def mixed(folder):
    """values of several types, a scalar, names of every kind; all results are exact"""
    nodes = [onnx.node("Add", [NAMES[0], "W"], ["sum"]), onnx.node("Not", [NAMES[1]], ["not"]),
             onnx.node("Add", [NAMES[2], "one"], ["more"]), onnx.node("Neg", [NAMES[3]], ["minus"])]
    inputs = [onnx.value(NAMES[0], [2, 3, 5]), onnx.value(NAMES[1], [7], 9), onnx.value(NAMES[2], [3, 1], 7), onnx.value(NAMES[3], [], 3)]
    outputs = [onnx.value("sum", [2, 3, 5]), onnx.value("not", [7], 9), onnx.value("more", [3, 1], 7), onnx.value("minus", [], 3)]
    tensors = [onnx.tensor("W", [2, 3, 5], [float(i) for i in range(30)]), onnx.tensor("one", [3, 1], [1, 1 << 40, -7], dtype=7)]
    (folder / "mixed.onnx").write_bytes(onnx.model(nodes, inputs, outputs, tensors))
    return folder / "mixed.onnx", []


def inputless(folder):
    """no input; an output that is a keyword of Rust"""
    (folder / "inputless.onnx").write_bytes(onnx.model([onnx.node("Identity", ["W"], ["match"])], [], [onnx.value("match", [3])],
                                                       [onnx.tensor("W", [3], [1, 2, 3])]))
    return folder / "inputless.onnx", []


def states(folder, decay="0.5", n=40):
    """h = h / 2 + x, y = 2 h"""
    (folder / "states.tg").write_text(f"x = input f32[{n}]\nh = input f32[{n}]\na = mul h, {decay}\nh1 = add a, x\noutput h1\ny = mul h1, 2\noutput y\n")
    return folder / "states.tg", ["--state", "h=h1"]


def ranges(folder):
    """y = 2 x and sums of rows, for a batch of 1 to 3 rows of 2 to 8 values in steps of 2"""
    (folder / "ranges.tg").write_text('x = input f32[b,n] "x"\ny = mul x, 2.0\noutput y "y"\nr = reduce x op=add axes=[1]\ns = reshape r : [b]\noutput s "s"\n')
    return folder / "ranges.tg", ["--dim=b=1:3", "--dim=n=2:8:2"]


if __name__ == "__main__":
    for make in (mixed, inputless, states, ranges):
        make(pathlib.Path(sys.argv[1]))
