# SPDX-License-Identifier: MIT
"""Reads lines of `load shapes` from its standard input and prints those whose output shapes are not what onnx infers for
the same model with the same shapes of its inputs. Needs Python with onnx."""
import pathlib
import re
import sys

import onnx
from onnx import numpy_helper


def shapes(text):
    return [[int(d) for d in one.split(",") if d] for one in re.findall(r"\[([\d,]*)\]", text)]


def inferred(folder, constant_from, inputs, variant):
    """-> shapes of the outputs, None where nothing is inferred"""
    model = onnx.load(folder / "model.onnx")
    if model.opset_import[0].version < 7 or any(n.op_type == "STFT" for n in model.graph.node):
        return None  # no broadcasting before; of STFT, onnx infers both halves where one is asked for
    del model.graph.value_info[:]
    given = list(model.graph.input)
    for i, value in enumerate(given):
        if i >= constant_from:
            tensor = onnx.TensorProto.FromString((folder / f"test_data_set_0/input_{i}.pb").read_bytes())
            if "one extent" in variant and tensor.data_type in (1, 10, 11, 16):
                return None  # the weights have lost elements, too
            tensor.name = value.name
            model.graph.initializer.append(tensor)
        else:
            del value.type.tensor_type.shape.dim[:]
            for d in inputs[i]:
                value.type.tensor_type.shape.dim.add().dim_value = d
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    result = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    found = []
    for value in result.graph.output:
        shape = value.type.tensor_type.shape if value.type.tensor_type.HasField("shape") else None
        of_strings = value.type.tensor_type.elem_type == onnx.TensorProto.STRING  # tgc adds an axis, for the bytes of each string
        found.append([*(d.dim_value if d.HasField("dim_value") else None for d in shape.dim), *[None] * of_strings] if shape is not None else None)
    return found


def main():
    compared = silent = 0
    for line in sys.stdin:
        folder, variant, _, constant_from, inputs, outputs, *_ = line.rstrip("\n").split("\t")
        try:
            want = inferred(pathlib.Path(folder), int(constant_from), shapes(inputs), variant)
        except Exception as e:  # onnx refuses what tgc takes: it infers less for shapes without elements
            silent += 1
            continue
        if not want:
            silent += 1
            continue
        got = shapes(outputs)
        for w, g in zip(want, got):
            if w is None:
                continue
            compared += 1
            if len(w) != len(g) or any(a is not None and a != b for a, b in zip(w, g)):
                print(f"{pathlib.Path(folder).name}, {variant}, inputs {inputs}: {g}, onnx infers {w}")
    print(f"{compared} shapes compared, {silent} models of which onnx says nothing", file=sys.stderr)


main()
