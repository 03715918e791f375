/* SPDX-License-Identifier: MIT */
/* frontends.h: the front ends. Each turns a user's file into a Graph. */
#ifndef TGC_FRONTENDS_H
#define TGC_FRONTENDS_H
#include "../compiler/ir/ir.h"
#include "common/interface.h"
#include "common/names.h"

/* STRING_BYTES: the default of --string-bytes. STRING_MOST: most bytes of a string in a model or in data */
enum { STRING_BYTES = 64, STRING_MOST = 1 << 16 };
/* From --dim batch=4; or from --dim total=past+seq, where sum is the text behind '=', and model_load finds the value */
typedef struct DimValue { const char *name; int64_t value; const char *sum; } DimValue;
/* From --dim seq=8:512:8@128. dim: index in LoadOptions.dims, where the value is the greatest size. typical 0: not given */
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
  const DimValue *dims;    /* Values of dimensions. "input:axis" counts even if the model fixes the dimension. For an open one,
                              further names are looked up in turn until one is found: the dim_param, "#input:axis", "#J:axis"
                              for input number J, "all". Entries whose names have # come from the shapes of
                              the user's data files. */
  int ndims;
  bool allow_hardlinks;    /* accept external data files with more than one hard link */
  bool unguarded;          /* do not set Graph.guarded: runs report no index out of range (--no-index-status) */
  const char *const *results; /* names of the outputs, which replace the model's own */
  int nresults;
  const char *command;     /* the user's command line, to which messages add options; NULL: unknown */
  const IoOptions *interface; /* changes of inputs and outputs; NULL: none */
  const char *part;        /* name of the file in the manifest's list of sources; NULL: the file is the model */
  bool any_dims;           /* accept dimensions and constants of names that no input has */
  int64_t string_bytes;    /* bytes reserved for each string of an input; 0: STRING_BYTES */
  int64_t capacity;        /* rows reserved for results whose size depends on data; 0: no --capacity */
  const DimRange *ranges;  /* the entries of dims that have a range of sizes (sized.h) */
  int nranges;
  SortedAxes *sorted;      /* for a range; NULL: no axis is known to be open */
} LoadOptions;

/* Each function reads a whole model and returns its graph, allocated in c->model. It fails through fail(), with EX_BADMODEL
 * (invalid, unsupported, over a limit) or EX_NOINPUT_. A batch without a size becomes 1, with a warning. Other dimensions without
 * a size are refused (common/open_dims.h). */
Graph *onnx_load(Ctx *c, const char *path, const LoadOptions *o);
Graph *text_load(Ctx *c, const char *path, const LoadOptions *o);

typedef struct OpForm {    /* an operator of a format, and the first and last version of its domain in which tgc reads it */
  const char *domain, *name;
  int since, until;
  const char *why;         /* reason why tgc does not read the operator; NULL: tgc reads it */
} OpForm;

typedef struct Frontend {
  const char *name, *suffix; /* suffix: of the paths of its files, such as ".tg" */
  Graph *(*load)(Ctx *c, const char *path, const LoadOptions *o);
  /* Gets operator number i of the list, which is sorted by name; operators that tgc does not read come last. Returns false if i
   * is beyond the list. NULL: the format has no versions of operators. */
  bool (*op)(int i, OpForm *form);
} Frontend;
bool onnx_op(int i, OpForm *form);
extern const Frontend frontends[];              /* a row whose name is NULL ends it */
/* Loads a model by the front end that has the path's suffix, or else as ONNX. Compacts the graph (ir_compact), so that equal
 * files give graphs with equal Refs. */
Graph *model_load(Ctx *c, const char *path, const LoadOptions *o);

/* Reads a file with an ONNX TensorProto, such as input_0.pb. The tensor lives in c->model; strings are refused. */
Tensor onnx_tensor_load(Ctx *c, const char *path);
/* The same for data of a run: types of fewer than eight bits and float8 become the types that a bundle's net_run takes */
Tensor onnx_data_load(Ctx *c, const char *path);
/* Reads a file with a sequence or an optional. out: its n tensors; n -1: an optional without an element. False: the file has a
 * tensor */
typedef struct DataList { Tensor *p; int n; } DataList;
bool onnx_list_load(Ctx *c, const char *path, DataList *out);
void onnx_tensor_save(const Tensor *t, const char *name, Sb *out);   /* appends t to out as a TensorProto with this name */

/* onnx/onnx_quantize.c: quantises a model of floats to 8 bits, by operators QuantizeLinear and DequantizeLinear. A layer is a
 * product or a sum that can be computed in 8 bits. */
typedef struct OnnxQuant OnnxQuant;             /* an opened model, in c->model; onnx_quant_close frees the rest of its memory */
/* name: unique among the layers. op: the ONNX operator. weights: number of weights, 0 for a sum */
typedef struct QuantLayer { const char *name, *op; int64_t weights; } QuantLayer;
OnnxQuant *onnx_quant_open(Ctx *c, const char *path, bool allow_hardlinks);
/* Returns the number of values that may be stored in 8 bits, and sets *names to their names. Calibration must observe the range
 * of each. */
size_t onnx_quant_values(const OnnxQuant *q, const char *const **names);
/* returns the number of layers, at least one, and sets *rows to the layers in the order of the model */
size_t onnx_quant_layers(const OnnxQuant *q, const QuantLayer **rows);
void onnx_quant_observe(OnnxQuant *q, Sb *out); /* writes the model with the values of onnx_quant_values as its outputs */
/* Writes the quantised model. range: least and greatest number in each value of onnx_quant_values, in this order. in8: for each
 * layer, whether it is computed in 8 bits; else it stays in floats. Returns the number of values in 8 bits. */
size_t onnx_quant_write(OnnxQuant *q, const float (*range)[2], const bool *in8, Sb *out);
/* Writes the switched model, which computes each layer in 8 bits and in floats. It has a further input, a switch, for each layer
 * and for each value; the switch selects 8 bits or floats. The outputs are those of the quantised model, except that sums may be
 * added in another order. */
void onnx_quant_switched(OnnxQuant *q, const float (*range)[2], Sb *out);
void onnx_quant_switches(const OnnxQuant *q, const bool *in8, bool *out); /* out: the values of the switches for the choice in8 */
void onnx_quant_close(OnnxQuant *q);            /* frees the memory that is not in c->model */
#endif
