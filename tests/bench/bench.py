#!/usr/bin/env python3
"""Measures tgc on every model it finds and prints a table in Markdown; arguments are words a model's name must contain
one of. --docs FILE writes the table there too.

Each model is compiled by tgc, its bundle by $CC with -O3 -march=native, and then timed on one thread in rounds that
alternate with ONNX Runtime and with a program that measures the peak rate of fused multiply-adds, so that all three
see the same machine. A figure is the best round's median. Environment:
  TGC, BUILD, CC      as in the tests
  TGC_MODELS          folder of models (../shared/models beside the repository)
  TGC_ONNX_TESTS      the official tests; their light networks are given random weights, which needs
  TGC_BENCH_MODELS    a script with a function light(source, target) (../shared/bench/make_models.py)
  TGC_PYTHON          a Python with onnx, onnxruntime and numpy (python3); without it there is no peer, said loudly
  ROUNDS, SECONDS     rounds (5), and how long each lasts (0.5)"""
import json
import math
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from fixtures import BUILD, LIGHTS, MODELS, NAMED, ROOT, TGC, onnx_tests
import onnxfile

WORK = BUILD / "bench"
CC = os.environ.get("CC", "cc")
MAKER = pathlib.Path(os.environ.get("TGC_BENCH_MODELS", ROOT / "../shared/bench/make_models.py"))
PYTHON = os.environ.get("TGC_PYTHON", "python3")
ROUNDS, SECONDS = int(os.environ.get("ROUNDS", 5)), os.environ.get("SECONDS", "0.5")
FLAGS = "-O3 -march=native".split()


def loud(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def run(*args):
    return subprocess.run([str(a) for a in args], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout


def has_peer():
    p = subprocess.run([PYTHON, "-c", "import numpy, onnx, onnxruntime"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if p.returncode:
        loud(f"SKIPPED: ONNX Runtime and the light models; {PYTHON} has no onnxruntime, onnx and numpy (set TGC_PYTHON)")
    return not p.returncode


def light(name):
    """the path of a light network with random weights, made once; None when it cannot be made"""
    target = WORK / "models" / f"{name}.onnx"
    if target.exists():
        return target
    folder, _ = onnx_tests("light")
    if not folder or not MAKER.is_file():
        return None
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    run(PYTHON, "-c", f"import sys; sys.path.insert(0, sys.argv[1]); import {MAKER.stem} as m; m.light(*sys.argv[2:])",
        MAKER.parent, folder / f"light_{name}.onnx", part)
    part.rename(target)
    return target


def cases(peer, words):
    """-> name, model, dims, input files"""
    for name, dims in NAMED:
        if words and not any(w in name for w in words):
            continue
        model, data = MODELS / name / "model.onnx", MODELS / name / "ort_ref/set_0"
        if model.is_file():
            yield name, model, dims.split(), sorted(data.glob("input_*.pb"), key=lambda p: int(p.stem[6:]))
        else:
            loud(f"SKIPPED: {name}; not in TGC_MODELS")
    for name in LIGHTS:
        if not peer or words and not any(w in name for w in words):
            continue
        if model := light(name):
            yield name, model, [], []
        else:
            loud(f"SKIPPED: {name}; needs TGC_ONNX_TESTS and TGC_BENCH_MODELS")


class Server:
    """a program that answers each line "SECONDS" with a number"""
    def __init__(self, *args, wait=False):
        self.p = subprocess.Popen([str(a) for a in args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if wait and self.p.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{args[0]} does not start")

    def round(self):
        self.p.stdin.write(SECONDS + "\n")
        self.p.stdin.flush()
        return float(self.p.stdout.readline())

    def close(self):
        self.p.stdin.close()
        self.p.wait()


def raw_inputs(files, into):
    """the data of TensorProto files as files of raw bytes"""
    paths = []
    for k, file in enumerate(files):
        paths.append(into / f"input_{k}.raw")
        paths[-1].write_bytes(dict(onnxfile.fields(file.read_bytes()))[9])
    return paths


def build(name, model, dims, files):
    """-> facts about the bundle, command of its driver"""
    net = WORK / name
    shutil.rmtree(net, ignore_errors=True)
    args = [a for d in dims for a in ("--dim", d)]
    start = time.perf_counter()
    run(TGC, "compile", model, "-o", net, "--isa", "native", *args)
    middle = time.perf_counter()
    facts = json.loads((net / "manifest.json").read_text())
    flags = [*FLAGS, *facts["options"]["cflags"].split()]
    run(CC, *flags, "-c", "-o", net / "net.o", net / "net.c")
    end = time.perf_counter()
    sizes = {k: ", ".join(str(v["bytes"]) for v in facts[k]) for k in ("inputs", "outputs")}
    (net / "case.h").write_text('#include "net.h"\n'
                                f'static const size_t input_bytes[] = {{ {sizes["inputs"]} }};\n'
                                f'static const size_t output_bytes[] = {{ {sizes["outputs"]} }};\n')
    driver = net / "driver"
    run(CC, *FLAGS, f"-I{net}", "-o", driver, HERE / "driver.c", net / "net.o", net / "tgcrt.c", "-lm")
    return {"kernels": len(facts["kernels"]), "arena": facts["arena_bytes"], "weights": facts["weight_bytes"],
            "flops": sum(k["flops"] for k in facts["kernels"]), "tgc_s": middle - start, "cc_s": end - middle}, [
                driver, net / "net_weights.bin", *raw_inputs(files, net)]


def measure(row, driver, model, dims, files, peak, peer):
    ours = Server(*driver, wait=True)
    theirs = Server(PYTHON, HERE / "ort.py", model, *files, *dims, wait=True) if peer else None
    try:
        rounds = [(ours.round(), theirs.round() if theirs else math.nan, peak.round()) for _ in range(ROUNDS)]
    finally:
        ours.close()
        if theirs:
            theirs.close()
    row["ms"], row["ort_ms"] = (min(r[i] for r in rounds) for i in (0, 1))
    row["peak"] = max(r[2] for r in rounds)


def megabytes(n):
    return f"{n / 1e6:.3g} MB" if n >= 1e5 else f"{n / 1e3:.3g} kB"


def milliseconds(t):
    return "-" if math.isnan(t) else f"{t:.4f}" if t < 1 else f"{t:.2f}"


COLUMNS = [  # heading, text of a row
    ("model", lambda r: r["model"]),
    ("kernels", lambda r: str(r["kernels"])),
    ("arena", lambda r: megabytes(r["arena"])),
    ("weights", lambda r: megabytes(r["weights"])),
    ("tgc s", lambda r: f"{r['tgc_s']:.2f}"),
    ("cc s", lambda r: f"{r['cc_s']:.1f}"),
    ("tgc ms", lambda r: milliseconds(r["ms"])),
    ("ORT ms", lambda r: milliseconds(r["ort_ms"])),
    ("ratio", lambda r: "-" if math.isnan(r["ort_ms"]) else f"{r['ms'] / r['ort_ms']:.2f}"),
    ("GFLOP/s", lambda r: f"{r['flops'] / r['ms'] * 1e-6:.1f}"),
    ("of peak", lambda r: f"{r['flops'] / r['ms'] * 1e-4 / r['peak']:.0f} %"),
]


def table_line(cells):
    return "| " + " | ".join(cells) + " |"


def machine(peer, peak):
    cpu = "unknown CPU"
    try:
        cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())[1]
    except (OSError, TypeError):
        pass
    ort = run(PYTHON, "-c", "import onnxruntime; print(onnxruntime.__version__)").strip() if peer else ""
    return (f"{cpu} ({platform.machine()}), {os.cpu_count()} CPUs; {run(CC, '--version').splitlines()[0]}, `{' '.join(FLAGS)}`; "
            f"{'ONNX Runtime ' + ort if ort else 'no ONNX Runtime'}; one thread; "
            f"greatest rate of fused multiply-adds seen: {peak:.1f} GFLOP/s.")


NOTE = """ratio: tgc's latency over ONNX Runtime's, less is better. Each figure is the best median of {rounds} rounds of
{seconds} s, alternating between the two. GFLOP/s counts the arithmetic of tgc's kernels; `of peak` is against the rate of
fused multiply-adds measured in the same rounds. The networks from squeezenet to vgg19 have random weights. Absolute times
depend on what else the machine does; the ratio less so.
"""


def main():
    words, docs = sys.argv[1:], None
    if "--docs" in words:
        at = words.index("--docs")
        docs = words[at + 1]
        words[at:at + 2] = []
    WORK.mkdir(parents=True, exist_ok=True)
    run(CC, *FLAGS, "-ffp-contract=fast", "-o", WORK / "peak", HERE / "peak.c")
    peer, peak, rows, failed = has_peer(), Server(WORK / "peak"), [], []
    print(table_line([h for h, _ in COLUMNS]))
    print(table_line(["---"] + ["---:"] * (len(COLUMNS) - 1)), flush=True)
    for name, model, dims, files in cases(peer, words):
        try:
            row, driver = build(name, model, dims, files)
            row["model"] = name
            measure(row, driver, model, dims, files, peak, peer)
        except (subprocess.CalledProcessError, OSError, RuntimeError, ValueError) as e:
            loud(f"FAILED: {name}: {e}")
            failed.append(name)
            continue
        rows.append(row)
        print(table_line([text(row) for _, text in COLUMNS]), flush=True)
    peak.close()
    if not rows:
        loud("nothing was measured")
        return 1
    (WORK / "results.json").write_text(json.dumps(rows, indent=1))
    text = machine(peer, max(r["peak"] for r in rows)) + "\n\n" + NOTE.format(rounds=ROUNDS, seconds=SECONDS)
    print("\n" + text)
    if docs:
        lines = [table_line([h for h, _ in COLUMNS]), table_line(["---"] + ["---:"] * (len(COLUMNS) - 1))]
        lines += [table_line([t(r) for _, t in COLUMNS]) for r in rows]
        lines = ["# Benchmarks", "", "Made by `make bench-docs`; do not edit.", "", text, *lines, ""]
        pathlib.Path(docs).write_text("\n".join(lines))
    return bool(failed)


sys.exit(main())
