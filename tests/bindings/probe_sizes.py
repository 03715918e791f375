# SPDX-License-Identifier: MIT
"""The Python interface of a model for ranges of sizes, as in sizes.cpp. The folder of the bundle is in PYTHONPATH. The last line is
"ok"."""
import numpy as np

import net
from probe import Tensor


def refused(error, text, function, *args, **named):
    try:
        function(*args, **named)
    except error as e:
        assert text in str(e), e
        return e
    raise AssertionError(f"nothing was said about {text}")


with net.Model() as model:
    assert model.sizes == {"b": 3, "n": 8} and model.inputs[0].shape == (3, 8)
    for b in (1, 2, 3):
        for n in (2, 4, 6, 8):
            x = np.arange(b * n, dtype=np.float32).reshape(b, n)
            for given in (x, Tensor(x)):
                out = model.run(given)
                assert model.sizes == {"b": b, "n": n} and (out.y == 2 * x).all() and (out.s == x.sum(1)).all()
            y = np.full((b + 1, n), -1, np.float32)
            model.run(x=x, out={"y": y[:b]})
            assert (y[:b] == 2 * x).all() and (y[b] == -1).all() and model.outputs[0].shape == (b, n)
            refused(TypeError, f"output 'y': shape [{b + 1},{n}], expected f32[{b},{n}]", model.run, x, out={"y": y})
    assert refused(net.Error, "size 'b': 4, expected 1 to 3 in steps of 1", model.run, np.zeros((4, 2), np.float32)).status == 17
    refused(net.Error, "size 'n': 3, expected 2 to 8 in steps of 2", model.run, np.zeros((1, 3), np.float32))
    assert model.sizes == {"b": 3, "n": 8}
    refused(TypeError, "input 'x': shape [2], expected f32[3,8]", model.run, np.zeros(2, np.float32))
    refused(TypeError, "input 'x': type float64, expected f32[1,2]", model.run, np.zeros((1, 2)))
    model.set_sizes(b=2)
    assert model.sizes == {"b": 2, "n": 2} and model.outputs[1].shape == (2,)
    refused(TypeError, "no size is named 'm'; there are b, n", model.set_sizes, m=2)
refused(net.Error, "the model is closed", model.set_sizes, b=1)
print("ok")
