/* SPDX-License-Identifier: MIT */
/* limits.c: budgets of a model: --limit gives them, --baseline takes them from an earlier report. Times vary, so a time that is
 * too long is measured again by the caller, and the baseline has a tolerance for each quantity. */
#include "../cmd.h"
#include <stdlib.h>
#include <string.h>

typedef enum { TIMES, BYTES, NUMBERS } Unit;
/* clang-format off */
/* key: of the report; tolerance: in percent, above the baseline */
static const struct { const char *name, *key; Unit unit; double tolerance; } quantities[LIMIT_COUNT] = {
  [LIMIT_LATENCY] = { "latency", "latency", TIMES, 10 },      [LIMIT_ARENA] = { "arena", "arena_bytes", BYTES, 0 },
  [LIMIT_WEIGHTS] = { "weights", "weight_bytes", BYTES, 0 },  [LIMIT_CODE] = { "code", "code_bytes", BYTES, 1 },
  [LIMIT_KERNELS] = { "kernels", "kernels", NUMBERS, 0 },
};
/* Powers of 1000 as usual, and powers of 1024 as options for sizes have them; times in ms */
static const struct { const char *text; Unit unit; double scale; } units[] = {
  { "ns", TIMES, 1e-6 }, { "us", TIMES, 1e-3 }, { "ms", TIMES, 1 }, { "s", TIMES, 1e3 }, { "", BYTES, 1 }, { "B", BYTES, 1 },
  { "kB", BYTES, 1e3 }, { "MB", BYTES, 1e6 }, { "GB", BYTES, 1e9 }, { "k", BYTES, 1024 }, { "M", BYTES, 1 << 20 },
  { "G", BYTES, 1 << 30 }, { "KiB", BYTES, 1024 }, { "MiB", BYTES, 1 << 20 }, { "GiB", BYTES, 1 << 30 }, { "", NUMBERS, 1 },
};
/* clang-format on */

static bool parse_value(const char *text, size_t n, Unit unit, bool tolerance, double *out) {
  char *end;
  const double v = strtod(text, &end);
  const size_t rest = (size_t)(text + n - end);
  if (end == text || end > text + n || !(v >= 0 && v < 1e15)) return false;
  *out = v;
  if (tolerance) return rest == 0 || (rest == 1 && *end == '%');
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (units[i].unit == unit && strlen(units[i].text) == rest && !memcmp(units[i].text, end, rest))
      return *out = v * units[i].scale, true;
  return false;
}

static int quantity_named(const char *text, size_t n) {
  for (int i = 0; i < LIMIT_COUNT; i++)
    if (strlen(quantities[i].name) == n && !memcmp(quantities[i].name, text, n)) return i;
  return -1;
}

const char *limits_parse(Arena *a, const char *text, bool tolerance, Measures *limits) {
  static const char *const form[] = { "a time such as 5ms or 120us", "a size such as 200kB or 1MiB", "a number" };
  const char *names[LIMIT_COUNT];
  for (int i = 0; i < LIMIT_COUNT; i++) names[i] = quantities[i].name;
  for (const char *at = text; *at;) {
    const size_t n = strcspn(at, ","), name = strcspn(at, "=,");
    const int q = quantity_named(at, name);
    const char *word = arena_str(a, at, name);
    if (q < 0) return arena_printf(a, "unknown quantity '%s'%s", word, did_you_mean(a, word, names, LIMIT_COUNT));
    if (name == n || !parse_value(at + name + 1, n - name - 1, quantities[q].unit, tolerance, &limits->value[q]))
      return arena_printf(a, "%s needs %s", word, tolerance ? "percents, such as 5%" : form[quantities[q].unit]);
    limits->known[q] = true;
    at += n + (at[n] == ',');
  }
  return NULL;
}

/* A report's value of a quantity. Kernels are a number, or a list of them. */
static bool report_value(const json_t *report, int q, double *out) {
  const json_t *j = json_object_get(report, quantities[q].key);
  if (q == LIMIT_LATENCY) j = json_object_get(j, "median_ms");
  if (json_is_array(j)) *out = (double)json_array_size(j);
  else if (json_is_number(j)) *out = json_number_value(j);
  else return false;
  return true;
}

/* The values of an earlier report, raised by the tolerances */
static void read_baseline(Ctx *c, const Options *o, Measures *old, const char **machine) {
  const Bytes b = file_read(c, o->baseline, 1 << 30);
  json_t *report = json_loadb((const char *)b.p, b.n, 0, NULL);
  bool any = false;
  for (int q = 0; q < LIMIT_COUNT; q++) any |= old->known[q] = report_value(report, q, &old->value[q]);
  const char *text = json_string_value(json_object_get(report, "machine"));
  *machine = text ? arena_str(&c->model, text, strlen(text)) : NULL;
  json_decref(report);
  c->file = NULL; /* the model is not to blame */
  if (!any) fail(c, EX_NOINPUT_, "'%s' is not a report that `tgc bench --json` or `tgc inspect --json` printed", o->baseline);
}

static double tolerance_of(Ctx *c, const Options *o, int q) {
  Measures t = { 0 };
  if (o->tolerance && limits_parse(&c->model, o->tolerance, true, &t)) BUG("a tolerance was not checked");
  return t.known[q] ? t.value[q] : quantities[q].tolerance;
}

bool limits_read(Ctx *c, const Options *o, Measures *limits, Measures *old, const char **machine) {
  *limits = *old = (Measures){ .note = "" };
  *machine = NULL;
  if (o->limits && limits_parse(&c->model, o->limits, false, limits)) BUG("a limit was not checked");
  if (o->baseline) read_baseline(c, o, old, machine);
  return o->limits || o->baseline;
}

/* Whether a quantity is within its limit and within its baseline */
bool limits_hold(Ctx *c, const Options *o, const Measures *m, const Measures *limits, const Measures *old, int q) {
  if (limits->known[q] && !(m->value[q] <= limits->value[q])) return false;
  return !old->known[q] || m->value[q] <= old->value[q] * (1 + tolerance_of(c, o, q) / 100);
}

static const char *quantity_text(Ctx *c, int q, double v) {
  return quantities[q].unit == TIMES   ? time_text(c, v)
         : quantities[q].unit == BYTES ? arena_printf(&c->model, "%.0f bytes", v)
                                       : arena_printf(&c->model, "%.0f", v);
}

void limits_check(Ctx *c, const Options *o, const Measures *m, const Measures *limits, const Measures *old, Checks *k) {
  for (int q = 0; q < LIMIT_COUNT; q++) {
    const char *name = quantities[q].name, *value = quantity_text(c, q, m->value[q]), *note = q == LIMIT_LATENCY ? m->note : "";
    if (limits->known[q] && !m->known[q]) fail(c, EX_USAGE_, "--limit %s: this command does not measure it", name);
    if (limits->known[q])
      checks_add(c, k, m->value[q] <= limits->value[q], name, "%s, limit %s%s", value, quantity_text(c, q, limits->value[q]),
                 note);
    if (!old->known[q] || !m->known[q]) continue;
    const double change = old->value[q] > 0 ? m->value[q] / old->value[q] - 1
                          : m->value[q] > 0 ? 1
                                            : 0,
                 most = tolerance_of(c, o, q);
    checks_add(c, k, limits_hold(c, o, m, &(Measures){ 0 }, old, q), arena_printf(&c->model, "%s since baseline", name),
               "%s, was %s: %+.1f %%, tolerance %g %%%s", value, quantity_text(c, q, old->value[q]), change * 100, most, note);
  }
}
