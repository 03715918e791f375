# SPDX-License-Identifier: MIT
"""Bundles of models on the libcuda of fake.c, whose kernels run on fibers of the CPU: their reference outputs, and what a run is in
the driver's log. No NVRTC is needed: the images of such a bundle say nothing."""
import json
import shutil

import shim
from fixtures import MODELS, NAMED, ROOT, TGC
from harness import want

HALVES = ROOT / "tests/device-programs/halves.tg"
DIGITS = ROOT / "examples/digits/digits.onnx"
# that run within seconds, from bundles of --isa=cuda-sm_80
SMALL = ("mnist-8", "micro-kws-fp32", "mujoco-go1-policy", "tinybert", "bert-toy", "lstm-loop", "silero-vad", "silero-vad-v3",
         "gtcrn-stream", "dtln-1", "cntk-scan")


def found():
    rows = [("digits", DIGITS, ""), ("halves in matrix units", HALVES, "")]
    rows += [(name, MODELS / name / "model.onnx", dims) for name, dims in NAMED if name in SMALL]
    return [row for row in rows if row[1].exists()]


class Bundle:
    def __init__(self, runtime, name, model, dims):
        self.r, self.folder = runtime, runtime.work / f"model-{name.split()[0]}"
        shutil.rmtree(self.folder, ignore_errors=True)
        args = [a for d in dims.split() for a in ("--dim", d)]
        args += ["--isa=cuda-sm_80+mma"] if model == HALVES else []
        runtime.run(TGC, "compile", model, *args, "--backend=cuda", "--emit=cu", "--name=net", "--self-test", "-o", self.folder)
        self.kernels = shim.build(self.folder / "net.cu", self.folder / "kernels.so")
        nvcc = self.folder / "nvcc"  # the driver of the test loads any image
        nvcc.write_text("#!/bin/sh\nfor last; do :; done\nwhile [ \"$1\" != -o ]; do shift; done\necho 'fatbin of nothing' > \"$2\"\n")
        nvcc.chmod(0o755)
        self.make("all", NVCC=str(nvcc))

    def make(self, target, **words):
        return self.r.run("make", "-s", "-C", self.folder, "CFLAGS=-O1", *(f"{k}={v}" for k, v in words.items()), target)

    def check(self, env):
        """the example of the bundle finds the reference outputs"""
        out = self.r.run(self.folder / "build/net_check", "--weights", self.folder / "net_weights.bin", "--check",
                         self.folder / "net_check.bin", **env, FAKE_CUDA_KERNELS=str(self.kernels))
        want(": ok (" in out and "not ok" not in out, out)

    def loop(self, env):
        """-> runs that are one cuGraphLaunch, and all runs"""
        states = ["-DSTATES"] if "states" in json.loads((self.folder / "manifest.json").read_text()) else []
        self.r.run("gcc", "-std=c11", "-O1", "-D_GNU_SOURCE", *states, f"-I{self.folder}", "-o", self.folder / "loop", self.r.tests / "loop.c",
                   self.folder / "build/libnet.a", "-lm", "-ldl", "-pthread")
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        self.r.run(self.folder / "loop", self.folder, **env, FAKE_CUDA_KERNELS=str(self.kernels), FAKE_CUDA_LOG=str(log))
        runs, now = [], None
        for line in log.read_text().splitlines():
            if line.startswith(("run ", "run_on ", "end ")):
                now = []
                runs.append(now)
            elif now is not None and line.startswith(("cuGraphLaunch", "cuLaunchKernel")):
                now.append(line)
        runs.pop()  # what follows the last one
        return sum(r == ["cuGraphLaunch"] for r in runs), len(runs)
