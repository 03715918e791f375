#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The path of a robotics engineer with three models: examples/openpilot with openpilot's model of the driver, where TGC_MODELS has
it, else with the synthetic one. Starts in an empty folder and ends with numbers: bits equal to those of the models compiled singly,
no allocation, no kernel more, times, a trace, a loop at 20 Hz. Prints TAP. Environment: TGC, CC, TGC_MODELS."""
import json
import os
import pathlib
import shlex
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from fixtures import MODELS, ROOT, TGC  # noqa: E402
from steps import finish, result, run  # noqa: E402

CC = shlex.split(os.environ.get("CC", "cc"))
MODEL = MODELS.resolve() / "openpilot-dmonitoring/model.onnx"
TIME = 1.05  # most time of the pipeline, relative to its models
ALONE = {
    "road": ["--convert=frames=nv12,yuv6,warp,size=256x192,mean=128,std=128"],
    "policy": ["--state=queue=queue_now:capacity=1024", "--state=hidden=hidden_now", "--convert=plan=topk,k=3",
               "--convert=lead=f32,scale=0.25,zero=0"],
    "driver": ["--convert=input_img=nv12,yuv6,warp,size=1152x864,mean=128,std=128", "--epilogue=parse.tg"],
}


def compile_to(folder, model, name, *more):
    run(folder, TGC, "compile", model, *more, "-o", name, f"--name={name}", "--isa=native", "--embed-weights", "-q")
    run(folder, "make", "-s", "-C", name, f"build/lib{name}.a")
    return json.loads((folder / name / "manifest.json").read_text())


with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch) / "car"
    shutil.copytree(ROOT / "examples/openpilot", folder)
    text = folder / "openpilot.tgp"
    driver = "driver.onnx" if MODEL.exists() else "driver.tg"
    if MODEL.exists():
        shutil.copy(MODEL, folder / driver)
        text.write_text(text.read_text().replace("driver.tg", driver))
    pilot = compile_to(folder, text.name, "pilot")
    single = {name: compile_to(folder, driver if name == "driver" else f"{name}.tg", "watch" if name == "driver" else name, *more)
              for name, more in ALONE.items()}
    entries = {e["name"]: e for e in pilot["entries"]}
    kernels = {name: len(m["kernels"]) for name, m in single.items()}
    result(entries["drive"]["calls"] <= kernels["road"] + kernels["policy"] and entries["watch"]["calls"] <= kernels["driver"],
           f"{entries['drive']['calls']} and {entries['watch']['calls']} kernels for {kernels}")
    most = max(single["road"]["arena_bytes"], single["policy"]["arena_bytes"], single["driver"]["arena_bytes"])
    result(pilot["arena_bytes"] <= most + pilot["state_bytes"] + 64,
           f"arena of {pilot['arena_bytes']} bytes; the largest model has {most}, the states {pilot['state_bytes']}")
    libraries = [part for n in ("pilot", "road", "policy", "watch") for part in (f"-I{n}", f"{n}/build/lib{n}.a")]
    run(folder, *CC, "-O2", "-Wall", HERE / "pilot.c", *libraries, "-Wl,--wrap=malloc", "-o", "beside", "-lm", "-pthread")
    differ, allocated, together, apart = map(float, run(folder, folder / "beside").split())
    print(f"# number: {together:.2f} ms a frame by the pipeline with {driver}, {apart:.2f} ms by its models one after another")
    result(not differ, "all answers have the bits of the models compiled singly", f"{differ:.0f} frames differ")
    result(not allocated, "no run allocates", f"{allocated:.0f} allocations")
    result(together <= TIME * apart, f"the pipeline takes {together / apart:.3f} of the time of its models, at most {TIME}")
    audit = run(folder, TGC, "audit", "pilot")
    result("no heap" in audit and "not ok" not in audit, "a run calls no allocator, lock or system", audit)
    run(folder, *CC, "-O2", "-Wall", "-Wextra", "-Ipilot", "-o", "loop", "loop.c", "pilot/build/libpilot.a", "-lm", "-pthread")
    said = run(folder, folder / "loop", "2").splitlines()
    print(f"# number: {said[-1]}")
    result(said[-1].startswith("40 frames") and len(said) == 3, "a loop at 20 Hz prints its answers", *said)
    run(folder, TGC, "profile", "pilot", "--trace=trace.json", "--seconds=0.5", "-q")
    events = json.loads((folder / "trace.json").read_text())
    events = events["traceEvents"] if isinstance(events, dict) else events
    names = json.dumps(events)
    result("road" in names and "policy" in names and "driver" in names, f"the trace of {len(events)} events names all stages")
    verified = run(folder, TGC, "verify", "pilot", "--model", text.name, "--entry=drive", "--steps=2")
    result(verified.count("ok ") == 6, "the entry drive is what the interpreter says", verified)
finish()
