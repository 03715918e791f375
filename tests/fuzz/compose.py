# SPDX-License-Identifier: MIT
"""Random graphs, realistic in their parts: each step takes a value that is there and adds one layer, one movement or one
block of layers to it. A step is a function of the composer and the value; the table STEPS is filled by @step, which says
for what values it is. Intervals of the values are carried along, so that logarithms get positive numbers, indices fit,
and nothing overflows by accident."""
import math
import random

from graph import (BF16, BOOL, F16, F32, F64, FLOATS, I8, I16, I32, I64, INTS, RANGES, SIGNED, U8, U16, U32, U64, UNSIGNED, Graph, Node, Value)

EXTENTS = [1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 13, 16, 17, 24, 31, 32, 33, 48, 64, 127]
MOST = 30000     # elements of a value
WEIGHTS = 60000  # elements of a constant
STEPS = []       # (function, weight, families, ranks, types, whether type and shape stay, whether it jumps)


def step(weight=1.0, families="vtrsi", ranks=range(7), types=FLOATS, keeps=False, jumps=False):
    """families: v vision, t transformers, r recurrent, s any shapes, i integers. What jumps turns a rounding into another
    result, as of comparisons, roundings and searches."""
    def add(f):
        STEPS.append((f, weight, families, ranks, types, keeps, jumps))
        return f
    return add


def rounded(x):
    """a float that single precision holds, short in print"""
    return math.ldexp(round(math.ldexp(x, 10)), -10)


class Composer:
    def __init__(self, seed, smooth=False):
        self.rng, self.smooth = random.Random(seed), smooth
        self.family = self.rng.choices("vtrsi", (5, 3, 2, 4, 1))[0]
        self.float = self.rng.choices((F32, F16, F64, BF16), (16, 2, 1, 1))[0]
        self.g = Graph(self.rng.choice((13, 14, 17, 18, 18, 20, 21, 22, 23)))
        self.count = 0

    # ---- values ----
    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def elements(self, dt, n, lo, hi):
        if dt == BOOL:
            return [self.rng.random() < 0.5 for _ in range(n)]
        if dt in INTS:
            return [self.rng.randint(int(lo), int(hi)) for _ in range(n)]
        if self.rng.random() < 0.3:  # sums of these are exact
            low, high = math.ceil(lo * 8), math.floor(hi * 8)
            if low <= high:
                return [self.rng.randint(low, high) / 8 for _ in range(n)]
        return [min(max(rounded(self.rng.uniform(lo, hi)), lo), hi) for _ in range(n)]

    def input(self, dt, shape, lo=-2.0, hi=2.0):
        v = Value(self.name("x"), dt, shape, lo, hi)
        self.g.values[v.name] = v
        self.g.inputs.append(v.name)
        self.g.data[v.name] = dt, v.shape, self.elements(dt, v.size, lo, hi)
        return v

    def const(self, dt, shape, lo=-1.0, hi=1.0, data=None):
        if data is None and self.rng.random() < 0.1:  # shared
            same = [v for v in self.g.values.values() if v.name in self.g.tensors and (v.dt, v.shape) == (dt, tuple(shape)) and
                    lo <= v.lo and v.hi <= hi]
            if same:
                return self.rng.choice(same)
        if data is not None:
            lo, hi = (min(data), max(data)) if data else (0, 0)
        v = Value(self.name("w"), dt, shape, lo, hi)
        self.g.values[v.name] = v
        self.g.tensors[v.name] = dt, v.shape, self.elements(dt, v.size, lo, hi) if data is None else list(data)
        return v

    def ints(self, *data):
        return self.const(I64, (len(data),), data=data)

    def other(self, dt, shape, lo=-1.0, hi=1.0):
        """a second operand: mostly a constant, sometimes an input"""
        return self.input(dt, shape, lo, hi) if self.rng.random() < 0.2 else self.const(dt, shape, lo, hi)

    def node(self, op, ins, results, domain="", **attrs):
        """results: of each output (type, shape, lo, hi); -> values"""
        outs = [Value(self.name("v"), *r) for r in results]
        self.g.nodes.append(Node(op, [i.name if i else "" for i in ins], [o.name for o in outs], attrs, domain))
        self.g.values.update((o.name, o) for o in outs)
        return outs

    def op(self, op, ins, shape=None, lo=None, hi=None, dt=None, domain="", **attrs):
        x = ins[0]
        return self.node(op, ins, [(dt or x.dt, x.shape if shape is None else shape, x.lo if lo is None else lo,
                                    x.hi if hi is None else hi)], domain, **attrs)[0]

    # ---- helpers of steps ----
    def pick(self, *choices):
        return self.rng.choice(choices)

    def maybe(self, p=0.5):
        return self.rng.random() < p

    def extent(self, most=127):
        return self.rng.choice([e for e in EXTENTS if e <= most] or [1])

    def axis(self, x):
        a = self.rng.randrange(len(x.shape))
        return a, a - (len(x.shape) if self.maybe(0.4) else 0)

    def by_axes(self, op, x, axes, since, shape, lo, hi, **attrs):
        """an operator whose axes are an attribute before some opset and an input from there on"""
        if self.g.opset < since:
            return self.op(op, [x], shape, lo, hi, axes=list(axes), **attrs)
        return self.op(op, [x, self.ints(*axes)], shape, lo, hi, **attrs)

    def tame(self, x, most=8.0):
        """x scaled by a power of two, if it may be large"""
        if x.dt not in FLOATS or x.most <= most:
            return x
        s = 2.0 ** -math.ceil(math.log2(x.most / most))
        return self.op("Mul", [x, self.const(x.dt, (), data=[s])], lo=x.lo * s, hi=x.hi * s)

    def positive(self, x, least=0.25):
        """x made positive"""
        if x.lo >= least:
            return x
        return self.add(self.op("Abs", [x], lo=0.0, hi=x.most), self.const(x.dt, (), data=[least]))

    def add(self, a, b, op="Add"):
        lo, hi = (a.lo + b.lo, a.hi + b.hi) if op == "Add" else (a.lo - b.hi, a.hi - b.lo)
        return self.op(op, [a, b], broadcast(a.shape, b.shape), lo, hi)

    def steps(self, x, n, keeps=False, only=None):
        for _ in range(n):
            fit = [s for s in STEPS if (not keeps or s[5]) and len(x.shape) in s[3] and x.dt in s[4] and (only is None or s[0] in only) and
                   not (self.smooth and s[6])]
            if not fit:
                return x
            f = self.rng.choices(fit, [s[1] * (1 if self.family in s[2] else 0.15) for s in fit])[0][0]
            y = f(self, x)
            if y is not None and y.size <= MOST:
                x = self.tame(y, 64.0)
        return x

    # ---- the whole ----
    def start(self):
        e, dt = self.extent, self.float
        if self.family == "v":
            spatial = self.pick((1,), (2, 2, 2, 2, 2, 2), (3,))[0]
            side = {1: 127, 2: 33, 3: 9}[spatial]
            return self.input(dt, (self.pick(1, 1, 1, 2, 3), self.pick(1, 2, 3, 3, 4, 8, 16, 17, 24, 32), *(e(side) for _ in range(spatial))))
        if self.family == "t":
            batch, rows, width = self.pick(1, 1, 2, 3), e(33), self.pick(4, 8, 16, 24, 32, 33, 48, 64)
            if self.maybe():
                return self.input(dt, (batch, rows, width))
            words = self.extent(64)
            ids = self.input(self.pick(I64, I32), (batch, rows), 0, words - 1)
            return self.op("Gather", [self.const(dt, (words, width)), ids], (batch, rows, width), -1.0, 1.0, dt)
        if self.family == "r":
            return self.input(dt, (e(13), self.pick(1, 1, 2, 3), e(33)))
        rank = self.pick(0, 1, 2, 3, 4, 5, 6)
        shape = [e(127 if rank < 3 else 13) for _ in range(rank)]
        while math.prod(shape) > MOST:
            shape[self.rng.randrange(rank)] = 2
        if rank and self.maybe(0.03):
            shape[self.rng.randrange(rank)] = 0
        if self.family == "i":
            dt = self.pick(*INTS, BOOL)
            lo, hi = RANGES.get(dt, (0, 1))
            return self.input(dt, shape, *self.pick((lo, hi), (max(lo, -9), min(hi, 9))))
        return self.input(dt, shape)

    def graph(self):
        g, live = self.g, [self.start()]
        for _ in range(self.pick(2, 3, 5, 8, 13, 20)):
            x = live[-1] if self.maybe(0.8) else self.rng.choice(live)
            y = self.steps(x, 1)
            if y is not x:
                live.append(y)
        used = {i for n in g.nodes for i in n.ins}
        made = [o for n in g.nodes for o in n.outs if o]
        outputs = [o for o in made if o not in used] or [live[-1].name]
        outputs = outputs[-4:]
        outputs += [o for o in made if o not in outputs and self.maybe(0.05)][:3]
        if self.maybe(0.03):
            outputs.append(self.rng.choice([i for i in g.inputs if i not in outputs] or outputs[:0] or [None]))
        if self.maybe(0.03) and g.tensors:
            outputs.append(self.rng.choice([t for t in g.tensors if t not in outputs] or [None]))
        g.outputs = list(dict.fromkeys(o for o in outputs if o))
        if self.maybe(0.05):
            self.input(self.float, (self.extent(),))  # unused
        return g


def broadcast(a, b):
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + tuple(a), (1,) * (n - len(b)) + tuple(b)
    return tuple(y if x == 1 else x for x, y in zip(a, b))


# ---- elementwise ----
def span(f, x):
    """the interval of a monotonic function"""
    return sorted((f(x.lo), f(x.hi)))


UNARY = {  # name: (first opset, interval of the result, condition on the interval of x)
    "Relu": (1, lambda x: (max(x.lo, 0), max(x.hi, 0)), None), "Neg": (1, lambda x: (-x.hi, -x.lo), None),
    "Abs": (1, lambda x: (0, x.most), None), "Sigmoid": (1, lambda x: (0.0, 1.0), None), "Tanh": (1, lambda x: (-1.0, 1.0), None),
    "Erf": (9, lambda x: (-1.0, 1.0), None), "Sin": (7, lambda x: (-1.0, 1.0), None), "Cos": (7, lambda x: (-1.0, 1.0), None),
    "Softplus": (1, lambda x: (0, max(x.hi, 0) + 1), None), "Softsign": (1, lambda x: (-1.0, 1.0), None),
    "Exp": (1, lambda x: span(math.exp, x), lambda x: x.hi < 5), "Log": (1, lambda x: span(math.log, x), lambda x: x.lo >= 0.1),
    "Sqrt": (1, lambda x: span(math.sqrt, x), lambda x: x.lo >= 0), "Reciprocal": (1, lambda x: span(lambda v: 1 / v, x), lambda x: x.lo >= 0.1),
    "Floor": (1, lambda x: (x.lo - 1, x.hi), None), "Ceil": (1, lambda x: (x.lo, x.hi + 1), None),
    "Round": (11, lambda x: (x.lo - 1, x.hi + 1), None), "Sign": (9, lambda x: (-1.0, 1.0), None),
    "Atan": (7, lambda x: (-1.6, 1.6), None), "Asinh": (9, lambda x: span(math.asinh, x), None),
    "Asin": (7, lambda x: (-1.6, 1.6), lambda x: x.most <= 1), "Acos": (7, lambda x: (0.0, 3.2), lambda x: x.most <= 1),
    "Sinh": (9, lambda x: span(math.sinh, x), lambda x: x.most < 5), "Cosh": (9, lambda x: (1, math.cosh(x.most)), lambda x: x.most < 5),
    "Acosh": (9, lambda x: span(math.acosh, x), lambda x: x.lo >= 1), "Atanh": (9, lambda x: span(math.atanh, x), lambda x: x.most < 0.9),
    "Identity": (1, lambda x: (x.lo, x.hi), None), "HardSwish": (14, lambda x: (-0.4, max(x.hi, 0)), None),
    "Mish": (18, lambda x: (-0.4, max(x.hi, 0)), None), "Gelu": (20, lambda x: (-0.2, max(x.hi, 0)), None),
    "Selu": (6, lambda x: (-2.0, max(x.hi * 1.06, 0)), None), "LeakyRelu": (6, lambda x: (min(x.lo, 0), max(x.hi, 0)), None),
    "Elu": (6, lambda x: (-1.0, max(x.hi, 0)), None), "HardSigmoid": (6, lambda x: (0.0, 1.0), None),
    "ThresholdedRelu": (10, lambda x: (0.0, max(x.hi, 0)), None), "Celu": (12, lambda x: (-1.0, max(x.hi, 0)), None),
    "Shrink": (9, lambda x: (min(x.lo, 0), max(x.hi, 0)), None),
}


JUMPING = {"Floor", "Ceil", "Round", "Sign", "ThresholdedRelu", "Shrink"}


@step(2, keeps=True)
def unary(n, x):
    fit = [k for k, (since, _, condition) in UNARY.items() if since <= n.g.opset and (condition is None or condition(x)) and
           not (n.smooth and k in JUMPING)]
    op = n.pick(*fit)
    return n.op(op, [x], None, *(float(v) for v in UNARY[op][1](x)))


@step(2, "vtr", keeps=True)
def activation(n, x):
    op = n.pick("Relu", "Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "Swish", "HardSwish", "Gelu", "PRelu")
    if op == "Clip":
        return n.op("Clip", [x, n.const(x.dt, (), data=[0.0]), n.const(x.dt, (), data=[6.0])], lo=max(0.0, min(x.lo, 6.0)), hi=max(0.0, min(6.0, x.hi)))
    if op == "Swish":
        return n.op("Mul", [x, n.op("Sigmoid", [x], lo=0.0, hi=1.0)], lo=-0.3, hi=max(x.hi, 0.0))
    if op == "HardSwish" and n.g.opset < 14:
        return n.op("Mul", [x, n.op("HardSigmoid", [x], lo=0.0, hi=1.0)], lo=-0.4, hi=max(x.hi, 0.0))
    if op == "Gelu":
        half = n.op("Mul", [x, n.const(x.dt, (), data=[0.5])], lo=x.lo / 2, hi=x.hi / 2)
        erf = n.op("Erf", [n.op("Div", [x, n.const(x.dt, (), data=[1.4142])], lo=x.lo, hi=x.hi)], lo=-1.0, hi=1.0)
        return n.op("Mul", [half, n.op("Add", [erf, n.const(x.dt, (), data=[1.0])], lo=0.0, hi=2.0)], lo=-0.3, hi=max(x.hi, 0.0))
    if op == "PRelu":
        slope = n.const(x.dt, (x.shape[1], *(1 for _ in x.shape[2:])) if len(x.shape) > 1 else (1,) * len(x.shape), 0.0, 0.5)
        return n.op("PRelu", [x, slope], lo=min(x.lo, 0.0), hi=max(x.hi, 0.0))
    return n.op(op, [x], None, *(float(v) for v in UNARY[op][1](x)))


def partner(n, x, lo=-1.0, hi=1.0):
    """something that broadcasts with x without enlarging it: a value that is there, or a new one"""
    there = [v for v in n.g.values.values() if v.dt == x.dt and v.name not in n.g.tensors and v.lo >= lo and v.hi <= hi and
             len(v.shape) <= len(x.shape) and broadcast(x.shape, v.shape) == x.shape and
             all(d in (1, e) for d, e in zip(reversed(v.shape), reversed(x.shape)))]
    if there and n.maybe(0.4):
        return n.rng.choice(there)
    shape = [d if n.maybe(0.6) else 1 for d in x.shape][n.rng.choice([0, 0, n.rng.randint(0, len(x.shape))]):]
    return n.other(x.dt, shape, lo, hi)


@step(2, keeps=True)
def binary(n, x):
    op = n.pick("Add", "Add", "Mul", "Mul", "Sub", "Div", "Max", "Min", "Pow", *(["Mod"] if not n.smooth else []))
    if op in ("Add", "Sub"):
        y = partner(n, x, -64.0, 64.0) if n.maybe() else partner(n, x)
        a, b = (x, y) if n.maybe() else (y, x)
        return n.add(a, b, op) if broadcast(a.shape, b.shape) == x.shape else None
    if op == "Div":
        y = partner(n, x, 0.25, 4.0)
        return n.op(op, [x, y], lo=-4 * x.most, hi=4 * x.most)
    if op == "Mod":
        y = partner(n, x, 0.5, 4.0)
        return n.op(op, [x, y], lo=-4.0, hi=4.0, fmod=1)
    if op == "Pow":
        e = n.pick(2.0, 0.5, 3.0, -1.0, 1.5)
        if e != int(e) or e < 0:
            x = n.positive(n.tame(x))
        x = n.tame(x)
        most = max(x.most ** e, (x.lo ** e if x.lo > 0 else 1))
        return n.op(op, [x, n.const(x.dt, (), data=[e])], lo=-most, hi=most)
    y = partner(n, x, -4.0, 4.0)
    if op == "Mul":
        m = x.most * y.most
        return n.op(op, [x, y] if n.maybe() else [y, x], x.shape, -m, m)
    f = max if op == "Max" else min
    return n.op(op, [x, y] if n.maybe() else [y, x], x.shape, f(x.lo, y.lo), f(x.hi, y.hi))


@step(1, "s", keeps=True, jumps=True)
def where(n, x):
    c = n.pick("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal")
    y = partner(n, x, -4.0, 4.0)
    b = n.op(c, [x, y], x.shape, 0, 1, BOOL)
    if n.maybe(0.3):
        b = n.op("Not", [b])
    elif n.maybe(0.3):
        b = n.op(n.pick("And", "Or", "Xor"), [b, n.other(BOOL, [d if n.maybe() else 1 for d in x.shape], 0, 1)])
    if n.maybe(0.3):
        b = n.op("Cast", [b], lo=0.0, hi=1.0, dt=x.dt, to=x.dt)
        return n.op("Mul", [x, b], lo=min(x.lo, 0.0), hi=max(x.hi, 0.0))
    z = partner(n, x, -4.0, 4.0)
    return n.op("Where", [b, x, z] if n.maybe() else [b, z, x], x.shape, min(x.lo, z.lo), max(x.hi, z.hi), x.dt)


@step(0.5, "s", keeps=True, jumps=True)
def cast_and_back(n, x):
    to = n.pick(I32, I64, I8, F64, F32, F16)
    y = n.tame(x)
    if to in INTS:
        y = n.op("Mul", [y, n.const(x.dt, (), data=[8.0])], lo=y.lo * 8, hi=y.hi * 8)
    return n.op("Cast", [n.op("Cast", [y], dt=to, to=to)], dt=x.dt, to=x.dt)


@step(0.3, "s", keeps=True)
def variadic(n, x):
    op = n.pick("Sum", "Mean", "Max", "Min")
    ys = [partner(n, x, -2.0, 2.0) for _ in range(n.pick(1, 2, 3))]
    return n.op(op, [x, *ys], x.shape, -x.most - 6, x.most + 6)


# ---- integers ----
@step(3, "i", types=INTS, keeps=True)
def int_binary(n, x):
    lo, hi = RANGES[x.dt]
    op = n.pick("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "Abs", "Neg", "Sign")
    if op in ("Abs", "Neg", "Sign"):
        if x.dt in UNSIGNED and op == "Neg":
            return None
        return n.op(op, [x], lo=lo, hi=hi)
    if op.startswith("Bitwise"):
        if n.g.opset < 18:
            return None
        return n.op(op, [x] if op == "BitwiseNot" else [x, partner(n, x, lo, hi)], lo=lo, hi=hi)
    if op == "BitShift":
        if x.dt not in UNSIGNED or x.dt == U16:  # ONNX Runtime has none
            return None
        return n.op(op, [x, partner(n, x, 0, 7)], lo=lo, hi=hi, direction=n.pick("LEFT", "RIGHT"))
    if op in ("Div", "Mod"):
        return n.op(op, [x, n.other(x.dt, [d if n.maybe() else 1 for d in x.shape], 1, 9)], lo=lo, hi=hi)
    return n.op(op, [x, partner(n, x, max(lo, -100), min(hi, 100))], x.shape, lo, hi)


@step(1, "i", types=INTS + (BOOL,))
def int_cast(n, x):
    to = n.pick(*INTS, BOOL, F32)
    lo, hi = RANGES.get(to, (0, 1))
    if to == F32:
        return n.tame(n.op("Cast", [x], None, float(x.lo), float(x.hi), F32, to=F32))
    return n.op("Cast", [x], None, lo, hi, to, to=to)


@step(1, "i", types=(BOOL,), keeps=True)
def logic(n, x):
    return n.op(n.pick("And", "Or", "Xor"), [x, n.other(BOOL, x.shape, 0, 1)]) if n.maybe(0.7) else n.op("Not", [x])


# ---- normalisation ----
@step(1, "v", range(2, 6), keeps=True)
def batch_norm(n, x):
    c = (x.shape[1],)
    ins = [x, n.const(x.dt, c, 0.5, 1.5), n.const(x.dt, c), n.const(x.dt, c, -0.5, 0.5), n.const(x.dt, c, 0.5, 2.0)]
    m = (x.most + 0.5) * 2.2 + 1
    return n.op("BatchNormalization", ins, lo=-m, hi=m, epsilon=n.pick(1e-5, 1e-3))


@step(1, "vtr", range(1, 6), keeps=True)
def norm(n, x):
    if not x.size:
        return None
    op = n.pick("InstanceNormalization", "LayerNormalization", "GroupNormalization", "RMSNormalization", "LpNormalization",
                "MeanVarianceNormalization", "LRN", "by hand")
    rank, dt, m = len(x.shape), x.dt, math.sqrt(x.size) + 2
    x = n.add(x, n.const(dt, x.shape, -1.0, 1.0)) if n.maybe(0.5) else x  # rows of equal elements amplify rounding
    if op in ("InstanceNormalization", "GroupNormalization", "LRN", "MeanVarianceNormalization") and rank < 3 or x.size < 16:
        return None
    if op == "InstanceNormalization":
        return n.op(op, [x, n.const(dt, (x.shape[1],)), n.const(dt, (x.shape[1],))], lo=-m, hi=m, epsilon=0.01)
    if op == "GroupNormalization":
        if n.g.opset < 21:
            return None
        groups = n.rng.choice([k for k in range(1, x.shape[1] + 1) if x.shape[1] % k == 0])
        return n.op(op, [x, n.const(dt, (x.shape[1],)), n.const(dt, (x.shape[1],))], lo=-m, hi=m, epsilon=0.01, num_groups=groups)
    if op == "LRN":
        if rank != 4:  # ONNX Runtime takes no other
            return None
        return n.op(op, [x], size=n.pick(1, 3, 5), alpha=0.01, beta=0.75, bias=1.0)
    if op == "MeanVarianceNormalization":
        return n.op(op, [x], lo=-m, hi=m, axes=[0, 2, 3]) if rank == 4 else None
    a, axis = n.axis(x)
    if op == "LpNormalization":
        return n.op(op, [n.positive(x)], lo=0.0, hi=1.0, axis=axis, p=n.pick(1, 2))
    if op == "by hand":
        shape = (*x.shape[:-1], 1)
        mean = n.by_axes("ReduceMean", x, [-1], 18, shape, x.lo, x.hi, keepdims=1)
        d = n.add(x, mean, "Sub")
        sq = n.op("Mul", [d, d], lo=0.0, hi=d.most ** 2)
        var = n.by_axes("ReduceMean", sq, [-1], 18, shape, 0.0, sq.hi, keepdims=1)
        sd = n.op("Sqrt", [n.add(var, n.const(dt, (), data=[0.0625]))], lo=0.25, hi=var.hi + 1)
        return n.op("Div", [d, sd], lo=-m, hi=m)
    shape = x.shape[a:]
    if op == "LayerNormalization" and n.g.opset >= 17:
        return n.op(op, [x, n.const(dt, shape), *([n.const(dt, shape)] if n.maybe(0.8) else [])], lo=-m, hi=m, axis=axis, epsilon=0.01)
    if op == "RMSNormalization" and n.g.opset >= 23:
        return n.op(op, [x, n.const(dt, shape)], lo=-m, hi=m, axis=axis, epsilon=0.01)
    return None


@step(1, "tvs", range(1, 6), keeps=True)
def softmax(n, x):
    if not x.size:
        return None
    op = n.pick("Softmax", "Softmax", "LogSoftmax", "by hand")
    a, axis = n.axis(x)
    if op == "by hand":
        shape = (*x.shape[:a], 1, *x.shape[a + 1:])
        top = n.by_axes("ReduceMax", x, [a], 18, shape, x.lo, x.hi, keepdims=1)
        e = n.op("Exp", [n.op("Sub", [x, top], lo=x.lo - x.hi, hi=0.0)], lo=0.0, hi=1.0)
        return n.op("Div", [e, n.by_axes("ReduceSum", e, [a], 13, shape, 1.0, float(x.shape[a]), keepdims=1)], lo=0.0, hi=1.0)
    return n.op(op, [x], lo=0.0 if op == "Softmax" else x.lo - x.hi - 6, hi=1.0 if op == "Softmax" else 0.0, axis=axis)


# ---- windows ----
def window(n, size, most=5, strides=(1, 1, 1, 2, 3)):
    """-> kernel, stride, dilation, pads before and after, extent of the result, of one axis; None if nothing fits"""
    for _ in range(8):
        k, s, d = n.rng.randint(1, most), n.pick(*strides), n.pick(1, 1, 1, 2, 3)
        before, after = n.rng.randint(0, k - 1), n.rng.randint(0, k - 1)
        if n.maybe():
            before = after = (k - 1) * d // 2
        out = (size + before + after - d * (k - 1) - 1) // s + 1
        if size and size + before + after >= d * (k - 1) + 1 and out > 0:
            return k, s, d, before, after, out
    return 1, 1, 1, 0, 0, size


def slide(n, x, **more):
    """-> attributes and spatial extents of a window over x, by pads or by auto_pad"""
    sizes = x.shape[2:]
    if not all(sizes):
        return None
    axes = [window(n, d, **more) for d in sizes]
    if n.maybe(0.4):  # square
        axes = [axes[0] if sizes[i] == sizes[0] else a for i, a in enumerate(axes)]
    k, s, d, before, after, out = map(list, zip(*axes))
    attrs = {"kernel_shape": k, "strides": s, "dilations": d}
    auto = n.pick("", "", "", "SAME_UPPER", "SAME_LOWER", "VALID")
    if auto == "VALID":
        out = [(size - dd * (kk - 1) - 1) // ss + 1 for size, kk, ss, dd in zip(sizes, k, s, d)]
        if min(size - dd * (kk - 1) for size, kk, dd in zip(sizes, k, d)) < 1:
            auto = ""
            out = list(zip(*axes))[5]
    elif any(kk < ss for kk, ss in zip(k, s)):
        auto = ""  # ONNX Runtime takes no negative pads
    elif auto:
        if any(dd != 1 for dd in d):
            attrs["dilations"] = [1 for _ in d]
        out = [-(-size // ss) for size, ss in zip(sizes, s)]
    if auto:
        attrs["auto_pad"] = auto
    else:
        attrs["pads"] = before + after
    for key, default in (("strides", 1), ("dilations", 1), ("pads", 0)):
        if all(v == default for v in attrs.get(key, [None])) and n.maybe():
            attrs.pop(key)
    return attrs, tuple(out)


def divisors(c, most=1 << 30):
    return [k for k in range(1, c + 1) if c % k == 0 and k <= most] or [1]


def weights(n, dt, shape, terms, **more):
    """a constant whose sums of products stay near the size of what it is multiplied with"""
    m = max(rounded(1.5 / math.sqrt(max(terms, 1))), 2.0 ** -6)
    return n.const(dt, shape, -m, m, **more)


@step(8, "v", range(3, 6), types=(F32, F16, BF16))
def conv(n, x):
    if not x.size or not (fit := slide(n, x)):
        return None
    attrs, out = fit
    c = x.shape[1]
    group = n.pick(1, 1, 1, c, n.rng.choice(divisors(c)))
    maps = group * n.pick(1, 1, 2, 3) if group > 1 else n.pick(1, 2, 3, 8, 16, 17, 24, 32, 33)
    terms = c // group * math.prod(attrs["kernel_shape"])
    if maps * terms > WEIGHTS or maps * math.prod(out) * x.shape[0] > MOST:
        return None
    w = weights(n, x.dt, (maps, c // group, *attrs["kernel_shape"]), terms)
    bias = [n.const(x.dt, (maps,))] if n.maybe(0.6) else []
    m = x.most * w.most * math.sqrt(terms) * 3 + 1
    if n.maybe(0.3):
        attrs.pop("kernel_shape")
    y = n.op("Conv", [x, w, *bias], (x.shape[0], maps, *out), -m, m, group=group, **attrs)
    if n.maybe(0.5):
        y = activation(n, batch_norm(n, y) if n.maybe(0.4) else y)
    return y


@step(2, "v", range(3, 6), types=(F32, F16, BF16))
def conv_transpose(n, x):
    sizes, rank = x.shape[2:], len(x.shape) - 2
    k, s = [n.rng.randint(1, 4) for _ in sizes], [n.pick(1, 2, 2, 3) for _ in sizes]
    d = [n.pick(1, 1, 1, 2) for _ in sizes]
    group = n.rng.choice(divisors(x.shape[1])) if n.maybe(0.3) else 1
    maps = group * n.pick(1, 2, 3, 8)
    attrs = {"strides": s, "dilations": d, "group": group, "kernel_shape": k}
    pads = [n.rng.randint(0, kk - 1) for kk in k * 2]
    extra = [n.rng.randint(0, max(ss, dd) - 1) for ss, dd in zip(s, d)]
    whole = [ss * (size - 1) + dd * (kk - 1) + 1 for size, ss, kk, dd in zip(sizes, s, k, d)]
    out = [w + e - a - b for w, e, a, b in zip(whole, extra, pads[:rank], pads[rank:])]
    how = n.pick("pads", "pads", "pads", "auto", "shape")
    if how == "auto":
        attrs["auto_pad"] = n.pick("SAME_UPPER", "SAME_LOWER")
        out = [size * ss for size, ss in zip(sizes, s)]
        if any(w < o for w, o in zip(whole, out)) or any(dd > 1 for dd in d):
            return None
    elif how == "shape" and group:
        out = [w - n.rng.randint(0, kk - 1) for w, kk in zip(whole, k)]
        attrs["output_shape"] = out
    else:
        attrs |= {"pads": pads, "output_padding": extra}
    if min(out, default=0) < 1 or x.shape[0] * maps * math.prod(out) > MOST or not all(sizes):
        return None
    terms = x.shape[1] // group * math.prod(k)
    w = weights(n, x.dt, (x.shape[1], maps // group, *k), terms)
    m = x.most * w.most * math.sqrt(terms) * 3 + 1
    return n.op("ConvTranspose", [x, w, *([n.const(x.dt, (maps,))] if n.maybe() else [])], (x.shape[0], maps, *out), -m, m, **attrs)


@step(3, "v", range(3, 6), types=(F32,))
def pool(n, x):
    if not x.size:
        return None
    op = n.pick("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LpPool", "GlobalLpPool")
    ones = (1,) * (len(x.shape) - 2)
    if op.startswith("Global"):
        if op == "GlobalLpPool":
            m = x.most * math.prod(x.shape[2:])
            return n.op(op, [x], (*x.shape[:2], *ones), 0.0, m, p=n.pick(1, 2))
        return n.op(op, [x], (*x.shape[:2], *ones))
    if not (fit := slide(n, x, most=4)):
        return None
    attrs, out = fit
    if op != "MaxPool" and n.g.opset < 19 or op == "LpPool":
        if any(d != 1 for d in attrs.pop("dilations", [1])):
            return None
    pads = attrs.get("pads")
    rank = len(out)
    if pads and any(p >= k for p, k in zip(pads, attrs["kernel_shape"] * 2)) or any(d > 1 for d in attrs.get("dilations", [])) and any(pads or [1]):
        return None  # windows without an element: ONNX Runtime gives the least float for -inf
    if op == "LpPool":
        m = x.most * math.prod(attrs["kernel_shape"])
        return n.op(op, [x], (*x.shape[:2], *out), 0.0, m, p=n.pick(1, 2), **attrs)
    if "auto_pad" not in attrs and n.maybe(0.3):
        attrs["ceil_mode"] = 1
        k, s, d = attrs["kernel_shape"], attrs.get("strides", [1] * rank), attrs.get("dilations", [1] * rank)
        pads = pads or [0] * 2 * rank
        out = []
        for i in range(rank):
            room = x.shape[2 + i] + pads[i] + pads[i + rank] - d[i] * (k[i] - 1) - 1
            o = -(-room // s[i]) + 1
            out.append(o - ((o - 1) * s[i] >= x.shape[2 + i] + pads[i]))
        if op == "AveragePool" and n.g.opset < 19:
            return None  # what counts at the end changed
    if op == "AveragePool" and n.maybe(0.4):
        attrs["count_include_pad"] = 1
    if op == "MaxPool" and n.maybe(0.15) and "auto_pad" not in attrs:
        shape = (*x.shape[:2], *out)
        return n.node(op, [x], [(x.dt, shape, x.lo, x.hi), (I64, shape, 0, x.size)], **attrs)[0]
    return n.op(op, [x], (*x.shape[:2], *out), min(x.lo, 0.0), max(x.hi, 0.0), **attrs)


@step(1.5, "v", range(3, 6), types=(F32,))
def resize(n, x):
    if not x.size:
        return None
    mode = n.pick("nearest", "linear", "cubic") if len(x.shape) == 4 else n.pick("nearest", "linear")
    attrs = {"mode": mode, "coordinate_transformation_mode": n.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")}
    if mode == "nearest":
        attrs["nearest_mode"] = n.pick("round_prefer_floor", "floor", "ceil", "round_prefer_ceil")
    if mode == "cubic":
        attrs["cubic_coeff_a"] = -0.5
    scales = [1.0, 1.0] + [n.pick(1.0, 2.0, 2.0, 3.0, 0.5, 1.5) for _ in x.shape[2:]]
    shape = [int(math.floor(d * s)) for d, s in zip(x.shape, scales)]
    if min(shape) < 1 or math.prod(shape) > MOST:
        return None
    if attrs["coordinate_transformation_mode"] == "align_corners" and any(d * s != e for d, s, e in zip(x.shape, scales, shape)):
        return None  # the official tests divide by the fractional extent, ONNX Runtime by the whole one
    how = [n.const(F32, (len(scales),), data=scales)] if n.maybe(0.6) else [None, n.ints(*shape)]
    return n.op("Resize", [x, None, *how], shape, -2 * x.most, 2 * x.most, **attrs)


@step(0.7, "v", (4,))
def depth_space(n, x):
    b, (N, C, H, W) = n.pick(2, 3), x.shape
    if n.maybe() and C % (b * b) == 0:
        return n.op("DepthToSpace", [x], (N, C // b // b, H * b, W * b), blocksize=b, mode=n.pick("DCR", "CRD"))
    if H % b or W % b or not x.size:
        return None
    return n.op("SpaceToDepth", [x], (N, C * b * b, H // b, W // b), blocksize=b)


@step(1, "v", (4,), types=(F32,), keeps=True)
def excite(n, x):
    """squeeze and excitation"""
    if not x.size:
        return None
    c, mid = x.shape[1], n.pick(1, 4, 8)
    s = n.op("GlobalAveragePool", [x], (*x.shape[:2], 1, 1))
    s = n.op("Relu", [n.op("Conv", [s, n.const(F32, (mid, c, 1, 1), -0.5, 0.5)], (x.shape[0], mid, 1, 1), -8.0, 8.0)], lo=0.0, hi=8.0)
    s = n.op("Conv", [s, n.const(F32, (c, mid, 1, 1), -0.5, 0.5)], (x.shape[0], c, 1, 1), -8.0, 8.0)
    return n.op("Mul", [x, n.op(n.pick("Sigmoid", "HardSigmoid"), [s], lo=0.0, hi=1.0)], lo=min(x.lo, 0.0), hi=max(x.hi, 0.0))


@step(2, "vt", range(2, 6), keeps=True)
def residual(n, x):
    y = n.steps(x, n.pick(1, 2, 3), keeps=True)
    return n.add(x, y) if y.shape == x.shape and y.dt == x.dt else None


@step(1.5, "v", range(3, 6))
def branches(n, x):
    """several branches of one value, joined by their maps"""
    ys = []
    for _ in range(n.pick(2, 3, 4)):
        y = n.steps(x, n.pick(1, 2), only={conv, unary, activation, batch_norm, pool}) if n.maybe(0.8) else x
        if y.shape[2:] == x.shape[2:] and y.shape[0] == x.shape[0]:
            ys.append(y)
    if len(ys) < 2:
        return None
    return n.op("Concat", ys, (x.shape[0], sum(y.shape[1] for y in ys), *x.shape[2:]), min(y.lo for y in ys), max(y.hi for y in ys), axis=1)


@step(0.7, "v", range(3, 6))
def shuffle(n, x):
    c = x.shape[1]
    if not x.size or c == 1 or len(x.shape) > 5:
        return None
    g = n.rng.choice(divisors(c))
    y = n.op("Reshape", [x, n.ints(x.shape[0], g, c // g, *x.shape[2:])], (x.shape[0], g, c // g, *x.shape[2:]))
    y = n.op("Transpose", [y], (x.shape[0], c // g, g, *x.shape[2:]), perm=[0, 2, 1, *range(3, len(y.shape))])
    return n.op("Reshape", [y, n.ints(0, -1, *x.shape[2:])], x.shape)


# ---- products ----
@step(4, "t", range(1, 6))
def matmul(n, x):
    if not x.size:
        return None
    k, out = x.shape[-1], n.pick(1, 2, 3, 8, 16, 17, 31, 32, 33, 64)
    if x.size // k * out > MOST or k * out > WEIGHTS:
        return None
    batch = x.shape[:-2] if len(x.shape) > 2 and n.maybe(0.15) else ()
    if math.prod(batch) * k * out > WEIGHTS:
        batch = ()
    m = max(rounded(1.5 / math.sqrt(k)), 2.0 ** -6)
    w = n.const(x.dt, (*batch, k, out), -m, m) if n.maybe(0.85) else n.other(x.dt, (*batch, k, out), -m, m)
    m = x.most * w.most * math.sqrt(k) * 3 + 1
    y = n.op("MatMul", [x, w], (*x.shape[:-1], out), -m, m)
    if n.maybe(0.6):
        y = n.add(y, n.const(x.dt, (out,)))
    return activation(n, y) if n.maybe(0.4) and y.shape else y


@step(2, "tr", (2,))
def gemm(n, x):
    if not x.size:
        return None
    ta, tb = int(n.maybe(0.3)), int(n.maybe())
    rows, k = x.shape[::-1] if ta else x.shape
    out = n.pick(1, 2, 3, 8, 16, 17, 31, 33, 64)
    if rows * out > MOST:
        return None
    w = weights(n, x.dt, (out, k) if tb else (k, out), k)
    bias = [n.const(x.dt, n.pick((out,), (1, out), (rows, 1), (), (rows, out)))] if n.maybe(0.7) else []
    m = x.most * w.most * math.sqrt(k) * 6 + 4
    attrs = {k: v for k, v in (("transA", ta), ("transB", tb)) if v or n.maybe(0.3)}
    if n.maybe(0.3):
        attrs |= {"alpha": n.pick(0.5, 2.0), "beta": n.pick(0.5, 0.0, 2.0)}
    return n.op("Gemm", [x, w, *bias], (rows, out), -m, m, **attrs)


@step(0.7, "t", range(2, 5), types=(F32,))
def einsum(n, x):
    letters = "abcd"[:len(x.shape)]
    out = n.pick(1, 3, 8, 16)
    if not x.size or x.size // x.shape[-1] * out > MOST:
        return None
    k = n.rng.randrange(len(x.shape))
    w = weights(n, x.dt, (x.shape[k], out), x.shape[k])
    kept = [c for c in letters if c != letters[k]] + ["z"]
    n.rng.shuffle(kept)
    sizes = dict(zip(letters, x.shape), z=out)
    m = x.most * w.most * x.shape[k]
    shape = [sizes[c] for c in kept]
    return n.op("Einsum", [x, w], shape, -m, m, equation=f"{letters},{letters[k]}z->{''.join(kept)}") if math.prod(shape) <= MOST else None


@step(4, "t", (3,), types=(F32, F16, F64))
def attention(n, x):
    b, s, d = x.shape
    heads = n.rng.choice(divisors(d, 8))
    if not x.size or heads * s * s * b > MOST or d * d > WEIGHTS:
        return None
    h, dt = d // heads, x.dt

    def project(perm, shape):
        m = rounded(1.5 / math.sqrt(d)) or 0.1
        y = n.op("MatMul", [x, n.const(dt, (d, d), -m, m)], x.shape, -x.most * 4, x.most * 4)
        y = n.add(y, n.const(dt, (d,))) if n.maybe() else y
        y = n.op("Reshape", [y, n.ints(0, n.pick(s, -1), heads, h)], (b, s, heads, h))
        return n.op("Transpose", [y], shape, perm=perm)
    q, v = project([0, 2, 1, 3], (b, heads, s, h)), project([0, 2, 1, 3], (b, heads, s, h))
    k = project([0, 2, 3, 1], (b, heads, h, s))
    scores = n.op("MatMul", [q, k], (b, heads, s, s), -16.0, 16.0)
    scores = n.op("Mul", [scores, n.const(dt, (), data=[rounded(h ** -0.5)])], lo=-16.0, hi=16.0)
    if n.maybe():
        mask = n.const(dt, (1, 1, s, s), data=[0.0 if j <= i else -10000.0 for i in range(s) for j in range(s)])
        scores = n.add(scores, mask)
    p = n.op("Softmax", [scores], lo=0.0, hi=1.0, axis=-1)
    y = n.op("MatMul", [p, v], (b, heads, s, h), v.lo, v.hi)
    y = n.op("Transpose", [y], (b, s, heads, h), perm=[0, 2, 1, 3])
    return n.op("Reshape", [y, n.ints(0, 0, d) if n.maybe() else n.ints(b, s, -1)], (b, s, d))


@step(1, "ts", range(2, 5))
def square(n, x):
    """a product of two values: x by its transpose"""
    if not x.size or x.size // x.shape[-1] * x.shape[-2] > MOST:
        return None
    perm = [*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2]
    t = n.op("Transpose", [x], [x.shape[p] for p in perm], perm=perm)
    m = x.most ** 2 * x.shape[-1]
    return n.op("MatMul", [x, t], (*x.shape[:-1], x.shape[-2]), -m, m)


# ---- recurrent ----
@step(6, "r", (3,), types=(F32,))
def recurrent(n, x):
    if not x.size:
        return None
    op, direction = n.pick("LSTM", "GRU", "RNN"), n.pick("forward", "reverse", "bidirectional")
    gates, dirs, hidden = {"LSTM": 4, "GRU": 3, "RNN": 1}[op], 1 + (direction == "bidirectional"), n.pick(1, 3, 8, 16, 17)
    s, b, width = x.shape
    ins = [n.tame(x, 2.0), n.const(F32, (dirs, gates * hidden, width), -0.4, 0.4), n.const(F32, (dirs, gates * hidden, hidden), -0.4, 0.4)]
    ins += [n.const(F32, (dirs, 2 * gates * hidden)) if n.maybe(0.7) else None]
    ins += [n.const(I32, (b,), 1, s) if n.maybe(0.2) else None]
    ins += [n.other(F32, (dirs, b, hidden)) if n.maybe() else None]
    attrs = {"hidden_size": hidden}
    if op == "LSTM":
        ins += [n.other(F32, (dirs, b, hidden)) if n.maybe() else None, n.const(F32, (dirs, 3 * hidden), -0.3, 0.3) if n.maybe(0.2) else None]
    if op == "GRU" and n.maybe():
        attrs["linear_before_reset"] = 1
    if direction != "forward" or n.maybe():
        attrs["direction"] = direction
    if n.maybe(0.2):
        attrs["activations"] = {"LSTM": ["HardSigmoid", "Tanh", "Softsign"], "GRU": ["HardSigmoid", "Softsign"], "RNN": ["Relu"]}[op] * dirs
    while ins[-1] is None:
        ins.pop()
    big = 16.0 if "Relu" in attrs.get("activations", ()) else 1.0
    results = [(F32, (s, dirs, b, hidden), -big, big), (F32, (dirs, b, hidden), -big, big)] + [(F32, (dirs, b, hidden), -float(s), float(s))] * (op == "LSTM")
    y = n.node(op, ins, results[:n.rng.randint(1, len(results))], **attrs)[0]
    if dirs == 1 and n.maybe(0.7):
        return n.by_axes("Squeeze", y, [1], 13, (s, b, hidden), y.lo, y.hi)
    y = n.op("Transpose", [y], (s, b, dirs, hidden), perm=[0, 2, 1, 3])
    return n.op("Reshape", [y, n.ints(0, 0, -1)], (s, b, dirs * hidden))


# ---- reductions and searches ----
@step(1.5, "st", range(1, 7))
def reduce(n, x):
    if not x.size:
        return None
    op = n.pick("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp", "LogSum")
    axes = sorted(n.rng.sample(range(len(x.shape)), n.rng.randint(1, len(x.shape))))
    count = math.prod(x.shape[a] for a in axes)
    if op == "Prod" and count > 64 or op == "LogSumExp" and x.most > 8:
        op = "Mean"
    if op == "Prod":
        x = n.op("Tanh", [x], lo=-1.0, hi=1.0)
    if op == "LogSum":
        x = n.positive(x)
    m, c = x.most, count
    lo, hi = {"Sum": (x.lo * c if x.lo < 0 else x.lo, max(x.hi * c, 0.0)), "Mean": (x.lo, x.hi), "Max": (x.lo, x.hi), "Min": (x.lo, x.hi), "Prod": (-1.0, 1.0),
              "L1": (0.0, m * c), "L2": (0.0, m * math.sqrt(c)), "SumSquare": (0.0, m * m * c), "LogSumExp": (x.lo, x.hi + math.log(c)),
              "LogSum": (-2.0, math.log(m * c + 1))}[op]
    keep = int(n.maybe())
    shape = [1 if a in axes else d for a, d in enumerate(x.shape) if keep or a not in axes]
    named = [a - len(x.shape) if n.maybe(0.3) else a for a in axes]
    if len(axes) == len(x.shape) and n.maybe():
        return n.op("Reduce" + op, [x], shape, lo, hi, keepdims=keep)
    return n.by_axes("Reduce" + op, x, named, 13 if op == "Sum" else 18, shape, lo, hi, keepdims=keep)


@step(0.8, "sti", range(1, 6), types=(F32, F64, I32, I64), jumps=True)
def search(n, x):
    if not x.size or 0 in x.shape:
        return None
    a, axis = n.axis(x)
    op = n.pick("ArgMax", "ArgMin", "TopK", "CumSum", "Hardmax")
    if op == "Hardmax" and x.dt in FLOATS:
        return n.op(op, [x], lo=0.0, hi=1.0, axis=axis)
    if op == "TopK":
        k = n.rng.randint(1, x.shape[a])
        shape = [k if i == a else d for i, d in enumerate(x.shape)]
        return n.node(op, [x, n.ints(k)], [(x.dt, shape, x.lo, x.hi), (I64, shape, 0, x.shape[a] - 1)], axis=axis, largest=n.pick(0, 1))[0]
    if op == "CumSum":
        if x.dt in INTS and max(-x.lo, x.hi) > 1000:
            return None
        m = x.most * x.shape[a]
        return n.op(op, [x, n.const(n.pick(I32, I64), (), data=[a])], lo=-m, hi=m, exclusive=n.pick(0, 1), reverse=n.pick(0, 1))
    if op == "Hardmax":
        return None
    keep = n.pick(0, 1)
    shape = [1 if i == a else d for i, d in enumerate(x.shape) if keep or i != a]
    y = n.op(op, [x], shape, 0, x.shape[a] - 1, I64, axis=axis, keepdims=keep, select_last_index=n.pick(0, 1))
    return n.op("Cast", [y], None, 0.0, float(x.shape[a]), n.float, to=n.float) if x.dt in FLOATS else y


# ---- movement ----
ANY = FLOATS + INTS + (BOOL,)


@step(1.5, "sti", range(2, 7), types=ANY)
def transpose(n, x):
    perm = n.rng.sample(range(len(x.shape)), len(x.shape))
    return n.op("Transpose", [x], [x.shape[p] for p in perm], perm=perm)


@step(1.5, "sti", range(1, 7), types=ANY)
def reshape(n, x):
    if not x.size:
        return None
    factors = [d for d in x.shape if d > 1]
    for f in list(factors):
        small = [p for p in (2, 3, 5) if f % p == 0 and f > p]
        if small and n.maybe(0.4):
            factors.remove(f)
            factors += [small[0], f // small[0]]
    shape = [1] * n.rng.randint(1, 5)
    at = 0
    for f in factors:  # in order, so that neighbours are merged or split
        shape[min(at, len(shape) - 1)] *= f
        at += n.maybe(0.7)
    target = list(shape)
    if n.maybe(0.4):
        target[n.rng.randrange(len(shape))] = -1
    if n.maybe(0.2):
        target = [0 if i < len(x.shape) and x.shape[i] == d and -1 != t else t for i, (d, t) in enumerate(zip(shape, target))]
    if n.maybe(0.15):
        a = n.rng.randint(0, len(x.shape))
        return n.op("Flatten", [x], (math.prod(x.shape[:a]), math.prod(x.shape[a:])), axis=a)
    return n.op("Reshape", [x, n.ints(*target)], shape)


@step(0.7, "sti", range(0, 6), types=ANY)
def unsqueeze(n, x):
    ones = [i for i, d in enumerate(x.shape) if d == 1]
    if ones and n.maybe():
        a = n.rng.choice(ones)
        return n.by_axes("Squeeze", x, [a], 13, x.shape[:a] + x.shape[a + 1:], x.lo, x.hi)
    a = n.rng.randint(0, len(x.shape))
    return n.by_axes("Unsqueeze", x, [a - len(x.shape) - 1 if n.maybe(0.3) else a], 13, (*x.shape[:a], 1, *x.shape[a:]), x.lo, x.hi)


@step(1.5, "stvi", range(1, 6), types=ANY)
def slices(n, x):
    starts, ends, axes, steps, shape = [], [], [], [], list(x.shape)
    for a in n.rng.sample(range(len(x.shape)), n.rng.randint(1, len(x.shape))):
        d, s = x.shape[a], n.pick(1, 1, 1, 2, 3, -1, -1, -2)
        lo = n.rng.randint(0, d)
        hi = n.rng.randint(lo, d)
        if s > 0:
            start, end, count = lo, hi, max(0, -(-(hi - lo) // s))
            starts.append(start - d if start and start < d and n.maybe(0.3) else start)
            ends.append(n.pick(end, 1 << 31, (1 << 63) - 1) if end == d else end)
        else:
            if not hi > lo:
                continue
            start, end, count = hi - 1, lo - 1, -(-(hi - lo) // -s)
            starts.append(n.pick(start, (1 << 31) - 1) if start == d - 1 else start)
            ends.append(n.pick(-d - 1, -(1 << 31), -(1 << 63) + 1) if end < 0 else end)
        if not count and not n.maybe(0.05):
            starts.pop(), ends.pop()
            continue
        axes.append(a)
        steps.append(s)
        shape[a] = count
    if not axes:
        return None
    return n.op("Slice", [x, n.ints(*starts), n.ints(*ends), n.ints(*axes), n.ints(*steps)], shape)


@step(1, "stvi", range(1, 6), types=ANY)
def split(n, x):
    a, axis = n.axis(x)
    d = x.shape[a]
    if d < 2:
        return None
    parts = n.pick(2, 3, d if d < 9 else 2)
    sizes = [d // parts] * parts
    if d % parts or n.maybe():
        cuts = sorted(n.rng.sample(range(1, d), min(parts, d) - 1))
        sizes = [b - a for a, b in zip([0, *cuts], [*cuts, d])]
    results = [(x.dt, (*x.shape[:a], s, *x.shape[a + 1:]), x.lo, x.hi) for s in sizes]
    ys = n.node("Split", [x, n.ints(*sizes)], results, axis=axis)
    if n.maybe(0.3):
        return n.rng.choice(ys)
    ys = [n.steps(y, 1, keeps=True) if n.maybe() else y for y in ys]
    n.rng.shuffle(ys)
    ys = [y for y in ys if y.dt == x.dt]
    if len({(*y.shape[:a], *y.shape[a + 1:]) for y in ys}) != 1:
        return None
    return n.op("Concat", ys, (*x.shape[:a], sum(y.shape[a] for y in ys), *x.shape[a + 1:]), min(y.lo for y in ys), max(y.hi for y in ys), axis=axis)


@step(0.8, "stvi", range(1, 6), types=ANY)
def concat(n, x):
    a, axis = n.axis(x)
    rest = lambda v: (*v.shape[:a], *v.shape[a + 1:])  # noqa: E731
    there = [v for v in n.g.values.values() if v.dt == x.dt and len(v.shape) == len(x.shape) and rest(v) == rest(x)]
    ys = [x] + [n.rng.choice(there) for _ in range(n.pick(1, 1, 2))]
    if n.maybe():
        ys.append(n.other(x.dt, (*x.shape[:a], n.extent(5), *x.shape[a + 1:]), *((0, 1) if x.dt not in FLOATS else (-1.0, 1.0))))
    n.rng.shuffle(ys)
    return n.op("Concat", ys, (*x.shape[:a], sum(y.shape[a] for y in ys), *x.shape[a + 1:]), min(y.lo for y in ys), max(y.hi for y in ys), axis=axis)


@step(0.8, "stvi", range(1, 5), types=ANY)
def expand(n, x):
    if n.maybe():
        shape = [n.extent(5) if d == 1 else d for d in x.shape]
        if n.maybe(0.3):
            shape.insert(0, n.extent(4))
        asked = [1 if n.maybe(0.2) and len(shape) == len(x.shape) and d == e else d for d, e in zip(shape, x.shape)] if len(shape) == len(x.shape) else shape
        return n.op("Expand", [x, n.ints(*asked)], shape)
    times = [n.pick(1, 1, 2, 3) for _ in x.shape]
    return n.op("Tile", [x, n.ints(*times)], [d * t for d, t in zip(x.shape, times)])


@step(1, "stv", range(1, 6), types=(F32, F64, I32, I64))
def pad(n, x):
    mode = n.pick("constant", "constant", "reflect", "edge", "wrap")
    if mode == "wrap" and n.g.opset < 19 or not x.size:
        mode = "constant"
    most = {"constant": 3, "edge": 3}.get(mode)
    pads = [n.rng.randint(0, most if most else max(0, min(3, d - 1))) if n.maybe(0.7) else 0 for d in x.shape * 2]
    rank = len(x.shape)
    if mode == "constant" and n.maybe(0.3):
        pads = [max(p, -d // 3) if d > 3 and n.maybe(0.3) else p for p, d in zip([p - 2 for p in pads], x.shape * 2)]
        pads = [p if d > 3 else max(p, 0) for p, d in zip(pads, x.shape * 2)]
    shape = [d + pads[i] + pads[i + rank] for i, d in enumerate(x.shape)]
    if min(shape) < 1:
        return None
    fill = [n.const(x.dt, (), data=[n.pick(0, 1, -2) if x.dt in INTS else n.pick(0.0, -1.0, 0.5)])] if mode == "constant" and n.maybe() else []
    return n.op("Pad", [x, n.ints(*pads), *fill], shape, min(x.lo, -2), max(x.hi, 1), mode=mode)


@step(1, "sti", range(1, 5), types=ANY)
def gather(n, x):
    if not x.size:
        return None
    a, axis = n.axis(x)
    d, dt = x.shape[a], n.pick(I64, I32)
    op = n.pick("Gather", "Gather", "GatherElements", "GatherND")
    if op == "Gather":
        shape = [n.extent(7) for _ in range(n.pick(0, 1, 1, 2))]
        return n.op(op, [x, n.other(dt, shape, -d, d - 1)], (*x.shape[:a], *shape, *x.shape[a + 1:]), axis=axis)
    if op == "GatherElements":
        shape = [n.extent(7) if i == a else n.rng.randint(1, e) for i, e in enumerate(x.shape)]
        return n.op(op, [x, n.other(dt, shape, -d, d - 1)], shape, axis=axis)
    depth = n.rng.randint(1, len(x.shape))
    rows, least = n.extent(7), min(x.shape[:depth])
    return n.op(op, [x, n.other(I64, (rows, depth), -least, least - 1)], (rows, *x.shape[depth:]))


@step(0.6, "s", range(1, 5), types=(F32, I64, I32))
def scatter(n, x):
    if not x.size:
        return None
    a, axis = n.axis(x)
    d = x.shape[a]
    lo, hi = (-1.0, 1.0) if x.dt in FLOATS else (0, 1)
    if n.g.opset >= 18 and n.maybe():  # any, joined in order; integers that stay small
        shape = [n.extent(7) if i == a else n.rng.randint(1, e) for i, e in enumerate(x.shape)]
        how = n.pick("add", "max", "min")
        return n.op("ScatterElements", [x, n.other(I64, shape, -d, d - 1), n.other(x.dt, shape, lo, hi)], None, min(x.lo, lo) * (1 + shape[a]), max(x.hi, hi) * (1 + shape[a]), axis=axis, reduction=how)
    if n.maybe():  # distinct indices along the axis
        k = n.rng.randint(1, d)
        shape = [k if i == a else n.rng.randint(1, e) for i, e in enumerate(x.shape)]
        rows = math.prod(shape[:a]), math.prod(shape[a + 1:])
        order = [[n.rng.sample(range(d), k) for _ in range(rows[1])] for _ in range(rows[0])]
        data = [order[p][r][i] for p in range(rows[0]) for i in range(k) for r in range(rows[1])]
        return n.op("ScatterElements", [x, n.const(I64, shape, data=data), n.other(x.dt, shape, lo, hi)], None, min(x.lo, lo), max(x.hi, hi), axis=axis)
    rows = n.rng.sample(range(x.shape[0]), n.rng.randint(1, x.shape[0]))
    shape = (len(rows), *x.shape[1:])
    return n.op("ScatterND", [x, n.const(I64, (len(rows), 1), data=rows), n.other(x.dt, shape, lo, hi)], None, min(x.lo, lo), max(x.hi, hi))


@step(0.4, "st", range(2, 5), types=(F32, I64))
def triangle(n, x):
    if n.g.opset < 14:
        return None
    return n.op("Trilu", [x, n.const(I64, (), data=[n.rng.randint(-3, 3)])], None, min(x.lo, 0), max(x.hi, 0), upper=n.pick(0, 1))


@step(0.4, "sr", range(2, 5), types=(F32, F64, I64))
def reverse(n, x):
    if not x.size:
        return None
    t = n.pick(0, 1)
    return n.op("ReverseSequence", [x, n.const(I64, (x.shape[1 - t],), 1, x.shape[t])], time_axis=t, batch_axis=1 - t)


@step(0.7, "st", range(1, 5), types=ANY)
def shape_arithmetic(n, x):
    """a shape taken apart and put together again, as exporters write it"""
    rank = len(x.shape)
    s = n.op("Shape", [x], (rank,), 0, MOST, I64)
    parts = [n.by_axes("Unsqueeze", n.op("Gather", [s, n.const(I64, (), data=[i])], (), axis=0), [0], 13, (1,), 0, MOST) for i in range(rank)]
    if rank == 1 or n.maybe():
        return n.op("Reshape", [x, n.op("Concat", [*parts, n.ints(1)], (rank + 1,), axis=0)], (*x.shape, 1)) if x.size else None
    if not x.size:
        return None
    joined = n.op("Mul", parts[:2], lo=0, hi=MOST)
    return n.op("Reshape", [x, n.op("Concat", [joined, *parts[2:]], (rank - 1,), axis=0)], (x.shape[0] * x.shape[1], *x.shape[2:]))


@step(0.3, "s", range(1, 3), types=(I32, I64))
def one_hot(n, x):
    if x.lo < 0 or x.hi > 32:
        x = n.op("Mod", [n.op("Abs", [n.op("Clip", [x, n.const(x.dt, (), data=[-99]), n.const(x.dt, (), data=[99])], None, -99, 99)], None, 0, 99),
                         n.const(x.dt, (), data=[7])], None, 0, 6)
    depth = int(x.hi) + 1
    return n.op("OneHot", [x, n.ints(depth), n.const(F32, (2,), data=[0.0, 1.0])], (*x.shape, depth), 0.0, 1.0, F32)


# ---- quantised ----
def scale_of(x, steps=255):
    return max(rounded(2 * x.most / steps), 2.0 ** -10)


def quantized(n, x, dt, scale, zero):
    ins = [n.const(F32, (), data=[scale]), n.const(dt, (), data=[zero])]
    q = n.op("QuantizeLinear", [x, *ins], None, *RANGES[dt], dt)
    return n.op("DequantizeLinear", [q, *ins], None, -x.most, x.most, F32)


@step(2, "v", (4,), types=(F32,), jumps=True)
def qdq_conv(n, x):
    if not x.size or not (fit := slide(n, x, most=3)):
        return None
    attrs, out = fit
    dt, zero = n.pick((U8, 128), (U8, 128), (I8, 0))
    c = x.shape[1]
    group = n.pick(1, 1, c)
    maps = group * n.pick(1, 2) if group > 1 else n.pick(1, 3, 8, 16, 17)
    terms = c // group * math.prod(attrs["kernel_shape"])
    if x.shape[0] * maps * math.prod(out) > MOST:
        return None
    x = quantized(n, x, dt, scale_of(x), zero)
    wscale = rounded(0.02) if terms < 30 else rounded(0.008)
    per = n.maybe()
    ws = n.const(F32, (maps,) if per else (), wscale / 2, wscale)
    wz = n.const(I8, ws.shape, data=[0] * (maps if per else 1))
    w = n.op("DequantizeLinear", [n.const(I8, (maps, c // group, *attrs["kernel_shape"]), -127, 127), ws, wz], None, -2.0, 2.0, F32, **({"axis": 0} if per else {}))
    m = x.most * math.sqrt(terms) + 1
    y = n.op("Conv", [x, w, *([n.const(F32, (maps,))] if n.maybe() else [])], (x.shape[0], maps, *out), -m, m, F32, group=group, **attrs)
    if n.maybe():
        y = n.op("Relu", [y], lo=0.0)
    return quantized(n, y, dt, scale_of(y), zero)


@step(1.5, "t", range(2, 5), types=(F32,), jumps=True)
def qdq_matmul(n, x):
    if not x.size:
        return None
    k, out, (dt, zero) = x.shape[-1], n.pick(1, 3, 8, 16, 33), n.pick((U8, 128), (I8, 0))
    if x.size // k * out > MOST:
        return None
    x = quantized(n, x, dt, scale_of(x), zero)
    scale, zw = n.const(F32, (), data=[rounded(0.01)]), n.const(I8, (), data=[0])
    w = n.op("DequantizeLinear", [n.const(I8, (k, out), -127, 127), scale, zw], None, -1.3, 1.3, F32)
    m = x.most * math.sqrt(k) + 1
    y = n.op("MatMul", [x, w], (*x.shape[:-1], out), -m, m)
    return quantized(n, y, dt, scale_of(y), zero)


@step(0.7, "vt", range(2, 5), types=(F32,), keeps=True, jumps=True)
def fake_quantized(n, x):
    dt, zero = n.pick((U8, 128), (I8, 0), (I8, 3), (U8, 0))
    return quantized(n, x, dt, scale_of(x), zero)


@step(0.5, "t", (2, 3), types=(F32,), jumps=True)
def dynamic_quantized(n, x):
    if not x.size:
        return None
    k, out = x.shape[-1], n.pick(1, 3, 8, 17)
    q, s, z = n.node("DynamicQuantizeLinear", [x], [(U8, x.shape, 0, 255), (F32, (), 0.0, 1.0), (U8, (), 0, 255)])
    w = n.const(I8, (k, out), -127, 127)
    y = n.op("MatMulInteger", [q, w, z], (*x.shape[:-1], out), -k * 32768, k * 32768, I32)
    y = n.op("Cast", [y], None, float(y.lo), float(y.hi), F32, to=F32)
    m = x.most * k
    return n.op("Mul", [y, n.op("Mul", [s, n.const(F32, (), data=[rounded(0.01)])], lo=0.0, hi=1.0)], lo=-m, hi=m)


def compose(seed, smooth=False):
    return Composer(seed, smooth).graph()
