#!/usr/bin/env python3
"""Checks docs/glossary.md: passes, steps of a kernel and opts are terms of it, the files it names exist, and no term stands
there twice. Prints TAP."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from structure import find, macro_rows  # noqa: E402

ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| `([^`]+)` \|$", re.M)


def main():
    rows = ROW.findall((ROOT / "docs/glossary.md").read_text())
    terms = [term for term, _, _ in rows]
    names = [row[1] for row in macro_rows(ROOT / "compiler/passes.h", "PASS")]
    names += [row[1] for row in macro_rows(find("steps.h"), "STEP")]
    text = next(p for p in (ROOT / "compiler").rglob("opts_text.c")).read_text()
    opts = re.findall(r'\{ "([a-z]+)", A_', text)
    checks = [
        ("passes, steps and opts are terms", [n for n in names + opts if n not in terms]),
        ("the files are there", [f for _, _, f in rows if not (ROOT / f).is_file()]),
        ("a term stands there once", sorted({t for t in terms if terms.count(t) > 1})),
        ("opts were found", [] if len(opts) > 5 else ["too few: " + " ".join(opts)]),
    ]
    for number, (what, wrong) in enumerate(checks, 1):
        print(f"{'not ok' if wrong else 'ok'} {number} - docs/glossary.md: {what}{': ' + ' '.join(wrong) if wrong else ''}")
    print(f"1..{len(checks)}")
    return any(wrong for _, wrong in checks)


sys.exit(main())
