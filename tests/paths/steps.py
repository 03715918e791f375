# SPDX-License-Identifier: MIT
"""For the scripts of this folder in Python: results as TAP, and commands that end the path when they fail."""
import pathlib
import subprocess
import sys

results = []


def result(ok, name, *notes):
    results.append(bool(ok))
    print(f"{'ok' if ok else 'not ok'} {len(results)} - {name}")
    for line in "" if ok else "\n".join(map(str, notes)).splitlines():
        print(f"# {line}")
    sys.stdout.flush()


def finish():
    print(f"1..{len(results)}")
    sys.exit(not all(results))


def run(folder, *args):
    p = subprocess.run([str(a) for a in args], cwd=folder, capture_output=True, text=True)
    if p.returncode:
        result(False, f"{pathlib.Path(str(args[0])).name} {args[1]}", p.stdout, p.stderr)
        finish()
    return p.stdout
