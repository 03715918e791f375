/* SPDX-License-Identifier: MIT */
/* option_rows.c: the rows of options.h as tables, and sizes as options take them. */
#include "../cmd.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const OptionRow option_rows[] = {
#define OPTION(letter, name, arg, kind, field, verbs, group, help) \
  { letter, name, arg, kind, offsetof(Options, field), verbs, GROUP_##group, help },
#include "../options.h"
  { 0, NULL, NULL, FLAG, 0, NULL, GROUP_COUNT, NULL },
};
const VerbRow verb_rows[VERB_COUNT] = {
#define VERB(name, args, gloss, examples) { #name, args, gloss, examples },
#include "../options.h"
};
const char *const group_titles[GROUP_COUNT] = {
#define GROUP(name, title) title,
#include "../options.h"
};

enum { OPTIONS = sizeof option_rows / sizeof *option_rows - 1 };
static const char verb_letter[] = "crvikbptqwaxdos"; /* ORDER VERB: letters of verbs in options.h */
_Static_assert(sizeof verb_letter == VERB_COUNT + 1, "a letter for each verb");
_Static_assert(OPTIONS <= 64 * (int)(sizeof((Options *)0)->given / sizeof *((Options *)0)->given), "a bit for each option");

bool option_of_bundle(const OptionRow *r, Verb v) { return *r->verbs == '*' || strchr(r->verbs, verb_letter[v] & ~0x20); }
bool option_of(const OptionRow *r, Verb v) { return option_of_bundle(r, v) || strchr(r->verbs, verb_letter[v]); }

bool parse_size(const char *s, int64_t *out) {
  char *end;
  errno = 0;
  long long v = strtoll(s, &end, 10);
  int64_t scale = *end == 'k' ? 1 << 10 : *end == 'M' ? 1 << 20 : *end == 'G' ? 1 << 30 : 1;
  if (scale > 1) end++;
  return end != s && !*end && !errno && v >= 0 && i64_mul(v, scale, out);
}

bool parse_limit(const char *s, int64_t *limit) {
  *limit = 0;
  if (!s) return true;
  if (!parse_size(s, limit)) return false;
  *limit += *limit < INT64_MAX;
  return true;
}

bool pace_cpus(const char *text, Pace *p) {
  for (const char *at = text;; at++) {
    char *end;
    const long from = strtol(at, &end, 10);
    if (end == at || from < 0 || from >= PACE_CPUS) return false;
    long to = from;
    if (*end == '-') {
      at = end + 1;
      to = strtol(at, &end, 10);
      if (end == at || to < from || to >= PACE_CPUS) return false;
    }
    for (long i = from; i <= to; i++) p->cpus[i] = true;
    if (!*end) return true;
    if (*(at = end) != ',') return false;
  }
}

double duration(const char *text) {
  char *end;
  double v = strtod(text, &end);
  double unit = *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
  if (*end == 's' || *end == 'm' || *end == 'h') end++;
  return end == text || *end || !(v >= 0 && v < 1e7) ? -1 : v * unit;
}
