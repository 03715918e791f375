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
  uint8_t *named;          /* by Ref: it has a name, and so a line of its own */
  uint32_t *number;        /* by Ref: number in its name */
  uint32_t count[128];     /* names given so far, by letter */
  Origin from;             /* the origin of the next line, if no new "from" is written before it */
  bool table;              /* true: "from" is followed by a row of the text's table of origins. False: the origin itself follows
                              "from", and an origin that is only a line of the model's text counts as none */
  uint32_t row;            /* if `table` is set: the row of the next line, if no new "from" is written before it */
  void (*attributes)(const struct Printer *p, Ref r, void *arg); /* writes attributes at the end of a graph's line; may be NULL */
  bool (*attributed)(Ref r, void *arg); /* r has attributes, so it needs a line of its own */
  void *arg;
} Printer;

void printer_init(Printer *p, const IR *ir, Level level, Sb *out);
void printer_free(Printer *p);
void put_name(const Printer *p, Ref r);          /* the name of r, or "?" and its Ref if it has none */
void put_string(Sb *out, const char *s);         /* in quotes, with escapes */
void put_list(Sb *out, const int64_t *v, int n); /* "[1,2]" */

void print_header(const char *level, const char *name, Sb *out); /* name: name of the graph; NULL: none */
void print_graph(Printer *p, const Graph *g, Sb *blob, const char *blobname); /* without the header; names stay defined */
/* Writes the line of a weight, without its end; number: number in the weight's name */
void print_weight(Printer *p, uint32_t number, const Tensor *t, Sb *blob, const char *blobname);
void print_buffer(Sb *out, const IR *ir, int64_t id, int64_t slot); /* without the line end; slot: number to write in place
                                                                       of Buf.slot */
void print_kernel(Printer *p, const Ref *roots, size_t n); /* all nodes below roots; no lines of buffers if p->table is set */
void print_program(Printer *p, const Ref *list, size_t n); /* all nodes of the list; buffers as in print_kernel */
void print_end(Printer *p);                            /* the next kernel or program may use the same names again */
#endif
