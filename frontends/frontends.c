/* SPDX-License-Identifier: MIT */
/* frontends.c: the list of front ends, and loading by one of them. */
#include "frontends.h"
#include "common/open_dims.h"
#include <string.h>

const Frontend frontends[] = {
  { "text", ".tg", text_load, NULL },
  { "onnx", ".onnx", onnx_load, onnx_op },
  { NULL, NULL, NULL, NULL },
};

static Graph *(*loader(const char *path))(Ctx *, const char *, const LoadOptions *) {
  size_t n = strlen(path);
  for (const Frontend *f = frontends; f->name; f++) {
    size_t k = strlen(f->suffix);
    if (n > k && !strcmp(path + n - k, f->suffix)) return f->load;
  }
  return onnx_load;
}

/* A prologue or an epilogue. Its file is a source of the bundle beside the model. */
static Graph *part_load(Ctx *c, const char *path) {
  const char *model = c->file, *slash = strrchr(path, '/');
  c->file = path;
  Graph *g = text_load(c, path, &(LoadOptions){ .part = slash ? slash + 1 : path });
  c->file = model;
  return g;
}

static bool value_of_dim(Ctx *c, void *arg, const char *name, int64_t *value) {
  const LoadOptions *o = arg;
  bool found = false;
  (void)c;
  for (int i = 0; i < o->ndims && !found; i++) {
    found = !o->dims[i].sum && !strcmp(o->dims[i].name, name);
    if (found) *value = o->dims[i].value;
  }
  return found;
}

/* The options with the values of sums of dimensions */
static LoadOptions added_up(Ctx *c, const LoadOptions *o) {
  LoadOptions at = *o;
  DimValue *dims = arena_dup(&c->model, o->dims, (size_t)o->ndims * sizeof *dims);
  for (int i = 0; i < o->ndims; i++)
    if (dims[i].sum && !dim_sum(c, dims[i].sum, value_of_dim, &at, &dims[i].value))
      fail(c, EX_USAGE_, "--dim %s=%s: a sum has numbers, and names to which another --dim gives a number or a range",
           dims[i].name, dims[i].sum);
  at.dims = dims;
  return at;
}

/* The loaded graph is renumbered by structure alone. So equal graphs compile to equal bytes, whichever format they come from. */
Graph *model_load(Ctx *c, const char *path, const LoadOptions *o) {
  LoadOptions sums;
  c->file = path;
  if (o && o->ndims) sums = added_up(c, o), o = &sums;
  Graph *g = interface_apply(c, o ? o->interface : NULL, loader(path)(c, path, o), part_load), *compact = ir_compact(g);
  VEC_FREE(&g->inputs);
  VEC_FREE(&g->outputs);
  ir_free(g->ir);
  files_check(c);
  return compact;
}
