# SPDX-License-Identifier: MIT
"""What tests of the runtimes of devices share: programs of a small network (fill.py) built with a runtime file, on a driver of the
test's own, and TAP. Environment: CC, BUILD."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from fixtures import BUILD, ROOT, TGC  # noqa: E402

HERE, STUB = ROOT / "tests/device-runtime", ROOT / "runtime_stub"
CC = os.environ.get("CC", "cc").split()
STRICT = ["-std=c99", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-g", "-O1"]
ASAN = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
TSAN = ["-fsanitize=thread"]


class Failed(Exception):
    pass


class Skip(Exception):
    pass


def want(condition, *say):
    if not condition:
        raise Failed(" ".join(map(str, say)))


class Runtime:
    """of an interface: its runtime file is tgcrt_INTERFACE.c, its driver's library is made of fake.c beside the test"""

    def __init__(self, interface, library, **env):
        self.interface, self.library, self.env = interface, library, env
        self.tests = ROOT / f"tests/{interface}-runtime"
        self.work = BUILD / f"tests/{interface}-runtime"
        self.work.mkdir(parents=True, exist_ok=True)
        self.built = set()

    def run(self, *args, status=0, **env):
        base = {k: v for k, v in os.environ.items() if k not in ("NET_DEVICE", "ASAN_OPTIONS", "LD_LIBRARY_PATH")}
        base.update(self.env, HOME=str(self.work))
        p = subprocess.run([str(a) for a in args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True, errors="replace", timeout=300, cwd=self.work, env={**base, **env})
        want(p.returncode == status, f"{' '.join(map(str, args))}: status {p.returncode}\n{p.stdout[-3000:]}")
        return p.stdout

    def build(self, name, *sources, flags=(), needs=0, net=None):
        net = net or self.work
        own = [STUB / f for f in ("tgcrt.c", "tgcrt_pool.c", f"tgcrt_{self.interface}.c")]
        made = [f for f in (net / "net.c", net / "images.c") if f.exists()]
        self.run(*CC, *STRICT, f"-DNEEDS={needs}", *flags, f"-I{net}", f"-I{STUB}", f"-I{HERE}", "-o", self.work / name, *sources, *made,
                 *own, "-lm", "-pthread")
        return self.work / name

    def of_sizes(self, *emit):
        """sizes.c with a bundle for ranges of sizes, as strict C99; -> its folder"""
        folder = self.work / "ranges"
        shutil.rmtree(folder, ignore_errors=True)
        self.run(TGC, "compile", HERE / "sizes.tg", "--dim=b=0:3", "--dim=n=1:9", f"--backend={self.interface}", *emit, "--name=net", "-q", "-o", folder)
        for source in ("net.c", f"tgcrt_{self.interface}.c"):
            self.run(*CC, "-pedantic", "-Wconversion", *STRICT, f"-I{folder}", "-c", "-o", folder / "strict.o", folder / source)
        return folder

    def fake(self, name="fake", *flags):
        """the environment in which programs find it"""
        folder = self.work / name
        if name not in self.built:
            folder.mkdir(exist_ok=True)
            self.run(*CC, "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-g", *flags, "-shared", "-fPIC", "-o",
                     folder / self.library, self.tests / "fake.c", "-pthread")
            self.built.add(name)
        return {"LD_LIBRARY_PATH": str(folder)}

    def need_tsan(self):
        (self.work / "empty.c").write_text("int main(void) { return 0; }\n")
        linked = subprocess.run([*CC, *TSAN, "-o", self.work / "empty", self.work / "empty.c"], stderr=subprocess.DEVNULL).returncode == 0
        if not linked or subprocess.run([self.work / "empty"], stderr=subprocess.DEVNULL).returncode:
            raise Skip(f"{CC[0]} has no working ThreadSanitizer here")

    def broken(self):
        """an environment in which no library can be opened"""
        folder = self.work / "broken"
        folder.mkdir(exist_ok=True)
        for name in (self.library, self.library.removesuffix(".1")):
            (folder / name).write_text("this is no library")
        return {"LD_LIBRARY_PATH": str(folder)}


def tap(tests):
    bad = False
    for number, test in enumerate(tests, 1):
        why = ""
        try:
            test()
            status, note = "ok", ""
        except Skip as e:
            status, note = "ok", f" # SKIP {e}"
        except (Failed, subprocess.TimeoutExpired) as e:
            status, note, why, bad = "not ok", "", str(e), True
        print(f"{status} {number} - {test.__doc__}{note}", flush=True)
        print("".join(f"# {line}\n" for line in why.splitlines()), end="")
    print(f"1..{len(tests)}")
    return bad
