/* SPDX-License-Identifier: MIT */
/* parts.h: reads files that consist of parts, such as scalars.c.in and helpers.ll.in. Most parts are helper functions. A backend
 * prints only the parts that kernels need. A part begins with a heading: a line such as "@text", "@scalar max", "@vector max" or
 * "@function div". A part ends before the next heading or remark. A remark is a line "@", or a line that begins with "@ ". */
#ifndef TGC_PARTS_H
#define TGC_PARTS_H
#include "backends.h"

typedef struct Span { const char *p; size_t n; } Span; /* a text of n bytes that consists of parts */
Span part_file(const char *name);                      /* the text of the file `name` of runtime_stub, as embedded in tgc */

/* heading: start of the part's heading. text, end: start and end of the part's other lines */
typedef struct Part { const char *heading, *text, *end; } Part;

const char *part_line(const char *s, const char *end); /* start of the line behind the line at s; `end` if there is none */
/* Finds the first part that begins at *at or later, and moves *at to the end of this part. Returns false if there is
 * no such part before `end`. */
bool part_next(const char **at, const char *end, Part *p);
/* Finds the part whose heading is `kind`, such as "@vector ", followed by the n bytes at `name`. Returns false if there is no
 * such part. */
bool part_find(Span in, const char *kind, const char *name, size_t n, Part *p);
#endif
