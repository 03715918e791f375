#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Predicted times beside measured ones, on this machine (`make predict`): predict.py [OPTION...] [MODEL...].

Kernels: `tgc profile --predict` of each network on one core, without tuned schedules. The fastest of all runs counts, as other
processes disturb the others. Networks for which the cost model was made must reach the goals: a median error of at most 15 %.
Networks held out are printed only. Candidates: for each of ten nests `tgc tune` proposes schedules. 16 of them, drawn with a fixed
seed, are measured as kernels are, and ranked by their predicted times: the median of the rank correlations must be at least 0.9.

With models as arguments, only these are measured. TGC, BUILD, TGC_PYTHON, TGC_MODELS and TGC_ONNX_TESTS are as in bench.py."""
import argparse
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from fixtures import BUILD, LIGHTS, MODELS, TGC, onnx_tests  # noqa: E402

PYTHON = os.environ.get("TGC_PYTHON", "python3")
FITTED = "resnet18 resnet50 mobilenetv2 bert_base".split()
HELD_OUT = "inception_v2 yolox-nano densenet121 gpt2_decode".split()
NESTS = ("gemm 128x768x3072,conv 1x1 56x56 64-256,conv 1x1 14x14 1024-256,conv 1x1 7x7 512-2048,conv 3x3 28x28 128-128,"
         "depthwise 56x56 144,gemv 768x3072,softmax 1536x128,layer norm 128x768,gelu 256x256").split(",")
CANDIDATES, TRIALS = 16, 40
MEDIAN_ERROR, RANKS = 0.15, 0.9
EQUAL = 0.03  # two measurements of one schedule differ by so much


def run(*args):
    return subprocess.run([str(a) for a in args], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout


def model_of(name):
    if (MODELS / name / "model.onnx").exists():
        return MODELS / name / "model.onnx"
    path = BUILD / "bench/models" / f"{name.replace(' ', '_')}.onnx"
    if not path.exists():
        light = [onnx_tests("light")[0] / f"light_{name}.onnx"] if name in LIGHTS else []
        path.parent.mkdir(parents=True, exist_ok=True)
        run(PYTHON, HERE / "make_models.py", name, path.with_suffix(".part"), *light)
        path.with_suffix(".part").rename(path)
    return path


def places(values):
    """the rank of each value; values that differ by less than measuring does share the mean of theirs"""
    order, rank, begin = sorted(range(len(values)), key=values.__getitem__), [0.0] * len(values), 0
    for i in range(1, len(order) + 1):
        if i == len(order) or values[order[i]] > values[order[begin]] * (1 + EQUAL):
            for k in order[begin:i]:
                rank[k] = (begin + i - 1) / 2
            begin = i
    return rank


def correlation(x, y):
    """Spearman's, of ranks"""
    a, b = places(x), places(y)
    ma, mb = statistics.mean(a), statistics.mean(b)
    up = sum((p - ma) * (q - mb) for p, q in zip(a, b))
    down = math.sqrt(sum((p - ma) ** 2 for p in a) * sum((q - mb) ** 2 for q in b))
    return up / down if down else 0.0


# ---- kernels of networks ----
def kernels(args, model):
    """kernel, measured and predicted microseconds, report; of kernels that take long enough"""
    report = json.loads(run(args.tgc, "profile", model, f"--isa={args.isa}", "--schedule=none", "--no-tune-store", "-q", "--threads=1",
                            f"--seconds={args.seconds}", "--predict", "--json", *args.machine))
    rows = [(k["kernel"], k["least_ms"] * 1e3, k["predicted"]["ms"] * 1e3, k) for k in report["kernels"]]
    return [r for r in sorted(rows) if r[1] >= args.least]


def show_network(args, name, model, note):
    """the median error, or None where no kernel takes that long"""
    rows = kernels(args, model)
    if len(rows) < 2:
        print(f"| {name} | {len(rows)} | - | - | - | - | - | {note} |", flush=True)
        return None
    errors = sorted(abs(predicted / us - 1) for _, us, predicted, _ in rows)
    median = statistics.median(errors)
    ranks = correlation([r[1] for r in rows], [r[2] for r in rows])
    print(f"| {name} | {len(rows)} | {sum(r[1] for r in rows) / 1e3:.2f} | {sum(r[2] for r in rows) / 1e3:.2f} | {median * 100:.1f} % "
          f"| {errors[int(0.9 * len(errors))] * 100:.0f} % | {ranks:.3f} | {note} |", flush=True)
    for k, us, predicted, report in sorted(rows, key=lambda r: -abs(math.log(r[2] / r[1])))[: args.list]:
        print(f"    k{k} {us:.0f} us, predicted {predicted:.0f} ({predicted / us:.2f}): {report['predicted']['issue_ms'] * 1e3:.0f} of arithmetic, "
              f"{report['predicted']['memory_ms'] * 1e3:.0f} of memory; {report['schedule'][:100]}", flush=True)
    return median


def show_networks(args):
    print("| network | kernels | ms | predicted ms | median error | nine of ten below | rank correlation | |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    if args.models:
        for model in args.models:
            show_network(args, model.stem, model, "")
        return True
    medians = [show_network(args, n, model_of(n), "") for n in FITTED]
    for n in HELD_OUT:
        show_network(args, n, model_of(n), "held out")
    return all(m is not None and m <= MEDIAN_ERROR for m in medians)


# ---- candidates of nests ----
def trials(args, name, model, work):
    """key of the nest with the most candidates, and their schedules"""
    log = work / f"{name.replace(' ', '_')}.log"
    if not log.exists():
        run(args.tgc, "tune", model, f"--isa={args.isa}", "-q", f"--trials={TRIALS}", "--time=1m", "--no-validate", f"--tune-log={log}", f"--tune-db={log}.db", "-o", "none",
            *args.machine)
    found = {}
    for line in log.read_text().splitlines():
        word = line.split(" ", 2)
        if word[0] == "trial":
            found.setdefault(word[1], []).append(word[2].rpartition("}")[0] + "}")
    key = max(found, key=lambda k: len(found[k]))
    return key, sorted(found[key])


def both_times(args, model, key, schedule, work):
    """measured and predicted microseconds of the kernels that have the nest"""
    lock = work / "candidate.tgc-lock"
    lock.write_text(f"tgc-lock 3\n{key} {schedule} 1 done predict\n")
    how = [model, f"--isa={args.isa}", f"--schedule={lock}", "--no-tune-store", "-q", "--predict", "--json", *args.machine]
    plan = json.loads(run(args.tgc, "inspect", *how))["kernels"]
    mine = {i for i, k in enumerate(plan) if any(n["key"] == key and n["from"] == "lock" for n in k["nests"])}
    timed = [k for k in json.loads(run(args.tgc, "profile", *how, "--threads=1", "--seconds=0.5"))["kernels"] if k["kernel"] in mine]
    return sum(k["least_ms"] for k in timed) * 1e3, sum(k["predicted"]["ms"] for k in timed) * 1e3


def show_candidates(args):
    work = BUILD / "bench/predict"
    work.mkdir(parents=True, exist_ok=True)
    all_of = []
    print("\n| nest | candidates | fastest us | slowest us | rank correlation |\n| --- | ---: | ---: | ---: | ---: |")
    for name in NESTS:
        model = model_of(name)
        key, schedules = trials(args, name, model, work)
        chosen = random.Random(0).sample(schedules, min(CANDIDATES, len(schedules)))
        rows = sorted((*both_times(args, model, key, schedule, work), schedule) for schedule in chosen)
        rows = [r for r in rows if r[0]]
        ranks = correlation([r[0] for r in rows], [r[1] for r in rows]) if len(rows) > 2 else 0.0
        all_of.append(ranks)
        fastest, slowest = (rows[0][0], rows[-1][0]) if rows else (0, 0)
        print(f"| {name} | {len(rows)} | {fastest:.1f} | {slowest:.1f} | {ranks:.3f} |", flush=True)
        for us, p, schedule in rows if args.list else []:
            print(f"    {us:8.1f} {p:8.1f} {schedule}")
    print(f"\nmedian of the rank correlations: {statistics.median(all_of):.3f}")
    return statistics.median(all_of) >= RANKS


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--tgc", default=TGC)
    parse.add_argument("--isa", default="native")
    parse.add_argument("--machine", type=lambda m: [f"--machine={m}"], default=[], help="facts of this CPU, as devices --measure prints them")
    parse.add_argument("--seconds", default="5", help="to measure each network")
    parse.add_argument("--least", type=float, default=20, help="microseconds: shorter kernels do not count")
    parse.add_argument("--list", type=int, default=0, help="kernels of each network to list, the worst predicted first")
    parse.add_argument("--only", choices=["networks", "candidates"])
    parse.add_argument("models", nargs="*", type=pathlib.Path)
    args = parse.parse_args()
    if not args.machine:
        facts = BUILD / "bench/here.machine"
        facts.parent.mkdir(parents=True, exist_ok=True)
        facts.write_text(run(args.tgc, "devices", "--measure", "-q"))
        args.machine = [f"--machine={facts}"]
    good = args.only == "candidates" or show_networks(args)
    if not args.models and args.only != "networks":
        good = show_candidates(args) and good
    return not good


if __name__ == "__main__":
    sys.exit(main())
