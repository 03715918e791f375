#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random graphs (compose.py), many of them: each goes through two machines and both backends in one process (tests/case): bounds, programs
in the interpreter, code by LLVM between guard pages; every tenth by the C compiler as well. The graph interpreter's results are
held against ONNX Runtime's where this Python has it: `make fuzz GRAPHS=10000 SEED=0`. With --on=devices or --on=programs, they go
through bundles for OpenCL, or through the interpreter of threads.

A graph that fails is cut down as long as it fails in the same way, and left in FOLDER. Ends with counts; exit status 1 if
any failed."""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compose  # noqa: E402
import onnxfile  # noqa: E402
import runner  # noqa: E402
from graph import packed  # noqa: E402

BATCH = 50  # graphs of one process
ON = {"cpus": runner.MACHINES, "devices": runner.DEVICES, "programs": runner.PROGRAMS}


def composed(seed):
    """two of three without jumps, where a rounding may give another result that is right as well"""
    return compose.compose(seed, smooth=seed % 3 != 0)


def flags_of(seed, g):
    return "l" + ("c" if seed % 10 == 0 else "") + ("j" if seed % 3 == 0 else "")


def put(g, seed, folder):
    """the model and its inputs as files -> what run takes"""
    model = folder / f"{seed}.onnx"
    model.write_bytes(g.onnx())
    inputs = []
    for i, name in enumerate(g.inputs):
        path = folder / f"{seed}.{i}.pb"
        if name in g.data:
            dt, shape, data = g.data[name]
            path.write_bytes(onnxfile.tensor(name, dt, shape, packed(dt, data)))
        inputs.append(path if name in g.data else "-")
    return model, inputs


def kind_of(why):
    """a failure without its numbers"""
    return re.sub(r"[0-9]+|%\d+|'[^']*'", "#", why)[:120]


def look(g, seed, folder, isa, flags):
    """-> the first failure of one graph, or None"""
    model, inputs = put(g, seed, folder)
    prefix = folder / f"{seed}"
    o = runner.run([(model, flags, prefix, inputs)], isa)[0]
    if o.failed:
        return o.failed[0]
    return runner.against_ort(str(model), prefix)[0] or None if runner.ort and not o.refused else None


def shrink(g, seed, folder, isa, flags, why, seconds=40):
    """a part of the graph that fails in the same way; inner values that become inputs are drawn"""
    end, kind = time.monotonic() + seconds, kind_of(why)
    flags = flags.replace("c", "") if " c: " not in why else flags

    def attempt(inputs, outputs):
        nonlocal g, why
        if time.monotonic() > end:
            return False
        smaller = g.cut(inputs, outputs)
        if not smaller.nodes or not smaller.inputs:
            return False
        failed = look(smaller, seed, folder, isa, flags)
        if not failed or kind_of(failed) != kind:
            return False
        g, why = smaller, failed
        return True

    for o in [o for n in g.nodes for o in n.outs if o]:  # the first value that shows it
        if attempt(g.inputs, [o]):
            break
    again = True
    while again and time.monotonic() < end:
        again = False
        for n in reversed(g.nodes):
            if set(n.outs) & set(g.outputs):
                continue
            if attempt([*g.inputs, *[o for o in n.outs if o]], g.outputs):
                again = True
                break
    return g, why


def examine(batch, args):
    """-> counts, failures (seed, machines, words, graph), seeds of graphs with clamped accesses"""
    folder = args.folder / f"batch-{batch}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    seeds = range(batch * BATCH + args.seed, min((batch + 1) * BATCH, args.graphs) + args.seed)
    isa = args.machines[batch % len(args.machines)]
    graphs, jobs = {}, []
    for seed in seeds:
        # the inputs of models.c have zeros, which divide: beside a jump that may give another result that is right as well
        graphs[seed] = compose.compose(seed, smooth=True) if isa in runner.PROGRAMS else composed(seed)
        model, inputs = put(graphs[seed], seed, folder)
        jobs.append((model, flags_of(seed, graphs[seed]), folder / f"{seed}", inputs))
    counts, failures, clamped = collections.Counter(graphs=len(seeds)), [], []
    for seed, job, o in zip(seeds, jobs, runner.run(jobs, isa)):
        counts.update(dict(zip(runner.COUNTS, o.counts)))
        if o.counts[runner.COUNTS.index("clamped")]:
            clamped.append(seed)
        why = o.failed[0] if o.failed else ""
        if not why and o.refused:
            why = "" if o.refused.startswith("69") else f"refused: {o.refused}"
        if not why and runner.ort:
            why, taken = runner.against_ort(str(job[0]), job[2])
            counts["ONNX Runtime"] += taken
        if why:
            g = graphs[seed]
            if not args.whole:
                g, why = shrink(g, seed, folder, isa, job[1], why)
            kept = args.folder / f"{seed}.onnx"
            kept.write_bytes(g.onnx())
            failures.append((seed, isa, why, g.text(), str(kept)))
    shutil.rmtree(folder, ignore_errors=True)
    return counts, failures, clamped


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--graphs", type=int, default=500)
    p.add_argument("--seed", type=int, default=0, help="of the first graph")
    p.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/fuzz"))
    p.add_argument("--on", choices=list(ON), default="cpus", help="devices: bundles for OpenCL on PoCL. programs: what their threads do, "
                   "in the interpreter, which reports races")
    p.add_argument("--whole", action="store_true", help="do not cut what fails")
    p.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS") or os.cpu_count()))
    args = p.parse_args()
    args.machines = ON[args.on]
    args.folder = args.folder.resolve()
    args.folder.mkdir(parents=True, exist_ok=True)
    if not runner.ort:
        print(f"# without ONNX Runtime: {runner.MISSING}")
    total, bad, start = collections.Counter(), 0, time.monotonic()
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        batches = range((args.graphs + BATCH - 1) // BATCH)
        for job in concurrent.futures.as_completed([pool.submit(examine, b, args) for b in batches]):
            try:
                counts, failures, clamped = job.result()
            except runner.NoDevice as e:
                print(f"# not run: {e}")
                return 0
            total += counts
            for seed in clamped:
                print(f"# graph {seed} has accesses that neither method proves, and that are clamped", flush=True)
            for seed, isa, why, text, path in failures:
                bad += 1
                print(f"FAIL seed {seed} on {isa}: {why}\n  {path}\n  " + text.replace("\n", "\n  ") + "\n", flush=True)
    words = ", ".join(f"{n} {k}" for k, n in total.items() if k != "graphs")
    print(f"{total['graphs']} graphs in {time.monotonic() - start:.0f} s, {bad} failures: {words}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
