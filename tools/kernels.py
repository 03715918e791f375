#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes docs/kernels.md: how many kernels tgc makes of each model, asked of `tgc inspect --json`. With --check it says
whether the page is current, for the models that are there. Prints TAP then."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
from fixtures import LIGHTS, MODELS, NAMED, TGC, onnx_tests

PAGE = ROOT / "docs/kernels.md"
HEAD = """# Kernels

This page is for those who change how kernels are made. It lists the number of kernels of some models, and the memory for their
intermediate values, the arena. It compares the arena with a lower bound: the peak of bytes that are live at the same time.
`tools/kernels.py` writes it for `--isa=x86-64-v3`. A kernel is one function call of `net_run`. Kernels that differ only in their
memory share a function.

"""
NOTES = """
The first four rows are graphs that were made for this table. Softmax and layer normalisation have 128 rows of 256, and attention
has 64 queries over 64 keys of 32. In ResNet-18 the batch normalisation is folded. For these, tinygrad publishes 3, 3, 4 and 19
kernels. ResNet-18 has 21 contractions (20 convolutions and the classifier), and tgc makes a kernel for each of them. The other
three kernels copy the image into memory with a halo, compute the first pooling, and compute the mean before the classifier.

The "light" networks are official ONNX test models; all weights in their files are constants. Dynamic dimensions have the sizes in
`tests/fixtures.py`.
"""

SOFTMAX = """
m{0} = reduce {1} op=max axes=[1]
d{0} = sub {1}, m{0}
e{0} = exp d{0}
s{0} = reduce e{0} op=add axes=[1]
{0} = div e{0}, s{0}
"""


def resnet18():
    text, made = [], 0

    def name(line):
        nonlocal made
        made += 1
        text.append(f"v{made} = {line}")
        return f"v{made}"

    def windows(x, channels, size, kernel, stride, fill):
        pad, out = kernel // 2, (size - 1) // stride + 1
        wide = size + 2 * pad
        if pad:
            x = name(f"pad {x}, {fill} lo=[0,{pad},{pad}] hi=[0,{pad},{pad}]")
        x = name(f"window {x} axis=1 stride={stride} dilation=1 : [{channels},{out},{wide},{kernel}]")
        return name(f"window {x} axis=2 stride={stride} dilation=1 : [{channels},{out},{out},{kernel},{kernel}]"), out

    def conv(x, cin, cout, size, kernel, stride):
        x, out = windows(x, cin, size, kernel, stride, 0)
        made_here = len(text)
        text.append(f"w{made_here} = input f32[{cout},{cin},1,1,{kernel},{kernel}]")
        text.append(f"b{made_here} = input f32[{cout},1,1]")
        x = name(f"mul {x}, w{made_here}")
        x = name(f"reduce {x} op=add axes=[1,4,5]")
        x = name(f"reshape {x} : [{cout},{out},{out}]")
        return name(f"add {x}, b{made_here}"), out

    text.append("x = input f32[3,224,224]")
    x, size = conv("x", 3, 64, 224, 7, 2)
    x = name(f"max {x}, 0")
    x, size = windows(x, 64, size, 3, 2, "-inf")
    x = name(f"reduce {x} op=max axes=[3,4]")
    x = name(f"reshape {x} : [64,{size},{size}]")
    channels = 64
    for cout in 64, 128, 256, 512:
        for block in range(2):
            stride = 2 if cout > 64 and not block else 1
            y, half = conv(x, channels, cout, size, 3, stride)
            y = name(f"max {y}, 0")
            y, _ = conv(y, cout, cout, half, 3, 1)
            if stride > 1:
                x, _ = conv(x, channels, cout, size, 1, 2)
            x = name(f"max {name(f'add {y}, {x}')}, 0")
            channels, size = cout, half
    x = name(f"mul {name(f'reduce {x} op=add axes=[1,2]')}, {1 / size ** 2}")
    text.append("w = input f32[512,1000]")
    x = name(f"mul {name(f'reshape {x} : [512,1]')}, w")
    text.append(f"output {name(f'reduce {x} op=add axes=[0]')}")
    return "\n".join(text) + "\n"


GRAPHS = {
    "softmax": "x = input f32[128,256]\n" + SOFTMAX.format("y", "x") + "output y\n",
    "layer normalisation": """x = input f32[128,256]
g = input f32[256]
b = input f32[256]
s = reduce x op=add axes=[1]
m = mul s, 0.00390625
d = sub x, m
q = mul d, d
v = reduce q op=add axes=[1]
n = mul v, 0.00390625
p = add n, 1e-5
r = sqrt p
z = div d, r
h = mul z, g
y = add h, b
output y
""",
    "attention": """q = input f32[64,32,1]
k = input f32[64,32]
v = input f32[64,32]
k1 = permute k perm=[1,0]
p = mul q, k1
s = reduce p op=add axes=[1]
t = mul s, 0.17677669
u = reshape t : [64,64]
""" + SOFTMAX.format("a", "u") + """a1 = reshape a : [64,64,1]
o = mul a1, v
y = reduce o op=add axes=[1]
output y
""",
    "ResNet-18": resnet18(),
}


def models(scratch):
    """-> (name, path or None, options)"""
    for name, text in GRAPHS.items():
        path = pathlib.Path(scratch) / "graph.tg"
        path.write_text(text)
        yield name, path, []
    folder, _ = onnx_tests("light")
    for name in LIGHTS:
        yield f"light_{name}", folder and folder / f"light_{name}.onnx", []
    for name, dims in NAMED:
        path = MODELS / name / "model.onnx"
        yield name, path if path.is_file() else None, [f"--dim={d}" for d in dims.split()]


def row(name, path, options):
    args = [TGC, "inspect", str(path), "--json", "--quiet", "--isa=x86-64-v3", *options]
    r = json.loads(subprocess.run(args, check=True, stdout=subprocess.PIPE).stdout)
    room = r["arena_bytes"] / r["arena_bound"] if r["arena_bound"] else 1
    return f"| {name} | {len(r['kernels'])} | {r['arena_bytes'] / 1024:.0f} | {room:.3f} |"


def main():
    check = "--check" in sys.argv
    old = PAGE.read_text() if PAGE.exists() else ""
    lines = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, (name, path, options) in enumerate(models(scratch), 1):
            before = re.search(rf"^\| {re.escape(name)} \|.*$", old, re.M)
            if path:
                lines.append(row(name, path, options))
            elif before:
                lines.append(before[0])
            if not check:
                continue
            good = not path or (before and before[0] == lines[-1])
            print(f"{'ok' if good else 'not ok'} {number} - docs/kernels.md: {name}{'' if path else ' # SKIP no such model'}")
            if not good:
                print(f"# tools/kernels.py rewrites it: {lines[-1]}")
    if check:
        print(f"1..{number}")
        return 0
    table = "| model | kernels | arena, KiB | arena / least |\n|---|---:|---:|---:|\n"
    PAGE.write_text(HEAD + table + "\n".join(lines) + "\n" + NOTES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
