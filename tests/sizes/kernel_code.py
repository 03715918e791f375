# SPDX-License-Identifier: MIT
"""Bytes of code of each kernel of a bundle, and how many times those of another bundle they are. A kernel counts with the functions
that it calls. Kernels of both bundles are matched by the nodes of the model that they compute (manifest.json)."""
import json
import math
import re
import subprocess


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def lines_of(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout.splitlines()


def nodes_of_calls(manifest):
    """by call: the nodes of its kernel. Names of functions have numbers of calls. The manifest has each kernel of a loop once, with the
    number of iterations that run it. A kernel that runs once is for the first iteration, and another one replaces it later."""
    nodes, loop = [], []
    for k in [*manifest["kernels"], {"nodes": []}]:
        if "trips" in k:
            loop.append((k["trips"], set(k["nodes"])))
            continue
        every = max((trips for trips, _ in loop), default=0)
        once = sum(trips == 1 for trips, _ in loop)
        first = [n for _, n in loop[:len(loop) - once]]
        nodes += first + [n for trips, n in loop if trips > 1] * (every - 1)
        loop = []
        nodes.append(set(k["nodes"]))
    return nodes


def kernels(bundle, code):
    """-> for each kernel that has a function: its name, its bytes, its nodes"""
    size, calls, at = {}, {}, None
    for line in lines_of("nm", "-S", code):
        words = line.split()
        if len(words) == 4 and words[2] in "tT":
            size[words[3]] = int(words[1], 16)
    for line in lines_of("objdump", "-d", "--no-show-raw-insn", code):
        if begins := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            at = begins[1]
        elif to := re.search(r"\b(?:call|jmp|bl|b)q?\s+[0-9a-f]+ <([^>+]+)>", line):
            calls.setdefault(at, set()).add(to[1])
    nodes = nodes_of_calls(json.loads((bundle / "manifest.json").read_text()))
    parts = {}
    for name in size:
        if number := re.match(r"k(\d+)_", name):
            parts.setdefault(int(number[1]), []).append(name)
    found = []
    for number, todo in sorted(parts.items()):
        name, seen = min(todo, key=len).split(".")[0], set(todo)
        while todo:
            new = {f for f in calls.get(todo.pop(), ()) if f in size} - seen
            seen |= new
            todo += new
        found.append((name, sum(size[f] for f in seen), nodes[number]))
    return found


def alike(a, b):
    return len(a[2] & b[2]) / len(a[2] | b[2])


def ratios(mine, others):
    """mine: kernels of a bundle for ranges; others: those of bundles for single sizes, each a list -> by kernel: the geometric mean of
    its ratios. Kernels of `mine` that do the work of one other kernel count together."""
    ratio = {name: [] for name, *_ in mine}
    for other in others:
        serves = [max(range(len(other)), key=lambda i: alike(k, other[i])) for k in mine]
        for (name, *_), to in zip(mine, serves):
            ratio[name].append(sum(k[1] for k, i in zip(mine, serves) if i == to) / other[to][1])
    return {name: mean(r) for name, r in ratio.items()}


def greatest(mine, others):
    """-> the greatest ratio, and the kernel that has it"""
    by_kernel = ratios(mine, others)
    name = max(by_kernel, key=by_kernel.get)
    return by_kernel[name], name
