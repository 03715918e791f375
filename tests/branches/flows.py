# SPDX-License-Identifier: MIT
"""Random models of control flow: If, whose sides have nodes and Ifs of their own, in loops and around loops; Loop with a constant
number of steps, with one from data, and with a condition from data. Conditions and counts are integers that follow exactly from the
input, so that rounding does not change what a run does."""
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
from onnxfile import FLOAT, INT64, graph, model, node, tensor, value  # noqa: E402

BOOL = 9
ROWS, COLUMNS = 4, 6
SHAPE = {"f": (ROWS, COLUMNS), "n": ()}
TYPE = {"f": FLOAT, "n": INT64}
DEEPEST = 3


class Flows:
    """one model; values are known by kind: f is f32[4,6], n an i64 without axes"""

    def __init__(self, seed):
        self.rng, self.made, self.tensors, self.known, self.nodes = random.Random(seed), 0, [], {"f": [], "n": []}, []
        self.budget = self.rng.randint(6, 40)

    def name(self, kind=None):
        self.made += 1
        if kind:
            self.known[kind].append(f"v{self.made}")
        return f"v{self.made}"

    def constant(self, kind, number):
        self.made += 1
        self.tensors.append(tensor(f"k{self.made}", TYPE[kind], (), struct.pack("<f" if kind == "f" else "<q", number)))
        return f"k{self.made}"

    def add(self, op, *inputs, kind=None, **attributes):
        out = self.name(kind)
        self.nodes.append(node(op, list(inputs), [out], **attributes))
        return out

    def any(self, kind):
        """a value that is known, mostly one of the last"""
        known = self.known[kind]
        return self.rng.choice(known[-4:] if self.rng.random() < 0.7 else known)

    # ---- nodes ----
    def simple(self):
        r = self.rng.random()
        if r < 0.3:
            self.add(self.rng.choice(["Tanh", "Neg", "Abs", "Sigmoid"]), self.any("f"), kind="f")
        elif r < 0.6:
            self.add("Tanh", self.add(self.rng.choice(["Add", "Mul", "Sub"]), self.any("f"), self.any("f")), kind="f")
        elif r < 0.75:
            self.add("Tanh", self.add("MatMul", self.any("f"), "w"), kind="f")
        elif r < 0.85:
            row = self.add("Gather", self.any("f"), self.add("Mod", self.any("n"), self.constant("n", ROWS)), axis=0)
            self.add("Tanh", self.add("Add", row, self.any("f")), kind="f")
        else:
            self.add("Mod", self.add(self.rng.choice(["Add", "Mul"]), self.any("n"), self.constant("n", self.rng.randint(1, 9))),
                     self.constant("n", self.rng.randint(2, 40)), kind="n")

    def condition(self):
        """true in about half of the cases"""
        return self.add("Less", self.add("Mod", self.any("n"), self.constant("n", 6)), self.constant("n", self.rng.randint(1, 5)))

    def inside(self, name, depth, inputs, finish):
        """a graph of its own: inputs are (name, type, shape, kind); finish gives its outputs as values"""
        outer, kept = self.nodes, {k: list(v) for k, v in self.known.items()}
        self.nodes = []
        for n, _, _, kind in inputs:
            if kind:
                self.known[kind].append(n)
        self.some(depth + 1)
        outputs = finish()
        g = graph(name, self.nodes, [], [value(n, t, s) for n, t, s, _ in inputs], outputs)
        self.nodes, self.known = outer, kept
        return g

    def gives(self, kinds):
        """values of these kinds, each a new name"""
        outs = [self.add("Identity" if self.rng.random() < 0.3 else {"f": "Neg", "n": "Abs"}[k], self.any(k)) for k in kinds]
        return [value(o, TYPE[k], SHAPE[k]) for o, k in zip(outs, kinds)]

    def branch(self, depth):
        kinds, c = self.rng.choices("ffn", k=self.rng.randint(1, 3)), self.condition()
        sides = {side: self.inside(side, depth, [], lambda: self.gives(kinds)) for side in ("then_branch", "else_branch")}
        self.nodes.append(node("If", [c], [self.name(k) for k in kinds], **sides))

    def loop(self, depth):
        kinds = ["f"] * self.rng.randint(1, 2) + ["n"] * self.rng.randint(0, 1)
        start = [self.any(k) for k in kinds]
        fixed = self.rng.random() < 0.4 or self.by_data  # a loop that data limit has none inside
        ends = not fixed and "n" in kinds and self.rng.random() < 0.6
        m = self.constant("n", self.rng.choice([3, 10, 12, 21])) if fixed or ends else self.add("Mod", self.any("n"), self.constant("n", self.rng.choice([4, 17])))
        begins = self.condition() if not fixed and self.rng.random() < 0.3 else ""
        scans = self.rng.randint(0, 1) if fixed else 0
        i, live = self.name(), self.name()
        states = [self.name() for _ in kinds]

        def finish():
            go = self.add("Less", self.add("Mod", states[kinds.index("n")], self.constant("n", 7)), self.constant("n", 6)) if ends else self.add("Identity", live)
            return [value(go, BOOL, ()), *self.gives(kinds), *self.gives(["f"] * scans)]

        inputs = [(i, INT64, (), "n"), (live, BOOL, (), None), *((s, TYPE[k], SHAPE[k], k) for s, k in zip(states, kinds))]
        outer, self.by_data = self.by_data, self.by_data or not fixed
        body = self.inside("body", depth, inputs, finish)
        self.by_data = outer
        outs = [self.name(k) for k in kinds] + [self.name() for _ in range(scans)]
        self.nodes.append(node("Loop", [m, begins, *start], outs, body=body))
        for o in outs[len(kinds):]:
            self.add("ReduceSum", o, self.zero, kind="f", keepdims=0)

    def some(self, depth):
        for _ in range(self.rng.randint(1, 4)):
            self.budget -= 1
            r = self.rng.random()
            if self.budget > 0 and depth < DEEPEST and r < 0.3:
                self.branch(depth)
            elif self.budget > 0 and depth < DEEPEST and r < 0.42:
                self.loop(depth)
            else:
                self.simple()

    def bytes(self):
        self.zero, self.by_data = "zero", False
        r = self.rng
        self.tensors += [tensor("zero", INT64, (1,), struct.pack("<q", 0)), tensor("w", FLOAT, (COLUMNS, COLUMNS), struct.pack("<36f", *(r.uniform(-1, 1) for _ in range(36))))]
        self.known["f"].append("x")
        for at in range(3):
            scaled = self.add("Mul", self.add("Abs", self.add("Gather", "flat", self.constant("n", at))), self.constant("f", 64.0))
            self.add("Mod", self.add("Cast", scaled, to=INT64), self.constant("n", 23), kind="n")
        self.tensors.append(tensor("all", INT64, (1,), struct.pack("<q", -1)))
        self.nodes.insert(0, node("Reshape", ["x", "all"], ["flat"]))
        self.some(0)
        while self.budget > 0:
            self.some(0)
        f, n = self.known["f"][-2:], self.known["n"][-1:]
        outs = [self.add("Identity", v) for v in f + n] if r.random() < 0.5 else [v for v in f + n if v not in ("x",)]
        kinds = [k for k, vs in (("f", f), ("n", n)) for v in vs if v in f + n and (len(outs) == len(f + n) or v != "x")]
        return model("flows", self.nodes, self.tensors, [value("x", FLOAT, SHAPE["f"])], [value(o, TYPE[k], SHAPE[k]) for o, k in zip(outs, kinds)])
