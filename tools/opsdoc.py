#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the tables of docs/operators.md from what `tgc ops` says; with --check it says whether they are current, as TAP.
Environment: TGC."""
import json
import os
import subprocess
import sys

from page import ROOT, Page

TGC = os.environ.get("TGC", str(ROOT / "build/tgc"))


def tables():
    front = next(f for f in json.loads(subprocess.check_output([TGC, "ops", "--json"]))["frontends"] if f["name"] == "onnx")
    text = ""
    for domain in sorted({o["domain"] for o in front["operators"]}):
        rows = [o for o in front["operators"] if o["domain"] == domain]
        newest = max(o["until"] for o in rows)
        count = f"{len(rows)} operator{'s' if len(rows) > 1 else ''}"
        text += f"\n## {domain or 'ai.onnx'}\n\n{count}. The number behind a name is the first opset that tgc reads, if that is not 1. "
        text += "`9 to 10`: newer opsets are not read.\n\n"
        text += ", ".join(f"`{o['name']}`" + (f" {o['since']}" if o["since"] > 1 else "") + (f" to {o['until']}" if o["until"] < newest else "") for o in rows) + "\n"
    text += "\n## Refused\n\n| operator | domain | why |\n|---|---|---|\n"
    return text + "".join(f"| `{o['name']}` | {o['domain'] or 'ai.onnx'} | {o['why']} |\n" for o in front["refused"])


sys.exit(Page("operators.md", "tools/opsdoc.py writes what follows").keep(tables(), "tgc ops"))
