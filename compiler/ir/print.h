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
  uint32_t *number;        /* by Ref: the number in the node's name, such as 3 in v3 */
  uint32_t count[128];     /* by first letter of a name: number of names given so far */
  Origin from;             /* if `table` is false: the origin that the last line "from" gives */
  bool table;              /* true: lines "from" give the row of an origin in the text's table of origins. False: lines "from"
                              give the origin itself, and an origin with is_line counts as none */
  uint32_t row;            /* if `table` is true: the row that the last line "from" gives */
  void (*attributes)(const struct Printer *p, Ref r, void *arg); /* writes the attributes of r at the end of r's line; may be
                                                                    NULL */
  bool (*attributed)(Ref r, void *arg); /* whether r has attributes, and so needs a line of its own; may be NULL */
  void *arg;               /* passed to `attributes` and `attributed` */
} Printer;

void printer_init(Printer *p, const IR *ir, Level level, Sb *out);
void printer_free(Printer *p);
void put_name(const Printer *p, Ref r);          /* writes the name of r, or "?" and the number r if r has no name */
void put_string(Sb *out, const char *s);         /* writes s in quotes, with escapes */
void put_list(Sb *out, const int64_t *v, int n); /* writes the n integers as a list, such as "[1,2]" */

/* Writes the first line of a text. level: "graph", "kernel", "program" or "plan". name: name of the graph; NULL or "": none */
void print_header(const char *level, const char *name, Sb *out);
/* Writes all lines of a graph, without the header. Appends the bytes of long weights to blob. blobname: file name of the blob.
 * blob NULL: the text has the elements of all weights. Lines that follow, such as the kernels of a dump, may use the names of the
 * graph's nodes. */
void print_graph(Printer *p, const Graph *g, Sb *blob, const char *blobname);
/* Writes the line of a weight, without the line end. number: the number in the weight's name. blob, blobname: as in
 * print_graph */
void print_weight(Printer *p, uint32_t number, const Tensor *t, Sb *blob, const char *blobname);
/* Writes the line of buffer `id`, without the line end. slot: the number to write as the slot, in place of Buf.slot */
void print_buffer(Sb *out, const IR *ir, int64_t id, int64_t slot);
/* print_kernel writes lines for the n roots and the nodes below them. print_program writes lines for the n nodes of the list.
 * If p->table is false, both functions write the lines of buffers first. If p->table is true, the caller must have written the
 * lines of buffers already. */
void print_kernel(Printer *p, const Ref *roots, size_t n);
void print_program(Printer *p, const Ref *list, size_t n);
void print_end(Printer *p);                            /* forgets the names of the last kernel or program. The next kernel or
                                                          program may give these names to other nodes */
#endif
