/* SPDX-License-Identifier: MIT */
/* load.c: from the command line to a graph: of a model, or of a pipeline. */
#include "../../frontends/sized.h"
#include "pipeline.h"
#include <stdlib.h>
#include <string.h>

/* ---- models ---- */
/* The user's command line as a shell reads it. */
static const char *command_line(Ctx *c, const Options *o) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,./%@";
  Sb s = { 0 };
  for (char *const *w = o->words; *w; w++) {
    const char *word = w == o->words ? "tgc" : *w;
    const bool quoted = !*word || word[strspn(word, plain)];
    sb_printf(&s, "%s%s", w == o->words ? "" : " ", quoted ? "'" : "");
    for (; *word; word++) sb_printf(&s, *word == '\'' ? "'\\''" : "%c", *word);
    sb_puts(&s, quoted ? "'" : "");
  }
  return sb_keep(&s, &c->model);
}

/* Takes sizes from --dim, and from shapes of the given data, so that input files can fix dynamic dimensions. Data for other
 * inputs than the model's own do not fix them. */
static LoadOptions load_options(Ctx *c, const Options *o, const Feed *feed) {
  Arena *m = &c->model;
  VEC(DimValue) dims = { 0 };
  DimRange ranges[SYMBOLS_MOST];
  int nranges = 0;
  for (size_t i = 0; i < o->dims.n; i++) {
    const char *eq = strrchr(o->dims.p[i], '=');
    const char *name = arena_str(m, o->dims.p[i], (size_t)(eq - o->dims.p[i]));
    Symbol s = { .high = strtoll(eq + 1, NULL, 10) }; /* a sum has its value later */
    if (strchr(eq, ':') && (nranges == SYMBOLS_MOST || parse_range(eq + 1, &s))) BUG("--dim was not checked");
    if (strchr(eq, ':')) ranges[nranges++] = (DimRange){ (int)dims.n, s.low, s.step, s.typical };
    VEC_PUSH(&dims, ((DimValue){ name, s.high, strchr(eq, '+') ? eq + 1 : NULL }));
  }
  for (size_t i = 0; feed && !first_change(o) && i < feed->inputs.n; i++) {
    const NamedTensor *t = &feed->inputs.p[i];
    for (int a = 0; !t->raw && a < t->t.rank; a++) {
      if (t->name) VEC_PUSH(&dims, ((DimValue){ arena_printf(m, "#%s:%d", t->name, a), t->t.dims[a], NULL }));
      if (t->number >= 0) VEC_PUSH(&dims, ((DimValue){ arena_printf(m, "#%d:%d", t->number, a), t->t.dims[a], NULL }));
    }
  }
  for (size_t i = 0; feed && i < feed->lists.n; i++) {
    const GivenList *g = &feed->lists.p[i];
    if (g->name) VEC_PUSH(&dims, ((DimValue){ arena_printf(m, "#list:%s", g->name), g->n, NULL }));
    if (g->place >= 0) VEC_PUSH(&dims, ((DimValue){ arena_printf(m, "#list:%d", g->place), g->n, NULL }));
  }
  LoadOptions l = { .dims = arena_dup(m, dims.p, dims.n * sizeof *dims.p),
                    .ndims = (int)dims.n,
                    .allow_hardlinks = o->hardlinks,
                    .unguarded = o->no_index_status,
                    .results = o->results.p,
                    .nresults = (int)o->results.n,
                    .command = *o->words ? command_line(c, o) : NULL,
                    .interface = io_options(c, o),
                    .capacity = o->capacity,
                    .nranges = nranges,
                    .string_bytes = o->string_bytes };
  l.ranges = arena_dup(m, ranges, (size_t)nranges * sizeof *ranges);
  VEC_FREE(&dims);
  return l;
}

static Graph *load_one(Ctx *c, const Options *o, const Feed *feed) {
  LoadOptions l = load_options(c, o, feed);
  c->file = o->model;
  Graph *g = l.nranges ? sized_load(c, o->model, &l) : model_load(c, o->model, &l);
  apply_states(c, o, g);
  return g;
}

/* ---- pipelines ---- */
bool is_pipeline(const char *path) {
  const char *dot = path ? strrchr(path, '.') : NULL;
  return dot && !strcmp(dot, ".tgp");
}

enum { PIPELINE_MAX = 1 << 20 }; /* bytes of a text */

static Pipeline *read_pipeline(Ctx *c, const Options *o, Bytes *text) {
  c->file = o->model;
  *text = file_read(c, o->model, PIPELINE_MAX);
  return pipeline_parse(c, (const char *)text->p, text->n, o->model);
}

const char *pipeline_text(Ctx *c, const Options *o) {
  Bytes text;
  Sb s = { 0 };
  Pipeline *p = read_pipeline(c, o, &text);
  pipeline_print(p, &s);
  pipeline_free(p);
  return sb_keep(&s, &c->model);
}

/* Options that change a model stand in the text, below the stage that they are for. */
static Graph *load_pipeline(Ctx *c, const Options *o) {
  for (int i = 0; i < STAGE_OPTIONS; i++)
    if (option_given(o, stage_options[i]))
      fail(c, EX_USAGE_, "--%s has no effect on a pipeline; write '%s VALUE' below a stage of '%s'", stage_options[i],
           stage_options[i], o->model);
  if (o->states.n)
    fail(c, EX_USAGE_, "--state has no effect on a pipeline; write 'state NAME = A.OUT -> B.IN' in '%s'", o->model);
  Bytes text;
  Pipeline *p = read_pipeline(c, o, &text);
  Graph *g = pipeline_build(c, o, p, load_one);
  pipeline_free(p);
  source_add(c, NULL, text);
  return g;
}

Graph *load_graph(Ctx *c, const Options *o, const Feed *feed) {
  c->fold.started = false; /* a further compilation of this process folds as much as the first */
  if (is_bundle(o->model)) fail(c, EX_NOINPUT_, "'%s' is a folder, and this command takes a model", o->model);
  if (is_pipeline(o->model)) return load_pipeline(c, o);
  if (o->entry) fail(c, EX_USAGE_, "--entry has no effect: '%s' is no pipeline", o->model);
  return load_one(c, o, feed);
}
