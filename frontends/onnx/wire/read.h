/* SPDX-License-Identifier: MIT */
/* read.h: internal to the files that turn a model's nodes into records (onnx.h): read.c, functions.c, order.c. */
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

/* ---- bodies: the graphs in attributes of a node, such as an If, Loop or Scan ---- */

typedef struct Body {
  NodeProto **nodes;       /* the n nodes of the body */
  size_t n;
  const GraphProto *graph; /* the body; NULL: the nodes are those of a function or of the main graph */
  bool entered;            /* the bodies inside of this body have been pushed onto the stack */
} Body;
typedef VEC(Body) Bodies;  /* a stack of bodies that are still to be visited; VEC_FREE frees it */

void push_bodies(Bodies *to, const NodeProto *n); /* pushes the bodies of a node onto the stack */

/* ---- functions.c: model-local functions ---- */

typedef struct Size {      /* size of a list of nodes after functions are inlined */
  int64_t flat, total;     /* flat: number of nodes outside of bodies. total: number of all nodes. Numbers above INT64_MAX become
                              INT64_MAX */
  uint32_t depth;          /* greatest depth of nested calls of functions */
} Size;

typedef struct Function {
  const Onnx__FunctionProto *p;
  const char *name, *domain, *overload;
  const char *text;        /* "function 'domain.name'", for messages to the user */
  Imports imports;
  AttrProto **defaults;    /* default values of the function's attributes */
  size_t ndefaults;
  uint32_t next;           /* 1 + the index of the previous function with this name; 0: there is none */
  uint32_t *order;         /* indices of the function's nodes in topological order; NULL until the first call is inlined */
  Size size;               /* size of the nodes that replace a call. Size.depth includes this call */
} Function;

typedef struct Functions {
  Ctx *c;
  Arena *scratch;          /* memory of the functions, which the caller frees when the model has been read */
  Function *p;             /* the n functions of the model */
  uint32_t n;
  VEC(uint32_t) named;     /* by interned name: 1 + the index of the last function with this name; Function.next leads to the
                              earlier functions with this name. 0: no function has this name */
  Bodies bodies;           /* for internal use by functions.c */
} Functions;

/* Reads n opset imports. where: name of the model or the function that has these imports, for messages to the user */
Imports read_imports(Ctx *c, size_t n, Onnx__OperatorSetIdProto *const *p, const char *where);

/* Fills in f with the functions of the model. The caller must have set f->c and f->scratch, and all else in *f to 0. Fails if a
 * function is defined twice, if functions call each other in a cycle or too deeply, or if inlining makes too many nodes. */
void functions_read(Functions *f, const Onnx__ModelProto *model);
void functions_free(Functions *f);
Function *function_of(const Functions *f, const NodeProto *call); /* the function that a node calls; NULL: none */
Size inlined_size(Functions *f, NodeProto **nodes, size_t n);     /* the size of a list of n nodes */

/* ---- order.c ---- */

/* Sorts the elements 0 to n - 1 topologically. Element i needs the elements need[start[i]] to need[start[i + 1] - 1]. Writes all
 * elements to `order`, each element behind the elements that it needs, and returns 0. Keeps the order 0, 1, ..., n - 1 if
 * possible. If there is a cycle, writes the elements of one cycle to `order`, and returns the number of elements in the cycle. */
uint32_t order_by_need(Arena *scratch, uint32_t n, const uint32_t *start, const uint32_t *need, uint32_t *order);
#endif
