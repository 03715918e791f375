#!/usr/bin/env python3
"""The bundle from Python, by ctypes alone: demo.py LIBRARY PICTURE.pgm...
LIBRARY is the bundle as a shared object; pictures are binary PGM of 28 x 28, ink is bright."""
import ctypes
import sys

PIXELS, CLASSES, ALIGN = 28 * 28, 10, 64
HEADER = b"P5\n28 28\n255\n"


class Context(ctypes.Structure):  # digits_ctx
    _fields_ = [("tag", ctypes.c_uint32), ("arena", ctypes.c_void_p), ("weights", ctypes.c_void_p)]


class Inputs(ctypes.Structure):
    _fields_ = [("image", ctypes.POINTER(ctypes.c_float))]


class Outputs(ctypes.Structure):
    _fields_ = [("probabilities", ctypes.POINTER(ctypes.c_float))]


class Digits:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.digits_arena_bytes.restype = ctypes.c_size_t
        self.lib.digits_strerror.restype = ctypes.c_char_p
        self.lib.digits_init.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t]
        n = self.lib.digits_arena_bytes()
        self.memory = ctypes.create_string_buffer(n + ALIGN)
        at = ctypes.addressof(self.memory)
        self.context = Context()
        self.check(self.lib.digits_init(ctypes.byref(self.context), at + -at % ALIGN, n, None, 0))

    def check(self, status):
        if status:
            raise RuntimeError(self.lib.digits_strerror(status).decode())

    def __call__(self, picture):
        image = (ctypes.c_float * PIXELS)(*picture)
        answer = (ctypes.c_float * CLASSES)()
        self.check(self.lib.digits_run(ctypes.byref(self.context), ctypes.byref(Inputs(image)), ctypes.byref(Outputs(answer))))
        return list(answer)


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    if not data.startswith(HEADER) or len(data) != len(HEADER) + PIXELS:
        sys.exit(f"demo.py: {path}: not a binary PGM of 28 x 28")
    return [ink / 255 for ink in data[len(HEADER):]]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    digits = Digits(sys.argv[1])
    for path in sys.argv[2:]:
        answer = digits(read(path))
        best = max(range(CLASSES), key=answer.__getitem__)
        print(f"{path}: {best} ({100 * answer[best]:.2f} %)")
