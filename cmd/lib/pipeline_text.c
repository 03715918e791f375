/* SPDX-License-Identifier: MIT */
/* pipeline_text.c: reads and prints .tgp texts. docs/pipelines.md has the grammar. A statement is a line of words; an option of a
 * stage is a line below it, whose first word is the name of an option. */
#include "pipeline.h"
#include <string.h>

typedef struct Reader {
  Ctx *c;
  Pipeline *p;
  const char *line, *at, *end; /* the current line, and the rest of it */
  int number;
} Reader;

/* ---- words ---- */
static bool is_blank(char ch) { return ch == ' ' || ch == '\t' || ch == '\r'; }

static void skip(Reader *r) {
  while (r->at < r->end && is_blank(*r->at)) r->at++;
  if (r->at < r->end && *r->at == '#') r->at = r->end;
}

static Pos here(const Reader *r) { return (Pos){ .line = r->number, .col = (int)(r->at - r->line) + 1, .src = r->line }; }

static const char *quoted(Reader *r) {
  Sb s = { 0 };
  const Pos at = here(r);
  for (r->at++; r->at < r->end && *r->at != '"'; r->at++) {
    if (*r->at == '\\' && r->at + 1 < r->end) r->at++;
    sb_put(&s, r->at, 1);
  }
  if (r->at == r->end) fail_at(r->c, EX_BADMODEL, at, "the string has no end");
  r->at++;
  return sb_keep(&s, &r->c->model);
}

/* The next word of the line: a string, a comma, or characters up to a blank or comma. NULL: the line ends. */
static const char *word(Reader *r) {
  skip(r);
  if (r->at == r->end) return NULL;
  if (*r->at == '"') return quoted(r);
  const char *from = r->at++;
  while (*from != ',' && r->at < r->end && !is_blank(*r->at) && *r->at != ',') r->at++;
  return arena_str(&r->c->model, from, (size_t)(r->at - from));
}

static const char *need(Reader *r, const char *what) {
  const Pos at = here(r);
  const char *w = word(r);
  if (!w) fail_at(r->c, EX_BADMODEL, at, "%s is missing", what);
  return w;
}

static bool next_is(Reader *r, const char *text) {
  skip(r);
  const size_t n = strlen(text);
  bool is = (size_t)(r->end - r->at) >= n && !memcmp(r->at, text, n);
  is = is && (r->at + n == r->end || is_blank(r->at[n]) || *text == ',');
  if (is) r->at += n;
  return is;
}

static void expect(Reader *r, const char *text) {
  skip(r);
  if (!next_is(r, text)) fail_at(r->c, EX_BADMODEL, here(r), "'%s' is missing here", text);
}

static void line_ends(Reader *r) {
  skip(r);
  if (r->at < r->end) fail_at(r->c, EX_BADMODEL, here(r), "nothing may follow on this line");
}

/* ---- names ---- */
static bool is_name(const char *s) {
  const bool letter = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_';
  return letter && strlen(s) <= 40 && s[strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == 0;
}

/* The name that a statement gives, and "=" behind it */
static const char *new_name(Reader *r, const char *what, bool identifier) {
  skip(r);
  const Pos at = here(r);
  const char *name = need(r, what);
  if (identifier && !is_name(name))
    fail_at(r->c, EX_BADMODEL, at, "'%s' is no name: it needs letters, digits and _, at most 40, no digit first", name);
  expect(r, "=");
  return name;
}

int pipeline_stage(const Pipeline *p, const char *name) {
  for (size_t i = 0; i < p->stages.n; i++)
    if (!strcmp(p->stages.p[i].name, name)) return (int)i;
  return -1;
}

static int known_stage(const Reader *r, const char *name, Pos at) {
  const int i = pipeline_stage(r->p, name);
  if (i >= 0) return i;
  const char **names = ARENA_NEW(&r->c->model, const char *, r->p->stages.n + 1);
  for (size_t k = 0; k < r->p->stages.n; k++) names[k] = r->p->stages.p[k].name;
  fail_at(r->c, EX_BADMODEL, at, "no stage above is called '%s'%s", name,
          did_you_mean(&r->c->model, name, names, r->p->stages.n));
}

static PipeEnd end_of(Reader *r) {
  skip(r);
  const Pos at = here(r);
  const char *w = need(r, "STAGE.NAME"), *dot = strchr(w, '.');
  if (!dot || dot == w || !dot[1]) fail_at(r->c, EX_BADMODEL, at, "'%s' is not of the form STAGE.NAME", w);
  const PipeEnd e = { arena_str(&r->c->model, w, (size_t)(dot - w)), dot + 1, at };
  known_stage(r, e.stage, at);
  return e;
}

static void ends_of(Reader *r, PipeEnds *list) {
  do VEC_PUSH(list, end_of(r));
  while (next_is(r, ","));
}

/* ---- statements ---- */
static void read_stage(Reader *r, Pos at) {
  PipeStage s = { .name = new_name(r, "the stage's name", true), .at = at };
  s.file = need(r, "the model's file");
  if (pipeline_stage(r->p, s.name) >= 0) fail_at(r->c, EX_BADMODEL, at, "there is another stage '%s'", s.name);
  line_ends(r);
  VEC_PUSH(&r->p->stages, s);
}

static int64_t number_of(const Reader *r, const char *text, Pos at) {
  int64_t n;
  if (!parse_size(text, &n)) fail_at(r->c, EX_BADMODEL, at, "'%s' is no whole number", text);
  return n;
}

static void read_key(Reader *r, PipeState *s) {
  static const char *const names[] = { "axis", "capacity", "init", "grow" };
  const Pos at = here(r);
  const char *w = need(r, "a key"), *eq = strchr(w, '=');
  const char *name = arena_str(&r->c->model, w, strcspn(w, "="));
  const int key = word_index(names, 4, name);
  if (key == 4 || !eq != (key == 3))
    fail_at(r->c, EX_BADMODEL, at, "unknown key '%s': there are axis=N, capacity=N, init=FILE and grow%s", w,
            did_you_mean(&r->c->model, name, names, 4));
  switch (key) {
  case 0: s->axis = number_of(r, eq + 1, at); break;
  case 1: s->capacity = number_of(r, eq + 1, at); break;
  case 2: s->init = eq + 1; break;
  default: s->grow = true;
  }
}

static void read_state(Reader *r, Pos at) {
  PipeState s = { .name = new_name(r, "the state's name", false), .axis = -1, .at = at };
  for (size_t i = 0; i < r->p->states.n; i++)
    if (!strcmp(r->p->states.p[i].name, s.name)) fail_at(r->c, EX_BADMODEL, at, "there is another state '%s'", s.name);
  ends_of(r, &s.from);
  expect(r, "->");
  ends_of(r, &s.to);
  for (skip(r); r->at < r->end; skip(r)) read_key(r, &s);
  VEC_PUSH(&r->p->states, s);
}

static void read_value(Reader *r, Pos at, bool output) {
  PipeValue v = { .name = new_name(r, output ? "the output's name" : "the input's name", false), .at = at };
  ends_of(r, &v.ends);
  if (output && v.ends.n > 1) fail_at(r->c, EX_BADMODEL, v.ends.p[1].at, "an output is one value");
  line_ends(r);
  if (output) VEC_PUSH(&r->p->outputs, v);
  else VEC_PUSH(&r->p->inputs, v);
}

static void read_entry(Reader *r, Pos at) {
  PipeEntry e = { .name = new_name(r, "the entry's name", true), .at = at };
  const size_t n = strlen(e.name);
  if (!strcmp(e.name, "v") || !strcmp(e.name, "on") || (n > 2 && !strcmp(e.name + n - 2, "_v")))
    fail_at(r->c, EX_BADMODEL, at, "an entry cannot be called '%s': the bundle has another function of that name", e.name);
  for (size_t i = 0; i < r->p->entries.n; i++)
    if (!strcmp(r->p->entries.p[i].name, e.name)) fail_at(r->c, EX_BADMODEL, at, "there is another entry '%s'", e.name);
  for (skip(r); r->at < r->end || !e.stages.n; skip(r)) {
    const Pos where = here(r);
    const int stage = known_stage(r, need(r, "a stage"), where);
    for (size_t i = 0; i < e.stages.n; i++)
      if (e.stages.p[i] == stage)
        fail_at(r->c, EX_BADMODEL, where, "stage '%s' is in the entry twice", r->p->stages.p[stage].name);
    VEC_PUSH(&e.stages, stage);
  }
  VEC_PUSH(&r->p->entries, e);
}

static void read_link(Reader *r) {
  PipeLink l = { .from = end_of(r) };
  expect(r, "->");
  l.to = end_of(r);
  line_ends(r);
  for (size_t i = 0; i < r->p->links.n; i++) {
    const PipeEnd *to = &r->p->links.p[i].to;
    if (!strcmp(to->stage, l.to.stage) && !strcmp(to->value, l.to.value))
      fail_at(r->c, EX_BADMODEL, l.to.at, "'%s.%s' is connected twice, also in line %d", to->stage, to->value, to->at.line);
  }
  VEC_PUSH(&r->p->links, l);
}

const char *const stage_options[STAGE_OPTIONS] = { "from",   "const",    "result",   "dim",    "capacity",
                                                   "rename", "prologue", "epilogue", "convert" };

static void read_option(Reader *r, const char *name, Pos at) {
  const char *last = r->end;
  if (!r->p->stages.n) fail_at(r->c, EX_BADMODEL, at, "an option belongs below the stage that it is for");
  skip(r);
  for (const char *s = r->at; s < last; s++)
    if (*s == '#' && is_blank(s[-1])) last = s;
  while (last > r->at && is_blank(last[-1])) last--;
  if (r->at >= last) fail_at(r->c, EX_BADMODEL, at, "the value of '%s' is missing", name);
  const PipeOption o = { name, arena_str(&r->c->model, r->at, (size_t)(last - r->at)), at };
  VEC_PUSH(&r->p->stages.p[r->p->stages.n - 1].options, o);
}

static void unknown(const Reader *r, const char *w, Pos at) {
  const char *words[STAGE_OPTIONS + 5] = { "stage", "state", "input", "output", "entry" };
  memcpy(words + 5, stage_options, sizeof stage_options);
  fail_at(r->c, EX_BADMODEL, at,
          "unknown statement '%s': a line begins with stage, state, input, output, entry, an option of a stage, or "
          "STAGE.OUTPUT%s", w,
          did_you_mean(&r->c->model, w, words, STAGE_OPTIONS + 5));
}

static void read_line(Reader *r) {
  skip(r);
  if (r->at == r->end) return;
  const Pos at = here(r);
  const char *begin = r->at, *w = word(r);
  if (!strcmp(w, "stage")) read_stage(r, at);
  else if (!strcmp(w, "state")) read_state(r, at);
  else if (!strcmp(w, "input") || !strcmp(w, "output")) read_value(r, at, *w == 'o');
  else if (!strcmp(w, "entry")) read_entry(r, at);
  else if (word_index(stage_options, STAGE_OPTIONS, w) < STAGE_OPTIONS) read_option(r, w, at);
  else if (strchr(w, '.') || next_is(r, "->")) {
    r->at = begin;
    read_link(r);
  } else unknown(r, w, at);
}

Pipeline *pipeline_parse(Ctx *c, const char *text, size_t n, const char *path) {
  Pipeline *p = ARENA_NEW(&c->model, Pipeline, 1);
  Reader r = { .c = c, .p = p };
  p->path = path;
  if (memchr(text, 0, n)) fail(c, EX_BADMODEL, "this is no text: it has a byte of value 0");
  for (const char *at = text, *end = text + n; at < end; at = r.end + 1) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    r.line = r.at = at;
    r.end = newline ? newline : end;
    r.number++;
    read_line(&r);
  }
  if (!p->stages.n) fail_at(c, EX_BADMODEL, (Pos){ .line = 1, .col = 1, .src = text }, "the pipeline has no stage");
  return p;
}

/* ---- printing ---- */
static void put_word(Sb *s, const char *w) {
  if (*w && !w[strcspn(w, " \t\r\n,\"#")]) {
    sb_puts(s, w);
    return;
  }
  sb_puts(s, "\"");
  for (; *w; w++) sb_printf(s, *w == '"' || *w == '\\' ? "\\%c" : "%c", *w);
  sb_puts(s, "\"");
}

static void put_ends(Sb *s, const PipeEnds *list) {
  for (size_t i = 0; i < list->n; i++) {
    Sb name = { 0 };
    sb_printf(&name, "%s.%s", list->p[i].stage, list->p[i].value);
    sb_puts(s, i ? ", " : "");
    put_word(s, name.p);
    sb_free(&name);
  }
}

static void put_value(Sb *s, const char *kind, const PipeValue *v) {
  sb_printf(s, "%s ", kind);
  put_word(s, v->name);
  sb_puts(s, " = ");
  put_ends(s, &v->ends);
  sb_puts(s, "\n");
}

static void put_stage(Sb *s, const PipeStage *x) {
  sb_printf(s, "stage %s = ", x->name);
  put_word(s, x->file);
  sb_puts(s, "\n");
  for (size_t i = 0; i < x->options.n; i++) sb_printf(s, "  %s %s\n", x->options.p[i].name, x->options.p[i].value);
}

static void put_state(Sb *s, const PipeState *x) {
  sb_puts(s, "state ");
  put_word(s, x->name);
  sb_puts(s, " = ");
  put_ends(s, &x->from);
  sb_puts(s, " -> ");
  put_ends(s, &x->to);
  if (x->axis >= 0) sb_printf(s, " axis=%lld", (long long)x->axis);
  if (x->capacity) sb_printf(s, " capacity=%lld", (long long)x->capacity);
  if (x->init) {
    Sb key = { 0 };
    sb_printf(&key, "init=%s", x->init);
    sb_puts(s, " ");
    put_word(s, key.p);
    sb_free(&key);
  }
  sb_puts(s, x->grow ? " grow\n" : "\n");
}

void pipeline_print(const Pipeline *p, Sb *out) {
  for (size_t i = 0; i < p->stages.n; i++) put_stage(out, &p->stages.p[i]);
  for (size_t i = 0; i < p->links.n; i++) {
    put_ends(out, &(PipeEnds){ .p = &p->links.p[i].from, .n = 1 });
    sb_puts(out, " -> ");
    put_ends(out, &(PipeEnds){ .p = &p->links.p[i].to, .n = 1 });
    sb_puts(out, "\n");
  }
  for (size_t i = 0; i < p->states.n; i++) put_state(out, &p->states.p[i]);
  for (size_t i = 0; i < p->inputs.n; i++) put_value(out, "input", &p->inputs.p[i]);
  for (size_t i = 0; i < p->outputs.n; i++) put_value(out, "output", &p->outputs.p[i]);
  for (size_t i = 0; i < p->entries.n; i++) {
    const PipeEntry *e = &p->entries.p[i];
    sb_printf(out, "entry %s =", e->name);
    for (size_t k = 0; k < e->stages.n; k++) sb_printf(out, " %s", p->stages.p[e->stages.p[k]].name);
    sb_puts(out, "\n");
  }
}

void pipeline_free(Pipeline *p) {
  for (size_t i = 0; i < p->stages.n; i++) VEC_FREE(&p->stages.p[i].options);
  for (size_t i = 0; i < p->states.n; i++) VEC_FREE(&p->states.p[i].from);
  for (size_t i = 0; i < p->states.n; i++) VEC_FREE(&p->states.p[i].to);
  for (size_t i = 0; i < p->inputs.n; i++) VEC_FREE(&p->inputs.p[i].ends);
  for (size_t i = 0; i < p->outputs.n; i++) VEC_FREE(&p->outputs.p[i].ends);
  for (size_t i = 0; i < p->entries.n; i++) VEC_FREE(&p->entries.p[i].stages);
  VEC_FREE(&p->stages);
  VEC_FREE(&p->links);
  VEC_FREE(&p->states);
  VEC_FREE(&p->inputs);
  VEC_FREE(&p->outputs);
  VEC_FREE(&p->entries);
}
