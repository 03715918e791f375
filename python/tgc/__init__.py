"""tgc: compiles neural networks to self-contained code, through libtgc.

    with tgc.compile("net.onnx") as model:
        out = model.run(image=picture)
"""
import collections
import ctypes
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
import warnings
import weakref

USAGE, BAD_MODEL, NO_INPUT, MISSING, BUG, NO_WRITE, RETRY = 64, 65, 66, 69, 70, 73, 75  # statuses of tgc.h
Message = collections.namedtuple("Message", "level file node line column text")
Value = collections.namedtuple("Value", "name type shape")


class Error(RuntimeError):
    """A failure: its status, a code of tgc.h, and its messages"""

    def __init__(self, status, messages):
        super().__init__("\n".join(map(_line, messages)) or f"status {status}")
        self.status, self.messages = status, messages


class CompilerWarning(UserWarning):
    pass


def _line(m):
    """a message as the program prints it"""
    where = f"{m.file}:" + (f"{m.line}:{m.column}:" if m.line else "") if m.file else "tgc:"
    return " ".join(filter(None, [where, m.node and m.node + ":", m.text]))


# ---- tgc.h ----
class _Message(ctypes.Structure):
    _fields_ = [("level", ctypes.c_int), ("file", ctypes.c_char_p), ("node", ctypes.c_char_p), ("line", ctypes.c_int),
                ("column", ctypes.c_int), ("text", ctypes.c_char_p)]


class _Value(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_char_p), ("rank", ctypes.c_int), ("dims", ctypes.POINTER(ctypes.c_int64))]


class _File(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


_LISTENER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Message))
_lib = ctypes.CDLL(os.environ.get("TGC_LIBRARY") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtgc.so"))
_pointer, _text, _size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
for _name, _result, _arguments in (
        ("version", _text, []), ("new", _pointer, []), ("free", None, [_pointer]), ("listen", None, [_pointer, _LISTENER, _pointer]),
        ("set", ctypes.c_int, [_pointer, _text, _text]), ("load", ctypes.c_int, [_pointer, _text]),
        ("describe", ctypes.c_int, [_pointer, ctypes.c_int, _size, ctypes.POINTER(_Value)]), ("compile", ctypes.c_int, [_pointer]),
        ("bundle_file", ctypes.c_int, [_pointer, _size, ctypes.POINTER(_File)]), ("write", ctypes.c_int, [_pointer, _text]),
        ("verify", ctypes.c_int, [_pointer, ctypes.POINTER(_text)])):
    _f = getattr(_lib, f"tgc_{_name}")
    _f.restype, _f.argtypes = _result, _arguments

version = _lib.tgc_version().decode()
__version__ = version


def _decode(text):
    return text.decode("utf-8", "replace") if text is not None else None


class Compiler:
    """A compilation, step by step. Options are those of the command line: Compiler(isa="native", max_arena="64k")."""

    def __init__(self, **options):
        self._messages = []
        self._listener = _LISTENER(self._hear)  # lives as long as the library may call it
        self._t = _lib.tgc_new()
        if not self._t:
            raise MemoryError("libtgc")
        _lib.tgc_listen(self._t, self._listener, None)
        for name, value in options.items():
            self.set(name, value)

    def _hear(self, _, message):
        m = message.contents
        self._messages.append(Message("error" if m.level == 1 else "warning", _decode(m.file), _decode(m.node), m.line, m.column, _decode(m.text)))

    def _done(self, status, *fine):
        messages, self._messages = self._messages, []
        for m in messages:
            if m.level == "warning":
                warnings.warn(_line(m), CompilerWarning, stacklevel=3)
        if status and status not in fine:
            raise Error(status, [m for m in messages if m.level == "error"])
        return status

    def _open(self):
        if not self._t:
            raise ValueError("the compiler is closed")
        return self._t

    def set(self, option, value=True):
        """True: an option without a value; False and None: nothing is set; a list: an option that is repeated"""
        name = option.replace("_", "-").encode()
        for v in value if isinstance(value, (list, tuple)) else [value]:
            if v is not None and v is not False:
                self._done(_lib.tgc_set(self._open(), name, None if v is True else os.fsencode(str(v))))

    def load(self, path):
        self._done(_lib.tgc_load(self._open(), os.fsencode(path)))

    def _values(self, kind):
        values, v = [], _Value()
        while _lib.tgc_describe(self._open(), kind, len(values), ctypes.byref(v)):
            values.append(Value(_decode(v.name), v.type.decode(), tuple(v.dims[:v.rank])))
        return values

    inputs = property(lambda self: self._values(0))
    outputs = property(lambda self: self._values(1))
    states = property(lambda self: self._values(2))

    def compile(self):
        """-> the bundle's files: {name: bytes}"""
        self._done(_lib.tgc_compile(self._open()))
        files, f = {}, _File()
        while _lib.tgc_bundle_file(self._t, len(files), ctypes.byref(f)):
            files[f.name.decode()] = ctypes.string_at(f.data, f.bytes) if f.bytes else b""
        return files

    def write(self, folder):
        self._done(_lib.tgc_write(self._open(), os.fsencode(folder)))

    def verify(self):
        """-> the report of `tgc verify --json`; its "passed" says whether the outputs are right"""
        report = _text()
        self._done(_lib.tgc_verify(self._open(), ctypes.byref(report)), *([1]))
        return json.loads(report.value) if report.value else None

    def close(self):
        t, self._t = self._t, None
        _lib.tgc_free(t)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_t", None):
            self.close()


def _model_file(model, folder):
    """the path of a model, which is a path, its bytes, or an onnx.ModelProto"""
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if not isinstance(model, (bytes, bytearray)):
        return os.fspath(model)
    path = os.path.join(folder, "model.onnx")
    with open(path, "wb") as file:
        file.write(model)
    return path


def _build(model, folder, options):
    """the bundle with a shared library: by LLVM and the linker, else by the C compiler"""
    ways = [{}] if {"emit", "backend"} & set(options) else [{"emit": "so"}, {}]
    for last, way in enumerate(ways, 1):
        with Compiler(**{"isa": "native", "bindings": "python", "name": "net", **options, **way}) as compiler:
            try:
                compiler.load(model)
                compiler.compile()
                compiler.write(folder)
            except Error as e:
                if e.status != MISSING or last == len(ways):
                    raise
                continue
        break
    if not os.path.exists(os.path.join(folder, "libnet.so")):
        p = subprocess.run(["make", "-s", "-C", folder, "build/libnet.so"], capture_output=True, text=True)
        if p.returncode:
            raise Error(MISSING, [Message("error", None, None, 0, 0, f"the bundle cannot be built: {p.stderr.strip()}")])


def compile(model, folder=None, threads=1, **options):
    """Compiles a model for this machine and loads it.

    model: a path, the bytes of an ONNX model, or an onnx.ModelProto; folder: where the bundle is kept (a temporary one);
    threads: how many share a run (the C compiler's code only); options: those of the command line
    -> a Model as net.py of the bundle has it: run(...), inputs, outputs, states, close()"""
    work = tempfile.mkdtemp(prefix="tgc-")
    try:
        bundle = os.path.join(work, "bundle") if folder is None else os.fspath(folder)
        if threads > 1:
            options.setdefault("backend", "c")
        _build(_model_file(model, work), bundle, options)
        spec = importlib.util.spec_from_file_location("tgc_net", os.path.join(bundle, "net.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        compiled = module.Model(threads=threads)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    compiled.folder = bundle
    weakref.finalize(compiled, shutil.rmtree, work, ignore_errors=True)
    return compiled
