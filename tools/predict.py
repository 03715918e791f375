#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a network takes on a machine that is not at hand, from its programs: predict.py PROGRAM..., where PROGRAM is what
`tgc compile MODEL --isa=x86-64-amx --stop-after=programs` prints. Counted are executions of micro-ops, by the extents of
the loops around them, and bytes that kernels touch; everything else is assumed, below. A sum of time to compute, to read
weights and to move values, none hidden behind the others, is the upper bound printed, the larger of them the lower one."""
import math
import re
import sys

GHZ, THREADS = 3.5, 2
NEAR, L3, MEMORY = 61, 29, 16          # GB/s of one core: values of a kernel that stay near, or do not; weights too large for the L3
NEAR_BYTES, L3_BYTES = 3e6, 150e6
TILE_ROW, LOAD_ROW = 1, 0.5            # cycles of a matrix unit: to multiply, to load a row of a tile
PORTS = {"load": 2, "store": 1, "other": 2, "all": 4.5}
UOPS = {("cast", "bf16"): 1.5, ("div", "f32"): 10, ("sqrt", "f32"): 10, ("recip", "f32"): 10}  # of a vector; others take 1
FREE = {"range", "bcast", "acc", "get", "set", "tiles"}
BYTES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "u32": 4, "boolean": 4, "f16": 2, "bf16": 2, "u8": 1, "i8": 1}


class Kernel:
    def __init__(self, schedule):
        self.schedule, self.extent, self.around, self.type = schedule, {}, [], {}
        self.buffer, self.touched = {}, {}
        self.multiply = self.load_tiles = self.products = self.tiles = 0
        self.elements = dict.fromkeys(("mma", "tile", "spill"), 0)  # of their results
        self.uops = dict.fromkeys(PORTS, 0)

    def access(self, buffer, count, kind, lanes):
        self.touched[buffer] = self.touched.get(buffer, 0) + count * lanes * BYTES.get(kind, 4)

    def line(self, text):
        if made := re.match(r"(b\d+) = buffer (\w+) (\w+)\[(\d+)\]", text):
            self.buffer[made[1]] = (made[2], BYTES.get(made[3], 4) * int(made[4]))
        elif made := re.match(r"(r\d+) = range extent=(\d+)", text):
            self.extent[made[1]] = int(made[2])
        elif text.startswith("loop "):
            self.around.append(self.extent[text.split()[1]])
            self.uops["other"] += math.prod(self.around)
        elif text.startswith("end "):
            self.around.pop()
        elif made := re.match(r"(?:(v\d+) = )?(\w+) (.*?)(?: : (\w+?)(?:x(\d+))?)?$", text):
            self.op(made[1], made[2], made[3].split(", "), made[4], int(made[5] or 1))

    def op(self, name, op, args, kind, lanes):
        count = math.prod(self.around)
        if op == "store":
            kind, lanes = self.type.get(args[2], ("f32", 1))
        self.type[name] = kind, lanes
        vectors = count * max(1, lanes * BYTES.get(kind, 4) / 64)
        rows = re.search(r"rows=(\d+)", args[-1])
        if op in self.elements:
            self.elements[op] += count * lanes
        if op == "mma":
            self.multiply += count * int(rows[1]) * TILE_ROW
            self.products += count
        elif op == "tile":
            self.load_tiles += count * int(rows[1]) * LOAD_ROW
            self.tiles += count
            self.access(args[0], count, kind, lanes)
        elif op in ("load", "store"):
            self.uops[op] += vectors
            self.access(args[0], count, kind, lanes)
        elif op in ("part", "spill"):
            self.uops["load" if op == "part" else "store"] += vectors
        elif op not in FREE and kind != "i64":
            self.uops["other"] += (count * lanes if op in ("vec", "lane") else vectors) * UOPS.get((op, kind), 1)

    def cycles(self):
        self.uops["all"] = sum(self.uops[k] for k in ("load", "store", "other"))
        return max(self.multiply, self.load_tiles) + max(n / PORTS[k] for k, n in self.uops.items())

    def bytes(self, weights):
        return sum(min(size, self.touched.get(b, 0)) for b, (kind, size) in self.buffer.items() if (kind == "weight") == weights)


def kernels(lines):
    found = []
    for line in lines:
        if line.startswith("; kernel"):
            found.append(Kernel(line.split(":", 1)[1].strip()))
        elif found:
            found[-1].line(line.strip())
    return found


def main():
    print("| program | kernels | products, 1e6 cycles | tiles loaded a product | other, 1e6 cycles | weights, MB | ms |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for path in sys.argv[1:]:
        all_of, least, most = kernels(open(path)), 0, 0
        weights = sum(k.bytes(True) for k in all_of)
        for k in all_of:
            threads = THREADS if "threads" in k.schedule else 1
            compute = k.cycles() / GHZ / 1e6 / threads
            read = k.bytes(True) / (L3 if weights < L3_BYTES else MEMORY) / 1e6 / threads
            move = k.bytes(False) / (NEAR if k.bytes(False) < NEAR_BYTES else L3) / 1e6 / threads
            least += max(compute, read + move)
            most += compute + read + move
        products, other = sum(k.multiply for k in all_of), sum(k.cycles() - max(k.multiply, k.load_tiles) for k in all_of)
        shared = sum(k.tiles for k in all_of) / max(1, sum(k.products for k in all_of))
        print(f"| {path} | {len(all_of)} | {products / 1e6:.1f} | {shared:.2f} | {other / 1e6:.1f} | {weights / 1e6:.0f} | {least:.1f} to {most:.1f} |")


if __name__ == "__main__":
    main()
