/* parts.h: files of runtime_stub in parts, of which a backend writes those that kernels mention: helpers.c.in, helpers.ll.in. A
 * part begins with a line such as "@text", "@scalar max", "@vector max" or "@function div". */
#ifndef TGC_PARTS_H
#define TGC_PARTS_H
#include "backends.h"

typedef struct Part { const char *heading, *text, *end; } Part; /* the line that it begins with, and those behind it */

const char *part_line(const char *s, const char *end);              /* where the line after that at s begins, or end */
bool part_next(const char **at, const char *end, Part *p);          /* the first part from *at on, which moves behind it */
/* the part of a file whose heading is kind, as "@vector ", and a name of n bytes; false: it has none */
bool part_find(const char *file, const char *kind, const char *name, size_t n, Part *p);
#endif
