/* SPDX-License-Identifier: MIT */
/* optable.h: the ONNX operators that tgc reads. An operator has a row for each of its forms. Forms of an operator are valid in
 * different opset versions, and differ in inputs or attributes. The columns are:
 * - domain ("" is ai.onnx) and name of the operator
 * - first and last opset version of the form; the last version is OPSET_NOW if no later form has replaced this one
 * - least and greatest number of inputs, then of outputs; build.h defines ANY and SOME
 * - types of the inputs, and attributes; OpRow in build.h explains the letters
 * - the builder, which is a function that makes nodes of the graph, and an argument for the builder
 *
 * Rows are sorted by name, then by domain, then by opset version. For most old forms, the builder is an adapter (adapt.c). An
 * adapter turns the ONNX node into a node of the operator's newest form. If ONNX has replaced an operator by a new operator, the
 * adapter makes a node of the new operator. A file defines the macro OPROW before it includes this file.
 *
 * The macros below are lists of attributes that several rows have in common. */
#define OLD "consumed_inputs:I"
#define BROADCAST "axis:i broadcast:i=0 consumed_inputs:I"
#define SLIDE "auto_pad:s{NOTSET|SAME_UPPER|SAME_LOWER|VALID}=NOTSET strides:I>=1 dilations:I>=1 pads:I "
#define CONV SLIDE "kernel_shape:I>=1 group:i>=1=1"
#define POOL SLIDE "kernel_shape:I>=1! ceil_mode:i=0"
#define RECURRENT \
  "activation_alpha:F activation_beta:F activations:S clip:f direction:s{forward|reverse|bidirectional}=forward " \
  "hidden_size:i>=1 layout:i=0"
#define RESIZE \
  "mode:s{nearest|linear|cubic}=nearest antialias:i=0 axes:I cubic_coeff_a:f=-0.75 exclude_outside:i=0 extrapolation_value:f=0 " \
  "coordinate_transformation_mode:s{half_pixel|half_pixel_symmetric|pytorch_half_pixel|align_corners|asymmetric|" \
  "tf_half_pixel_for_nn|tf_crop_and_resize}=half_pixel keep_aspect_ratio_policy:s{stretch|not_larger|not_smaller}=stretch " \
  "nearest_mode:s{round_prefer_floor|round_prefer_ceil|floor|ceil}=round_prefer_floor"
#define TRANSFORM " post_transform:s{NONE|SOFTMAX|LOGISTIC|SOFTMAX_ZERO}=NONE"
#define TREES                                                                                                                    \
  "nodes_treeids:I nodes_nodeids:I nodes_featureids:I nodes_values:F nodes_values_as_tensor:t nodes_hitrates:F "                 \
  "nodes_hitrates_as_tensor:t "                                                                                                  \
  "nodes_modes:S! nodes_truenodeids:I nodes_falsenodeids:I nodes_missing_value_tracks_true:I base_values:F "                     \
  "base_values_as_tensor:t" TRANSFORM
#define SVM "kernel_type:s{LINEAR|POLY|RBF|SIGMOID}=LINEAR kernel_params:F support_vectors:F coefficients:F! rho:F!" TRANSFORM
#define EXPERTS \
  "k:i>=1=1 activation_type:s{relu|gelu|silu|swiglu|identity}=relu activation_alpha:f=1 activation_beta:f=0 normalize_routing_weights:i=0 " \
  "swiglu_fusion:i=0 swiglu_limit:f use_sparse_mixer:i=0"
#define DIFFUSION_NORM "groups:i>=1! activation:i>=0! channels_last:i=1 epsilon:f=1e-5"
#define LABELS                                                                                                                   \
  "default_string:s=_Unused default_int64:i=-1 default_float:f=-0 keys_strings:S keys_int64s:I keys_floats:F values_strings:S "  \
  "values_int64s:I values_floats:F"
/* clang-format off */
/*    domain, name,             since, until,        in,      out,    types,   attributes, builder, argument */
OPROW("", "Abs",                  1,  OPSET_NOW,  1, 1,   1, 1,   "n",    OLD, op_unary, OP_ABS)
OPROW("", "Acos",                 7,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_unary, OP_ACOS)
OPROW("", "Acosh",                9,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_unary, OP_ACOSH)
OPROW("ai.onnx.preview.training", "Adagrad", 1, OPSET_NOW, 5, ANY, 2, ANY, "fif",
      "norm_coefficient:f=0 decay_factor:f=0 epsilon:f=1e-6", op_optimizer, 0)
OPROW("ai.onnx.preview.training", "Adam", 1, OPSET_NOW, 6, ANY, 3, ANY, "fif",
      "alpha:f=0.9 beta:f=0.999 norm_coefficient:f=0 norm_coefficient_post:f=0 epsilon:f=1e-6", op_optimizer, 2)
OPROW("", "Add",                  1,  6,          2, 2,   1, 1,   "n^",   BROADCAST, adapt_broadcast, 0)
OPROW("", "Add",                  7,  OPSET_NOW,  2, 2,   1, 1,   "n^",   "", op_binary, OP_ADD)
OPROW("", "Affine",               1,  OPSET_NOW,  1, 1,   1, 1,   "f",    "alpha:f=1 beta:f=0", op_affine, 0)
OPROW("", "AffineGrid",           20, OPSET_NOW,  2, 2,   1, 1,   "fi",   "align_corners:i=0", op_affine_grid, 0)
OPROW("", "And",                  1,  6,          2, 2,   1, 1,   "b^",   BROADCAST, adapt_broadcast, 0)
OPROW("", "And",                  7,  OPSET_NOW,  2, 2,   1, 1,   "b^",   "", op_and_or, OP_AND)
OPROW("", "ArgMax",               1,  OPSET_NOW,  1, 1,   1, 1,   "n",
      "axis:i=0 keepdims:i=1 select_last_index:i=0", op_arg_extreme, OP_MAX)
OPROW("", "ArgMin",               1,  OPSET_NOW,  1, 1,   1, 1,   "n",
      "axis:i=0 keepdims:i=1 select_last_index:i=0", op_arg_extreme, OP_MIN)
OPROW("ai.onnx.ml", "ArrayFeatureExtractor", 1, OPSET_NOW, 2, 2, 1, 1, "ai",  "", op_array_feature_extractor, 0)
OPROW("", "Asin",                 7,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_unary, OP_ASIN)
OPROW("", "Asinh",                9,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_unary, OP_ASINH)
OPROW("", "Atan",                 7,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_unary, OP_ATAN)
OPROW("", "Atanh",                9,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_unary, OP_ATANH)
OPROW("", "Attention",            23, OPSET_NOW,  3, 7,   1, 4,   "f=fa=fi",
      "is_causal:i=0 kv_num_heads:i q_num_heads:i scale:f softcap:f=0 softmax_precision:i qk_matmul_output_mode:i=0 "
      "left_window_size:i>=-1=-1 right_window_size:i>=-1=-1", op_attention, 0)
OPROW("com.microsoft", "Attention", 1, OPSET_NOW, 2, 7,   1, 2,   "f==i==i",
      "num_heads:i>=1! scale:f mask_filter_value:f=-10000 unidirectional:i=0 qkv_hidden_sizes:I do_rotary:i=0 rotary_embedding_dim:i "
      "past_present_share_buffer:i=0", op_ms_attention, 0)
OPROW("", "AveragePool",          1,  OPSET_NOW,  1, 1,   1, 1,   "f",    POOL " count_include_pad:i=0", op_average_pool, 0)
OPROW("", "BatchNormalization",   1,  13,         5, 5,   1, 5,   "f",
      "epsilon:f=1e-5 momentum:f=0.9 spatial:i=1 is_test:i=1 consumed_inputs:I", adapt_batch_norm, 0)
OPROW("", "BatchNormalization",   14, OPSET_NOW,  5, 5,   1, 3,   "f",
      "epsilon:f=1e-5 momentum:f=0.9 training_mode:i=0", op_batch_norm, 0)
OPROW("com.microsoft", "BiasAdd", 1,  OPSET_NOW,  3, 3,   1, 1,   "f==",  "", op_variadic, OP_ADD)
OPROW("com.microsoft", "BiasGelu", 1, OPSET_NOW,  2, 2,   1, 1,   "w^",   "approximate:s=none", op_bias_gelu, 0)
OPROW("com.microsoft", "BiasSplitGelu", 1, OPSET_NOW, 2, 2, 1, 1,  "w^",   "", op_bias_split_gelu, 0)
OPROW("ai.onnx.ml", "Binarizer",  1,  OPSET_NOW,  1, 1,   1, 1,   "n",    "threshold:f=0", op_binarizer, 0)
OPROW("", "BitCast",              26, OPSET_NOW,  1, 1,   1, 1,   "a",    "to:i!", op_bitcast, 0)
OPROW("", "BitShift",             11, OPSET_NOW,  2, 2,   1, 1,   "i^",   "direction:s{LEFT|RIGHT}!", op_shift, 0)
OPROW("", "BitwiseAnd",           18, OPSET_NOW,  2, 2,   1, 1,   "i^",   "", op_binary, OP_AND)
OPROW("", "BitwiseNot",           18, OPSET_NOW,  1, 1,   1, 1,   "i",    "", op_unary, OP_NOT)
OPROW("", "BitwiseOr",            18, OPSET_NOW,  2, 2,   1, 1,   "i^",   "", op_binary, OP_OR)
OPROW("", "BitwiseXor",           18, OPSET_NOW,  2, 2,   1, 1,   "i^",   "", op_binary, OP_XOR)
OPROW("", "BlackmanWindow",       17, OPSET_NOW,  1, 1,   1, 1,   "i",    "output_datatype:i=1 periodic:i=1", op_window, 2)
OPROW("com.microsoft", "CDist",   1,  OPSET_NOW,  2, 2,   1, 1,   "f^",   "metric:s{euclidean|sqeuclidean}=sqeuclidean", op_cdist, 0)
OPROW("", "Cast",                 1,  5,          1, 1,   1, 1,   "a",    "to:s!", adapt_cast, 0)
OPROW("", "Cast",                 6,  OPSET_NOW,  1, 1,   1, 1,   "a",    "to:i! saturate:i=1 round_mode:s{up|down|nearest}=up", op_cast, 0)
OPROW("", "CastLike",             15, OPSET_NOW,  2, 2,   1, 1,   "aa",   "saturate:i=1 round_mode:s{up|down|nearest}=up", op_cast_like, 0)
OPROW("ai.onnx.ml", "CategoryMapper", 1, OPSET_NOW, 1, 1, 1, 1,    "n",    "cats_int64s:I cats_strings:S default_int64:i=-1 default_string:s=_Unused", op_category_mapper, 0)
OPROW("", "CausalConvWithState",  27, OPSET_NOW,  2, 4,   1, 2,   "f===", "activation:s{none|silu|swish}=none", op_causal_conv, 0)
OPROW("com.microsoft", "CausalConvWithState", 1, OPSET_NOW, 2, 4, 1, 2, "f===",
      "activation:s{none|silu|swish}=none ndim:i=1 dilation:i=1 channels_last:i=0 state_window:i=0", op_ms_causal_conv, 0)
OPROW("", "Ceil",                 1,  OPSET_NOW,  1, 1,   1, 1,   "f",    OLD, op_unary, OP_CEIL)
OPROW("", "Celu",                 12, OPSET_NOW,  1, 1,   1, 1,   "w",    "alpha:f=1", op_celu, 0)
OPROW("", "CenterCropPad",        18, OPSET_NOW,  2, 2,   1, 1,   "ai",   "axes:I", op_center_crop_pad, 0)
OPROW("", "Clip",                 1,  10,         1, 1,   1, 1,   "f",    "min:f max:f consumed_inputs:I", adapt_clip, 0)
OPROW("", "Clip",                 11, OPSET_NOW,  1, 3,   1, 1,   "n==",  "", op_clip, 0)
OPROW("", "Col2Im",               18, OPSET_NOW,  3, 3,   1, 1,   "nii",  "dilations:I>=1 pads:I strides:I>=1", op_col2im, 0)
OPROW("", "Compress",             9,  OPSET_NOW,  2, 2,   1, 1,   "ab",   "axis:i", op_compress, 0)
OPROW("", "Concat",               1,  3,          1, ANY, 1, 1,   "a^",   "axis:i=1", adapt_plain, 0)
OPROW("", "Concat",               4,  OPSET_NOW,  1, ANY, 1, 1,   "a^",   "axis:i!", op_concat, 0)
OPROW("", "ConcatFromSequence",   11, OPSET_NOW,  1, 1,   1, 1,   "s",    "axis:i! new_axis:i=0", op_concat_from_sequence, 0)
OPROW("", "Constant",             1,  OPSET_NOW,  0, 0,   1, 1,   "",
      "value:t value_float:f value_floats:F value_int:i value_ints:I value_string:s value_strings:S", op_constant, 0)
OPROW("", "ConstantOfShape",      9,  OPSET_NOW,  1, 1,   1, 1,   "i",    "value:t", op_constant_of_shape, 0)
OPROW("", "Conv",                 1,  OPSET_NOW,  2, 3,   1, 1,   "f==",  CONV, op_conv, 0)
OPROW("", "ConvInteger",          10, OPSET_NOW,  2, 4,   1, 1,   "iiii", CONV, op_conv_integer, 0)
OPROW("", "ConvTranspose",        1,  OPSET_NOW,  2, 3,   1, 1,   "f==",
      CONV " output_shape:I output_padding:I", op_conv_transpose, 0)
OPROW("", "Cos",                  7,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_unary, OP_COS)
OPROW("", "Cosh",                 9,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_unary, OP_COSH)
OPROW("", "Crop",                 1,  OPSET_NOW,  1, 1,   1, 1,   "a",    "border:I>=0! scale:I>=0", op_crop, 0)
OPROW("", "CumProd",              26, OPSET_NOW,  2, 2,   1, 1,   "ni",   "exclusive:i=0 reverse:i=0", op_cumulative, OP_MUL)
OPROW("", "CumSum",               11, OPSET_NOW,  2, 2,   1, 1,   "ni",   "exclusive:i=0 reverse:i=0", op_cumulative, OP_ADD)
OPROW("", "DFT",                  17, 19,         1, 2,   1, 1,   "fi",   "axis:i=1 inverse:i=0 onesided:i=0", adapt_dft, 0)
OPROW("", "DFT",                  20, OPSET_NOW,  1, 3,   1, 1,   "fii",  "inverse:i=0 onesided:i=0", op_dft, 0)
OPROW("", "DeformConv",           19, OPSET_NOW,  3, 5,   1, 1,   "f====",
      "strides:I>=1 dilations:I>=1 pads:I kernel_shape:I>=1 group:i>=1=1 offset_group:i>=1=1", op_deform_conv, 0)
OPROW("", "DepthToSpace",         1,  OPSET_NOW,  1, 1,   1, 1,   "a",
      "blocksize:i>=1! mode:s{DCR|CRD}=DCR", op_depth_to_space, 0)
OPROW("", "DequantizeLinear",     10, OPSET_NOW,  2, 3,   1, 1,   "nf=",
      "axis:i=1 block_size:i>=0=0 output_dtype:i=0", op_dequantize, 0)
OPROW("com.microsoft", "DequantizeLinear", 1, OPSET_NOW, 2, 3, 1, 1, "nf=",
      "axis:i=1 block_size:i=0 output_dtype:i=0", op_dequantize, 0)
OPROW("", "Det",                  11, OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_det, 0)
OPROW("", "Div",                  1,  6,          2, 2,   1, 1,   "n^",   BROADCAST, adapt_broadcast, 0)
OPROW("", "Div",                  7,  OPSET_NOW,  2, 2,   1, 1,   "n^",   "", op_div, OP_DIV)
OPROW("", "Dropout",              1,  11,         1, 1,   1, 2,   "f",
      "ratio:f=0.5 is_test:i=1 consumed_inputs:I", adapt_plain, 0)
OPROW("", "Dropout",              12, OPSET_NOW,  1, 3,   1, 2,   "ffb",  "seed:i", op_dropout, 0)
OPROW("com.microsoft", "DynamicQuantizeLSTM", 1, OPSET_NOW, 3, 12, 0, 3, "fiififfffifi", RECURRENT " input_forget:i=0", op_recurrent, 4)
OPROW("", "DynamicQuantizeLinear", 11, OPSET_NOW,  1, 1,   3, 3,   "f",    "", op_dynamic_quantize, 0)
OPROW("com.microsoft", "DynamicQuantizeMatMul", 1, OPSET_NOW, 3, 5, 1, 1, "fifif", "", op_dynamic_quantize_matmul, 0)
OPROW("", "Einsum",               12, OPSET_NOW,  1, ANY, 1, 1,   "n^",   "equation:s!", op_einsum, 0)
OPROW("", "Elu",                  1,  OPSET_NOW,  1, 1,   1, 1,   "w",    "alpha:f=1 consumed_inputs:I", op_elu, 0)
OPROW("com.microsoft", "EmbedLayerNormalization", 1, OPSET_NOW, 1, 9, 1, 3, "iifffffii",
      "epsilon:f=1e-12 mask_index_type:i=0", op_embed_layer_norm, 0)
OPROW("", "Equal",                1,  6,          2, 2,   1, 1,   "a^",   BROADCAST, adapt_broadcast, 0)
OPROW("", "Equal",                7,  OPSET_NOW,  2, 2,   1, 1,   "a^",   "", op_equal, OP_CMPEQ)
OPROW("", "Erf",                  9,  OPSET_NOW,  1, 1,   1, 1,   "n",    "", op_erf, OP_ERF)
OPROW("", "Exp",                  1,  OPSET_NOW,  1, 1,   1, 1,   "f",    OLD, op_unary, OP_EXP)
OPROW("", "Expand",               8,  OPSET_NOW,  2, 2,   1, 1,   "ai",   "", op_expand, 0)
OPROW("com.microsoft", "ExpandDims", 1, OPSET_NOW, 2, 2,  1, 1,   "ai",   "", op_unsqueeze, 0)
OPROW("", "EyeLike",              9,  OPSET_NOW,  1, 1,   1, 1,   "a",    "dtype:i k:i=0", op_eye_like, 0)
OPROW("com.microsoft", "FastGelu", 1, OPSET_NOW,  1, 2,   1, 1,   "w^",   "approximate:s=tanh", op_bias_gelu, 0)
OPROW("ai.onnx.ml", "FeatureVectorizer", 1, OPSET_NOW, 1, ANY, 1, 1, "n",  "inputdimensions:I", op_feature_vectorizer, 0)
OPROW("", "Flatten",              1,  OPSET_NOW,  1, 1,   1, 1,   "a",    "axis:i=1", op_flatten, 0)
OPROW("ai.onnx.preview", "FlexAttention", 1, OPSET_NOW, 3, 3, 1, 1, "f==", "score_mod:g prob_mod:g scale:f softmax_precision:i", op_flex_attention, 0)
OPROW("", "Floor",                1,  OPSET_NOW,  1, 1,   1, 1,   "f",    OLD, op_unary, OP_FLOOR)
OPROW("com.microsoft", "FusedConv", 1, OPSET_NOW, 2, 4,   1, 1,   "f===", CONV " activation:s= activation_params:F", op_fused_conv, 0)
OPROW("com.microsoft", "FusedGemm", 1, OPSET_NOW, 2, 3,   1, 1,   "n==",
      "alpha:f=1 beta:f=1 transA:i=0 transB:i=0 activation:s= activation_alpha:f activation_beta:f activation_gamma:f", op_fused_gemm, 0)
OPROW("com.microsoft", "FusedMatMul", 1, OPSET_NOW, 2, 2, 1, 1,   "n^",
      "alpha:f=1 transA:i=0 transB:i=0 transBatchA:i=0 transBatchB:i=0", op_fused_matmul, 0)
OPROW("", "GRU",                  1,  6,          3, 6,   0, 2,   "w===i=", RECURRENT " linear_before_reset:i=0 output_sequence:i=0", op_recurrent, 3)
OPROW("", "GRU",                  7,  OPSET_NOW,  3, 6,   0, 2,   "w===i=", RECURRENT " linear_before_reset:i=0", op_recurrent, 3)
OPROW("com.microsoft", "GatedRMSNorm", 1, OPSET_NOW, 3, 3, 1, 1,  "w^=",  "activation:s{silu|swish|sigmoid}=silu epsilon:f=1e-5", op_gated_rms_norm, 0)
OPROW("com.microsoft", "GatedRelativePositionBias", 1, OPSET_NOW, 6, 7, 1, 1, "w=====i", "num_heads:i>=1!", op_ms_gated_relative_bias, 0)
OPROW("", "Gather",               1,  OPSET_NOW,  2, 2,   1, 1,   "ai",   "axis:i=0", op_gather, 0)
OPROW("com.microsoft", "GatherBlockQuantized", 1, OPSET_NOW, 3, 4, 1, 1, "iifi",
      "bits:i=4 block_size:i>=16=128 gather_axis:i=0 quantize_axis:i=1", op_gather_block_quantized, 0)
OPROW("", "GatherElements",       11, OPSET_NOW,  2, 2,   1, 1,   "ai",   "axis:i=0", op_gather_elements, 0)
OPROW("", "GatherND",             11, OPSET_NOW,  2, 2,   1, 1,   "ai",   "batch_dims:i>=0=0", op_gather_nd, 0)
OPROW("com.microsoft", "GatherND", 1, OPSET_NOW,  2, 2,   1, 1,   "ai",   "", build_newest, 0)
OPROW("", "Gelu",                 20, OPSET_NOW,  1, 1,   1, 1,   "w",    "approximate:s{none|tanh}=none", op_gelu, 0)
OPROW("com.microsoft", "Gelu",    1,  OPSET_NOW,  1, 1,   1, 1,   "w",    "approximate:s=none", op_gelu, 0)
OPROW("", "Gemm",                 1,  OPSET_NOW,  2, 3,   1, 1,   "n==",
      "alpha:f=1 beta:f=1 transA:i=0 transB:i=0 broadcast:i", op_gemm, 0)
OPROW("com.microsoft", "GemmFastGelu", 1, OPSET_NOW, 2, 3, 1, 1,  "w==",  "approximate:s=tanh", op_gemm_fast_gelu, 0)
OPROW("", "GlobalAveragePool",    1,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_global_pool, OP_ADD)
OPROW("", "GlobalLpPool",         2,  OPSET_NOW,  1, 1,   1, 1,   "f",    "p:i>=1=2", op_global_lp_pool, 0)
OPROW("", "GlobalMaxPool",        1,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_global_pool, OP_MAX)
OPROW("", "Greater",              1,  6,          2, 2,   1, 1,   "n^",   BROADCAST, adapt_broadcast, 0)
OPROW("", "Greater",              7,  OPSET_NOW,  2, 2,   1, 1,   "n^",   "", op_binary_swapped, OP_CMPLT)
OPROW("", "GreaterOrEqual",       12, OPSET_NOW,  2, 2,   1, 1,   "n^",   "", op_binary_swapped, OP_CMPLE)
OPROW("", "GridSample",           16, OPSET_NOW,  2, 2,   1, 1,   "ff",
      "align_corners:i=0 mode:s{linear|bilinear|nearest|cubic|bicubic}=linear "
      "padding_mode:s{zeros|border|reflection}=zeros", op_grid_sample, 0)
OPROW("com.microsoft", "GridSample", 1, OPSET_NOW, 2, 2,  1, 1,   "ff",
      "align_corners:i=0 mode:s{bilinear|nearest|bicubic}=bilinear padding_mode:s{zeros|border|reflection}=zeros", build_newest, 0)
OPROW("com.microsoft", "GroupNorm", 1, OPSET_NOW, 3, 3,  1, 1,   "fff",  DIFFUSION_NORM, op_ms_group_norm, 0)
OPROW("", "GroupNormalization",   18, 20,         3, 3,   1, 1,   "f==",
      "epsilon:f=1e-5 num_groups:i>=1! stash_type:i=1", adapt_group_norm, 0)
OPROW("", "GroupNormalization",   21, OPSET_NOW,  3, 3,   1, 1,   "f==",
      "epsilon:f=1e-5 num_groups:i>=1! stash_type:i=1", op_group_norm, 0)
OPROW("com.microsoft", "GroupQueryAttention", 1, OPSET_NOW, 1, 16, 1, 4, "f====iiffif",
      "num_heads:i>=1! kv_num_heads:i>=1! scale:f softcap:f=0 do_rotary:i=0 rotary_interleaved:i=0 local_window_size:i=-1 "
      "smooth_softmax:i=-1 qk_output:i=0 causal:i=1 kv_cache_bit_width:i=0 sliding_window_cache:i=0 k_quant_type:s=NONE v_quant_type:s=NONE "
      "qk_norm_epsilon:f=1e-6", op_ms_group_query_attention, 0)
OPROW("", "HammingWindow",        17, OPSET_NOW,  1, 1,   1, 1,   "i",    "output_datatype:i=1 periodic:i=1", op_window, 1)
OPROW("", "HannWindow",           17, OPSET_NOW,  1, 1,   1, 1,   "i",    "output_datatype:i=1 periodic:i=1", op_window, 0)
OPROW("", "HardSigmoid",          1,  OPSET_NOW,  1, 1,   1, 1,   "w",
      "alpha:f=0.2 beta:f=0.5 consumed_inputs:I", op_hard_sigmoid, 0)
OPROW("", "HardSwish",            14, OPSET_NOW,  1, 1,   1, 1,   "w",    "", op_hard_swish, 0)
OPROW("", "Hardmax",              1,  12,         1, 1,   1, 1,   "f",    "axis:i=1", adapt_softmax, 0)
OPROW("", "Hardmax",              13, OPSET_NOW,  1, 1,   1, 1,   "f",    "axis:i=-1", op_hardmax, 0)
OPROW("", "Identity",             1,  OPSET_NOW,  1, 1,   1, 1,   "q",    "", op_identity, 0)
OPROW("", "If",                   1,  OPSET_NOW,  1, 1,   0, ANY, "b",    "else_branch:g! then_branch:g!", op_if, 0)
OPROW("", "ImageScaler",          1,  OPSET_NOW,  1, 1,   1, 1,   "f",    "bias:F! scale:f=1", op_image_scaler, 0)
OPROW("ai.onnx.ml", "Imputer",    1,  OPSET_NOW,  1, 1,   1, 1,   "n",
      "imputed_value_floats:F imputed_value_int64s:I replaced_value_float:f=0 replaced_value_int64:i=0", op_imputer, 0)
OPROW("", "InstanceNormalization", 1,  OPSET_NOW,  3, 3,   1, 1,   "w==",
      "epsilon:f=1e-5 consumed_inputs:I", op_instance_norm, 0)
OPROW("com.microsoft", "Inverse", 1,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_inverse, 0)
OPROW("", "IsInf",                10, OPSET_NOW,  1, 1,   1, 1,   "f",    "detect_negative:i=1 detect_positive:i=1", op_isinf, 0)
OPROW("", "IsNaN",                9,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_not_equal_self, 0)
OPROW("", "LRN",                  1,  OPSET_NOW,  1, 1,   1, 1,   "w",
      "size:i>=1! alpha:f=0.0001 beta:f=0.75 bias:f=1", op_lrn, 0)
OPROW("", "LSTM",                 1,  6,          3, 8,   0, 3,   "w===i===", RECURRENT " input_forget:i=0 output_sequence:i=0", op_recurrent, 4)
OPROW("", "LSTM",                 7,  OPSET_NOW,  3, 8,   0, 3,   "w===i===", RECURRENT " input_forget:i=0", op_recurrent, 4)
OPROW("ai.onnx.ml", "LabelEncoder", 1, 1,         1, 1,   1, 1,   "n",    "classes_strings:S default_int64:i=-1 default_string:s=_Unused", op_category_mapper, 1)
OPROW("ai.onnx.ml", "LabelEncoder", 2, 3,         1, 1,   1, 1,   "n",    LABELS, op_label_encoder, 0)
OPROW("ai.onnx.ml", "LabelEncoder", 4, OPSET_NOW, 1, 1,   1, 1,   "n",    LABELS " keys_tensor:t values_tensor:t default_tensor:t", op_label_encoder, 0)
OPROW("", "LayerNormalization",   1,  OPSET_NOW,  2, 3,   1, 3,   "f==",
      "axis:i=-1 epsilon:f=1e-5 stash_type:i=1", op_layer_norm, 0)
OPROW("", "LeakyRelu",            1,  OPSET_NOW,  1, 1,   1, 1,   "f",    "alpha:f=0.01 consumed_inputs:I", op_leaky_relu, 0)
OPROW("", "Less",                 1,  6,          2, 2,   1, 1,   "n^",   BROADCAST, adapt_broadcast, 0)
OPROW("", "Less",                 7,  OPSET_NOW,  2, 2,   1, 1,   "n^",   "", op_binary, OP_CMPLT)
OPROW("", "LessOrEqual",          12, OPSET_NOW,  2, 2,   1, 1,   "n^",   "", op_binary, OP_CMPLE)
OPROW("", "LinearAttention",      27, OPSET_NOW,  3, 6,   1, 2,   "f==f==",
      "q_num_heads:i>=1! kv_num_heads:i>=1! scale:f=0 chunk_size:i=64 update_rule:s{linear|gated|delta|gated_delta}=gated_delta", op_linear_attention, 0)
OPROW("com.microsoft", "LinearAttention", 1, OPSET_NOW, 3, 6, 1, 2, "f==f==",
      "q_num_heads:i>=1! kv_num_heads:i>=1! scale:f=0 chunk_size:i=64 update_rule:s{linear|gated|delta|gated_delta}=gated_delta state_window:i=0",
      op_ms_linear_attention, 0)
OPROW("ai.onnx.ml", "LinearClassifier", 1, OPSET_NOW, 1, 1, 1, 2, "n",
      "coefficients:F! intercepts:F classlabels_ints:I classlabels_strings:S multi_class:i=0" TRANSFORM, op_linear_classifier, 0)
OPROW("ai.onnx.ml", "LinearRegressor", 1, OPSET_NOW, 1, 1, 1, 1,  "n",    "coefficients:F! intercepts:F targets:i>=1=1" TRANSFORM, op_linear_regressor, 0)
OPROW("", "Log",                  1,  OPSET_NOW,  1, 1,   1, 1,   "f",    OLD, op_unary, OP_LOG)
OPROW("", "LogSoftmax",           1,  12,         1, 1,   1, 1,   "w",    "axis:i=1", adapt_softmax, 0)
OPROW("", "LogSoftmax",           13, OPSET_NOW,  1, 1,   1, 1,   "w",    "axis:i=-1", op_softmax, OP_LOG)
OPROW("", "Loop",                 1,  OPSET_NOW,  0, SOME, 0, ANY, "ibq", "body:g!", op_loop, 0)
OPROW("", "LpNormalization",      1,  OPSET_NOW,  1, 1,   1, 1,   "w",    "axis:i=-1 p:i=2", op_lp_norm, 0)
OPROW("", "LpPool",               2,  OPSET_NOW,  1, 1,   1, 1,   "f",    POOL " p:i>=1=2", op_lp_pool, 0)
OPROW("", "MatMul",               1,  OPSET_NOW,  2, 2,   1, 1,   "n^",   "", op_matmul, 0)
OPROW("com.microsoft", "MatMulBnb4", 1, OPSET_NOW, 3, 3,  1, 1,   "fu=",
      "K:i>=1! N:i>=1! block_size:i>=16! quant_type:i>=0! training_mode:i=0 transB:i=1", op_matmul_bnb4, 0)
OPROW("", "MatMulInteger",        10, OPSET_NOW,  2, 4,   1, 1,   "iiii", "", op_matmul_integer, 0)
OPROW("com.microsoft", "MatMulIntegerToFloat", 1, OPSET_NOW, 4, 7, 1, 1, "iiffiif", "", op_matmul_integer_to_float, 0)
OPROW("com.microsoft", "MatMulNBits", 1, OPSET_NOW, 3, 6, 1, 1, "fufaif",
      "K:i>=1! N:i>=1! bits:i>=1=4 block_size:i>=1! accuracy_level:i=0 weight_prepacked:i=0", op_matmul_nbits, 0)
OPROW("", "Max",                  1,  OPSET_NOW,  1, ANY, 1, 1,   "n^",   OLD, op_variadic, OP_MAX)
OPROW("", "MaxPool",              1,  OPSET_NOW,  1, 1,   1, 2,   "n",    POOL " storage_order:i=0", op_max_pool, 0)
OPROW("", "MaxRoiPool",           1,  OPSET_NOW,  2, 2,   1, 1,   "f=",   "pooled_shape:I>=1! spatial_scale:f=1", op_max_roi_pool, 0)
OPROW("", "MaxUnpool",            9,  OPSET_NOW,  2, 3,   1, 1,   "fii",  "kernel_shape:I>=1! pads:I strides:I>=1", op_max_unpool, 0)
OPROW("", "Mean",                 1,  OPSET_NOW,  1, ANY, 1, 1,   "f^",   OLD, op_mean, OP_ADD)
OPROW("", "MeanVarianceNormalization", 9,  OPSET_NOW,  1, 1,   1, 1,   "w",    "axes:I", op_mean_variance_norm, 0)
OPROW("", "MelWeightMatrix",      17, OPSET_NOW,  5, 5,   1, 1,   "iiiff", "output_datatype:i=1", op_mel_weight_matrix, 0)
OPROW("", "Min",                  1,  OPSET_NOW,  1, ANY, 1, 1,   "n^",   OLD, op_variadic, OP_MIN)
OPROW("", "Mish",                 18, OPSET_NOW,  1, 1,   1, 1,   "w",    "", op_mish, 0)
OPROW("com.microsoft", "MoE",     1,  OPSET_NOW,  3, 8,   1, 1,   "f=",   EXPERTS, op_experts, 0)
OPROW("", "Mod",                  10, OPSET_NOW,  2, 2,   1, 1,   "n^",   "fmod:i=0", op_mod, 0)
OPROW("ai.onnx.preview.training", "Momentum", 1, OPSET_NOW, 5, ANY, 2, ANY, "fif",
      "alpha:f! beta:f! mode:s{standard|nesterov}! norm_coefficient:f!", op_optimizer, 1)
OPROW("", "Mul",                  1,  6,          2, 2,   1, 1,   "n^",   BROADCAST, adapt_broadcast, 0)
OPROW("", "Mul",                  7,  OPSET_NOW,  2, 2,   1, 1,   "n^",   "", op_mul, OP_MUL)
OPROW("com.microsoft", "MultiHeadAttention", 1, OPSET_NOW, 1, 10, 1, 4, "f===i===ii",
      "num_heads:i>=1! scale:f mask_filter_value:f=-10000 unidirectional:i=0", op_ms_multi_head_attention, 0)
OPROW("", "Neg",                  1,  OPSET_NOW,  1, 1,   1, 1,   "n",    OLD, op_unary, OP_NEG)
OPROW("", "NegativeLogLikelihoodLoss", 12, OPSET_NOW,  2, 3,   1, 1,   "wi=",
      "ignore_index:i reduction:s{none|mean|sum}=mean", op_likelihood_loss, 0)
OPROW("com.microsoft", "NhwcFusedConv", 1, OPSET_NOW, 2, 4, 1, 1, "f===", CONV " activation:s= activation_params:F", op_nhwc_conv, 0)
OPROW("com.microsoft", "NhwcMaxPool", 1, OPSET_NOW, 1, 1, 1, 1,   "i",    POOL " storage_order:i=0", op_nhwc_max_pool, 0)
OPROW("", "NonMaxSuppression",    10, OPSET_NOW,  2, 5,   1, 1,   "f^iff", "center_point_box:i=0", op_non_max_suppression, 0)
OPROW("", "NonZero",              9,  OPSET_NOW,  1, 1,   1, 1,   "a",    "", op_non_zero, 0)
OPROW("ai.onnx.ml", "Normalizer", 1,  OPSET_NOW,  1, 1,   1, 1,   "n",    "norm:s{MAX|L1|L2}=MAX", op_normalizer, 0)
OPROW("", "Not",                  1,  OPSET_NOW,  1, 1,   1, 1,   "b",    "", op_unary, OP_NOT)
OPROW("", "OneHot",               9,  OPSET_NOW,  3, 3,   1, 1,   "nna",  "axis:i=-1", op_one_hot, 0)
OPROW("ai.onnx.ml", "OneHotEncoder", 1, OPSET_NOW, 1, 1,  1, 1,   "n",    "cats_int64s:I cats_strings:S zeros:i=1", op_one_hot_encoder, 0)
OPROW("", "Optional",             15, OPSET_NOW,  0, 1,   1, 1,   "q",    "type:y", op_optional, 0)
OPROW("", "OptionalGetElement",   15, OPSET_NOW,  1, 1,   1, 1,   "q",    "", op_optional_get, 0)
OPROW("", "OptionalHasElement",   15, OPSET_NOW,  0, 1,   1, 1,   "q",    "", op_optional_has, 0)
OPROW("", "Or",                   1,  6,          2, 2,   1, 1,   "b^",   BROADCAST, adapt_broadcast, 0)
OPROW("", "Or",                   7,  OPSET_NOW,  2, 2,   1, 1,   "b^",   "", op_and_or, OP_OR)
OPROW("", "PRelu",                1,  6,          2, 2,   1, 1,   "f^",   OLD, adapt_prelu, 0)
OPROW("", "PRelu",                7,  OPSET_NOW,  2, 2,   1, 1,   "n^",   "", op_prelu, 0)
OPROW("", "Pad",                  1,  1,          1, 1,   1, 1,   "f",
      "paddings:I! mode:s{constant|reflect|edge}=constant value:f=0", adapt_pad, 0)
OPROW("", "Pad",                  2,  10,         1, 1,   1, 1,   "f",
      "pads:I! mode:s{constant|reflect|edge}=constant value:f=0", adapt_pad, 0)
OPROW("", "Pad",                  11, OPSET_NOW,  2, 4,   1, 1,   "ai=i",
      "mode:s{constant|reflect|edge|wrap}=constant", op_pad, 0)
OPROW("com.microsoft", "Pad",     1,  OPSET_NOW,  2, 3,   1, 1,   "ai=",  "mode:s{constant|reflect|edge|wrap}=constant", build_newest, 0)
OPROW("", "ParametricSoftplus",   1,  OPSET_NOW,  1, 1,   1, 1,   "w",    "alpha:f! beta:f!", op_scaled, 0)
OPROW("", "Pow",                  1,  6,          2, 2,   1, 1,   "nn",   BROADCAST, adapt_broadcast, 0)
OPROW("", "Pow",                  7,  OPSET_NOW,  2, 2,   1, 1,   "nn",   "", op_pow, 0)
OPROW("com.microsoft", "QAttention", 1, OPSET_NOW, 5, 9,  1, 2,   "iifffiiif",
      "num_heads:i>=1! scale:f mask_filter_value:f=-10000 unidirectional:i=0 do_rotary:i=0 past_present_share_buffer:i=0", op_ms_quantized_attention, 0)
OPROW("com.microsoft", "QEmbedLayerNormalization", 1, OPSET_NOW, 1, 18, 1, 2, "iiiiiiiifffffiiiii", "epsilon:f=1e-12", op_embed_layer_norm, 1)
OPROW("com.microsoft", "QGemm",   1,  OPSET_NOW,  6, 9,   1, 1,   "ifiifiifi", "alpha:f=1 transA:i=0 transB:i=0", op_qgemm, 0)
OPROW("com.microsoft", "QLinearAdd", 1, OPSET_NOW, 2, 8,  1, 1,   "ifiififi", "", op_qlinear, 2)
OPROW("com.microsoft", "QLinearAveragePool", 1, OPSET_NOW, 2, 5, 1, 1, "ififi",
      POOL " count_include_pad:i=0 channels_last:i=0", op_qlinear_pool, 1)
OPROW("com.microsoft", "QLinearConcat", 1, OPSET_NOW, 5, SOME, 1, 1, "fia", "axis:i!", op_qlinear_concat, 0)
OPROW("", "QLinearConv",          10, OPSET_NOW,  8, 9,   1, 1,   "ifiififii", CONV, op_qlinear_conv, 0)
OPROW("com.microsoft", "QLinearConv", 1, OPSET_NOW, 8, 9, 1, 1,   "ifiififii", CONV " channels_last:i=0", op_ms_qlinear_conv, 0)
OPROW("com.microsoft", "QLinearGlobalAveragePool", 1, OPSET_NOW, 2, 5, 1, 1, "ififi", "channels_last:i=0", op_qlinear_pool, 1)
OPROW("com.microsoft", "QLinearLeakyRelu", 1, OPSET_NOW, 2, 5, 1, 1, "ififi", "alpha:f=0.01", op_qlinear, 1)
OPROW("", "QLinearMatMul",        10, OPSET_NOW,  8, 8,   1, 1,   "ifiififi", "", op_qlinear_matmul, 0)
OPROW("com.microsoft", "QLinearMul", 1, OPSET_NOW, 2, 8,  1, 1,   "ifiififi", "", op_qlinear, 2)
OPROW("com.microsoft", "QLinearSigmoid", 1, OPSET_NOW, 2, 5, 1, 1, "ififi", "", op_qlinear, 1)
OPROW("com.microsoft", "QLinearSoftmax", 1, OPSET_NOW, 2, 5, 1, 1, "ififi", "axis:i=-1 opset:i!", op_qlinear_softmax, 0)
OPROW("com.microsoft", "QLinearWhere", 1, OPSET_NOW, 9, 9, 1, 1,  "bifiififi", "", op_qlinear_where, 0)
OPROW("com.microsoft", "QMoE",    1,  OPSET_NOW,  3, 15,  1, 1,   "f=iffiffiffiiif", EXPERTS
      " accuracy_level:i=0 block_size:i expert_weight_bits:i=4 fc1_expert_weight_bits:i fc2_expert_weight_bits:i fc3_expert_weight_bits:i "
      "quant_type:s{int}=int weights_prepacked:i=-1", op_experts, 1)
OPROW("", "QuantizeLinear",       10, OPSET_NOW,  2, 3,   1, 1,   "nfn",
      "axis:i=1 block_size:i>=0=0 output_dtype:i=0 precision:i=0 saturate:i=1", op_quantize, 0)
OPROW("com.microsoft", "QuantizeLinear", 1, OPSET_NOW, 2, 3, 1, 1, "nfn",
      "axis:i=1 block_size:i=0 output_dtype:i=0 precision:i=0 saturate:i=1", op_quantize, 0)
OPROW("com.microsoft", "QuickGelu", 1, OPSET_NOW, 1, 1,   1, 1,   "w",    "alpha:f=1.702", op_swish, 0)
OPROW("", "RMSNormalization",     23, OPSET_NOW,  2, 2,   1, 1,   "ff",
      "axis:i=-1 epsilon:f=1e-5 stash_type:i=1", op_rms_norm, 0)
OPROW("", "RNN",                  1,  6,          3, 6,   0, 2,   "w===i=", RECURRENT " output_sequence:i=0", op_recurrent, 1)
OPROW("", "RNN",                  7,  OPSET_NOW,  3, 6,   0, 2,   "w===i=", RECURRENT, op_recurrent, 1)
OPROW("", "Range",                11, OPSET_NOW,  3, 3,   1, 1,   "n^^",  "stash_type:i=1", op_range, 0)
OPROW("com.microsoft", "Range",   1,  OPSET_NOW,  2, 3,   1, 1,   "n^^",  "", op_ms_range, 0)
OPROW("", "Reciprocal",           1,  OPSET_NOW,  1, 1,   1, 1,   "f",    OLD, op_unary, OP_RECIP)
OPROW("", "ReduceL1",             1,  17,         1, 1,   1, 1,   "n",    "axes:I keepdims:i=1", adapt_axes, 0)
OPROW("", "ReduceL1",             18, OPSET_NOW,  1, 2,   1, 1,   "ni",
      "keepdims:i=1 noop_with_empty_axes:i=0", op_reduce_l1, 0)
OPROW("", "ReduceL2",             1,  17,         1, 1,   1, 1,   "n",    "axes:I keepdims:i=1", adapt_axes, 0)
OPROW("", "ReduceL2",             18, OPSET_NOW,  1, 2,   1, 1,   "ni",
      "keepdims:i=1 noop_with_empty_axes:i=0", op_reduce_l2, 0)
OPROW("", "ReduceLogSum",         1,  17,         1, 1,   1, 1,   "n",    "axes:I keepdims:i=1", adapt_axes, 0)
OPROW("", "ReduceLogSum",         18, OPSET_NOW,  1, 2,   1, 1,   "ni",
      "keepdims:i=1 noop_with_empty_axes:i=0", op_reduce_log_sum, 0)
OPROW("", "ReduceLogSumExp",      1,  17,         1, 1,   1, 1,   "n",    "axes:I keepdims:i=1", adapt_axes, 0)
OPROW("", "ReduceLogSumExp",      18, OPSET_NOW,  1, 2,   1, 1,   "ni",
      "keepdims:i=1 noop_with_empty_axes:i=0", op_reduce_log_sum_exp, 0)
OPROW("", "ReduceMax",            1,  17,         1, 1,   1, 1,   "a",    "axes:I keepdims:i=1", adapt_axes, 0)
OPROW("", "ReduceMax",            18, OPSET_NOW,  1, 2,   1, 1,   "ai",
      "keepdims:i=1 noop_with_empty_axes:i=0", op_reduce, OP_MAX)
OPROW("", "ReduceMean",           1,  17,         1, 1,   1, 1,   "n",    "axes:I keepdims:i=1", adapt_axes, 0)
OPROW("", "ReduceMean",           18, OPSET_NOW,  1, 2,   1, 1,   "ni",
      "keepdims:i=1 noop_with_empty_axes:i=0", op_reduce_mean, 0)
OPROW("", "ReduceMin",            1,  17,         1, 1,   1, 1,   "a",    "axes:I keepdims:i=1", adapt_axes, 0)
OPROW("", "ReduceMin",            18, OPSET_NOW,  1, 2,   1, 1,   "ai",
      "keepdims:i=1 noop_with_empty_axes:i=0", op_reduce, OP_MIN)
OPROW("", "ReduceProd",           1,  17,         1, 1,   1, 1,   "n",    "axes:I keepdims:i=1", adapt_axes, 0)
OPROW("", "ReduceProd",           18, OPSET_NOW,  1, 2,   1, 1,   "ni",
      "keepdims:i=1 noop_with_empty_axes:i=0", op_reduce, OP_MUL)
OPROW("", "ReduceSum",            1,  12,         1, 1,   1, 1,   "n",    "axes:I keepdims:i=1", adapt_axes, 0)
OPROW("", "ReduceSum",            13, OPSET_NOW,  1, 2,   1, 1,   "ni",
      "keepdims:i=1 noop_with_empty_axes:i=0", op_reduce, OP_ADD)
OPROW("", "ReduceSumSquare",      1,  17,         1, 1,   1, 1,   "n",    "axes:I keepdims:i=1", adapt_axes, 0)
OPROW("", "ReduceSumSquare",      18, OPSET_NOW,  1, 2,   1, 1,   "ni",
      "keepdims:i=1 noop_with_empty_axes:i=0", op_reduce_sum_square, 0)
OPROW("", "RegexFullMatch",       20, OPSET_NOW,  1, 1,   1, 1,   "z",    "pattern:s!", op_regex_full_match, 0)
OPROW("com.microsoft", "RelativePositionBias", 1, OPSET_NOW, 3, 3, 1, 1, "fii", "max_distance:i>=1! is_bidirectional:i=0", op_ms_relative_bias, 0)
OPROW("", "Relu",                 1,  OPSET_NOW,  1, 1,   1, 1,   "n",    OLD, op_relu, 0)
OPROW("", "Reshape",              1,  4,          1, 1,   1, 1,   "a",    "shape:I! consumed_inputs:I", adapt_reshape, 0)
OPROW("", "Reshape",              5,  OPSET_NOW,  2, 2,   1, 1,   "ai",   "allowzero:i=0", op_reshape, 0)
OPROW("", "Resize",               10, 10,         2, 2,   1, 1,   "nf",
      "mode:s{nearest|linear|bilinear}=nearest", adapt_upsample, 0)
OPROW("", "Resize",               11, OPSET_NOW,  1, 4,   1, 1,   "nffi", RESIZE, op_resize, 0)
OPROW("", "ReverseSequence",      10, OPSET_NOW,  2, 2,   1, 1,   "ai",   "batch_axis:i=1 time_axis:i=0", op_reverse_sequence, 0)
OPROW("", "RoiAlign",             10, 15,         3, 3,   1, 1,   "f=i",
      "mode:s{avg|max}=avg output_height:i>=1=1 output_width:i>=1=1 sampling_ratio:i>=0=0 spatial_scale:f=1", adapt_roi_align, 0)
OPROW("", "RoiAlign",             16, OPSET_NOW,  3, 3,   1, 1,   "f=i",
      "mode:s{avg|max}=avg output_height:i>=1=1 output_width:i>=1=1 sampling_ratio:i>=0=0 spatial_scale:f=1 "
      "coordinate_transformation_mode:s{half_pixel|output_half_pixel}=half_pixel", op_roi_align, 0)
OPROW("", "RotaryEmbedding",      23, OPSET_NOW,  3, 4,   1, 1,   "f==i",
      "interleaved:i=0 num_heads:i>=1 rotary_embedding_dim:i>=0=0", op_rotary_embedding, 0)
OPROW("com.microsoft", "RotaryEmbedding", 1, OPSET_NOW, 4, 4, 1, 1, "fi==",
      "interleaved:i=0 num_heads:i>=0=0 rotary_embedding_dim:i>=0=0 scale:f=1 is_packed_batching:i=0", op_rotary_embedding, 1)
OPROW("", "Round",                11, OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_unary, OP_ROUND)
OPROW("", "STFT",                 17, OPSET_NOW,  2, 4,   1, 1,   "fifi", "onesided:i=1", op_stft, 0)
OPROW("ai.onnx.ml", "SVMClassifier", 1, OPSET_NOW, 1, 1,  1, 2,   "n",
      SVM " prob_a:F prob_b:F vectors_per_class:I classlabels_ints:I classlabels_strings:S", op_svm_classifier, 0)
OPROW("ai.onnx.ml", "SVMRegressor", 1, OPSET_NOW, 1, 1,   1, 1,   "n",    SVM " n_supports:i>=0=0 one_class:i=0", op_svm_regressor, 0)
OPROW("", "Scale",                1,  OPSET_NOW,  1, 1,   1, 1,   "f",    "scale:f=1", op_scale, 0)
OPROW("com.microsoft", "ScaledSiLU", 1, OPSET_NOW, 1, 2, 1, 1,   "wf",   "alpha:f=1", op_scaled_silu, 0)
OPROW("", "ScaledTanh",           1,  OPSET_NOW,  1, 1,   1, 1,   "w",    "alpha:f! beta:f!", op_scaled, 1)
OPROW("ai.onnx.ml", "Scaler",     1,  OPSET_NOW,  1, 1,   1, 1,   "n",    "offset:F scale:F", op_scaler, 0)
OPROW("", "Scan",                 8,  8,          0, SOME, 0, ANY, "ia",   "body:g! num_scan_inputs:i! directions:I", op_batch_scan, 0)
OPROW("", "Scan",                 9,  OPSET_NOW,  1, ANY, 0, ANY, "a",
      "body:g! num_scan_inputs:i! scan_input_axes:I scan_input_directions:I scan_output_axes:I scan_output_directions:I", op_scan, 0)
OPROW("", "Scatter",              9,  10,         3, 3,   1, 1,   "ai=",  "axis:i=0", adapt_scatter, 0)
OPROW("", "ScatterElements",      11, OPSET_NOW,  3, 3,   1, 1,   "ai=",
      "axis:i=0 reduction:s{none|add|mul|max|min}=none", op_scatter_elements, 0)
OPROW("", "ScatterND",            11, OPSET_NOW,  3, 3,   1, 1,   "ai=",
      "reduction:s{none|add|mul|max|min}=none", op_scatter_nd, 0)
OPROW("", "Selu",                 1,  5,          1, 1,   1, 1,   "w",
      "alpha:f=1.6732 gamma:f=1.0507 consumed_inputs:I", adapt_plain, 0)
OPROW("", "Selu",                 6,  OPSET_NOW,  1, 1,   1, 1,   "w",
      "alpha:f=1.67326319217681884765625 gamma:f=1.05070102214813232421875", op_selu, 0)
OPROW("", "SequenceAt",           11, OPSET_NOW,  2, 2,   1, 1,   "si",   "", op_sequence_at, 0)
OPROW("", "SequenceConstruct",    11, OPSET_NOW,  1, ANY, 1, 1,   "a^",   "", op_sequence_construct, 0)
OPROW("", "SequenceEmpty",        11, OPSET_NOW,  0, 0,   1, 1,   "",     "dtype:i=1", op_sequence_empty, 0)
OPROW("", "SequenceErase",        11, OPSET_NOW,  1, 2,   1, 1,   "si",   "", op_sequence_erase, 0)
OPROW("", "SequenceInsert",       11, OPSET_NOW,  2, 3,   1, 1,   "sai",  "", op_sequence_insert, 0)
OPROW("", "SequenceLength",       11, OPSET_NOW,  1, 1,   1, 1,   "s",    "", op_sequence_length, 0)
OPROW("", "SequenceMap",          17, OPSET_NOW,  1, ANY, 1, ANY, "sq",   "body:g!", op_sequence_map, 0)
OPROW("", "Shape",                1,  OPSET_NOW,  1, 1,   1, 1,   "a",    "start:i=0 end:i", op_shape, 0)
OPROW("", "Shrink",               9,  OPSET_NOW,  1, 1,   1, 1,   "n",    "bias:f=0 lambd:f=0.5", op_shrink, 0)
OPROW("", "Sigmoid",              1,  OPSET_NOW,  1, 1,   1, 1,   "w",    OLD, op_sigmoid, 0)
OPROW("", "Sign",                 9,  OPSET_NOW,  1, 1,   1, 1,   "n",    "", op_sign, 0)
OPROW("", "SimplifiedLayerNormalization", 1, OPSET_NOW, 2, 2, 1, 2, "ff", "axis:i=-1 epsilon:f=1e-5 stash_type:i=1", op_rms_norm, 0)
OPROW("", "Sin",                  7,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_unary, OP_SIN)
OPROW("", "Sinh",                 9,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_unary, OP_SINH)
OPROW("", "Size",                 1,  OPSET_NOW,  1, 1,   1, 1,   "a",    "", op_size, 0)
OPROW("com.microsoft", "SkipGroupNorm", 1, OPSET_NOW, 4, 5, 1, 2, "fff==", DIFFUSION_NORM, op_ms_group_norm, 1)
OPROW("com.microsoft", "SkipLayerNormalization", 1, OPSET_NOW, 3, 5, 1, 4, "f====", "epsilon:f=1e-12", op_skip_norm, 0)
OPROW("com.microsoft", "SkipSimplifiedLayerNormalization", 1, OPSET_NOW, 3, 4, 1, 4, "f===", "epsilon:f=1e-12", op_skip_norm, 1)
OPROW("", "Slice",                1,  9,          1, 1,   1, 1,   "a",    "starts:I! ends:I! axes:I", adapt_slice, 0)
OPROW("", "Slice",                10, OPSET_NOW,  3, 5,   1, 1,   "aiiii", "", op_slice, 0)
OPROW("", "Softmax",              1,  12,         1, 1,   1, 1,   "w",    "axis:i=1", adapt_softmax, 0)
OPROW("", "Softmax",              13, OPSET_NOW,  1, 1,   1, 1,   "w",    "axis:i=-1", op_softmax, 0)
OPROW("", "SoftmaxCrossEntropyLoss", 12, OPSET_NOW,  2, 3,   1, 2,   "wi=",
      "ignore_index:i reduction:s{none|mean|sum}=mean", op_cross_entropy_loss, 0)
OPROW("", "Softplus",             1,  OPSET_NOW,  1, 1,   1, 1,   "w",    "", op_softplus, 0)
OPROW("", "Softsign",             1,  OPSET_NOW,  1, 1,   1, 1,   "w",    "", op_softsign, 0)
OPROW("", "SpaceToDepth",         1,  OPSET_NOW,  1, 1,   1, 1,   "a",
      "blocksize:i>=1! mode:s{DCR|CRD}=DCR", op_space_to_depth, 0)
OPROW("", "Split",                1,  1,          1, 2,   1, ANY, "ai",   "axis:i=0 split:I", adapt_split, 0)
OPROW("", "Split",                2,  12,         1, 1,   1, ANY, "a",    "axis:i=0 split:I", adapt_split, 0)
OPROW("", "Split",                13, OPSET_NOW,  1, 2,   1, ANY, "ai",   "axis:i=0 num_outputs:i>=1", op_split, 0)
OPROW("", "SplitToSequence",      11, OPSET_NOW,  1, 2,   1, 1,   "ai",   "axis:i=0 keepdims:i=1", op_split_to_sequence, 0)
OPROW("", "Sqrt",                 1,  OPSET_NOW,  1, 1,   1, 1,   "f",    OLD, op_unary, OP_SQRT)
OPROW("", "Squeeze",              1,  12,         1, 1,   1, 1,   "a",    "axes:I", adapt_axes, 0)
OPROW("", "Squeeze",              13, OPSET_NOW,  1, 2,   1, 1,   "ai",   "", op_squeeze, 0)
OPROW("", "StringConcat",         20, OPSET_NOW,  2, 2,   1, 1,   "zz",   "", op_string_concat, 0)
OPROW("", "StringNormalizer",     10, OPSET_NOW,  1, 1,   1, 1,   "z",
      "case_change_action:s{NONE|LOWER|UPPER}=NONE is_case_sensitive:i=0 locale:s stopwords:S", op_string_normalizer, 0)
OPROW("", "StringSplit",          20, OPSET_NOW,  1, 1,   2, 2,   "z",    "delimiter:s maxsplit:i>=0", op_string_split, 0)
OPROW("", "Sub",                  1,  6,          2, 2,   1, 1,   "n^",   BROADCAST, adapt_broadcast, 0)
OPROW("", "Sub",                  7,  OPSET_NOW,  2, 2,   1, 1,   "n^",   "", op_binary, OP_SUB)
OPROW("", "Sum",                  1,  OPSET_NOW,  1, ANY, 1, 1,   "n^",   OLD, op_variadic, OP_ADD)
OPROW("", "SwiGLU",               28, OPSET_NOW,  2, 2,   1, 1,   "w^",   "alpha:f=1", op_swiglu, 0)
OPROW("", "Swish",                24, OPSET_NOW,  1, 1,   1, 1,   "w",    "alpha:f=1", op_swish, 0)
OPROW("", "Tan",                  7,  OPSET_NOW,  1, 1,   1, 1,   "f",    "", op_unary, OP_TAN)
OPROW("", "Tanh",                 1,  OPSET_NOW,  1, 1,   1, 1,   "f",    OLD, op_unary, OP_TANH)
OPROW("", "TensorScatter",        24, OPSET_NOW,  2, 3,   1, 1,   "a=i",  "axis:i=-2 mode:s{linear|circular}=linear", op_tensor_scatter, 0)
OPROW("", "TfIdfVectorizer",      9,  OPSET_NOW,  1, 1,   1, 1,   "i",
      "max_gram_length:i>=1! max_skip_count:i>=0! min_gram_length:i>=1! mode:s{TF|IDF|TFIDF}! ngram_counts:I>=0! ngram_indexes:I>=0! "
      "pool_int64s:I pool_strings:S weights:F", op_tfidf_vectorizer, 0)
OPROW("", "ThresholdedRelu",      1,  OPSET_NOW,  1, 1,   1, 1,   "f",    "alpha:f=1", op_thresholded_relu, 0)
OPROW("", "Tile",                 1,  5,          3, 3,   1, 1,   "ann",  "", adapt_tile, 0)
OPROW("", "Tile",                 6,  OPSET_NOW,  2, 2,   1, 1,   "ai",   "", op_tile, 0)
OPROW("", "TopK",                 1,  9,          1, 1,   2, 2,   "n",    "axis:i=-1 k:i!", adapt_top_k, 0)
OPROW("", "TopK",                 10, OPSET_NOW,  2, 2,   1, 2,   "ni",   "axis:i=-1 largest:i=1 sorted:i=1", op_top_k, 0)
OPROW("", "Transpose",            1,  OPSET_NOW,  1, 1,   1, 1,   "a",    "perm:I", op_transpose, 0)
OPROW("com.microsoft", "TransposeMatMul", 1, OPSET_NOW, 2, 2, 1, 1, "n^",
      "alpha:f=1 transA:i=0 transB:i=0 transBatchA:i=0 transBatchB:i=0", op_fused_matmul, 0)
OPROW("ai.onnx.ml", "TreeEnsemble", 5, OPSET_NOW, 1, 1,   1, 1,   "f",
      "nodes_featureids:I! nodes_splits:t! nodes_hitrates:t nodes_modes:t! nodes_truenodeids:I! nodes_falsenodeids:I! nodes_trueleafs:I! "
      "nodes_falseleafs:I! nodes_missing_value_tracks_true:I tree_roots:I! membership_values:t leaf_targetids:I! leaf_weights:t! n_targets:i "
      "aggregate_function:i=1 post_transform:i=0", op_tree_ensemble, 0)
OPROW("ai.onnx.ml", "TreeEnsembleClassifier", 1, OPSET_NOW, 1, 1, 1, 2, "n", TREES
      " class_treeids:I class_nodeids:I class_ids:I class_weights:F class_weights_as_tensor:t classlabels_int64s:I classlabels_strings:S", op_tree_classifier, 0)
OPROW("ai.onnx.ml", "TreeEnsembleRegressor", 1, OPSET_NOW, 1, 1, 1, 1, "n", TREES
      " target_treeids:I target_nodeids:I target_ids:I target_weights:F target_weights_as_tensor:t n_targets:i aggregate_function:s{SUM|AVERAGE|MIN|MAX}=SUM",
      op_tree_regressor, 0)
OPROW("", "Trilu",                14, OPSET_NOW,  1, 2,   1, 1,   "ai",   "upper:i=1", op_trilu, 0)
OPROW("com.microsoft", "Trilu",   1,  OPSET_NOW,  1, 2,   1, 1,   "ai",   "upper:i=1", build_newest, 0)
OPROW("", "Unique",               11, OPSET_NOW,  1, 1,   1, 4,   "n",    "axis:i sorted:i=1", op_unique, 0)
OPROW("", "Unsqueeze",            1,  12,         1, 1,   1, 1,   "a",    "axes:I!", adapt_axes, 0)
OPROW("", "Unsqueeze",            13, OPSET_NOW,  2, 2,   1, 1,   "ai",   "", op_unsqueeze, 0)
OPROW("", "Upsample",             7,  8,          1, 1,   1, 1,   "n",
      "scales:F! mode:s{nearest|linear|bilinear}=nearest", adapt_upsample, 0)
OPROW("", "Upsample",             9,  9,          2, 2,   1, 1,   "nf",
      "mode:s{nearest|linear|bilinear}=nearest", adapt_upsample, 0)
OPROW("", "Where",                9,  OPSET_NOW,  3, 3,   1, 1,   "ba^",  "", op_where, 0)
OPROW("", "Xor",                  1,  6,          2, 2,   1, 1,   "b^",   BROADCAST, adapt_broadcast, 0)
OPROW("", "Xor",                  7,  OPSET_NOW,  2, 2,   1, 1,   "b^",   "", op_binary, OP_XOR)
OPROW("ai.onnx.ml", "ZipMap",     1,  OPSET_NOW,  1, 1,   1, 1,   "f",    "classlabels_int64s:I classlabels_strings:S", op_zip_map, 0)
/* clang-format on */
#undef OLD
#undef RECURRENT
#undef BROADCAST
#undef SLIDE
#undef CONV
#undef POOL
#undef RESIZE
#undef TRANSFORM
#undef TREES
#undef SVM
#undef LABELS
#undef EXPERTS
#undef DIFFUSION_NORM
