#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the index of ops at the end of docs/ir.md from compiler/ir/ops.h. With --check it only says whether the index is
current, and whether the page explains every op: each must stand in backquotes before the index. Prints TAP."""
import re
import sys

from page import ROOT, Page

ROW = re.compile(r'^OP\((\w+), +(\w+), +(\w+), +"([^"]*)", +"([^"]*)", +"([^"]*)", +([\w|]+), +\w+, +\w+, +(?:NO|"[^"]*"), +(?:NO|FN\(\w+\)), +"([^"]*)"\)$')


def rows():
    for line in (ROOT / "compiler/ir/ops.h").read_text().splitlines():
        if line.startswith("OP("):
            yield ROW.match(line).groups()


def index():
    text = "| op | level | type | operands | arguments | algebra | meaning |\n|---|---|---|---|---|---|---|\n"
    for name, level, _, types, operands, args, algebra, gloss in rows():
        cells = f"`{name.lower()}`", level.lower(), f"`{types}`", f"`{operands}`" if operands else "", f"`{args}`" if args else "", algebra.replace("|", " ").lower() if algebra != "0" else "", gloss
        text += f"| {' | '.join(c.replace('|', chr(92) + '|') for c in cells)} |\n"
    return text


def main():
    page = Page("ir.md", "from here on written by tools/irdoc.py")
    if page.write(index()):
        return 0
    missing = [name.lower() for name, *_ in rows() if f"`{name.lower()}`" not in page.prose]
    current = page.old == index()
    print(f"{'ok' if current else 'not ok'} 1 - the index of docs/ir.md is that of compiler/ir/ops.h (tools/irdoc.py writes it)")
    print(f"{'not ok' if missing else 'ok'} 2 - docs/ir.md explains every op{': not ' + ' '.join(missing) if missing else ''}\n1..2")
    return not current or bool(missing)


sys.exit(main())
