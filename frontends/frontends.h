/* SPDX-License-Identifier: MIT */
/* frontends.h: the front ends. Each turns a user's file into a Graph. */
#ifndef TGC_FRONTENDS_H
#define TGC_FRONTENDS_H
#include "../compiler/ir/ir.h"
#include "common/interface.h"
#include "common/names.h"

/* STRING_BYTES: the default of --string-bytes. STRING_MOST: bytes of the longest string of a model or of data */
enum { STRING_BYTES = 64, STRING_MOST = 1 << 16 };
typedef struct DimValue { const char *name; int64_t value; } DimValue; /* from --dim batch=4 */
/* From --dim seq=8:512:8@128. dim: entry of LoadOptions.dims, whose value is the greatest size. typical 0: not given */
typedef struct DimRange {
  int dim;
  int64_t low, step, typical;
} DimRange;

typedef struct LoadOptions {
  const DimValue *dims;    /* Values of symbolic dimensions. These names are looked up in turn, and the first one found counts:
                              "input:axis", the dim_param, "#input:axis", "#J:axis" for input J, "all". Names with # give
                              the shapes of the user's data files. */
  int ndims;
  bool allow_hardlinks;    /* accept external data files with more than one hard link */
  bool unguarded;          /* do not set Graph.guarded */
  const char *const *results; /* names of the outputs, which replace the model's own */
  int nresults;
  const char *command;     /* the user's command line, to which messages add options; NULL: unknown */
  const IoOptions *interface; /* changes of inputs and outputs; NULL: none */
  const char *part;        /* name of the file in the manifest's list of sources; NULL: the model */
  bool any_dims;           /* accept values of dimensions and constants that are for no input */
  int64_t string_bytes;    /* bytes of a string of an input; 0: STRING_BYTES */
  int64_t capacity;        /* rows reserved for results whose size depends on data; 0: no --capacity */
  const DimRange *ranges;  /* the entries of dims that have a range of sizes (sized.h) */
  int nranges;
} LoadOptions;

/* Each reads a whole model and returns its graph, allocated in c->model. Failures go through fail(): EX_BADMODEL (invalid,
 * unsupported, over a limit) or EX_NOINPUT_. A batch without a size becomes 1, with a warning; other dimensions without a size
 * are refused (common/open_dims.h). */
Graph *onnx_load(Ctx *c, const char *path, const LoadOptions *o);
Graph *text_load(Ctx *c, const char *path, const LoadOptions *o);

typedef struct OpForm {    /* an operator of a format, and the first and last version of its domain in which tgc reads it */
  const char *domain, *name;
  int since, until;
  const char *why;         /* reason why tgc does not read the operator; NULL: tgc reads it */
} OpForm;

typedef struct Frontend {
  const char *name, *suffix;
  Graph *(*load)(Ctx *c, const char *path, const LoadOptions *o);
  /* Gets the i-th operator, sorted by name; unsupported ones come last. Returns false after the last. NULL: a format
   * without operator versions. */
  bool (*op)(int i, OpForm *form);
} Frontend;
bool onnx_op(int i, OpForm *form);
extern const Frontend frontends[];              /* .name NULL ends it; the suffix of the path decides, ONNX is the default */
/* Loads by the front end for the path's suffix, and compacts the graph (ir_compact): equal files give graphs with equal Refs. */
Graph *model_load(Ctx *c, const char *path, const LoadOptions *o);


/* ONNX TensorProto files (input_0.pb). The tensor lives in c->model; strings are refused. */
Tensor onnx_tensor_load(Ctx *c, const char *path);
Tensor onnx_data_load(Ctx *c, const char *path); /* the same, but types below eight bits and float8 become what net_run takes */
/* A file with a sequence or an optional: its tensors; n -1: an optional without an element. False: the file has a tensor */
typedef struct DataList { Tensor *p; int n; } DataList;
bool onnx_list_load(Ctx *c, const char *path, DataList *out);
void onnx_tensor_save(const Tensor *t, const char *name, Sb *out);   /* serialised TensorProto */

/* onnx/onnx_quantize.c: quantises a float model to 8 bits, by QuantizeLinear and DequantizeLinear. Lives in c->model. */
typedef struct OnnxQuant OnnxQuant;
/* A product or a sum that can be computed in 8 bits. name: unique among the layers; weights: number of weights, 0 for a sum */
typedef struct QuantLayer { const char *name, *op; int64_t weights; } QuantLayer;
OnnxQuant *onnx_quant_open(Ctx *c, const char *path, bool allow_hardlinks);
/* names of the values whose ranges calibration must observe */
size_t onnx_quant_values(const OnnxQuant *q, const char *const **names);
size_t onnx_quant_layers(const OnnxQuant *q, const QuantLayer **rows);   /* in the order of the model; at least one */
void onnx_quant_observe(OnnxQuant *q, Sb *out); /* writes the model with the values of onnx_quant_values as its outputs */
/* Writes the quantised model. range: least and greatest value of each observed value, in the order of the names. in8: layers that
 * are computed in 8 bits; the others stay in floats. Returns the number of values in 8 bits. */
size_t onnx_quant_write(OnnxQuant *q, const float (*range)[2], const bool *in8, Sb *out);
/* Writes a model that computes each layer in 8 bits and in floats. Further inputs, one for each layer and each value, select one
 * of the two. The model's outputs are those of the quantised model, except for the order of sums. */
void onnx_quant_switched(OnnxQuant *q, const float (*range)[2], Sb *out);
void onnx_quant_switches(const OnnxQuant *q, const bool *in8, bool *out); /* out: values of these inputs for the choice in8 */
void onnx_quant_close(OnnxQuant *q);
#endif
