/* SPDX-License-Identifier: MIT */
/* sizes.c: the sizes of runs, for models and bundles that serve a range of them (--dim NAME=LOW:HIGH, --size). */
#include "../cmd.h"
#include <stdlib.h>
#include <string.h>

enum { SIZES_SHOWN = 64 }; /* most numbers of --size */

bool parse_sizes(const char *text, int64_t *sizes, int *n) {
  char one[24];
  *n = 0;
  for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
    snprintf(one, sizeof one, "%.*s", (int)strcspn(at, ","), at);
    if (*n == SIZES_SHOWN || strcspn(at, ",") >= sizeof one || !parse_size(one, &sizes[*n]) || sizes[*n] < 1) return false;
    ++*n;
  }
  return true;
}

const char *range_of_dims(const Options *o, int64_t *low, int64_t *high) {
  for (size_t i = 0; i < o->dims.n; i++) {
    const char *eq = strrchr(o->dims.p[i], '='), *colon = eq ? strchr(eq, ':') : NULL;
    if (!colon) continue;
    *low = strtoll(eq + 1, NULL, 10);
    *high = strtoll(colon + 1, NULL, 10);
    return o->dims.p[i];
  }
  return NULL;
}

int over_sizes(Ctx *c, const Options *o, int (*one)(Ctx *c, const Options *o)) {
  int64_t low, high, sizes[SIZES_SHOWN] = { 0 };
  int n = 0, worst = EX_DONE;
  if (o->size && !parse_sizes(o->size, sizes, &n)) BUG("--size was not checked");
  const bool free = !o->size && !o->json && !o->data && !o->inputs.n && !o->outputs;
  if (free && o->verb == VERB_verify && range_of_dims(o, &low, &high)) {
    sizes[n++] = low;
    if (high - low > 1) sizes[n++] = low + (high - low) / 2;
    sizes[n++] = high;
  }
  if (n > 1 && o->json) fail(c, EX_USAGE_, "--json reports one size: --size %s has %d", o->size, n);
  for (int i = 0; i < n || !i; i++) {
    Options then = *o;
    then.run_size = sizes[i];
    if (n > 1) printf("size %lld\n", (long long)sizes[i]);
    fflush(stdout);
    const int code = one(c, &then);
    if (code) worst = code;
  }
  return worst;
}

void values_at(GIO *v, size_t n, const Extents *extents, int64_t size) {
  for (size_t i = 0; i < n; i++)
    if (v[i].open) v[i].dims[v[i].open - 1] = v[i].extent ? extent_of_formulas(extents, v[i].extent, size) : size;
}

const GIO *values_of_run(Ctx *c, const GIO *v, size_t n, int64_t size) {
  GIO *copy = n ? arena_dup(&c->model, v, n * sizeof *v) : NULL; /* a model may have no inputs */
  if (size) values_at(copy, n, NULL, size);
  return copy;
}

int64_t size_in_range(Ctx *c, const Options *o, const Symbol *s, int64_t size) {
  if (!s->name && size) fail(c, EX_USAGE_, "--size %s has no effect: the model is for one size (--dim NAME=LOW:HIGH)", o->size);
  if (!s->name) return 0;
  if (size && (size < s->low || size > s->high))
    fail(c, EX_USAGE_, "size %lld of '%s' is outside of its range, %lld to %lld", (long long)size, s->name, (long long)s->low,
         (long long)s->high);
  return size ? size : s->high;
}

Options one_size(Ctx *c, const Options *o, const Symbol *s, int64_t size) {
  Options then = *o;
  memset(&then.dims, 0, sizeof then.dims);
  for (size_t i = 0; i < o->dims.n; i++) {
    const char *text = o->dims.p[i], *eq = strrchr(text, '=');
    VEC_PUSH(&then.dims, strchr(eq, ':') ? arena_printf(&c->model, "%s=%lld", s->name, (long long)size) : text);
  }
  then.dims.p = arena_dup(&c->model, then.dims.p, then.dims.n * sizeof *then.dims.p);
  return then;
}
