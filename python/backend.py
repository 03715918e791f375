"""The wheel of tgc (PEP 517), made of the program and the library in the build folder, without any other package: BUILD names the
folder (../build)."""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sysconfig
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("BUILD", HERE.parent / "build"))
DATE = (1980, 1, 1, 0, 0, 0)  # of all files, so that equal contents give equal wheels


def version():
    text = (HERE.parent / "compiler/support/support.h").read_text()
    return re.search(r'^#define TGC_VERSION "(.*)"', text, re.M)[1]


def get_requires_for_build_wheel(config_settings=None):
    return []


def binary(path):
    """the bytes of a program or library without its symbols"""
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there: make all lib comes first")
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "copy"
        shutil.copy(path, copy)
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-unneeded", copy], check=True)
        return copy.read_bytes()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    platform = re.sub(r"[^a-z0-9_]", "_", sysconfig.get_platform().lower())
    tag, info = f"py3-none-{platform}", f"tgc-{version()}.dist-info"
    library, = sorted(BUILD.glob("libtgc.so.*"))[-1:] or [BUILD / "libtgc.so.1"]
    metadata = f"""Metadata-Version: 2.1
Name: tgc
Version: {version()}
Summary: compiles neural networks to self-contained code
License: MIT
Requires-Python: >=3.8
Requires-Dist: numpy
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text()}"""
    files = {f"tgc/{p.name}": p.read_bytes() for p in sorted((HERE / "tgc").glob("*.py"))}
    files["tgc/libtgc.so"], files["tgc/tgc"] = binary(library), binary(BUILD / "tgc")
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: tgc\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\ntgc = tgc.__main__:main\n"
    rows = [f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}"
            for name, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,", ""]).encode()
    name = f"tgc-{version()}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, DATE)
            entry.external_attr = (0o755 if path == "tgc/tgc" else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return name
