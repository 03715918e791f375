/* SPDX-License-Identifier: MIT */
/* onnx.h: the records that the two halves of the ONNX front end share. The reading half (wire/) turns a file into these
 * records. The building half (core/, ops/) turns the records into a Graph. onnx.c calls both halves. Records use no types of
 * protobuf.
 *
 * In the records, a value is a number (OnnxId) and not a name, so no names have to be looked up in scopes. Files of external data
 * have been read. Calls of the model's own functions are replaced by the functions' nodes (inlining). Nodes are in topological
 * order. Initializers, and tensors in attributes, have the type Tensor of ir.h. The reading half guarantees:
 *   - Each value has exactly one definition: a graph input, an initializer, or an output of a node. If an initializer gives an
 *     input of the main graph a default value, the input is a constant in the records.
 *   - A node reads only values that are defined before the node: in the node's graph, or in an enclosing graph.
 *   - Each attribute has a value of the declared kind. Names of attributes are unique within a node. Names, and strings in
 *     attributes, are UTF-8 without NUL.
 *   - An input of the main graph is a tensor, a sequence or an optional. tgc supports the type of the elements. An input that
 *     is a tensor has a shape. Tensors in a sequence or an optional may lack a shape, and have no strings. Shapes have at most
 *     MAX_RANK axes.
 * The building half checks that tgc supports the operators, and that the inputs and attributes of each node fit the operator. The
 * building half also refuses values with more than USER_RANK axes. */
#ifndef TGC_ONNX_H
#define TGC_ONNX_H
#include "../../frontends.h"

enum { OPSET_NOW = 28 };      /* newest opset of ai.onnx that tgc reads; optable.h has the operators up to this opset */

enum { USER_RANK = 8 };       /* largest rank of a value of the model; less than MAX_RANK, since the building half adds axes */

typedef uint32_t OnnxId;      /* index into OnnxModel.values; 0: an omitted optional input or output */

typedef struct OnnxDim {
  int64_t value;              /* the extent, >= 0; -1: the model does not fix the extent */
  const char *param;          /* the name (dim_param) that the model gives in place of an extent; NULL: there is no name */
  int64_t negative;           /* the extent in the model, if that extent is negative; else 0 */
} OnnxDim;

typedef enum { ON_NOTYPE, ON_TENSOR, ON_SEQUENCE, ON_MAP, ON_OPTIONAL, ON_SPARSE } OnnxTypeKind;
typedef struct OnnxType {     /* the type that the model declares for a value */
  OnnxTypeKind kind;          /* ON_NOTYPE: the model declares no type */
  OnnxTypeKind inside;        /* for a sequence or an optional. ON_TENSOR: the value contains tensors. ON_SEQUENCE: an optional
                                 contains a sequence of tensors. In both cases, elem, rank and dims describe the tensors.
                                 ON_NOTYPE: the contents are something else, or the value is no sequence and no optional */
  int elem;                   /* type of the elements, as TensorProto.DataType; 0: not given */
  int rank;                   /* -1: no shape is given */
  const OnnxDim *dims;        /* by axis */
} OnnxType;

typedef struct OnnxValue {
  const char *name;           /* as in the model, for messages and manifests; not unique after inlining */
  const Tensor *init;         /* value of a constant; NULL: the value is computed, or is an input */
  OnnxType type;              /* the type that an input, an output or a value_info of the value's graph declares */
} OnnxValue;

typedef enum {                /* AttributeProto.AttributeType */
  AT_NONE, AT_FLOAT, AT_INT, AT_STRING, AT_TENSOR, AT_GRAPH, AT_FLOATS, AT_INTS, AT_STRINGS, AT_TENSORS, AT_GRAPHS,
  AT_SPARSE_TENSOR, AT_SPARSE_TENSORS, AT_TYPE_PROTO, AT_TYPE_PROTOS, AT_COUNT
} OnnxAttrKind;
extern const char *const onnx_attr_kind_name[AT_COUNT];  /* by kind: a name such as "float" or "list of ints" */

typedef struct OnnxGraph OnnxGraph;
typedef struct OnnxAttr {
  const char *name;
  OnnxAttrKind kind;
  size_t n;                   /* number of elements of the array in u; 1 if the kind is no list */
  union {                     /* the array of values. AT_FLOAT and AT_FLOATS use the member floats, and so on. There is no
                                 member for sparse tensors, since no builder takes sparse tensors */
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
  uint32_t index;             /* index of the node in the file's main graph, from 0. Nodes of a body, or of a function that
                                 is inlined, have the index of the main graph's node with this body or call */
  uint32_t nin, nout, nattr;
  const OnnxId *in, *out;     /* 0: an omitted input or output. The lists end with an input or output that is not omitted */
  const OnnxAttr *attr;
} OnnxNode;

struct OnnxGraph {            /* the main graph, or a body: a graph in an attribute of a node, such as an If, Loop or Scan */
  const char *name;
  uint32_t nin, nout, nnodes;
  const OnnxId *in;           /* inputs that an initializer makes constant are not in this list */
  const OnnxId *out;          /* a value may occur twice, and may be an input or a constant */
  OnnxNode *nodes;
};

typedef struct OnnxImport { const char *domain; int64_t version; } OnnxImport;

typedef struct OnnxModel {
  int64_t ir_version;
  uint32_t nimports;
  const OnnxImport *imports;  /* opset versions that the model imports */
  VEC(OnnxValue) values;      /* by OnnxId. The list is on the heap. values.p[0] is not used */
  OnnxGraph graph;
} OnnxModel;

/* ---- read.c ---- */
/* Reads the file into *m. Fails with EX_USAGE_ if o->results has a name that is no value of the model. Other failures are
 * EX_BADMODEL and EX_NOINPUT_. The caller frees m->values, also after a failure; all other records live in c->model. */
void onnx_read(Ctx *c, const char *path, const LoadOptions *o, OnnxModel *m);
static inline Pos onnx_pos(const OnnxNode *n) { return (Pos){ .node = n->text }; } /* the node's position, for messages */
const OnnxAttr *onnx_attr(const OnnxNode *n, const char *name); /* attr.c: the attribute with this name; NULL: none */
const char *onnx_type_name(int elem);          /* name of a TensorProto.DataType, such as "float16"; NULL: no such type */

/* ---- cut.c ---- */
void onnx_cut(Ctx *c, OnnxModel *m);           /* removes all nodes, results of nodes and inputs that no output needs */
/* Turns the values with the names in `froms` into inputs of the model, and returns true. Fails if a name in `froms` is not a
 * result of a node of the main graph. types: a graph whose outputs have the names in `froms`. Each new input gets the type and
 * shape of the output with the input's name. If `types` is NULL, each new input gets the type and shape that the model declares
 * for the value. If the model does not declare all of these, the function changes nothing, and returns false. */
bool onnx_start(Ctx *c, OnnxModel *m, const TextList *froms, const Graph *types);

/* ---- onnx.c ---- */
/* Turns the records into a graph. o->dims gives sizes to the dimensions that the model does not fix. If tgc does not support some
 * operators, the function reports all of these operators before it fails. */
Graph *onnx_build(Ctx *c, OnnxModel *m, const LoadOptions *o);
#endif
