# SPDX-License-Identifier: MIT
"""Small models of layers with an extent that is a number n of the run, as text (docs/text-format.md)."""
import math
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
import onnxfile  # noqa: E402


def weight(name, shape, scale=0.1, phase=0.37):
    """a weight with values of a sine"""
    elems = 1
    for d in shape:
        elems *= d
    return (f"{name}_i = iota : i64[{elems}]\n{name}_f = cast {name}_i : f32\n{name}_m = mul {name}_f, {phase}\n"
            f"{name}_s = sin {name}_m\n{name}_w = mul {name}_s, {scale}\n{name} = reshape {name}_w : [{','.join(map(str, shape))}]\n")


def product(out, x, w, k, m):
    """out[n,m] = x[n,k] times w[1,k,m]"""
    return (f"{out}_x = reshape {x} : [n,{k},1]\n{out}_p = mul {out}_x, {w}\n{out}_r = reduce {out}_p op=add axes=[1]\n"
            f"{out} = reshape {out}_r : [n,{m}]\n")


def ffn(d=384, h=1536):
    return (f'x = input f32[n,{d}] "x"\n' + weight("a", [1, d, h], 0.05) + weight("b", [1, h, d], 0.05) + product("u", "x", "a", d, h)
            + "t = tanh u\ng = mul u, t\n" + product("v", "g", "b", h, d) + 'y = add v, x\noutput y "y"\n')


def softmax(d=100):
    return (f'x = input f32[n,{d}] "x"\nm = reduce x op=max axes=[1]\nd = sub x, m\ne = exp d\ns = reduce e op=add axes=[1]\n'
            'y = div e, s\noutput y "y"\n')


def layer_norm(d=50):
    return (f'x = input f32[n,{d}] "x"\n' + weight("g", [1, d], 1) + f's = reduce x op=add axes=[1]\nm = div s, {d}.0\nc = sub x, m\n'
            f'q = mul c, c\nv = reduce q op=add axes=[1]\nw = div v, {d}.0\na = add w, 0.00001\nr = sqrt a\nz = div c, r\ny = mul z, g\n'
            'output y "y"\n')


def attention(t=10, d=24):
    text = f'x = input f32[n,{t},{d}] "x"\nf = reshape x : [n*{t},{d},1]\n'
    for name in "qkv":
        text += weight("w" + name, [1, d, d], 0.2, {"q": 0.37, "k": 0.59, "v": 0.83}[name])
        text += f"{name}_p = mul f, w{name}\n{name}_r = reduce {name}_p op=add axes=[1]\n"
    return (text + f"q = reshape q_r : [n,{t},1,{d}]\nk = reshape k_r : [n,1,{t},{d}]\nv = reshape v_r : [n,1,{t},{d}]\n"
            f"p = mul q, k\ns_r = reduce p op=add axes=[3]\ns = reshape s_r : [n,{t},{t}]\nm = reduce s op=max axes=[2]\ne_d = sub s, m\n"
            f"e = exp e_d\nz = reduce e op=add axes=[2]\na_d = div e, z\na = reshape a_d : [n,{t},{t},1]\no_p = mul a, v\n"
            f'o_r = reduce o_p op=add axes=[2]\no = reshape o_r : [n,{t},{d}]\ny = add o, x\noutput y "y"\n')


def normed(out, x, e, name):
    """out[n,e]: layer normalisation of the rows of x[n,e]"""
    return (weight(f"{name}g", [1, e], 1) + f"{name}s = reduce {x} op=add axes=[1]\n{name}m = div {name}s, {e}.0\n{name}c = sub {x}, {name}m\n"
            f"{name}q = mul {name}c, {name}c\n{name}v = reduce {name}q op=add axes=[1]\n{name}w = div {name}v, {e}.0\n"
            f"{name}a = add {name}w, 0.00001\n{name}r = sqrt {name}a\n{name}z = div {name}c, {name}r\n{out} = mul {name}z, {name}g\n")


def dense(out, x, e, h, name, phase=0.37):
    return weight(name, [1, e, h], 1 / e ** 0.5, phase) + product(out, x, name, e, h)


def encoder(e=48, heads=3, h=96):
    """a layer of an encoder over sequences of n, with a mask"""
    d = e // heads
    text = f'x = input f32[1,n,{e}] "x"\nmask = input f32[1,n] "mask"\nf = reshape x : [n,{e}]\n'
    for name in "qkv":
        text += dense(name + "p", "f", e, e, "w" + name, {"q": 0.37, "k": 0.59, "v": 0.83}[name])
        text += f"{name}4 = reshape {name}p : [n,{heads},{d}]\n{name}h = permute {name}4 perm=[1,0,2]\n"
    return (text + f"q = reshape qh : [{heads},n,1,{d}]\nk = reshape kh : [{heads},1,n,{d}]\nv = reshape vh : [{heads},1,n,{d}]\n"
            f"p = mul q, k\ns_r = reduce p op=add axes=[3]\ns_3 = reshape s_r : [{heads},n,n]\ns_s = mul s_3, {d ** -0.5:.6f}\n"
            f"far = mul mask, -8.0\nfar3 = reshape far : [1,1,n]\ns = add s_s, far3\nm = reduce s op=max axes=[2]\n"
            f"e_d = sub s, m\nex = exp e_d\nz = reduce ex op=add axes=[2]\na_d = div ex, z\na = reshape a_d : [{heads},n,n,1]\n"
            f"o_p = mul a, v\no_r = reduce o_p op=add axes=[2]\no_4 = reshape o_r : [{heads},n,{d}]\no_t = permute o_4 perm=[1,0,2]\n"
            f"o = reshape o_t : [n,{e}]\n" + dense("op", "o", e, e, "wo", 0.47) + "r1 = add op, f\n" + normed("l1", "r1", e, "n1") +
            dense("u", "l1", e, h, "wu", 0.71) + "g_t = mul u, 0.70710678\ng_e = erf g_t\ng_1 = add g_e, 1.0\ng_u = mul u, g_1\ng = mul g_u, 0.5\n" +
            dense("w", "g", h, e, "wd", 0.29) + "r2 = add w, l1\n" + normed("l2", "r2", e, "n2") +
            f'y = reshape l2 : [1,n,{e}]\noutput y "y"\n')


def encoders(e=48, heads=3, h=96):
    """the layer above for a batch of b sequences"""
    text = encoder(e, heads, h).replace(f'x = input f32[1,n,{e}] "x"\nmask = input f32[1,n]', f'x = input f32[b,n,{e}] "x"\nmask = input f32[b,n]')
    head, rest = text.split("\n", 1)
    for old, new in ((f"[n,{heads},", f"[b,n,{heads},"), ("perm=[1,0,2]", "perm=[0,2,1,3]"), (f"[{heads},n,", f"[b,{heads},n,"), (f"[{heads},1,n,", f"[b,{heads},1,n,"),
                     ("[1,1,n]", "[b,1,1,n]"), ("axes=[3]", "axes=[4]"), ("[1,n,", "[b,n,")):
        rest = rest.replace(old, new)
    rest = rest.replace("m = reduce s op=max axes=[2]", "m = reduce s op=max axes=[3]").replace("z = reduce ex op=add axes=[2]", "z = reduce ex op=add axes=[3]")
    rest = rest.replace("o_r = reduce o_p op=add axes=[2]", "o_r = reduce o_p op=add axes=[3]")
    for old in ("[n,",):
        rest = rest.replace(old, "[b*n,")
    return head + "\n" + rest


def decoder(heads=2, d=6, kind="f16"):
    """a step of a decoder with caches of n positions for each head"""
    return (f'x = input {kind}[1,1,{heads * d}] "x"\nkeys = input {kind}[{heads},n,{d}] "keys"\nvalues = input {kind}[{heads},n,{d}] "values"\n'
            f"t = reshape x : [{heads},1,{d}]\na = tanh t\nb = mul t, 0.5\nk = cat keys, a axis=1\nv = cat values, b axis=1\np = mul k, t\n"
            "s = reduce p op=add axes=[2]\nm = reduce s op=max axes=[1]\nc = sub s, m\ne = exp c\nz = reduce e op=add axes=[1]\nw = div e, z\n"
            'u = mul w, v\no = reduce u op=add axes=[1]\noutput o "o"\noutput k "k"\noutput v "v"\n')


def row_softmax(rows=4):
    """softmax along the dimension, in rows"""
    return (f'x = input f32[{rows},n] "x"\nm = reduce x op=max axes=[1]\nd = sub x, m\ne = exp d\ns = reduce e op=add axes=[1]\n'
            'y = div e, s\noutput y "y"\n')


def pooled(rows=3, e=24):
    """what remains of a sequence: greatest values and sums; an output without the dimension"""
    return (f'x = input f32[{rows},n,{e}] "x"\nm = reduce x op=max axes=[1]\ns = reduce x op=add axes=[1]\nd = sub x, m\nu = add d, s\n'
            'output u "u"\noutput s "s"\n')


def ffns(d=384, h=1536):
    """a feed-forward block for b sequences of n rows"""
    text = ffn(d, h).replace(f'x = input f32[n,{d}] "x"', f'xs = input f32[b,n,{d}] "x"\nx = reshape xs : [n*b,{d}]')
    return text.replace("[n,", "[b*n,").replace('output y "y"', f'ys = reshape y : [b,n,{d}]\noutput ys "y"')


def grids(e=12):
    """sums and greatest values along both dimensions, the inner one first in memory"""
    return (f'x = input f32[n,b,{e}] "x"\nw = input f32[b,n] "w"\np = permute x perm=[1,0,2]\nv = reshape w : [b,n,1]\nu = add p, v\n'
            'm = reduce u op=max axes=[0]\ns = reduce u op=add axes=[0,1]\nd = sub u, m\nt = mul s, 0.01\nz = sub d, t\n'
            'y = permute z perm=[1,0,2]\noutput y "y"\noutput s "s"\n')


def lstm_cell(d=20, h=24):
    text = (f'x = input f32[n,{d}] "x"\nh = input f32[n,{h}] "h"\nc = input f32[n,{h}] "c"\n' + weight("w", [1, d, 4 * h]) +
            weight("r", [1, h, 4 * h], 0.1, 0.59) + product("a", "x", "w", d, 4 * h) + product("b", "h", "r", h, 4 * h) + "g = add a, b\n")
    for i, gate in enumerate("iofz"):
        text += f"{gate}_g = shrink g begin=[0,{i * h}] step=[1,1] : [n,{h}]\n"
        if gate == "z":
            text += "z = tanh z_g\n"
        else:
            text += f"{gate}_n = neg {gate}_g\n{gate}_e = exp {gate}_n\n{gate}_1 = add {gate}_e, 1.0\n{gate} = recip {gate}_1\n"
    return text + 'm = mul f, c\nk = mul i, z\nd = add m, k\nt = tanh d\ny = mul o, t\noutput y "y"\noutput d "d"\n'


def convolution(channels=32, side=14):
    c, s = channels, side
    return (f'x = input f32[n,{c},{s},{s}] "x"\n' + weight("w", [1, c, c, 1, 1, 3, 3], 0.05) +
            f"g = pad x, 0 lo=[0,0,1,1] hi=[0,0,1,1]\na = window g axis=2 stride=1 dilation=1 : [n,{c},{s},{s + 2},3]\n"
            f"b = window a axis=3 stride=1 dilation=1 : [n,{c},{s},{s},3,3]\nd = reshape b : [n,1,{c},{s},{s},3,3]\np = mul d, w\n"
            f'r = reduce p op=add axes=[2,5,6]\nz = reshape r : [n,{c},{s},{s}]\ny = max z, 0.0\noutput y "y"\n')


def numbers(d=5):
    """numbers of rows and of columns; if n is d, both are one value of the graph, and a run needs all of it"""
    return (f'x = input f32[n,{d}] "x"\ni = iota : i64[n]\nj = iota : i64[{d}]\nk = cast i : f32\nl = cast j : f32\n'
            f'r = reshape k : [n,1]\nc = reshape l : [1,{d}]\nd = sub r, c\ny = add x, d\noutput y "y"\n')


def conv1d(out, x, n, to, c, m, k, stride=1, lo=0, hi=0, phase=0.37, b=1):
    """out[b,m,to]: a convolution of x[b,c,n] along n, and max with 0"""
    return (weight(f"{out}_k", [1, m, c, 1, k], 1 / (c * k) ** 0.5, phase) +
            f"{out}_g = pad {x}, 0 lo=[0,0,{lo}] hi=[0,0,{hi}]\n{out}_v = window {out}_g axis=2 stride={stride} dilation=1 : [{b},{c},{to},{k}]\n"
            f"{out}_d = reshape {out}_v : [{b},1,{c},{to},{k}]\n{out}_p = mul {out}_d, {out}_k\n"
            f"{out}_r = reduce {out}_p op=add axes=[2,4]\n{out}_z = reshape {out}_r : [{b},{m},{to}]\n{out} = max {out}_z, 0.0\n")


def audio(c=16, m=32, b=1):
    """convolutions with steps over a length n, and a mean over time"""
    return (f'x = input f32[{b},{c},n] "x"\n' + conv1d("a", "x", "n", "n-1/2+1", c, m, 3, 2, 1, 1, b=b) +
            conv1d("b", "a", "n-1/2+1", "n-1/2+1", m, m, 1, phase=0.59, b=b) + conv1d("y", "b", "n-1/2+1", "n-1/2+1-1/2+1", m, c, 5, 2, 2, 2, 0.83, b) +
            'output y "y"\ns = reduce y op=add axes=[2]\noutput s "s"\n')


def filters(c=3, m=32):
    """two convolutions over a length n, the second one with padding"""
    return (f'x = input f32[1,{c},n] "x"\n' + conv1d("a", "x", "n", "n", c, m, 1) + conv1d("y", "a", "n", "n", m, c, 3, 1, 1, 1, 0.83) +
            'output y "y"\n')


def conv2d(out, x, h, n, c, m):
    """out[1,m,h,n]: a convolution of 3 by 3 with padding, and max with 0"""
    return (weight(f"{out}_k", [1, m, c, 1, 1, 3, 3], 1 / (3 * c ** 0.5)) + f"{out}_g = pad {x}, 0 lo=[0,0,1,1] hi=[0,0,1,1]\n"
            f"{out}_a = window {out}_g axis=2 stride=1 dilation=1 : [1,{c},{h},{n}+2,3]\n"
            f"{out}_b = window {out}_a axis=3 stride=1 dilation=1 : [1,{c},{h},{n},3,3]\n{out}_d = reshape {out}_b : [1,1,{c},{h},{n},3,3]\n"
            f"{out}_p = mul {out}_d, {out}_k\n{out}_r = reduce {out}_p op=add axes=[2,5,6]\n{out}_z = reshape {out}_r : [1,{m},{h},{n}]\n"
            f"{out} = max {out}_z, 0.0\n")


def ocr(c=8, h=8):
    """convolutions over a width n, with a maximum of 2 by 2 between them and a sum with what came before"""
    return (f'x = input f32[1,3,{h},n] "x"\n' + conv2d("a", "x", h, "n", 3, c) +
            f"i = window a axis=2 stride=2 dilation=1 : [1,{c},{h // 2},n,2]\nj = window i axis=3 stride=2 dilation=1 : [1,{c},{h // 2},n/2,2,2]\n"
            f"m = reduce j op=max axes=[4,5]\nb = reshape m : [1,{c},{h // 2},n/2]\n" + conv2d("d", "b", h // 2, "n/2", c, c) +
            conv2d("e", "d", h // 2, "n/2", c, c) + 'y = add b, e\noutput y "y"\n')


def edges(c=6):
    """rows in front of a sequence of n and behind it, each entry twice, without the first and the last one"""
    return (f'x = input f32[n,{c}] "x"\n' + weight("k", [2, c]) + "t = tanh x\n"
            f"a = cat k, t, k axis=0\nh = reshape a : [n+4,1,{c}]\ne = expand h : [n+4,2,{c}]\nu = reshape e : [n+4*2,{c}]\n"
            f'y = shrink u begin=[1,0] step=[1,1] : [n+4*2-2,{c}]\noutput y "y"\np = pad x, 1.5 lo=[1,0] hi=[3,0]\noutput p "p"\n')


def ends(c=4):
    """ONNX: the last entry, and a reversal"""
    f32, i64 = onnxfile.FLOAT, 7
    ints = {"axis": [1], "minus": [-1], "least": [-2**31]}
    return onnxfile.model("ends", [onnxfile.node("Slice", ["x", "minus", "least", "axis", "minus"], ["y"]),
                                   onnxfile.node("Gather", ["x", "minus"], ["z"], axis=1), onnxfile.node("Tanh", ["z"], ["w"])],
                          [onnxfile.tensor(k, i64, [1], struct.pack("<q", v[0])) for k, v in ints.items()],
                          [onnxfile.value("x", f32, [2, "n", c])], [onnxfile.value("y", f32, [2, "n", c]), onnxfile.value("w", f32, [2, 1, c])])


def begins(form="t"):
    """ONNX: a result, and its entries behind the first third: this reads on behind the entries of a run. form "c": the result
    twice; "k": behind two constant entries"""
    f32, i64 = onnxfile.FLOAT, 7
    whole = {"axis": [1], "three": [3], "most": [2**31 - 1]}
    front = onnxfile.tensor("front", f32, [3, 2], struct.pack("<6f", *range(6)))
    nodes = [onnxfile.node("Tanh", ["x"], ["t"]), onnxfile.node("Shape", ["t"], ["s"]),
             onnxfile.node("Gather", ["s", "axis"], ["n"], axis=0),
             onnxfile.node("Div", ["n", "three"], ["begin"]), onnxfile.node("Slice", ["t", "begin", "most", "axis"], ["u"]),
             onnxfile.node("Concat", ["t", "t"], ["c"], axis=0),
             onnxfile.node("Concat", ["front", "t"], ["k"], axis=1)]
    numbers = [onnxfile.tensor(k, i64, [1], struct.pack("<q", v[0])) for k, v in whole.items()]
    return onnxfile.model("begins", nodes, [*numbers, front], [onnxfile.value("x", f32, [3, "n"])],
                          [onnxfile.value(form, f32, [6 if form == "c" else 3, "p" if form == "k" else "n"]),
                           onnxfile.value("u", f32, [3, "m"])])


def few():
    """ONNX: the first three entries of copies of a row, of which a run has all or none"""
    f32, i64 = onnxfile.FLOAT, 7
    whole = {"rows": [0, 0, 0], "axis": [1], "zero": [0], "three": [3]}
    nodes = [onnxfile.node("Gather", ["x", "rows"], ["r"], axis=0), onnxfile.node("Slice", ["r", "zero", "three", "axis"], ["s"]),
             onnxfile.node("Tanh", ["s"], ["y"])]
    return onnxfile.model("few", nodes,
                          [onnxfile.tensor(k, i64, [len(v)], struct.pack(f"<{len(v)}q", *v)) for k, v in whole.items()],
                          [onnxfile.value("x", f32, [1, "n"])], [onnxfile.value("y", f32, [3, "m"])])


def numbers_of(shape, phase):
    """values of a sine, as bytes of f32"""
    return struct.pack(f"<{(n := math.prod(shape))}f", *(0.4 * math.sin(0.7 * i + phase) for i in range(n)))


def recurrent(op="GRU", e=5, hidden=6):
    """ONNX: a recurrent layer in both directions over a length n, for b sequences with lengths of their own"""
    f32, i32, gates = onnxfile.FLOAT, 6, {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    shapes = {"W": [2, gates * hidden, e], "R": [2, gates * hidden, hidden], "B": [2, 2 * gates * hidden]}
    results = ["y", "h", "c"][:3 if op == "LSTM" else 2]
    layer = onnxfile.node(op, ["x", *shapes, "len"], results, hidden_size=hidden, direction="bidirectional")
    return onnxfile.model("recurrent", [layer],
                          [onnxfile.tensor(k, f32, s, numbers_of(s, i)) for i, (k, s) in enumerate(shapes.items())],
                          [onnxfile.value("x", f32, ["n", "b", e]), onnxfile.value("len", i32, ["b"])],
                          [onnxfile.value(r, f32, ["n", 2, "b", hidden] if r == "y" else [2, "b", hidden]) for r in results])


def arithmetic(e=3):
    """ONNX: running sums along n in both directions, Resize between entries, and a padding that mirrors"""
    f32, i64 = onnxfile.FLOAT, 7
    whole = {"axis": [1], "pads": [0, 2, 0, 0, 3, 0]}
    scales = onnxfile.tensor("scales", f32, [3], struct.pack("<3f", 1, 1.5, 1))
    return onnxfile.model("arithmetic", [onnxfile.node("CumSum", ["x", "axis"], ["s"], reverse=1, exclusive=1),
                                         onnxfile.node("CumSum", ["s", "axis"], ["t"]), onnxfile.node("Resize", ["t", "", "scales"], ["y"], mode="linear"),
                                         onnxfile.node("Resize", ["x", "", "scales"], ["v"], mode="nearest"),
                                         onnxfile.node("Pad", ["x", "pads"], ["z"], mode="reflect"), onnxfile.node("Tanh", ["z"], ["w"])],
                          [scales] + [onnxfile.tensor(k, i64, [len(v)], struct.pack(f"<{len(v)}q", *v)) for k, v in whole.items()],
                          [onnxfile.value("x", f32, ["b", "n", e])],
                          [onnxfile.value(k, f32, ["b", k + "n", e]) for k in "yvw"])


def joined(c=3):
    """values for each position of a picture of b by n, in one axis"""
    return (f'x = input f32[1,{c},b,n] "x"\n' + conv2d("a", "x", "b", "n", c, 4) + "p = permute a perm=[0,2,3,1]\n"
            "q = reshape p : [1,b*n,4]\ny = tanh q\n" + 'output y "y"\n')


def stacked(heads=2, d=6):
    """as the decoder above, with keys and values in one tensor, keys with their positions last in between"""
    return (f'x = input f32[1,1,{heads * d}] "x"\npast = input f32[2,{heads},n,{d}] "past"\nt = reshape x : [{heads},1,{d}]\na = tanh t\nb = mul t, 0.5\n'
            f"ps = shrink past begin=[0,0,0,0] step=[1,1,1,1] : [1,{heads},n,{d}]\npk = reshape ps : [{heads},n,{d}]\npt = permute pk perm=[0,2,1]\n"
            f"at = permute a perm=[0,2,1]\nkt = cat pt, at axis=2\nk = permute kt perm=[0,2,1]\nvs = shrink past begin=[1,0,0,0] step=[1,1,1,1] : [1,{heads},n,{d}]\n"
            f"pv = reshape vs : [{heads},n,{d}]\nv = cat pv, b axis=1\np = mul k, t\ns = reduce p op=add axes=[2]\nm = reduce s op=max axes=[1]\nc = sub s, m\n"
            "e = exp c\nz = reduce e op=add axes=[1]\nw = div e, z\nu = mul w, v\no = reduce u op=add axes=[1]\noutput o \"o\"\n"
            f'ks = reshape k : [1,{heads},n+1,{d}]\nvr = reshape v : [1,{heads},n+1,{d}]\npresent = cat ks, vr axis=0\noutput present "present"\n')


def pads(c=2):
    """ONNX: paddings whose width depends on the length n: of a convolution, of poolings, and by ceil_mode"""
    f32, k = onnxfile.FLOAT, [c, c, 3]
    nodes = [onnxfile.node("Conv", ["x", "k"], ["y"], kernel_shape=[3], strides=[2], auto_pad="SAME_UPPER"),
             onnxfile.node("MaxPool", ["y"], ["z"], kernel_shape=[2], strides=[2], auto_pad="SAME_UPPER"),
             onnxfile.node("AveragePool", ["y"], ["v"], kernel_shape=[3], strides=[2], auto_pad="SAME_LOWER"),
             onnxfile.node("AveragePool", ["x"], ["u"], kernel_shape=[2], strides=[2], ceil_mode=1)]
    return onnxfile.model("pads", nodes, [onnxfile.tensor("k", f32, k, numbers_of(k, 0))], [onnxfile.value("x", f32, ["b", c, "n"])],
                          [onnxfile.value(name, f32, ["b", c, name]) for name in "yzvu"])


def order():
    """ONNX: all values in order, and the place of each in that order, as sequences of different lengths are packed"""
    f32, i64 = onnxfile.FLOAT, 7
    nodes = [onnxfile.node("Shape", ["x"], ["n"]), onnxfile.node("TopK", ["x", "n"], ["sorted", "from"], axis=0),
             onnxfile.node("ReduceProd", ["n"], ["all"], keepdims=0), onnxfile.node("Range", ["zero", "all", "one"], ["places"]),
             onnxfile.node("Mul", ["places", "zero"], ["none"]),
             onnxfile.node("ScatterElements", ["none", "from", "places"], ["to"], axis=0), onnxfile.node("Tanh", ["sorted"], ["t"]),
             onnxfile.node("Gather", ["t", "to"], ["again"])]
    return onnxfile.model("order", nodes, [onnxfile.tensor(k, i64, [], struct.pack("<q", v)) for k, v in (("zero", 0), ("one", 1))],
                          [onnxfile.value("x", f32, ["n"])],
                          [onnxfile.value("sorted", f32, ["n"]), onnxfile.value("again", f32, ["n"])])


def longer(heads=2, d=6):
    """attention of n new positions over b cached ones and themselves, with a mask of both, and the cache behind it"""
    text = f'x = input f32[n,{heads * d}] "x"\npast = input f32[{heads},b,{d}] "past"\nmask = input f32[1,b+n] "mask"\n'
    for name in "qkv":
        text += dense(name + "p", "x", heads * d, heads * d, "w" + name, {"q": 0.37, "k": 0.59, "v": 0.83}[name])
        text += f"{name}4 = reshape {name}p : [n,{heads},{d}]\n{name}h = permute {name}4 perm=[1,0,2]\n"
    return (text + f"k = cat past, kh axis=1\nv = cat past, vh axis=1\nq5 = reshape qh : [{heads},n,1,{d}]\nk5 = reshape k : [{heads},1,b+n,{d}]\n"
            f"v5 = reshape v : [{heads},1,b+n,{d}]\np = mul q5, k5\ns_r = reduce p op=add axes=[3]\ns_3 = reshape s_r : [{heads},n,b+n]\n"
            f"mask3 = reshape mask : [1,1,b+n]\ns = add s_3, mask3\nm = reduce s op=max axes=[2]\ne_d = sub s, m\ne = exp e_d\n"
            f"z = reduce e op=add axes=[2]\na_d = div e, z\na = reshape a_d : [{heads},n,b+n,1]\no_p = mul a, v5\no_r = reduce o_p op=add axes=[2]\n"
            f'o = reshape o_r : [{heads},n,{d}]\noutput o "o"\noutput k "present"\n')


def twice(c=8):
    """a concatenation that is an output and a part of another one"""
    return (f'x = input f32[n,{c}] "x"\nv = cat x, x axis=0\nw = cat v, x axis=0\noutput v "v"\noutput w "w"\n')


ALL = {"ffn": ffn, "softmax": softmax, "layer_norm": layer_norm, "attention": attention, "lstm_cell": lstm_cell, "conv": convolution, "numbers": numbers}
SPATIAL = {"audio": audio, "ocr": ocr, "edges": edges, "twice": twice, "filters": filters}
SEVERAL = {"encoders": encoders, "ffns": ffns, "grids": grids, "joined": joined, "longer": longer}  # with two numbers, b and n
INNER = {"encoder": encoder, "row_softmax": row_softmax, "pooled": pooled}
