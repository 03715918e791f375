#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the tables of docs/tunables.md from what `tgc inspect --tunables` says; with --check it says whether they are current,
as TAP. Environment: TGC."""
import json
import os
import subprocess
import sys

from page import ROOT, Page

TGC = os.environ.get("TGC", str(ROOT / "build/tgc"))


def table(head, rows):
    text = "| " + " | ".join(head) + " |\n|" + "---|" * len(head) + "\n"
    return text + "".join("| " + " | ".join(r) + " |\n" for r in rows)


def machines():
    """the rows of machines.h: name, caches, source"""
    rows = []
    for line in (ROOT / "compiler/target/machines.h").read_text().splitlines():
        if line.startswith("MACHINE("):
            cells = [c.strip() for c in line[len("MACHINE("):].split(",")]
            rows.append([f"`{cells[0].strip(chr(34))}`", cells[4], cells[5], cells[9], cells[10], cells[11], line.rsplit('"', 2)[1]])
    return rows


def tables():
    said = json.loads(subprocess.check_output([TGC, "inspect", "--tunables", "--json"]))
    values = {tuple(r["name"].split(".")): r for r in said["tunables"] if "." in r["name"]}
    callers = [c["name"].lower() for c in said["callers"]]
    text = "\n## Rates, by caller\n\n"
    rows = []
    for r in said["rates"]:
        name = r["name"].lower()
        cells = [f"{values[name, c]['default']:.10g}" if (name, c) in values else "" for c in callers]
        given = {c for c in cells if c}
        rows.append([f"`{name}`" + (" ≠" if len(given) > 1 else ""), r["unit"], *cells, r["gloss"]])
    text += table(["rate", "unit", *callers, "meaning"], rows)
    text += "\n" + table(["caller", "decides"], [[c["name"].lower(), c["gloss"]] for c in said["callers"]])
    text += "\n## Where the rates come from\n\n"
    text += table(["value", "", "source"], [[f"`{'.'.join(n)}`", f"{v['default']:.10g}", v["reason"]] for n, v in values.items()])
    text += "\n## Machines\n\n" + table(["machine", "vector bytes", "registers", "L1", "L2", "L3", "source of the sizes"], machines())
    text += "\n## Tunables\n\n"
    rows = [[f"`{r['name']}`", f"{r['default']:.10g}", f"{r['least']:.10g} to {r['most']:.10g}", r["unit"], r["reason"]]
            for r in said["tunables"] if "." not in r["name"]]
    return text + table(["name", "default", "range", "unit", "reason"], rows)


sys.exit(Page("tunables.md", "tools/tunabledoc.py writes what follows").keep(tables(), "the source"))
