/* SPDX-License-Identifier: MIT */
/* quant_layers.c: which layers of a quantised model are in 8 bits, and why.
 *
 * Layers are sorted by the drop that each of them causes alone, then by its error. Bisection finds the fewest of the worst ones
 * that must stay in floats. Drops need not add up, so each of these then tries to return to 8 bits. So every layer in floats is
 * needed: with it in 8 bits the drop would be too large. */
#include "quantize.h"
#include <math.h>
#include <string.h>

/* ---- the file ---- */
static size_t layer_named(const LayerChoice *k, const char *name) {
  size_t i = 0;
  while (i < k->n && strcmp(k->rows[i].layer.name, name)) i++;
  return i;
}

static _Noreturn void unknown_layer(Ctx *c, const LayerChoice *k, const char *path, int line, const char *name) {
  Names names = { 0 };
  for (size_t i = 0; i < k->n; i++) names_add(c, &names, k->rows[i].layer.name);
  c->file = NULL;
  fail(c, EX_USAGE_, "%s:%d: the model has no layer '%s'%s", path, line, name, names_near(c, &names, name));
}

static void read_line(Ctx *c, LayerChoice *k, const char *path, int line, const char *text) {
  const size_t n = strcspn(text, " ");
  const bool in8 = n == 1 && *text == '8', in32 = n == 5 && !memcmp(text, "float", n);
  const char *name = text + n + strspn(text + n, " ");
  if (!*text || *text == '#') return;
  c->file = NULL;
  if ((!in8 && !in32) || !*name)
    fail(c, EX_USAGE_, "%s:%d: a line must be '8 LAYER' or 'float LAYER', not '%.60s'", path, line, text);
  const size_t i = layer_named(k, name);
  if (i == k->n) unknown_layer(c, k, path, line, name);
  k->in8[i] = in8;
  k->rows[i].kept = in8 ? KEPT_NOT : KEPT_FILE;
}

static void read_layers(Ctx *c, LayerChoice *k, const char *path) {
  const Bytes b = file_read(c, path, 1 << 24);
  char *text = arena_str(&c->model, (const char *)b.p, b.n);
  const char *const file = c->file;
  int line = 1;
  for (char *end; *text; text = end + 1, line++) {
    end = text + strcspn(text, "\n");
    const bool last = !*end;
    *end = 0;
    if (end > text && end[-1] == '\r') end[-1] = 0;
    read_line(c, k, path, line, text);
    if (last) break;
  }
  c->file = file;
}

LayerChoice layers_open(Ctx *c, const Options *o, const OnnxQuant *q) {
  const QuantLayer *rows;
  LayerChoice k = { .n = onnx_quant_layers(q, &rows) };
  k.rows = ARENA_NEW(&c->model, LayerRow, k.n);
  k.in8 = ARENA_NEW(&c->model, bool, k.n);
  for (size_t i = 0; i < k.n; i++) {
    k.rows[i].layer = rows[i];
    k.in8[i] = true;
  }
  if (o->layers) read_layers(c, &k, o->layers);
  if (layers_kept(&k) == k.n) fail(c, EX_USAGE_, "'%s' keeps all layers in floats, so there is nothing to quantise", o->layers);
  return k;
}

void layers_save(Ctx *c, const LayerChoice *k, const char *path) {
  Sb s = { 0 };
  sb_puts(&s, "# bits of each layer, for tgc quantize --layers; a layer that is not listed has 8\n");
  for (size_t i = 0; i < k->n; i++) sb_printf(&s, "%s %s\n", k->in8[i] ? "8" : "float", k->rows[i].layer.name);
  const size_t n = s.n;
  file_replace(c, path, sb_keep(&s, &c->model), n);
}

/* ---- the search ---- */
static void sort_worst(LayerChoice *k) {
  for (size_t i = 1; i < k->n; i++) /* by insertion: it is stable */
    for (size_t j = i; j; j--) {
      const Score *x = &k->rows[k->worst[j]].alone, *y = &k->rows[k->worst[j - 1]].alone;
      if (x->drop < y->drop || (x->drop == y->drop && x->error <= y->error)) break;
      const size_t t = k->worst[j];
      k->worst[j] = k->worst[j - 1];
      k->worst[j - 1] = t;
    }
}

void layers_measure(Ctx *c, LayerChoice *k, HeldOut *h) {
  bool *one = ARENA_NEW(&c->model, bool, k->n);
  k->worst = ARENA_NEW(&c->model, size_t, k->n);
  for (size_t i = 0; i < k->n; i++) {
    one[i] = true;
    k->rows[i].alone = held_out_score(c, h, one);
    k->worst[i] = i;
    one[i] = false;
  }
  sort_worst(k);
  memset(one, true, k->n);
  k->all = held_out_score(c, h, one);
}

size_t layers_kept(const LayerChoice *k) {
  size_t n = 0;
  for (size_t i = 0; i < k->n; i++) n += !k->in8[i];
  return n;
}

/* Keeps the n worst layers in floats. Returns the drop. Without layers in 8 bits the model is the float model. */
static double keep_worst(Ctx *c, LayerChoice *k, HeldOut *h, size_t n) {
  for (size_t i = 0; i < k->n; i++) k->in8[k->worst[i]] = i >= n;
  return n == k->n ? 0 : held_out_score(c, h, k->in8).drop;
}

void layers_search(Ctx *c, LayerChoice *k, HeldOut *h) {
  const double most = h->o->max_drop;
  size_t fails = 0, holds = k->n; /* numbers of layers in floats */
  if (k->all.drop <= most) return;
  while (holds - fails > 1) {
    const size_t n = (fails + holds) / 2;
    if (keep_worst(c, k, h, n) <= most) holds = n;
    else fails = n;
  }
  keep_worst(c, k, h, holds);
  for (size_t i = holds; i-- > 0;) { /* the least bad one first */
    LayerRow *r = &k->rows[k->worst[i]];
    k->in8[k->worst[i]] = true;
    r->back = held_out_score(c, h, k->in8).drop;
    k->in8[k->worst[i]] = r->back <= most;
    r->kept = r->back <= most ? KEPT_NOT : KEPT_SEARCH;
  }
}

bool layers_keep_more(LayerChoice *k, size_t n) {
  for (size_t i = 0; i < k->n && n; i++) {
    const size_t l = k->worst[i];
    if (!k->in8[l]) continue;
    k->in8[l] = false;
    k->rows[l].kept = KEPT_WRITTEN;
    n--;
  }
  return layers_kept(k) < k->n;
}

/* ---- the report ---- */
static const char *why_kept(Ctx *c, const Options *o, const LayerRow *r) {
  switch (r->kept) {
  case KEPT_NOT: return "";
  case KEPT_SEARCH: return arena_printf(&c->model, "in 8 bits: drop %.3g", r->back);
  case KEPT_WRITTEN: return "the built model needs it";
  case KEPT_FILE: return arena_printf(&c->model, "as %s says", o->layers);
  }
  return "";
}

/* The worst first */
void layers_print(Ctx *c, const Options *o, const LayerChoice *k) {
  Table t = { .c = c, .o = o, .format = "<<>>>><", .headed = true };
  table_row(&t, "layer", "op", "weights", "bits", "error alone", "drop alone", "why in floats");
  for (size_t i = 0; i < k->n; i++) {
    const size_t l = k->worst ? k->worst[i] : i;
    const LayerRow *r = &k->rows[l];
    const char *weights = arena_printf(&c->model, "%lld", (long long)r->layer.weights);
    table_row(&t, r->layer.name, r->layer.op, weights, k->in8[l] ? "8" : "32",
              k->worst ? arena_printf(&c->model, "%.3g", r->alone.error) : "",
              k->worst ? arena_printf(&c->model, "%.3g", r->alone.drop) : "", why_kept(c, o, r));
  }
  table_print(&t);
}

json_t *layers_json(const LayerChoice *k) {
  static const char *const reason[] = { NULL, "drop", "built model", "file" }; /* ORDER Kept */
  json_t *list = json_array();
  for (size_t i = 0; i < k->n; i++) {
    const LayerRow *r = &k->rows[i];
    json_t *j = json_pack("{s:o, s:s, s:I, s:i, s:s?}", "name", json_text(r->layer.name), "op", r->layer.op, "weights",
                          (json_int_t)r->layer.weights, "bits", k->in8[i] ? 8 : 32, "kept", reason[r->kept]);
    if (k->worst)
      json_object_update_new(j, json_pack("{s:o, s:o}", "error_alone", json_number(r->alone.error), "drop_alone",
                                          json_number(r->alone.drop)));
    if (r->kept == KEPT_SEARCH) json_object_set_new(j, "drop_in_8_bits", json_number(r->back));
    json_array_append_new(list, j);
  }
  return list;
}
