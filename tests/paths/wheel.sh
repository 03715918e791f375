#!/bin/sh
# The wheel is built without a network, installed into a fresh environment, and compiles a model that a NumPy array goes through.
# Prints TAP.
. "$(dirname "$0")/lib.sh"
needs "Python" python3
for python in "$TGC_PYTHON" python3 /usr/bin/python3; do # one that has NumPy: the fresh environment cannot load it from a network
  [ -n "$python" ] && "$python" -c 'import numpy, venv, ensurepip' 2>/dev/null && break
done
"$python" -c 'import numpy, venv, ensurepip' 2>/dev/null || { echo "ok 1 - the wheel # SKIP no Python with NumPy, venv and ensurepip"; echo 1..1; exit 0; }

step "a fresh environment" "$python" -m venv fresh
step "pip wheel, without an index" env BUILD="$BUILD" fresh/bin/python -m pip wheel -q --no-index --no-deps -w wheels "$root/python"
step "pip install, without an index" fresh/bin/python -m pip install -q --no-index --no-deps wheels/tgc-*.whl
# NumPy comes from the other environment, as a wheel would bring it
"$python" -c 'import numpy, os; print(os.path.dirname(os.path.dirname(numpy.__file__)))' >numpy-path
export PYTHONPATH="$(cat numpy-path)" XDG_CACHE_HOME="$work/cache"
cat >try.py <<'END'
import os, sys, time, warnings
import numpy as np
import tgc
warnings.simplefilter("error")
assert "fresh" in tgc.__file__, tgc.__file__
digits, samples = sys.argv[1], sys.argv[2:]
def read(path):
    with open(path, "rb") as file:
        return np.frombuffer(file.read()[-784:], np.uint8).astype("f4").reshape(1, 1, 28, 28) / 255
begin = time.perf_counter()
with tgc.compile(digits) as model:
    compiled = time.perf_counter() - begin
    answers = [int(model.run(image=read(p)).probabilities.argmax()) for p in samples]
    assert answers == list(range(10)), answers
    folder = model.folder
    try:
        model.run(read(samples[0])[0])
    except TypeError as e:
        assert str(e) == "input 'image': shape [1,28,28], expected f32[1,1,28,28]", e
    else:
        raise AssertionError("a wrong shape was taken")
del model
assert not os.path.exists(folder), folder
with open(digits, "rb") as file:
    data = file.read()
with tgc.compile(data, folder="kept", backend="c", threads=2) as model: # by the C compiler, with the pool
    assert model.run(read(samples[7])).probabilities.argmax() == 7
assert os.path.exists("kept/build/libnet.so")
with tgc.Compiler(isa="portable", embed_weights=True) as c:
    c.load(digits)
    assert c.inputs == [tgc.Value("image", "f32", (1, 1, 28, 28))] and c.outputs[0].shape == (1, 10) and c.states == []
    files = c.compile()
    assert "net.c" in files and files["net_weights.bin"]
    report = c.verify()
    assert report["passed"] and report["verb"] == "verify", report
    for name, value, text in (("isa", "i386", "unknown --isa"), ("nothing", 1, "unknown option"), ("output", "x", "for the program")):
        try:
            c.set(name, value)
            c.load(digits)
        except tgc.Error as e:
            assert e.status == tgc.USAGE and text in str(e), (name, e)
        else:
            raise AssertionError(name)
    c.set("isa", "portable")
    try:
        c.load("/nonexistent.onnx")
    except tgc.Error as e:
        assert e.status == tgc.NO_INPUT and e.messages[0].file == "/nonexistent.onnx", e
print(f"{len(answers)} of 10 right; compiled and loaded in {1000 * compiled:.0f} ms")
END
step "tgc.compile(model).run(x)" fresh/bin/python try.py "$digits/digits.onnx" "$digits"/samples/[0-9].pgm
tail -1 step.log >said
step "python -m tgc" sh -c 'fresh/bin/python -m tgc check "'"$digits"'/digits.onnx" | grep -q "can be compiled" && fresh/bin/tgc --version'
number "Python: $(cat said); the wheel has $(($(cat wheels/*.whl | wc -c) / 1024)) KiB"
finish
