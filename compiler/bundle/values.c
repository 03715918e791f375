/* SPDX-License-Identifier: MIT */
/* values.c: inputs, outputs and states as tables in C and LLVM IR, with functions that read them. They serve callers in other
 * languages, and programs that learn about a model at run time. */
#include "bundle.h"
#include <string.h>

enum { LONGEST = 4000 }; /* bytes of a name; C99 only guarantees literals of 4095 */

static bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_.:/-", c));
}

void put_literal(Sb *s, const char *name, const char *escape) {
  for (; *name; name++) {
    if (plain(*name)) sb_put(s, name, 1);
    else sb_printf(s, escape, (unsigned char)*name);
  }
}

const char *value_name(const GIO *v, const char *field) { return strlen(v->name) > LONGEST ? field : v->name; }

static void put_values(const Plan *p, const char *net, const char *kind, const GIO *v, int n, const char *ending, Sb *out) {
  Ctx *c = p->ir->ctx;
  Arena *m = &c->model;
  const char **field = bundle_fields(c, v, n, kind), *size = module_size(p);
  Sb values = { 0 }, dims = { 0 }, names = { 0 }, ir_values = { 0 }, ir_dims = { 0 }, ir_names = { 0 };
  int64_t at = 0;
  size_t width = 1;
  for (int i = 0; i < n; i++)
    if (strlen(value_name(&v[i], field[i])) >= width) width = strlen(value_name(&v[i], field[i])) + 1;
  for (int i = 0; i < n; i++) {
    const DTypeInfo *d = &dtype_info[v[i].dt];
    const char *name = value_name(&v[i], field[i]);
    const long long bytes = gio_bytes(&v[i]);
    sb_puts(&values, "  { TGCRT_");
    for (const char *t = d->text; *t; t++) sb_printf(&values, "%c", *t >= 'a' && *t <= 'z' ? *t & ~0x20 : *t);
    sb_printf(&values, ", %d, %lld, %lld },\n", v[i].rank, (long long)at, bytes);
    sb_printf(&ir_values, "  %%value { i32 %d, i32 %d, %s %lld, %s %lld },\n", d->onnx, v[i].rank, size, (long long)at, size,
              bytes);
    for (int k = 0; k < v[i].rank; k++) {
      sb_printf(&dims, "%lld, ", (long long)v[i].dims[k]);
      sb_printf(&ir_dims, "i64 %lld, ", (long long)v[i].dims[k]);
    }
    at += v[i].rank;
    sb_puts(&names, "\"");
    put_literal(&names, name, "\\%03o");
    sb_puts(&names, "\", ");
    sb_printf(&ir_names, "  [%zu x i8] c\"", width);
    put_literal(&ir_names, name, "\\%02X");
    for (size_t k = strlen(name); k < width; k++) sb_puts(&ir_names, "\\00");
    sb_puts(&ir_names, "\",\n");
  }
  const Word words[] = {
    { "net", net },
    { "kind", kind },
    { "count", arena_printf(m, "%d", n) },
    { "rows", arena_printf(m, "%d", n + 1) },
    { "beyond", arena_printf(m, "%lld", (long long)at) },
    { "ndims", arena_printf(m, "%lld", (long long)at + 1) },
    { "width", arena_printf(m, "%zu", width) },
    { "values", sb_keep(&values, m) },
    { "dims", sb_keep(&dims, m) },
    { "names", sb_keep(&names, m) },
    { "ir_size", size },
    { "ir_values", sb_keep(&ir_values, m) },
    { "ir_dims", sb_keep(&ir_dims, m) },
    { "ir_names", sb_keep(&ir_names, m) },
    { "code_section", module_section(p, ".text", "values") },
    { "data_section", module_section(p, ".rodata", "values") },
    { NULL, NULL },
  };
  template_expand(arena_printf(m, "values.%s.in", ending), words, out);
}

const char *values_text(const Plan *p, const char *net, const char *ending) {
  const Graph *g = p->g;
  Sb out = { 0 };
  put_values(p, net, "input", g->inputs.p, (int)graph_nin(g), ending, &out);
  put_values(p, net, "output", g->outputs.p, (int)graph_nout(g), ending, &out);
  if (p->memory.states.n) put_values(p, net, "state", g->inputs.p + graph_nin(g), (int)p->memory.states.n, ending, &out);
  return sb_keep(&out, &p->ir->ctx->model);
}
