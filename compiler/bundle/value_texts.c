/* SPDX-License-Identifier: MIT */
/* value_texts.c: inputs and outputs as C: members of structures, macros, checks for NULL, and members from arrays of pointers.
 *
 * needs: values, names of fields    gives: texts    breaks: nothing */
#include "bundle.h"
#include <string.h>

/* The name of a dimension, or a formula with it: its characters that a string and a comment of C may have */
static void put_extent(Sb *s, const char *name) {
  for (; *name; name++) {
    const bool plain = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || (*name >= '0' && *name <= '9');
    const bool sign = strchr("()+-", *name) || (*name == '*' && name[1] != '/') ||
                      (*name == '/' && name[1] >= '1' && name[1] <= '9');
    sb_put(s, plain || sign ? name : "_", 1);
  }
}

void text_dims(Sb *s, const GIO *v, const Symbols *symbols) {
  sb_printf(s, "%s[", dtype_info[v->dt].text);
  for (int i = 0; i < v->rank; i++) {
    if (i) sb_puts(s, ",");
    if (v->open[i]) put_extent(s, v->formula[i] ? v->formula[i] : symbols->p[v->open[i] - 1].name);
    else sb_printf(s, "%lld", (long long)v->dims[i]);
  }
  sb_puts(s, "]");
}

const char *text_holds(Ctx *c, const GIO *v) {
  if (v->narrow == ONNX_STRING)
    return arena_printf(&c->model, ", strings of at most %lld bytes, filled up with zeros", (long long)v->dims[v->rank - 1]);
  return v->narrow ? arena_printf(&c->model, ", each an element of type %s", small_type(v->narrow)->name) : "";
}

const char *text_fields(Ctx *c, const GIO *v, int n, const char **name, bool is_const, const Symbols *symbols) {
  Sb s = { 0 };
  for (int i = 0; i < n; i++) {
    sb_printf(&s, "  %s%s *%s; /* ", is_const ? "const " : "", dtype_info[v[i].dt].ctype, name[i]);
    text_dims(&s, &v[i], symbols);
    sb_puts(&s, text_holds(c, &v[i]));
    sb_puts(&s, " */\n");
  }
  if (!n) sb_puts(&s, "  char none;\n");
  return sb_keep(&s, &c->model);
}

void text_shapes(Sb *s, const char *NAME, const char *kind, const GIO *v, int n) {
  for (int i = 0; i < n; i++) {
    int64_t elems = dims_elems(v[i].dims, v[i].rank);
    sb_printf(s, "#define %s_%s_%d_ELEMS %lld\n#define %s_%s_%d_BYTES %lld\n#define %s_%s_%d_RANK %d\n", NAME, kind, i,
              (long long)elems, NAME, kind, i, (long long)elems * dt_bytes(v[i].dt), NAME, kind, i, v[i].rank);
    if (!v[i].rank) continue;
    sb_printf(s, "#define %s_%s_%d_SHAPE { ", NAME, kind, i);
    for (int k = 0; k < v[i].rank; k++) sb_printf(s, "%s%lld", k ? ", " : "", (long long)v[i].dims[k]);
    sb_puts(s, " }\n");
  }
}

/* Sets the fields of two structures from two arrays of pointers. name: structure and array of inputs, then of outputs */
const char *text_assign(Ctx *c, const Graph *g, const char **in, const char **out, const char *const name[4]) {
  Sb s = { 0 };
  for (size_t i = 0; i < graph_nin(g); i++)
    sb_printf(&s, "  %s.%s = (const %s *)%s[%zu];\n", name[0], in[i], dtype_info[g->inputs.p[i].dt].ctype, name[1], i);
  for (size_t i = 0; i < graph_nout(g); i++)
    sb_printf(&s, "  %s.%s = (%s *)%s[%zu];\n", name[2], out[i], dtype_info[g->outputs.p[i].dt].ctype, name[3], i);
  if (!graph_nin(g)) sb_printf(&s, "  %s.none = 0;\n", name[0]);
  if (!graph_nout(g)) sb_printf(&s, "  %s.none = 0;\n", name[2]);
  return sb_keep(&s, &c->model);
}

const char *text_null_checks(Ctx *c, const Graph *g, const char **in, const char **out) {
  Sb s = { 0 };
  for (size_t i = 0; i < graph_nin(g); i++)
    if (dims_elems(g->inputs.p[i].dims, g->inputs.p[i].rank)) sb_printf(&s, "  if (!in->%s) return TGCRT_ARGUMENT;\n", in[i]);
  for (size_t i = 0; i < graph_nout(g); i++)
    if (dims_elems(g->outputs.p[i].dims, g->outputs.p[i].rank)) sb_printf(&s, "  if (!out->%s) return TGCRT_ARGUMENT;\n", out[i]);
  return sb_keep(&s, &c->model);
}

char *text_upper(Ctx *c, const char *text) {
  char *up = arena_str(&c->model, text, strlen(text));
  for (char *s = up; *s; s++)
    if (*s >= 'a' && *s <= 'z') *s = (char)(*s & ~0x20);
  return up;
}
