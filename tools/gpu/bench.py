#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times of bundles on the GPU of this machine, beside PyTorch (eager, and torch.compile) and ONNX Runtime where it has a provider for
CUDA: ResNet-50, BERT-base, one token of GPT-2 behind 512 others, and products of 4096 x 4096, with batches of 1 and 32. Large
models are exported here, from torchvision and from configurations of transformers, with weights from a seed. Nothing is
downloaded. Without a GPU it says so and ends well. Takes ten minutes at most, and writes gpu-bench-DEVICE.md beside this file.
Arguments: words of rows' names. Environment: TGC, CC, GPU_BENCH_SECONDS (570), GPU_BENCH_SIZE (4096, of products)."""
import ctypes
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE, HERE.parent):  # in the kit, and in tools/ of the repository
    if (folder / "onnxfile.py").exists():
        sys.path.insert(0, str(folder))
import onnxfile  # noqa: E402

TGC = os.environ.get("TGC") or str(HERE / "tgc")
CC = os.environ.get("CC", "cc").split()
BEGUN, LIMIT = time.monotonic(), float(os.environ.get("GPU_BENCH_SECONDS", "570"))
SIZE = int(os.environ.get("GPU_BENCH_SIZE", "4096"))
PAST, TOKENS = 512, 128
RUNS, SECONDS = 200, 2.0  # at most, for each number
COMPETITORS = ("tgc", "eager", "compile", "ort")


class Missing(Exception):
    """why there is no number"""


def left():
    return LIMIT - (time.monotonic() - BEGUN)


def median_ms(run, wait):
    """of runs that each wait for their end, after some that warm up"""
    for _ in range(3):
        run()
    wait()
    times, end = [], time.perf_counter() + SECONDS
    while len(times) < RUNS and (len(times) < 5 or time.perf_counter() < end):
        start = time.perf_counter()
        run()
        wait()
        times.append((time.perf_counter() - start) * 1e3)
    return sorted(times)[len(times) // 2]


# ---- the driver, for memory of the device ----
class Cuda:
    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)

    def call(self, name, *args):
        result = getattr(self.lib, name)(*args)
        if result:
            raise Missing(f"{name}: CUDA error {result}")

    def use(self, context):
        self.call("cuCtxPushCurrent" + self.suffix("cuCtxPushCurrent"), ctypes.c_void_p(context))

    def suffix(self, name):
        return "_v2" if hasattr(self.lib, name + "_v2") else ""

    def take(self, data):
        """memory of the device with these bytes, or of so many zeros"""
        n = data if isinstance(data, int) else len(data)
        p = ctypes.c_uint64()
        self.call("cuMemAlloc" + self.suffix("cuMemAlloc"), ctypes.byref(p), ctypes.c_size_t(max(n, 1)))
        if not isinstance(data, int):
            self.call("cuMemcpyHtoD" + self.suffix("cuMemcpyHtoD"), p, ctypes.c_char_p(data), ctypes.c_size_t(n))
        return p.value

    def read(self, p, n):
        data = ctypes.create_string_buffer(n)
        self.call("cuMemcpyDtoH" + self.suffix("cuMemcpyDtoH"), data, ctypes.c_uint64(p), ctypes.c_size_t(n))
        return data.raw

    def give(self, p):
        self.call("cuMemFree" + self.suffix("cuMemFree"), ctypes.c_uint64(p))


# ---- bundles ----
class Bundle:
    def __init__(self, model, folder, device, cuda):
        self.cuda, start = cuda, time.monotonic()
        arch = "sm_" + device["version"].split()[-1].replace(".", "")
        done = None
        for archs in ([f"--arch={arch}"], []):  # a new GPU may be one that this tgc does not know
            shutil.rmtree(folder, ignore_errors=True)
            done = subprocess.run([TGC, "compile", str(model), "--backend=cuda", f"--isa={device['isa']}", *archs, "--name=net", "-q", "-o",
                                   str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=max(left(), 1))
            if not done.returncode:
                break
        if done.returncode:
            raise Missing("tgc: " + (done.stderr.strip().splitlines() or ["?"])[-1])
        self.compiled_s = time.monotonic() - start
        if not shutil.which(CC[0]):
            raise Missing(f"there is no C compiler '{CC[0]}', which links the bundle")
        sources = [str(p) for pattern in ("*.c", "*.S") for p in sorted(folder.glob(pattern)) if p.name not in ("example.c", "check.c", "net_weights.S")]
        subprocess.run([*CC, "-std=c99", "-O2", "-shared", "-fPIC", f"-I{folder}", f"-Wa,-I{folder}", "-o", str(folder / "net.so"), *sources, "-ldl",
                        "-lm", "-pthread"], check=True, cwd=folder)
        self.so = ctypes.CDLL(str(folder / "net.so"))
        for name in ("net_arena_bytes", "net_weights_bytes", "net_ctx_bytes", "net_input_count", "net_output_count", "net_input_bytes",
                     "net_output_bytes"):
            getattr(self.so, name).restype = ctypes.c_size_t
        self.ctx = ctypes.create_string_buffer(self.so.net_ctx_bytes())
        n = self.so.net_arena_bytes()
        self.arena = ctypes.create_string_buffer(n + 64)
        at = ctypes.addressof(self.arena)
        weights = ctypes.c_void_p()
        self.ok(self.so.tgcrt_map(str(folder / "net_weights.bin").encode(), ctypes.c_size_t(self.so.net_weights_bytes()), ctypes.byref(weights)))
        self.ok(self.so.net_init(self.ctx, ctypes.c_void_p(at + -at % 64), ctypes.c_size_t(n), weights, ctypes.c_size_t(self.so.net_weights_bytes())))
        context = ctypes.c_void_p()
        self.cuda.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), int(device["device"]))
        cuda.use(context.value)
        self.memory = []

    def ok(self, status):
        if status:
            self.so.tgcrt_strerror.restype = ctypes.c_char_p
            raise Missing("the bundle: " + self.so.tgcrt_strerror(status).decode())

    def time(self, inputs):
        """inputs: bytes of each -> ms, bytes of each output"""
        sizes = [self.so.net_input_bytes(ctypes.c_size_t(i)) for i in range(self.so.net_input_count())]
        if [len(b) for b in inputs] != sizes:
            raise Missing(f"the bundle takes inputs of {sizes} bytes, not of {[len(b) for b in inputs]}")
        outs = [self.so.net_output_bytes(ctypes.c_size_t(i)) for i in range(self.so.net_output_count())]
        given, made = [self.cuda.take(b) for b in inputs], [self.cuda.take(n) for n in outs]
        self.memory = given + made
        a, b = (ctypes.c_void_p * len(given))(*given), (ctypes.c_void_p * len(made))(*made)
        ms = median_ms(lambda: self.ok(self.so.net_run_on(self.ctx, a, b)), lambda: self.ok(self.so.net_sync(self.ctx, ctypes.c_int64(-1))))
        return ms, [self.cuda.read(p, n) for p, n in zip(made, outs)]

    def close(self):
        for p in self.memory:
            self.cuda.give(p)
        self.so.net_close(self.ctx)


# ---- models ----
def with_torch():
    try:
        import torch
    except ImportError:
        raise Missing("PyTorch is not here")
    if not torch.cuda.is_available():
        raise Missing("this PyTorch has no CUDA")
    torch.manual_seed(0)
    return torch


def resnet50(batch):
    torch = with_torch()
    try:
        import torchvision
    except ImportError:
        raise Missing("torchvision is not here")
    return torchvision.models.resnet50(weights=None).eval(), (torch.randn(batch, 3, 224, 224),)


def bert(batch):
    torch = with_torch()
    try:
        import transformers
    except ImportError:
        raise Missing("transformers is not here")

    class Last(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = transformers.BertModel(transformers.BertConfig(attn_implementation="eager"), add_pooling_layer=False)

        def forward(self, tokens):
            return self.model(tokens, return_dict=False)[0]
    return Last().eval(), (torch.randint(0, 30000, (batch, TOKENS)),)


def gpt2(batch):
    """one step behind PAST tokens, whose keys and values are an input"""
    torch = with_torch()
    try:
        import transformers
    except ImportError:
        raise Missing("transformers is not here")
    config = transformers.GPT2Config(attn_implementation="eager")

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = transformers.GPT2LMHeadModel(config)

        def forward(self, token, past):
            pairs = tuple((past[i, 0], past[i, 1]) for i in range(config.n_layer))
            if hasattr(transformers, "DynamicCache"):  # older versions take the pairs themselves
                cache = transformers.DynamicCache()
                for i, pair in enumerate(pairs):
                    cache.update(*pair, i)
                pairs = cache
            return self.model(token, past_key_values=pairs, position_ids=torch.full_like(token, PAST), use_cache=True, return_dict=False)[0]
    heads = config.n_head
    return Step().eval(), (torch.randint(0, 50000, (batch, 1)), torch.randn(config.n_layer, 2, batch, heads, PAST, config.n_embd // heads))


def product(half):
    def make(batch):
        torch = with_torch()

        class Product(torch.nn.Module):
            def forward(self, a, b):
                return a @ b
        kind = torch.float16 if half else torch.float32
        return Product().eval(), (torch.randn(batch, SIZE, SIZE).to(kind), torch.randn(SIZE, SIZE).to(kind))
    return make


def product_file(half, batch, path):
    kind = 10 if half else onnxfile.FLOAT
    values = [onnxfile.value("a", kind, [batch, SIZE, SIZE]), onnxfile.value("b", kind, [SIZE, SIZE])]
    path.write_bytes(onnxfile.model("product", [onnxfile.node("MatMul", ["a", "b"], ["c"])], [], values,
                                    [onnxfile.value("c", kind, [batch, SIZE, SIZE])]))


def values(n, half):
    """n numbers between -1 and 1, as bytes, without numpy"""
    import array
    import random
    import struct
    few = [random.Random(0).uniform(-1, 1) for _ in range(997)]
    block = struct.pack("<997e", *few) if half else array.array("f", few).tobytes()
    return (block * (n // 997 + 1))[:n * (2 if half else 4)]


ROWS = [("ResNet-50", resnet50, None), (f"BERT-base, {TOKENS} tokens", bert, None), (f"GPT-2, one token behind {PAST}", gpt2, None),
        (f"product of {SIZE} x {SIZE}, f32", product(False), False), (f"product of {SIZE} x {SIZE}, f16", product(True), True)]


# ---- competitors ----
def nearest(torch, a, b):
    """the largest difference, relative to the largest element"""
    a, b = a.float().cpu(), b.float().cpu()
    return float((a - b).abs().max() / a.abs().max().clamp_min(1e-9))


def measure(name, make, half, batch, work, device, cuda, say):
    """-> {competitor: ms or why not}, seconds of tgc, difference"""
    row = {c: "" for c in COMPETITORS}
    row["seconds"], row["difference"] = "", ""
    path, torch, model, inputs, expected = work / "model.onnx", None, None, None, None
    try:
        model, inputs = make(batch)
        torch = with_torch()
        if half is None:
            export = {"dynamo": False} if "dynamo" in torch.onnx.export.__code__.co_varnames else {}
            with torch.no_grad():
                torch.onnx.export(model, inputs, str(path), opset_version=17, do_constant_folding=True, **export)
    except Missing as e:
        row["eager"] = row["compile"] = str(e)
        if half is None:
            row["tgc"] = row["ort"] = "there is no model"
    except Exception as e:  # what an exporter may raise
        row["tgc"] = row["ort"] = f"not exported: {str(e).splitlines()[0][:80] if str(e) else type(e).__name__}"
    if half is not None:
        product_file(half, batch, path)
    say("eager")
    if model is not None and torch is not None:
        on = [x.cuda() for x in inputs]
        model = model.cuda()
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False  # as tgc: f32 is f32
        for kind in ("eager", "compile"):
            say(kind)
            try:
                if left() < (20 if kind == "eager" else 90):
                    raise Missing("no time was left")
                f = model if kind == "eager" else torch.compile(model, mode="reduce-overhead")
                with torch.no_grad():
                    if kind == "eager":
                        expected = f(*on)
                    row[kind] = median_ms(lambda: f(*on), torch.cuda.synchronize)
            except Missing as e:
                row[kind] = str(e)
            except Exception as e:  # what Triton may raise
                row[kind] = f"{type(e).__name__}: {str(e).splitlines()[0][:60] if str(e) else ''}"
    if path.exists() and not row["tgc"]:
        say("tgc")
        bundle = None
        try:
            if inputs is not None:
                given = [x.contiguous().numpy().tobytes() for x in inputs]
            elif half is not None:
                given = [values(batch * SIZE * SIZE, half), values(SIZE * SIZE, half)]
            bundle = Bundle(path, work / "net", device, cuda)
            row["seconds"] = bundle.compiled_s
            row["tgc"], made = bundle.time(given)
            if expected is not None:
                got = torch.frombuffer(bytearray(made[0]), dtype=expected.dtype).reshape(expected.shape)
                row["difference"] = nearest(torch, expected, got)
        except Missing as e:
            row["tgc"] = str(e)
        except subprocess.TimeoutExpired:
            row["tgc"] = "no time was left"
        finally:
            if bundle is not None and hasattr(bundle, "memory"):
                bundle.close()
        say("ort")
        try:
            row["ort"] = onnx_runtime(path, given)
        except Missing as e:
            row["ort"] = str(e)
        except Exception as e:
            row["ort"] = f"{type(e).__name__}: {str(e).splitlines()[0][:60] if str(e) else ''}"
    if torch is not None:
        torch.cuda.empty_cache()
    return row


def onnx_runtime(path, given):
    if left() < 30:
        raise Missing("no time was left")
    try:
        import numpy
        import onnxruntime
    except ImportError:
        raise Missing("ONNX Runtime is not here")
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        raise Missing("ONNX Runtime has no provider for CUDA")
    session = onnxruntime.InferenceSession(str(path), providers=["CUDAExecutionProvider"])
    binding, kinds = session.io_binding(), {"tensor(float)": numpy.float32, "tensor(float16)": numpy.float16, "tensor(int64)": numpy.int64}
    for value, data in zip(session.get_inputs(), given):
        array = numpy.frombuffer(data, kinds[value.type]).reshape(value.shape)
        binding.bind_ortvalue_input(value.name, onnxruntime.OrtValue.ortvalue_from_numpy(array, "cuda", 0))
    for value in session.get_outputs():
        binding.bind_output(value.name, "cuda")
    return median_ms(lambda: session.run_with_iobinding(binding), binding.synchronize_outputs)


# ---- the table ----
def find_nvrtc():
    """that of PyTorch's packages, where the system has none"""
    if os.environ.get("TGC_NVRTC"):
        return
    for folder in sys.path:
        found = sorted(glob.glob(os.path.join(folder or ".", "nvidia", "*", "lib", "libnvrtc.so.*[0-9]")))
        if found:
            os.environ["TGC_NVRTC"] = found[-1]
            return


def main():
    words = sys.argv[1:]
    try:
        listed = subprocess.run([TGC, "devices", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        devices = [d for d in json.loads(listed.stdout)["devices"] if d["backend"] == "cuda"]
    except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as e:
        sys.exit(f"gpu-bench: '{TGC} devices' fails: {e}")
    if not devices:
        print("gpu-bench: no GPU of NVIDIA here: nothing was measured")
        return
    device = devices[0]
    os.environ["NET_DEVICE"] = str(device["device"])
    find_nvrtc()
    cuda = Cuda()
    print(f"gpu-bench: {device['name']}, {device['version']}, driver {device['driver']}", flush=True)
    head = ["model", "batch", "tgc ms", "eager ms", "torch.compile ms", "ONNX Runtime ms", "difference", "compiled in s"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    failed = 0
    for batch in (1, 32):
        for name, make, half in ROWS:
            label = f"{name}, batch {batch}"
            if words and not any(w in label for w in words):
                continue

            def say(what):
                if sys.stderr.isatty():
                    print(f"\r{label}: {what}, {left():.0f} s left        ", end="", file=sys.stderr, flush=True)
            if left() < 20:
                row = {c: "no time was left" for c in COMPETITORS} | {"seconds": "", "difference": ""}
            else:
                with tempfile.TemporaryDirectory() as folder:
                    row = measure(name, make, half, batch, pathlib.Path(folder), device, cuda, say)
            failed += not isinstance(row["tgc"], float)
            cells = [f"{row[k]:.4g}" if isinstance(row[k], float) else str(row[k]) for k in (*COMPETITORS, "difference", "seconds")]
            lines.append("| " + " | ".join([name, str(batch), *cells]) + " |")
            print(lines[-1], flush=True)
    table = HERE / ("gpu-bench-" + "".join(c if c.isalnum() else "-" for c in device["name"]) + ".md")
    table.write_text(f"Times on {device['name']}, {device['version']}, driver {device['driver']}, {time.strftime('%d %B %Y')}: medians of at most\n"
                     f"{RUNS} runs that each wait for their end, with inputs and outputs on the device.\n\n" + "\n".join(lines) + "\n")
    print(f"gpu-bench: {table}, after {LIMIT - left():.0f} s")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
