# SPDX-License-Identifier: MIT
"""Layers that several networks of the benchmarks have; n is the Net of make_models.py."""
import math


def layer_norm(n, x, width):
    return n.op("LayerNormalization", x, n.const(1 + n.normal(0.02, width)), n.const(n.normal(0.02, width)), axis=-1)


def gelu_erf(n, x):
    half = n.op("Mul", x, n.op("Add", n.op("Erf", n.op("Div", x, n.const(math.sqrt(2)))), n.const(1)))
    return n.op("Mul", half, n.const(0.5))
