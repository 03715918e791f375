/* SPDX-License-Identifier: MIT */
/* options.c: the command line, parsed by the rows of options.h. */
#include "../cmd.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- parsing ---- */
static int unknown_option(const Options *o, const char *text, size_t n) {
  Arena a = { 0 };
  Texts names = { 0 };
  for (const OptionRow *r = option_rows; r->name; r++)
    if (o->verb == VERB_COUNT || option_of(r, o->verb)) VEC_PUSH(&names, r->name);
  const char *near = nearest_name(arena_str(&a, text, n), names.p, names.n);
  const int code = near ? option_wrong(o, "unknown option '--%s'; did you mean '--%s'?", text, near)
                        : option_wrong(o, "unknown option '--%s'", text);
  VEC_FREE(&names);
  arena_free(&a);
  return code;
}

static int unknown_verb(const Options *o, const char *word) {
  const char *names[VERB_COUNT + 1] = { "help" };
  for (int i = 0; i < VERB_COUNT; i++) names[i + 1] = verb_rows[i].name;
  const char *near = nearest_name(word, names, VERB_COUNT + 1);
  return near ? option_wrong(o, "unknown verb '%s'; did you mean '%s'?", word, near) : option_wrong(o, "unknown verb '%s'", word);
}

static bool parse_real(const char *s, double *out) {
  char *end;
  *out = strtod(s, &end);
  return end != s && !*end && *out >= 0 && *out < 1e300;
}

/* Stores a value. Returns -1, or the exit code for a wrong value. */
static int store(Options *o, const OptionRow *r, const char *value) {
  void *field = (char *)o + r->field;
  const size_t row = (size_t)(r - option_rows);
  o->given[row / 64] |= (uint64_t)1 << row % 64;
  if (value && !*value) return option_wrong(o, "--%s needs a value: %s", r->name, r->arg);
  switch (r->kind) {
  case FLAG: *(bool *)field = true; return -1;
  case MAYBE: *(const char **)field = value ? value : "yes"; return -1;
  case TEXT: *(const char **)field = value; return -1;
  case LIST: VEC_PUSH((Texts *)field, value); return -1;
  case SIZE: return parse_size(value, field) ? -1 : option_wrong(o, "--%s needs a whole number, not '%s'", r->name, value);
  case COUNT:
    return parse_size(value, field) && *(int64_t *)field
               ? -1
               : option_wrong(o, "--%s needs a whole number of at least 1, not '%s'", r->name, value);
  case REAL:
    return parse_real(value, field) ? -1 : option_wrong(o, "--%s needs a number that is not negative, not '%s'", r->name, value);
  }
  return -1;
}

/* The row of an option, by its letter or else by its name: the one for this verb, or any verb's; NULL: none. */
static const OptionRow *find_option(Verb v, char letter, const char *name, size_t n) {
  const OptionRow *found = NULL;
  for (const OptionRow *r = option_rows; r->name; r++) {
    if (letter ? r->letter != letter : strlen(r->name) != n || memcmp(r->name, name, n)) continue;
    if (!found || (v != VERB_COUNT && option_of(r, v))) found = r;
  }
  return found;
}

/* The row of an option of this verb by the first n bytes of its text. Returns -1, or the exit code if there is none. */
static int named_option(const Options *o, const char *text, size_t n, const OptionRow **row) {
  const OptionRow *r = *row = find_option(o->verb, 0, text, n);
  if (!r) return unknown_option(o, text, n);
  if (o->verb != VERB_COUNT && !option_of(r, o->verb))
    return option_wrong(o, "%s takes no option --%s", verb_rows[o->verb].name, r->name);
  return -1;
}

static int needs_value(const Options *o, const OptionRow *r) {
  return option_wrong(o, "--%s needs a value: %s", r->name, r->arg);
}

static int parse_long(Options *o, char ***argv) {
  const char *text = **argv + 2, *eq = strchr(text, '='), *value = eq ? eq + 1 : NULL;
  const OptionRow *r;
  const int code = named_option(o, text, eq ? (size_t)(eq - text) : strlen(text), &r);
  if (code >= 0) return code;
  if (r->kind == FLAG && eq) return option_wrong(o, "--%s takes no value", r->name);
  if (!value && r->kind != FLAG && r->kind != MAYBE && !(value = *++*argv)) return needs_value(o, r);
  return store(o, r, value);
}

int option_set(Options *o, const char *name, const char *value) {
  const OptionRow *r;
  const int code = named_option(o, name, strlen(name), &r);
  if (code >= 0) return code;
  if (r->kind == FLAG && value) return option_wrong(o, "--%s takes no value", r->name);
  if (r->kind != FLAG && r->kind != MAYBE && !value) return needs_value(o, r);
  return store(o, r, value);
}

static int parse_short(Options *o, char ***argv) {
  for (const char *at = **argv + 1; *at; at++) {
    const OptionRow *r = find_option(o->verb, *at, NULL, 0);
    if (!r) return option_wrong(o, "unknown option '-%c'", *at);
    if (o->verb != VERB_COUNT && !option_of(r, o->verb))
      return option_wrong(o, "%s takes no option -%c", verb_rows[o->verb].name, *at);
    if (r->kind == FLAG) {
      store(o, r, NULL);
      continue;
    }
    const char *value = at[1] ? at + 1 : *++*argv;
    if (!value) return option_wrong(o, "-%c needs a value: %s", r->letter, r->arg);
    return store(o, r, value);
  }
  return -1;
}

static bool takes_two(Verb v) { return strchr(verb_rows[v].args, ' ') && strchr(verb_rows[v].args, ' ')[1] != '-'; }

static int parse_word(Options *o, const char *word) {
  if (o->verb == VERB_COUNT) {
    if (!strcmp(word, "help")) return o->help = true, -1;
    for (int i = 0; i < VERB_COUNT; i++)
      if (!strcmp(word, verb_rows[i].name)) o->verb = (Verb)i;
    return o->verb == VERB_COUNT ? unknown_verb(o, word) : -1;
  }
  if (o->model && !o->other && takes_two(o->verb)) return o->other = word, -1;
  if (o->model || !*verb_rows[o->verb].args) return option_wrong(o, "unexpected argument '%s'", word);
  o->model = word;
  return -1;
}

void options_init(Options *o, Verb verb) {
  static char *const none[] = { NULL };
  *o = (Options){ .verb = verb, .words = none, .kernel = -1, .rtol = 1e-3, .atol = 1e-7, .seconds = 2 };
}

static int check_bundle(const Options *o) {
  for (int i = 0; option_rows[i].name; i++)
    if (o->given[i / 64] >> i % 64 & 1 && !option_of_bundle(&option_rows[i], o->verb))
      return option_wrong(o, "--%s has no effect on '%s', a bundle that is already compiled", option_rows[i].name,
                   o->model);
  return -1;
}

int options_parse(Options *o, int argc, char **argv) {
  options_init(o, VERB_COUNT);
  o->words = argv;
  bool words = false; /* after "--" */
  int code;
  for (int i = 1; i < argc; i++) /* so that it counts for what is wrong before it */
    if (!strcmp(argv[i], "--messages=json") || (!strcmp(argv[i], "--messages") && i + 1 < argc && !strcmp(argv[i + 1], "json")))
      o->messages = "json";
  for (char **at = argv + 1; *at; at++) {
    code = -1;
    if (words || (*at)[0] != '-' || !(*at)[1]) code = parse_word(o, *at);
    else if ((*at)[1] != '-') code = parse_short(o, &at);
    else if ((*at)[2]) code = parse_long(o, &at);
    else words = true;
    if (code >= 0) return code;
  }
  if (o->man) return print_man(), EX_DONE;
  if (o->version) return puts("tgc " TGC_VERSION), EX_DONE;
  if (o->help) return print_help(o), EX_DONE;
  if (o->verb == VERB_COUNT) return option_wrong(o, "no verb given");
  if (o->model && !o->other && takes_two(o->verb))
    return option_wrong(o, "%s needs %s", verb_rows[o->verb].name, verb_rows[o->verb].args);
  if (!o->model && !o->tunables && *verb_rows[o->verb].args)
    return option_wrong(o, "%s needs %s", verb_rows[o->verb].name, verb_rows[o->verb].args);
  if (o->verb == VERB_compile && !o->out && !o->stop_after) return option_wrong(o, "compile needs -o DIR");
  code = options_check(o);
  return code < 0 && strstr(verb_rows[o->verb].args, "BUNDLE") && is_bundle(o->model) ? check_bundle(o) : code;
}

void options_free(Options *o) {
  VEC_FREE(&o->inputs);
  VEC_FREE(&o->dims);
  VEC_FREE(&o->sizes);
  VEC_FREE(&o->states);
  VEC_FREE(&o->results);
  VEC_FREE(&o->settings);
  for (int i = 0; i < CHANGES; i++) VEC_FREE(change_texts(o, i));
  VEC_FREE(&o->metrics);
  VEC_FREE(&o->requires);
}
