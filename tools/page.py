# SPDX-License-Identifier: MIT
"""Pages of docs/ whose end a tool writes: prose, a mark that names the tool, then what the tool made."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Page:
    def __init__(self, name, mark):
        self.name, self.path, self.mark = f"docs/{name}", ROOT / "docs" / name, f"<!-- {mark} -->\n"
        self.prose, _, self.old = self.path.read_text().partition(self.mark)

    def write(self, made):
        """False with --check: the caller compares made with old"""
        if "--check" in sys.argv:
            return False
        self.path.write_text(self.prose + self.mark + made)
        return True

    def keep(self, made, words):
        """writes, or with --check says as TAP whether the page is current; the exit status"""
        if self.write(made):
            return 0
        print(f"{'ok' if self.old == made else 'not ok'} 1 - the tables of {self.name} are those of {words} ({sys.argv[0]} writes them)\n1..1")
        return self.old != made
