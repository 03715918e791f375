/* SPDX-License-Identifier: MIT */
/* changes.c: the options that change a model's inputs and outputs: --from, --const, --rename, --prologue, --epilogue, --convert.
 * One table names them for loading, for dumps and for the manifest. */
#include "../cmd.h"
#include <string.h>

static const struct { const char *name; size_t field; } changes[CHANGES] = {
  { "from", offsetof(Options, froms) },         { "const", offsetof(Options, consts) },
  { "rename", offsetof(Options, renames) },     { "prologue", offsetof(Options, prologues) },
  { "epilogue", offsetof(Options, epilogues) }, { "convert", offsetof(Options, converts) },
};

Texts *change_texts(Options *o, int i) { return (Texts *)(void *)((char *)o + changes[i].field); }

static const Texts *texts(const Options *o, int i) {
  return (const Texts *)(const void *)((const char *)o + changes[i].field);
}

Setting *changes_of(Ctx *c, const Options *o, int *n) {
  size_t all = 0;
  for (int i = 0; i < CHANGES; i++) all += texts(o, i)->n;
  Setting *s = ARENA_NEW(&c->model, Setting, all + 1);
  *n = 0;
  for (int i = 0; i < CHANGES; i++)
    for (size_t k = 0; k < texts(o, i)->n; k++) s[(*n)++] = (Setting){ changes[i].name, texts(o, i)->p[k] };
  return s;
}

const char *first_change(const Options *o) {
  for (int i = 0; i < CHANGES; i++)
    if (texts(o, i)->n) return changes[i].name;
  return NULL;
}

void changes_resume(Ctx *c, Options *o, const Setting *s, size_t n) {
  for (int i = 0; i < CHANGES; i++) {
    Texts *t = change_texts(o, i); /* the command line has none: it may not repeat them */
    *t = (Texts){ .p = ARENA_NEW(&c->model, const char *, n + 1) };
    for (size_t k = 0; k < n; k++)
      if (!strcmp(s[k].name, changes[i].name)) t->p[t->n++] = s[k].value;
  }
}

static ConstInput const_of(Ctx *c, const char *text) {
  const char *eq = strchr(text, '=');
  if (!eq || eq == text || !eq[1]) fail(c, EX_USAGE_, "--const needs NAME=VALUE, not '%s'", text);
  ConstInput k = { .name = arena_str(&c->model, text, (size_t)(eq - text)), .value = eq + 1 };
  if (*k.value != '@') return k;
  const Tensor t = npy_parse(c, k.value + 1, file_read(c, k.value + 1, 0));
  k.file = arena_dup(&c->model, &t, sizeof t);
  return k;
}

static TextList list(const Texts *t) { return (TextList){ t->p, t->n }; }

const IoOptions *io_options(Ctx *c, const Options *o) {
  if (!first_change(o)) return NULL;
  IoOptions *io = ARENA_NEW(&c->model, IoOptions, 1);
  ConstInput *consts = ARENA_NEW(&c->model, ConstInput, o->consts.n + 1);
  for (size_t i = 0; i < o->consts.n; i++) consts[i] = const_of(c, o->consts.p[i]);
  *io = (IoOptions){ consts, o->consts.n, list(&o->froms), list(&o->renames), list(&o->prologues), list(&o->epilogues),
                     list(&o->converts) };
  return io;
}
