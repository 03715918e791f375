/* SPDX-License-Identifier: MIT */
/* frontends.h: the front ends. A front end turns a user's file into a Graph. */
#ifndef TGC_FRONTENDS_H
#define TGC_FRONTENDS_H
#include "../compiler/ir/ir.h"
#include "common/interface.h"
#include "common/names.h"

/* STRING_BYTES: the default of --string-bytes. STRING_MOST: most bytes of a string in a model or in data */
enum { STRING_BYTES = 64, STRING_MOST = 1 << 16 };
/* From --dim batch=4; or from --dim total=past+seq, where sum is the text behind '=', and model_load finds the value */
typedef struct DimValue { const char *name; int64_t value; const char *sum; } DimValue;
/* A range of sizes, from --dim seq=8:512:8@128. dim: index in LoadOptions.dims; the value there is the greatest size.
 * typical 0: not given */
typedef struct DimRange {
  int dim;
  int64_t low, step, typical;
} DimRange;

/* The axes along which a model sorts, in the order in which it is read. The form of a sort depends on the extent of its axis, but
 * all sizes of a range need one form. So sized.c reads the model for several sizes first, and notes which extents differ. */
typedef struct SortedAxis { int64_t extent; bool open; } SortedAxis;
typedef struct SortedAxes {
  VEC(SortedAxis) all;
  size_t at;               /* number of the next axis */
} SortedAxes;

typedef struct LoadOptions {
  /* Sizes of dimensions, from the user. A dimension of an input may have several names. The names are looked up in this order:
   * 1. "INPUT:AXIS". This name counts even if the model fixes the dimension; the other names only set dimensions without a size.
   * 2. the name in the model (ONNX: dim_param)
   * 3. "#INPUT:AXIS", or "#J:AXIS" for input number J. The # marks sizes from the shapes of the user's data files.
   * 4. the names with # of other dimensions that have the same name in the model
   * 5. "all"
   * Names with "#list:" are for sequences and optionals (onnx/core/lists.c). */
  const DimValue *dims;
  int ndims;
  bool allow_hardlinks;    /* accept external data files with more than one hard link */
  bool unguarded;          /* do not set Graph.guarded: runs report no index out of range (--no-index-status) */
  const char *const *results; /* names of the values that become the outputs, in place of the outputs of the model */
  int nresults;
  const char *command;     /* the user's command line, which messages repeat with further options; NULL: not known */
  const IoOptions *interface; /* changes of inputs and outputs; NULL: none */
  const char *part;        /* if the file is a prologue or an epilogue: its name in the manifest; NULL: the file is the model */
  bool any_dims;           /* accept `dims` and constants of `interface` that belong to no input */
  int64_t string_bytes;    /* bytes reserved for each string of an input; 0: STRING_BYTES */
  int64_t capacity;        /* rows reserved for results whose size depends on data; 0: no --capacity */
  const DimRange *ranges;  /* the entries of dims that have a range of sizes (sized.h) */
  int nranges;
  SortedAxes *sorted;      /* for a range; NULL: no axis is known to be open */
} LoadOptions;

/* Each of these two functions reads a model and returns its graph, which lives in c->model. On failure, the function calls fail()
 * with EX_BADMODEL (invalid, unsupported, over a limit), EX_NOINPUT_, or EX_USAGE_ (an option does not fit the model). A batch
 * without a size becomes 1, with a warning. Other dimensions without a size are refused (common/open_dims.h). */
Graph *onnx_load(Ctx *c, const char *path, const LoadOptions *o);
Graph *text_load(Ctx *c, const char *path, const LoadOptions *o);

typedef struct OpForm {    /* an operator of a format. tgc reads the operator in the versions `since` to `until` of its domain */
  const char *domain, *name;
  int since, until;
  const char *why;         /* reason why tgc does not read the operator; NULL: tgc reads it */
} OpForm;

typedef struct Frontend {
  const char *name, *suffix; /* suffix: end of the paths of files in this format, such as ".tg" */
  Graph *(*load)(Ctx *c, const char *path, const LoadOptions *o);
  /* Sets *form to operator number i of a list. The list is sorted by name; operators that tgc does not read come last. Returns
   * false if the list has no operator number i. The pointer is NULL if the format has no versions of operators. */
  bool (*op)(int i, OpForm *form);
} Frontend;
bool onnx_op(int i, OpForm *form);
extern const Frontend frontends[];              /* a row whose name is NULL ends the list */
/* Loads a model by the front end whose suffix the path has, or else as ONNX. Applies o->interface. Compacts the graph
 * (ir_compact), so that equal files give graphs with equal Refs. */
Graph *model_load(Ctx *c, const char *path, const LoadOptions *o);

/* Reads a file with an ONNX TensorProto, such as input_0.pb. The tensor lives in c->model; strings are refused. */
Tensor onnx_tensor_load(Ctx *c, const char *path);
/* Reads such a file as data of a run, in the types that the run function of a bundle takes. Types of fewer than eight bits, and
 * float8, become bytes. Strings become rows of bytes. */
Tensor onnx_data_load(Ctx *c, const char *path);
/* Reads a file with a sequence or an optional. out: the n tensors in the file; n -1: an optional without an element. Returns
 * false if the file has a tensor instead. */
typedef struct DataList { Tensor *p; int n; } DataList;
bool onnx_list_load(Ctx *c, const char *path, DataList *out);
void onnx_tensor_save(const Tensor *t, const char *name, Sb *out);   /* appends t to out as a TensorProto with this name */

/* onnx/onnx_quantize.c: quantises a model of floats to 8 bits, by operators QuantizeLinear and DequantizeLinear. A layer is a
 * product or a sum that can be computed in 8 bits. */
typedef struct OnnxQuant OnnxQuant;             /* an opened model, in c->model; onnx_quant_close frees the rest of its memory */
/* name: unique among the layers. op: the ONNX operator. weights: number of weights; 0 for a sum */
typedef struct QuantLayer { const char *name, *op; int64_t weights; } QuantLayer;
OnnxQuant *onnx_quant_open(Ctx *c, const char *path, bool allow_hardlinks); /* fails if the model has no layer */
/* Returns the number of values that may be stored in 8 bits, and sets *names to the names of these values. The caller must
 * observe the range of each of these values on sample inputs. */
size_t onnx_quant_values(const OnnxQuant *q, const char *const **names);
/* Returns the number of layers, at least one, and sets *rows to the layers in the order of the model. */
size_t onnx_quant_layers(const OnnxQuant *q, const QuantLayer **rows);
void onnx_quant_observe(OnnxQuant *q, Sb *out); /* appends the model to out, with the values of
                                                   onnx_quant_values as its outputs */
/* Appends the quantised model to out. range: the least and the greatest number in each value of onnx_quant_values, in the same
 * order. in8: for each layer, whether it is computed in 8 bits or in floats. Returns the number of values in 8 bits. */
size_t onnx_quant_write(OnnxQuant *q, const float (*range)[2], const bool *in8, Sb *out);
/* Appends the switched model to out. This model computes each layer in 8 bits and in floats. For each layer, and for each value
 * of onnx_quant_values, the model has a further input, a switch, which selects 8 bits or floats. With the switches of
 * onnx_quant_switches for in8, the outputs are those of the model that onnx_quant_write makes for in8. Only the order in which
 * sums are added may differ. */
void onnx_quant_switched(OnnxQuant *q, const float (*range)[2], Sb *out);
/* Fills in `out` with the switches for in8 (as in onnx_quant_write): first those of the layers, then those of the values. */
void onnx_quant_switches(const OnnxQuant *q, const bool *in8, bool *out);
void onnx_quant_close(OnnxQuant *q);            /* frees the memory that is not in c->model */
#endif
