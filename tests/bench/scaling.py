#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What two threads gain, and what the machine itself gives (`make scaling`): scaling.py [OPTION...] [NETWORK...].

Each network of bench.py that is named runs on one thread, on two threads that share it, and twice side by side on one thread
each, all in turn (scaling.c). Two runs side by side would take the time of one if the cores shared nothing; what they gain is the
most that two threads can be asked to gain. A guest's two cores may share a third-level cache or share none, and the host changes
this within seconds. So each round also times a cache line from one core to the other and back. Rounds in which this changes do
not count. The others are `near` below 200 ns and `far` above.

What other processes took meanwhile is printed; a table with more than a tenth of a CPU says little.

It fails if two threads gain less than 1.8 in a network above 10 ms where the machine gives 1.9 or more, in near rounds. TGC,
BUILD, CC, TGC_PYTHON, TGC_MODELS and TGC_ONNX_TESTS are as in bench.py."""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import bench  # noqa: E402
from fixtures import ROOT, TGC  # noqa: E402

NETWORKS = "inception_v2 densenet121 resnet18 resnet50 vgg19".split()
NEAR_NS, LONG_US, GAIN, MACHINE = 200, 10000, 1.8, 1.9
WORK = bench.WORK / "scaling"
CC = os.environ.get("CC", "cc").split()


def run(*args):
    subprocess.run([str(a) for a in args], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def built(name, model, more):
    """the folder of a bundle with a shared library"""
    folder = WORK / name
    shutil.rmtree(folder, ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    run(TGC, "compile", model, "-q", "--name=net", *bench.UNTUNED, *bench.compiled(name), "-o", folder, *more)
    run("make", "-s", "-C", folder, "build/libnet.a", "CFLAGS=-O3 -fPIC")
    whole = ["-Wl,--whole-archive", folder / "build/libnet.a", "-Wl,--no-whole-archive"]
    run(*CC, "-shared", "-o", folder / "net.so", *whole, "-lm", "-pthread")
    return folder


def driver():
    stub = ROOT / "runtime_stub"
    run(*CC, "-O2", "-I", stub, "-o", WORK / "driver", HERE / "scaling.c", stub / "tgcrt_pool.c", "-pthread", "-ldl")


def busy():
    """seconds that all CPUs worked, and that this process and its children did"""
    user, nice, system = map(int, pathlib.Path("/proc/stat").read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK"), sum(os.times()[:4])


def rounds(program, seconds, folders):
    """by folder and place: rounds of microseconds on one thread, on two, and side by side; CPUs that other processes took"""
    of, began, (all_then, own_then) = {}, time.monotonic(), busy()
    out = subprocess.run([str(a) for a in (program, seconds, *folders)], check=True, stdout=subprocess.PIPE, text=True).stdout
    all_now, own_now = busy()
    foreign = max(0, (all_now - all_then) - (own_now - own_then)) / (time.monotonic() - began)
    for line in out.splitlines():
        number, least, most, *times = line.split()
        if (float(least) < NEAR_NS) == (float(most) < NEAR_NS):
            of.setdefault((int(number), "near" if float(most) < NEAR_NS else "far"), []).append([float(t) for t in times])
    return of, foreign


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--seconds", default=30, help="for all networks together")
    parse.add_argument("--build", action="store_true", help="build only, for a run with --built")
    parse.add_argument("--built", action="store_true", help="take what was built before")
    parse.add_argument("--tgc", action="append", default=[], help="an argument more for tgc compile")
    parse.add_argument("networks", nargs="*", default=NETWORKS)
    args = parse.parse_args()
    if args.built:
        folders = [WORK / n for n in args.networks]
    else:
        folders = [built(n, model, args.tgc) for n, model, _ in bench.networks(args.networks, [], True)]
        driver()
    if args.build:
        return 0
    of, foreign = rounds(WORK / "driver", args.seconds, folders)
    print("| network | cores | rounds | 1T ms | 2T ms | two threads gain | side by side gains |\n"
          "| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    good = True
    for (number, place), times in sorted(of.items(), key=lambda r: (r[0][0], -len(r[0][1]))):
        one, two, beside = (statistics.median(column) for column in zip(*times))
        good &= place == "far" or one < LONG_US or one / two >= GAIN or 2 * one / beside < MACHINE
        print(f"| {folders[number].name} | {place} | {len(times)} | {one / 1e3:.2f} | {two / 1e3:.2f} | {one / two:.2f} "
              f"| {2 * one / beside:.2f} |", flush=True)
    print(f"\nother processes: {foreign:.2f} CPUs")
    return not good


if __name__ == "__main__":
    sys.exit(main())
