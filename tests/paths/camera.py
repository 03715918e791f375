#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The path of a robotics engineer: openpilot's driver monitoring model from NV12 frames of a camera, without conversion by hand.
Starts in an empty folder and ends with numbers: equal outputs, kernels, times. Prints TAP. Environment: TGC, CC, TGC_MODELS."""
import json
import os
import pathlib
import shlex
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from fixtures import MODELS, TGC
from steps import finish, result, run  # noqa: E402

MODEL = MODELS.resolve() / "openpilot-dmonitoring/model.onnx"
BUNDLES = {"plain": "", "camera": "nv12,yuv6,mean=128,std=128", "warped": "nv12,yuv6,warp,size=1152x864,mean=128,std=128"}
OFF, TIME, TIME_WARPED = 1e-4, 1.05, 1.25

if not MODEL.exists():
    print(f"ok 1 - driver monitoring from a camera # SKIP no {MODEL.name} of openpilot-dmonitoring (TGC_MODELS)\n1..1")
    sys.exit(0)
with tempfile.TemporaryDirectory() as scratch:
    folder, kernels, link = pathlib.Path(scratch), {}, []
    for name, form in BUNDLES.items():
        more = [f"--convert=input_img={form}"] if form else []
        run(folder, TGC, "compile", MODEL, *more, "-o", name, f"--name={name}", "--isa=native", "--embed-weights", "-q")
        run(folder, "make", "-s", "-C", name, f"build/lib{name}.a")
        kernels[name] = len(json.loads((folder / name / "manifest.json").read_text())["kernels"])
        link += [f"-I{name}", f"{name}/build/lib{name}.a"]
    run(folder, *shlex.split(os.environ.get("CC", "cc")), "-O2", "-Wall", HERE / "camera.c", *link, "-o", "drive", "-lm", "-pthread")
    off, off_warped, plain, camera, warped = map(float, run(folder, folder / "drive").split())
print(f"# number: {plain:.2f} ms on floats, {camera:.2f} ms from NV12, {warped:.2f} ms from NV12 with a warp")
print(f"# number: {kernels['plain']} kernels on floats, {kernels['camera']} from NV12, {kernels['warped']} with a warp")
result(off <= OFF, f"outputs from NV12 equal those from floats: off by {off:.1e} at most")
result(off_warped <= OFF, f"outputs from warped NV12 equal those from floats: off by {off_warped:.1e} at most")
result(camera <= TIME * plain, f"NV12 takes {camera / plain:.3f} of the time on floats, at most {TIME}")
result(warped <= TIME_WARPED * plain, f"NV12 with a warp takes {warped / plain:.3f} of the time on floats, at most {TIME_WARPED}")
result(kernels["camera"] == kernels["plain"], f"{kernels['camera']} kernels from NV12, {kernels['plain']} on floats")
finish()
