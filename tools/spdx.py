#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every file of code names its licence in its first lines: spdx.py lists those that do not, spdx.py --fix writes the line.
Files of runtime_stub go into bundles and are 0BSD, but for parts that only whole files hold; all others are MIT. Exit status 1: a
file has no line, or a wrong one."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SLASH, HASH, LINE = ("/* ", " */"), ("# ", ""), ("// ", "")
COMMENTS = {".c": SLASH, ".h": SLASH, ".cpp": SLASH, ".S": SLASH, ".ld": SLASH, ".cl": SLASH, ".cu": SLASH, ".metal": SLASH, ".py": HASH, ".sh": HASH,
            ".mk": HASH, ".cmake": HASH, ".yml": HASH, ".yaml": HASH, ".hpp": LINE, ".rs": LINE, ".mjs": LINE}
THIRD_PARTY = "third_party/"
# templates that are parts of other files
PARTS = set("""calls.c.in dims.c.in head.metal.in helpers.c.in helpers.ll.in job.c.in length.c.in length.h.in length.ll.in mve.c.in scalars.c.in
 sha256.ll.in sizes.c.in sizes.ll.in state.c.in state.h.in state.ll.in values.c.in values.h.in values.ll.in LICENSE.0BSD""".split())


def comment_of(path, head):
    """how a file of this kind writes a comment; None: it is data or a text"""
    name = path.name.removesuffix(".in")
    if path.parent.name == "runtime_stub" and (path.name in PARTS or path.name.startswith("README")):
        return None
    if name == "Makefile" or name == "CMakeLists.txt" or head.startswith("#!"):
        return HASH
    return COMMENTS.get(pathlib.PurePath(name).suffix)


def main():
    fix, wrong = "--fix" in sys.argv, []
    for name in subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n"):
        path = ROOT / name
        if not name or name.startswith(THIRD_PARTY) or not path.is_file() or path.is_symlink():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        comment = comment_of(path, text)
        if not comment or not text:
            continue
        want = "SPDX-License-Identifier: " + ("0BSD" if path.parent.name == "runtime_stub" else "MIT")
        line = f"{comment[0]}{want}{comment[1]}\n"
        if line in "".join(text.splitlines(True)[:3]):
            continue
        if fix and "SPDX-License-Identifier" not in text[:300]:
            at = text.index("\n") + 1 if text.startswith("#!") else 0
            path.write_text(text[:at] + line + text[at:])
            continue
        wrong.append(f"# {name}: no line {line.strip()}")
    print(*wrong, f"{'not ' * bool(wrong)}ok 1 - every file of code names its licence (tools/spdx.py --fix writes it)", "1..1", sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
