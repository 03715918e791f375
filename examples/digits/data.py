# SPDX-License-Identifier: MIT
"""Digits drawn by a program: strokes of a few hand styles, bent, sheared, rotated, thickened and sprinkled
with noise, as 28 x 28 pictures of floats from 0 (paper) to 1 (ink). No file is read, so nothing is licensed."""
import numpy as np

SIDE = 28


def arc(cx, cy, rx, ry, begin, end, n=10):
    """Points of an ellipse, angles in degrees clockwise from the right, y downwards."""
    t = np.radians(np.linspace(begin, end, n + 1))
    return np.stack([cx + rx * np.cos(t), cy + ry * np.sin(t)], 1)


def line(*points):
    return np.array(points, float)


def join(*parts):
    return np.concatenate(parts)


# per digit: styles; per style: strokes; per stroke: points in the unit square
GLYPHS = [
    [[arc(.5, .5, .26, .4, -90, 270, 18)], [arc(.5, .5, .2, .4, -60, 290, 18)]],
    [[line((.5, .1), (.5, .9))], [line((.34, .28), (.52, .1), (.52, .9))],
     [line((.32, .3), (.52, .1), (.52, .9)), line((.3, .9), (.74, .9))]],
    [[join(arc(.48, .33, .27, .23, -170, 40), line((.24, .9), (.78, .9)))],
     [join(arc(.48, .32, .26, .22, -180, 60, 10), arc(.34, .8, .12, .09, -60, -290, 8), line((.5, .84), (.8, .9)))]],
    [[arc(.45, .29, .26, .19, -160, 90), arc(.45, .69, .29, .21, -90, 160)],
     [line((.24, .1), (.74, .1), (.45, .42)), arc(.45, .66, .28, .24, -90, 150)]],
    [[line((.6, .1), (.2, .62), (.82, .62)), line((.62, .1), (.62, .9))],
     [line((.28, .1), (.24, .52), (.8, .52)), line((.7, .1), (.66, .9))]],
    [[line((.76, .1), (.32, .1), (.28, .44)), arc(.46, .64, .3, .25, -125, 145)],
     [line((.7, .12), (.34, .1), (.3, .46)), arc(.44, .66, .27, .22, -110, 130)]],
    [[join(arc(.72, .62, .48, .52, -95, -180, 8), arc(.5, .66, .25, .23, 180, -180, 14))],
     [line((.62, .1), (.38, .42), (.27, .66)), arc(.5, .68, .24, .21, 0, 360, 14)]],
    [[line((.2, .1), (.8, .1), (.42, .9))], [line((.2, .12), (.78, .1), (.46, .9)), line((.34, .5), (.74, .5))],
     [line((.22, .24), (.22, .1), (.78, .1), (.5, .5), (.42, .9))]],
    [[arc(.5, .29, .2, .19, 0, 360, 12), arc(.5, .69, .26, .21, 0, 360, 12)],
     [join(arc(.5, .3, .22, .2, 60, -230, 12), line((.36, .46), (.68, .56)), arc(.5, .7, .24, .2, -40, 225, 12),
           line((.36, .54), (.6, .46)))]],
    [[arc(.5, .34, .25, .23, 0, 360, 14), line((.75, .34), (.7, .9))],
     [arc(.48, .33, .24, .22, 0, 360, 14), arc(.36, .5, .36, .4, -20, 80, 8)]],
]


def segments(strokes):
    return np.concatenate([np.stack([s[:-1], s[1:]], 1) for s in strokes])


STYLES = [(digit, segments(style)) for digit, styles in enumerate(GLYPHS) for style in styles]
MOST = max(len(s) for _, s in STYLES)
OF_DIGIT = [[i for i, (digit, _) in enumerate(STYLES) if digit == d] for d in range(10)]
TABLE = np.stack([np.concatenate([s, np.repeat(s[-1:], MOST - len(s), 0)]) for _, s in STYLES])  # [style, segment, end, xy]


def draw(n, seed, chunk=256):
    """n pictures [n, 1, 28, 28] float32 and their digits [n]; equal seeds give equal pictures"""
    rng = np.random.default_rng(seed)
    digit = rng.integers(0, 10, n)
    style = np.array([OF_DIGIT[d][int(u * len(OF_DIGIT[d]))] for d, u in zip(digit, rng.random(n))])
    out = np.empty((n, 1, SIDE, SIDE), np.float32)
    axis = (np.arange(SIDE, dtype=np.float32) + np.float32(.5)) / SIDE
    pixel = np.stack(np.meshgrid(axis, axis), -1).reshape(1, -1, 1, 2)  # [1, 784, 1, xy]
    for at in range(0, n, chunk):
        s = TABLE[style[at:at + chunk]] - .5
        m = len(s)
        u = lambda lo, hi, *shape: rng.uniform(lo, hi, (m, *shape))
        # bend: each coordinate moves by a slow wave of the other one, then a little by itself
        wave = .06 * np.sin(2 * np.pi * (s[..., ::-1] * u(.4, 1.1, 1, 1, 2) + u(0, 1, 1, 1, 2)))
        s = s + wave * u(0, 1, 1, 1, 1)
        # turn, shear, stretch, move
        a, sh = np.radians(u(-17, 17)), u(-.3, .3)
        sx, sy = u(.62, 1.08), u(.68, 1.05)
        turn = np.stack([np.stack([np.cos(a) * sx, (np.cos(a) * sh - np.sin(a)) * sy], -1),
                         np.stack([np.sin(a) * sx, (np.sin(a) * sh + np.cos(a)) * sy], -1)], -2)
        s = (np.einsum("nij,nkej->nkei", turn, s) + .5 + u(-.09, .09, 1, 1, 2)).astype(np.float32)
        # ink where the nearest segment is nearer than the pen's radius, with a soft edge
        p, d = s[:, None, :, 0], s[:, None, :, 1] - s[:, None, :, 0]
        t = np.clip(((pixel - p) * d).sum(-1) / np.maximum((d * d).sum(-1), np.float32(1e-9)), 0, 1)
        gap = pixel - p - t[..., None] * d
        near = np.sqrt((gap * gap).sum(-1).min(-1))  # [m, 784]
        ink = np.clip((u(.025, .06, 1) - near) / u(.02, .05, 1) + .5, 0, 1) * u(.6, 1, 1)
        ink += rng.normal(0, 1, ink.shape) * u(0, .14, 1)                       # grain
        ink = np.where(rng.random(ink.shape) < u(0, .03, 1), rng.random(ink.shape), ink)  # specks
        out[at:at + m] = np.clip(ink, 0, 1).reshape(m, 1, SIDE, SIDE)
    return np.round(out * 255) / np.float32(255), digit  # as a picture of bytes would hold it
