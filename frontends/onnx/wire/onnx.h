/* SPDX-License-Identifier: MIT */
/* onnx.h: the records that the two halves of the ONNX front end share. The reading half (wire/) turns a file into these
 * records. The building half (core/, ops/) turns the records into a Graph. onnx.c calls both. Records have no types of protobuf.
 *
 * In the records, a value is a number (OnnxId) and not a name, so scopes and shadowing are settled. Files of external data are
 * read. Calls of the model's own functions are replaced by the functions' nodes (inlining). Nodes are in topological order. Every
 * tensor is a Tensor. The reader guarantees:
 *   - Each value has exactly one definition: a graph input, an initializer or one node output. An input with an initializer, its
 *     default value, is a constant and no input of the records.
 *   - Every input of a node and every output of a graph is defined, earlier in the order or in an enclosing graph.
 *   - Each attribute has a value of the declared kind. Names of attributes are unique within a node. Strings are UTF-8 without
 *     NUL.
 *   - Inputs of the main graph are tensors of a type that tgc supports, with a shape of at most MAX_RANK axes. An input may also
 *     be a sequence or an optional of such tensors, except strings. These tensors may lack a shape.
 * The building half checks that operators exist, and that their inputs and attributes make sense. The building half also
 * refuses values with more than USER_RANK axes. */
#ifndef TGC_ONNX_H
#define TGC_ONNX_H
#include "../../frontends.h"

enum { OPSET_NOW = 28 };      /* newest opset of ai.onnx that tgc reads; optable.h must have the rows up to this opset */

enum { USER_RANK = 8 };       /* largest rank of a value of the model; less than MAX_RANK, since builders add axes */

typedef uint32_t OnnxId;      /* index into OnnxModel.values; 0: an omitted optional input or output */

typedef struct OnnxDim {
  int64_t value;              /* >= 0; -1: not fixed */
  const char *param;          /* dim_param of a dimension that is not fixed; NULL: the model gives no name */
  int64_t negative;           /* the value that the model gives, if it is negative; else 0 */
} OnnxDim;

typedef enum { ON_NOTYPE, ON_TENSOR, ON_SEQUENCE, ON_MAP, ON_OPTIONAL, ON_SPARSE } OnnxTypeKind;
typedef struct OnnxType {     /* as declared; ON_NOTYPE: nothing is declared */
  OnnxTypeKind kind;
  OnnxTypeKind inside;        /* contents of a sequence or an optional: ON_TENSOR, or ON_SEQUENCE of tensors. The other fields
                                 then describe these tensors. ON_NOTYPE: other contents, or no sequence and no optional */
  int elem;                   /* TensorProto.DataType of ON_TENSOR and ON_SPARSE; 0: not given */
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
  size_t n;                   /* number of entries; 1 if kind is no list */
  union {                     /* a single value is an array of one: AT_FLOAT and AT_FLOATS use floats, and so on. Sparse tensors
                                 have no member, since no builder takes them */
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
  uint32_t index;             /* place in the file's main graph, from 0; a node of a body or of an inlined function has the index
                                 of the main graph's node around it */
  uint32_t nin, nout, nattr;
  const OnnxId *in, *out;     /* 0: omitted; nin and nout do not count omitted values at the end */
  const OnnxAttr *attr;
} OnnxNode;

struct OnnxGraph {            /* the main graph, or a body of an If, Loop or Scan */
  const char *name;
  uint32_t nin, nout, nnodes;
  const OnnxId *in;           /* in the main graph, the list lacks inputs that an initializer makes constant */
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
/* Reads the file into records. Fails with EX_BADMODEL, with EX_NOINPUT_, or with EX_USAGE_ if the options name a result that the
 * model lacks. The caller frees m->values, also after a failure; all other records lie in c->model. */
void onnx_read(Ctx *c, const char *path, const LoadOptions *o, OnnxModel *m);
static inline Pos onnx_pos(const OnnxNode *n) { return (Pos){ .node = n->text }; } /* position for messages */
const OnnxAttr *onnx_attr(const OnnxNode *n, const char *name); /* attr.c; NULL: the node has no such attribute */
const char *onnx_type_name(int elem);          /* name of a TensorProto.DataType, such as "float16"; NULL: no such type */

/* ---- cut.c ---- */
void onnx_cut(Ctx *c, OnnxModel *m);           /* removes nodes, results of nodes, and inputs that no output needs */
/* Turns results of nodes into inputs of the model: the results that `froms` names. types: a graph whose outputs of the same names
 * have the types and shapes of the new inputs. NULL: the types and shapes are as the model declares them. False: the model does
 * not declare all of them, and nothing is changed. Fails if no node of the main graph gives one of the results. */
bool onnx_start(Ctx *c, OnnxModel *m, const TextList *froms, const Graph *types);

/* ---- onnx.c ---- */
/* Turns the records into a graph. The options give dimensions without values their values. If operators are not supported, the
 * function reports all of them before it fails. */
Graph *onnx_build(Ctx *c, OnnxModel *m, const LoadOptions *o);
#endif
