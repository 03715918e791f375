"""Models with interfaces of every kind: models.py FOLDER writes mixed.onnx, inputless.onnx and states.tg."""
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


if __name__ == "__main__":
    for make in (mixed, inputless, states):
        make(pathlib.Path(sys.argv[1]))
