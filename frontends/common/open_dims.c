/* SPDX-License-Identifier: MIT */
/* open_dims.c: which dimensions without a size are taken as 1. Only the batch is: a bundle for any other guessed size would be of
 * no use to its user. */
#include "open_dims.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Cuts the next part out of a sum. Returns where the one behind it begins. */
static const char *next_part(Ctx *c, const char *at, const char **part) {
  at += strspn(at, " ");
  const size_t all = strcspn(at, "+");
  size_t n = all;
  while (n && at[n - 1] == ' ') n--;
  *part = arena_str(&c->model, at, n);
  return at + all + (at[all] == '+');
}

bool dim_sum(Ctx *c, const char *text, bool (*of)(Ctx *c, void *arg, const char *name, int64_t *value), void *arg,
             int64_t *value) {
  bool good = strchr(text, '+') != NULL && text[strlen(text) - 1] != '+';
  *value = 0;
  while (good && *text) {
    const char *part;
    int64_t one = 0;
    text = next_part(c, text, &part);
    const size_t n = strlen(part);
    if (n && n < 10 && strspn(part, "0123456789") == n) one = strtoll(part, NULL, 10);
    else good = n && of(c, arg, part, &one);
    *value += one;
  }
  return good;
}

static bool is_length(const char *name) {
  static const char *const parts[] = { "len", "seq", "height", "width", "time", "frame", "token" };
  static const char *const whole[] = { "t", "l", "s", "h", "w" };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (strcasestr(name, parts[i])) return true;
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    if (!strcasecmp(name, whole[i])) return true;
  return false;
}

void open_dims_add(Ctx *c, OpenDims *d, Pos at, const char *name, bool has_name, int axis, DType dt) {
  if (!d->names.p.n) d->at = at;
  names_add(c, &d->names, name);
  *(has_name ? &d->named : &d->unnamed) = true;
  d->floats += axis == 0 && dt_float(dt);
  d->not_batch |= axis != 0 || (has_name && is_length(name));
}

static const char *flags(Ctx *c, const OpenDims *d) {
  Sb s = { 0 };
  for (size_t i = 0; i < d->names.p.n; i++) sb_printf(&s, " --dim %.100s=N", d->names.p.p[i]);
  return sb_keep(&s, &c->model);
}

void open_dims_refuse(Ctx *c, const OpenDims *d, const char *command) {
  const bool one = d->names.p.n == 1;
  const char *first = d->names.p.p[0];
  fail_at(c, EX_BADMODEL, d->at,
          "dimension%s%s %s no size; give %s one number, such as --dim %.100s=16, or a range, such as --dim %.100s=1:64: %s%s",
          one ? "" : "s", names_text(c, &d->names), one ? "has" : "have", one ? "it" : "each", first, first,
          command ? command : "add", flags(c, d));
}

void open_dims_settle(Ctx *c, const OpenDims *d, int floats, const char *command) {
  const bool one = d->names.p.n == 1, alike = !(d->named && d->unnamed) && (!d->named || one);
  if (!d->names.p.n) return;
  if (d->not_batch || d->floats != floats || !alike) open_dims_refuse(c, d, command);
  warn_at(c, d->at, "dimension%s%s %s not fixed; assuming 1; set %s with%s", one ? "" : "s", names_text(c, &d->names),
          one ? "is" : "are", one ? "it" : "them", flags(c, d));
}
