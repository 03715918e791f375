#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles kernels of CUDA for the CPU: shim.py KERNELS.cu LIBRARY.so. The library is what the libcuda of tests/cuda-runtime runs.
Environment: CXX, BUILD."""
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
HEAD = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\(')
WAITS = re.compile(r"__syncthreads|__syncwarp|__shfl|tgc_wmma")


def kernels(text):
    """names, and whether the threads of a block wait for each other: the kernel, or a function before it that it calls"""
    begins = [m.start() for m in HEAD.finditer(text)] + [len(text)]
    helpers = {m[1] for m in re.finditer(r"^static [^\n]*?(\w+)\([^\n]*\) \{(?:.*?)^\}|^static [^\n]*?(\w+)\([^\n]*\) \{[^\n]*\}$",
                                         text[:begins[0]], re.M | re.S) if m[1] and WAITS.search(m[0])}
    rows = []
    for m, end in zip(HEAD.finditer(text), begins[1:]):
        body = text[m.start():end]
        rows.append((m[1], bool(WAITS.search(body)) or any(re.search(rf"\b{h}\(", body) for h in helpers)))
    return rows


def matrices(source):
    """what multiplies matrices in place of PTX, made from the rows of matrix units"""
    if "tgc_wmma" not in source.read_text():
        return ""
    tool = pathlib.Path(os.environ.get("BUILD", HERE.parent.parent / "build")) / "tests/device-programs/matrix_shim"
    return subprocess.run([tool], check=True, capture_output=True, text=True).stdout


def build(source, library, *flags):
    source, library = pathlib.Path(source), pathlib.Path(library)
    table = ", ".join(f"SHIM_KERNEL({name}, {int(waits)})" for name, waits in kernels(source.read_text()))
    text = f'#include "{HERE / "shim.h"}"\n{matrices(source)}#include "{source.resolve()}"\nSHIM_LIBRARY({table})\n'
    made = library.with_suffix(".cpp")
    made.write_text(text)
    cxx = os.environ.get("CXX", "g++").split()
    subprocess.run([*cxx, "-std=c++17", "-O2", "-w", "-fno-strict-aliasing", "-U_FORTIFY_SOURCE", "-fPIC", "-shared", *flags, "-o", str(library), str(made)],
                   check=True)
    return library


if __name__ == "__main__":
    build(*sys.argv[1:])
