/* SPDX-License-Identifier: MIT */
/* parts.h: files of helpers, divided into parts: helpers.c.in, scalars.c.in, helpers.ll.in. A backend writes only the parts that
 * kernels mention. A part begins with a line such as "@text", "@scalar max", "@vector max" or "@function div". */
#ifndef TGC_PARTS_H
#define TGC_PARTS_H
#include "backends.h"

typedef struct Span { const char *p; size_t n; } Span; /* n bytes of text that consist of parts */
Span part_file(const char *name);                      /* the text of the file `name` in runtime_stub, which tgc contains */

/* heading: the part's first line. text, end: the other lines, from text up to end */
typedef struct Part { const char *heading, *text, *end; } Part;

const char *part_line(const char *s, const char *end); /* start of the next line behind s, or end if there is none */
/* Finds the first part that begins at *at or later, and moves *at behind it. false: there is none before end */
bool part_next(const char **at, const char *end, Part *p);
/* Finds the part whose heading is `kind`, such as "@vector ", followed by the n bytes of name. false: there is none */
bool part_find(Span in, const char *kind, const char *name, size_t n, Part *p);
#endif
