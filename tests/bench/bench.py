#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures tgc on networks and on single layers, and prints tables in Markdown; arguments are words a row's name must
contain one of. --docs FILE writes the tables there too.

Networks: `tgc bench --vs-ort` on the nine light networks of the official tests with random weights, on those that
make_models.py builds, and on the largest real ones of TGC_MODELS that tgc compiles. Layers: `tgc profile` on single
layers of such networks, against the rate of multiply-adds and the read bandwidth measured in the same run, and against
oneDNN where its library is there. Architectures: as networks, small ones of kinds that are not among those (architectures.py, exported.py).
Environment:
  TGC, BUILD, CC, CXX as in the tests
  TGC_PYTHON          a Python with onnx, onnxruntime and numpy (python3); without it there is no peer, said loudly
  TGC_MODELS          folder of models (../shared/models beside the repository)
  TGC_ONNX_TESTS      the official tests, for the light networks
  TGC_BENCH_ARGS      more arguments of tgc bench and tgc profile, such as --isa=native-avx512f
  TUNE                how long to search schedules for each network, such as 60s: tgc tune leaves them as a lock file in
                      the build folder (bench/locks). Networks that have one, from now or before, are measured with it,
                      too; one whose kernels have changed since is made anew, or said to be stale. The architectures are
                      not tuned, but measured with lock files that are there
  THREADS             numbers of threads, a pair of columns each ("1 2")
  SECONDS, ROUNDS     how long each competitor runs (0.5), how often that is repeated (1): the round of the median
                      ratio counts, among those that nothing disturbed if there are any"""
import json
import math
import os
import pathlib
import platform
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from fixtures import BUILD, LIGHTS, MODELS, NAMED, TGC, onnx_tests

WORK = BUILD / "bench"
PYTHON = os.environ.get("TGC_PYTHON", "python3")
ROUNDS, SECONDS = int(os.environ.get("ROUNDS", 1)), os.environ.get("SECONDS", "0.5")
THREADS = [int(n) for n in os.environ.get("THREADS", "1 2").split()]
TUNE = os.environ.get("TUNE")
MORE = os.environ.get("TGC_BENCH_ARGS", "").split()
MORE = MORE if any(a.startswith(("--isa", "--machine")) for a in MORE) else ["--isa=native", *MORE]
BUILT = "mobilenetv2 resnet18 resnet18_qdq bert_base gpt2_decode".split()
OTHERS = ("unet efficientnet resnext convnext style_transfer deeplab dcgan vit swin mlp_mixer whisper_encoder llama_decode "
          "wavenet bilstm yolov8 diffusion_unet conformer hifigan t5_decoder seq2seq dgcnn graph_network").split()
STATES = {n: ["--state=past_*=*"] for n in ("gpt2_decode", "llama_decode", "t5_decoder")} # caches stay in the bundle; ONNX Runtime takes and gives them
SIZES = {name: [f"--dim={d}" for d in dims.split()] for name, dims in NAMED} # those of the data that they are measured with
REAL = ("libtashkeel-fp32 silero-vad dtln-1 silero-vad-v3 openpilot-dmonitoring yolox-nano mobilenetv2-int8-qdq facemesh-v2-fp16 squeezenet-fp16 ultraface-rfb-320 fastestdet "
        "mujoco-go1-policy ppocr-v2-cls tinybert selfie-segmentation yunet-n-dynamic mnist-8").split()
KERNELS = ("gemm 128x768x3072,gemm 128x3072x768,conv 1x1 56x56 64-64,conv 1x1 56x56 64-256,conv 1x1 28x28 128-512,"
           "conv 1x1 14x14 1024-256,conv 1x1 7x7 512-2048,conv 3x3 56x56 64-64,conv 3x3 28x28 128-128,conv 3x3 14x14 256-256,"
           "conv 3x3 7x7 512-512,depthwise 56x56 144,depthwise 7x7 960,gemv 768x3072,gemv 9216x4096,softmax 1536x128,"
           "layer norm 128x768,exp 256x256,tanh 256x256,erf 256x256,sigmoid 256x256,gelu 256x256,sin 256x256").split(",")


def loud(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def run(*args):
    return subprocess.run([str(a) for a in args], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True).stdout


def can_import(*modules):
    p = subprocess.run([PYTHON, "-c", f"import {', '.join(modules)}"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return not p.returncode


def made(name, *source):
    """the path of a model of make_models.py, made once"""
    target = WORK / "models" / f"{name.replace(' ', '_')}.onnx"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".part")
        run(PYTHON, HERE / "make_models.py", name, part, *source)
        part.rename(target)
    return target


def networks(names, words, can_make):
    """-> name, model, arguments"""
    wanted = [n for n in names if not words or any(w in n for w in words)]
    folder, why = onnx_tests("light") if any(n in LIGHTS for n in wanted) else (None, "")
    for name in wanted:
        if name in REAL:
            if (MODELS / name).is_dir():
                yield name, MODELS / name / "model.onnx", ["--data", MODELS / name / "ort_ref/set_0"]
            else:
                loud(f"SKIPPED: {name}; not in TGC_MODELS")
        elif not can_make or (name in LIGHTS and not folder):
            loud(f"SKIPPED: {name}; {why if can_make else f'{PYTHON} has no onnx and numpy'}")
        else:
            yield name, made(name, *([folder / f"light_{name}.onnx"] if name in LIGHTS else [])), STATES.get(name, [])


# ---- networks ----
UNTUNED = ["--no-tune-store", "--schedule=none"]
NEAR_FLOOR = 1.25  # ONNX Runtime takes at most so many times the least time that is possible


def compiled(name):
    """arguments that a network is compiled with whenever it is measured"""
    return [*SIZES.get(name, []), *STATES.get(name, []), *MORE]


def is_stale(name, model, lock):
    """most of its schedules are for kernels that the network does not have any more; with the others a few may not be there, as
    which kernels run as a group depends on what they cost"""
    lines = {text.split()[0] for text in lock.read_text().splitlines()[1:] if text and text[0] != "#"}
    report = json.loads(run(TGC, "inspect", model, "--json", "-q", "--isa=native", "--no-tune-store", f"--schedule={lock}",
                            *machine_of_locks(), *compiled(name)))
    unused = lines - {n["key"] for k in report["kernels"] for n in k["nests"] if n["from"] == "lock"}
    stale = 2 * len(unused) > len(lines)
    if stale:
        loud(f"STALE: {len(unused)} of {len(lines)} schedules in {lock} belong to no kernel of {name}")
    return stale


def machine_of_locks():
    """arguments for the facts of this CPU with which all networks are tuned: other facts lead to other decisions, in a tuned
    bundle and in one that is not"""
    path = WORK / "locks/machine"
    if any(a.startswith("--machine") for a in MORE):
        return []
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(run(TGC, "devices", "--measure", "-q"))
    return [f"--machine={path}"]


def lock_of(name, model, tune):
    """arguments that take the schedules searched for a network, or nothing"""
    lock = WORK / "locks" / f"{name}.tgc-lock"
    good = lock.exists() and not is_stale(name, model, lock)
    if tune and not good:
        lock.parent.mkdir(parents=True, exist_ok=True)
        run(TGC, "tune", model, "-q", f"--time={tune}", "-o", lock, f"--tune-db={WORK / 'tune.db'}", *machine_of_locks(),
            *compiled(name))
        good = lock.exists()
    return ["--no-tune-store", f"--schedule={lock}", *machine_of_locks()] if good else None


def measure(model, args, threads, peer):
    """the report of tgc bench for the round of the median ratio"""
    rounds = []
    for _ in range(ROUNDS):
        peers = ["--vs-ort"] if peer else []
        rounds.append(json.loads(run(TGC, "bench", model, "--json", "-q", f"--threads={threads}", f"--seconds={SECONDS}",
                                     *peers, *args, *MORE)))
    quiet = [r for r in rounds if not r["disturbed"]] or rounds
    quiet.sort(key=lambda r: r["ratio"] if peer else r["latency"]["median_ms"])
    return quiet[len(quiet) // 2]


def near_floor(report):
    """ONNX Runtime's time is so close to the floor that no code can be much faster"""
    return report.get("floor", {}).get("ort_times", math.inf) <= NEAR_FLOOR


def digits(t):
    return f"{t:.3g}" if t < 100 else f"{t:.0f}"


def mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


class Networks:
    def __init__(self, peer, names, tune=None):
        self.peer, self.rows, self.tune = peer, [], tune
        self.tuned = tune or any((WORK / "locks" / f"{name}.tgc-lock").exists() for name in names)
        self.heads = ["model", "kernels", "weights MB", "code kB", "tgc s", "cc s", "start ms"]
        for n in THREADS:
            self.heads += [f"{n}T floor ms", f"{n}T ms", *([f"{n}T ORT ms", f"{n}T speed"] if peer else [])]
        if self.tuned:
            self.heads += [f"tuned {n}T {what}" for n in THREADS for what in (("ms", "speed", "gain") if peer else ("ms", "gain"))]
        self.heads += [f"{n}T / {THREADS[0]}T" for n in THREADS[1:]]

    def add(self, name, model, args):
        lock = lock_of(name, model, self.tune) if self.tuned else None
        plain = [measure(model, [*args, *UNTUNED], n, self.peer) for n in THREADS]
        tuned = [measure(model, [*args, *lock, "--vs-untuned"], n, self.peer) for n in THREADS] if lock else []
        for r in plain + tuned:
            if r.get("floor", {}).get("times", 1) < 1:
                loud(f"WRONG: {name} takes less time than its floor: {r['floor']}")
        self.rows.append((name, plain, tuned))
        return self.cells(*self.rows[-1])

    def cells(self, name, reports, tuned):
        first = reports[0]
        cells = [name, str(first["kernels"]), f"{first['weight_bytes'] / 1e6:.1f}", f"{first['code_bytes'] / 1e3:.0f}",
                 f"{first['tgc_s']:.2f}", f"{first['cc_s']:.1f}", f"{first['map_ms'] + first['init_ms']:.2f}"]
        for r in reports:
            cells += [digits(r["floor"]["ms"]) if "floor" in r else "-", digits(r["latency"]["median_ms"]) + "*" * r["disturbed"]]
            if self.peer:
                cells += [digits(r["ort"]["latency"]["median_ms"]), f"{r['ratio']:.2f}" + " #" * near_floor(r)]
        for r in tuned or [None] * len(THREADS) * bool(self.tuned):
            cells += [digits(r["latency"]["median_ms"]) + "*" * r["disturbed"] if r else "-"]
            if self.peer:
                cells += [f"{r['ratio']:.2f}" if r else "-"]
            cells += [f"{r['gain']:.2f}" if r else "-"]
        return cells + [f"{first['latency']['median_ms'] / r['latency']['median_ms']:.2f}" for r in reports[1:]]

    def last(self):
        """geometric means of the ratios"""
        cells = ["geometric mean"] + [""] * 6
        for i in range(len(THREADS)):
            cells += ["", "", *(["", f"{mean([r[i]['ratio'] for _, r, _ in self.rows]):.2f}"] if self.peer else [])]
        for i in range(len(THREADS) if self.tuned else 0):
            tuned = [t[i] for _, _, t in self.rows if t]
            cells += ["", f"{mean([t['ratio'] for t in tuned]):.2f}"] if self.peer else [""]
            cells += [f"{mean([t['gain'] for t in tuned]):.2f}"]
        return cells + [""] * (len(THREADS) - 1)


# ---- layers ----
def can_build_onednn():
    WORK.mkdir(parents=True, exist_ok=True)
    return not subprocess.run([*os.environ.get("CXX", "c++").split(), "-std=c++17", "-O2", "-o", WORK / "onednn", HERE / "onednn.cpp", "-ldnnl"],
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def onednn(name):
    """-> microseconds, or None: oneDNN has no such layer (onednn.cpp)"""
    done = subprocess.run([WORK / "onednn", name, SECONDS], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, OMP_NUM_THREADS="1"))
    if done.returncode not in (0, 3):
        raise ValueError(f"onednn ended with {done.returncode}")
    return None if done.returncode else float(done.stdout)


def direct_flops(name):
    """of a dense convolution by its definition, however it is computed; 0: it is none"""
    shape = re.fullmatch(r"conv (\d+)x\d+ (\d+)x\d+ (\d+)-(\d+)", name)
    k, size, cin, cout = map(int, shape.groups()) if shape else (0, 0, 0, 0)
    return 2 * size ** 2 * cout * cin * k ** 2


class Layers:
    def __init__(self, peer):
        self.peer = peer
        self.heads = ["layer", "us", "GFLOP/s", "% of peak", "GB/s", "% of reading", "G elements/s", "kernels", "NCHW us"]
        self.heads += ["oneDNN us", "speed"] if peer else []

    def profile(self, name):
        rounds = [json.loads(run(TGC, "profile", made(name), "--json", "-q", f"--seconds={SECONDS}", *MORE)) for _ in range(ROUNDS)]
        return sorted(rounds, key=lambda p: p["ms"])[len(rounds) // 2]

    def add(self, name):
        has_channels = name.startswith(("conv", "depthwise"))
        before = self.peer and onednn(name)
        r = self.profile(f"{name} last" if has_channels else name)
        flops = direct_flops(name) or sum(k["flops"] for k in r["kernels"])
        moved = sum(k["bytes_read"] + k["bytes_written"] for k in r["kernels"])
        gflops, gbs, elements = flops / r["ms"] * 1e-6, moved / r["ms"] * 1e-6, max(k["bytes_written"] for k in r["kernels"]) / 4
        disturbed = "*" * (r["foreign_cpus"] > 0.1)
        cells = [name, f"{r['ms'] * 1e3:.1f}{disturbed}", f"{gflops:.1f}", f"{gflops / r['peak_gflops']:.0%}", f"{gbs:.1f}",
                 f"{gbs / r['read_gbs']:.0%}", f"{elements / r['ms'] * 1e-6:.2f}", str(len(r["kernels"])),
                 f"{self.profile(name)['ms'] * 1e3:.1f}" if has_channels else "-"]
        if self.peer:
            best = min(before, onednn(name)) if before else None
            cells += [f"{best:.1f}", f"{best / r['ms'] * 1e-3:.2f}"] if best else ["-", "-"]
        return cells


# ---- threads ----
class Pool:
    heads = ["threads", "wake us", "call us", "asleep: wake us", "asleep: call us", "arithmetic", "reading"]

    def add(self, threads):
        WORK.mkdir(parents=True, exist_ok=True)
        program, stub = WORK / "pool", HERE.parent.parent / "runtime_stub"
        run(*os.environ.get("CC", "cc").split(), "-O3", "-I", stub, "-o", program, HERE / "pool.c", stub / "tgcrt_pool.c", stub / "tgcrt.c", "-lpthread")
        rounds = [json.loads(run(program, str(threads))) for _ in range(5)]
        middle = {k: sorted(r[k] for r in rounds)[2] for k in rounds[0]}
        return [str(threads), *(f"{middle[k] / 1e3:.2f}" for k in ("wake_ns", "call_ns", "asleep_wake_ns", "asleep_call_ns")),
                *(f"{middle[k]:.2f}" for k in ("multiply_add_gain", "reading_gain"))]


# ---- tables ----
def line(cells):
    return "| " + " | ".join(cells) + " |"


class Table:
    """printed as it grows, kept for the page"""
    def __init__(self, heads):
        self.lines = []
        self.add(heads)
        self.add(["---"] + ["---:"] * (len(heads) - 1))

    def add(self, cells):
        self.lines.append(line(cells))
        print(self.lines[-1], flush=True)


def measure_machine():
    """measures this CPU, and keeps its facts apart from those of the user"""
    os.environ["XDG_CACHE_HOME"] = str(WORK / "cache")
    WORK.mkdir(parents=True, exist_ok=True)
    run(TGC, "devices", "--measure", "-q")


def machine(peer, has_onednn):
    cpu = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    ort = run(PYTHON, "-c", "import onnxruntime; print(onnxruntime.__version__)").strip() if peer else ""
    return (f"{cpu[1] if cpu else 'unknown CPU'} ({platform.machine()}), {os.cpu_count()} CPUs; "
            f"{run(os.environ.get('CC', 'cc'), '--version').splitlines()[0]}; {f'ONNX Runtime {ort}' if ort else 'no ONNX Runtime'}"
            f"{'; oneDNN ' + run(WORK / 'onednn').strip() if has_onednn else ''}.")


NETWORKS_NOTE = """Each row is `tgc bench MODEL --vs-ort --threads=N --seconds={seconds}{more}`, which alternates between the bundle
and ONNX Runtime in blocks of 30 ms. Latencies are medians; speed is ONNX Runtime's over tgc's, so above 1 tgc is
faster. Code is the read-only memory of the bundle's shared library for this CPU (`--isa=native`): instructions, constants, and
tables of the dynamic linker. Start is mapping the weights and `net_init`.
Schedules come from the compiler's own model (`--no-tune-store --schedule=none`),
in the columns `tuned` from `tgc tune`. Gain is the time of a bundle without tuned schedules over the time with them, both in turn in
one run (`--vs-untuned`). Networks from squeezenet to gpt2_decode have random weights.
A star marks a row that other processes disturbed.

The floor is a lower bound of the time on this machine: the longer one of two times.
- Multiply-adds: products that the bundle adds up, over the peak rate of their type, `fma`, `bf16` or `int8`, on N cores.
- Reading: bytes of weights, inputs and states that a run reads, less the size of the caches, over the rate of what lies behind
  the caches, `l3_read` or `memory_read` (`all_read` for several cores).

`tgc devices --measure` has measured the rates just before, and the compiler has counted the work. A # marks a speed where ONNX Runtime
takes at most 1.25 times the floor, so that no code can be much faster than it."""
OTHERS_NOTE = """Small networks with random weights, of kinds that are not among those above (`tests/bench/architectures.py`, and from yolov8 on
`exported.py`, as exporters write them), measured as they are."""
LAYERS_NOTE = """Each row is `tgc profile LAYER --seconds={seconds}{more}`, one thread. `% of peak` compares with the rate of
multiply-adds in registers, and `% of reading` with the rate of reading as many bytes as the layer has again and again. Both rates are
measured in the same run. The arithmetic of a convolution is that of its definition; Winograd's algorithm needs less, and may exceed
the peak. Convolutions have their channels last, as between the layers of a network. `NCHW us` is their time in ONNX's order, with all
transposing. oneDNN's time is the better one of a run before and one after (`tests/bench/onednn.cpp`). Its data is in the formats that
it prefers, and the conversion is not counted. Speed is oneDNN's time over tgc's."""

POOL_NOTE = """Each row is `tests/bench/pool.c`: from the call that hands out a job until another thread begins with its chunk, and the whole
call of a job without work; while the threads look for work, and after a pause in which they fell asleep. Then what so many
threads are over one at best: `arithmetic` at multiplying and adding in registers, `reading` at memory outside of all caches. Medians."""


def main():
    words, docs = sys.argv[1:], None
    if "--docs" in words:
        at = words.index("--docs")
        docs = words[at + 1]
        words[at:at + 2] = []
    peer, can_make, failed = can_import("onnxruntime", "numpy"), can_import("onnx", "numpy"), 0
    if not peer:
        loud(f"SKIPPED: ONNX Runtime; {PYTHON} has no onnxruntime and numpy (set TGC_PYTHON)")
    layers = [n for n in KERNELS if can_make and (not words or any(w in n for w in words))]
    has_onednn = bool(layers) and can_build_onednn()
    if layers and not has_onednn:
        loud("SKIPPED: oneDNN; its library or a C++ compiler is not there (Debian: libdnnl-dev)")
    if words != ["pool"]:
        measure_machine()
    page = ["# Benchmarks", "", "This page is for readers who want to know how fast bundles are. Made by `make bench-docs`; do not edit.", "", machine(peer, has_onednn), ""]
    for title, part, cases, note in (
            ("Networks", Networks(peer, [*LIGHTS, *BUILT, *REAL], TUNE), networks(LIGHTS + BUILT + REAL, words, can_make), NETWORKS_NOTE),
            ("Architectures", Networks(peer, OTHERS), networks(OTHERS, words, can_make), OTHERS_NOTE),
            ("Layers", Layers(has_onednn), [(n,) for n in layers], LAYERS_NOTE),
            ("Threads", Pool(), [(n,) for n in THREADS if n > 1 and (not words or "pool" in words)], POOL_NOTE)):
        table = None
        for case in cases:
            table = table or Table(part.heads)
            try:
                table.add(part.add(*case))
            except (subprocess.CalledProcessError, OSError, ValueError) as e:
                loud(f"FAILED: {case[0]}: {e}")
                failed += 1
        if table and isinstance(part, Networks) and part.rows:
            table.add(part.last())
        if table:
            page += [f"## {title}", "", note.format(seconds=SECONDS, more="".join(f" {a}" for a in MORE)), "", *table.lines, ""]
            print()
    if len(page) <= 6:
        loud("nothing was measured")
        return 1
    print(page[4])
    if docs:
        pathlib.Path(docs).write_text("\n".join(page))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
