#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles kernels in Metal Shading Language for the CPU: shim.py KERNELS.metal LIBRARY.so [FLAG...]. The library is what the Metal of
tests/metal-runtime/fake.c runs. Environment: CLANGXX (clang++)."""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEAD = re.compile(r"^kernel void (\w+)\(([^{]*)\)\s+\{", re.M)
WAITS = re.compile(r"threadgroup_barrier|simdgroup_barrier|simd_shuffle")
MOST = 31  # buffers of a kernel


class Wrong(Exception):
    pass


def kernels(text):
    """names of kernels, and whether their threads wait for each other; Wrong: parameters that Metal would not take"""
    heads = [m for m in HEAD.finditer(text) if m[1] != "TGC_TEXT"]
    ends = [m.start() for m in heads[1:]] + [len(text)]
    rows = []
    for m, end in zip(heads, ends):
        buffers = [int(n) for n in re.findall(r"\[\[buffer\((\d+)\)\]\]", m[2])]
        pointers = len(re.findall(r"\*", m[2]))
        if buffers != list(range(pointers)) or pointers > MOST:
            raise Wrong(f"{m[1]}: {pointers} pointers are the buffers {buffers}")
        rows.append((m[1], bool(WAITS.search(text[m.start():end]))))
    return rows


FLAGS = ["-x", "c++", "-std=c++14", "-fsigned-char", "-ffp-contract=off", "-fno-strict-aliasing", f"-I{HERE}", "-Wall", "-Wextra",
         "-Werror", "-Wno-unused", "-Wno-unused-parameter", "-Wno-psabi", "-Wno-sign-compare", "-Wno-shift-op-parentheses",
         "-Wno-parentheses", "-Wno-c++17-extensions", "-Wno-c++11-narrowing", "-Wno-unknown-pragmas", "-Wno-tautological-compare"]


def translate(text):
    """variables of threadgroups are static; and the table of kernels"""
    table = ", ".join(f"SHIM_KERNEL({name}, {int(waits)})" for name, waits in kernels(text))
    text = re.sub(r"^(\s+)threadgroup (\w+ \w+\[)", r"\1static threadgroup \2", text, flags=re.M)
    return f"{text}\n#ifdef TGC_TEXT\nSHIM_LIBRARY({table}, SHIM_KERNEL(TGC_TEXT, 0))\n#else\nSHIM_LIBRARY({table})\n#endif\n"


def build(source, library, *flags):
    source, library = pathlib.Path(source), pathlib.Path(library)
    made = library.with_suffix(".cpp")
    made.write_text(translate(source.read_text()))
    cxx = (os.environ.get("CLANGXX") or "clang++").split()
    subprocess.run([*cxx, *FLAGS, "-O1", "-U_FORTIFY_SOURCE", "-fPIC", "-shared", *flags, str(made), "-o", str(library)], check=True)


if __name__ == "__main__":
    build(*sys.argv[1:])
