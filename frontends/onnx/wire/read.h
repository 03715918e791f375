/* read.h: what the files share that turn a model's nodes into records: read.c, functions.c, order.c. */
#ifndef TGC_ONNX_READ_H
#define TGC_ONNX_READ_H
#include "pb.h"

typedef Onnx__NodeProto NodeProto;
typedef Onnx__GraphProto GraphProto;
typedef Onnx__AttributeProto AttrProto;

typedef struct Imports { /* opset versions by domain, of the model or of one function */
  uint32_t n;
  const OnnxImport *p;
} Imports;

/* ---- walking into the bodies of nodes' attributes ---- */

typedef struct Body {
  NodeProto **nodes;
  size_t n;
  const GraphProto *graph;
  bool entered;            /* its bodies lie above it */
} Body;
typedef VEC(Body) Bodies;  /* still to be walked; heap */

void push_bodies(Bodies *to, const NodeProto *n);

/* ---- functions.c: model-local functions ---- */

typedef struct Size {      /* of a list of nodes as it is after inlining */
  int64_t flat, total;     /* nodes in the list itself, and with all bodies below; INT64_MAX: that or more */
  uint32_t depth;          /* calls inside of each other */
} Size;

typedef struct Function {
  const Onnx__FunctionProto *p;
  const char *name, *domain, *overload;
  const char *text;        /* "function 'domain.name'", for messages */
  Imports imports;
  AttrProto **defaults;    /* of its attributes */
  size_t ndefaults;
  uint32_t next;           /* another one of the same name; index + 1 */
  uint32_t *order;         /* its nodes in order; NULL until first called */
  Size size;               /* of a call; its depth counts the function, too */
} Function;

typedef struct Functions {
  Ctx *c;
  Arena *scratch;          /* the functions; gone when reading ends */
  Function *p;
  uint32_t n;
  VEC(uint32_t) named;     /* by interned name: 1 + index of the first function */
  Bodies bodies;           /* of a walk */
} Functions;

Imports read_imports(Ctx *c, size_t n, Onnx__OperatorSetIdProto *const *p, const char *where);

/* Fails where functions call each other in a cycle or too deep, or main would become too many nodes. */
void functions_read(Functions *f, const Onnx__ModelProto *model);
void functions_free(Functions *f);
Function *function_of(const Functions *f, const NodeProto *call); /* NULL: it calls none */
Size inlined_size(Functions *f, NodeProto **nodes, size_t n);

/* ---- order.c ---- */

/* Element i needs need[start[i]] .. need[start[i + 1] - 1]. Writes 0 .. n-1 to order, each after what
 * it needs and otherwise as they come; returns 0. A cycle leaves its elements in order instead, and
 * its length is returned. */
uint32_t order_by_need(Arena *scratch, uint32_t n, const uint32_t *start, const uint32_t *need, uint32_t *order);
#endif
