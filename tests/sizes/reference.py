#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The models of TGC_MODELS with open dimensions, and those of exported.py, each with ranges: the outputs at ten sizes beside
those of ONNX Runtime (TGC_PYTHON has it). Prints TAP, a row of the table in docs/sizes.md for each model, and how many are
served. Arguments: words in the names of models; none: all of them."""
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from fixtures import MODELS, TGC  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import exported  # noqa: E402

RUNS = 10
OCR = "p2o.DynamicDimension."


def words(r, run):
    """eight letters each, or fewer, as rows of 64 bytes"""
    return b"".join(r.choice([b"", *(bytes([c]) for c in b"abcdefghijklmnopqrstuvwxyz")]).ljust(64, b"\0")
                    for _ in range(8 * run["___shape_0"]))


def lengths(r, run):
    """lengths of sequences, the greatest first or not"""
    return struct.pack(f"<{run.get('batch', 1)}q", *(r.randrange(1, run.get("seq", 16) + 1) for _ in range(run.get("batch", 1))))


# inputs whose values from a seed would not do: a name, and a function of a random generator and the run's sizes that gives the bytes
DATA = {"silero-vad": ("sr", lambda r, run: struct.pack("<q", 16000)), "openutau-g2p": ("letters", words),
        "libtashkeel-fp32": ("input_lengths", lengths)}
# micro-kws-qdq: ONNX Runtime fuses a softmax of 8 bits, which then rounds otherwise than the model says
OPTIONS = {"micro-kws-qdq": ["--ort-unfused"]}
# model, ranges (low, high, step) and fixed dimensions
ROWS = [
    ("basic-pitch", {"unk__749": (1, 3, 1)}, {}),
    ("bert-toy", {"batch": (1, 3, 1), "max_seq_len_in_batch": (1, 64, 1)}, {}),
    ("cntk-scan", {"Sequence": (1, 40, 1)}, {}),
    ("gpt2-past-tiny", {"batch_size": (1, 3, 1), "seq_len": (1, 7, 1)}, {}),
    ("lgbm-tensor", {"batch": (1, 40, 1)}, {}),
    ("libtashkeel-fp32", {"batch": (1, 4, 1), "seq": (4, 24, 1)}, {}),
    ("libtashkeel-fp32", {"batch": (1, 8, 1)}, {"seq": 16}),
    ("lstm-loop", {"sequence": (1, 64, 1)}, {}),
    ("micro-kws-qdq", {"unk__68": (1, 8, 1)}, {}),
    ("mobilenetv2-int8-qdq", {"batch": (1, 3, 1)}, {}),
    ("openutau-g2p", {"___shape_0": (1, 9, 1)}, {}),
    ("openutau-mel", {"T": (4, 40, 1)}, {}),
    ("ppocr-v2-cls", {OCR + "0": (1, 2, 1), OCR + "2": (64, 192, 16)}, {OCR + "1": 48}),
    ("ppocr-v2-cls", {OCR + "0": (1, 2, 1), OCR + "1": (48, 80, 8), OCR + "2": (64, 192, 16)}, {}),
    ("silero-vad", {"all": (1, 4, 1)}, {"input:1": 576}),
    ("silero-vad-v3", {"sequence": (1024, 4096, 256)}, {}),
    ("super-resolution-10", {"batch_size": (1, 3, 1)}, {}),
    ("tinybert", {"batch": (1, 4, 1), "sequence": (1, 64, 1)}, {}),
    ("yunet-n-dynamic", {"batch": (1, 2, 1), "height": (96, 224, 32), "width": (96, 224, 32)}, {}),
    *((f"exported {name}", ranges, {}) for name, (_, ranges) in exported.MODELS.items()),
]


def sizes(ranges, seed):
    """the least and greatest sizes, and others at random"""
    r = random.Random(seed)
    runs = [{name: low for name, (low, _, _) in ranges.items()}, {name: high for name, (_, high, _) in ranges.items()}]
    while len(runs) < RUNS:
        runs.append({name: r.randrange(low, high + 1, step) for name, (low, high, step) in ranges.items()})
    return runs


def tgc(*args):
    p = subprocess.run([TGC, *map(str, args)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return p.returncode, p.stdout + p.stderr


def verify(model, name, ranges, fixed, seed, folder):
    """-> status, text. A run has data of its own if the model needs it."""
    dims = [f"--dim={name}={low}:{high}:{step}" for name, (low, high, step) in ranges.items()] + [f"--dim={k}={v}" for k, v in fixed.items()]
    code, text = tgc("compile", model, *dims, "-q", "--no-index-status", "-o", folder / "net")
    runs = [] if code else sizes(ranges, seed)
    options = ["--ort", "--rtol=1e-3", "--atol=1e-5", f"--model={model}", *OPTIONS.get(name, [])]
    names = [",".join(f"{k}={v}" for k, v in run.items()) for run in runs]
    if name not in DATA and runs:
        return tgc("verify", folder / "net", *options, *(f"--size={size}" for size in names))
    r = random.Random(seed)
    for run, size in zip(runs, names):
        (folder / "data").write_bytes(DATA[name][1](r, run))
        one, more = tgc("verify", folder / "net", *options, f"--size={size}", f"--input={DATA[name][0]}={folder / 'data'}")
        code, text = code or one, text + more
    return code, text


def row_of(name, ranges, text):
    """a row of the table: the largest difference of any output"""
    worst = max(map(float, re.findall(r"max absolute (\S+)", text)), default=None)
    texts = ", ".join(f"`{k.replace(OCR, '...')}` {low} to {high}" + (f" in steps of {step}" if step > 1 else "") for k, (low, high, step) in ranges.items())
    return f"| {name} | {texts} | {RUNS} | {'equal' if worst in (None, 0) else f'{worst:.2g}'} |"


def main(args):
    number = served = bad = 0
    rows = [row for row in ROWS if not args or any(w in row[0] for w in args)]
    print(f"1..{len(rows)}")
    for seed, (name, ranges, fixed) in enumerate(rows):
        number += 1
        title = f"{name}: " + ", ".join(f"{n} {low} to {high}" for n, (low, high, _) in ranges.items())
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            files = sorted((MODELS / name).glob("*.onnx"))
            if name.startswith("exported "):
                files = [folder / "model.onnx"]
                files[0].write_bytes(exported.MODELS[name[9:]][0]())
            if not files:
                print(f"ok {number} - {title} # SKIP no such model in TGC_MODELS")
                continue
            code, text = verify(files[0], name, ranges, fixed, seed, folder)
        fails, oks = re.findall(r"^FAILED.*", text, re.M), len(re.findall(r"^ok ", text, re.M))
        good = code == 0 and oks >= RUNS and not fails
        served += good
        bad += not good
        print(f"{'ok' if good else 'not ok'} {number} - {title}", flush=True)
        if good:
            print(f"# {row_of(name, ranges, text)}", flush=True)
        for line in ([] if good else [*fails[:3], *text.strip().splitlines()[-2:]]):
            print("#", line[:400], flush=True)
    print(f"# {served} of {len(rows)} are served")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
