# SPDX-License-Identifier: MIT
"""The start of both scripts for ONNX Runtime: ort.py, which measures, and ort_run.py, which makes references."""
import sys
import time

try:
    import numpy as np
    import onnxruntime
except ImportError as e:
    print(f"missing {e.name or e}: TGC_PYTHON names a Python that has onnxruntime and numpy", flush=True)
    sys.exit()



def tell(kind, error, trace):
    """tgc shows the first line, in place of a trace of this script."""
    print("failed:", (str(error).strip() or kind.__name__).splitlines()[0], flush=True)


sys.excepthook = tell
TYPES = {"bool": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "u8": "u1", "u16": "u2", "u32": "u4", "u64": "u8",
         "f16": "f2", "f32": "f4", "f64": "f8"}


