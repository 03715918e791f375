#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Predicted times beside measured ones, on this machine (`make predict`): predict.py [OPTION...] [MODEL...].

Kernels: `tgc profile --predict` of each network on one core, without tuned schedules. The fastest of all runs counts, as other
processes disturb the others. Networks for which the cost model was made must reach the goals: a median error of at most 15 %.
Networks held out are printed only.

Candidates: for each of ten nests `tgc tune` proposes schedules, and leaves none out by its prediction. 16 of them are measured and
ranked by their predicted times. Most proposals have the vectors of the best schedule. So one half is drawn from all proposals with a
fixed seed. The other half is drawn from each kind of vectors in turn. The least time of several processes counts, in which the
candidates take turns. All nests are measured twice, one after another, as neighbours of a guest disturb for minutes. Times that
differ by less than the two measurements are equal. Their correlation is the most that a prediction can reach. The rank correlation of
each nest must be at least 0.9.

With models as arguments, only these are measured. TGC, BUILD, TGC_PYTHON, TGC_MODELS and TGC_ONNX_TESTS are as in bench.py."""
import argparse
import array
import ctypes
import json
import math
import mmap
import multiprocessing
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from fixtures import BUILD, LIGHTS, MODELS, ROOT, TGC, onnx_tests  # noqa: E402

PYTHON = os.environ.get("TGC_PYTHON", "python3")
FITTED = "resnet18 resnet50 mobilenetv2 bert_base".split()
HELD_OUT = "inception_v2 yolox-nano densenet121 gpt2_decode".split()
NESTS = ("gemm 128x768x3072,conv 1x1 56x56 64-256,conv 1x1 14x14 1024-256,conv 1x1 7x7 512-2048,conv 3x3 28x28 128-128,"
         "depthwise 56x56 144,gemv 768x3072,softmax 1536x128,layer norm 128x768,gelu 256x256").split(",")
CANDIDATES, FREE, TRIALS = 16, 8, 48  # FREE: drawn from all proposals
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


def places(values, equal):
    """the rank of each value: as many are less by more than measuring differs, and half of the others count that differ by less"""
    return [sum(v * (1 + equal) < own or (v <= own * (1 + equal)) * 0.5 for v in values) for own in values]


def correlation(x, y, equal=EQUAL):
    """Spearman's, of ranks"""
    a, b = places(x, equal), places(y, equal)
    ma, mb = statistics.mean(a), statistics.mean(b)
    up = sum((p - ma) * (q - mb) for p, q in zip(a, b))
    down = math.sqrt(sum((p - ma) ** 2 for p in a) * sum((q - mb) ** 2 for q in b))
    return up / down if down else 0.0


def noise(once, again):
    """Times that differ by less are equal. Two measurements of one candidate differ by their median half of the time, so by twice as
    much now and then."""
    return max(EQUAL, 2 * statistics.median(max(a, b) / min(a, b) - 1 for a, b in zip(once, again)))


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
        run(args.tgc, "tune", model, f"--isa={args.isa}", "-q", f"--trials={TRIALS}", "--time=1m", "--no-validate", f"--tunable=tune_new={CANDIDATES}", "--tunable=tune_screen_statements=1000000", f"--tune-log={log}", f"--tune-db={log}.db", "-o", "none",
            *args.machine)
    found = {}
    for line in log.read_text().splitlines():
        word = line.split(" ", 2)
        if word[0] == "trial":
            found.setdefault(word[1], []).append(word[2].rpartition("}")[0] + "}")
    key = max(found, key=lambda k: len(found[k]))
    return key, sorted(found[key])


def in_turn(schedules):
    """All schedules, in the order in which candidates are drawn"""
    lot = random.Random(0)
    left = lot.sample(schedules, len(schedules))
    of = {}
    for schedule in left[FREE:]:
        of.setdefault(tuple(re.findall(r"vec\(\w+,\d+\)", schedule)), []).append(schedule)
    kinds = lot.sample(sorted(of), len(of))
    return left[:FREE] + [of[k][turn] for turn in range(len(schedules)) for k in kinds if turn < len(of[k])]


def candidate(args, model, key, schedule, folder):
    """A bundle with the schedule, built into `folder`; -> the numbers of the kernels that have the nest, their predicted microseconds
    and the number of all kernels; None if a lock file refuses the schedule"""
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / "candidate.tgc-lock"
    lock.write_text(f"tgc-lock 3\n{key} {schedule} 1 done predict\n")
    how = [model, f"--isa={args.isa}", f"--schedule={lock}", "--no-tune-store", "-q", *args.machine]
    plan = json.loads(run(args.tgc, "inspect", *how, "--predict", "--json"))["kernels"]
    mine = [i for i, k in enumerate(plan) if any(n["key"] == key and n["from"] == "lock" for n in k["nests"])]
    if not mine:
        return None
    run(args.tgc, "compile", *how, "--name=net", "-o", folder / "net")
    hooks = (ROOT / "cmd/probe/hooks.h").read_text()
    (folder / "net/hooks.h").write_text(f"enum {{ STEPS = {len(plan) + 1}, LANES = 1, SPANS = 16384 }};\n{hooks}")
    run("make", "-s", "-C", folder / "net", "build/libnet.a", "CFLAGS=-O3 -DTGC_HOOKS='\"hooks.h\"'")
    run(os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", f"-I{folder}/net", "-o", folder / "candidate.so", HERE / "candidate.c",
        folder / "net/build/libnet.a", "-lm", "-pthread")
    return mine, sum(plan[i]["predicted"]["ms"] for i in mine) * 1e3, len(plan)


def build(args, name, work):
    """Schedules, folders and bundles of the candidates of a nest"""
    model, folder = model_of(name), work / name.replace(" ", "_")
    folder.mkdir(parents=True, exist_ok=True)
    key, schedules = trials(args, name, model, work)
    taken = []
    for i, schedule in enumerate(in_turn(schedules)):
        built = candidate(args, model, key, schedule, folder / str(i))
        taken += [(schedule, folder / str(i), built)] if built else []
        if len(taken) == CANDIDATES:
            break
    return [list(column) for column in zip(*taken)]


def aligned(data):
    """-> the address of a copy at the beginning of a page, where a mapped file begins, too, and its owner"""
    memory = ctypes.create_string_buffer(len(data) + mmap.PAGESIZE)
    at = ctypes.addressof(memory) + -ctypes.addressof(memory) % mmap.PAGESIZE
    ctypes.memmove(at, data, len(data))
    return ctypes.c_void_p(at), memory


def measure(folders, kernels, turns, ms):
    """In a process of its own: milliseconds of each kernel of each candidate, the least of all turns. The candidates take turns, so
    that what else the machine does meets all of them."""
    running, least = [], [[math.inf] * n for n in kernels]
    for folder in folders:
        manifest = json.loads((folder / "net/manifest.json").read_text())
        values = array.array("f", random.Random(0).choices([0.25, -1.5, 0.75, -0.125, 2], k=manifest["inputs"][0]["bytes"] // 4))
        lib, inputs, outputs = ctypes.CDLL(str(folder / "candidate.so")), aligned(values.tobytes()), aligned(bytes(manifest["outputs"][0]["bytes"]))
        file = folder / "net/net_weights.bin"
        weights = aligned(file.read_bytes() if file.exists() else b"")
        if lib.candidate_open(weights[0], ctypes.c_size_t(manifest["weight_bytes"])):
            sys.exit(f"{folder}: the bundle refuses its weights")
        running.append((lib, inputs, outputs, weights))
    for _ in range(turns):
        for i, (lib, inputs, outputs, _) in enumerate(running):
            times = (ctypes.c_double * kernels[i])()
            if lib.candidate_turn(ctypes.c_double(ms), kernels[i], inputs[0], outputs[0], times):
                sys.exit(f"{folders[i]}: a run fails")
            least[i] = list(map(min, least[i], times))
    return least


def measured(args, folders, built):
    """Microseconds of each candidate: the least of several processes, as the memory that a process gets makes some candidates slower"""
    times = []
    for _ in range(args.processes):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            least = pool.apply(measure, (folders, [n for _, _, n in built], args.turns, args.turn_ms))
        times.append([sum(least[i][k] for k in mine) * 1e3 for i, (mine, _, _) in enumerate(built)])
    return [min(column) for column in zip(*times)]


def show_nest(args, name, nest, once, again):
    """the rank correlation of a nest"""
    schedules, folders, built = nest
    us, predicted = list(map(min, once, again)), [p for _, p, _ in built]
    equal = noise(once, again)
    ranks = correlation(us, predicted, equal)
    print(f"| {name} | {len(us)} | {min(us):.1f} | {max(us):.1f} | {equal * 100:.0f} % | {ranks:.3f} | {correlation(once, again, equal):.3f} |",
          flush=True)
    for a, b, p, f, schedule in sorted(zip(once, again, predicted, folders, schedules)) if args.list else []:
        print(f"    {a:8.1f} {b:8.1f} {p:8.1f} {f.name:>2} {schedule}")
    return ranks


def show_candidates(args):
    names = args.nests.split(",") if args.nests else NESTS
    nests = [build(args, name, BUILD / "bench/predict") for name in names]
    once, again = [[measured(args, folders, built) for _, folders, built in nests] for _ in range(2)]
    print("\n| nest | candidates | fastest us | slowest us | equal below | rank correlation | of two measurements |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    all_of = [show_nest(args, *rows) for rows in zip(names, nests, once, again)]
    print(f"\nmedian of the rank correlations: {statistics.median(all_of):.3f}, least: {min(all_of):.3f}")
    return min(all_of) >= RANKS


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--tgc", default=TGC)
    parse.add_argument("--isa", default="native")
    parse.add_argument("--machine", type=lambda m: [f"--machine={m}"], default=[], help="facts of this CPU, as devices --measure prints them")
    parse.add_argument("--seconds", default="5", help="to measure each network")
    parse.add_argument("--least", type=float, default=20, help="microseconds: shorter kernels do not count")
    parse.add_argument("--list", type=int, default=0, help="kernels of each network to list, the worst predicted first")
    parse.add_argument("--nests", help="candidates of these nests only, with commas between them")
    parse.add_argument("--processes", type=int, default=3, help="that measure the candidates of a nest, for each of two measurements")
    parse.add_argument("--turns", type=int, default=8, help="of each candidate in each of these processes")
    parse.add_argument("--turn-ms", type=float, default=5, help="milliseconds of a turn")
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
