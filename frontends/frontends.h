/* frontends.h: what turns a user's file into a Graph. */
#ifndef TGC_FRONTENDS_H
#define TGC_FRONTENDS_H
#include "../compiler/ir/ir.h"
#include "common/names.h"

typedef struct DimValue { const char *name; int64_t value; } DimValue; /* --dim batch=4 */

typedef struct LoadOptions {
  const DimValue *dims;    /* values of symbolic dimensions, by dim_param name, or "input:axis"; and as the
                              data at hand has them, "#input:axis" or "#J:axis" of input J: used where nothing else counts */
  int ndims;
  bool allow_hardlinks;    /* external data files with more than one link */
  bool unguarded;          /* no Graph.guarded */
  const char *const *results; /* the outputs, by name, in place of the model's own */
  int nresults;
  int64_t capacity;        /* rows of results whose size depends on data; 0: there are none such */
} LoadOptions;

/* Each reads a whole model and returns its graph, allocated in c->model; failures go through fail()
 * with EX_BADMODEL (invalid, unsupported, over a limit) or EX_NOINPUT_. Symbolic dimensions without
 * a value become 1 with one warning that names the flag. */
Graph *onnx_load(Ctx *c, const char *path, const LoadOptions *o);
Graph *text_load(Ctx *c, const char *path, const LoadOptions *o);

typedef struct OpForm {    /* an operator of a format, and the versions of its domain that tgc reads it in */
  const char *domain, *name;
  int since, until;
  const char *why;         /* it is not read, for this reason; else NULL */
} OpForm;

typedef struct Frontend {
  const char *name, *suffix;
  Graph *(*load)(Ctx *c, const char *path, const LoadOptions *o);
  /* the i-th operator, sorted by name, those that are not read last; false: no more; NULL: a format without versions */
  bool (*op)(int i, OpForm *form);
} Frontend;
bool onnx_op(int i, OpForm *form);
extern const Frontend frontends[];              /* .name NULL ends it; picked by suffix, ONNX otherwise */
/* By the front end that the path's suffix picks, compacted (ir_compact): equal files give equal graphs, Ref for Ref */
Graph *model_load(Ctx *c, const char *path, const LoadOptions *o);

/* ONNX TensorProto files (input_0.pb): the tensor lives in c->model; strings are refused */
Tensor onnx_tensor_load(Ctx *c, const char *path);
void onnx_tensor_save(const Tensor *t, const char *name, Sb *out);   /* serialised TensorProto */

/* quantize.c: a float model in 8 bits, with QuantizeLinear and DequantizeLinear (onnx/quantize.c). Lives in c->model. */
typedef struct OnnxQuant OnnxQuant;
OnnxQuant *onnx_quant_open(Ctx *c, const char *path, bool allow_hardlinks);
size_t onnx_quant_values(const OnnxQuant *q, const char *const **names); /* whose ranges are wanted */
void onnx_quant_observe(OnnxQuant *q, Sb *out);                          /* the model with these values as its outputs */
/* the model in 8 bits; range: least and greatest of each of the values, in their order */
void onnx_quant_write(OnnxQuant *q, const float (*range)[2], Sb *out);
void onnx_quant_close(OnnxQuant *q);
#endif
