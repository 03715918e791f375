#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does this tree make the same code as another commit? Compiles every test model for several machines with both, in C and in
LLVM's text, and compares weights and texts without their comments: `make same BASE=COMMIT`.

The other commit is built in BUILD/same/COMMIT (TGC_SAME/COMMIT where that is set), once; what it made of each case is kept there
as digests. Arguments are words of which the name of a case, "MODEL ISA BACKEND OPTIONS", must contain each. --objects: compares the objects that LLVM makes, too.
--graphs N: also that many random graphs of tests/fuzz (100). Exit status 1 if anything differs, with the first line that does."""
import argparse
import collections
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "tests"), str(ROOT / "tests/fuzz")]
import compose  # noqa: E402
from fixtures import BUILD, JOBS, LIGHTS, MODELS, NAMED, TGC, onnx_tests  # noqa: E402

ISAS = "portable x86-64 x86-64-v3 x86-64-v4 x86-64-amx neon armv8.6 rv64gcv cortex-m7 wasm32".split()
FEW = ["portable", "x86-64-v4", "neon"]  # for the light networks, whose weights take longer to write than their code
# what else decides about code, on one machine each
OPTIONS = [("x86-64-v3", "--precision=fp32-strict"), ("x86-64-v4", "--precision=fp32-fast"), ("x86-64-amx", "--precision=bf16"),
           ("x86-64-amx", "--precision=bf16x3"), ("x86-64-v4", "--precision=fp16"), ("x86-64-v3", "--weights=int8"),
           ("x86-64-v4", "--kernel-groups=all"), ("x86-64-v3", "--denormals=keep"), ("fat", "")]
RENAMED = {"--kernel-groups": "--chains"}  # today, and in older commits
BACKENDS = {"c": ["--backend=c"], "llvm": ["--backend=llvm", "--emit=ir"], "object": ["--backend=llvm", "--emit=obj"]}
COMMENT = {".c": re.compile(rb"//[^\n]*|/\*.*?\*/|(\"(?:\\.|[^\"\\\n])*\")", re.S), ".ll": re.compile(rb";[^\n]*|(\"[^\"\n]*\")")}
COMMENT[".h"] = COMMENT[".c"]
TEXTS = {".c", ".h", ".ll", ".S"}
Case = collections.namedtuple("Case", "name model args")


def fail(words):
    sys.exit(f"same: {words}")


def stripped(path):
    """the bytes of a file that decide about code"""
    data = path.read_bytes()
    pattern = COMMENT.get(path.suffix)
    if pattern:
        data = pattern.sub(lambda m: m[1] or b" ", data)
        data = b"\n".join(line.strip() for line in data.split(b"\n") if line.strip())
    return data


def compared(path):
    """the manifest says what tgc thinks of the code, and runtime, example and build files come with tgc: none is code of the model"""
    return path.suffix in TEXTS | {".bin", ".o"} and not path.name.startswith(("tgcrt", "main.c", "example.c", "check.c"))


@functools.cache
def spoken(tgc, option):
    """the name of an option in this tgc, which may be from before it was renamed"""
    usage = subprocess.run([tgc, "compile", "--help"], capture_output=True, text=True).stdout
    name, equals, value = option.partition("=")
    return option if name not in RENAMED or name in usage else RENAMED[name] + equals + value


def compiled(tgc, case, folder):
    """-> file: its digest; and the folder holds the files"""
    shutil.rmtree(folder, ignore_errors=True)
    env = {k: v for k, v in os.environ.items() if k != "TGC_CFLAGS"}
    p = subprocess.run([tgc, "compile", case.model, "-o", folder, "-q", "--no-tune-store", "--schedule=none",
                        *(spoken(tgc, a) for a in case.args)],
                       capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, env=env, timeout=600)
    if p.returncode:  # the same refusal, whatever its words are
        return {"status": str(p.returncode)}
    files = sorted(f for f in pathlib.Path(folder).rglob("*") if f.is_file() and compared(f))
    return {str(f.relative_to(folder)): hashlib.sha256(stripped(f)).hexdigest() for f in files}


def models(graphs, scratch):
    """-> (name, path, options)"""
    named = dict(NAMED)
    for folder in sorted(MODELS.glob("*/model.onnx")):
        name = folder.parent.name
        yield name, folder, [f"--dim={d}" for d in named.get(name, "").split()]
    lights, absent = onnx_tests("light")
    for name in [] if absent else LIGHTS:
        yield f"light_{name}", lights / f"light_{name}.onnx", []
    for path in sorted((ROOT / "examples").glob("*/*.onnx")):
        yield path.stem, path, []
    for seed in range(graphs):
        path = pathlib.Path(scratch) / f"graph{seed}.onnx"
        path.write_bytes(compose.compose(seed).onnx())
        yield f"graph{seed}", path, []


def cases(args, scratch):
    kinds = ["c", "llvm"] + ["object"] * args.objects
    for k, (name, path, options) in enumerate(models(args.graphs, scratch)):
        machines = [(isa, "") for isa in ISAS] + OPTIONS
        heavy = name.startswith("light_")
        if heavy:
            machines = [(isa, "") for isa in FEW]
        elif name.startswith("graph"):
            machines = [machines[k % len(machines)]]
        for m, (isa, extra) in enumerate(machines):
            for kind in kinds:
                # programs are the same for both backends, so LLVM's text of each model for a third of the machines is enough
                if kind != "c" and (heavy or isa == "fat" or (k + m) % 3) or kind == "object" and isa != "x86-64-v3":
                    continue
                title = " ".join(filter(None, [name, isa, kind, extra]))
                if all(w in title for w in args.words):
                    yield Case(title, str(path), (f"--isa={isa}", *BACKENDS[kind], *filter(None, [extra]), *options))


def built(base):
    """tgc of another commit"""
    folder = pathlib.Path(os.environ.get("TGC_SAME", BUILD / "same")) / base
    tgc = folder / "build/tgc"
    if not tgc.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        tree = subprocess.run(["git", "-C", ROOT, "archive", base], capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=tree, check=True)
        done = subprocess.run(["make", "-C", folder, f"-j{JOBS}", "BUILD=build", "all"], capture_output=True, text=True,
                              env={k: v for k, v in os.environ.items() if k not in ("BUILD", "MAKEFLAGS", "MAKELEVEL")})
        if done.returncode:
            fail(f"{base} does not build: {done.stderr.strip().splitlines()[-1]}")
    return folder, str(tgc)


def first_difference(case, base, scratch):
    """the words that say where the code of both differs"""
    there, here = (pathlib.Path(scratch) / f"{os.getpid()}.{side}" for side in ("base", "here"))
    a, b = compiled(base, case, there), compiled(TGC, case, here)
    for name in sorted(set(a) | set(b)):
        if a.get(name) == b.get(name):
            continue
        if "status" in (set(a) ^ set(b)) or name == "status":
            return f"exit status {a.get('status', 0)} there, {b.get('status', 0)} here"
        if name not in a or name not in b:
            return f"{name} is {'not ' if name not in a else ''}there, {'not ' if name not in b else ''}here"
        x, y = stripped(there / name).split(b"\n"), stripped(here / name).split(b"\n")
        if pathlib.Path(name).suffix not in TEXTS:
            return f"{name} differs"
        for i in range(max(len(x), len(y))):
            p, q = (lines[i] if i < len(lines) else b"(its end)" for lines in (x, y))
            if p != q:
                return f"{name}, line {i + 1} without comments:\n    there {p[:200].decode()}\n    here  {q[:200].decode()}"
    return ""


def compare(case, base, known, scratch):
    """-> case, digests of the base, what differs"""
    folder = tempfile.mkdtemp(dir=scratch)
    there = known or compiled(base, case, folder)
    here = compiled(TGC, case, folder)
    shutil.rmtree(folder, ignore_errors=True)
    return case, there, first_difference(case, base, scratch) if here != there else ""


def save(path, known):
    whole = path.with_suffix(f".{os.getpid()}")
    whole.write_text(json.dumps(known))
    whole.rename(path)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("base", help="the commit to compare with")
    p.add_argument("words", nargs="*")
    p.add_argument("--objects", action="store_true")
    p.add_argument("--graphs", type=int, default=100)
    p.add_argument("--jobs", type=int, default=JOBS)
    args = p.parse_args()
    name = subprocess.run(["git", "-C", ROOT, "rev-parse", "--verify", "-q", f"{args.base}^{{commit}}"], capture_output=True, text=True)
    if name.returncode:
        fail(f"no commit '{args.base}'")
    folder, base = built(name.stdout.strip())
    kept = folder / "digests.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    differ, count = 0, 0
    with tempfile.TemporaryDirectory(dir=BUILD) as scratch, concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        keys = {}  # of what is known of a case
        for case in cases(args, scratch):
            digest = hashlib.sha256(pathlib.Path(case.model).read_bytes()).hexdigest()
            keys[case] = " ".join([digest, *case.args])
        jobs = [pool.submit(compare, case, base, known.get(key), scratch) for case, key in keys.items()]
        for job in concurrent.futures.as_completed(jobs):
            case, there, why = job.result()
            known[keys[case]] = there
            count += 1
            if why:
                differ += 1
                print(f"DIFFERS {case.name}: {why}", flush=True)
            if count % 100 == 0:
                save(kept, known)
    save(kept, known)
    print(f"{count} cases, {differ} differ from {args.base}")
    return bool(differ) or not count


if __name__ == "__main__":
    sys.exit(main())
