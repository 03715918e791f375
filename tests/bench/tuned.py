#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what `tgc tune` gains on the networks of bench.py, and says whether it keeps what docs/tuning.md promises. Arguments are
words a network's name must contain one of.

Each network is tuned, unless its lock file of an earlier call still fits. Then its bundle and the one without schedules run in
PAIRS pairs of processes, side by side in blocks of 30 ms (`tgc bench --vs-untuned --pairs`). The gain of a pair is the ratio of both
medians. The interval is Student's for the logarithms of the gains: 90 % of such intervals have the true mean. If no schedule was
kept, both bundles have the same code and weights, and the gain is 1. A run of less than 0.2 ms gets four times as many pairs,
each for a quarter of the time, because processes differ by more than runs.
Environment: as bench.py, and
  TUNE      how long each network is tuned (60s)
  PAIRS     pairs of processes (10), each for SECONDS (0.3)
  THREADS   threads (1)"""
import json
import os
import subprocess
import sys

import bench

TUNE, PAIRS = os.environ.get("TUNE", "60s"), int(os.environ.get("PAIRS", 10))
SECONDS, THREADS = os.environ.get("SECONDS", "0.3"), os.environ.get("THREADS", "1")
MEAN_ASKED, LOW_ASKED = 1.04, 0.99
SHORT = 0.2  # ms of a run
HEADS = ["model", "untuned ms", "tuned ms", "gain", "low", "high", "changed"]


def changed(lock, name, model):
    """how many schedules of kernels differ from those of the compiler's own model"""
    def of(*args):
        report = json.loads(bench.run(bench.TGC, "inspect", model, "--json", "-q", *args, *bench.compiled(name)))
        return {n["key"]: n["opts"] for k in report["kernels"] for n in k["nests"]}
    tuned, plain = of(*lock), of(*bench.UNTUNED, *bench.machine_of_locks())
    return sum(tuned[key] != plain.get(key) for key in tuned)


def measure(name, model, args):
    """-> cells, the interval and the mean"""
    lock = bench.lock_of(name, model, TUNE) or bench.UNTUNED

    def pairs(count, seconds):
        return json.loads(bench.run(bench.TGC, "bench", model, "--json", "-q", "--vs-untuned", f"--pairs={count}",
                                    f"--seconds={seconds}", f"--threads={THREADS}",
                                    f"--tunable=bench_window={2 * float(seconds)}", *args, *lock, *bench.MORE))
    short = pairs(1, 0.03)["latency"]["median_ms"] < SHORT
    r = pairs(PAIRS * 4, float(SECONDS) / 4) if short else pairs(PAIRS, SECONDS)
    p = {"gain": 1, "low": 1, "high": 1} if r["same"] else r["pairs"]
    untuned, tuned = bench.digits(r["untuned"]["latency"]["median_ms"]), bench.digits(r["latency"]["median_ms"])
    return [name, untuned + "*" * r["disturbed"], tuned, *(f"{p[k]:.3f}" for k in ("gain", "low", "high")), str(changed(lock, name, model))], p


def verdict(rows):
    """the last line: what was asked and what was seen"""
    mean = bench.mean([p["gain"] for p in rows.values()])
    worse = [name for name, p in rows.items() if p["low"] < LOW_ASKED]
    met = mean >= MEAN_ASKED and not worse
    print(f"result: {'met' if met else 'NOT met'}; geometric mean {mean:.3f} of {len(rows)} networks, asked {MEAN_ASKED}; lower end below {LOW_ASKED}: "
          f"{', '.join(worse) or 'none'}")
    return met


def main():
    can_make, rows, table, failed = bench.can_import("onnx", "numpy"), {}, None, 0
    bench.measure_machine()
    for case in bench.networks(bench.LIGHTS + bench.BUILT + bench.REAL, sys.argv[1:], can_make):
        table = table or bench.Table(HEADS)
        try:
            cells, rows[case[0]] = measure(*case)
            table.add(cells)
        except (subprocess.CalledProcessError, OSError, ValueError) as e:
            bench.loud(f"FAILED: {case[0]}: {e}")
            failed += 1
    return 1 if not rows or failed or not verdict(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
