# SPDX-License-Identifier: MIT
"""The Python interface of tests/bindings/run's models, with canaries around the arena, the context and every array: probe.py KIND
WEIGHTS OTHER. The folder of the bundle is in PYTHONPATH. The last line is "ok"."""
import gc
import sys
import threading
import warnings

import numpy as np

import net

ROOM, FILL = 256, 0xA5
blocks = []  # whole memory of a block, and the array within


def guarded(shape, dtype=float, value=None):
    """an array between canaries, which is aligned for its type and for no more"""
    dtype = np.dtype(dtype)
    n = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = np.full(n + 3 * ROOM, FILL, np.uint8)
    begin = ROOM + -(memory.ctypes.data + ROOM) % (2 * dtype.itemsize) + dtype.itemsize
    array = memory[begin:begin + n].view(dtype).reshape(shape)
    array[...] = 0 if value is None else value
    blocks.append((memory, begin, n))
    return array


def check_canaries():
    for memory, begin, n in blocks:
        assert (memory[:begin] == FILL).all() and (memory[begin + n:] == FILL).all(), "a canary died"


class Guarding:
    """numpy, as the module under test sees it: what it allocates has canaries"""
    zeros = staticmethod(guarded)
    empty = staticmethod(guarded)

    def __getattr__(self, name):
        return getattr(np, name)


class Tensor:
    """a tensor of another library: nothing but DLPack"""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **_):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def tensor(array):
    """NumPy before 1.25 passes no bools by DLPack: those stay arrays"""
    return array if array.dtype == bool and np.lib.NumpyVersion(np.__version__) < "1.25.0" else Tensor(array)


class Elsewhere(Tensor):
    def __dlpack_device__(self):
        return (2, 0)


def refusal(f, *args, **named):
    try:
        f(*args, **named)
    except (TypeError, net.Error, ImportError) as e:
        return str(e)
    return "nothing"


def values(weights, other):
    ins = [guarded((2, 3, 5), "f4", np.arange(30).reshape(2, 3, 5) / 4), guarded(7, "?", [1, 0, 1, 1, 0, 0, 1]),
           guarded((3, 1), "i8", [[1], [2], [3]]), guarded((), "i1", 5)]
    want = [ins[0] + np.arange(30, dtype="f4").reshape(2, 3, 5), ~ins[1], ins[2] + np.array([[1], [1 << 40], [-7]]), np.int8(-5)]
    names = ["past.0/key:0", 'quote" \\ */ ??/ %s\n', "日本", "scalar"]

    def right(out):
        for a, b in zip(out, want):
            assert a.dtype == b.dtype and a.shape == b.shape and (a == b).all(), (a, b)
        check_canaries()

    with net.Model(weights=weights) as m:
        assert [v.name for v in m.inputs] == names and m.outputs[2].shape == (3, 1) and m.states == []
        right(m.run(*ins))
        right(m.run(**dict(zip(names, ins))))
        right(m.run(ins[0], ins[1], **{v.field: x for v, x in list(zip(m.inputs, ins))[2:]}))
        right(m.run(*map(tensor, ins)))
        outs = [guarded(v.shape, v.dtype) for v in m.outputs]
        right(m.run(*ins, out=outs))
        assert m.run(*ins, out=outs)[0] is outs[0]
        tensors = [tensor(guarded(v.shape, v.dtype)) for v in m.outputs]
        right([getattr(t, "array", t) for t in m.run(*ins, out=tensors)])
        right(m.run(*ins, out={"sum": outs[0]}))
        right([np.from_dlpack(x) if isinstance(tensor(x), Tensor) else x for x in m.run(*ins)])  # the way out
        right(m.run(np.asfortranarray(ins[0]), *ins[1:]))  # copied, for it is not dense in this order
        right(m.run(ins[0], ins[1], [[1], [2], [3]], ins[3]))

        first = "input 'past.0/key:0': "
        for x, why in ((ins[0][0], "shape [3,5]"), (ins[0].astype("f8"), "type float64"), (Tensor(ins[0].astype("i4")), "type int32"),
                       (Tensor(np.asfortranarray(ins[0])), "a tensor that is not dense and row-major"),
                       (Elsewhere(ins[0]), "a tensor on DLPack's device 2, which is not the CPU")):
            assert refusal(m.run, x, *ins[1:]) == f"{first}{why}, expected f32[2,3,5]", refusal(m.run, x, *ins[1:])
        assert refusal(m.run, *ins[:3]) == f"input '{m.inputs[3].field}' is missing"
        assert refusal(m.run, *ins, 1) == "5 inputs, expected 4"
        assert refusal(m.run, *ins[:3], wrong=1).startswith("no input is named 'wrong'; there are past_0_key_0, ")
        assert "is given twice" in refusal(m.run, *ins, **{"日本": ins[2]})
        assert refusal(m.run, *ins, out=[1]) == "1 output, expected 4"
        frozen = outs[0].copy()
        frozen.flags.writeable = False
        for x, why in ((frozen, "an array that is not writable, aligned, dense and row-major"), (outs[0].tolist(), "a list, which is no array"),
                       (outs[0][0], "shape [3,5]")):
            assert refusal(m.run, *ins, out={"sum": x}) == f"output 'sum': {why}, expected f32[2,3,5]"
        assert refusal(m.run, *ins, out={"summ": frozen}).startswith("no output is named 'summ'; there are sum, ")

        results = [None] * 4
        threads = [threading.Thread(target=lambda i=i: results.__setitem__(i, [m.run(*ins) for _ in range(20)][-1])) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for r in results:
            right(r)
    assert refusal(m.run, *ins) == "the model is closed"
    assert net.Model(weights=other).run(*ins)[1].shape == (7,)  # the digest is not checked, as in C
    assert refusal(net.Model, weights=__file__).endswith(f"expected {len(open(weights, 'rb').read())}")


def states(*_):
    x = guarded(40, "f4", 1)
    with net.Model() as m:
        assert [m.run(x).y[0] for _ in range(2)] == [2, 3] and (m.get_state("h") == 1.5).all()
        saved = m.save()
        assert m.run(x=x).y[39] == 3.5
        m.put_state("h", guarded(40, "f4", 8))
        assert m.run(x).y[0] == 10
        m.load(saved)
        assert m.run(x).y[0] == 3.5
        m.reset()
        assert m.run(x).y[0] == 2
        assert refusal(m.get_state, "g") == "no state is named 'g'; there are h"
        assert refusal(m.put_state, "h", x[:3]) == "state 'h': shape [3], expected f32[40]"
        assert refusal(m.load, b"1") == f"1 bytes, expected {len(saved)}"
        assert refusal(m.load, b"\xff" * len(saved)).startswith("there is no state of that number")


def other(*_):
    """the library is of another model than the file"""
    assert refusal(net.Model).endswith("the library is of another model, or of another version of it, than net.py")


if __name__ == "__main__":
    warnings.simplefilter("error")
    net.numpy = Guarding()
    globals()[sys.argv[1]](*sys.argv[2:])
    gc.collect()
    check_canaries()
    print("ok")
