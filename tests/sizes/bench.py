#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A bundle for ranges of sizes beside a bundle for single sizes: medians of runs in turns, one and two threads. Prints tables in
Markdown. Arguments: ISA (native), pairs of turns (31), threads (1,2), names of tables (all)."""
import math
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from fixtures import MODELS, TGC  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import models  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
CC = os.environ.get("CC") or "cc"
PAIRS = [(1, 1), (2, 1), (4, 1), (8, 1), (1, 5), (3, 5), (8, 5), (1, 16), (4, 16), (8, 16), (1, 64), (2, 64), (8, 64)]
# the names of its ranges; sizes, of which the last ones are the greatest
SIZES = {"ffn": (["n"], [(n,) for n in (1, 2, 3, 4, 5, 6, 7, 8, 13, 18, 32, 100, 128)]),
         "conv": (["n"], [(n,) for n in (1, 2, 3, 4, 5, 6, 7, 8, 13, 16)]),
         "audio": (["n"], [(n,) for n in (4, 7, 16, 33, 64, 100, 250, 500)]),
         "ocr": (["n"], [(n,) for n in (4, 7, 16, 33, 64, 100, 160)]),
         "ffns": (["b", "n"], PAIRS), "encoders": (["b", "n"], PAIRS),
         "tinybert": (["batch", "sequence"], [(1, 1), (4, 1), (1, 5), (3, 5), (1, 16), (4, 16), (1, 47), (2, 47), (1, 100), (4, 100)])}
LAYERS = {**models.ALL, **models.SEVERAL, "audio": lambda: models.audio(40, 64), "ocr": lambda: models.ocr(32, 32)}
LEAST = {"audio": 4, "ocr": 4}


def library(folder, name, model, dims, isa):
    """-> the library, its weights, and bytes of its code"""
    bundle = folder / (name + ",".join(dims))
    so = bundle.with_suffix(".so")
    subprocess.run([TGC, "compile", model, *(f"--dim={d}" for d in dims), f"--name={name}", f"--isa={isa}", "-o", bundle, "-q",
                    "--no-index-status"], check=True)
    flags = next(x for x in (bundle / "Makefile").read_text().splitlines() if x.startswith("NETFLAGS = "))[11:].split()
    subprocess.run([CC, "-O3", *flags, "-w", "-fPIC", "-c", bundle / f"{name}.c", "-o", bundle / "net.o"], check=True)
    subprocess.run([CC, "-O3", "-fPIC", "-shared", bundle / "net.o", bundle / "tgcrt.c", bundle / "tgcrt_pool.c", "-o", so, "-lm", "-pthread"],
                   check=True)
    text = subprocess.run(["size", bundle / "net.o"], capture_output=True, text=True, check=True).stdout.split("\n")[1].split()[0]
    return so, bundle / f"{name}_weights.bin", int(text)


def main(isa="native", pairs="31", threads="1,2", tables=",".join(SIZES)):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in tables.split(","):
            dims, sizes = SIZES[name]
            model = MODELS / name / "model.onnx"
            if not model.is_file():
                model = folder / f"{name}.tg"
                model.write_text(LAYERS[name]())
            ranges = [f"{d}={LEAST.get(name, 1)}:{most}" for d, most in zip(dims, sizes[-1])]
            ranged = library(folder, "net", model, ranges, isa)
            race = folder / "race"
            subprocess.run([CC, "-O2", f"-I{folder / ('net' + ','.join(ranges))}", HERE / "race.c", "-o", race, "-ldl"], check=True)
            print(f"\n{name}, {', '.join(ranges)}, {isa}: code of the range {ranged[2]} bytes\n\n| {', '.join(dims)} | code for it | " +
                  " | ".join(f"{t} thread{'s' if t != '1' else ''}: range, one size (µs), ratio" for t in threads.split(",")) +
                  " |\n|---|---|" + "---|" * len(threads.split(",")))
            ratios = {t: [] for t in threads.split(",")}
            for n in sizes:
                fixed = library(folder, "fix", model, [f"{d}={size}" for d, size in zip(dims, n)], isa)
                n = ",".join(map(str, n))
                cells = []
                for t in ratios:
                    out = subprocess.run([race, *ranged[:2], *fixed[:2], n, t, pairs], capture_output=True, text=True, check=True).stdout
                    mine, other, ratio = out.split()
                    ratios[t].append(float(ratio))
                    cells.append(f"{float(mine):.1f}, {float(other):.1f}, {float(ratio):.2f}")
                print(f"| {n} | {fixed[2]} | " + " | ".join(cells) + " |", flush=True)
            for t, r in ratios.items():
                print(f"\n{t} thread(s): geometric mean {math.exp(sum(map(math.log, r)) / len(r)):.3f}, greatest {max(r):.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
