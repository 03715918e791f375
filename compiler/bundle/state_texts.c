/* SPDX-License-Identifier: MIT */
/* state_texts.c: texts about the states of a model, the values that stay in memory from one run to the next. The texts are
 * declarations, rows of offsets, and functions that reset, save and load states.
 *
 * needs: a plan with a place for each state    gives: texts    breaks: nothing */
#include "bundle.h"
#include <string.h>

static const char *state_rows(const Plan *p) {
  Sb s = { 0 };
  for (size_t k = 0; k < p->memory.states.n; k++) {
    const StatePlace *t = &p->memory.states.p[k];
    sb_printf(&s, "  { %lld, %lld, %lld, %lld, %lld, %lld, ", (long long)t->at, (long long)t->outer, (long long)t->block,
              (long long)t->keep, (long long)t->step, (long long)t->slots);
    if (t->init < 0) sb_puts(&s, "(size_t)-1 },\n");
    else sb_printf(&s, "%lld },\n", (long long)t->init);
  }
  return sb_keep(&s, &p->ir->ctx->model);
}

static int64_t longest_past(const Graph *g) {
  int64_t most = 0;
  for (size_t k = 0; k < g->states.n; k++) {
    int axis = g->states.p[k].axis;
    if (axis >= 0 && g->inputs.p[graph_nin(g) + k].dims[axis] > most) most = g->inputs.p[graph_nin(g) + k].dims[axis];
  }
  return most;
}

const char *state_text(const Plan *p, const char *net, const char *NET, const char *interface, const char *kind, bool whole) {
  Ctx *c = p->ir->ctx;
  Arena *m = &c->model;
  if (!p->memory.states.n) return "";
  int n = (int)p->memory.states.n;
  const GIO *v = p->g->inputs.p + graph_nin(p->g);
  const char **name = bundle_fields(c, v, n, "state");
  Sb names = { 0 }, shapes = { 0 }, text = { 0 };
  for (int k = 0; k < n; k++) sb_printf(&names, "%s%s", k ? ", " : "", name[k]);
  text_shapes(&shapes, NET, "STATE", v, n);
  const Word words[] = {
    { "net", net },
    { "NET", NET },
    { "interface", interface },
    { "names", sb_keep(&names, &c->model) },
    { "nstates", arena_printf(m, "%d", n) },
    { "state_at", arena_printf(m, "%lld", (long long)p->memory.state_at) },
    { "state_bytes", arena_printf(m, "%lld", (long long)p->memory.state_bytes) },
    { "state_shapes", sb_keep(&shapes, &c->model) },
    { "state_rows", state_rows(p) },
    { "appends", word_if(size_appends(&p->ir->symbols)) },
    { "device", device_api(p) },
    { "ir_size", module_size(p) },
    { "ir_state_rows", module_states(p, module_size(p)) },
    { "code_section", module_section(p, ".text", "values") },
    { "whole", word_if(whole) },
    { "to_i64", strcmp(module_size(p), "i64") ? "zext" : "bitcast" },
    { "length_state", arena_printf(m, "%d", n - 1) },
    { "entries", word_if(p->g->entries.n) },
    { "length_most", arena_printf(m, "%lld", (long long)longest_past(p->g)) },
    { NULL, NULL },
  };
  Sb work = { 0 };
  if (whole) template_expand("state_work.ll.in", words, &work);
  const Word with[] = { { "state_work", sb_keep(&work, m) }, { NULL, NULL } };
  const WordSet outer = { .fixed = words };
  template_fill(arena_printf(m, "state.%s.in", kind), &(WordSet){ .fixed = with, .outer = &outer }, &text);
  if (p->g->grows) template_expand(arena_printf(m, "length.%s.in", kind), words, &text);
  return sb_keep(&text, &c->model);
}
