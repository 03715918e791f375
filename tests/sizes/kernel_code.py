# SPDX-License-Identifier: MIT
"""Bytes of code of each kernel of a bundle, and how many times those of another bundle they are. A kernel counts with the functions
that it calls. Kernels of both bundles are matched by the nodes of the model that they compute (manifest.json). The bundles may
divide these nodes into kernels differently. So groups of kernels that do the same work are compared, and each kernel of both
bundles is in one group. A kernel also names the nodes whose results it reads. They do not count if an earlier kernel names
them."""
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


def own_nodes(nodes):
    """nodes: by call -> by call: those that no earlier call names; if there are none, such as in a second kernel of one node, all"""
    earlier, own = set(), []
    for now in nodes:
        own.append(now - earlier or now)
        earlier |= now
    return own


def kernels(bundle, code):
    """-> for each kernel that has a function: its name, its bytes, all nodes of the calls that run it, and their own nodes"""
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
    manifest = json.loads((bundle / "manifest.json").read_text())
    nodes = nodes_of_calls(manifest)
    own = own_nodes(nodes)
    runs = re.findall(r"^/\* kernel (\d+) runs k(\d+)_", (bundle / f"{manifest['name']}.c").read_text(), re.M)
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
        of = [number] + [int(call) for call, function in runs if int(function) == number]
        found.append((name, sum(size[f] for f in seen), *(set().union(*(every[i] for i in of)) for every in (nodes, own))))
    return found


def alike(a, b):
    """share of the nodes that both kernels have: of their own nodes, or else, as less, of all nodes"""
    return len(a[3] & b[3]) / (len(a[3] | b[3]) or 1) or 1e-3 * len(a[2] & b[2]) / (len(a[2] | b[2]) or 1)


def most_alike(kernel, others):
    return max(range(len(others)), key=lambda i: alike(kernel, others[i]))


def groups(mine, other):
    """-> pairs of lists of numbers: kernels of `mine`, and those of `other` that do the same work. A kernel of `mine` is with the
    one that is most alike. If none has its own nodes, as for a copy, it is with the reader that is most alike. A kernel of `other`
    that is left is with the kernel of `mine` that is most alike to it."""
    serves = [most_alike(k, other) for k in mine]
    for i in reversed(range(len(mine) - 1)):
        if not any(mine[i][3] & k[3] for k in other):
            serves[i] = serves[i + 1 + most_alike(mine[i], mine[i + 1:])]
    left = set(range(len(other))) - set(serves)
    head = {i: serves[most_alike(other[i], mine)] if i in left else i for i in range(len(other))}
    return [([k for k, to in enumerate(serves) if to == i], [j for j in head if head[j] == i]) for i in set(serves)]


def ratios(mine, others):
    """mine: kernels of a bundle for ranges; others: those of bundles for single sizes, each a list -> by kernel: the geometric mean of
    the ratios of its groups"""
    ratio = {name: [] for name, *_ in mine}
    for other in others:
        for own, to in groups(mine, other):
            times = sum(mine[k][1] for k in own) / sum(other[i][1] for i in to)
            for k in own:
                ratio[mine[k][0]].append(times)
    return {name: mean(r) for name, r in ratio.items()}


def greatest(mine, others):
    """-> the greatest ratio, and the kernel that has it"""
    by_kernel = ratios(mine, others)
    name = max(by_kernel, key=by_kernel.get)
    return by_kernel[name], name
