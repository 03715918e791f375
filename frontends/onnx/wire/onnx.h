/* onnx.h: what the two halves of the ONNX front end share. The reading half (wire.c, read.c with
 * functions.c and order.c, attr.c, tensor.c) turns a file into the records below; the building half
 * (builder.c, args.c, results.c, adapt.c, b_*.c) turns them into a Graph; onnx.c is above both. No protobuf type passes this line.
 *
 * The records are what is left when names, files and functions are resolved: values are numbers, so
 * scopes and shadowing are settled; model-local functions are inlined; nodes are in topological
 * order; every tensor is a Tensor. What the reader guarantees:
 *   - each value has exactly one definition: a graph input, an initializer or one node output (an
 *     input may have an initializer too: its default, which the reader makes a constant)
 *   - every node input and graph output is defined, earlier in order or in an enclosing graph
 *   - attribute values have the kind they claim; names are unique within a node; strings are UTF-8
 *     without NUL
 *   - inputs of the main graph are tensors of a type tgc has, with rank <= MAX_RANK
 * Whether an operator exists and its arguments make sense is the builders' to say. */
#ifndef TGC_ONNX_H
#define TGC_ONNX_H
#include "../../frontends.h"

enum { OPSET_NOW = 28 };      /* newest opset of ai.onnx that is read and that optable.h has rows for */

typedef uint32_t OnnxId;      /* index into OnnxModel.values; 0: an omitted optional */

typedef struct OnnxDim {
  int64_t value;              /* >= 0, or -1: not fixed */
  const char *param;          /* dim_param when not fixed; NULL: neither is given */
  int64_t negative;           /* what the model says for an extent though none is negative; else 0 */
} OnnxDim;

typedef enum { ON_NOTYPE, ON_TENSOR, ON_SEQUENCE, ON_MAP, ON_OPTIONAL, ON_SPARSE } OnnxTypeKind;
typedef struct OnnxType {     /* as declared; ON_NOTYPE: nothing is declared */
  OnnxTypeKind kind;
  int elem;                   /* TensorProto.DataType of ON_TENSOR and ON_SPARSE; 0: not given */
  int rank;                   /* -1: no shape is given */
  const OnnxDim *dims;        /* rank entries */
} OnnxType;

typedef struct OnnxValue {
  const char *name;           /* as in the model, for messages and manifests; not unique after inlining */
  const Tensor *init;         /* the constant it is; NULL: computed or an input */
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
  size_t n;                   /* entries: 1 unless kind is a list */
  union {                     /* AT_FLOAT and AT_FLOATS share floats, and so on */
    const float *floats;
    const int64_t *ints;
    const Bytes *strings;     /* NUL-terminated, UTF-8 */
    const Tensor *tensors;
    OnnxGraph *const *graphs;
    const OnnxType *types;    /* sparse tensors have no value here: no builder takes them */
  } u;
} OnnxAttr;

typedef struct OnnxNode {
  const char *op, *domain;    /* domain "" is ai.onnx */
  const char *name;           /* may be "" */
  const char *text;           /* "node 17 'conv1' (Conv, opset 11)", for ir_origin */
  int64_t opset;              /* version of domain in force here; 0: the domain is not imported */
  uint32_t index;             /* place in the file; an inlined node has its caller's */
  uint32_t nin, nout, nattr;
  const OnnxId *in, *out;     /* 0: left out; trailing zeros are cut */
  const OnnxAttr *attr;
} OnnxNode;

struct OnnxGraph {            /* the main graph, or a body of If, Loop, Scan */
  const char *name;
  uint32_t nin, nout, nnodes;
  const OnnxId *in;           /* main graph: without those an initializer makes constant */
  const OnnxId *out;          /* may repeat, may be inputs or constants */
  OnnxNode *nodes;
};

typedef struct OnnxImport { const char *domain; int64_t version; } OnnxImport;

typedef struct OnnxModel {
  int64_t ir_version;
  uint32_t nimports;
  const OnnxImport *imports;  /* of the model; nodes carry their own version */
  VEC(OnnxValue) values;      /* [0] unused; heap */
  OnnxGraph graph;
} OnnxModel;

/* ---- read.c: the file as records; fails with EX_BADMODEL or EX_NOINPUT_. m->values
 * is the caller's to free (also after a failure), all the rest lies in c->model ---- */
void onnx_read(Ctx *c, const char *path, const LoadOptions *o, OnnxModel *m);
static inline Pos onnx_pos(const OnnxNode *n) { return (Pos){ .node = n->text }; }
const OnnxAttr *onnx_attr(const OnnxNode *n, const char *name); /* attr.c; NULL: absent */
const char *onnx_type_name(int elem);          /* "float16" of a TensorProto.DataType; "type 99" has no name: NULL */

/* ---- small_types.c ---- */
typedef struct Narrow {       /* a type of ONNX that has none of its own here */
  int onnx;
  DType kept;                 /* the type its values are kept in */
  int bits, mantissa, least;  /* least: exponent of the least number whose mantissa is whole */
  double greatest;
  /* neither NaN nor infinities; NaN; both; NaN in place of -0 */
  enum { NARROW_NONE, NARROW_NAN, NARROW_INF, NARROW_UNSIGNED } special;
} Narrow;
const Narrow *narrow_type(int onnx);           /* NULL: it is none of them */
double narrow_value(const Narrow *t, unsigned bits);

/* ---- cut.c: leaves out nodes and inputs that no output needs ---- */
void onnx_cut(Ctx *c, OnnxModel *m);

/* ---- onnx.c: records to a graph. Gives symbolic dimensions their values, lists all unsupported
 * operators before it fails ---- */
Graph *onnx_build(Ctx *c, OnnxModel *m, const LoadOptions *o);
#endif
