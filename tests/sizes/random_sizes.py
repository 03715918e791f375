#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bundles for ranges beside ONNX Runtime, one thread each, with sizes drawn at random for each call. Prints a table in Markdown:
the geometric mean of the ratio of their times; and that of the first call with a size to the second one, for the bundle. Times
include what a call from Python costs. Arguments: calls (20), names of models (all). ALONE: as for bench.py. Needs numpy and
onnxruntime."""
import ctypes
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

import bench
from twins import Twin

OCR = "p2o.DynamicDimension."
TYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_}
# ranges (low, high, step), and dimensions of one size
ROWS = {"bert_base": ({"length": (1, 512, 1)}, []), "gpt2_decode": ({"past": (1, 511, 1)}, []), "bilstm": ({"length": (1, 512, 1)}, []),
        "tinybert": ({"batch": (1, 4, 1), "sequence": (1, 100, 1)}, []),
        "bert-toy": ({"batch": (1, 3, 1), "max_seq_len_in_batch": (1, 100, 1)}, []),
        "ppocr-v2-cls": ({OCR + "0": (1, 2, 1), OCR + "2": (64, 192, 16)}, [OCR + "1=48"]),
        "yunet-n-dynamic": ({"height": (96, 224, 32), "width": (96, 224, 32)}, ["batch=1"]),
        "super-resolution-10": ({"batch_size": (1, 3, 1)}, []), "mobilenetv2-int8-qdq": ({"batch": (1, 3, 1)}, []),
        "openutau-mel": ({"T": (4, 40, 1)}, [])}


class Net(Twin):
    """a bundle, and a session of ONNX Runtime"""
    def __init__(self, library, weights, model, greatest):
        super().__init__(library, weights)
        assert not self.set_sizes(greatest)
        self.outs = [self.block(self.bytes_of("output", i)) for i in range(self.ask("output_count"))]
        self.to = (ctypes.c_void_p * max(len(self.outs), 1))(*(at for _, at in self.outs))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def inputs(self, sizes, seed):
        """-> feeds for the session, and pointers to the same data"""
        assert not self.set_sizes(sizes)
        r, feeds = np.random.default_rng(seed), {}
        for i in range(self.ask("input_count")):
            rank = self.ask("input_rank", i, result=ctypes.c_int)
            dims = (ctypes.c_int64 * (rank or 1))()
            assert not self.call("input_dims", i, dims)
            kind = TYPES[self.ask("input_type", i, result=ctypes.c_int)]
            x = r.uniform(-1, 1, dims[:rank]) if kind == np.float32 else r.integers(0, 2, dims[:rank])
            feeds[self.ask("input_name", i, result=ctypes.c_char_p).decode()] = np.ascontiguousarray(x.astype(kind))
        return feeds, (ctypes.c_void_p * len(feeds))(*(x.ctypes.data for x in feeds.values()))

    def timed(self, sizes, pointers):
        numbers, set_sizes, run = (ctypes.c_int64 * len(sizes))(*sizes), self.lib["net_set_sizes"], self.lib["net_run_v"]
        ctx = ctypes.c_void_p(self.ctx[1])
        start = time.perf_counter()
        status = set_sizes(ctx, numbers) or run(ctx, pointers, self.to)
        end = time.perf_counter()
        assert not status
        return end - start

    def timed_session(self, feeds):
        start = time.perf_counter()
        self.session.run(None, feeds)
        return time.perf_counter() - start


def measure(net, ranges, calls):
    """-> ratios to ONNX Runtime, ratios of the first call to the second one. In front of each a call with the sizes before, so that
    its own weights are in the caches"""
    r, ratios, firsts, last = random.Random(7), [], [], None
    for k in range(-1, calls):
        sizes = [high if k < 0 else r.randrange(low, high + 1, step) for low, high, step in ranges.values()]
        feeds, pointers = net.inputs(sizes, k + 1)
        for side in (k % 2, 1 - k % 2):
            if side:
                net.timed_session(last[0] if last else feeds)
                other = net.timed_session(feeds)
            else:
                net.timed(*last[1:] if last else (sizes, pointers))
                mine, again = net.timed(sizes, pointers), net.timed(sizes, pointers)
        if k >= 0: # the first turn touches all pages
            ratios.append(other / mine)
            firsts.append(mine / again)
        last = feeds, sizes, pointers
    return ratios, firsts


def main(calls="20", *names):
    means = []
    print(f"| model | ranges | times as fast as ONNX Runtime {onnxruntime.__version__}, mean | least | first call to second |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in names or ROWS:
            ranges, fixed = ROWS[name]
            model = bench.model_of(name, pathlib.Path(folder))
            dims = [f"{d}={low}:{high}:{step}" for d, (low, high, step) in ranges.items()] + fixed
            library, weights, *_ = bench.library(pathlib.Path(folder), "net", model, dims, "native")
            args = [*bench.ALONE, sys.executable, __file__, "--measure", name, library, weights, model, calls]
            ratios, firsts = json.loads(subprocess.run(args, capture_output=True, text=True, check=True).stdout)
            means.append(bench.mean(ratios))
            text = ", ".join(f"{d} {low}-{high}" for d, (low, high, _) in ranges.items())
            print(f"| {name} | {text} | {means[-1]:.2f} | {min(ratios):.2f} | {statistics.median(firsts):.2f} |", flush=True)
    print(f"\nGeometric mean: {bench.mean(means):.2f}")


def measure_one(name, library, weights, model, calls):
    ranges, _ = ROWS[name]
    print(json.dumps(measure(Net(library, weights, model, [high for _, high, _ in ranges.values()]), ranges, int(calls))))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure_one(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
