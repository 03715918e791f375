/* SPDX-License-Identifier: MIT */
/* read.h: internal to the files that turn a model's nodes into records: read.c, functions.c, order.c. */
#ifndef TGC_ONNX_READ_H
#define TGC_ONNX_READ_H
#include "pb.h"

typedef Onnx__NodeProto NodeProto;
typedef Onnx__GraphProto GraphProto;
typedef Onnx__AttributeProto AttrProto;

typedef struct Imports { /* opset versions by domain, for the model or for one function */
  uint32_t n;
  const OnnxImport *p;
} Imports;

/* ---- walking into the bodies of nodes' attributes ---- */

typedef struct Body {
  NodeProto **nodes;
  size_t n;
  const GraphProto *graph;
  bool entered;            /* bodies inside of this one are already on the stack above it */
} Body;
typedef VEC(Body) Bodies;  /* stack of bodies still to be walked; heap */

void push_bodies(Bodies *to, const NodeProto *n);

/* ---- functions.c: model-local functions ---- */

typedef struct Size {      /* size of a list of nodes after inlining */
  int64_t flat, total;     /* nodes in the list itself, and with all bodies below; INT64_MAX: too many to count */
  uint32_t depth;          /* depth of nested calls */
} Size;

typedef struct Function {
  const Onnx__FunctionProto *p;
  const char *name, *domain, *overload;
  const char *text;        /* "function 'domain.name'", for messages */
  Imports imports;
  AttrProto **defaults;    /* default values of the function's attributes */
  size_t ndefaults;
  uint32_t next;           /* next function of the same name: index + 1; 0: none */
  uint32_t *order;         /* indices of the function's nodes in order; NULL until the first call */
  Size size;               /* size of a call; depth includes the function itself */
} Function;

typedef struct Functions {
  Ctx *c;
  Arena *scratch;          /* memory of the functions, until reading ends */
  Function *p;
  uint32_t n;
  VEC(uint32_t) named;     /* by interned name: 1 + index of the first function with this name */
  Bodies bodies;           /* stack of a walk */
} Functions;

Imports read_imports(Ctx *c, size_t n, Onnx__OperatorSetIdProto *const *p, const char *where);

/* Fails if functions call each other in a cycle or too deeply, or if inlining makes too many nodes. */
void functions_read(Functions *f, const Onnx__ModelProto *model);
void functions_free(Functions *f);
Function *function_of(const Functions *f, const NodeProto *call); /* function that a node calls; NULL: none */
Size inlined_size(Functions *f, NodeProto **nodes, size_t n);

/* ---- order.c ---- */

/* Topological sort. Element i needs need[start[i]] .. need[start[i + 1] - 1]. Writes a permutation of 0 .. n-1 to order: each
 * element follows those it needs, else the original order stays. Returns 0. If there is a cycle, writes its elements to order
 * and returns its length. */
uint32_t order_by_need(Arena *scratch, uint32_t n, const uint32_t *start, const uint32_t *need, uint32_t *order);
#endif
