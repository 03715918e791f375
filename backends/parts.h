/* SPDX-License-Identifier: MIT */
/* parts.h: files of helpers, which consist of parts: helpers.c.in, scalars.c.in, helpers.ll.in. A backend writes only the parts
 * that kernels mention. A part begins with a line such as "@text", "@scalar max", "@vector max" or "@function div". A line that
 * begins with "@ ", or is "@", is a remark, and ends the part before it. */
#ifndef TGC_PARTS_H
#define TGC_PARTS_H
#include "backends.h"

typedef struct Span { const char *p; size_t n; } Span; /* n bytes of text, which consists of parts */
Span part_file(const char *name);                      /* the text of the file `name` in runtime_stub, which tgc contains */

/* heading: start of the part's first line. text, end: start and end of the other lines */
typedef struct Part { const char *heading, *text, *end; } Part;

const char *part_line(const char *s, const char *end); /* start of the line after s; `end` if there is no further line */
/* Finds the first part that begins at *at or later, and moves *at to the end of the part. False: no part begins before `end` */
bool part_next(const char **at, const char *end, Part *p);
/* Finds the part whose heading is `kind`, such as "@vector ", followed by the n bytes of name. False: there is none */
bool part_find(Span in, const char *kind, const char *name, size_t n, Part *p);
#endif
