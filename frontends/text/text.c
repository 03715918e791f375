/* SPDX-License-Identifier: MIT */
/* text.c: the front end of .tg files. The grammar is that of the IR (compiler/ir/parse.c). A file adds a directory for weights
 * and values for named dimensions. */
#include "../common/external.h"
#include "../common/open_dims.h"
#include "../frontends.h"
#include <string.h>
#include <strings.h>

enum { TEXT_MAX = 64 << 20 }; /* bytes; longer weights belong into a file of their own */

typedef struct Load {
  const char *path;
  const LoadOptions *options;
  Names dims; /* names of dimensions that have no value */
  External external;
  OpenDims open;
  Graph *graph;
} Load;

static Bytes weight_bytes(Ctx *c, void *arg, Pos at, const char *file, int64_t offset, int64_t bytes, const char *sha256) {
  Load *l = arg;
  char digest[65];
  Bytes b = external_range(c, &l->external, file, (uint64_t)offset, (size_t)bytes, at, "the weight");
  if (sha256) sha256_hex(b.p, b.n, digest);
  if (sha256 && strcasecmp(digest, sha256))
    fail_at(c, EX_BADMODEL, at, "these bytes of '%.200s' have SHA-256 %s, but the line says %s", file, digest, sha256);
  return b;
}

static const DimValue *dim_given(const LoadOptions *o, const char *name) {
  for (int i = 0; o && i < o->ndims; i++)
    if (!strcmp(o->dims[i].name, name)) return &o->dims[i];
  return NULL;
}

/* A size that cannot be assumed is refused here, because the rest of the text may not be valid for any other. */
static int64_t dim_value(Ctx *c, void *arg, Pos at, const char *name, int axis, DType dt) {
  Load *l = arg;
  const DimValue *given = dim_given(l->options, name);
  names_add(c, &l->dims, name);
  if (!given) given = dim_given(l->options, "all");
  if (given) return given->value;
  open_dims_add(c, &l->open, at, name, true, axis, dt);
  if (l->open.not_batch) open_dims_refuse(c, &l->open, l->options ? l->options->command : NULL);
  return 1;
}

static int float_inputs(const Graph *g) {
  int n = 0;
  for (size_t i = 0; i < g->inputs.n; i++) n += dt_float(g->inputs.p[i].dt);
  return n;
}

static void load(Ctx *c, void *arg) {
  Load *l = arg;
  const TextHooks hooks = { .arg = l, .blob = weight_bytes, .dim = dim_value };
  Bytes text = file_read(c, l->path, TEXT_MAX);
  source_add(c, l->options ? l->options->part : NULL, text);
  l->graph = ir_parse_graph_with(c, (const char *)text.p, text.n, l->path, &hooks);
  for (int i = 0; l->options && i < l->options->ndims; i++) {
    const char *name = l->options->dims[i].name;
    bool known = *name == '#' || !strcmp(name, "all");
    for (size_t k = 0; k < l->dims.p.n; k++) known |= !strcmp(l->dims.p.p[k], name);
    if (!known)
      fail(c, EX_USAGE_, "--dim %s: no input has a dynamic dimension of that name; there are%s%s", name, names_text(c, &l->dims),
           names_near(c, &l->dims, name));
  }
  open_dims_settle(c, &l->open, float_inputs(l->graph), l->options ? l->options->command : NULL);
}

Graph *text_load(Ctx *c, const char *path, const LoadOptions *o) {
  Load l = { .path = path, .options = o, .external = { .model = path, .allow_hardlinks = o && o->allow_hardlinks } };
  if (o && o->nresults) fail(c, EX_USAGE_, "--result is for ONNX models; in a .tg file, change the outputs");
  if (o && o->interface && o->interface->froms.n)
    fail(c, EX_USAGE_, "--from is for ONNX models; in a .tg file, write an input in place of the value");
  int code = ctx_try(c, load, &l);
  VEC_FREE(&l.external.files);
  VEC_FREE(&l.open.names.p);
  VEC_FREE(&l.dims.p);
  if (code) fail_silent(c, code);
  return consts_bind(c, o ? o->interface : NULL, l.graph);
}
