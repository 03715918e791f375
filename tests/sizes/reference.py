#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The models of TGC_MODELS with open dimensions, each with ranges: the outputs at ten sizes beside those of ONNX Runtime
(TGC_PYTHON has it). Prints TAP, and how many models compile. Arguments: words in the names of models; none: all of them.
`expected` says why a model is refused."""
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import pathlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from fixtures import MODELS, TGC  # noqa: E402

RUNS = 10
STRINGS = ["openutau-g2p"]
DATA = {"silero-vad": ("sr", struct.pack("<q", 16000))}  # an input that is no number of entries, and decides what others mean
OCR = "p2o.DynamicDimension."
# model, ranges (low, high, step) and fixed dimensions, part of the message if it is refused
ROWS = [
    ("basic-pitch", {"unk__749": (1, 3, 1)}, {}, ""),
    ("bert-toy", {"batch": (1, 3, 1), "max_seq_len_in_batch": (1, 64, 1)}, {}, ""),
    ("cntk-scan", {"Sequence": (1, 40, 1)}, {}, ""),
    ("gpt2-past-tiny", {"batch_size": (1, 3, 1), "seq_len": (1, 7, 1)}, {}, ""),
    ("lgbm-tensor", {"batch": (1, 40, 1)}, {}, ""),
    ("libtashkeel-fp32", {"seq": (4, 32, 1)}, {"batch": 1}, ""),
    ("libtashkeel-fp32", {"batch": (1, 5, 1)}, {"seq": 16}, "'/gru/Range'"),
    ("lstm-loop", {"sequence": (1, 64, 1)}, {}, ""),
    ("micro-kws-qdq", {"unk__68": (1, 8, 1)}, {}, ""),
    ("mobilenetv2-int8-qdq", {"batch": (1, 3, 1)}, {}, ""),
    ("openutau-g2p", {"___shape_0": (1, 9, 1)}, {}, ""),
    ("openutau-mel", {"T": (4, 40, 1)}, {}, ""),
    ("ppocr-v2-cls", {OCR + "0": (1, 2, 1), OCR + "2": (64, 192, 16)}, {OCR + "1": 48}, ""),
    ("ppocr-v2-cls", {OCR + "1": (32, 64, 1)}, {OCR + "0": 1, OCR + "2": 96}, ""),
    ("silero-vad", {"all": (1, 4, 1)}, {"input:1": 576}, ""),
    ("silero-vad-v3", {"sequence": (1024, 4096, 256)}, {}, ""),
    ("super-resolution-10", {"batch_size": (1, 3, 1)}, {}, ""),
    ("tinybert", {"batch": (1, 4, 1), "sequence": (1, 64, 1)}, {}, ""),
    ("yunet-n-dynamic", {"height": (96, 224, 32), "width": (96, 224, 32)}, {"batch": 1}, ""),
    ("yunet-n-dynamic", {"batch": (1, 3, 1), "width": (96, 224, 32)}, {"height": 160}, ""),
]


def sizes(ranges, seed):
    """the least and greatest sizes, and others at random"""
    r = random.Random(seed)
    runs = [[low for low, _, _ in ranges.values()], [high for _, high, _ in ranges.values()]]
    while len(runs) < RUNS:
        runs.append([r.randrange(low, high + 1, step) for low, high, step in ranges.values()])
    return [",".join(f"{name}={n}" for name, n in zip(ranges, run)) for run in runs]


def verify(model, ranges, fixed, seed):
    """-> status, text. tgc passes no strings to ONNX Runtime: their reference is the model for one size, in the interpreter"""
    dims = [f"--dim={name}={low}:{high}:{step}" for name, (low, high, step) in ranges.items()]
    dims += [f"--dim={name}={n}" for name, n in fixed.items()]
    name = model.parent.name
    args = [] if name in STRINGS else ["--ort"]
    with tempfile.NamedTemporaryFile() as data:
        if name in DATA:
            data.write(DATA[name][1])
            data.flush()
            args.append(f"--input={DATA[name][0]}={data.name}")
        p = subprocess.run([TGC, "verify", model, *args, "--no-index-status", "--rtol=1e-3", "--atol=1e-5", *dims,
                            *(f"--size={s}" for s in sizes(ranges, seed))], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return p.returncode, p.stdout + p.stderr


def main(words):
    number = served = bad = 0
    rows = [row for row in ROWS if not words or any(w in row[0] for w in words)]
    print(f"1..{len(rows)}")
    for seed, (name, ranges, fixed, refusal) in enumerate(rows):
        number += 1
        title = f"{name}: " + ", ".join(f"{n} {low} to {high}" for n, (low, high, _) in ranges.items())
        files = sorted((MODELS / name).glob("*.onnx"))
        if not files:
            print(f"ok {number} - {title} # SKIP no such model in TGC_MODELS")
            continue
        code, text = verify(files[0], ranges, fixed, seed)
        fails, oks = re.findall(r"^FAILED.*", text, re.M), len(re.findall(r"^ok ", text, re.M))
        good = code == 0 and oks >= RUNS and not fails if not refusal else code != 0 and refusal in text and not fails
        served += code == 0 and not fails
        bad += not good
        print(f"{'ok' if good else 'not ok'} {number} - {title}" + (f", refused: {refusal}" if refusal else ""), flush=True)
        for line in ([] if good else [*fails[:3], *text.strip().splitlines()[-2:]]):
            print("#", line[:400], flush=True)
    print(f"# {served} of {len(rows)} are served")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
