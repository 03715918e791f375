# SPDX-License-Identifier: MIT
"""Fills device.c.in, net.h.in and check.c.in of runtime_stub for a network of kernels written by hand, net.cl, net.cu and net.metal, as
compiler/bundle does for models."""
import hashlib
import json
import pathlib
import re
import struct

STUB = pathlib.Path(__file__).resolve().parent.parent.parent / "runtime_stub"
TESTS = pathlib.Path(__file__).resolve().parent.parent
INPUTS = [("x", "float", "f32", [16], 4, "f"), ("at", "int32_t", "i32", [1], 4, "i"), ("none", "float", "f32", [0], 4, "f")]
OUTPUTS = [("y", "float", "f32", [16], 4, "f"), ("h", "float", "f32", [2], 4, "f"), ("v", "float", "f32", [1], 4, "f")]
STATES = [("total", "float", "f32", [16], 4, "f"), ("past", "float", "f32", [2, 3], 4, "f")]
FUNCTIONS = ["scale", "add", "append", "pick"]
WORK, WEIGHTS, INPUT, OUTPUT, STATE, NEXT = range(6)
STATE_AT, STATE_BYTES, GUARD_AT, WORK_BYTES = 64, 256, 320, 384
LAUNCHES = [  # function, grid, block, places: memory, number, bytes
    (0, (4, 1, 1), (4, 1, 1), [(INPUT, 0, 0), (WEIGHTS, 0, 0), (WORK, 0, 0)]),
    (1, (1, 2, 1), (1, 8, 1), [(STATE, 0, STATE_AT + 64), (NEXT, 0, STATE_AT + 64), (WORK, 0, 0), (OUTPUT, 0, 0)]),
    (2, (2, 1, 1), (1, 1, 1), [(STATE, 1, STATE_AT + 192), (WORK, 0, 0), (OUTPUT, 1, 0)]),
    (3, (1, 1, 1), (1, 1, 1), [(INPUT, 1, 0), (WEIGHTS, 0, 64), (INPUT, 2, 0), (OUTPUT, 2, 0), (WORK, 0, GUARD_AT)]),
]
STATE_ROWS = "  { 64, 1, 128, 64, 64, 2, 64 },\n  { 192, 2, 20, 12, 4, 2, (size_t)-1 },\n"
weights = struct.pack("<32f", *range(1, 17), *(0.5 * i for i in range(16)))


def elements(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def fill(name, words):
    """as template_fill of compiler/bundle/template.c"""
    out, stack = [], []
    for line in (STUB / name).read_text().splitlines(keepends=True):
        if line.startswith("@if "):
            stack.append(bool(words[line[4:].strip()]))
        elif line.startswith("@each "):
            stack.append(False)  # no list has a row
        elif line == "@else\n":
            stack[-1] = not stack[-1]
        elif line == "@end\n":
            stack.pop()
        elif all(stack):
            whole = re.fullmatch(r"@(\w+)@\n", line)
            known = lambda m: words[m[1]] if m[1] in words else m[0]
            out.append(words[whole[1]] if whole and whole[1] in words else re.sub(r"@(\w+)@", known, line))
    return "".join(out)


def values(kind, rows):
    at, table, dims, names = 0, "", "", ""
    for name, _, text, shape, size, _ in rows:
        table += f"  {{ TGCRT_{text.upper()}, {len(shape)}, {at}, {elements(shape) * size} }},\n"
        dims += "".join(f"{d}, " for d in shape)
        names += f'"{name}", '
        at += len(shape)
    words = {"net": "net", "kind": kind, "values": table, "dims": dims, "names": names, "beyond": str(at), "width": "8", "count": str(len(rows))}
    return fill("values.h.in", words), fill("values.c.in", words)


STILL = "  { 64, 1, 64, 64, 64, 1, 64 },\n  { 192, 2, 20, 12, 4, 1, (size_t)-1 },\n"  # one place, one slot: no argument changes


IMAGES = ("CUBIN", 70), ("CUBIN", 80), ("CUBIN", 86), ("CUBIN", 89), ("PTX", 75)  # "cubin 80", "ptx 75": what the test's driver is given


def of_opencl():
    """words that only bundles of OpenCL have, and other files"""
    lines = (TESTS / "opencl-runtime/net.cl").read_text().splitlines(keepends=True)
    return {"isa": "opencl", "device": "opencl", "device_handle": "cl_mem", "options": "-cl-std=CL1.2", "images": "",
            "source_lines": "".join(f"  {json.dumps(line)},\n" for line in lines)}, {}


def of_cuda():
    text = [f".ptx of sm_{arch}" if kind == "PTX" else f"cubin of sm_{arch}" for kind, arch in IMAGES]
    rows = "".join(f"  {{ TGCRT_IMAGE_{kind}, {arch}, net_image{i}, {len(text[i])} }},\n" for i, (kind, arch) in enumerate(IMAGES))
    names = "".join(f"extern const unsigned char net_image{i}[];\n" for i in range(len(IMAGES)))
    made = "".join(f'extern const unsigned char net_image{i}[];\nconst unsigned char net_image{i}[] = {json.dumps(t)};\n' for i, t in enumerate(text))
    return {"isa": "cuda-sm_80", "device": "cuda", "device_handle": "CUdeviceptr", "options": "", "images": "yes",
            "image_names": names, "image_rows": rows}, {"images.c": made}


def of_metal():
    kernels = (TESTS / "metal-runtime/net.metal").read_text()
    head = (STUB / "head.metal.in").read_text().split("@text\n")[1].partition("\n@")[0] + "\n"
    text = fill("net.metal.in", {"net": "net", "version": "0", "isa": "metal-apple7", "pragmas": "", "prelude": head, "kernels": kernels})
    return {"isa": "metal-apple7", "device": "metal", "device_handle": "id<MTLBuffer>", "options": "", "images": "",
            "source_sha256": hashlib.sha256(text.encode()).hexdigest(),
            "source_lines": "".join(f"  {json.dumps(line)},\n" for line in text.splitlines(keepends=True))}, {"net.metal": text}


def files(folder, interface="opencl", **more):
    """net.h, net.c, check.c and what they need, in a folder; more: words that differ"""
    own, own_files = {"opencl": of_opencl, "cuda": of_cuda, "metal": of_metal}[interface]()
    places, launches, first = "", "", 0
    for function, grid, block, of in LAUNCHES:
        launches += f"  {{ {function}, {first}, {len(of)}, {{ {', '.join(map(str, grid))} }}, {{ {', '.join(map(str, block))} }} }},\n"
        places += "".join(f"  {{ {m}, {n}, {at} }},\n" for m, n, at in of)
        first += len(of)
    fields = lambda rows, const: "".join(f"  {const}{ctype} *{name};\n" for name, ctype, *_ in rows)
    slots = lambda rows: "".join(f'  {{ "{n}", "{t}{s}", \'{c}\', {b}, {elements(s)} }},\n' for n, _, t, s, b, c in rows)
    value_words = [values(kind, rows) for kind, rows in (("input", INPUTS), ("output", OUTPUTS), ("state", STATES))]
    words = {
        "net": "net", "NET": "NET", "version": "0", "abi_major": "1", "abi_minor": "3",
        "interface": "01234567", "weight_bytes": str(len(weights)), "weights_sha256": hashlib.sha256(weights).hexdigest(), "cpu": "0",
        "arena_bytes": f"TGCRT_{interface.upper()}_BYTES({len(LAUNCHES)}, {len(INPUTS)}, {len(OUTPUTS)}, {len(STATES)})",
        "device_bytes": str(WORK_BYTES + len(weights) + 64 * 6), "nlaunches": str(len(LAUNCHES)), "ninputs": str(len(INPUTS)),
        "noutputs": str(len(OUTPUTS)), "shapes": "", "input_fields": fields(INPUTS, "const "), "output_fields": fields(OUTPUTS, ""),
        "fat": "", "sizes": "", "derived": "", "appends": "", "embed": "", "entries": "", "stepped": "", "capacity": "", "states": "yes", "guarded": "yes", "guard_at": str(GUARD_AT),
        "functions": '#ifndef EXCHANGE\n#define EXCHANGE ""\n#endif\n' + "".join(f'  "{f}" EXCHANGE,\n' for f in FUNCTIONS), "places": places, "launches": launches,
        "input_bytes": "".join(f"{elements(s) * b}, " for _, _, _, s, b, _ in INPUTS),
        "output_bytes": "".join(f"{elements(s) * b}, " for _, _, _, s, b, _ in OUTPUTS),
        "work_bytes": str(WORK_BYTES), "needs": "NEEDS", "max_block": "8", "shared_bytes": "16",
        "gather_v": "".join(f"  inputs[{i}] = in->{r[0]};\n" for i, r in enumerate(INPUTS)) +
                    "".join(f"  outputs[{i}] = out->{r[0]};\n" for i, r in enumerate(OUTPUTS)),
        "value_declarations": "".join(v[0] for v in value_words), "value_functions": "".join(v[1] for v in value_words),
        "names": "total, past", "nstates": str(len(STATES)), "state_at": str(STATE_AT), "state_bytes": str(STATE_BYTES),
        "state_rows": STATE_ROWS, "state_shapes": "", "input_slots": slots(INPUTS), "output_slots": slots(OUTPUTS),
        "assign": "".join(f"  in.{r[0]} = (const {r[1]} *)input[{i}];\n" for i, r in enumerate(INPUTS)) +
                  "".join(f"  out.{r[0]} = ({r[1]} *)output[{i}];\n" for i, r in enumerate(OUTPUTS)),
    }
    words.update(own, **more)
    words.update(state_declarations=fill("state.h.in", words), state_functions=fill("state.c.in", words))
    folder.mkdir(parents=True, exist_ok=True)
    for name, of in (("net.h", "net.h.in"), ("net.c", "device.c.in"), ("check.c", "check.c.in")):
        (folder / name).write_text(fill(of, words))
    for name, text in own_files.items():
        (folder / name).write_text(text)
    (folder / "net_weights.bin").write_bytes(weights)
    return folder
