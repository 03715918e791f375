/* SPDX-License-Identifier: MIT */
/* parts.h: files of helpers, divided into parts: helpers.c.in, scalars.c.in, helpers.ll.in. A backend writes only the parts that
 * kernels mention. A part begins with a line such as "@text", "@scalar max", "@vector max" or "@function div". */
#ifndef TGC_PARTS_H
#define TGC_PARTS_H
#include "backends.h"

typedef struct Span { const char *p; size_t n; } Span; /* a text in parts */
Span part_file(const char *name);                                   /* a file of runtime_stub */

typedef struct Part { const char *heading, *text, *end; } Part; /* the first line; the other lines, from text to end */

const char *part_line(const char *s, const char *end);              /* start of the next line behind s, or end */
bool part_next(const char **at, const char *end, Part *p);          /* finds the first part from *at on; moves *at behind it */
/* finds the part whose heading is `kind`, such as "@vector ", and then a name of n bytes; false: there is none */
bool part_find(Span in, const char *kind, const char *name, size_t n, Part *p);
#endif
