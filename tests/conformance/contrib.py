#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes contrib.tar.gz: models of one operator that the official node tests do not have, mostly those of
com.microsoft and ai.onnx.ml, with inputs and what ONNX Runtime gives for them, in the layout of the official tests. Needs onnx,
onnxruntime and numpy; running the tests does not. The same versions write the same bytes. Arguments: a folder to
write to in place of the archive, and words of which a test's name must contain one."""
import gzip
import io
import math
import pathlib
import sys
import tarfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
MS, ML = "com.microsoft", "ai.onnx.ml"
OPSET = 21
VERSIONS = {MS: 1, ML: 4}
cases = {}


class Const:
    """an input that is an initializer"""
    def __init__(self, value):
        self.value = value


def case(name, op, inputs, outputs=1, domain=MS, version=OPSET, same_as=None, expected=None, **attributes):
    """inputs: arrays, Const of arrays, or None where left out; outputs: a number, or which of them are there; same_as: the
    inputs of a form that ONNX Runtime has, where it lacks this one; expected: results, of what it has for no CPU, or less exact"""
    cases[name] = (op, inputs, [1] * outputs if isinstance(outputs, int) else outputs, domain, version, same_as, expected, attributes)


def model_of(name, inputs, results=()):
    """the model, and what it is fed"""
    op, _, outputs, domain, version, _, _, attributes = cases[name]
    named = [("" if x is None else f"x{i}", x.value if isinstance(x, Const) else x) for i, x in enumerate(inputs)]
    weights = [numpy_helper.from_array(a, n) for (n, a), x in zip(named, inputs) if isinstance(x, Const)]
    feed = {n: a for (n, a), x in zip(named, inputs) if n and not isinstance(x, Const)}
    describe = lambda n, a: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
    out = [f"y{i}" if there else "" for i, there in enumerate(outputs)]
    there = [n for n in out if n]
    values = [describe(n, a) for n, a in zip(there, results)] or [onnx.ValueInfoProto(name=n) for n in there]
    node = helper.make_node(op, [n for n, _ in named], out, domain=domain, **attributes)
    graph = helper.make_graph([node], name, [describe(n, a) for n, a in feed.items()], values, weights)
    imports = [helper.make_opsetid("", version)] + ([helper.make_opsetid(domain, VERSIONS[domain])] if domain else [])
    return helper.make_model(graph, opset_imports=imports, producer_name="", ir_version=10).SerializeToString(), feed


def build(name):
    inputs, same_as, expected = cases[name][1], cases[name][5], cases[name][6]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1  # quantised recurrences round by the share of the batch that a thread has
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model, feed = model_of(name, same_as or inputs)
    results = expected or onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feed)
    model, feed = model_of(name, inputs, results)
    files = {"model.onnx": model}
    for i, (n, a) in enumerate(feed.items()):
        files[f"test_data_set_0/input_{i}.pb"] = numpy_helper.from_array(a, n).SerializeToString()
    for i, a in enumerate(results):
        files[f"test_data_set_0/output_{i}.pb"] = numpy_helper.from_array(a).SerializeToString()
    return {f"node/test_{name}/{path}": data for path, data in files.items()}


# ---- inputs ----
def floats(seed, *shape, kind=np.float32, scale=1.0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(kind)


def fast_gelu(x):
    return (x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))).astype(np.float32)


def ints(seed, low, high, *shape, kind=np.int32):
    return np.random.default_rng(seed).integers(low, high, shape, endpoint=True).astype(kind)


def strings():
    """ONNX Runtime is the reference for everything"""
    text = lambda *v: np.array(v, object)
    animals = text(["cat", "", "Dog"], ["a dog", "cat", "wolf"])
    case("string_equal_scalar", "Equal", [animals, text("cat").reshape(())], domain="")
    case("string_gather", "Gather", [animals, np.array([[2, 0], [-1, 1]])], domain="", axis=1)
    case("string_concat_axis", "Concat", [animals, Const(text(["longer than the others"], ["x"]))], domain="", axis=1)
    case("string_where", "Where", [np.array([[True], [False]]), animals, Const(text("mouse", "b", "c"))], domain="")
    case("string_transpose", "Transpose", [animals], domain="")
    case("string_slice", "Slice", [animals, Const(np.array([2])), Const(np.array([-9])), Const(np.array([1])), Const(np.array([-2]))], domain="")
    case("string_tile", "Tile", [animals, Const(np.array([1, 2]))], domain="")
    case("string_expand", "Expand", [text(["a"], ["bc"]), Const(np.array([2, 2, 3]))], domain="")
    def split(name, words, delimiter=None, maxsplit=-1):
        """as Python splits, and the reference of the standard; ONNX Runtime has no piece of an empty text, and knows blanks only"""
        parts = [w.split(delimiter, maxsplit) for w in words]
        room = max(map(len, parts))
        table = np.array([p + [""] * (room - len(p)) for p in parts], object).reshape(len(words), room)
        case(name, "StringSplit", [text(*words)], outputs=2, domain="", version=20, expected=[table, np.array(list(map(len, parts)), np.int64)],
             **({"delimiter": delimiter} if delimiter else {}), **({"maxsplit": maxsplit} if maxsplit >= 0 else {}))

    split("string_split_many", ["", "a", ",", "a,,b", ",a,b,c,"], ",")
    split("string_split_long", ["a----b", "--", "-", "---", "x--y--z"], "--")
    split("string_split_limit", ["a, b, c, d", ", ", "abc", "a, "], ", ", 2)
    split("string_split_words", [" a  b c ", "", "   ", "one", "x\ty\nz"])
    split("string_split_words_limit", [" a  b c d", "one two", "x  y  z w "], None, 1)
    for i, pattern in enumerate(("(?i)[a-d]og|c.t", "a{2,3}b*?", r"\d+(\.\d+)?", "[^x]*", r"\bfoo\b.*", "é+|[à-ü]", "(a|b)*abb", ".*", "")):
        words = text("cat", "DOG", "aab", "3.14", "10", "foo bar", "food", "é", "üé", "abb", "babb", "", "a\nb", "x")
        case(f"string_regex_{i}", "RegexFullMatch", [words], domain="", version=20, pattern=pattern)
    case("string_normalizer", "StringNormalizer", [text("Über", "ÀÉ", "straße", "ΑΒΓ", "жЖ")], domain="", case_change_action="UPPER", locale="C.UTF-8")
    case("string_normalizer_lower", "StringNormalizer", [text("The", "the", "Cat", "SAT")], domain="", locale="C.UTF-8", case_change_action="LOWER", stopwords=["THE", "sat"])
    labels = dict(domain="ai.onnx.ml")
    case("label_string_string", "LabelEncoder", [animals], keys_strings=["cat", "Dog", "cat"], values_strings=["feline", "canine", "other"],
         default_string="something else", **labels)
    case("label_string_float", "LabelEncoder", [animals], keys_strings=["cat", "Dog"], values_floats=[1.5, -2.0], default_float=9.0, **labels)
    case("label_int_string", "LabelEncoder", [np.array([3, 1, 7])], keys_int64s=[1, 3], values_strings=["one", "three"], **labels)
    case("category_mapper", "CategoryMapper", [animals], cats_int64s=[5, 6], cats_strings=["cat", "wolf"], default_int64=-7, **labels)
    case("category_mapper_back", "CategoryMapper", [np.array([[5, 6, 1]])], cats_int64s=[5, 6], cats_strings=["cat", "wolf"], default_string="?", **labels)
    case("one_hot_strings", "OneHotEncoder", [animals], cats_strings=["wolf", "cat", ""], **labels)
    case("extract_strings", "ArrayFeatureExtractor", [animals, np.array([2, 0])], **labels)
    case("linear_strings", "LinearClassifier", [floats(1, 4, 3)], outputs=2, coefficients=[float(v) for v in floats(2, 9)], intercepts=[0.0, 0.1, 0.2],
         classlabels_strings=["red", "green", "light blue"], multi_class=0, post_transform="NONE", **labels)
    grams = dict(max_gram_length=2, max_skip_count=1, min_gram_length=1, ngram_counts=[0, 3], ngram_indexes=[0, 1, 2, 3, 4])
    case("tfidf_strings", "TfIdfVectorizer", [text(["a", "b", "a", "c"], ["b", "a", "zz", "b"])], domain="", mode="TFIDF",
         pool_strings=["a", "b", "c", "a", "b", "b", "a"], weights=[1.0, 2.0, 3.0, 4.0, 5.0], **grams)


def attention():
    x, w, c = floats(1, 2, 3, 8), floats(2, 8, 24), floats(3, 24)
    case("ms_attention", "Attention", [x, Const(w), Const(c)], num_heads=2)
    case("ms_attention_lengths", "Attention", [x, Const(w), Const(c), np.array([3, 2], np.int32)], num_heads=2)
    case("ms_attention_begins", "Attention", [x, Const(w), Const(c), np.array([3, 2, 1, 0], np.int32)], num_heads=2)
    case("ms_attention_mask", "Attention", [x, Const(w), Const(c), np.array([[1, 1, 0], [0, 1, 1]], np.int32)], num_heads=2)
    case("ms_attention_mask_none", "Attention", [x, Const(w), Const(c), np.array([[1, 1, 1], [0, 0, 0]], np.int32)], num_heads=2)
    case("ms_attention_mask_3d", "Attention", [x, Const(w), Const(c), ints(4, 0, 1, 2, 3, 3)], num_heads=4)
    case("ms_attention_causal", "Attention", [x, Const(w), Const(c)], num_heads=2, unidirectional=1, scale=0.3)
    case("ms_attention_causal_mask", "Attention", [x, Const(w), Const(c), np.array([[1, 1, 0], [0, 1, 1]], np.int32)], num_heads=2, unidirectional=1)
    case("ms_attention_past", "Attention", [x, Const(w), Const(c), None, floats(5, 2, 2, 2, 4, 4)], outputs=2, num_heads=2, unidirectional=1)
    case("ms_attention_bias", "Attention", [x, Const(w), Const(c), None, None, floats(6, 1, 2, 3, 3)], num_heads=2)
    case("ms_attention_sizes", "Attention", [x, Const(floats(7, 8, 20)), Const(floats(8, 20))], num_heads=2, qkv_hidden_sizes=[8, 8, 4])
    q, k, v = floats(9, 2, 3, 8), floats(10, 2, 5, 8), floats(11, 2, 5, 12)
    case("ms_mha", "MultiHeadAttention", [q, k, v], num_heads=2)
    case("ms_mha_bias", "MultiHeadAttention", [q, k, v, Const(floats(12, 28))], num_heads=2, scale=0.2)
    case("ms_mha_padding", "MultiHeadAttention", [q, k, v, None, np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]], np.int32)], num_heads=2)
    case("ms_mha_padding_1d", "MultiHeadAttention", [q, k, v, None, np.array([2, 5], np.int32)], num_heads=2)
    case("ms_mha_scores", "MultiHeadAttention", [q, k, v, None, None, floats(13, 2, 2, 3, 5)], num_heads=2)
    case("ms_mha_past", "MultiHeadAttention", [q, floats(10, 2, 3, 8), floats(11, 2, 3, 8), None, None, None, floats(14, 2, 2, 4, 4),
                                               floats(15, 2, 2, 4, 4)], outputs=3, num_heads=2, unidirectional=1)
    qkv, kv = floats(16, 2, 3, 2, 3, 4), floats(17, 2, 5, 2, 2, 4)
    case("ms_mha_packed", "MultiHeadAttention", [qkv], num_heads=2, same_as=[qkv[:, :, :, i].reshape(2, 3, 8) for i in range(3)])
    case("ms_mha_packed_kv", "MultiHeadAttention", [q, kv], num_heads=2, same_as=[q, *(kv[:, :, :, i].reshape(2, 5, 8) for i in range(2))])
    case("ms_mha_cross", "MultiHeadAttention", [q, floats(18, 2, 2, 5, 4), floats(19, 2, 2, 5, 4)], num_heads=2)
    total = lambda n: Const(np.array(n, np.int32))
    gq, gk, gv, cos, sin = floats(20, 2, 3, 64), floats(21, 2, 3, 32), floats(22, 2, 3, 32), floats(23, 12, 8), floats(24, 12, 8)
    past = [floats(25, 2, 2, 5, 16), floats(26, 2, 2, 5, 16)]
    case("ms_gqa_prompt", "GroupQueryAttention", [gq, gk, gv, None, None, np.array([2, 2], np.int32), total(3)], outputs=3, num_heads=4, kv_num_heads=2)
    case("ms_gqa_prompt_buffer", "GroupQueryAttention", [gq, gk, gv, *past, np.array([2, 2], np.int32), total(3)], outputs=3, num_heads=4, kv_num_heads=2)
    one = [floats(27, 2, 1, 64), floats(28, 2, 1, 32), floats(29, 2, 1, 32)]
    case("ms_gqa_decode", "GroupQueryAttention", [*one, *past, np.array([3, 2], np.int32), total(4)], outputs=3, num_heads=4, kv_num_heads=2)
    case("ms_gqa_decode_grow", "GroupQueryAttention", [*one, *past, np.array([5, 5], np.int32), total(6)], outputs=3, num_heads=4, kv_num_heads=2, scale=0.4)
    case("ms_gqa_rotary", "GroupQueryAttention", [*one, *past, np.array([3, 2], np.int32), total(4), cos, sin], outputs=3, num_heads=4, kv_num_heads=2, do_rotary=1)
    case("ms_gqa_rotary_interleaved", "GroupQueryAttention", [gq, gk, gv, None, None, np.array([2, 2], np.int32), total(3), cos, sin], outputs=3,
         num_heads=4, kv_num_heads=2, do_rotary=1, rotary_interleaved=1)
    case("ms_gqa_packed", "GroupQueryAttention", [floats(30, 2, 1, 128), None, None, *past, np.array([3, 3], np.int32), total(4), cos, sin], outputs=3,
         num_heads=4, kv_num_heads=2, do_rotary=1)
    case("ms_gqa_window", "GroupQueryAttention", [*one, *past, np.array([4, 3], np.int32), total(5)], outputs=3, num_heads=4, kv_num_heads=2, local_window_size=2)
    case("ms_gqa_softcap", "GroupQueryAttention", [*one, *past, np.array([4, 3], np.int32), total(5)], outputs=3, num_heads=4, kv_num_heads=2, softcap=0.7)
    sink = Const(floats(201, 4))
    case("ms_gqa_sink", "GroupQueryAttention", [*one, *past, np.array([4, 3], np.int32), total(5), None, None, None, None, sink], outputs=3, num_heads=4, kv_num_heads=2,
         local_window_size=2)
    case("ms_gqa_sink_prompt", "GroupQueryAttention", [gq, gk, gv, None, None, np.array([2, 2], np.int32), total(3), None, None, None, floats(202, 1, 4, 3, 3), sink], outputs=3,
         num_heads=4, kv_num_heads=2)
    case("ms_gqa_smooth", "GroupQueryAttention", [*one, *past, np.array([4, 3], np.int32), total(5)], outputs=3, num_heads=4, kv_num_heads=2, smooth_softmax=1)
    case("ms_gqa_chunk", "GroupQueryAttention", [a[:1] for a in (gq, gk, gv, *past)] + [np.array([7], np.int32), total(8)], outputs=3, num_heads=4, kv_num_heads=2)
    ids = np.array([[0, 3, 1], [4, 2, 2]], np.int64)
    case("ms_rotary", "RotaryEmbedding", [floats(31, 2, 3, 8), ids, Const(floats(32, 6, 2)), Const(floats(33, 6, 2))])
    case("ms_rotary_offset", "RotaryEmbedding", [floats(31, 2, 3, 8), np.array([2], np.int64), Const(floats(32, 6, 2)), Const(floats(33, 6, 2))], interleaved=1)
    case("ms_rotary_4d", "RotaryEmbedding", [floats(31, 2, 4, 3, 6), ids, Const(floats(32, 6, 2)), Const(floats(33, 6, 2))], num_heads=4, rotary_embedding_dim=4)


def fused():
    x, h = floats(40, 2, 3, 8), floats(41, 8)
    case("ms_gelu", "Gelu", [x])
    case("ms_bias_gelu", "BiasGelu", [x, Const(h)])
    case("ms_fast_gelu", "FastGelu", [x])
    case("ms_fast_gelu_bias", "FastGelu", [x, Const(h)])
    case("ms_quick_gelu", "QuickGelu", [x], alpha=1.5)
    skip, gamma, beta, bias = floats(42, 2, 3, 8), Const(floats(43, 8)), Const(floats(44, 8)), Const(floats(45, 8))
    case("ms_skip_norm", "SkipLayerNormalization", [x, skip, gamma, beta], epsilon=1e-5)
    case("ms_skip_norm_bias", "SkipLayerNormalization", [x, skip, gamma, beta, bias], outputs=[1, 0, 0, 1])
    case("ms_skip_norm_row", "SkipLayerNormalization", [x, skip[:1], gamma], epsilon=1e-3)
    case("ms_skip_rms", "SkipSimplifiedLayerNormalization", [x, skip, gamma], outputs=[1, 0, 0, 1], epsilon=1e-5)
    case("ms_skip_rms_bias", "SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], epsilon=1e-5)
    case("simplified_norm", "SimplifiedLayerNormalization", [x, gamma], domain="", epsilon=1e-5)
    ids, seg = ints(46, 0, 9, 2, 3), ints(47, 0, 1, 2, 3)
    tables = [Const(floats(48, 10, 8)), Const(floats(49, 5, 8)), Const(floats(50, 2, 8)), gamma, beta]
    case("ms_embed_norm", "EmbedLayerNormalization", [ids, seg, *tables], outputs=2)
    case("ms_embed_norm_mask", "EmbedLayerNormalization", [ids, seg, *tables, np.array([[1, 1, 0], [1, 1, 1]], np.int32)], outputs=2, epsilon=1e-5)
    case("ms_embed_norm_places", "EmbedLayerNormalization", [ids, None, tables[0], tables[1], None, gamma, beta, None, ints(51, 0, 4, 2, 3)], outputs=[1, 0, 1])
    a, w = floats(52, 2, 3, 4), floats(53, 2, 4, 5)
    case("ms_fused_matmul", "FusedMatMul", [a, w], alpha=0.5)
    case("ms_fused_matmul_turned", "FusedMatMul", [a.swapaxes(1, 2).copy(), w.swapaxes(1, 2).copy()], transA=1, transB=1)
    case("ms_fused_matmul_batch", "FusedMatMul", [a.transpose(1, 0, 2).copy(), w.transpose(1, 0, 2).copy()], transBatchA=1, transBatchB=1)
    case("ms_fused_matmul_both", "FusedMatMul", [floats(54, 4, 2, 3), w], transBatchA=1, transA=1)
    for op in ("Relu", "LeakyRelu", "Tanh"):
        more = {"activation_alpha": 0.3} if op == "LeakyRelu" else {}
        case("ms_fused_gemm_" + op.lower(), "FusedGemm", [a[0], w[0], floats(55, 5)], activation=op, alpha=0.5, **more)
    case("ms_fused_gemm_selu", "FusedGemm", [a[0], w[0]], activation="Selu", activation_alpha=1.3, activation_gamma=1.2)
    img, k = floats(56, 1, 3, 5, 6), Const(floats(57, 4, 3, 3, 3))
    case("ms_fused_conv", "FusedConv", [img, k, Const(floats(58, 4))], activation="Relu", pads=[1, 1, 1, 1])
    case("ms_fused_conv_sum", "FusedConv", [img, k, Const(floats(58, 4)), floats(59, 1, 4, 3, 4)], activation="LeakyRelu", activation_params=[0.2])
    case("ms_fused_conv_clip", "FusedConv", [img, k], activation="Clip", activation_params=[-0.5, 0.75])
    case("ms_fused_conv_hard", "FusedConv", [img, k], activation="HardSigmoid", activation_params=[0.1, 0.4])
    case("ms_pad", "Pad", [x, Const(np.array([0, 1, 2, 0, 0, 1], np.int64)), np.array(0.5, np.float32)])
    case("ms_trilu", "Trilu", [x], upper=0)
    case("ms_gather_nd", "GatherND", [x, ints(60, 0, 1, 4, 2, kind=np.int64)])


def quantised():
    u8 = lambda seed, *shape: ints(seed, 0, 255, *shape, kind=np.uint8)
    s8 = lambda seed, *shape: ints(seed, -128, 127, *shape, kind=np.int8)
    s = lambda v: Const(np.float32(v).reshape(()))
    z = lambda v, kind=np.uint8: Const(kind(v).reshape(()))
    for op in ("Add", "Mul"):
        case(f"ms_qlinear_{op.lower()}", f"QLinear{op}", [u8(1, 2, 3, 4), s(.02), z(120), u8(2, 3, 1), s(.03), z(7), s(.05), z(90)])
        case(f"ms_qlinear_{op.lower()}_signed", f"QLinear{op}", [s8(3, 2, 8), s(.02), z(-3, np.int8), s8(4, 2, 8), s(.03), z(5, np.int8), s(.04), z(0, np.int8)])
    case("ms_qlinear_concat", "QLinearConcat", [s(.05), z(100), u8(5, 2, 3), s(.04), z(50), u8(6, 2, 2), s(.05), z(100)], axis=1)
    case("ms_qlinear_leaky_relu", "QLinearLeakyRelu", [s8(7, 2, 9), s(.05), z(3, np.int8), s(.04), z(-5, np.int8)], alpha=0.2)
    case("ms_qlinear_sigmoid", "QLinearSigmoid", [u8(8, 2, 9), s(.05), z(128), s(1 / 256), z(0)])
    case("ms_qlinear_softmax", "QLinearSoftmax", [u8(9, 2, 9), s(.05), z(128), s(1 / 256), z(0)], axis=-1, opset=13)
    for axis in (0, 1, -1):
        case(f"ms_qlinear_softmax_flat_{axis}", "QLinearSoftmax", [s8(203, 2, 3, 4), s(.05), z(3, np.int8), s(1 / 255), z(-128, np.int8)], axis=axis, opset=12)
    case("ms_qlinear_softmax_no_zero", "QLinearSoftmax", [u8(204, 2, 9), s(.02), None, s(1 / 255), z(0)], axis=0, opset=13)
    case("ms_qlinear_sigmoid_no_zeros", "QLinearSigmoid", [u8(8, 2, 9), s(.05), None, s(1 / 256), z(0)])
    case("ms_qlinear_conv_many", "QLinearConv", [u8(205, 1, 3, 40, 40), s(.0213), z(121), Const(s8(206, 16, 3, 3, 3)), s(.0117), z(0, np.int8), s(.0791), z(130)], pads=[1] * 4)
    img = u8(10, 1, 3, 5, 6)
    case("ms_qlinear_average_pool", "QLinearAveragePool", [img, s(.047), z(128), s(.039), z(120)], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
    case("ms_qlinear_average_pool_last", "QLinearAveragePool", [u8(11, 1, 5, 6, 3), s(.047), z(128), s(.039), z(120)], kernel_shape=[3, 3], channels_last=1)
    case("ms_qlinear_global_pool", "QLinearGlobalAveragePool", [img, s(.05), z(128), s(.04), z(120)])
    case("ms_qlinear_conv", "QLinearConv", [img, s(.05), z(128), Const(s8(12, 4, 3, 3, 3)), s(.01), z(0, np.int8), s(.5), z(120)], pads=[1, 1, 1, 1])
    case("ms_qlinear_conv_last", "QLinearConv", [u8(11, 1, 5, 6, 3), s(.05), z(128), Const(s8(12, 4, 3, 3, 3)), s(.01), z(0, np.int8), s(.5), z(120)],
         channels_last=1)
    case("ms_nhwc_max_pool", "NhwcMaxPool", [u8(11, 1, 5, 6, 3)], kernel_shape=[2, 3], strides=[2, 1])
    a, w, c = u8(13, 3, 4), Const(s8(14, 4, 5)), Const(ints(15, -900, 900, 5))
    case("ms_qgemm", "QGemm", [a, s(.02), z(110), w, s(.03), z(2, np.int8), c, s(.2), z(99)])
    case("ms_qgemm_floats", "QGemm", [a, s(.02), z(110), Const(s8(16, 5, 4)), Const(np.linspace(.01, .02, 5, dtype=np.float32)),
                                      Const(np.zeros(5, np.int8)), c], transB=1, alpha=0.5)
    x = floats(17, 2, 3, 4)
    case("ms_dynamic_matmul", "DynamicQuantizeMatMul", [x, w, Const(np.linspace(.01, .02, 5, dtype=np.float32)), None, Const(floats(18, 5))])
    case("ms_dynamic_matmul_zero", "DynamicQuantizeMatMul", [x, Const(u8(19, 4, 5)), s(.02), z(128)])
    case("ms_integer_to_float", "MatMulIntegerToFloat", [u8(20, 3, 4), w, s(.02), Const(np.linspace(.01, .02, 5, dtype=np.float32)), z(7), None, Const(floats(18, 5))])
    import ml_dtypes
    for kind in (ml_dtypes.int4, ml_dtypes.uint4):
        low = -8 if kind == ml_dtypes.int4 else 0
        q, zero = ints(34, low, low + 15, 5, 7, kind=np.int8).astype(kind), ints(35, low, low + 15, 5, kind=np.int8).astype(kind)
        case(f"dequantize_{kind.__name__}", "DequantizeLinear", [Const(q), Const(np.linspace(.1, .2, 5, dtype=np.float32)), Const(zero)], domain="", axis=0)
    blocks = ints(36, -8, 7, 3, 32, kind=np.int8).astype(ml_dtypes.int4)
    case("dequantize_int4_blocks", "DequantizeLinear", [Const(blocks), Const(floats(37, 3, 2))], domain="", axis=1, block_size=16)
    case("ms_quantize", "QuantizeLinear", [floats(21, 2, 3), s(.01), z(100)])
    case("ms_dequantize", "DequantizeLinear", [u8(22, 2, 3), Const(np.float32([.1, .2, .3])), Const(np.uint8([1, 2, 3]))], axis=1)
    case("ms_qattention", "QAttention", [u8(23, 2, 3, 8), Const(s8(24, 8, 24)), Const(floats(25, 24)), s(.01), s(.005), np.array([2, 3], np.int32), z(128), z(0, np.int8)],
         num_heads=2)
    case("ms_gather_blocks", "GatherBlockQuantized", [Const(u8(26, 6, 16)), ints(27, 0, 5, 2, 3, kind=np.int64), Const(floats(28, 6, 2)), Const(u8(29, 6, 1))],
         block_size=16, quantize_axis=1)
    few = lambda seed, kind, *shape: Const(ints(seed, *((-8, 7) if kind == ml_dtypes.int4 else (0, 15)), *shape, kind=np.int8).astype(kind))
    for kind in (ml_dtypes.int4, ml_dtypes.uint4):
        name, rows = "ms_gather_blocks_" + kind.__name__, ints(207, 0, 4, 2, 2, kind=np.int64)
        case(name, "GatherBlockQuantized", [few(208, kind, 5, 32), rows, Const(floats(209, 5, 2))], block_size=16, quantize_axis=1)
        case(name + "_between", "GatherBlockQuantized", [few(210, kind, 3, 32, 5), rows, Const(floats(211, 3, 2, 5)), few(212, kind, 3, 2, 5)], block_size=16, gather_axis=2, quantize_axis=1)
        case(name + "_along", "GatherBlockQuantized", [few(213, kind, 32, 3), rows, Const(floats(214, 2, 3)), few(215, kind, 2, 3)], block_size=16, gather_axis=0, quantize_axis=0)
    case("ms_gather_blocks_8", "GatherBlockQuantized", [Const(u8(216, 6, 32)), ints(27, 0, 5, 3, kind=np.int64), Const(floats(28, 6, 2))], bits=8, block_size=16, quantize_axis=1)
    order = Const(np.array([(5 * i) % 32 // 16 for i in range(32)], np.int32))
    case("ms_nbits", "MatMulNBits", [floats(30, 3, 32), Const(u8(31, 5, 2, 8)), Const(floats(32, 10)), Const(u8(33, 5))], K=32, N=5, bits=4, block_size=16)
    case("ms_nbits_order", "MatMulNBits", [floats(30, 3, 32), Const(u8(31, 5, 2, 8)), Const(floats(32, 10)), None, order], K=32, N=5, bits=4, block_size=16)


def signals():
    size = lambda n: Const(np.array(n, np.int64))

    def dft(name, x, axis, y, length=None, **attributes):
        y = np.stack([y.real, y.imag], -1).astype(np.float32)
        case(name, "DFT", [x, size(length) if length else None, size(axis)], domain="", expected=[y], **attributes)

    for n in (7, 48, 97, 160):  # whole, 6 x 8, a prime above what is one product, 10 x 16
        x, z = floats(60 + n, 2, n, 1), floats(62 + n, 2, n, 2)
        dft(f"dft_{n}", x, 1, np.fft.fft(x[..., 0]))
        dft(f"dft_{n}_onesided", x, 1, np.fft.rfft(x[..., 0]), onesided=1)
        dft(f"dft_{n}_inverse", z, 1, np.fft.ifft(z[..., 0] + 1j * z[..., 1]), inverse=1)
    z, x = floats(70, 40, 3, 2), floats(71, 2, 70, 1)
    dft("dft_longer", z, 0, np.fft.fft(z[..., 0] + 1j * z[..., 1], 64, axis=0), 64)
    dft("dft_shorter", x, 1, np.fft.rfft(x[..., 0], 60), 60, onesided=1)
    signal, window = floats(72, 2, 300, 1), Const(np.hanning(100).astype(np.float32))
    cut = np.stack([signal[:, i:i + 100, 0] * window.value for i in range(0, 201, 33)], 1).astype(np.float64)
    parts = lambda y: [np.stack([y.real, y.imag], -1).astype(np.float32)]
    case("stft", "STFT", [signal, size(33), window, size(100)], domain="", expected=parts(np.fft.rfft(cut)), onesided=1)
    case("stft_both_sides", "STFT", [signal, size(33), window], domain="", expected=parts(np.fft.fft(cut)), onesided=0)
    case("stft_no_window", "STFT", [signal, size(50), None, size(64)], domain="")
    for n in (1, 2, 9):
        for op in ("Hann", "Hamming", "Blackman"):
            case(f"window_{op.lower()}_{n}", op + "Window", [size(n)], domain="", periodic=n % 2)
    case("mel", "MelWeightMatrix", [size(40), size(400), size(16000), Const(np.array(20, np.float32)), Const(np.array(8000, np.float32))], domain="")


def trees(seed, count, depth, columns, weights, ids, kind, modes=("BRANCH_LEQ",), missing=False, tensors=False):
    """random trees: the attributes of their nodes, and those of the leaves, which kind begins; each leaf has a weight for each of ids"""
    rng, nodes, leaves = np.random.default_rng(seed), [], []

    def grow(tree, level):
        number = sum(n[0] == tree for n in nodes)
        node = [tree, number, int(rng.integers(columns)), float(np.float32(rng.standard_normal())), str(rng.choice(modes)), 0, 0, int(missing and rng.integers(2))]
        nodes.append(node)
        if level == depth or (level and rng.random() < 0.2):
            node[2], node[3], node[4] = 0, 0.0, "LEAF"
            leaves.extend((tree, number, i, float(np.float32(weights(rng)))) for i in ids)
        else:
            node[5], node[6] = grow(tree, level + 1), grow(tree, level + 1)
        return number

    for tree in range(count):
        grow(tree, 0)
    names = "treeids nodeids featureids values modes truenodeids falsenodeids missing_value_tracks_true".split()
    made = {f"nodes_{n}": list(v) for n, v in zip(names, zip(*nodes))}
    made |= {f"{kind}_{n}": list(v) for n, v in zip(("treeids", "nodeids", "ids", "weights"), zip(*leaves))}
    for name in (f"{kind}_weights", "nodes_values") if tensors else ():
        made[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(made.pop(name)))
    if not missing:
        del made["nodes_missing_value_tracks_true"]
    return made


def learned():
    x, normal, positive = floats(80, 9, 5), lambda r: r.standard_normal(), lambda r: r.random() / 8
    with_nan = np.where(ints(81, 0, 3, 9, 5) == 0, np.float32(np.nan), x)
    ml = lambda name, op, inputs, outputs=1, **attributes: case("ml_" + name, op, inputs, outputs, domain=ML, **attributes)
    every = [f"BRANCH_{m}" for m in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")]
    for how in ("SUM", "AVERAGE", "MIN", "MAX"):
        ml(f"trees_{how.lower()}", "TreeEnsembleRegressor", [x], aggregate_function=how, n_targets=2, base_values=[0.5, -1.0], **trees(82, 7, 4, 5, normal, [0, 1], "target"))
    ml("trees_modes", "TreeEnsembleRegressor", [np.round(x)], n_targets=1, **trees(83, 7, 4, 5, normal, [0], "target", every))
    ml("trees_missing", "TreeEnsembleRegressor", [with_nan], n_targets=1, **trees(84, 7, 4, 5, normal, [0], "target", every[:2], True))
    ml("trees_double", "TreeEnsembleRegressor", [floats(85, 9, 5, kind=np.float64)], n_targets=1, **trees(86, 7, 4, 5, normal, [0], "target", tensors=True))
    ml("trees_ints", "TreeEnsembleClassifier", [ints(87, -2, 2, 9, 5, kind=np.int64)], 2, classlabels_int64s=[3, 1, 8], **trees(88, 7, 4, 5, normal, [0, 1, 2], "class"))
    ml("trees_leaf", "TreeEnsembleRegressor", [x], n_targets=1, **trees(89, 2, 0, 5, normal, [0], "target"))
    for post in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        low = post.lower()
        classes = dict(classlabels_int64s=[3, 1, 8], post_transform=post)
        ml(f"trees_classes_{low}", "TreeEnsembleClassifier", [x], 2, **classes, **trees(90, 6, 4, 5, normal, [0, 1, 2], "class"))
        ml(f"trees_two_{low}", "TreeEnsembleClassifier", [x], 2, classlabels_int64s=[5, 2], post_transform=post, **trees(91, 6, 4, 5, normal, [0], "class"))
        ml(f"trees_two_positive_{low}", "TreeEnsembleClassifier", [x], 2, classlabels_int64s=[5, 2], post_transform=post, base_values=[0.125], **trees(92, 6, 4, 5, positive, [0], "class"))
        ml(f"trees_two_second_{low}", "TreeEnsembleClassifier", [x], 2, classlabels_int64s=[5, 2], post_transform=post, **trees(93, 6, 4, 5, normal, [1], "class"))
        ml(f"linear_classes_{low}", "LinearClassifier", [x], 2, classlabels_ints=[3, 1, 8], post_transform=post, coefficients=floats(94, 15).tolist(), intercepts=[0.5, 0.0, -0.5])
        ml(f"linear_two_{low}", "LinearClassifier", [x], 2, classlabels_ints=[3, 1], post_transform=post, coefficients=floats(95, 5).tolist(), intercepts=[0.25])
    ml("trees_classes_base", "TreeEnsembleClassifier", [x], 2, classlabels_int64s=[3, 1, 8], base_values=[0.5, -0.25, 1.0], **trees(96, 6, 4, 5, normal, [0, 1, 2], "class"))
    ml("linear", "LinearRegressor", [x], coefficients=floats(97, 10).tolist(), intercepts=[0.5, -0.5], targets=2)
    for kind in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        ml(f"svm_{kind.lower()}", "SVMRegressor", [x], kernel_type=kind, kernel_params=[0.25, 0.5, 3.0], support_vectors=floats(98, 20).tolist(), coefficients=floats(99, 4).tolist(), rho=[0.125], n_supports=4)
    ml("svm_no_vectors", "SVMRegressor", [x], kernel_params=[0.25, 0.5, 3.0], coefficients=floats(99, 5).tolist(), rho=[0.125], n_supports=0)
    for kind in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        for sizes, how in (((2, 3), "NONE"), ((3, 2), "LOGISTIC"), ((2, 1, 3), "NONE"), ((1, 2, 2, 3), "SOFTMAX"), ((2, 2, 2), "SOFTMAX_ZERO")):
            n, c = sum(sizes), len(sizes)
            ml(f"svm_classes_{kind}_{c}_{how}".lower(), "SVMClassifier", [x], 2, kernel_type=kind, kernel_params=[0.25, 0.5, 3.0], support_vectors=floats(217, 5 * n).tolist(),
               coefficients=floats(218, n * (c - 1)).tolist(), rho=floats(219, c * (c - 1) // 2).tolist(), vectors_per_class=sizes, classlabels_ints=range(7, 7 + c), post_transform=how)
    ml("svm_classes_no_vectors", "SVMClassifier", [x], 2, kernel_type="LINEAR", kernel_params=[0.25, 0.5, 3.0], coefficients=floats(220, 15).tolist(), rho=[0.125], classlabels_ints=[4, 2, 9], post_transform="LOGISTIC")
    ml("svm_one_class", "SVMRegressor", [x], kernel_type="RBF", kernel_params=[0.25, 0.0, 0.0], support_vectors=floats(98, 20).tolist(), coefficients=floats(99, 4).tolist(), rho=[0.125], n_supports=4, one_class=1)
    ml("scaler", "Scaler", [x], offset=floats(107, 5).tolist(), scale=floats(100, 5).tolist())
    ml("scaler_ints", "Scaler", [ints(101, -5, 5, 3, 2, kind=np.int64)], offset=[1.0], scale=[0.5])
    for norm in ("MAX", "L1", "L2"):
        ml(f"normalizer_{norm.lower()}", "Normalizer", [np.array([[3, -4, 0], [0, 0, 0], [-5, -2, -1]], np.float32)], norm=norm)
    ml("binarizer", "Binarizer", [x], threshold=0.25)
    ml("imputer_nan", "Imputer", [with_nan], imputed_value_floats=floats(102, 5).tolist(), replaced_value_float=float("nan"))
    ml("imputer_ints", "Imputer", [ints(103, 0, 2, 4, 3, kind=np.int64)], imputed_value_int64s=[9], replaced_value_int64=1)
    ml("one_hot", "OneHotEncoder", [ints(104, 0, 4, 3, 2, kind=np.int64)], cats_int64s=[1, 4, 2])
    ml("label_ints", "LabelEncoder", [ints(105, 0, 4, 3, 2, kind=np.int64)], keys_int64s=[1, 2, 1], values_floats=[4.0, 5.0, 8.0], default_float=-2.5)
    ml("label_floats", "LabelEncoder", [np.array([1, 2.5, np.nan, 7], np.float32)], keys_floats=[2.5, 1.0], values_int64s=[4, 5])
    ml("label_tensor", "LabelEncoder", [np.array([1, 3, 2], np.int64)], keys_tensor=numpy_helper.from_array(np.array([3, 2], np.int64)),
       values_tensor=numpy_helper.from_array(np.array([7, 9], np.int64)), default_tensor=numpy_helper.from_array(np.array([-5], np.int64)))
    ml("features", "FeatureVectorizer", [x, floats(106, 9, 2)], inputdimensions=[5, 2])


def regions():
    x, which = floats(110, 2, 3, 13, 11), np.array([1, 0, 1, 0], np.int64)
    rois = np.array([[1, 1.5, 9, 11.25], [-2, -3, 4, 5], [6, 2, 20, 30], [4.5, 4.5, 4.5, 4.5]], np.float32)
    plain = lambda name, op, inputs, outputs=1, **attributes: case(name, op, inputs, outputs, domain="", **attributes)
    for mode in ("avg", "max"):
        for place in ("half_pixel", "output_half_pixel"):
            plain(f"roi_align_{mode}_{place}", "RoiAlign", [x, rois, which], mode=mode, coordinate_transformation_mode=place, output_height=3, output_width=4,
                  sampling_ratio=2, spatial_scale=0.75)
    plain("roi_align_old", "RoiAlign", [x, rois, which], version=10, output_height=2, output_width=2, sampling_ratio=3)
    places = np.array([[1, 1, 2, 9, 11], [0, -2, -3, 4, 5], [1, 6, 2, 20, 30], [0, 4, 4, 4, 4]], np.float32)
    plain("max_roi_pool", "MaxRoiPool", [x, places], pooled_shape=[3, 2], spatial_scale=0.5)
    for name, k, s, p in (("plain", 2, 2, 0), ("overlaps", 3, 2, 1), ("dense", 3, 1, 1)):
        n = (9 + 2 * p - k) // s + 1
        rows = [[max(((x[b, c, i, j], -i * 9 - j) for i in range(max(u * s - p, 0), min(u * s - p + k, 9)) for j in range(max(v * s - p, 0), min(v * s - p + k, 9))))
                 for u in range(n) for v in range(n)] for b in range(2) for c in range(3)]
        shape, size = (2, 3, n, n), (n - 1) * s + k - 2 * p
        at = lambda plane, flat: (plane * size + flat // 9) * size + flat % 9
        values = np.array([v for row in rows for v, _ in row], np.float32).reshape(shape)
        index = np.array([at(plane, -f) for plane, row in enumerate(rows) for _, f in row], np.int64).reshape(shape)
        plain(f"max_unpool_{name}", "MaxUnpool", [values, index], kernel_shape=[k, k], strides=[s, s], pads=[p] * 4)
    i8 = lambda seed, *shape: ints(seed, -127, 127, *shape, kind=np.int8)
    scales = lambda seed, *shape: np.abs(floats(seed, *shape, scale=0.01)) + np.float32(0.001)
    h = 6
    for name, dirs, way, zero in (("forward", 1, "forward", 0), ("both", 2, "bidirectional", 3)):
        zeros = lambda value, *shape: Const(np.full(shape, value, np.int8))
        common = [Const(floats(111, dirs, 8 * h)), None, floats(112, dirs, 1, h), floats(113, dirs, 1, h), None]
        weights = [Const(i8(114, dirs, 4, 4 * h)), Const(i8(115, dirs, h, 4 * h))]
        case(f"ms_quantised_lstm_{name}", "DynamicQuantizeLSTM", [floats(116, 5, 1, 4), *weights, *common, Const(scales(117, dirs)), zeros(zero, dirs), Const(scales(118, dirs)), zeros(zero, dirs)],
             3, hidden_size=h, direction=way)
        case(f"ms_quantised_lstm_{name}_columns", "DynamicQuantizeLSTM", [floats(116, 5, 1, 4), *weights, *common, Const(scales(117, dirs, 4 * h)), zeros(0, dirs, 4 * h),
             Const(scales(118, dirs, 4 * h)), zeros(0, dirs, 4 * h)], 3, hidden_size=h, direction=way)
        x = floats(221, 4, 3, 4) * np.float32([1, 1, 2, 8]).reshape(4, 1, 1)  # what no sequence reaches is large
        common = [common[0], np.array([2, 3, 1], np.int32), None, None, None]
        case(f"ms_quantised_lstm_{name}_lengths", "DynamicQuantizeLSTM", [x, *weights, *common, Const(scales(117, dirs)), zeros(zero, dirs), Const(scales(118, dirs)), zeros(zero, dirs)],
             3, hidden_size=h, direction=way)


def recurrent():
    """each activation with its own parameters, and what is cut before it"""
    parameters = {"Affine": (.8, .25), "ScaledTanh": (1.5, .6), "HardSigmoid": (.3, .4), "LeakyRelu": (.2,), "ThresholdedRelu": (.3,), "Elu": (.7,)}
    x, batch, h = floats(120, 4, 2, 5), 2, 3
    for op, gates, each in (("RNN", 1, 1), ("GRU", 3, 2), ("LSTM", 4, 3)):
        weights = [Const(floats(121, 2, gates * h, 5)), Const(floats(122, 2, gates * h, h)), Const(floats(123, 2, 2 * gates * h))]
        for name in ("Affine", "ScaledTanh", "HardSigmoid", "LeakyRelu", "ThresholdedRelu", "Elu", "Relu", "Softsign", "Softplus", "Sigmoid"):
            p = parameters.get(name, ())
            alphas, betas = ([v] * (2 * each) for v in (*p, 0, 0)[:2])
            more = {k: v for k, v, n in (("activation_alpha", alphas, 1), ("activation_beta", betas, 2)) if len(p) >= n}
            case(f"{op.lower()}_{name.lower()}", op, [x, *weights], each if op == "LSTM" else 2, domain="", hidden_size=h, direction="bidirectional",
                 activations=[name] * (2 * each), clip=1.25, **more)
        mixed = {"RNN": ["Elu"], "GRU": ["HardSigmoid", "ScaledTanh"], "LSTM": ["HardSigmoid", "Softsign", "ScaledTanh"]}[op]
        rows = [[v for name in mixed for v in parameters.get(name, ())[i:i + 1]] for i in (0, 1)]
        case(f"{op.lower()}_mixed", op, [x, *(Const(w.value[:1]) for w in weights)], 2, domain="", hidden_size=h, activations=mixed,
             **{k: v for k, v in zip(("activation_alpha", "activation_beta"), rows) if v})


def further():
    """of first opsets, and of com.microsoft, that exporters and optimisers leave in models"""
    x, img = floats(130, 2, 3, 4), floats(131, 2, 3, 7, 6)
    first = lambda name, op, x, **attributes: case("first_" + name, op, [x], domain="", version=9, **attributes)
    first("affine", "Affine", x, alpha=0.5, beta=-1.5)
    first("scaled_tanh", "ScaledTanh", x, alpha=1.5, beta=0.5)
    first("parametric_softplus", "ParametricSoftplus", x, alpha=0.5, beta=2.0)
    first("scale", "Scale", x, scale=-0.25)
    first("thresholded_relu", "ThresholdedRelu", x, alpha=0.5)
    first("image_scaler", "ImageScaler", img, scale=0.5, bias=[1.0, -2.0, 3.0])
    first("crop", "Crop", img, border=[1, 2, 0, 3])
    first("crop_size", "Crop", img, border=[1, 2, 0, 3], scale=[4, 2])
    case("ms_expand_dims", "ExpandDims", [x, Const(np.array(-2, np.int32))])
    case("ms_range", "Range", [Const(np.array(3, np.int64)), Const(np.array(9, np.int64))])
    case("ms_range_steps", "Range", [Const(np.array(3, np.float32)), Const(np.array(-1, np.float32)), Const(np.array(-.75, np.float32))])
    case("ms_grid_sample", "GridSample", [img, floats(132, 2, 4, 5, 2)], mode="bicubic", padding_mode="reflection", align_corners=1)
    case("ms_grid_sample_usual", "GridSample", [img, floats(132, 2, 4, 5, 2)])
    turned = floats(133, 2, 5, 5)
    turned[0, 0, 0] = 0
    case("ms_inverse", "Inverse", [turned])
    case("ms_inverse_flat", "Inverse", [np.array([[0, 2], [4, 1]], np.float64)])
    for metric in ("euclidean", "sqeuclidean"):
        case(f"ms_cdist_{metric}", "CDist", [floats(134, 4, 6), floats(135, 5, 6)], metric=metric)
    u8 = lambda seed, *shape: ints(seed, 0, 255, *shape, kind=np.uint8)
    s, z = lambda v: Const(np.float32(v).reshape(())), lambda v: Const(np.uint8(v).reshape(()))
    case("ms_qlinear_where", "QLinearWhere", [ints(136, 0, 1, 2, 3, 4).astype(bool), u8(137, 2, 3, 4), s(.02), z(120), u8(138, 4), s(.03), z(7), s(.04), z(90)])
    ids, seg, tables = ints(46, 0, 9, 2, 3), ints(47, 0, 1, 2, 3), [Const(u8(139 + i, n, 8)) for i, n in enumerate((10, 5, 2))]
    rows = [Const(u8(142, 8)), Const(u8(143, 8))]
    scales, zeros = [s(.01 * i) for i in range(1, 6)], [z(100 + i) for i in range(5)]
    case("ms_quantised_embed_norm", "QEmbedLayerNormalization", [ids, seg, *tables, *rows, np.array([[1, 1, 0], [1, 1, 1]], np.int32), *scales, *zeros], 2, epsilon=1e-5)
    case("ms_quantised_embed_norm_words", "QEmbedLayerNormalization", [ids, None, *tables[:2], None, *rows, None, *scales[:2], None, *scales[3:], *zeros[:2], None, *zeros[3:]], 2)
    for kind, name in enumerate(("fp4", "nf4")):
        for block, k, n in ((16, 48, 5), (32, 20, 7)):
            blocks = (k * n + block - 1) // block
            case(f"ms_bnb4_{name}_{block}", "MatMulBnb4", [floats(144, 3, k), Const(u8(145, (k * n + 1) // 2)), Const(np.abs(floats(146, blocks)))], K=k, N=n,
                 block_size=block, quant_type=kind)


def of_machines():
    """what ONNX Runtime makes for other processors, by its definition; and states of its own"""
    x, gamma, beta = floats(170, 2, 4, 6, 8), floats(171, 8), floats(172, 8)
    silu, gelu = lambda v: v / (1 + np.exp(-v)), lambda v: v / 2 * (1 + np.vectorize(math.erf)(v / math.sqrt(2)))
    ours = lambda name, op, inputs, *y, **attributes: case("ms_" + name, op, inputs, len(y), expected=[np.asarray(v, np.float32) for v in y], **attributes)

    def grouped(v, groups, epsilon=1e-5):
        g = v.astype(np.float64).reshape(*v.shape[:3], groups, -1)
        axes = (1, 2, 4)
        return ((g - g.mean(axes, keepdims=True)) / np.sqrt(g.var(axes, keepdims=True) + epsilon)).reshape(v.shape) * gamma + beta

    ours("group_norm", "GroupNorm", [x, Const(gamma), Const(beta)], grouped(x, 4), groups=4, activation=0)
    ours("group_norm_first", "GroupNorm", [x.transpose(0, 3, 1, 2).copy(), Const(gamma), Const(beta)], silu(grouped(x, 2)).transpose(0, 3, 1, 2), groups=2, activation=1,
         channels_last=0)
    skip, bias = floats(173, 2, 8), floats(174, 8)
    total = x + skip[:, None, None] + bias
    ours("skip_group_norm", "SkipGroupNorm", [x, Const(gamma), Const(beta), skip, Const(bias)], silu(grouped(total, 4)), total, groups=4, activation=1)
    total = x + x[:, :1, :1]
    ours("skip_group_norm_plain", "SkipGroupNorm", [x, Const(gamma), Const(beta), x[:, :1, :1].copy()], grouped(total, 8, 0.5), groups=8, activation=0, epsilon=0.5)
    rows, both = floats(175, 2, 3, 8), floats(176, 8)
    ours("bias_add", "BiasAdd", [rows, Const(both), 2 * rows], 3 * rows + both)
    left, right = np.split(rows + both, 2, -1)
    ours("bias_split_gelu", "BiasSplitGelu", [rows, Const(both)], left * gelu(right))
    a, w, c = floats(177, 3, 8), floats(178, 8, 5), floats(179, 5)
    case("ms_gemm_fast_gelu", "GemmFastGelu", [a, Const(w), Const(c)], expected=[fast_gelu(a @ w + c)])
    case("ms_gemm_fast_gelu_plain", "GemmFastGelu", [rows / 8, Const(w)], expected=[fast_gelu(rows / 8 @ w)])  # far below 0 it loses all digits
    k, z = floats(180, 5, 8, 3, 3), floats(181, 2, 4, 6, 5)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    sums = sum(padded[:, i:i + 4, j:j + 6] @ k[:, :, i, j].T for i in range(3) for j in range(3))
    ours("nhwc_fused_conv", "NhwcFusedConv", [x, Const(k), Const(c), z], np.maximum(sums + c + z, 0), pads=[1] * 4, activation="Relu")
    ours("nhwc_fused_conv_plain", "NhwcFusedConv", [x, Const(k)], sums, pads=[1] * 4)
    table = floats(182, 32, 3)
    for both_ways in (0, 1):
        q, n = np.arange(200)[:, None], np.arange(200)[None]
        far, half = n - q, 16 if both_ways else 32
        first = np.where(far > 0, half, 0) if both_ways else 0
        far = np.abs(far) if both_ways else np.maximum(-far, 0)
        near = np.float32(half // 2)
        more = np.log(np.maximum(far, 1).astype(np.float32) / near) / np.log(np.float32(100) / near) * np.float32(half - half // 2)
        bucket = first + np.where(far < near, far, np.minimum(near + more.astype(np.int64), half - 1)).astype(np.int64)
        ours(f"relative_bias_{both_ways}", "RelativePositionBias", [table, *[Const(np.array([200], np.int64))] * 2], table.reshape(3, 32)[:, bucket][None],
             max_distance=100, is_bidirectional=both_ways)
    q, qb, far, w, wb, scale = floats(183, 2, 5, 8), floats(184, 8), floats(185, 1, 2, 5, 5), floats(186, 4, 6), floats(187, 6), floats(188, 1, 2, 1, 1)
    gates = 1 / (1 + np.exp(-((q + qb).reshape(2, 5, 2, 4).swapaxes(1, 2) @ w + wb).reshape(2, 2, 5, 2, 3).sum(-1)))
    ours("gated_relative_bias", "GatedRelativePositionBias", [q, *map(Const, (qb, far, w, wb, scale))], (gates[..., :1] * (gates[..., 1:] * scale - 1) + 2) * far, num_heads=2)
    for name in ("silu", "sigmoid"):
        case(f"ms_gated_rms_norm_{name}", "GatedRMSNorm", [rows, Const(floats(189, 4)), floats(190, 2, 3, 8)], activation=name, epsilon=1e-4)
    case("ms_scaled_silu", "ScaledSiLU", [rows], alpha=0.75)
    case("ms_scaled_silu_input", "ScaledSiLU", [rows, np.array(-1.5, np.float32)])
    state = floats(191, 2, 4, 2)
    case("ms_causal_conv", "CausalConvWithState", [floats(192, 2, 4, 7), Const(floats(193, 4, 1, 3)), Const(floats(194, 4)), state], 2, activation="silu")
    gate, step = -np.abs(floats(195, 2, 5, 2)), np.abs(floats(196, 2, 5, 2))
    q, k, v = floats(197, 2, 5, 8), floats(198, 2, 5, 8, scale=.4), floats(199, 2, 5, 6)
    for rule, more in (("linear", []), ("gated", [None, gate]), ("gated_delta", [floats(200, 2, 2, 4, 3), gate, step])):
        case(f"ms_linear_attention_{rule}", "LinearAttention", [q, k, v, *more], 2, q_num_heads=2, kv_num_heads=2, update_rule=rule)


def experts():
    t, e, h, n = 5, 4, 8, 16
    x, scores = floats(150, t, h), floats(151, t, e)
    plain = [Const(floats(152, e, n, h)), Const(floats(153, e, n)), Const(floats(154, e, h, n)), Const(floats(155, e, h))]
    for kind in ("relu", "gelu", "silu", "identity"):
        case(f"ms_moe_{kind}", "MoE", [x, scores, *plain], k=2, activation_type=kind)
    case("ms_moe_normalised", "MoE", [x.reshape(1, t, h), scores, plain[0], None, plain[2]], k=3, normalize_routing_weights=1)
    wide = [Const(floats(156, e, 2 * n, h)), Const(floats(157, e, 2 * n))]
    for more in ({}, {"swiglu_limit": 0.75}):
        case("ms_moe_swiglu" + "_limit" * bool(more), "MoE", [x, scores, *wide, *plain[2:]], k=1, activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.7,
             activation_beta=1.0, **more)
    h, n = 32, 16
    x = floats(158, t, h)
    for bits in (8, 2, 4):
        for block in (0, 16)[:2 - (bits == 8)]:  # ONNX Runtime rounds x where blocks have 8 bits
            packed = lambda seed, *shape: Const(ints(seed, 0, 255, *shape[:-1], shape[-1] * bits // 8, kind=np.uint8))
            scale = lambda seed, rows, columns: Const(np.abs(floats(seed, e, rows, *([columns // block] if block else []), scale=.1 / 2**bits)))
            zero = lambda seed, rows, columns: packed(seed, e, rows, max(8 // bits, columns // block)) if block else packed(seed, e, rows)
            weights = [packed(159, e, 2 * n, h), scale(160, 2 * n, h), Const(floats(161, e, 2 * n)), packed(162, e, h, n), scale(163, h, n), Const(floats(164, e, h))]
            more = {"block_size": block} if block else {}
            name = f"ms_qmoe_{bits}" + (f"_blocks" if block else "")
            case(name, "QMoE", [x, scores, *weights], k=2, activation_type="swiglu", swiglu_fusion=1, expert_weight_bits=bits, normalize_routing_weights=1, **more)
            case(name + "_zeros", "QMoE", [x, scores, *weights, None, None, None, zero(165, 2 * n, h), zero(166, h, n)], k=2, activation_type="swiglu",
                 swiglu_fusion=1, expert_weight_bits=bits, **more)
    for whole in (0, 1):
        case(f"ms_qmoe_mix_{whole}", "QMoE", [x, scores, *weights, None, None, None, None, None, None, np.abs(floats(167, t, e))], k=2, activation_type="swiglu", swiglu_fusion=1,
             expert_weight_bits=4, block_size=16, normalize_routing_weights=whole)


def main():
    attention()
    strings()
    experts()
    of_machines()
    recurrent()
    further()
    regions()
    learned()
    signals()
    fused()
    quantised()
    to, words = pathlib.Path(sys.argv[1]) if sys.argv[1:] else None, sys.argv[2:]
    files = {}
    for name in sorted(cases):
        if words and not any(w in name for w in words):
            continue
        try:
            files.update(build(name))
        except Exception as e:
            sys.exit(f"{name}: {e}")
    if to:
        for path, data in files.items():
            (to / path).parent.mkdir(parents=True, exist_ok=True)
            (to / path).write_bytes(data)
        return
    with open(HERE / "contrib.tar.gz", "wb") as out, gzip.GzipFile("", "wb", fileobj=out, mtime=0) as zipped:
        with tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for path, data in files.items():
                info = tarfile.TarInfo(path)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))


main()
