#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which kernels are slower than what they do: slower.py [--tgc TGC] [--isa ISA] [--seconds S] MODEL... Of every kernel the
micro-ops of its program are counted, as predict.py counts them, and set against what `tgc profile` measures on one thread,
without tuned schedules. The median of measured by counted over all kernels is taken for the speed of this machine;
what a kernel takes beyond that, it waits for: memory, caches, registers that spill, or what the count does not know."""
import argparse
import json
import statistics
import subprocess

import predict


def counted(args, model):
    command = [args.tgc, "compile", model, "--isa", args.isa, "--schedule=none", "--no-tune-store", "-q", "--stop-after=programs"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [k.cycles() for k in predict.kernels(text.splitlines())]


def measured(args, model):
    command = [args.tgc, "profile", model, "--isa", args.isa, "--schedule=none", "--no-tune-store", "-q", "--threads=1", "--seconds", args.seconds, "--json"]
    kernels = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["kernels"]
    return sorted(kernels, key=lambda k: k["kernel"])


def ranks(values):
    order, place = sorted(range(len(values)), key=values.__getitem__), [0] * len(values)
    for at, i in enumerate(order):
        place[i] = at
    return place


def main():
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("--tgc", default="build/tgc")
    parse.add_argument("--isa", default="native")
    parse.add_argument("--seconds", default="1", help="to measure each model")
    parse.add_argument("--most", type=int, default=20, help="kernels to list")
    parse.add_argument("--least", type=float, default=5, help="microseconds: shorter kernels do not count")
    parse.add_argument("models", nargs="+")
    args = parse.parse_args()
    rows = []
    for model in args.models:
        cycles, kernels = counted(args, model), measured(args, model)
        if len(cycles) != len(kernels):
            raise SystemExit(f"{model}: {len(cycles)} programs, {len(kernels)} kernels measured")
        rows += [(model, k, k["ms"] * 1000, c) for k, c in zip(kernels, cycles) if k["ms"] * 1000 >= args.least and c]
    if len(rows) < 2:
        raise SystemExit("fewer than two kernels take that long")
    speed = statistics.median(us / c for _, _, us, c in rows)
    a, b = ranks([us for _, _, us, _ in rows]), ranks([c for _, _, _, c in rows])
    n = len(rows)
    order = 1 - 6 * sum((x - y) ** 2 for x, y in zip(a, b)) / (n * (n * n - 1))
    print(f"{n} kernels, {1 / speed:.0f} counted cycles a microsecond, correlation of ranks {order:.3f}")
    print("| model | kernel | us | counted, us | times | schedule |\n| --- | ---: | ---: | ---: | ---: | --- |")
    for model, k, us, c in sorted(rows, key=lambda r: r[3] * speed - r[2])[: args.most]:
        print(f"| {model} | {k['kernel']} | {us:.0f} | {c * speed:.0f} | {us / (c * speed):.2f} | {k['schedule'][:100]} |")


if __name__ == "__main__":
    main()
