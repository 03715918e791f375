#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A bundle for ranges of sizes beside a bundle for single sizes: medians of runs in turns, bytes of code, and bytes of arenas. Prints a table for each
model in Markdown, and one of all models. There, kernel_code.py says which kernel of the range has most code for that of one size.
Arguments: ISA (native), pairs of turns (31), threads (1,2), names of tables (those of SIZES).
ALONE in the environment is a command before each measurement, such as one that stops other work."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from fixtures import MODELS, TGC  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import models  # noqa: E402
from kernel_code import greatest, kernels, mean  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
CC = os.environ.get("CC") or "cc"
PYTHON = os.environ.get("TGC_PYTHON") or "python3"
ALONE = os.environ.get("ALONE", "").split()
PAIRS = [(1, 1), (2, 1), (4, 1), (8, 1), (1, 5), (3, 5), (8, 5), (1, 16), (4, 16), (8, 16), (1, 64), (2, 64), (8, 64)]
# the names of its ranges; sizes, of which the last ones are the greatest
SIZES = {"ffn": (["n"], [(n,) for n in (1, 2, 3, 4, 5, 6, 7, 8, 13, 18, 32, 100, 128)]),
         "conv": (["n"], [(n,) for n in (1, 2, 3, 4, 5, 6, 7, 8, 13, 16)]),
         "audio": (["n"], [(n,) for n in (4, 7, 16, 33, 64, 100, 250, 500)]),
         "ocr": (["n"], [(n,) for n in (4, 7, 16, 33, 64, 100, 160)]),
         "encoder": (["n"], [(n,) for n in (1, 4, 16, 21, 47, 64, 100)]),
         "layer": (["n"], [(n,) for n in (1, 2, 3, 5, 8, 13, 24, 64, 100, 256, 512)]),
         "ffns": (["b", "n"], PAIRS), "encoders": (["b", "n"], PAIRS),
         "tinybert": (["batch", "sequence"], [(1, 1), (4, 1), (1, 5), (3, 5), (1, 16), (4, 16), (1, 47), (2, 47), (1, 100), (4, 100)])}
# networks of networks.py, only where they are named, as their bundles have up to 500 MB of weights
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 47, 64, 96, 128, 200, 256, 384, 512)
NETWORKS = {"bert_base": (["length"], [(n,) for n in LENGTHS]), "bilstm": (["length"], [(n,) for n in LENGTHS]),
            "gpt2_decode": (["past"], [(n,) for n in (*LENGTHS[:-1], 511)])}
# pictures with a typical size, only where they are named
OCR = "p2o.DynamicDimension."
PICTURES = {"yunet-n-dynamic": (["height", "width"], [(96, 96), (96, 224), (128, 160), (160, 128), (160, 160), (192, 192), (224, 96), (224, 224)]),
            "ppocr-v2-cls": ([OCR + "0", OCR + "2"], [(1, 64), (1, 96), (1, 128), (1, 160), (1, 192), (2, 64), (2, 128), (2, 192)]),
            "ocr@64": SIZES["ocr"]}
RANGES = {"yunet-n-dynamic": ["height=96:224:32@160", "width=96:224:32@160"], "ppocr-v2-cls": [OCR + "0=1:2", OCR + "2=64:192:16@128"],
          "ocr@64": ["n=4:160@64"]}
MORE = {"gpt2_decode": ["--state=past_*=*"], "yunet-n-dynamic": ["--dim=batch=1"], "ppocr-v2-cls": [f"--dim={OCR}1=48"]}
LAYERS = {**models.ALL, **models.SEVERAL, "encoder": models.encoder, "audio": lambda: models.audio(40, 64), "ocr": lambda: models.ocr(32, 32),
          "layer": lambda: models.encoder(768, 12, 3072)}
LEAST = {"audio": 4, "ocr": 4, "gpt2_decode": 0}


def model_of(name, folder):
    path = MODELS / name / "model.onnx"
    if name in NETWORKS:
        path = folder / f"{name}.onnx"
        subprocess.run([PYTHON, HERE / "networks.py", name, path], check=True)
    elif not path.is_file():
        name = name.split("@")[0]
        path = folder / f"{name}.tg"
        path.write_text(LAYERS[name]())
    return path


def library(folder, name, model, dims, isa, more=()):
    """-> the library, its weights, bytes of its code, its kernels, and bytes of its arena"""
    bundle = folder / (name + ",".join(dims))
    so = bundle.with_suffix(".so")
    subprocess.run([TGC, "compile", model, *(f"--dim={d}" for d in dims), f"--name={name}", f"--isa={isa}", "-o", bundle, "-q",
                    "--no-index-status", *more], check=True)
    flags = next(x for x in (bundle / "Makefile").read_text().splitlines() if x.startswith("NETFLAGS = "))[11:].split()
    subprocess.run([CC, "-O3", *flags, "-w", "-fPIC", "-c", bundle / f"{name}.c", "-o", bundle / "net.o"], check=True)
    subprocess.run([CC, "-O3", "-fPIC", "-shared", bundle / "net.o", bundle / "tgcrt.c", bundle / "tgcrt_pool.c", "-o", so, "-lm", "-pthread"],
                   check=True)
    text = subprocess.run(["size", bundle / "net.o"], capture_output=True, text=True, check=True).stdout.split("\n")[1].split()[0]
    return so, bundle / f"{name}_weights.bin", int(text), kernels(bundle, bundle / "net.o"), json.loads((bundle / "manifest.json").read_text())["arena_bytes"]


def main(isa="native", pairs="31", threads="1,2", tables=",".join(SIZES)):
    rows, threads = [], threads.split(",")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in tables.split(","):
            dims, sizes = {**SIZES, **NETWORKS, **PICTURES}[name]
            model, more = model_of(name, folder), MORE.get(name, [])
            ranges = RANGES.get(name) or [f"{d}={LEAST.get(name, 1)}:{most}" for d, most in zip(dims, sizes[-1])]
            ranged = library(folder, "net", model, ranges, isa, more)
            race = folder / "race"
            subprocess.run([CC, "-O2", f"-I{folder / ('net' + ','.join(ranges))}", HERE / "race.c", "-o", race, "-ldl"], check=True)
            print(f"\n{name}, {', '.join(ranges)}, {isa}: code of the range {ranged[2]} bytes\n\n| {', '.join(dims)} | code for it | " +
                  " | ".join(f"{t} thread{'s' if t != '1' else ''}: range, one size (µs), ratio" for t in threads) +
                  " |\n|---|---|" + "---|" * len(threads))
            ratios, codes, parts, arenas = {t: [] for t in threads}, [], [], []
            for n in sizes:
                size, cells = ",".join(map(str, n)), []
                fixed = library(folder, "fix", model, [f"{d}={size}" for d, size in zip(dims, n)], isa, more)
                codes.append(fixed[2])
                parts.append(fixed[3])
                arenas.append(fixed[4])
                for t in threads:
                    args = [*ALONE, race, *ranged[:2], *fixed[:2], size, t, pairs]
                    mine, other, ratio = subprocess.run(args, capture_output=True, text=True, check=True).stdout.split()
                    ratios[t].append(float(ratio))
                    cells.append(f"{float(mine):.1f}, {float(other):.1f}, {float(ratio):.2f}")
                shutil.rmtree(fixed[1].parent)
                print(f"| {size} | {fixed[2]} | " + " | ".join(cells) + " |", flush=True)
            most, kernel = greatest(ranged[3], parts)
            rows.append([name, ", ".join(ranges), *(f"{mean(r):.2f} | {max(r):.2f}" for r in ratios.values()),
                         f"{ranged[2] / 1000:.0f} | {mean(codes) / 1000:.0f} | {ranged[2] / mean(codes):.1f} | {ranged[2] / max(codes):.1f}",
                         f"{most:.1f}: `{kernel}`", f"{ranged[4] / max(arenas):.2f}"])
    heads = " | ".join(f"time, {t} thread{'s' if t != '1' else ''}: mean | most" for t in threads)
    print(f"\n| model | sizes | {heads} | code, kB | one size: mean | ratio | to the largest | greatest kernel | arena |\n" +
          "|---" * (8 + 2 * len(threads)) + "|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
