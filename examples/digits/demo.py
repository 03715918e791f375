#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The bundle from Python, by ctypes alone: demo.py LIBRARY PICTURE.pgm...
LIBRARY is the bundle as a shared object; pictures are binary PGM of 28 x 28, ink is bright.
All sizes, names, types and shapes are asked of the library: nothing of its header is written here a second time."""
import ctypes
import math
import sys

SIDE, ALIGN = 28, 64  # ALIGN: TGCRT_ALIGN, of arenas
TYPES = {1: ctypes.c_float}  # TGCRT_F32; docs/bundle.md has the others
HEADER = b"P5\n28 28\n255\n"


class Value:
    """What the library says of an input or an output, and memory for it."""

    def __init__(self, ask, kind, number):
        self.name = ask(f"{kind}_name", ctypes.c_char_p, number).decode()
        shape, rank = ask(f"{kind}_shape", ctypes.POINTER(ctypes.c_int64), number), ask(f"{kind}_rank", ctypes.c_int, number)
        self.shape = shape[:rank]
        element = TYPES[ask(f"{kind}_type", ctypes.c_int, number)]
        self.data = (element * math.prod(self.shape))()
        if ctypes.sizeof(self.data) != ask(f"{kind}_bytes", ctypes.c_size_t, number):
            raise RuntimeError(f"{self.name}: the type and the shape do not make the bytes")


class Model:
    def __init__(self, path, name):
        self.lib, self.prefix = ctypes.CDLL(path), name
        self.context = ctypes.create_string_buffer(self.ask("ctx_bytes", ctypes.c_size_t))
        bytes_ = self.ask("arena_bytes", ctypes.c_size_t)
        self.memory = ctypes.create_string_buffer(bytes_ + ALIGN)
        at = ctypes.addressof(self.memory)
        self.check("check_weights", None, 0)  # None: the weights are embedded
        self.check("init", self.context, at + -at % ALIGN, bytes_, None, 0)
        self.inputs, self.outputs = self.values("input"), self.values("output")

    def ask(self, function, result, *arguments):
        f = self.lib[f"{self.prefix}_{function}"]
        f.restype = result
        return f(*(ctypes.c_size_t(a) for a in arguments))

    def values(self, kind):
        return [Value(self.ask, kind, i) for i in range(self.ask(f"{kind}_count", ctypes.c_size_t))]

    def check(self, function, *arguments):
        """Calls a function of pointers and sizes that returns a status."""
        status = self.lib[f"{self.prefix}_{function}"](*(ctypes.c_size_t(a) if isinstance(a, int) else a for a in arguments))
        if status:
            say = self.lib[f"{self.prefix}_strerror"]
            say.restype = ctypes.c_char_p
            raise RuntimeError(say(status).decode())

    def run(self):
        pointers = [(ctypes.c_void_p * len(v))(*(ctypes.addressof(x.data) for x in v)) for v in (self.inputs, self.outputs)]
        self.check("run_v", self.context, *pointers)


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if not data.startswith(HEADER) or len(data) != len(HEADER) + SIDE * SIDE:
        sys.exit(f"demo.py: {path}: not a binary PGM of 28 x 28")
    return [ink / 255 for ink in data[len(HEADER):]]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    digits = Model(sys.argv[1], "digits")
    [image], [answer] = digits.inputs, digits.outputs
    for path in sys.argv[2:]:
        image.data[:] = read(path)
        digits.run()
        best = max(range(len(answer.data)), key=answer.data.__getitem__)
        print(f"{path}: {best} ({100 * answer.data[best]:.2f} %)")
