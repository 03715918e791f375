/* SPDX-License-Identifier: MIT */
/* onnx_ops.c: one-node models through onnx_build: shapes of results, and messages about wrong arguments. A model is a line of
 * text: operator (of another domain, ai.onnx.ml.Scaler), opset, inputs, then attributes:
 *   Conv 11 f[1,4,5,5] f[6,2,3,3] group=2 pads=[1,1,1,1] mode='x' alpha=0.5
 * An input f[dims] is fed at run time. Its letter is the type: f f32, h f16, d f64, i i64, j i32, w u32, c i8, u u8, b bool.
 * i{1,2} and f{1,2,3,4:2,2} are constants, the latter with a shape. - is an input that is left out. >2 asks for two outputs.
 * The expected text is the shape of the first result, or a part of the message. After an equals sign stand the values of the
 * last result, which must then be a constant. */
#include "../../compiler/interp/interp.h"
#include "../../frontends/onnx/wire/onnx.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct Line {
  const char *model, *expect;
} Line;

static const Line lines[] = {
  /* elementwise */
  { "Add 14 f[2,3] f[3]", "[2,3]" },
  { "Add 14 f[2,3] f[4]", "shape [4] of input 1 does not broadcast with the inputs before it: extents 4 and 3 differ" },
  { "Add 14 f[2] h[2]", "input 1, 'x1', is f16, but input 0 is f32" },
  { "Add 6 f[2,3,4] f[3] axis=1 broadcast=1", "[2,3,4]" },
  { "Sigmoid 13 i[2]", "input 0, 'x0', is i64, expected a float type" },
  { "Div 14 i[2] i{0,1}", "integer division by the constant 0" },
  { "Mod 13 f[2] f[2]", "attribute 'fmod' is 0" },
  { "PRelu 16 f[1,3,4,4] f[3,1,1]", "[1,3,4,4]" },
  { "PRelu 16 f[3] f[2,3]", "does not broadcast" },
  { "Clip 13 f[2] f{0,1}", "input 1 has 2 elements, expected one" },
  { "Clip 6 f[2] min=1.0 max=0.0", "[2]" },
  { "Relu 14 f[2] alpha=1.0", "the operator has no attribute 'alpha' in this opset" },
  { "Relu 14 f[2] f[2]", "2 inputs, expected exactly 1" },
  { "Add 14 - f[2]", "input 0 is required, but omitted" },
  { "Cast 13 f[2] to=0", "casting to type 0 of TensorProto.DataType is not supported" },
  { "Cast 13 f[2] to='float'", "attribute 'to' is a string" },
  { "Cast 13 f[2]", "attribute 'to' is missing" },
  { "Gelu 20 f[2] approximate='erf'", "attribute 'approximate' is 'erf', expected one of none|tanh" },
  /* scatters */
  { "ScatterElements 18 f{1,2,3,4:2,2} i{1,0:1,2} f{7,8:1,2} axis=0", "=1,8,7,4" },
  { "ScatterElements 18 f{1,2,3} i{0,0,-1} f{10,20,40} axis=0 reduction='add'", "=31,2,43" },
  { "ScatterElements 18 f{1,2,3} i{0,0,1} f{10,20,-5} axis=0 reduction='max'", "=20,2,3" },
  { "ScatterND 18 f{1,2,3,4:2,2} i{1,1,0,0:2,2} f{5,9} reduction='mul'", "=9,2,3,20" },
  { "ScatterND 18 f[4,5] i[3,1] f[3,5]", "[4,5]" },
  { "ScatterND 18 b[4] i[2,1] b[2] reduction='add'", "[4]" },
  { "ScatterElements 18 b[4,4] i[1,4] b[1,4] reduction='mul'", "[4,4]" },
  { "ScatterND 18 f{1,2,3,4:2,2} i{1,0,1,-1:2,1,2} f{5,9:2,1} reduction='min'", "=1,2,3,4" },
  { "ScatterND 18 f{1,2,3,4:2,2} i{1,1,-1:3,1} f{1,2,3,4,5,6:3,2} reduction='add'", "=1,2,12,16" },
  { "ScatterElements 18 f{1,2,3,4:2,2} i{1,1:2,1} f{5,6:2,1} axis=1 reduction='mul'", "=1,10,3,24" },
  { "ScatterElements 18 f{1,2,3,4:2,2} i{1,0,1:1,3} f{5,6,7:1,3} axis=1 reduction='max'", "=6,7,3,4" },
  { "ScatterElements 18 f[4,5] i[2,3] f[2,3] axis=1", "[4,5]" },
  { "ScatterElements 18 f[3] i{3:1} f[1] axis=0", "index 3 is outside axis 0 of extent 3" },
  /* n-grams of integers; weights are those of n-grams, not of places in the result */
  { "TfIdfVectorizer 9 j{1,2,1,3,2,1:2,3} max_gram_length=2 min_gram_length=1 max_skip_count=0 mode='TF' ngram_counts=[0,2] "
    "ngram_indexes=[3,0,1,2] pool_int64s=[1,3,1,2,2,1]",
    "=0,1,1,2,1,0,1,1" },
  { "TfIdfVectorizer 9 j{1,2,1,3,2,1:2,3} max_gram_length=2 min_gram_length=2 max_skip_count=0 mode='TF' ngram_counts=[0,2] "
    "ngram_indexes=[3,0,1,2] pool_int64s=[1,3,1,2,2,1]",
    "=0,1,1,0,0,0,1,0" },
  { "TfIdfVectorizer 9 j{1,2,1,3,2,1:2,3} max_gram_length=2 min_gram_length=1 max_skip_count=0 mode='TFIDF' ngram_counts=[0,2] "
    "ngram_indexes=[3,0,1,2] pool_int64s=[1,3,1,2,2,1] weights=[2.0,3.0,5.0,7.0]",
    "=0,5,7,4,3,0,7,2" },
  { "TfIdfVectorizer 9 j{1,2,1,3,2,1:2,3} max_gram_length=2 min_gram_length=1 max_skip_count=0 mode='IDF' ngram_counts=[0,2] "
    "ngram_indexes=[3,0,1,2] pool_int64s=[1,3,1,2,2,1] weights=[2.0,3.0,5.0,7.0]",
    "=0,5,7,2,3,0,7,2" },
  { "TfIdfVectorizer 9 j{1,2,1,3,2,1:2,3} max_gram_length=2 min_gram_length=1 max_skip_count=0 mode='IDF' ngram_counts=[0,2] "
    "ngram_indexes=[3,0,1,2] pool_int64s=[1,3,1,2,2,1]",
    "=0,1,1,1,1,0,1,1" },
  { "TfIdfVectorizer 9 i{1,9,2,9,1} max_gram_length=2 min_gram_length=1 max_skip_count=1 mode='TF' ngram_counts=[0,1] "
    "ngram_indexes=[0,1,2] pool_int64s=[9,1,2,9,9]",
    "=2,1,1" },
  { "TfIdfVectorizer 9 i[5] max_gram_length=1 min_gram_length=1 max_skip_count=0 mode='TF' ngram_counts=[0] ngram_indexes=[0,4] "
    "pool_int64s=[9,9]",
    "attribute 'pool_int64s' has an n-gram of 1 elements twice" },
  { "TfIdfVectorizer 9 i[5] max_gram_length=2 min_gram_length=1 max_skip_count=0 mode='TF' ngram_counts=[0,2] "
    "ngram_indexes=[0,1] pool_int64s=[9,8,7]",
    "puts n-grams of 2 elements at 2 to 3 of a pool of 3" },
  { "TfIdfVectorizer 9 i[5] max_gram_length=1 min_gram_length=1 max_skip_count=0 mode='IDF' ngram_counts=[0] ngram_indexes=[0,1] "
    "pool_int64s=[9,8] weights=[1.0]",
    "have 2 and 1 entries, fewer than there are n-grams" },
  { "TfIdfVectorizer 9 i[5] max_gram_length=1 min_gram_length=1 max_skip_count=0 mode='TF' ngram_counts=[0] ngram_indexes=[0] "
    "pool_strings=['a']",
    "attribute 'pool_int64s' is missing" },
  /* learned */
  { "ai.onnx.ml.Scaler 1 f[4,3] offset=[1.0] scale=[2.0,2.0]", "attribute 'scale' has 2 entries for 3 columns" },
  { "ai.onnx.ml.Normalizer 1 f[2,3,4]", "the input has rank 3, expected 1 or 2" },
  { "ai.onnx.ml.OneHotEncoder 1 i[2,3] cats_int64s=[4,5]", "[2,3,2]" },
  { "ai.onnx.ml.ZipMap 1 f[2,3] classlabels_int64s=[4,5]", "there are 2 labels for 3 columns" },
  { "ai.onnx.ml.ZipMap 1 f[3] classlabels_strings=['a','b','c']", "[1,3]" },
  { "ai.onnx.ml.LinearClassifier 1 f[4,3] coefficients=[1.0,2.0] classlabels_ints=[0,1]",
    "attribute 'coefficients' has 2 entries, expected 6" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f[4,3] nodes_modes=['LEAF']", "attribute 'nodes_values' has 0 entries, expected 1" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f[4,3] nodes_modes=['LEAF'] nodes_values=[0.0] target_nodeids=[0] target_ids=[0] "
    "target_weights=[2.5]",
    "[4,1]" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f[4,3] nodes_modes=['LEAF'] nodes_values=[0.0] target_nodeids=[2] target_ids=[0] "
    "target_weights=[2.5]",
    "tree 0 has no node 2" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f[4,3] nodes_modes=['LEAF'] nodes_values=[0.0] target_ids=[5] target_weights=[2.5] "
    "n_targets=2",
    "a leaf has a weight for target 5, but there are 2 targets" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f[4,3] nodes_modes=['BRANCH_LT','LEAF'] nodes_nodeids=[0,1] nodes_values=[0.0,0.0] "
    "nodes_truenodeids=[0,0] nodes_falsenodeids=[1,0]",
    "the nodes of a tree form a cycle" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f[4,3] nodes_modes=['BRANCH_LT','LEAF'] nodes_nodeids=[0,1] nodes_values=[0.0,0.0] "
    "nodes_truenodeids=[1,0] nodes_falsenodeids=[1,0] nodes_featureids=[3,0]",
    "node 0 of the trees compares column 3, but the input has 3 columns" },
  /* every comparison, at its threshold and for NaN, with and without a missing value */
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f{-1,0.5,2,nan:4,1} nodes_modes=['BRANCH_LEQ','LEAF','LEAF'] nodes_nodeids=[0,1,2] "
    "nodes_featureids=[0,0,0] nodes_values=[0.5,0.0,0.0] nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] "
    "nodes_missing_value_tracks_true=[0,0,0] nodes_treeids=[0,0,0] target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] "
    "target_weights=[1.0,2.0]",
    "=1,1,2,2" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f{-1,0.5,2,nan:4,1} nodes_modes=['BRANCH_LEQ','LEAF','LEAF'] nodes_nodeids=[0,1,2] "
    "nodes_featureids=[0,0,0] nodes_values=[0.5,0.0,0.0] nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] "
    "nodes_missing_value_tracks_true=[1,0,0] nodes_treeids=[0,0,0] target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] "
    "target_weights=[1.0,2.0]",
    "=1,1,2,1" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f{-1,0.5,2,nan:4,1} nodes_modes=['BRANCH_LT','LEAF','LEAF'] nodes_nodeids=[0,1,2] "
    "nodes_featureids=[0,0,0] nodes_values=[0.5,0.0,0.0] nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] "
    "nodes_missing_value_tracks_true=[0,0,0] nodes_treeids=[0,0,0] target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] "
    "target_weights=[1.0,2.0]",
    "=1,2,2,2" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f{-1,0.5,2,nan:4,1} nodes_modes=['BRANCH_LT','LEAF','LEAF'] nodes_nodeids=[0,1,2] "
    "nodes_featureids=[0,0,0] nodes_values=[0.5,0.0,0.0] nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] "
    "nodes_missing_value_tracks_true=[1,0,0] nodes_treeids=[0,0,0] target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] "
    "target_weights=[1.0,2.0]",
    "=1,2,2,1" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f{-1,0.5,2,nan:4,1} nodes_modes=['BRANCH_GTE','LEAF','LEAF'] nodes_nodeids=[0,1,2] "
    "nodes_featureids=[0,0,0] nodes_values=[0.5,0.0,0.0] nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] "
    "nodes_missing_value_tracks_true=[0,0,0] nodes_treeids=[0,0,0] target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] "
    "target_weights=[1.0,2.0]",
    "=2,1,1,2" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f{-1,0.5,2,nan:4,1} nodes_modes=['BRANCH_GTE','LEAF','LEAF'] nodes_nodeids=[0,1,2] "
    "nodes_featureids=[0,0,0] nodes_values=[0.5,0.0,0.0] nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] "
    "nodes_missing_value_tracks_true=[1,0,0] nodes_treeids=[0,0,0] target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] "
    "target_weights=[1.0,2.0]",
    "=2,1,1,1" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f{-1,0.5,2,nan:4,1} nodes_modes=['BRANCH_GT','LEAF','LEAF'] nodes_nodeids=[0,1,2] "
    "nodes_featureids=[0,0,0] nodes_values=[0.5,0.0,0.0] nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] "
    "nodes_missing_value_tracks_true=[0,0,0] nodes_treeids=[0,0,0] target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] "
    "target_weights=[1.0,2.0]",
    "=2,2,1,2" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f{-1,0.5,2,nan:4,1} nodes_modes=['BRANCH_GT','LEAF','LEAF'] nodes_nodeids=[0,1,2] "
    "nodes_featureids=[0,0,0] nodes_values=[0.5,0.0,0.0] nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] "
    "nodes_missing_value_tracks_true=[1,0,0] nodes_treeids=[0,0,0] target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] "
    "target_weights=[1.0,2.0]",
    "=2,2,1,1" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f{-1,0.5,2,nan:4,1} nodes_modes=['BRANCH_EQ','LEAF','LEAF'] nodes_nodeids=[0,1,2] "
    "nodes_featureids=[0,0,0] nodes_values=[0.5,0.0,0.0] nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] "
    "nodes_missing_value_tracks_true=[0,0,0] nodes_treeids=[0,0,0] target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] "
    "target_weights=[1.0,2.0]",
    "=2,1,2,2" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f{-1,0.5,2,nan:4,1} nodes_modes=['BRANCH_EQ','LEAF','LEAF'] nodes_nodeids=[0,1,2] "
    "nodes_featureids=[0,0,0] nodes_values=[0.5,0.0,0.0] nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] "
    "nodes_missing_value_tracks_true=[1,0,0] nodes_treeids=[0,0,0] target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] "
    "target_weights=[1.0,2.0]",
    "=2,1,2,1" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f{-1,0.5,2,nan:4,1} nodes_modes=['BRANCH_NEQ','LEAF','LEAF'] nodes_nodeids=[0,1,2] "
    "nodes_featureids=[0,0,0] nodes_values=[0.5,0.0,0.0] nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] "
    "nodes_missing_value_tracks_true=[0,0,0] nodes_treeids=[0,0,0] target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] "
    "target_weights=[1.0,2.0]",
    "=1,2,1,1" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f{-1,0.5,2,nan:4,1} nodes_modes=['BRANCH_NEQ','LEAF','LEAF'] nodes_nodeids=[0,1,2] "
    "nodes_featureids=[0,0,0] nodes_values=[0.5,0.0,0.0] nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] "
    "nodes_missing_value_tracks_true=[1,0,0] nodes_treeids=[0,0,0] target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] "
    "target_weights=[1.0,2.0]",
    "=1,2,1,1" },
  { "ai.onnx.ml.TreeEnsembleRegressor 3 f[4,3] nodes_modes=['BRANCH'] nodes_values=[0.0]", "a node's mode is 'BRANCH'" },
  /* sizes that no memory has: of results, on the way to them, of tables */
  { "CumSum 14 f[8589934592] i{0}", "[8589934592]" }, /* no temporary value for each pair */
  { "LRN 13 f[1,1073741824] size=1099511627776", "needs a temporary value of shape" },
  { "Conv 11 f[1,1,1099511627776] f[1099511627776,1,1]", "needs a temporary value of shape" },
  { "Conv 11 f[1,0,4] f[0,4,1] group=4611686018427387904", "4 times 4611686018427387904 elements are over the limit of 2^40" },
  { "Col2Im 18 f[1,4,4] i{1073741824,1073741824,1073741824,1073741824} i{65536,65536,65536,65536}",
    "are over the limit of 2^40" },
  { "MaxUnpool 11 f[1,1,4] i[1,1,4] kernel_shape=[1048576]", "--max-unroll" },
  { "MaxUnpool 11 f[1,1,4,4] i[1,1,4,4] kernel_shape=[1099511627776,1099511627776]", "are over the limit of 2^40" },
  { "MaxUnpool 11 f[1,1,1099511627776] i[1,1,1099511627776] kernel_shape=[2] strides=[1099511627776]",
    "the result is too large on spatial axis 0" },
  { "RoiAlign 16 f[1,1,4,4] f[1,4] i{0} output_height=4294967296 output_width=4294967296 sampling_ratio=1",
    "are over the limit of 2^40" },
  { "Resize 13 f[8589934592] - - i{16777216} antialias=1 mode='linear'", "each computed from 1024 of them, is over the limit" },
  { "RNN 14 f[8589934592,1,1] f[1,1,1] f[1,1,1]", "--max-unroll" },
  { "HannWindow 17 i{4294967296:1}", "input 'size' must be one integer from 0 to 2^28, found 4294967296" },
  /* quantised products take and give floats of either width */
  { "com.microsoft.MatMulIntegerToFloat 1 u[2,3] c[3,4] h[1] h[4] - - h[4]", "[2,4]" },
  { "com.microsoft.QGemm 1 u[2,3] h[1] u[1] c[3,4] h[1] c[1] i[4]", "[2,4]" },
  /* determinants, regions, states */
  { "Det 11 f{1,2,3,4:2,2}", "=-2" },
  { "Det 11 f{0,2,1,1,1,1,2,0,3:3,3}", "=-4" },
  { "Det 11 f{2,4,1,2,3,0,0,5:2,2,2}", "=0,15" },
  { "Det 11 f{0,0,0,0:2,2}", "=0" },
  { "Det 11 f[2,3]", "the input must hold square matrices in its last two axes" },
  { "RoiAlign 16 f[1,2,8,8] f[5,4] i[5]", "attribute 'sampling_ratio' is 0" },
  { "RoiAlign 16 f[1,2,8,8] f[5,4] i[4] sampling_ratio=2",
    "input 'batch_indices' must be a vector of 5 elements, one for each region" },
  { "RoiAlign 10 f[1,2,8,8] f[5,4] i[5] sampling_ratio=2 output_height=3", "[5,2,3,1]" },
  { "MaxRoiPool 1 f[1,2,8,8] f[5,4] pooled_shape=[2,2]", "input 'rois' must be a matrix of 5 columns" },
  { "MaxUnpool 11 f[1,2,4,4] i[1,2,4,3] kernel_shape=[2,2]", "values and indices must have the same shape" },
  { "MaxUnpool 11 f[1,2,4,4] i[1,2,4,4] i{1,2,9,7} kernel_shape=[2,2] strides=[2,2]", "[1,2,9,7]" },
  { "LinearAttention 27 f[1,4,6] f[1,4,6] f[1,4,6] q_num_heads=2 kv_num_heads=2 >2",
    "input 'decay' is omitted, but attribute 'update_rule' needs it" },
  { "LinearAttention 27 f[1,4,6] f[1,4,4] f[1,4,4] q_num_heads=3 kv_num_heads=2 update_rule='linear'",
    "2 heads of keys do not divide 3 heads of queries" },
  { "CausalConvWithState 27 f[1,4,6] f[4,2,3]", "the weights must be [channels,1,taps]" },
  /* operators of com.microsoft and of first opsets */
  { "com.microsoft.MoE 1 f[2,3] f[2,4] f[4,5,3] - f[4,3,5] k=2", "[2,3]" },
  { "com.microsoft.MoE 1 f{2:1,1} f{0:1,1} f{3:1,1,1} - f{1:1,1,1} - f{5:1,1,1} activation_type='identity'", "=60" },
  { "com.microsoft.MoE 1 f{2:1,1} f{0:1,1} f{3:1,1,1} - f{1:1,1,1} - f{5:1,1,1} activation_type='swiglu' activation_beta=-10.0",
    "=0" },
  { "com.microsoft.MoE 1 f{2:1,1} f{0:1,1} f{3:1,1,1} - f{1:1,1,1} activation_type='swiglu'",
    "attribute 'swiglu_fusion' is 0, expected 1 or 2 without a third layer" },
  { "com.microsoft.MoE 1 f{2:1,1} f{0:1,1} f{3,1:1,2,1} - f{1:1,1,1} activation_type='swiglu' swiglu_fusion=2 "
    "activation_beta=-2.0",
    "=0" },
  { "com.microsoft.MoE 1 f[2,3] f[2,4] f[4,5,3] - f[4,3,5] k=5",
    "must be a matrix of 2 rows, with scores of at least 5 experts" },
  { "com.microsoft.MoE 1 f[2,3] f[2,4] f[4,5,2] - f[4,3,5]", "input 2 must have 5 x 3 elements for each of 4 experts" },
  { "com.microsoft.QMoE 1 f[2,4] f[2,4] u[4,8,2] f[4,8] - u[4,4,4] f[4,4] - expert_weight_bits=3",
    "weights of 3 bits, expected 2, 4 or 8" },
  { "com.microsoft.QMoE 1 f[2,4] f[2,4] u[4,8,2] f[4,8] - u[4,4,4] f[4,4] -", "[2,4]" },
  { "com.microsoft.Inverse 1 f{0,2,4,1:2,2}", "=-0.125,0.25,0.5,0" },
  { "com.microsoft.Inverse 1 f[2,3]", "the input must hold square matrices in its last two axes" },
  { "com.microsoft.CDist 1 f[2,3] f[4,2]", "the inputs must be matrices with the same number of columns" },
  { "com.microsoft.MatMulBnb4 1 f{1,2,3,4:2,2} u{53,117} f{2} K=2 N=2 block_size=16 quant_type=0 transB=0", "=3,3,8,7" },
  { "com.microsoft.MatMulBnb4 1 f[2,4] u[8] f[1] K=4 N=4 block_size=16 quant_type=2", "attribute 'quant_type' is 2" },
  { "Crop 1 f[1,3,5,5] border=[1,3,1,3]", "the cropped part exceeds the 5 elements of axis 2" },
  { "ImageScaler 1 f[1,3,5,5] bias=[1.0]", "attribute 'bias' has 1 entries, but the input has 3 channels" },
  /* recurrent */
  { "RNN 14 f[1,1,2] f[1,2,2] f[1,2,2] hidden_size=2 activations=['ScaledTanh']", "attribute 'alpha' is missing" },
  { "LSTM 14 f[4,2,5] f[1,12,5] f[1,12,3] hidden_size=3", "[4,1,2,3]" },
  { "LSTM 14 f[2,4,5] f[2,12,5] f[2,12,3] layout=1 direction='bidirectional'", "[2,4,2,3]" },
  { "GRU 14 f[4,5] f[1,9,5] f[1,9,3]", "input 0 has rank 2, expected 3" },
  { "GRU 14 f[4,2,5] f[1,9,5] f[1,9,3] hidden_size=0", "attribute 'hidden_size' is 0, expected at least 1" },
  { "GRU 14 f[4,2,5] f[1,9,5] f[1,9,3] hidden_size=2147483648", "attribute 'hidden_size' is 2147483648, but 'R' has 3 columns" },
  { "RNN 14 f[4,2,5] f[1,3,5] f[1,3,3] activations=['Sine']", "the activation 'Sine' is not supported" },
  { "RNN 14 f[4,2,5] f[1,3,5] f[1,3,3] activations=['Relu','Relu']", "attribute 'activations' has 2 entries, expected 1" },
  { "RNN 14 f[4,2,5] f[1,3,5] f[1,3,3] direction='bidirectional'", "input 'W' has shape [1,3,5], expected [2,3,5]" },
  { "RNN 14 f[1000000,1,1] f[1,1,1] f[1,1,1]", "--max-unroll" },
  /* attention: types and shapes that differ between its inputs */
  { "Attention 23 f{0,0:1,1,1,2} f{1,2,3,4:1,1,2,2} d{1,2,3,4:1,1,2,2}", "=2,3" },
  { "Attention 23 d{0,0:1,1,1,2} d{1,2,3,4:1,1,2,2} h{1,2,3,4:1,1,2,2}", "=2,3" },
  { "Attention 23 h{0,0:1,1,1,2} h{1,2,3,4:1,1,2,2} f{1,2,3,4:1,1,2,2} d{0,-inf}", "=1,2" },
  { "Attention 23 f{1,0:1,1,1,2} f{9,0,9,0:1,1,2,2} f{1,2,3,4:1,1,2,2} softcap=-1.0 scale=1.0 qk_matmul_output_mode=1 >4",
    "=9,9" },
  { "Attention 23 f[2,3,4,8] f[2,3,6,8] f[2,3,6,8] f[1,2,3,4,6]", "the shape of the mask does not broadcast to [2,3,4,6]" },
  { "Attention 23 f[2,3,4,8] f[2,3,6,8] f[2,3,6,8] b[2,3,4] is_causal=1",
    "the shape of the mask does not broadcast to [2,3,4,6]" },
  { "Attention 23 f[2,3,4,8] f[2,3,6,8] f[2,3,6,8] f[3,4] is_causal=1", "the shape of the mask does not broadcast to [2,3,4,6]" },
  { "com.microsoft.MultiHeadAttention 1 f[2,4,6] f[2,5,6] f[2,5,6] - i[2,5] f[3,4,5] num_heads=2",
    "the shape of the bias does not broadcast to [2,2,4,5]" },
  { "com.microsoft.GroupQueryAttention 1 f[2,1,8] f[2,0,4] f[2,0,4] f[2,1,6,4] f[2,1,6,4] i[2] i{7} num_heads=2 kv_num_heads=1",
    "keys and values must have 2 sequences and at least one step, found 2 and 0" },
  { "com.microsoft.GroupQueryAttention 1 f[2,1,8] f[2,1,4] f[2,1,4] f[2,1,6,4] f[2,1,9,4] i[2] i{7} num_heads=2 kv_num_heads=1",
    "the past keys and values differ in length" },
  /* the graph's constructors check what builders do not, and the error names the node */
  { "com.microsoft.MatMulBnb4 1 f[2,4] i[8] f[1] K=4 N=4 block_size=16 quant_type=1", "input 1, 'x1', is i64, expected u8" },
  { "com.microsoft.QMoE 1 f[2,4] f[2,4] i[4,8,2] f[4,8] - u[4,4,4] f[4,4] -",
    "its inputs do not fit together: an operand is u8, expected i64" },
  /* windows */
  { "Conv 11 f[1,4,5,5] f[6,2,3,3] group=2", "[1,6,3,3]" },
  { "Conv 11 f[1,4,5,5] f[6,2,3,3] group=0", "attribute 'group' is 0, expected at least 1" },
  { "Conv 11 f[1,4,5,5] f[6,2,3,3] group=3", "attribute 'group' is 3, which does not divide 4 channels" },
  { "Conv 11 f[1,4,5,5] f[6,2,3,3]", "the weights have 2 channels in 1 groups, but the input has 4" },
  { "Conv 11 f[1,4,5,5] f[6,4,3,3] strides=[0,1]", "attribute 'strides' is 0, expected at least 1" },
  { "Conv 11 f[1,4,5,5] f[6,4,3,3] dilations=[1,0]", "attribute 'dilations' is 0, expected at least 1" },
  { "Conv 11 f[1,4,5,5] f[6,4,3]", "the weights have rank 3, but the input has rank 4" },
  { "Conv 11 f[1,4,5,5] f[6,4,7,3]", "the kernel covers 7 elements on spatial axis 0, but the padded input has 5" },
  { "Conv 11 f[1,4,5,5] f[6,4,3,3] pads=[4611686018427387904,0,0,0]", "attribute 'pads' has the entry 4611686018427387904" },
  { "Conv 11 f[1,4,5,5] f[6,4,3,3] pads=[1,1]", "attribute 'pads' has 2 entries, expected 4" },
  { "Conv 11 f[1,4,5,5] f[6,4,3,3] auto_pad='SAME'", "attribute 'auto_pad' is 'SAME', expected one of NOTSET" },
  { "Conv 11 f[1,4,6,5] f[6,4,3,3] auto_pad='SAME_UPPER' strides=[2,2]", "[1,6,3,3]" },
  { "Conv 11 f[1,4,5,5] f[6,4,3,3] f[5]", "the bias must be a vector of 6 elements" },
  { "Conv 11 f[4] f[6,4,3,3]", "the input has rank 1, expected at least 3" },
  { "ConvTranspose 11 f[1,4,5,5] f[4,3,3,3] group=2 strides=[2,2] pads=[1,1,1,1] output_padding=[1,1]", "[1,6,10,10]" },
  { "ConvTranspose 11 f[1,4,5,5] f[4,3,2,2] dilations=[2,3] strides=[3,1]", "[1,3,15,8]" },
  { "ConvTranspose 11 f[1,4,5,5] f[3,3,3,3]", "the weights have 3 channels in 1 groups, but the input has 4" },
  { "MaxPool 12 f[1,2,5,5] kernel_shape=[2,2] strides=[2,2] ceil_mode=1", "[1,2,3,3]" },
  { "MaxPool 12 f[1,2,5,5] kernel_shape=[0,2]", "attribute 'kernel_shape' is 0, expected at least 1" },
  { "MaxPool 12 f[1,2,5,5] kernel_shape=[2,2] pads=[2,2,2,2]",
    "the padding on spatial axis 0 is 2 and 2, expected less than the 2 elements that a window covers" },
  { "MaxPool 12 f{0,5,5,0:1,1,2,2} kernel_shape=[2,2] >2", "=1" },
  { "MaxPool 12 f{0,5,5,0:1,1,2,2} kernel_shape=[2,2] storage_order=1 >2", "=2" },
  { "MaxPool 12 f{0,7,7,0,0,7,7,7,7,0,1,7:1,2,2,3} kernel_shape=[2,2] storage_order=1 >2", "=2,2,6,8" },
  { "MaxPool 12 f{1,7,7,7,7,7,7,7:1,1,2,2,2} kernel_shape=[2,2,2] storage_order=1 >2", "=4" },
  { "MaxPool 12 f{4,5,6:1,1,3} kernel_shape=[2] dilations=[3] strides=[2] ceil_mode=1", "[1,1,1]" },
  { "MaxPool 12 f{4,5,6:1,1,3} kernel_shape=[2] dilations=[3] strides=[2] ceil_mode=1 >2", "=0" },
  { "MaxPool 12 f{4,5:1,1,2} kernel_shape=[2] dilations=[3] pads=[2,2] >2", "=1,-1,0" },
  { "AveragePool 19 f{4,5,6:1,1,3} kernel_shape=[2] dilations=[3] strides=[2] ceil_mode=1", "=4" },
  { "MaxPool 12 f[1,1,3] kernel_shape=[2] dilations=[3] strides=[1] ceil_mode=1",
    "the kernel covers 4 elements on spatial axis 0, but the padded input has 3" },
  { "AveragePool 12 f[1,2,5,5] kernel_shape=[3,3] pads=[1,1,1,1]", "[1,2,5,5]" },
  /* movement */
  { "Reshape 14 f[2,3] i{3,-1}", "[3,2]" },
  { "Reshape 14 f[2,3] i{0,0}", "[2,3]" },
  { "Reshape 14 f[2,3] i{-1,-1}", "entries 0 and 1 of the shape are both -1" },
  { "Reshape 14 f[2,3] i{-5}", "entry 0 of the shape is -5" },
  { "Reshape 14 f[2,3] i{7}", "the input has 6 elements, but the shape's entries multiply to 7" },
  { "Reshape 14 f[0,3] i{0,-1} allowzero=1", "0 elements cannot fill the shape's -1" },
  { "Reshape 14 f[2,3] i{4611686018427387904,8}", "the shape [4611686018427387904,8] has too many elements" },
  { "Reshape 14 f[2,3] i[2]", "input 'shape' must be constant, but it depends on input 'x" },
  { "Reshape 1 f[2,3] shape=[6]", "[6]" },
  { "Transpose 13 f[2,3] perm=[0,0]", "axis 0 is named twice" },
  { "Transpose 13 f[2,3] perm=[0,2]", "axis 2 is outside a tensor of rank 2" },
  { "Squeeze 13 f[1,3] i{1}", "axis 1 has extent 3, not 1" },
  { "Squeeze 11 f[1,3,1] axes=[0]", "[3,1]" },
  { "Unsqueeze 13 f[3] i{0,0}", "axis 0 is named twice" },
  { "Concat 13 f[2,3] f[2,4] axis=1", "[2,7]" },
  { "Concat 1 f[2,3] f[2,4]", "[2,7]" },
  { "Cast 1 f{1.5,-2.5} to='INT32'", "=1,-2" },
  { "Cast 5 f[2] to='number'", "attribute 'to' is 'number', which is not the name of a type" },
  { "Split 1 f[2,6] axis=1 split=[2,4] >2", "[2,2]" },
  { "Split 1 f[2,6] i{1,5} axis=1 >2", "[2,1]" },
  { "Tile 1 f{1,2,3,4:2,2} f{3} f{1}", "=1,2,1,2,1,2,3,4,3,4,3,4" },
  { "Tile 1 f[2,2] i{3} i{2}", "axis 2 is outside a tensor of rank 2" },
  { "LSTM 1 f[4,2,5] f[1,12,5] f[1,12,3] hidden_size=3 output_sequence=1", "[4,1,2,3]" },
  { "Concat 13 f[2,3] f[3,3] axis=1", "input 1 has extent 3 on axis 0, but input 0 has 2" },
  { "Concat 13 f[2,3] f[2] axis=1", "input 1 has rank 1, but input 0 has rank 2" },
  { "Flatten 13 f[2,3,4] axis=3", "[24,1]" },
  { "Flatten 13 f[2,3,4] axis=4", "axis 4 is outside a tensor of rank 3" },
  { "Slice 13 f[10] i{0} i{10} i{0} i{0}", "the step of axis 0 is 0" },
  { "Slice 13 f[10] i{9223372036854775807} i{-9223372036854775808} i{0} i{-3}", "[4]" },
  { "Slice 13 f[10] i{-9223372036854775808} i{9223372036854775807} i{0} i{4}", "[3]" },
  { "Slice 13 f[0] i{-1} i{-9223372036854775808} i{0} i{-1}", "[0]" },
  { "Slice 13 f[10,4] i{0,0} i{1,1} i{0,0}", "axis 0 is named twice" },
  { "Slice 9 f[10,4] starts=[1] ends=[-1] axes=[1]", "[10,2]" },
  { "Pad 13 f[3] i{4611686018427387904,0}", "the padding on axis 0" },
  { "Unique 11 i{5,3,5,1}", "[3]" },
  { "Unique 11 f[2,0] axis=0", "the input is empty" },
  { "Unique 11 f[4]", "reserve N rows with --capacity N" },
  { "Unique 11 f[4] axis=1", "axis 1 is outside a tensor of rank 1" },
  { "Unique 11 f[100000] axis=0", "finding equal elements among 100000 takes more than 2^32 comparisons" },
  { "OptionalHasElement 18 f[2]", "[]" },
  { "OptionalGetElement 18 f[2]", "[2]" },
  { "Pad 13 f[3] i{-2,-2}", "the padding on axis 0 is -2 and -2 around 3 elements" },
  { "Pad 13 f[3] i{4,-1} mode='reflect'", "[6]" },
  { "Pad 13 f[0] i{1,1} mode='wrap'", "axis 0 is empty and cannot be extended" },
  { "Tile 13 f[2,3] i{1000000000,1000000000}", "the result has more than 2^40 elements" },
  { "Tile 13 f[2,3] i{-1,1}", "entry 0 of input 'repeats' is -1, which is negative or too large" },
  { "Expand 13 f[2,1] i{3,2,5}", "[3,2,5]" },
  { "Expand 13 f[2,3] i{2,4}", "shape [2,3] does not broadcast to [2,4]" },
  { "Expand 13 f[1] i{1099511627777}", "outside 0 to 2^40" },
  { "ConstantOfShape 9 i{134217728}", "[134217728]" },
  { "ConstantOfShape 9 i{-1}", "the result's extent -1 on axis 0" },
  { "Range 11 i{0} i{10} i{0}", "has no end" },
  { "Range 11 i{0} i{10} i{3}", "[4]" },
  { "Range 11 f{0} f{10} f{nan}", "has no end" },
  { "Range 11 i{10} i{0} i{1}", "[0]" },
  { "OneHot 11 i[3] i{300000000000} f{0,1}", "[3,300000000000]" },
  { "OneHot 11 i[3] i{10000000000000} f{0,1}", "input 'depth' must be one number from 0 to 2^40" },
  { "EyeLike 9 f[65537,65536]", "[65537,65536]" },
  { "Gather 13 f[3,4] i{-4}", "index -4 is out of range for an axis of extent 3" },
  { "Gather 13 f[3,4] i[2,2] axis=1", "[3,2,2]" },
  { "Gather 13 f[0,4] i[2]", "the indexed axis is empty" },
  { "Gather 13 f[3,4] i{1} axis=2", "axis 2 is outside a tensor of rank 2" },
  { "GatherElements 13 f[3,4] i[2,5]", "the indices have extent 5 on axis 1, but the data has 4" },
  { "GatherND 13 f[2,3] i{2,0}", "index 2 is outside axis 0 of extent 2" },
  { "GatherND 13 f[2,3,4] i[3,2] batch_dims=1", "batch axis 0 has extents 2 and 3" },
  { "ScatterND 11 f[3] i[1,1] f[1]", "[3]" },
  { "Split 13 f[10] i{3,6} >2", "the parts have 9 elements, but axis 0 has 10" },
  { "Split 13 f[10] i{3,8} >2", "part 1 has extent 8, expected 0 to 7, the rest of the axis" },
  { "Split 18 f[10] num_outputs=0 >2", "attribute 'num_outputs' is 0, expected at least 1" },
  { "Split 18 f[10] num_outputs=3 >3", "[4]" },
  { "Split 11 f[10] >3", "an axis of 10 elements does not split into 3 equal parts" },
  { "DepthToSpace 13 f[1,8,2,2] blocksize=0", "attribute 'blocksize' is 0, expected at least 1" },
  { "DepthToSpace 13 f[1,8,2,2] blocksize=4294967296", "attribute 'blocksize' is 4294967296" },
  { "DepthToSpace 13 f[1,8,2,2] blocksize=2", "[1,2,4,4]" },
  { "Resize 13 f[1,1,2,2] - f{1,1,2,2}", "[1,1,4,4]" },
  { "Resize 13 f[1,1,2,2] - f{1,1,2,2} i{1,1,4,4}", "exactly one of the inputs 'scales' and 'sizes' must be given" },
  { "Resize 13 f[1,1,2,2] - f{1,1,0,2}", "entry 2 of the scales is 0" },
  { "Resize 13 f[1,1,2,2] - f{1,1,nan,2}", "entry 2 of the scales is nan" },
  { "Resize 13 f[1,1,2,2] - f{1,1,2}", "input 'scales' has 3 entries for 4 axes" },
  { "Upsample 9 f[1,1,2,2] f{1,1,2,3} mode='linear'", "[1,1,4,6]" },
  { "Upsample 10 f[1,1,2,2] f{1,1,2,3}", "operator 'Upsample' is not supported in opset 10; inputs: float[1,1,2,2], float[4]" },
  /* reductions */
  { "ReduceSum 13 f[2,3] i{1} keepdims=0", "[2]" },
  { "ReduceMean 11 f[2,3] axes=[-1]", "[2,1]" },
  { "ReduceMax 18 f[2,3] i{2}", "axis 2 is outside a tensor of rank 2" },
  { "ReduceMax 13 f[0,3] axes=[0]", "[1,3]" },
  { "ArgMax 13 f[0,3]", "axis 0 of the input is empty" },
  { "Softmax 13 f[2,3] axis=2", "axis 2 is outside a tensor of rank 2" },
  { "Softmax 11 f[2,3,4] axis=1", "[2,3,4]" },
  { "LRN 13 f[1,3,2,2] size=0", "attribute 'size' is 0, expected at least 1" },
  { "LRN 13 f[1,3,2,2] size=2", "[1,3,2,2]" },
  { "LayerNormalization 17 f[2,3] f[3] axis=5", "axis 5 is outside a tensor of rank 2" },
  { "BatchNormalization 15 f[1,3,2] f[3] f[3] f[2] f[3]", "input 'mean' must be a vector of 3 elements, one for each channel" },
  { "BatchNormalization 15 f[1,3,2] f[3] f[3] f[3] f[3] training_mode=1", "[1,3,2]" },
  /* products */
  { "MatMul 13 f[2,3] f[3,4]", "[2,4]" },
  { "MatMul 13 f[5,1,2,3] f[7,3,4]", "[5,7,2,4]" },
  { "MatMul 13 f[3] f[3]", "[]" },
  { "MatMul 13 f[] f[3]", "the first factor is a scalar" },
  { "MatMul 13 f[2,3] f[4,2]", "the rows of the first matrix have 3 elements, the columns of the second 4" },
  { "MatMul 13 f[2,2,3] f[5,3,2]", "batch axes of extents 2 and 5 do not broadcast" },
  { "Gemm 13 f[3,2] f[4,3] f[4] transA=1 transB=1", "[2,4]" },
  { "Gemm 13 f[3] f[4,3]", "input 0 has rank 1, expected 2" },
  { "Gemm 13 f[2,3] f[3,4] f[3]", "shape [3] does not broadcast to [2,4]" },
  { "Einsum 12 f[2,3] f[3,4] equation='ij,jk->ki'", "[4,2]" },
  { "Einsum 12 f[2,5,3] f[5,3,4] equation='...ij,...jk'", "axis '0' of the equation has extents 2 and 5" },
  { "Einsum 12 f[2,3,3] equation='bii->bi'", "[2,3]" },
  { "Einsum 12 f[2,3] equation='ij,jk->ik'", "the equation needs one term for each input; number of inputs of the node: 1" },
  { "Einsum 12 f[2,3] equation='ij->iz'", "axis 'z' of the result is in no term" },
  { "Einsum 12 f[2,3] equation='i$->i'", "the equation has the character '$'" },
  { "QuantizeLinear 13 f[2,3] f[3] u[3]", "[2,3]" },
  { "QuantizeLinear 13 f[2,3] f[2]", "input 1 must be a vector of 3 elements, as many as axis 1 has" },
  /* NaN passes through every activation, Max, Min and Clip, whichever side it is on */
  { "Relu 14 f{nan,-1,2}", "=nan,0,2" },
  { "LeakyRelu 16 f{nan,-1,2} alpha=0.5", "=nan,-0.5,2" },
  { "PRelu 16 f{nan,-1,2} f{0.5}", "=nan,-0.5,2" },
  { "Elu 6 f{nan,0,2}", "=nan,0,2" },
  { "Selu 6 f{nan,0}", "=nan,0" },
  { "Celu 12 f{nan,0,2}", "=nan,0,2" },
  { "Sigmoid 13 f{nan,0,200,-200}", "=nan,0.5,1,0" },
  { "HardSigmoid 6 f{nan,9,-9}", "=nan,1,0" },
  { "HardSwish 14 f{nan,3,-3}", "=nan,3,-0" },
  { "Softplus 1 f{nan,100,-200}", "=nan,100,0" },
  { "Softsign 1 f{nan,1}", "=nan,0.5" },
  { "Mish 18 f{nan,100}", "=nan,100" },
  { "Gelu 20 f{nan,0}", "=nan,0" },
  { "Gelu 20 f{nan,0} approximate='tanh'", "=nan,0" },
  { "Swish 24 f{nan,0,100,-200}", "=nan,0,100,-0" },
  { "Shrink 9 f{nan,-2,0.1,2} bias=0.5", "=nan,-1.5,0,1.5" },
  { "ThresholdedRelu 10 f{nan,0.5,2}", "=nan,0,2" },
  { "Max 13 f{nan,1,3} f{0,nan,2}", "=nan,nan,3" },
  { "Min 13 f{nan,1,3} f{0,nan,2}", "=nan,nan,2" },
  { "Max 13 h{nan,1} h{0,nan}", "=nan,nan" },
  { "Clip 13 f{nan,-5,5} f{-1} f{1}", "=nan,-1,1" },
  { "Clip 13 f{0} f{3} f{1}", "=1" },
  { "Clip 13 f{0} f{nan} f{1}", "=nan" },
  { "Sign 13 f{nan,-0.0,5,-5}", "=nan,-0,1,-1" },
  { "ReduceMax 13 f{nan,1,2}", "=nan" },
  { "ReduceMin 13 f{1,2,nan}", "=nan" },
  { "ArgMax 13 f{1,nan,3,nan}", "=1" },
  { "ArgMax 13 f{1,nan,3,nan} select_last_index=1", "=3" },
  { "ArgMin 13 f{2,1,1}", "=1" },
  { "TopK 11 f{1,nan,3,3} i{3} >2", "=1,2,3" },
  { "TopK 11 f{1,nan,3,3} i{4} largest=0 >2", "=0,2,3,1" },
  { "TopK 11 f{-1,-0,0,-inf,nan,3,-2,nan,3,-0,1,2} i{3} >2", "=4,7,5" },
  { "TopK 11 f{-1,-0,0,-3,-inf,nan,-2,4,5,6,7,8} i{3} largest=0 >2", "=4,3,6" },
  { "TopK 11 f{-0,0,-1,-0,-5,-6,-7,-8} i{2} >2", "=0,1" },
  { "TopK 11 i{-2147483648,5,5,-1,2,3,4,0} i{2} >2", "=1,2" },
  { "TopK 11 j{-2147483648,5,5,-1,2,3,4,2147483647} i{2} >2", "=7,1" },
  { "TopK 11 w{0,4294967295,1,2147483648,2147483647,4294967295,2,3} i{2} >2", "=1,5" },
  { "TopK 11 w{9,4294967295,1,2147483648,2147483647,0,2,3} i{2} largest=0 >2", "=5,2" },
  { "Softmax 13 f{-inf,-inf}", "=nan,nan" },
  { "Softmax 13 f{1000,1000}", "=0.5,0.5" },
  { "ReduceLogSumExp 13 f{1000,1000}", "=1000.69" },
  { "ReduceLogSumExp 13 f{-inf,-inf}", "=-inf" },
  /* conversions, and integers at their limits */
  { "Cast 13 f{nan,300,-300,2.7,-2.7} to=3", "=0,127,-128,2,-2" },
  { "Cast 13 f{nan,0,0.5} to=9", "=1,0,1" },
  { "Cast 13 i{200,-1} to=3", "=-56,-1" },
  { "Cast 13 f{65519,65520,1e-8} to=10", "=65504,inf,0" },
  { "Div 14 i{7,-7,7,-7} i{2,2,-2,-2}", "=3,-3,-3,3" },
  { "Mod 13 i{7,-7,7,-7} i{3,3,-3,-3}", "=1,2,-2,-1" },
  { "Mod 13 i{7,-7,7,-7} i{3,3,-3,-3} fmod=1", "=1,-1,1,-1" },
  { "Mod 13 f{7.5,-7.5,7.5} f{2,2,-2} fmod=1", "=1.5,-1.5,1.5" },
  { "Mod 28 f{7.5,-7.5,7.5,-7.5} f{2,2,-2,-2}", "=1.5,0.5,-0.5,-1.5" },
  { "Div 14 j{-2147483648} j{-1}", "=-2147483648" },
  { "Mod 13 j{-2147483648} j{-1}", "=0" },
  { "BitShift 11 u{255,255} u{4,8} direction='RIGHT'", "=15,0" },
  { "BitShift 11 u{255,255} u{4,8} direction='LEFT'", "=240,0" },
  { "Pow 15 j{2,3,-2} f{3,0.5,3}", "=8,1,-8" },
  { "Pow 15 f{-8,2,3} f{3}", "=-512,8,27" },
  { "Round 11 f{0.5,1.5,2.5,-0.5,-1.5}", "=0,2,2,-0,-2" },
  { "QuantizeLinear 13 f{0.5,1.5,2.5,-1,300} f{1} u{0}", "=0,2,2,0,255" },
  { "QuantizeLinear 13 f{-127.5} f{1} c{0}", "=-128" },
  { "DequantizeLinear 13 u{0,255} f{0.5} u{128}", "=-64,63.5" },
  { "IsInf 10 f{inf,-inf,nan} detect_negative=0", "=1,0,0" },
  /* sums: nothing, wide values, large means */
  { "ReduceSum 13 f{:0,2} i{0} keepdims=0", "=0,0" },
  { "ReduceProd 18 f{:0,2} i{0} keepdims=0", "=1,1" },
  { "ReduceMax 18 f{:0,2} i{0} keepdims=0", "=-inf,-inf" },
  { "ReduceMean 18 f{:0,2} i{0} keepdims=0", "=nan,nan" },
  { "ReduceMax 18 c{:0} keepdims=0", "=-128" },
  { "ReduceMax 20 b{0,0,1,0:2,2} i{1} keepdims=0", "=0,1" },
  { "ReduceMin 20 b{1,1,1,0:2,2} i{1} keepdims=0", "=1,0" },
  { "ReduceMean 18 h{60000,60000,60000,60000} keepdims=0", "=60000" },
  { "ReduceSum 13 f{1,2,3} noop_with_empty_axes=1", "=1,2,3" },
  { "LayerNormalization 17 f{40000,40001,40002,40003} f{1,1,1,1}", "=-1.34164,-0.447212,0.447212,1.34164" },
  { "LayerNormalization 17 h{8000,-8000} h{1,1}", "=1,-1" },
  { "CumSum 14 f{1,2,3} i{0} exclusive=1 reverse=1", "=5,3,0" },
  { "MatMul 13 h{300,300:1,2} h{300,-300:2,1}", "=0" },
  /* windows at the border: ceil_mode, excluded padding, lowest values, dilation */
  { "MaxPool 12 f{-1,-2,-3:1,1,3} kernel_shape=[2] pads=[1,1]", "=-1,-1,-2,-3" },
  { "MaxPool 12 c{-128,-3:1,1,2} kernel_shape=[2] pads=[1,0]", "=-128,-3" },
  { "MaxPool 12 f{1,nan,3,4:1,1,4} kernel_shape=[2]", "=nan,nan,4" },
  { "MaxPool 12 f{1,5,5,4:1,1,4} kernel_shape=[3] >2", "=1,1" },
  { "MaxPool 12 f{1,2,3,4,5:1,1,5} kernel_shape=[2] dilations=[3]", "=4,5" },
  { "AveragePool 11 f{2,4,6:1,1,3} kernel_shape=[2] pads=[1,1]", "=2,3,5,6" },
  { "AveragePool 11 f{2,4,6:1,1,3} kernel_shape=[2] pads=[1,1] count_include_pad=1", "=1,3,5,3" },
  { "AveragePool 19 f{2,4,6:1,1,3} kernel_shape=[2] strides=[2] ceil_mode=1", "=3,6" },
  { "AveragePool 19 f{2,4,6:1,1,3} kernel_shape=[2] strides=[2] ceil_mode=1 count_include_pad=1", "=3,6" },
  { "Conv 11 f{1,2,3,4:1,1,4} f{1,10:1,1,2} auto_pad='SAME_LOWER' strides=[1]", "=10,21,32,43" },
  { "Conv 11 f{1,2,3,4:1,1,4} f{1,10:1,1,2} auto_pad='SAME_UPPER' strides=[1]", "=21,32,43,4" },
  { "ConvTranspose 11 f{1,2:1,1,2} f{1,10,100:1,1,3} strides=[2]", "=1,10,102,20,200" },
  { "ConvTranspose 11 f{1,2:1,1,2} f{1,10,100:1,1,3} strides=[2] output_padding=[1]", "=1,10,102,20,200,0" },
  { "ConvTranspose 11 f{1,2:1,1,2} f{1,10,100:1,1,3} strides=[2] output_shape=[4]", "=10,102,20,200" },
  { "ConvTranspose 11 f{1,2:1,1,2} f{1,10,100:1,1,3} strides=[2] auto_pad='SAME_UPPER'", "=1,10,102,20" },
  { "ConvTranspose 11 f{1,2:1,1,2} f{1,10:1,1,2} dilations=[3] strides=[2]", "=1,0,2,10,0,20" },
  { "ConvTranspose 11 f{1,2:1,1,2} f{1,10,100,1000:1,1,4} strides=[3] pads=[1,1]", "=10,100,1002,20,200" },
  { "ConvTranspose 11 f{3:1,1,1} f{1,10,100:1,1,3} strides=[2] pads=[1,0]", "=30,300" },
  { "ConvTranspose 11 f{3,5:1,1,2} f{1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2,1,2:1,16,2} strides=[2] "
    "pads=[1,1]",
    "=6,5,6,5,6,5,6,5,6,5,6,5,6,5,6,5,6,5,6,5,6,5,6,5,6,5,6,5,6,5,6,5" },
  { "LRN 13 f{1,2,3:1,3,1} size=3 alpha=3.0 beta=0.5 bias=0.0", "=0.447214,0.534522,0.83205" },
  /* movement of values */
  { "Slice 13 f{0,1,2,3,4} i{-1} i{-100} i{0} i{-2}", "=4,2,0" },
  { "Slice 13 f{0,1,2,3,4} i{-100} i{-100} i{0} i{-1}", "=0" },
  { "Pad 13 f{1,2,3} i{2,1} mode='reflect'", "=3,2,1,2,3,2" },
  { "Pad 19 f{1,2,3} i{2,1} mode='wrap'", "=2,3,1,2,3,1" },
  { "Pad 19 f{1,2,3,4} i{-1,3} mode='wrap'", "=2,3,4,2,3,4" },
  { "Pad 19 f{1,2,3,4} i{3,-1} mode='wrap'", "=1,2,3,1,2,3" },
  { "Pad 13 f{1,2,3} i{-1,2} f{9}", "=2,3,9,9" },
  { "Gather 13 f{1,2,3} i{-1,0}", "=3,1" },
  { "OneHot 11 i{-1,5,1} i{3} f{0,1}", "=0,0,1,0,0,0,0,1,0" },
  { "Tile 13 f{1,2} i{2}", "=1,2,1,2" },
  { "Range 11 f{0} f{1} f{0.4}", "=0,0.4,0.8" },
  { "Range 11 i{10} i{0} i{-4}", "=10,6,2" },
  { "Trilu 14 f{1,2,3,4:2,2} upper=0", "=1,0,3,4" },
  { "ScatterND 13 f{1,2,3} i{0,0:2,1} f{7,8}", "=8,2,3" },
  { "Resize 13 f{1,2:1,1,1,2} - - i{1,1,1,4} mode='linear'", "=1,1.25,1.75,2" },
  { "Resize 13 f{1,2,3,4:1,1,1,4} - f{1,1,1,0.5}", "=1,3" },
  { "Upsample 9 f{1,2:1,1,1,2} f{1,1,1,2}", "=1,1,2,2" },
  { "Softmax 11 f{0,0,0,0:2,2} axis=0", "=0.25,0.25,0.25,0.25" },
  { "Shape 15 f[2,3,4] start=-2", "=3,4" },
  /* lookup */
  { "Frobnicate 13 f[2] i{1}", "operator 'Frobnicate' of 'ai.onnx' is not supported; inputs: float[2], int64[]" },
  { "Relu 99 f[2]", "opset 99 is newer than" },
  { "Add 14 f[1,1,1,1,1,1,1,1,1] f[1]", "input 'x0' has rank 9, over the limit of 8" },
};

/* ---- the little language ---- */
static DType type_of(char letter) {
  static const char letters[] = "fhdijwcub";
  static const DType types[] = { DT_F32, DT_F16, DT_F64, DT_I64, DT_I32, DT_U32, DT_I8, DT_U8, DT_BOOL };
  return types[strchr(letters, letter) - letters];
}

/* "1,2,3,4:2,2" or "1,2": a vector, or a scalar when there is one number */
static const Tensor *constant(Ctx *c, char letter, char *list) {
  Tensor *t = ARENA_NEW(&c->model, Tensor, 1);
  char *data = arena_alloc(&c->model, 256), *shape = strchr(list, ':');
  t->dt = type_of(letter);
  if (shape) *shape++ = 0;
  for (char *s = strtok(list, ","); s; s = strtok(NULL, ",")) {
    int64_t bits = dt_float(t->dt) ? double_to_bits(t->dt, strtod(s, NULL)) : strtoll(s, NULL, 10);
    memcpy(data + t->elems++ * dt_bytes(t->dt), &bits, (size_t)dt_bytes(t->dt));
  }
  for (char *s = shape ? strtok(shape, ",") : NULL; s; s = strtok(NULL, ",")) t->dims[t->rank++] = strtoll(s, NULL, 10);
  if (!shape && t->elems > 1) t->dims[t->rank++] = t->elems;
  t->data = data;
  return t;
}

static OnnxType fed(Ctx *c, char letter, char *list) {
  OnnxDim *d = ARENA_NEW(&c->model, OnnxDim, 16);
  OnnxType t = { .kind = ON_TENSOR, .elem = dtype_info[type_of(letter)].onnx, .dims = d };
  for (char *s = strtok(list, ","); s; s = strtok(NULL, ",")) d[t.rank++].value = strtoll(s, NULL, 10);
  return t;
}

static OnnxAttr attribute(Ctx *c, char *word) {
  char *eq = strchr(word, '='), *v = eq + 1;
  OnnxAttr a = { .name = arena_str(&c->model, word, (size_t)(eq - word)), .n = 1 };
  if (*v == '\'' || v[1] == '\'') {
    Bytes *s = ARENA_NEW(&c->model, Bytes, 4);
    a.kind = *v == '[' ? AT_STRINGS : AT_STRING;
    a.n = 0;
    for (char *q = strchr(v, '\''), *end; q; q = strchr(end + 1, '\'')) {
      end = strchr(q + 1, '\'');
      s[a.n].n = (size_t)(end - q) - 1;
      s[a.n].p = (const uint8_t *)arena_str(&c->model, q + 1, s[a.n].n);
      a.n++;
    }
    a.u.strings = s;
  } else if (strchr(v, '.')) {
    float *f = ARENA_NEW(&c->model, float, 16);
    char *s = v + (*v == '[');
    a.kind = *v == '[' ? AT_FLOATS : AT_FLOAT;
    a.n = 0;
    for (; *s && *s != ']'; s += *s == ',') f[a.n++] = strtof(s, &s);
    a.u.floats = f;
  } else {
    int64_t *ints = ARENA_NEW(&c->model, int64_t, 16);
    a.kind = *v == '[' ? AT_INTS : AT_INT;
    a.n = 0;
    for (char *s = v + (*v == '['); *s && *s != ']'; s += *s == ',') ints[a.n++] = strtoll(s, &s, 10);
    a.u.ints = ints;
  }
  return a;
}

typedef struct Job {
  const char *model;
  bool values;
  char result[512];
} Job;

static void print_values(IR *ir, Ref r, char *p) {
  Tensor t;
  if (!interp_const(ir, r, &t)) {
    sprintf(p, "not a constant");
    return;
  }
  for (int64_t i = 0; i < t.elems; i++) {
    uint64_t bits = (uint64_t)t.splat;
    if (t.data) {
      bits = 0;
      memcpy(&bits, (const char *)t.data + i * dt_bytes(t.dt), (size_t)dt_bytes(t.dt));
    }
    if (!dt_float(t.dt)) bits = dt_wrap(t.dt, bits);
    double v = bits_to_double(t.dt, (int64_t)bits);
    p += sprintf(p, isnan(v) ? "%snan" : dt_float(t.dt) ? "%s%g" : "%s%.0f", i ? "," : "=", v);
  }
}

static void build(Ctx *c, void *arg) {
  Job *job = arg;
  OnnxModel *m = ARENA_NEW(&c->model, OnnxModel, 1);
  OnnxNode *n = ARENA_NEW(&c->model, OnnxNode, 1);
  OnnxValue *values = ARENA_NEW(&c->model, OnnxValue, 32);
  OnnxId *in = ARENA_NEW(&c->model, OnnxId, 16), *out = ARENA_NEW(&c->model, OnnxId, 16),
         *fed_in = ARENA_NEW(&c->model, OnnxId, 16);
  OnnxAttr *attr = ARENA_NEW(&c->model, OnnxAttr, 16);
  char *rest = arena_str(&c->model, job->model, strlen(job->model)), *word;
  uint32_t nv = 1;
  n->op = strsep(&rest, " ");
  n->opset = atoi(strsep(&rest, " "));
  char *dot = strrchr(n->op, '.');
  n->domain = dot ? arena_str(&c->model, n->op, (size_t)(dot - n->op)) : "";
  n->op = dot ? dot + 1 : n->op;
  n->name = "";
  n->text = arena_printf(&c->model, "node 0 '' (%s, opset %d)", n->op, (int)n->opset);
  n->nout = 1;
  while ((word = strsep(&rest, " "))) {
    if (strchr(word, '=')) {
      attr[n->nattr++] = attribute(c, word);
    } else if (*word == '>') {
      n->nout = (uint32_t)atoi(word + 1);
    } else if (*word == '-') {
      in[n->nin++] = 0;
    } else {
      OnnxValue *v = &values[nv];
      char *list = arena_str(&c->model, word + 2, strlen(word) - 3);
      v->name = arena_printf(&c->model, "x%d", (int)nv - 1);
      if (word[1] == '{') v->init = constant(c, *word, list);
      else {
        v->type = fed(c, *word, list);
        fed_in[m->graph.nin++] = nv;
      }
      in[n->nin++] = nv++;
    }
  }
  for (uint32_t i = 0; i < n->nout; i++) {
    values[nv].name = "y";
    out[i] = nv++;
  }
  n->in = in;
  n->out = out;
  n->attr = attr;
  m->values.p = values;
  m->values.n = nv;
  m->graph.in = fed_in;
  m->graph.out = out;
  m->graph.nout = n->nout;
  m->graph.nodes = n;
  m->graph.nnodes = 1;
  m->graph.name = "test";
  Graph *g = onnx_build(c, m, NULL);
  ir_verify_graph(g);
  const GIO *y = &g->outputs.p[0];
  char *p = job->result;
  if (job->values) {
    print_values(g->ir, g->outputs.p[g->outputs.n - 1].ref, p);
    return;
  }
  p += sprintf(p, "[");
  for (int i = 0; i < y->rank; i++) p += sprintf(p, "%s%lld", i ? "," : "", (long long)y->dims[i]);
  sprintf(p, "]");
}

static void every_line(void **state) {
  int failed = 0;
  (void)state;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    Ctx c;
    char *message = NULL;
    size_t size = 0;
    Job job = { .model = lines[i].model, .values = *lines[i].expect == '=' };
    ctx_init(&c);
    c.err = open_memstream(&message, &size);
    int code = ctx_try(&c, build, &job);
    fclose(c.err);
    bool good = code ? code == EX_BADMODEL && *lines[i].expect != '[' && !job.values && strstr(message, lines[i].expect) != NULL
                     : !strcmp(job.result, lines[i].expect);
    if (!good) {
      print_message("# %s\n#   expected %s\n#   got %s%s\n", lines[i].model, lines[i].expect, job.result, message);
      failed++;
    }
    free(message);
    ctx_free(&c);
  }
  assert_int_equal(failed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(every_line) };
  return cmocka_run_group_tests_name("onnx_ops", tests, NULL, NULL);
}
