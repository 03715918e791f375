/* SPDX-License-Identifier: MIT */
/* entry_functions.c: the words of templates about entries. An entry has structures of its own, whose pointers its function copies
 * into those of the whole bundle. Then it runs its part of the kernels, and moves on the states that it renews.
 *
 * needs: a plan of a graph with entries    gives: words for templates    breaks: nothing */
#include "bundle.h"
#include <string.h>

void entry_kernels(const Plan *p, size_t entry, size_t *first, size_t *end) {
  size_t k = 0;
  while (k < p->kernels.n && p->kernels.p[k].entry < (int)entry) k++;
  *first = k;
  while (k < p->kernels.n && p->kernels.p[k].entry == (int)entry) k++;
  *end = k;
}

/* "  inputs.step_x = in->x;": the pointers of one entry in the structures of the whole */
static const char *pointers_text(const Rendering *r, const GEntry *e, const char **in, const char **out) {
  Sb s = { 0 };
  for (size_t i = 0; i < graph_nin(e->g); i++) sb_printf(&s, "  inputs.%s = in->%s;\n", r->in[e->input[i]], in[i]);
  for (size_t i = 0; i < graph_nout(e->g); i++) sb_printf(&s, "  outputs.%s = out->%s;\n", r->out[e->output[i]], out[i]);
  return sb_keep(&s, &r->p->ir->ctx->model);
}

/* "  advance(s, 0, 16);": the states that the entry renews, each moved on by the number of steps that it appends */
static const char *advance_text(const Rendering *r, const GEntry *e) {
  Sb s = { 0 };
  for (size_t k = 0; k < e->g->states.n; k++) {
    const GState *t = &e->g->states.p[k];
    const int64_t by = t->axis < 0 ? 1 : t->taken / t->step;
    if (!t->only_read) sb_printf(&s, "  advance(ctx->arena + STATE_AT, %d, %lld);\n", e->state[k], (long long)by);
  }
  return sb_keep(&s, &r->p->ir->ctx->model);
}

static const char *state_names(const Rendering *r, const GEntry *e, bool renewed) {
  Sb s = { 0 };
  for (size_t k = 0; k < e->g->states.n; k++)
    if (e->g->states.p[k].only_read != renewed) sb_printf(&s, "%s%s", s.n ? ", " : "", r->state[e->state[k]]);
  return s.n ? sb_keep(&s, &r->p->ir->ctx->model) : "none";
}

/* "(0, "frames"), (1, "wish"), ": numbers among the values of the whole, and fields, for Python */
static const char *python_values(const Rendering *r, const int *number, const char **field, int n) {
  Sb s = { 0 };
  for (int i = 0; i < n; i++) sb_printf(&s, "%s(%d, \"%s\")", i ? ", " : "", number[i], field[i]);
  return s.n ? sb_keep(&s, &r->p->ir->ctx->model) : "";
}

static const Word *entry_row(const Rendering *r, size_t i) {
  Ctx *c = r->p->ir->ctx;
  Arena *m = &c->model;
  if (i >= r->p->g->entries.n) return NULL;
  const GEntry *e = &r->p->g->entries.p[i];
  const int nin = (int)graph_nin(e->g), nout = (int)graph_nout(e->g);
  const char **in = bundle_fields(c, e->g->inputs.p, nin, "input"), **out = bundle_fields(c, e->g->outputs.p, nout, "output");
  const char *NAME = arena_printf(m, "%s_%s", r->NET, text_upper(c, e->name));
  size_t first, end;
  Sb shapes = { 0 };
  entry_kernels(r->p, i, &first, &end);
  text_shapes(&shapes, NAME, "INPUT", e->g->inputs.p, nin);
  text_shapes(&shapes, NAME, "OUTPUT", e->g->outputs.p, nout);
  const Word words[] = {
    { "entry", e->name },
    { "ENTRY", NAME },
    { "entry_inputs", arena_printf(m, "%d", nin) },
    { "entry_outputs", arena_printf(m, "%d", nout) },
    { "entry_shapes", sb_keep(&shapes, m) },
    { "entry_input_fields", text_fields(c, e->g->inputs.p, nin, in, true, &r->p->ir->symbols) },
    { "entry_output_fields", text_fields(c, e->g->outputs.p, nout, out, false, &r->p->ir->symbols) },
    { "entry_null_checks", text_null_checks(c, e->g, in, out) },
    { "entry_pointers", pointers_text(r, e, in, out) },
    { "entry_assign_v", text_assign(c, e->g, in, out, (const char *const[]){ "inputs", "in", "outputs", "out" }) },
    { "entry_python_inputs", python_values(r, e->input, in, nin) },
    { "entry_python_outputs", python_values(r, e->output, out, nout) },
    { "entry_takes", word_if(nin) },
    { "entry_gives", word_if(nout) },
    { "entry_first", arena_printf(m, "%zu", first) },
    { "entry_end", arena_printf(m, "%zu", end) },
    { "entry_advances", advance_text(r, e) },
    { "entry_reads", state_names(r, e, false) },
    { "entry_renews", state_names(r, e, true) },
    { "entry_touches", word_if(e->g->states.n) },
    { "entry_guarded", word_if(e->g->guarded) },
    { NULL, NULL },
  };
  return arena_dup(m, words, sizeof words);
}

const Word *bundle_row(const Rendering *r, const char *list, size_t n, size_t i) {
  return n == 5 && !memcmp(list, "entry", n) ? entry_row(r, i) : value_row(r, list, n, i);
}

const char *entries_promise(const Rendering *r) {
  Sb s = { 0 };
  const Word *row;
  for (size_t i = 0; (row = entry_row(r, i)); i++)
    sb_printf(&s, "|%s|%s|%s", row[0].text, row[5].text, row[6].text); /* its name and the members of its structures */
  return s.n ? sb_keep(&s, &r->p->ir->ctx->model) : "";
}
