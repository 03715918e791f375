#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the polynomials of compiler/lower/libm.c: python3 tools/minimax.py [NAME]

Each is the best one in the sense of the greatest weighted error, found by Remez's exchange on a
dense grid in 40 decimal digits, then rounded to f32 coefficient by coefficient from the lowest
power, the higher ones being fitted again to what the rounding left. Coefficients of PIECES are rounded alone."""
import sys
from decimal import Decimal as D, getcontext
import struct

getcontext().prec = 40
PI = D("3.14159265358979323846264338327950288419716939937510582097494459")


def series(first, ratio):
    """first + first * ratio(1) + first * ratio(1) * ratio(2) + ... until nothing changes"""
    total, term, n = D(0), first, 1
    while total + term != total:
        total, term, n = total + term, term * ratio(n), n + 1
    return total


def cos(x): return series(D(1), lambda n: -x * x / (2 * n * (2 * n - 1)))
def sin(x): return series(x, lambda n: -x * x / (2 * n * (2 * n + 1)))
def tanh(x): return 1 - 2 / ((2 * x).exp() + 1)
def erf(x): return 2 / PI.sqrt() * (-x * x).exp() * series(x, lambda n: 2 * x * x / (2 * n + 1))
def log1p(x): return (1 + x).ln()


def remez(f, weight, lo, hi, degree, known):
    """coefficients known + found of the polynomial for f, with the greatest weighted error"""
    found = degree + 1 - len(known)
    grid = [lo + (hi - lo) * (1 - cos(PI * i / 800)) / 2 for i in range(801)]
    grid = [x for x in grid if abs(x) > D("1e-6")]
    want = [f(x) - sum(c * x**i for i, c in enumerate(known)) for x in grid]
    w = [weight(x) for x in grid]
    at = [round(i * (len(grid) - 1) / found) for i in range(found + 1)]
    for _ in range(30):
        rows = [[grid[p] ** (len(known) + j) for j in range(found)] + [(-1) ** i / w[p], want[p]] for i, p in enumerate(at)]
        c = solve(rows)[:found]
        err = [w[p] * (want[p] - sum(a * grid[p] ** (len(known) + j) for j, a in enumerate(c))) for p in range(len(grid))]
        peaks, start = [], 0  # the greatest error of each run of one sign
        for p in range(1, len(grid) + 1):
            if p == len(grid) or (err[p] > 0) != (err[start] > 0):
                peaks.append(max(range(start, p), key=lambda q: abs(err[q])))
                start = p
        while len(peaks) > found + 1:
            peaks.pop(0 if abs(err[peaks[0]]) < abs(err[peaks[-1]]) else -1)
        if len(peaks) < found + 1 or peaks == at:
            break
        at = peaks
    return known + c, max(abs(e) for e in err)


def solve(rows):
    """Gaussian elimination; the last column is the right side"""
    n = len(rows)
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(n):
            if r != i and rows[r][i]:
                k = rows[r][i] / rows[i][i]
                rows[r] = [a - k * b for a, b in zip(rows[r], rows[i])]
    return [rows[i][n] / rows[i][i] for i in range(n)]


def f32(x): return D(struct.unpack("f", struct.pack("f", float(x)))[0])


LN2 = D(2).ln()
FITS = {  # name: function, weight that makes its error that of the result, from, to, degree
    "exp_near, after 1, 1,": (lambda r: (r.exp() - 1 - r) / (r * r), lambda r: r * r / r.exp(), -LN2 / 2, LN2 / 2, 4),
    "exp2_tail": (lambda r: ((r * LN2).exp() - 1) / r, lambda r: abs(r) / (r * LN2).exp(), D("-0.5"), D("0.5"), 5),
    "log_tail": (lambda f: (log1p(f) - f + f * f / 2) / f**3, lambda f: abs(f**3 / log1p(f)), D("0.5").sqrt() - 1, D(2).sqrt() - 1, 9),
    "expm1_tail": (lambda r: (r.exp() - 1 - r) / (r * r), lambda r: r * r / abs(r.exp() - 1), -LN2 / 2, LN2 / 2, 5),
    "tanh_tail": (lambda z: (tanh(z.sqrt()) / z.sqrt() - 1) / z, lambda z: z, D(0), D("0.625") ** 2, 4),
    "erfc_log": (lambda x: (1 - erf(-x)).ln() / x - 1, lambda x: abs(x * (1 - erf(-x)) / erf(-x)), D("-3.95"), D(0), 8),
    "sin_tail": (lambda z: (sin(z.sqrt()) / z.sqrt() - 1) / z, lambda z: z, D(0), PI * PI / 16, 2),
    "cos_tail": (lambda z: (cos(z.sqrt()) - 1 + z / 2) / (z * z), lambda z: z * z, D(0), PI * PI / 16, 2),
}

# name: function, half of a piece, number of pieces, degree. The middle of piece i is 2 * i * half; piece 0 begins at 0, where the
# function is 0, and gives the function less x. The last piece is raised by half of a ULP, so that the function ends at 1.
PIECES = {"erf_pieces": (erf, D("0.125"), 16, 5)}


def piece(f, half, n, degree, i):
    middle, raised = 2 * half * i, D(2) ** -25 if i == n - 1 else D(0)
    values = {}

    def at(t):
        if t not in values:
            values[t] = f(middle + t) + raised
        return values[t]

    c, err = remez(at, lambda t: 1 / at(t), -half if i else D(0), half, degree, [] if i else [D(0)])
    return [f32(x - (k == 1 and not i)) for k, x in enumerate(c)], err


def wanted(names):
    return {name: row for name, row in names.items() if not sys.argv[1:] or name in sys.argv[1:]}


def show(name, err, size, rows):
    print(f"static const float {name}{size} = {{ /* relative error 2^{float((err.ln() / LN2)):.1f} */")
    print(",\n".join("  " + row for row in rows) + "\n};")


def text(c):
    return ", ".join(float(x).hex() + "f" for x in c)


for name, (f, weight, lo, hi, degree) in wanted(FITS).items():
    known, err = [], D(0)
    for _ in range(degree + 1):
        fitted, err = remez(f, weight, lo, hi, degree, known)
        known.append(f32(fitted[len(known)]))
    show(name, err, "[]", [text(known)])
for name, (f, half, n, degree) in wanted(PIECES).items():
    pieces = [piece(f, half, n, degree, i) for i in range(n)]
    show(name, max(err for _, err in pieces), f"[][{n}]", ["{ " + text(c) + " }" for c in zip(*(c for c, _ in pieces))])
