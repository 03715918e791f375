/* SPDX-License-Identifier: MIT */
/* example_texts.c: texts of the example programs in C, C++ and for Arduino: memory for each value, both structures, and the first
 * element of each output.
 *
 * needs: a Rendering with names of fields    gives: texts    breaks: nothing */
#include "bundle.h"

static void put_example_values(Sb *s, const char *NET, const char *kind, const char *KIND, const GIO *v, int n) {
  for (int i = 0; i < n; i++) {
    const bool empty = !dims_elems(v[i].dims, v[i].rank);
    sb_printf(s, "static %s %s_%d[", dtype_info[v[i].dt].ctype, kind, i);
    if (empty) sb_puts(s, "1];\n");
    else sb_printf(s, "%s_%s_%d_ELEMS];\n", NET, KIND, i);
  }
}

static void put_example_fields(Sb *s, const char *net, const char *kind, const char *name, const char **field, int n) {
  sb_printf(s, "  const %s_%sputs %s = {", net, name, name);
  for (int i = 0; i < n; i++) sb_printf(s, "%s.%s = %s_%d", i ? ", " : " ", field[i], kind, i);
  sb_puts(s, n ? " };\n" : " 0 };\n");
}

const char *example_values(const Rendering *r) {
  const Graph *g = r->p->g;
  Sb s = { 0 };
  put_example_values(&s, r->NET, "input", "INPUT", g->inputs.p, (int)graph_nin(g));
  put_example_values(&s, r->NET, "output", "OUTPUT", g->outputs.p, (int)graph_nout(g));
  return sb_keep(&s, &r->p->ir->ctx->model);
}

const char *example_assign(const Rendering *r) {
  Sb s = { 0 };
  put_example_fields(&s, r->o->name, "input", "in", r->in, (int)graph_nin(r->p->g));
  put_example_fields(&s, r->o->name, "output", "out", r->out, (int)graph_nout(r->p->g));
  return sb_keep(&s, &r->p->ir->ctx->model);
}

/* A line for each output that has elements. form: of its field's name and its number */
static const char *first_elements(const Rendering *r, const char *form) {
  const Graph *g = r->p->g;
  Sb s = { 0 };
  for (size_t i = 0; i < graph_nout(g); i++)
    if (dims_elems(g->outputs.p[i].dims, g->outputs.p[i].rank)) sb_printf(&s, form, r->out[i], i);
  return sb_keep(&s, &r->p->ir->ctx->model);
}

const char *example_print(const Rendering *r) {
  return first_elements(r, "  if (!status) printf(\"%s[0] = %%.4g\\n\", (double)output_%zu[0]);\n");
}

const char *example_serial(const Rendering *r) {
  return first_elements(r, "  Serial.print(F(\"%s[0] = \"));\n  Serial.println((double)output_%zu[0], 5);\n");
}

const char *example_pointers(const Rendering *r) { /* for C++ */
  Sb s = { 0 };
  sb_printf(&s, "  %s_inputs in;\n  %s_outputs out;\n", r->o->name, r->o->name);
  for (size_t i = 0; i < graph_nin(r->p->g); i++) sb_printf(&s, "  in.%s = input_%zu;\n", r->in[i], i);
  for (size_t i = 0; i < graph_nout(r->p->g); i++) sb_printf(&s, "  out.%s = output_%zu;\n", r->out[i], i);
  return sb_keep(&s, &r->p->ir->ctx->model);
}
