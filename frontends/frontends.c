/* frontends.c: the list of front ends, and loading through it. */
#include "frontends.h"
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

/* What is left of a loaded graph is numbered by structure alone, so that equal graphs compile to
 * equal bytes whatever they were loaded from. */
Graph *model_load(Ctx *c, const char *path, const LoadOptions *o) {
  c->file = path;
  Graph *g = loader(path)(c, path, o), *compact = ir_compact(g);
  VEC_FREE(&g->inputs);
  VEC_FREE(&g->outputs);
  ir_free(g->ir);
  files_check(c);
  return compact;
}

void names_add(Ctx *c, Names *n, const char *name) {
  for (size_t i = 0; i < n->p.n; i++)
    if (!strcmp(n->p.p[i], name)) return;
  VEC_PUSH(&n->p, arena_str(&c->model, name, strlen(name)));
}

const char *names_text(Ctx *c, const Names *n) {
  enum { SHOWN = 12 };
  Sb s = { 0 };
  for (size_t i = 0; i < n->p.n && i < SHOWN; i++) sb_printf(&s, "%s '%.100s'", i ? "," : "", n->p.p[i]);
  if (n->p.n > SHOWN) sb_printf(&s, " and %zu more", n->p.n - SHOWN);
  if (!n->p.n) sb_puts(&s, " none");
  return sb_keep(&s, &c->model);
}
