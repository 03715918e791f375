# SPDX-License-Identifier: MIT
"""Runs a bundle for a range of sizes with states step by step (--state), beside one without, whose caller keeps the values: outputs
have equal bits. Memory of the states behind the elements holds NaNs. decode.py LIBRARY WEIGHTS LIBRARY WEIGHTS LOW HIGH IN=OUT...
A state whose value grows has elements in rows. Inputs that are no states are i64 numbers below 5, or floats."""
import ctypes
import struct
import sys

from twins import SIZE, Twin, data_of


def names(twin, kind):
    return [twin.ask(kind + "_name", i, result=ctypes.c_char_p).decode() for i in range(twin.ask(kind + "_count"))]


def main():
    with_states, without, (low, high) = Twin(*sys.argv[1:3]), Twin(*sys.argv[3:5]), map(int, sys.argv[5:7])
    pairs = dict(pair.split("=") for pair in sys.argv[7:])
    inputs, outputs, now = names(without, "input"), names(without, "output"), (ctypes.c_int64 * 1)()
    for k in range(with_states.ask("state_count")):
        n = with_states.ask("state_bytes", k)
        assert not with_states.call("state_put", k, ctypes.create_string_buffer(struct.pack("<I", 0x7FC00000) * (n // 4), n))
    assert not without.set_sizes([low])
    kept = {name: bytes(without.bytes_of("input", i)) for i, name in enumerate(inputs) if name in pairs}
    grows = {name for name in kept if with_states.ask("state_bytes", names(with_states, "state").index(name)) > len(kept[name])}
    for k, name in enumerate(names(with_states, "state")):
        if name not in grows:
            assert not with_states.call("state_put", k, ctypes.create_string_buffer(kept[name], len(kept[name]) + 1))
    assert low == 0 or not grows, "a window that begins with elements"
    for size in range(low, high + 1):
        assert not with_states.call("get_sizes", now) and now[0] == size, f"size {now[0]}, not {size}"
        assert not without.set_sizes([size])
        given = {name: data_of(without, i, f"{size} {name}") for i, name in enumerate(inputs) if name not in pairs}
        status, got = with_states.run([given[name] for name in inputs if name in given], fill=False)
        other, want = without.run([given.get(name) or kept[name] for name in inputs])
        assert status == other == 0, f"statuses {status}, {other}"
        for name, data in zip(outputs, want):
            if name in pairs.values():
                kept[next(n for n in pairs if pairs[n] == name)] = data
        assert got == [data for name, data in zip(outputs, want) if name not in pairs.values()], f"the bits differ at {size}"
    assert with_states.run([given[name] for name in inputs if name in given], fill=False)[0] == SIZE, "a full window has another status"
    assert not with_states.call("state_reset") and not with_states.call("get_sizes", now) and now[0] == low
    print(f"ok {high - low + 1} steps")


main()
