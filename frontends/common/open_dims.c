/* open_dims.c: which dimensions without a size are taken as 1. Only the batch is: a bundle for any other guessed size would be of
 * no use to its user. */
#include "open_dims.h"
#include <string.h>
#include <strings.h>

static bool has_word(const char *name, const char *word) {
  const size_t n = strlen(word);
  for (; *name; name++)
    if (!strncasecmp(name, word, n)) return true;
  return false;
}

static bool is_length(const char *name) {
  static const char *const parts[] = { "len", "seq", "height", "width", "time", "frame", "token" };
  static const char *const whole[] = { "t", "l", "s", "h", "w" };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (has_word(name, parts[i])) return true;
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

bool open_dims_batch(const OpenDims *d, int floats) {
  return !d->not_batch && d->floats == floats && !(d->named && d->unnamed) && (!d->named || d->names.p.n == 1);
}

static const char *flags(Ctx *c, const OpenDims *d) {
  Sb s = { 0 };
  for (size_t i = 0; i < d->names.p.n; i++) sb_printf(&s, " --dim %.100s=N", d->names.p.p[i]);
  return sb_keep(&s, &c->model);
}

void open_dims_warn(Ctx *c, const OpenDims *d) {
  const bool one = d->names.p.n == 1;
  if (d->names.p.n)
    warn_at(c, d->at, "dimension%s%s %s not fixed; assuming 1; set %s with%s", one ? "" : "s", names_text(c, &d->names),
            one ? "is" : "are", one ? "it" : "them", flags(c, d));
}

void open_dims_refuse(Ctx *c, const OpenDims *d, const char *command) {
  const bool one = d->names.p.n == 1;
  fail_at(c, EX_BADMODEL, d->at, "dimension%s%s %s not fixed; tgc assumes 1 for a batch only. Give %s: %s%s", one ? "" : "s",
          names_text(c, &d->names), one ? "is" : "are", one ? "its size" : "their sizes", command ? command : "add", flags(c, d));
}
