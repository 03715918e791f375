/* SPDX-License-Identifier: MIT */
/* print.h: internal to the writers of text forms. print.c writes nodes; compiler/plan_text.c writes the decisions of passes. */
#ifndef TGC_PRINT_H
#define TGC_PRINT_H
#include "ir.h"

typedef struct Printer {
  const IR *ir;
  Sb *out;
  Level level;
  Refs order;              /* nodes, sources first */
  uint8_t *named;          /* by Ref: 1: the node has a name, and so a line of its own */
  uint32_t *number;        /* by Ref: number in the node's name */
  uint32_t count[128];     /* number of names given so far, by letter */
  Origin from;             /* the origin that the last "from" has given */
  bool table;              /* true: "from" gives the row of an origin in the text's table. False: "from" gives the origin itself,
                              and an origin that is only a line of the model's text counts as none */
  uint32_t row;            /* if `table` is set: the row that the last "from" has given */
  void (*attributes)(const struct Printer *p, Ref r, void *arg); /* writes attributes at the end of a graph's line; may be NULL */
  bool (*attributed)(Ref r, void *arg); /* whether r has attributes, and so needs a line of its own; may be NULL */
  void *arg;               /* passed to both functions */
} Printer;

void printer_init(Printer *p, const IR *ir, Level level, Sb *out);
void printer_free(Printer *p);
void put_name(const Printer *p, Ref r);          /* writes the name of r; if r has no name, "?" and the number r */
void put_string(Sb *out, const char *s);         /* writes s in quotes, with escapes */
void put_list(Sb *out, const int64_t *v, int n); /* "[1,2]" */

void print_header(const char *level, const char *name, Sb *out); /* name: name of the graph; NULL or "": none */
/* Writes all lines of a graph, without the header. blob: NULL, or receives the bytes of long weights; blobname: file name of the
 * blob. Without a blob, the text has the elements of all weights. The names of nodes stay defined for later lines. */
void print_graph(Printer *p, const Graph *g, Sb *blob, const char *blobname);
/* Writes the line of a weight, without the line end. number: number in the weight's name; blob, blobname: as in print_graph */
void print_weight(Printer *p, uint32_t number, const Tensor *t, Sb *blob, const char *blobname);
/* Writes the line of a buffer, without the line end. slot: number to write in place of Buf.slot */
void print_buffer(Sb *out, const IR *ir, int64_t id, int64_t slot);
/* print_kernel writes lines for the nodes that the n roots need. print_program writes lines for the n nodes of the list. Lines of
 * buffers come first; if p->table is set, the caller has written them. */
void print_kernel(Printer *p, const Ref *roots, size_t n);
void print_program(Printer *p, const Ref *list, size_t n);
void print_end(Printer *p);                            /* the next kernel or program may use the same names again */
#endif
