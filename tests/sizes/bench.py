#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A bundle for n from 1 to 128 beside a bundle for each size: medians of runs in turns, one and two threads. Prints tables in
Markdown. Arguments: ISA (native), pairs of turns (31), threads (1,2), one layer (all)."""
import math
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from fixtures import TGC  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import models  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
CC = os.environ.get("CC") or "cc"
SIZES = {"ffn": [1, 2, 3, 4, 5, 6, 7, 8, 13, 18, 32, 100, 128], "conv": [1, 2, 3, 4, 5, 6, 7, 8, 13, 16],
         "audio": [4, 7, 16, 33, 64, 100, 250, 500], "ocr": [4, 7, 16, 33, 64, 100, 160]}
LAYERS = {**models.ALL, "audio": lambda: models.audio(40, 64), "ocr": lambda: models.ocr(32, 32)}


def library(folder, name, model, size, isa):
    """-> the library, its weights, and bytes of its code"""
    bundle, so = folder / f"{name}{size}", folder / f"{name}{size}.so"
    subprocess.run([TGC, "compile", model, "--dim", f"n={size}", f"--name={name}", f"--isa={isa}", "-o", bundle, "-q", "--no-index-status"],
                   check=True)
    flags = next(x for x in (bundle / "Makefile").read_text().splitlines() if x.startswith("NETFLAGS = "))[11:].split()
    subprocess.run([CC, "-O3", *flags, "-w", "-fPIC", "-c", bundle / f"{name}.c", "-o", bundle / "net.o"], check=True)
    subprocess.run([CC, "-O3", "-fPIC", "-shared", bundle / "net.o", bundle / "tgcrt.c", bundle / "tgcrt_pool.c", "-o", so, "-lm", "-pthread"],
                   check=True)
    text = subprocess.run(["size", bundle / "net.o"], capture_output=True, text=True, check=True).stdout.split("\n")[1].split()[0]
    return so, bundle / f"{name}_weights.bin", int(text)


def main(isa="native", pairs="31", threads="1,2", only=""):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, ns in SIZES.items():
            if only and name != only:
                continue
            model = folder / f"{name}.tg"
            model.write_text(LAYERS[name]())
            ranged = library(folder, "net", model, f"{ns[0]}:{ns[-1]}", isa)
            race = folder / "race"
            subprocess.run([CC, "-O2", f"-I{folder / f'net{ns[0]}:{ns[-1]}'}", HERE / "race.c", "-o", race, "-ldl"], check=True)
            print(f"\n{name}, n = {ns[0]} to {ns[-1]}, {isa}: code of the range {ranged[2]} bytes\n\n| n | code for n | " +
                  " | ".join(f"{t} thread{'s' if t != '1' else ''}: range, for n (µs), ratio" for t in threads.split(",")) +
                  " |\n|---|---|" + "---|" * len(threads.split(",")))
            ratios = {t: [] for t in threads.split(",")}
            for n in ns:
                fixed = library(folder, "fix", model, n, isa)
                cells = []
                for t in ratios:
                    out = subprocess.run([race, *ranged[:2], *fixed[:2], str(n), t, pairs], capture_output=True, text=True, check=True).stdout
                    mine, other, ratio = out.split()
                    ratios[t].append(float(ratio))
                    cells.append(f"{float(mine):.1f}, {float(other):.1f}, {float(ratio):.2f}")
                print(f"| {n} | {fixed[2]} | " + " | ".join(cells) + " |", flush=True)
            for t, r in ratios.items():
                print(f"\n{t} thread(s): geometric mean {math.exp(sum(map(math.log, r)) / len(r)):.3f}, greatest {max(r):.2f}")


main(*sys.argv[1:])
