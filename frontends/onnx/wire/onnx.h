/* SPDX-License-Identifier: MIT */
/* onnx.h: the records that the two halves of the ONNX front end share. The reading half (wire/) turns a file into these
 * records. The building half (core/, ops/) turns the records into a Graph. onnx.c calls both halves. Records use no types of
 * protobuf.
 *
 * In the records, a value is a number (OnnxId) and not a name, so no names have to be looked up in scopes. Files of external data
 * have been read. Calls of the model's own functions are replaced by the functions' nodes (inlining). Nodes are in topological
 * order. Every tensor is a Tensor. The reading half guarantees:
 *   - Each value has exactly one definition: a graph input, an initializer, or an output of a node. An initializer may give an
 *     input a default value. In the records, such an input is a constant and no input.
 *   - Every input of a node and every output of a graph is defined before its use or in an enclosing graph.
 *   - Each attribute has a value of the declared kind. Names of attributes are unique within a node. Strings are UTF-8 without
 *     NUL.
 *   - An input of the main graph is a tensor of a type that tgc supports, with a shape of at most MAX_RANK axes. An input may
 *     also be a sequence or an optional of such tensors, but not of strings; then the tensors may lack a shape.
 * The building half checks that operators exist, and that their inputs and attributes make sense. The building half also
 * refuses values with more than USER_RANK axes. */
#ifndef TGC_ONNX_H
#define TGC_ONNX_H
#include "../../frontends.h"

enum { OPSET_NOW = 28 };      /* newest opset of ai.onnx that tgc reads; optable.h has the operators up to this opset */

enum { USER_RANK = 8 };       /* largest rank of a value of the model; less than MAX_RANK, since the building half adds axes */

typedef uint32_t OnnxId;      /* index into OnnxModel.values; 0: an omitted optional input or output */

typedef struct OnnxDim {
  int64_t value;              /* >= 0; -1: not fixed */
  const char *param;          /* dim_param of a dimension that is not fixed; NULL: the model gives no name */
  int64_t negative;           /* the value that the model gives, if it is negative; else 0 */
} OnnxDim;

typedef enum { ON_NOTYPE, ON_TENSOR, ON_SEQUENCE, ON_MAP, ON_OPTIONAL, ON_SPARSE } OnnxTypeKind;
typedef struct OnnxType {     /* as declared; ON_NOTYPE: nothing is declared */
  OnnxTypeKind kind;
  OnnxTypeKind inside;        /* contents of a sequence or an optional: ON_TENSOR, or ON_SEQUENCE of tensors. In both cases
                                 the other fields describe the tensors. ON_NOTYPE: other contents, or `kind` is neither a
                                 sequence nor an optional */
  int elem;                   /* type of elements, as TensorProto.DataType; 0: not given */
  int rank;                   /* -1: no shape is given */
  const OnnxDim *dims;        /* rank entries */
} OnnxType;

typedef struct OnnxValue {
  const char *name;           /* as in the model, for messages and manifests; not unique after inlining */
  const Tensor *init;         /* value of a constant; NULL: the value is computed, or is an input */
  OnnxType type;              /* from value_info, graph inputs and outputs */
} OnnxValue;

typedef enum {                /* AttributeProto.AttributeType */
  AT_NONE, AT_FLOAT, AT_INT, AT_STRING, AT_TENSOR, AT_GRAPH, AT_FLOATS, AT_INTS, AT_STRINGS, AT_TENSORS, AT_GRAPHS,
  AT_SPARSE_TENSOR, AT_SPARSE_TENSORS, AT_TYPE_PROTO, AT_TYPE_PROTOS, AT_COUNT
} OnnxAttrKind;
extern const char *const onnx_attr_kind_name[AT_COUNT];  /* "float", "list of ints" */

typedef struct OnnxGraph OnnxGraph;
typedef struct OnnxAttr {
  const char *name;
  OnnxAttrKind kind;
  size_t n;                   /* number of elements of the array in u; 1 if kind is no list */
  union {                     /* an array. AT_FLOAT and AT_FLOATS use the member floats, and so on. Sparse tensors have no
                                 member, since no builder takes them */
    const float *floats;
    const int64_t *ints;
    const Bytes *strings;     /* NUL-terminated, UTF-8 */
    const Tensor *tensors;
    OnnxGraph *const *graphs;
    const OnnxType *types;
  } u;
} OnnxAttr;

typedef struct OnnxNode {
  const char *op, *domain;    /* domain "" is ai.onnx */
  const char *name;           /* may be "" */
  const char *text;           /* "node 17 'conv1' (Conv, opset 11)": names the node in messages and reports */
  int64_t opset;              /* opset version of the domain for this node; 0: the domain is not imported */
  uint32_t index;             /* index of the node in the file's main graph, from 0. A node of a body or of an inlined function
                                 has the index of the main graph's node that contains it */
  uint32_t nin, nout, nattr;
  const OnnxId *in, *out;     /* 0: omitted. Omitted values at the end are left out of the lists */
  const OnnxAttr *attr;
} OnnxNode;

struct OnnxGraph {            /* the main graph, or a body of an If, Loop or Scan */
  const char *name;
  uint32_t nin, nout, nnodes;
  const OnnxId *in;           /* in the main graph, without inputs that an initializer makes constant */
  const OnnxId *out;          /* a value may occur twice, and may be an input or a constant */
  OnnxNode *nodes;
};

typedef struct OnnxImport { const char *domain; int64_t version; } OnnxImport;

typedef struct OnnxModel {
  int64_t ir_version;
  uint32_t nimports;
  const OnnxImport *imports;  /* opset versions that the model imports */
  VEC(OnnxValue) values;      /* by OnnxId; [0] is not used. On the heap */
  OnnxGraph graph;
} OnnxModel;

/* ---- read.c ---- */
/* Reads the file into records. Fails with EX_BADMODEL or EX_NOINPUT_. Fails with EX_USAGE_ if the options name a result that the
 * model lacks. The caller frees m->values, also after a failure; all other records live in c->model. */
void onnx_read(Ctx *c, const char *path, const LoadOptions *o, OnnxModel *m);
static inline Pos onnx_pos(const OnnxNode *n) { return (Pos){ .node = n->text }; } /* position for messages */
const OnnxAttr *onnx_attr(const OnnxNode *n, const char *name); /* attr.c; NULL: the node has no such attribute */
const char *onnx_type_name(int elem);          /* name of a TensorProto.DataType, such as "float16"; NULL: no such type */

/* ---- cut.c ---- */
void onnx_cut(Ctx *c, OnnxModel *m);           /* removes all nodes, results of nodes and inputs that no output needs */
/* Turns values into inputs of the model. `froms` has the names of these values. types: a graph with outputs of the same names,
 * which give the inputs their types and shapes. If `types` is NULL, the types and shapes are those that the model declares. If
 * the model does not declare all of these, returns false and changes nothing. Fails if a name in `froms` is not a result of a
 * node of the main graph. */
bool onnx_start(Ctx *c, OnnxModel *m, const TextList *froms, const Graph *types);

/* ---- onnx.c ---- */
/* Turns the records into a graph. o->dims has the sizes of dimensions without a size. If operators are not supported, the
 * function reports all of them before it fails. */
Graph *onnx_build(Ctx *c, OnnxModel *m, const LoadOptions *o);
#endif
