#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a model takes on microcontrollers: icount.py [--opt FLAGS] [--isa ISA]... [MODEL]. Of each machine it prints the
instructions of a run, which QEMU counts (-icount shift=0), and the bytes of code, weights and arena. The compiler's flags are
those of the bundle's Makefile, or FLAGS. `tgc verify` judges the outputs. Without a MODEL it takes int8 micro-kws."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from fixtures import MODELS, ROOT, TGC  # noqa: E402

MACHINES = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")
TOOLS = ("arm-none-eabi-gcc", "arm-none-eabi-size", "qemu-system-arm", "make")
LOOP = 2 << 20  # instructions of the loop that icount.c counts first


def need(*args):
    p = subprocess.run([str(a) for a in args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    if p.returncode:
        raise SystemExit(f"icount: {' '.join(map(str, args))}: status {p.returncode}\n{p.stdout}{p.stderr}")
    return p.stdout


def elements(slots):
    return ",".join(str(s["bytes"]) for s in slots)


def default_flags(bundle):
    return next(line for line in (bundle / "Makefile").read_text().splitlines() if line.startswith("CFLAGS ?= "))[10:]


def measure(folder, model, isa, flags=None, more=()):
    """-> what a run of the model takes on a machine; its outputs are right"""
    bundle = folder / "net"
    need(TGC, "compile", model, "-o", bundle, f"--isa={isa}", "--embed-weights", "--self-test", "-q", *more)
    manifest = json.loads((bundle / "manifest.json").read_text())
    (folder / "samples.S").write_text(f'.section .rodata\n.global samples\n.balign 8\nsamples: .incbin "{bundle}/net_check.bin"\n')
    flags = flags or default_flags(bundle)
    inputs, outputs = manifest["inputs"], manifest["outputs"]
    defines = f"-DINPUTS={elements(inputs)} -DOUTPUTS={elements(outputs)} -DOUTPUT_BYTES={sum(s['bytes'] for s in outputs)}"
    make = ["make", "-s", "-C", ROOT / "examples/cortex-m", f"NET={bundle}", f"OUT={folder}", f"CPU={isa}", "NAME=net", f"OPT={flags}",
            f"SOURCES={ROOT}/tests/bench/icount.c {folder}/samples.S", f"DEFINES={defines}", "QEMUFLAGS=-icount shift=0"]
    need(*make)
    code = int(need("arm-none-eabi-size", bundle / "build/net.o").splitlines()[1].split()[0])
    told = dict(line.split(" ", 1) for line in need("timeout", "300", *make, "run").splitlines())
    (folder / "outputs").write_bytes(bytes.fromhex(told["outputs"]))
    need(TGC, "verify", model, "--outputs", folder / "outputs", "-q", *more)
    return {"isa": isa, "flags": flags, "instructions": int(told["run"]) * LOOP // int(told["loop"]), "code": code,
            "weights": manifest["weight_bytes"], "arena": manifest["arena_bytes"]}


def main():
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("--opt", help="flags of the C compiler in place of the bundle's")
    parse.add_argument("--isa", action="append", help="machine; may be repeated")
    parse.add_argument("model", nargs="?", default=MODELS / "micro-kws-qdq/model.onnx")
    args = parse.parse_args()
    for tool in TOOLS:
        if not shutil.which(tool):
            raise SystemExit(f"icount: no {tool}; `tools/deps.sh cross` says which package has it")
    if not os.path.isfile(args.model):
        raise SystemExit(f"icount: no file {args.model}; name a model, or set TGC_MODELS")
    print(f"{'machine':<14}{'flags':<10}{'instructions':>14}{'code':>9}{'weights':>9}{'arena':>9}")
    for isa in args.isa or MACHINES:
        with tempfile.TemporaryDirectory() as folder:
            m = measure(pathlib.Path(folder), pathlib.Path(args.model).resolve(), isa, args.opt)
        print(f"{m['isa']:<14}{m['flags']:<10}{m['instructions']:>14,}{m['code']:>9,}{m['weights']:>9,}{m['arena']:>9,}", flush=True)


if __name__ == "__main__":
    main()
