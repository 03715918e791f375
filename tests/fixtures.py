# SPDX-License-Identifier: MIT
"""Where tests find what is not part of the repository: models (TGC_MODELS, else ../shared/models beside it) and the
official ONNX tests (TGC_ONNX_TESTS, a folder or an archive, else ../shared/onnx-node-tests.tar.zst)."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from array import array

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import onnxfile  # noqa: E402

BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build")).resolve()
TGC = os.environ.get("TGC", str(BUILD / "tgc"))
JOBS = int(os.environ.get("JOBS") or os.cpu_count())
SANITIZED = "sanitize" in os.environ.get("TGC_CFLAGS", "")
UNCACHED = {"TGC_OBJECTS": ""}  # for children whose compilers shall compile everything again (tests/cc/cc.c)
MODELS = pathlib.Path(os.environ.get("TGC_MODELS", ROOT / "../shared/models"))
ONNX_TESTS = pathlib.Path(os.environ.get("TGC_ONNX_TESTS", ROOT / "../shared/onnx-node-tests.tar.zst"))

# the models tgc answers for, from small to large, and the sizes of their dynamic dimensions in ort_ref/set_0
NAMED = [
    ("mnist-8", ""), ("mnist-external-data", ""), ("micro-kws-fp32", ""), ("mujoco-go1-policy", ""),
    ("tinybert", "batch=1 sequence=9"), ("bert-toy", "batch=1 max_seq_len_in_batch=9"),
    ("yunet-n-dynamic", "batch=1 height=160 width=192"),
    ("ppocr-v2-cls", "p2o.DynamicDimension.0=1 p2o.DynamicDimension.1=48 p2o.DynamicDimension.2=192"),
    ("ultraface-rfb-320", ""), ("fastestdet", ""), ("selfie-segmentation", ""), ("squeezenet-fp16", ""),
    ("openpilot-dmonitoring", ""), ("facemesh-v2-fp16", ""), ("basic-pitch", "unk__749=1"), ("yolox-nano", ""),
    ("super-resolution-10", "batch_size=2"), ("dtln-1", ""), ("gtcrn-stream", ""), ("gtcrn-stream-simple", ""),
    ("lstm-loop", "sequence=5"), ("cntk-scan", "Sequence=7"), ("silero-vad", "input:0=1 input:1=576 state:1=1"),
    ("silero-vad-v3", "sequence=1536"), ("libtashkeel-fp32", "batch=1 seq=24"),
]
# the official light networks: light_NAME.onnx
LIGHTS = "squeezenet shufflenet inception_v1 inception_v2 densenet121 resnet50 zfnet512 bvlc_alexnet vgg19".split()


def can_compile(compiler):
    """a compiler, with its options, is there, and so are the headers of C for its machine, which clang may lack for other ones"""
    words = compiler.split()
    headers = "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"
    return bool(shutil.which(words[0])) and not subprocess.run(
        [*words, "-x", "c", "-fsyntax-only", "-"], input=headers.encode(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def python_with_numpy():
    """a Python that has NumPy, or None"""
    for program in (os.environ.get("TGC_PYTHON"), sys.executable, "/usr/bin/python3"):
        if program and not subprocess.run([program, "-c", "import numpy"], capture_output=True).returncode:
            return program
    return None


def onnx_tests(part):
    """a folder of the official tests ("light", "node", ...), unpacked once per build folder; or None, and why"""
    for folder in (ONNX_TESTS / part, ONNX_TESTS / "onnx-backend-test-data" / part):
        if folder.is_dir():
            return folder, ""
    if not ONNX_TESTS.is_file():
        return None, f"no {ONNX_TESTS.name}"
    if not shutil.which("zstd"):
        return None, "no zstd to unpack the official tests"
    folder = BUILD / "onnx-tests" / part
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            member = f"onnx-backend-test-data/{part}"
            archive = str(ONNX_TESTS.resolve())
            subprocess.run(["tar", "-C", scratch, "--use-compress-program=zstd", "-xf", archive, member], check=True)
            try:
                os.rename(pathlib.Path(scratch) / member, folder)  # whole or not at all
            except OSError:
                if not folder.is_dir():  # else another test was faster
                    raise
    return folder, ""


def light_case(folder, name):
    """vectors of a light network in the form `tgc verify --data` reads: its input is n / size for the n-th element"""
    data = BUILD / "tests/models" / name
    data.mkdir(parents=True, exist_ok=True)
    shape = [1, 3, 224, 224]
    n = shape[1] * shape[2] * shape[3]
    picture = array("f", (i / n for i in range(n)))
    (data / "input_0.pb").write_bytes(onnxfile.tensor("input", onnxfile.FLOAT, shape, picture.tobytes()))
    shutil.copyfile(folder / f"{name}_output_0.pb", data / "output_0.pb")
    return data
