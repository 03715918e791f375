# SPDX-License-Identifier: MIT
"""Runs two libraries of bundles for the same ranges of sizes, by functions that need no header: inputs with equal bytes, at each
combination of sizes. twins.py LIBRARY WEIGHTS LIBRARY WEIGHTS STEP; STEP: how many combinations are passed over"""
import ctypes
import itertools
import math
import random
import sys

SIZE, ALIGN, KINDS = 17, 64, {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2}


class Twin:
    def __init__(self, library, weights):
        self.lib = ctypes.CDLL(library)
        data = open(weights, "rb").read()
        self.weights, self.arena = self.block(len(data)), self.block(self.ask("arena_bytes"))
        ctypes.memmove(self.weights[1], data, len(data))
        self.ctx = self.block(self.ask("ctx_bytes"))
        assert not self.call("init", self.arena[1], self.ask("arena_bytes"), self.weights[1], len(data))

    @staticmethod
    def block(n):
        """-> what keeps the memory, its address"""
        memory = ctypes.create_string_buffer(n + 2 * ALIGN)
        at = ctypes.addressof(memory)
        return memory, at + -at % ALIGN

    def ask(self, name, *index, result=ctypes.c_size_t):
        f = self.lib["net_" + name]
        f.restype = result
        return f(*map(ctypes.c_size_t, index))

    def call(self, name, *args):
        return self.lib["net_" + name](ctypes.c_void_p(self.ctx[1]), *(ctypes.c_size_t(a) if isinstance(a, int) else a for a in args))

    def set_sizes(self, sizes):
        return self.call("set_sizes", (ctypes.c_int64 * len(sizes))(*sizes))

    def bytes_of(self, kind, i):
        rank = self.ask(kind + "_rank", i, result=ctypes.c_int)
        dims = (ctypes.c_int64 * (rank or 1))()
        assert not self.call(kind + "_dims", i, dims)
        return math.prod(dims[:rank]) * KINDS[self.ask(kind + "_type", i, result=ctypes.c_int)]

    def run(self, ins, fill=True):
        outs = [bytes([0xa5]) * self.bytes_of("output", i) for i in range(self.ask("output_count"))]
        keep = [self.block(len(data)) for data in (*ins, *outs)]
        for (_, at), data in zip(keep, (*ins, *outs)):
            ctypes.memmove(at, data, len(data))
        pointers = [at for _, at in keep]
        if fill:
            ctypes.memset(self.arena[1], 0xff, self.ask("arena_bytes"))
        p, q = ((ctypes.c_void_p * max(len(part), 1))(*part) for part in (pointers[:len(ins)], pointers[len(ins):]))
        status = self.call("run_v", p, q)
        return status, [ctypes.string_at(at, len(data)) for at, data in zip(q, outs)]


def data_of(twin, i, seed):
    n, kind = twin.bytes_of("input", i), twin.ask("input_type", i, result=ctypes.c_int)
    r = random.Random(seed)
    if kind == 1:
        return bytes((ctypes.c_float * (n // 4))(*(r.uniform(-1, 1) for _ in range(n // 4))))
    if kind == 7:
        return bytes((ctypes.c_int64 * (n // 8))(*(r.randrange(2) for _ in range(n // 8))))
    return r.randbytes(n) if kind in (2, 3) else bytes(n)


def main():
    twins, step, ranges = [Twin(*sys.argv[1:3]), Twin(*sys.argv[3:5])], int(sys.argv[5]), sys.argv[6:]
    ranges = [range(a, b + 1, c) for a, b, c in (map(int, r.split(":")) for r in ranges)]
    runs = 0
    for bad in (-1, max(r[-1] for r in ranges) + 1):
        for t in twins:
            assert t.set_sizes([bad] * len(ranges)) == SIZE, "a bad size has another status"
    for i, sizes in enumerate(itertools.product(*ranges)):
        if i % step:
            continue
        assert not any(t.set_sizes(sizes) for t in twins), "set_sizes"
        ins = [data_of(twins[0], k, f"{i} {k}") for k in range(twins[0].ask("input_count"))]
        answers = [t.run(ins) for t in twins]
        assert answers[0][0] == answers[1][0] == 0, f"statuses at {sizes}: {answers[0][0]}, {answers[1][0]}"
        assert answers[0][1] == answers[1][1], f"the bits differ at {sizes}"
        runs += 1
    print(f"ok {runs} runs")


if __name__ == "__main__":
    main()
