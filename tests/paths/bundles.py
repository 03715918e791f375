#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The bundle of every shared model, or of those whose names are arguments: `make` builds its example program, which works from any
folder, and `tgc verify BUNDLE --model` says the same of its outputs as `tgc verify MODEL`. Prints TAP. Environment: TGC, TGC_MODELS."""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from fixtures import MODELS, NAMED, TGC  # noqa: E402


def run(*args, status=0, cwd=None):
    p = subprocess.run([str(a) for a in args], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=900)
    assert p.returncode == status, f"{' '.join(map(str, args))}: status {p.returncode}\n{p.stdout[-2000:]}{p.stderr[-2000:]}"
    return p.stdout


def check(name, dims, folder):
    model, sizes = MODELS.resolve() / name / "model.onnx", [f"--dim={d}" for d in dims.split()]
    if subprocess.run([TGC, "check", model, *sizes, "-q"], capture_output=True).returncode:
        run(TGC, "compile", model, *sizes, "-o", folder / "b", "-q", status=65)
        return "refused, as check says"
    run(TGC, "compile", model, *sizes, "-o", folder / "b", "-q", "--no-tune-store")
    run("make", "-s", "-C", folder / "b", "CFLAGS=-O1")
    shown = {run(folder / "b/build/net_example", cwd=place) for place in ("/", folder, folder / "b")}
    assert len(shown) == 1, f"other outputs in another folder: {shown}"
    said = [json.loads(run(TGC, "verify", *words, "--json", "-q")) for words in
            ([folder / "b", f"--model={model}"], [model, *sizes, "--no-tune-store"])]
    assert said[0]["outputs"] == said[1]["outputs"] and said[0]["reference"] == said[1]["reference"] == "interpreter", said
    return f"outputs: {len(said[0]['outputs'])}"


def main():
    there = sorted(p.parent.name for p in MODELS.glob("*/model.onnx"))
    chosen = [m for m in there if not sys.argv[1:] or m in sys.argv[1:]]
    if not there:
        print("1..1\nok 1 - bundles of shared models # SKIP no shared models")
        return 0
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for number, name in enumerate(chosen, 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(f"ok {number} - {name}: {check(name, dict(NAMED).get(name, 'all=1'), pathlib.Path(folder))}", flush=True)
            except (AssertionError, subprocess.TimeoutExpired) as e:
                failed += 1
                print(f"not ok {number} - {name}", *(f"# {line[:300]}" for line in str(e).splitlines()), sep="\n", flush=True)
    return failed > 0


sys.exit(main())
