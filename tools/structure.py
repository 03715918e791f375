#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the tables at the end of docs/hacking.md: what the source looks like as it is linked, and what its passes need and
give. With --check it says whether the page is current, and fails for cycles and for operands read by number that are not listed
here. Prints TAP then.

Arrows are those of the linked program: one file uses a symbol that another defines. `nm` says so of the objects in $BUILD, so
the program must be built. Lengths are lines of source, rounded, so that the page changes when the structure does."""
import collections
import os
import pathlib
import re
import statistics
import subprocess
import sys

from page import ROOT, Page

BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build"))
TOPS = ("frontends", "compiler", "backends", "runtime_stub", "cmd", "libtgc")
MOST = 3  # files of a cycle

# Cycles of files that are allowed, each with its reason. A cycle of some of the files of a row is allowed, too.
CYCLES = [
    ("support: arena file support", "memory fails by messages, and messages are memory"),
    ("ir: parse parse_graph", "one reader: lines of graphs ask for operands, and the reader of lines asks for them"),
    ("frontends: sized_fit sized_joined", "extents of reshapes follow from those of other nodes, which follow from theirs"),
    ("cmd/lib: model resume", "a dump records the options that a compilation follows, and going on from it is a compilation"),
]

# Operands that are read by number, src[0]: how many of a file, and why. Elsewhere they are read by name (ir.h, accessors.h).
ANY_OP = "the node may be of any op here"
BY_NUMBER = {
    "backends/exprs.c": (1, ANY_OP),
    "backends/llvm_exprs.c": (1, ANY_OP),
    "compiler/graph/grow.c": (2, ANY_OP),
    "compiler/graph/integer.c": (4, "sums, products and pads alike; before the op is looked at"),
    "compiler/graph/padding_split.c": (1, ANY_OP),
    "compiler/graph/power.c": (2, "sums, quotients and pads alike"),
    "compiler/graph/promote_half.c": (1, ANY_OP),
    "compiler/graph/quantize_weights.c": (4, "arithmetic and movement alike"),
    "compiler/graph/scale.c": (2, "arithmetic and movement alike"),
    "compiler/graph/variance.c": (9, "functions of one and of two operands alike, and all movement"),
    "compiler/interp/eval_storage.c": (1, ANY_OP),
    "compiler/interp/tape.c": (1, ANY_OP),
    "compiler/interp/tape_run.c": (7, "registers of tapes"),
    "compiler/ir/ir_verify.c": (2, ANY_OP),
    "compiler/ir/node.c": (3, ANY_OP),
    "compiler/ir/print.c": (2, ANY_OP),
    "compiler/ir/verify_graph.c": (1, ANY_OP),
    "compiler/ir/view.c": (1, "views, and what lies between them"),
    "compiler/lower/bounds.c": (1, "tiles and buffers alike"),
    "compiler/lower/bounds_spans.c": (1, "comparisons and casts alike"),
    "compiler/lower/legalize.c": (2, ANY_OP),
    "compiler/nest/canon.c": (1, ANY_OP),
    "compiler/nest/nest.c": (1, "nests and reductions alike"),
    "compiler/nest/work.c": (1, ANY_OP),
    "compiler/schedule/kernelize.c": (1, ANY_OP),
    "compiler/schedule/layout_pbqp.c": (2, ANY_OP),
    "compiler/schedule/layout_seed.c": (1, ANY_OP),
}


# ---- the source ----
def sources():
    return sorted(p for top in TOPS for p in (ROOT / top).rglob("*.[ch]") if "probe" not in p.parts)


def folder(path):
    """of a file, relative to the root"""
    return str(pathlib.PurePath(path).parent)


def short(name):
    """compiler/ir -> ir"""
    return name.removeprefix("compiler/")


def functions(path):
    """-> (lines, name) of each function that a file defines: from its first line at the margin to the brace there"""
    start = head = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line == "}" and start is not None and "(" in head:
            name = re.search(r"(\w+)\(", head.split("__attribute__")[0] if "(" in head.split("__attribute__")[0] else head)
            yield number - start + 1, name[1]
            start = None
        elif line[:1].isalpha() or line[:1] == "_":
            if line.rstrip().endswith((";", "}")):
                start = None
            elif start is None or not head.rstrip().endswith(","):
                start, head = number, line
            else:
                head += line


def head_comment(path):
    """-> the paragraphs of the comment that a file opens with"""
    text = path.read_text()
    text = re.sub(r"^/\* SPDX[^\n]*\n", "", text)
    if not text.startswith("/*"):
        return []
    lines = [line.removeprefix(" *").strip() for line in text[2 : text.index("*/")].splitlines()]
    return [re.sub(r"\s+", " ", p) for p in "\n".join(lines).split("\n\n")]


def contract(path):
    """-> {needs, gives, keeps, breaks} as a paragraph of the head of a file says them"""
    told = next((p for p in head_comment(path) if re.search(r"\bneeds: ", p)), "")
    parts = re.split(r"\s*\b(needs|gives|keeps|breaks):\s*", told)
    return dict(zip(parts[1::2], (p.strip() for p in parts[2::2])))


def macro_rows(path, name):
    """-> the arguments of each NAME(...) row of a table; strings without quotes, adjacent ones joined"""
    if not path or not path.exists():
        return
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    for m in re.finditer(rf"^{name}\(", text, re.M):
        args, now, depth, at = [], "", 0, m.end()
        while True:
            if text[at] == '"':
                end = re.compile(r'"((?:\\.|[^"\\])*)"').match(text, at)
                now, at = now + end[1].replace('\\"', '"'), end.end()
                continue
            c = text[at]
            at += 1
            depth += (c in "({[") - (c in ")}]")
            if depth < 0:
                break
            if c == "," and not depth:
                args.append(now.strip())
                now = ""
            else:
                now += c if c != "\n" else " "
        yield args + [now.strip()]


def find(name):
    return next((p for p in sorted((ROOT / "compiler").rglob(name))), None)


# ---- the linked program ----
def links():
    """-> {file: {other file: {symbols that it uses there}}}, files without their suffix"""
    objects = [o for p in sources() if p.suffix == ".c" and (o := BUILD / p.relative_to(ROOT).with_suffix(".o")).exists()]
    if not any("cmd" in o.parts for o in objects):
        sys.exit(f"tools/structure.py: no objects in {BUILD}; make builds them")
    text = subprocess.run(["nm", "-A", "-P", *map(str, objects)], check=True, stdout=subprocess.PIPE, text=True).stdout
    home, uses = {}, collections.defaultdict(set)
    for line in text.splitlines():
        name, rest = line.split(": ", 1)
        file, (symbol, kind) = str(pathlib.Path(name).relative_to(BUILD).with_suffix("")), rest.split()[:2]
        if kind == "U":
            uses[file].add(symbol)
        elif kind.isupper():
            home[symbol] = file
    graph = {str(o.relative_to(BUILD).with_suffix("")): collections.defaultdict(set) for o in objects}
    for file, symbols in uses.items():
        for symbol in symbols:
            if home.get(symbol, file) != file:
                graph[file][home[symbol]].add(symbol)
    return graph


def cycles(graph):
    """-> strongly connected components of more than one node, by Tarjan's method without recursion"""
    index, low, stack, found = {}, {}, [], []
    for root in sorted(graph):
        work = [(root, iter(sorted(graph[root])))] if root not in index else []
        while work:
            node, rest = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
            for to in rest:
                if to not in index:
                    work.append((to, iter(sorted(graph.get(to, ())))))
                    break
                if to in stack:
                    low[node] = min(low[node], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    if len(stack) - at > 1:
                        found.append(sorted(stack[at:]))
                    del stack[at:]
    return sorted(found)


def folder_graph(graph):
    out = collections.defaultdict(set)
    for file, others in graph.items():
        out[folder(file)] |= {folder(o) for o in others} - {folder(file)}
    return out


def cycle_text(files):
    return f"{short(folder(files[0]))}: {' '.join(pathlib.PurePath(f).name for f in files)}"


def reason_for(cycle, rows):
    where, names = cycle_text(cycle).split(": ")
    for text, why in rows:
        place, allowed = text.split(": ")
        if place == where and set(names.split()) <= set(allowed.split()):
            return why
    return None


# ---- tables ----
def table(head, rows):
    cells = lambda row: "| " + " | ".join(str(c).replace("|", "\\|") for c in row) + " |\n"  # noqa: E731
    return cells(head) + "|" + "---|" * len(head) + "\n" + "".join(cells(row) for row in rows)


def about(n, step):
    return n // step * step


def folders_part(graph):
    arrows, rows, groups = folder_graph(graph), [], collections.defaultdict(list)
    for path in sources():
        groups[folder(path.relative_to(ROOT))].append(path)
    order, left = [], set(groups)  # a folder after those that it uses
    while left:
        ready = sorted(f for f in left if not (arrows[f] & left)) or sorted(left)
        order += ready
        left -= set(ready)
    for name in order:
        lines = {p: len(p.read_text().splitlines()) for p in groups[name] if p.suffix == ".c"}
        most = max(lines, key=lambda p: (lines[p], p.name), default=None)
        rows.append((f"`{name}`", len(groups[name]), most and f"`{most.name}`, {about(lines[most], 10)} lines",
                     " ".join(short(f) for f in order if f in arrows[name]) or "none"))
    return "### Folders\n\nA folder stands below those that it uses, as symbols of the linked program say it; there is no cycle of folders.\n\n" \
        + table(("folder", "files", "longest source", "uses"), rows)


def cycles_part(graph):
    rows = [(cycle_text(c), reason_for(c, CYCLES)) for c in cycles(graph)]
    return "### Files that use each other\n\nA new cycle of files fails `make check`, and so does one of more than three.\n\n" + table(("files", "why"), rows)


def lengths_part():
    found = sorted(((n, name, p.relative_to(ROOT)) for p in sources() if p.suffix == ".c" for n, name in functions(p)),
                   key=lambda f: (-about(f[0], 10), f[1]))
    sizes = sorted(f[0] for f in found)
    text = f"Half of all functions have at most {statistics.median_low(sizes)} lines, nine in ten at most {about(sizes[len(sizes) * 9 // 10], 2)}. The longest:\n\n"
    return "### Longest functions\n\n" + text + table(("function", "file", "lines, rounded down to tens"), [(f"`{name}`", f"`{p}`", about(n, 10)) for n, name, p in found[:8]])


def ops_part():
    names = [row[0] for row in macro_rows(find("ops.h"), "OP")]
    places = {name: set() for name in names}
    for path in sources():
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
        text = re.sub(r"^[A-Z]+\(.*$", "", text, flags=re.M) if path.suffix == ".h" else text  # rows of tables
        text = re.sub(r"\[OP_\w+\] *=", "", text)  # cells of tables
        for name in set(re.findall(r"\bOP_(\w+)\b", text)):
            if name in places:
                places[name].add(path)
    by = collections.defaultdict(list)
    for name in names:
        by[len(places[name])].append(name.lower())
    return "### Ops and places\n\nIn how many files an op is named outside of tables.\n\n" + table(
        ("files", "ops"), [(n, " ".join(f"`{o}`" for o in by[n])) for n in sorted(by)])


# Files of passes that are not named after their pass
PASS_FILES = {"kernels": "schedule/kernelize.c", "groups": "group.c", "programs": "linearize.c",
              "render": "kernel_functions.c"}
PROMISES = ("needs", "gives", "keeps", "breaks")


def passes():
    """-> (letter, name, file) of each pass"""
    for row in macro_rows(ROOT / "compiler/passes.h", "PASS"):
        name = PASS_FILES.get(row[1], row[1] + ".c")
        at = [p for p in sources() if str(p).endswith("/" + name) and "compiler" in p.parts and p.suffix == ".c"]
        yield row[0].strip("'"), row[1], min(at, key=lambda p: "needs" not in contract(p), default=None)


def promises(path):
    told = contract(path) if path else {}
    return [told.get(k, "") for k in PROMISES]


def passes_part():
    all = list(passes())
    rows = [(f"`{letter}`", f"`{name}`", f"`{short(str(p.relative_to(ROOT)))}`" if p else "", *promises(p)) for letter, name, p in all]
    text = "### Passes, steps and what files promise\n\nPasses, in order:\n\n" + table(("letter", "pass", "file", *PROMISES), rows)
    steps = list(macro_rows(find("steps.h"), "STEP"))
    if steps:
        text += "\nSteps of a kernel, in order:\n\n" + table(("letter", "step", "scope", "targets", "needs", "gives"), [
            (f"`{r[0].strip(chr(39))}`", f"`{r[1]}`", r[2].lower(), r[3], r[5], r[6]) for r in steps])
    rows = []
    for path in sources():
        if path.suffix == ".c" and contract(path) and path not in [p for _, _, p in all]:
            rows.append((f"`{short(str(path.relative_to(ROOT)))}`", *promises(path)))
    return text + "\nOther files say it on top as well:\n\n" + table(("file", *PROMISES), rows)


def tunables_part():
    rows = list(macro_rows(find("tunables.h"), "TUNABLE"))
    if not rows:
        return ""
    return "### Tunables\n\nThresholds, limits and budgets; `--tunable NAME=VALUE` sets one.\n\n" + table(
        ("name", "default", "from", "to", "unit", "reason"), [(f"`{r[1]}`", *r[2:5], r[5], r[6]) for r in rows])


def page(graph):
    parts = [folders_part(graph), cycles_part(graph), lengths_part(), ops_part(), passes_part(), tunables_part()]
    return "\n## The source in tables\n\n" + "\n".join(p for p in parts if p)


# ---- checks ----
def without_contract():
    """passes whose file does not say what it needs, and folders of which none does"""
    wanted = ["graph", "schedule", "nest", "opt", "group", "lower", "bundle", "tune", "interp", "ir"]
    told = {short(folder(p.relative_to(ROOT))) for p in sources() if p.suffix == ".c" and "needs" in contract(p)}
    return [f for f in wanted if f not in told] + [name for _, name, p in passes() if not p or "needs" not in contract(p)]


def operands_by_number():
    """files that read more operands by number than BY_NUMBER says, or fewer"""
    found = {str(p.relative_to(ROOT)): len(re.findall(r"->src\[\d+\]", re.sub(r"/\*.*?\*/", "", p.read_text(), flags=re.S)))
             for p in sources()}
    listed = {f: n for f, (n, _) in BY_NUMBER.items()}
    return [f"{f}: {found.get(f, 0)} operands by number, {listed.get(f, 0)} are listed" for f in sorted({*found, *listed})
            if found.get(f, 0) != listed.get(f, 0)]


def main():
    graph, there = links(), Page("hacking.md", "from here on written by tools/structure.py")
    new, old = page(graph), there.old
    if there.write(new):
        return 0
    found = cycles(graph)
    large = [c for c in found if len(c) > MOST]
    strange = [c for c in found if len(c) <= MOST and not reason_for(c, CYCLES)]
    unused = [text for text, _ in CYCLES if not any(reason_for(c, [(text, "there")]) for c in found)]
    arrows = folder_graph(graph)
    checks = [
        ("no folders use each other in the linked program", [" ".join(c) for c in cycles(arrows)]),
        (f"no more than {MOST} files use each other", [cycle_text(c) for c in large]),
        ("files that use each other are listed with a reason", [cycle_text(c) for c in strange]),
        ("each listed cycle is there", unused),
        ("files of each folder of passes say what they need", without_contract()),
        ("operands are read by name, except where BY_NUMBER lists them", operands_by_number()),
        ("the tables of docs/hacking.md are current (tools/structure.py writes them)",
         [line for line in new.splitlines() if line not in old.splitlines()] or (["something is gone"] if new != old else [])),
    ]
    for number, (name, wrong) in enumerate(checks, 1):
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}")
        for line in wrong[:12]:
            print(f"# {line}")
        if wrong and "use each other" in name:
            for cycle in large + strange:
                for a in cycle:
                    for b in cycle:
                        if graph[a][b]:
                            print(f"# {a} -> {b}: {' '.join(sorted(graph[a][b])[:6])}")
    print(f"1..{len(checks)}")
    return any(wrong for _, wrong in checks)


if __name__ == "__main__":
    sys.exit(main())
