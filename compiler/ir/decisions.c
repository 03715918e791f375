/* SPDX-License-Identifier: MIT */
/* decisions.c: questions of passes, given decisions and those made.
 *
 * The key of a node is a digest: its op, type, shape and arguments, its operands' types and shapes, its origin in the model.
 * Refs and values of weights are not part of it. Nodes with equal digests are numbered in the order in which the pass asks. */
#include "decisions.h"
#include "refmap.h"
#include <stdlib.h>
#include <string.h>

enum { KEY = 16 };         /* hex digits of a digest */

typedef struct Pass {
  const char *name;
  RefMap asked;            /* node to its index in keys + 1 */
  VEC(const char *) keys;
} Pass;

typedef VEC(uint32_t) Slots; /* by interned name */

struct Decisions {
  Ctx *c;
  VEC(Decision) given, made;
  Slots place, done;       /* by pass and key: index in given + 1, index in made + 1 */
  Slots equal;             /* by pass and digest: number of nodes so far */
  VEC(Pass) passes;
  DecisionSource *source;  /* NULL: none */
};

Decisions *decisions_new(Ctx *c) {
  Decisions *d = ARENA_NEW(&c->model, Decisions, 1);
  d->c = c;
  return d;
}

static void forget_passes(Decisions *d) {
  for (size_t i = 0; i < d->passes.n; i++) {
    refmap_free(&d->passes.p[i].asked);
    VEC_FREE(&d->passes.p[i].keys);
  }
  VEC_FREE(&d->passes);
}

void decisions_free(Decisions *d) {
  if (!d) return;
  d->source = NULL;
  forget_passes(d);
  VEC_FREE(&d->given);
  VEC_FREE(&d->made);
  VEC_FREE(&d->place);
  VEC_FREE(&d->done);
  VEC_FREE(&d->equal);
}

void decisions_from(Decisions *d, DecisionSource *s) { d->source = s; }

void decisions_begin(Decisions *d) {
  forget_passes(d);
  d->made.n = d->done.n = d->equal.n = 0;
}

const Decision *decisions_given(const Decisions *d, size_t *n) { return *n = d->given.n, d->given.p; }
const Decision *decisions_made(const Decisions *d, size_t *n) { return *n = d->made.n, d->made.p; }

static uint32_t name_of(Decisions *d, const char *pass, const char *key) {
  Sb s = { 0 };
  sb_printf(&s, "decision %s %s", pass, key);
  const uint32_t id = intern(d->c, s.p, s.n);
  sb_free(&s);
  return id;
}

static uint32_t *slot_of(Decisions *d, Slots *v, const char *pass, const char *key) {
  const uint32_t id = name_of(d, pass, key);
  while (v->n <= id) VEC_PUSH(v, 0);
  return &v->p[id];
}

bool decisions_give(Decisions *d, const Decision *x) {
  uint32_t *at = slot_of(d, &d->place, x->pass, x->key);
  if (*at) return false;
  VEC_PUSH(&d->given, *x);
  *at = (uint32_t)d->given.n;
  return true;
}

/* ---- keys ---- */
static void put_shape(const Node *x, Sb *s) {
  sb_printf(s, " %s %s[", op_info[x->op].name, dtype_info[x->dt].text);
  for (int a = 0; a < x->rank; a++) sb_printf(s, "%lld,", (long long)x->dims[a]);
  sb_puts(s, "]");
}

static void digest_node(const IR *ir, Ref r, char out[KEY + 1]) {
  const Node *x = node(ir, r);
  const char *from = ir->origins.p[x->origin].text;
  char hex[65];
  Sb s = { 0 };
  put_shape(x, &s);
  for (int i = 0; i < x->narg && x->op != OP_WEIGHT; i++) sb_printf(&s, " %lld", (long long)x->arg[i]);
  for (int i = 0; i < x->nsrc; i++) put_shape(node(ir, x->src[i]), &s);
  sb_printf(&s, "; %s", from ? from : "");
  sha256_hex(s.p, s.n, hex);
  sb_free(&s);
  memcpy(out, hex, KEY);
  out[KEY] = 0;
}

static Pass *pass_of(Decisions *d, const char *name) {
  for (size_t i = 0; i < d->passes.n; i++)
    if (!strcmp(d->passes.p[i].name, name)) return &d->passes.p[i];
  VEC_PUSH(&d->passes, ((Pass){ .name = name }));
  return &d->passes.p[d->passes.n - 1];
}

/* The digest, with a number if earlier ones are equal */
static const char *next_key(Decisions *d, const char *pass, const char *digest) {
  const uint32_t number = (*slot_of(d, &d->equal, pass, digest))++;
  return arena_printf(&d->c->model, number ? "%.*s.%u" : "%.*s", KEY, digest, number + 1);
}

static Question open_question(const IR *ir, const char *pass, const char *key, Ref r) {
  Decisions *d = ir->decisions;
  const Node *x = node(ir, r);
  Question q = { .pass = pass, .about = ir->origins.p[x->origin].text, .at = ir_pos(ir, r) };
  snprintf(q.key, sizeof q.key, "%s", key);
  const uint32_t at = *slot_of(d, &d->place, pass, key);
  if (!at && d->source) q.given = d->source->find(d->source, pass, key);
  if (!at) return q;
  d->given.p[at - 1].used = true;
  q.given = d->given.p[at - 1].value;
  return q;
}

Question ask_node(const IR *ir, const char *pass, Ref r) {
  if (!ir->decisions) return (Question){ .pass = pass };
  Pass *p = pass_of(ir->decisions, pass);
  if (!refmap_get(&p->asked, r)) {
    char digest[KEY + 1];
    digest_node(ir, r, digest);
    VEC_PUSH(&p->keys, next_key(ir->decisions, pass, digest));
    refmap_set(&p->asked, r, (uint32_t)p->keys.n);
  }
  return open_question(ir, pass, p->keys.p[refmap_get(&p->asked, r) - 1], r);
}

Question ask_key(const IR *ir, const char *pass, const char *key, Ref r) {
  if (!ir->decisions) return (Question){ .pass = pass };
  return open_question(ir, pass, next_key(ir->decisions, pass, key), r);
}

/* ---- answers ---- */
void answer_with(const IR *ir, const Question *q, const char *value) {
  Decisions *d = ir->decisions;
  if (!d) return;
  uint32_t *at = slot_of(d, &d->done, q->pass, q->key);
  if (*at) return; /* the same question again */
  const char *copy = arena_str(&d->c->model, value, strlen(value)), *key = arena_str(&d->c->model, q->key, strlen(q->key));
  VEC_PUSH(&d->made, ((Decision){ .pass = q->pass, .key = key, .value = copy, .about = q->about }));
  *at = (uint32_t)d->made.n;
}

bool answer_yes(const IR *ir, const Question *q, bool model) {
  const bool known = q->given && (!strcmp(q->given, "yes") || !strcmp(q->given, "no"));
  if (q->given && !known) answer_refused(ir, q, "expected yes or no");
  const bool yes = known ? !strcmp(q->given, "yes") : model;
  answer_with(ir, q, yes ? "yes" : "no");
  return yes;
}

void answer_refused(const IR *ir, const Question *q, const char *why) {
  warn_at(ir->ctx, q->at, "the given decision '%s' of %s is not used: %s", q->given, q->pass, why);
}
