/* SPDX-License-Identifier: MIT */
/* frontends.h: the front ends. A front end turns a user's file into a Graph. */
#ifndef TGC_FRONTENDS_H
#define TGC_FRONTENDS_H
#include "../compiler/ir/ir.h"
#include "common/interface.h"
#include "common/names.h"

/* STRING_BYTES: the default of --string-bytes. STRING_MOST: most bytes of a string in a model or in data */
enum { STRING_BYTES = 64, STRING_MOST = 1 << 16 };
/* The size of a dimension, for example from --dim batch=4 or from --dim total=past+seq. sum: the text past+seq, from which
 * model_load computes the size; NULL: `value` is the size */
typedef struct DimValue { const char *name; int64_t value; const char *sum; } DimValue;
/* A range of sizes. For --dim seq=8:512:8@128, `low` and `step` are 8, and `typical` is 128. The greatest size, 512, is the value
 * of LoadOptions.dims[dim]. typical 0: the user gives no typical size */
typedef struct DimRange {
  int dim;
  int64_t low, step, typical;
} DimRange;

/* Some numbers decide which nodes a front end builds. Examples are the extent of an axis that is sorted, and the factor of a
 * Resize. But one graph must serve all sizes of a range. So sized.c first reads the model for several sizes, to find the numbers
 * that differ. number: the number when the model was first read. most: the greatest number of all readings. open: the number
 * differs between readings. all: the numbers in the order in which a front end meets them */
typedef struct FormNumber { int64_t number, most; bool open; } FormNumber;
typedef struct FormNumbers {
  VEC(FormNumber) all;
  size_t at;               /* index in `all` of the next number, while a front end reads the model */
  bool again;              /* numbers behind the condition of an If are about one of its branches: read the model again */
} FormNumbers;

typedef struct LoadOptions {
  /* Sizes of dimensions, from the user. A dimension of an input may have several names. The names are looked up in this order:
   * 1. "INPUT:AXIS". This name counts even if the model fixes the dimension; the other names only set dimensions without a size.
   * 2. the name in the model (ONNX: dim_param)
   * 3. "#INPUT:AXIS", or "#J:AXIS" for input number J. The # marks sizes from the shapes of the user's data files.
   * 4. if the model gives several dimensions one name: "#INPUT:AXIS" or "#J:AXIS" of any other dimension with this name
   * 5. "all"
   * Names with "#list:" are for sequences and optionals (onnx/core/lists.c). */
  const DimValue *dims;
  int ndims;
  bool allow_hardlinks;    /* accept external data files with more than one hard link */
  bool unguarded;          /* runs do not report indices that are out of range (--no-index-status) */
  const char *const *results; /* names of the values that become the outputs, in place of the outputs of the model */
  int nresults;
  const char *command;     /* the user's command line, to which messages append further options; NULL: not known */
  const IoOptions *interface; /* changes of inputs and outputs; NULL: none */
  const char *part;        /* for a prologue or an epilogue: the file's name in the manifest; NULL: the file is the model */
  bool any_dims;           /* accept `dims` and constants of `interface` that belong to no input */
  int64_t string_bytes;    /* bytes reserved for each string of an input; 0: STRING_BYTES */
  int64_t capacity;        /* rows reserved for each result whose size depends on data; 0: --capacity is not given */
  const DimRange *ranges;  /* a range for each dimension whose size may differ from run to run (sized.h) */
  int nranges;
  FormNumbers *forms;      /* sized_load sets this field; NULL: the graph is for one size of each dimension */
} LoadOptions;

/* onnx_load and text_load read a model, and return the graph of the model. They fail with EX_BADMODEL if the model is invalid,
 * unsupported or over a limit. They fail with EX_NOINPUT_ if a file cannot be read, and with EX_USAGE_ if an option does not fit
 * the model. If neither the model nor the options give the size of the batch, this size becomes 1, with a warning. Any other
 * dimension without a size is refused (common/open_dims.h). */
Graph *onnx_load(Ctx *c, const char *path, const LoadOptions *o);
Graph *text_load(Ctx *c, const char *path, const LoadOptions *o);

typedef struct OpForm {    /* an operator of a file format */
  const char *domain, *name;
  int since, until;        /* tgc reads the operator in the versions `since` to `until` of the domain */
  const char *why;         /* reason why tgc does not read the operator; NULL: tgc reads it */
} OpForm;

typedef struct Frontend {
  const char *name, *suffix; /* suffix: end of the paths of files in this format, such as ".tg" */
  Graph *(*load)(Ctx *c, const char *path, const LoadOptions *o);
  /* Sets *form to operator number i of the format. Operators that tgc reads come first, sorted by name. Operators that tgc
   * refuses follow. Returns false if there is no operator number i. The pointer `op` is NULL if operators of the format have no
   * versions. */
  bool (*op)(int i, OpForm *form);
} Frontend;
bool onnx_op(int i, OpForm *form);
extern const Frontend frontends[];              /* a row whose name is NULL ends the list */
/* Loads the model at `path` with the front end whose suffix is the end of `path`. If no suffix fits, the model is read as ONNX.
 * Then changes the inputs and outputs as o->interface says. Returns the graph that ir_compact makes, so that equal models give
 * graphs with equal Refs. Fails as onnx_load does. */
Graph *model_load(Ctx *c, const char *path, const LoadOptions *o);

/* Reads a file with an ONNX TensorProto, such as input_0.pb. The elements live in c->model. A string becomes a row of bytes. */
Tensor onnx_tensor_load(Ctx *c, const char *path);
/* As onnx_tensor_load, but gives the elements the type that the run function of a bundle takes. A float8, or an element with
 * fewer than eight bits, becomes a byte. The byte of an integer has the integer's value, and the byte of a float
 * has the float's bits. */
Tensor onnx_data_load(Ctx *c, const char *path);
/* Reads a file with an ONNX SequenceProto or OptionalProto. Sets *out to the n tensors in the file; n is -1 for an optional
 * without an element. Returns false if the file has neither a sequence nor an optional. */
typedef struct DataList { Tensor *p; int n; } DataList;
bool onnx_list_load(Ctx *c, const char *path, DataList *out);
void onnx_tensor_save(const Tensor *t, const char *name, Sb *out);   /* appends t to out as a TensorProto with this name */

/* onnx/onnx_quantize.c: quantises a model of floats to 8 bits, by operators QuantizeLinear and DequantizeLinear. A layer is a
 * product or a sum that can be computed in 8 bits. */
typedef struct OnnxQuant OnnxQuant;             /* an opened model, which onnx_quant_close closes */
/* name: unique among the layers. op: the ONNX operator. weights: number of weights; 0 for a sum */
typedef struct QuantLayer { const char *name, *op; int64_t weights; } QuantLayer;
OnnxQuant *onnx_quant_open(Ctx *c, const char *path, bool allow_hardlinks); /* fails if the model has no layer */
/* Returns the number of values that may be stored in 8 bits, and sets *names to the names of these values. The caller must
 * observe the range of each of these values on sample inputs. */
size_t onnx_quant_values(const OnnxQuant *q, const char *const **names);
/* Returns the number of layers, at least one, and sets *rows to the layers in the order of the model. */
size_t onnx_quant_layers(const OnnxQuant *q, const QuantLayer **rows);
void onnx_quant_observe(OnnxQuant *q, Sb *out); /* appends to out a copy of the model in which the
                                                   values of onnx_quant_values are the outputs */
/* Appends the quantised model to out. range[i]: the least and the greatest number that value i of onnx_quant_values has on the
 * sample inputs. in8[i]: whether layer i of onnx_quant_layers is computed in 8 bits; otherwise the layer stays in floats. Returns
 * the number of values that the quantised model stores in 8 bits. */
size_t onnx_quant_write(OnnxQuant *q, const float (*range)[2], const bool *in8, Sb *out);
/* Appends the switched model to out. This model computes each layer twice: in 8 bits and in floats. The model has a further
 * input, called a switch, for each layer and for each value of onnx_quant_values. A switch is a bool: true selects 8 bits, and
 * false selects floats. range: as in onnx_quant_write */
void onnx_quant_switched(OnnxQuant *q, const float (*range)[2], Sb *out);
/* Sets out[] to the switches with which the switched model computes what the model of onnx_quant_write computes for in8. Only the
 * order in which the terms of a sum are added may differ. The switches of the layers come first, then those of the values. */
void onnx_quant_switches(const OnnxQuant *q, const bool *in8, bool *out);
void onnx_quant_close(OnnxQuant *q);            /* frees the memory of q that is outside of c->model */
#endif
