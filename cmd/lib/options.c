/* options.c: the command line, the help and the manual page, made from the rows of options.h. */
#include "../cmd.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef enum { FLAG, TEXT, LIST, SIZE, COUNT, REAL, MAYBE } Kind; /* COUNT: a SIZE of at least 1 */
typedef struct OptionRow {
  char letter;
  const char *name, *arg;
  Kind kind;
  size_t field;
  const char *verbs, *help;
} OptionRow;
typedef struct VerbRow {
  const char *name, *args, *gloss;
} VerbRow;

static const OptionRow option_rows[] = {
#define VERB(name, args, gloss)
#define OPTION(letter, name, arg, kind, field, verbs, help) { letter, name, arg, kind, offsetof(Options, field), verbs, help },
#include "../options.h"
#undef VERB
#undef OPTION
};
static const VerbRow verb_rows[] = {
#define VERB(name, args, gloss) { #name, args, gloss },
#define OPTION(letter, name, arg, kind, field, verbs, help)
#include "../options.h"
#undef VERB
#undef OPTION
};
static const char *const verb_name[VERB_COUNT] = {
#define VERB(name, args, gloss) #name,
#define OPTION(letter, name, arg, kind, field, verbs, help)
#include "../options.h"
#undef VERB
#undef OPTION
};
static const char verb_letter[] = "crvikbptqdo"; /* ORDER VERB: letters of verbs in options.h */
_Static_assert(sizeof verb_letter == VERB_COUNT + 1, "a letter for each verb");

enum { OPTIONS = sizeof option_rows / sizeof *option_rows };
#define MOST_ELEMS   ((int64_t)1 << 40)
#define MOST_SECONDS 1e7

static const struct {
  int code;
  const char *gloss;
} exit_rows[] = {
  { EX_DONE, "everything asked for was done" },
  { EX_FAILED, "it ran, but the check failed" },
  { EX_USAGE_, "the command line is wrong" },
  { EX_BADMODEL, "the model is invalid, unsupported, or over a limit" },
  { EX_NOINPUT_, "an input file cannot be read" },
  { EX_MISSING, "a device or tool is missing" },
  { EX_BUG, "a bug in tgc" },
  { EX_NOWRITE, "output cannot be written" },
  { EX_RETRY, "try again later" },
  { EX_SIGNAL + SIGINT, "interrupted" },
};
enum { EXITS = sizeof exit_rows / sizeof *exit_rows };

static bool option_of_bundle(const OptionRow *r, Verb v) { return *r->verbs == '*' || strchr(r->verbs, verb_letter[v] & ~0x20); }
static bool option_of(const OptionRow *r, Verb v) { return option_of_bundle(r, v) || strchr(r->verbs, verb_letter[v]); }
_Static_assert(OPTIONS <= 64 * (int)(sizeof((Options *)0)->given / sizeof *((Options *)0)->given), "a bit for each option");

/* ---- help ---- */
enum { HELP_AT = 30, HELP_WIDTH = 110 };

/* Prints the words of a text from column HELP_AT on; `at` is the current column. */
static void print_words(const char *s, int at) {
  if (at + 2 > HELP_AT) at = 0, putchar('\n');
  printf("%*s", HELP_AT - at, "");
  at = HELP_AT;
  for (size_t n; *s; s += n + (s[n] == ' ')) {
    n = strcspn(s, " ");
    if (at > HELP_AT && at + 1 + (int)n > HELP_WIDTH) at = printf("\n%*s", HELP_AT, "") - 1;
    at += printf("%s%.*s", at > HELP_AT ? " " : "", (int)n, s);
  }
  putchar('\n');
}

static void print_option(const OptionRow *r) {
  const char *eq = r->kind == MAYBE ? "[=" : r->arg ? "=" : "", letter[] = { '-', r->letter, ',', 0 };
  print_words(r->help, printf("  %-4s--%s%s%s%s", r->letter ? letter : "", r->name, eq, r->arg ? r->arg : "",
                              r->kind == MAYBE ? "]" : ""));
}

static void print_help(const Options *o) {
  if (o->verb == VERB_COUNT) {
    puts("usage: tgc VERB INPUT [-o OUT] [options]\n\nCompiles ONNX and .tg models ahead of time to self-contained C.\n\nVerbs:");
    for (int i = 0; i < VERB_COUNT; i++) printf("  %-9s%-15s%s\n", verb_rows[i].name, verb_rows[i].args, verb_rows[i].gloss);
    puts("\n`tgc help VERB` lists the options of a verb.\n\nExit codes:");
    for (int i = 0; i < EXITS; i++) printf("  %3d  %s\n", exit_rows[i].code, exit_rows[i].gloss);
    return;
  }
  printf("usage: tgc %s %s [options]\n\n%s\n\nOptions:\n", verb_rows[o->verb].name, verb_rows[o->verb].args,
         verb_rows[o->verb].gloss);
  for (int i = 0; i < OPTIONS; i++)
    if (option_of(&option_rows[i], o->verb)) print_option(&option_rows[i]);
}

/* Text for troff: hyphens that can be copied, and no accidental request or escape. */
static void put_troff(const char *s) {
  for (; *s; s++) {
    if (*s == '-') fputs("\\-", stdout);
    else if (*s == '\\') fputs("\\e", stdout);
    else if (*s == '`') fputs("\\(ga", stdout);
    else putchar(*s);
  }
}

static void print_man_option(const OptionRow *r) {
  printf(".TP\n.B ");
  if (r->letter) printf("\\-%c, ", r->letter);
  fputs("\\-\\-", stdout);
  put_troff(r->name);
  if (r->arg) printf("%s\\fI%s\\fR%s", r->kind == MAYBE ? "[=" : "=", r->arg, r->kind == MAYBE ? "]" : "");
  fputs("\n", stdout);
  put_troff(r->help);
  if (*r->verbs != '*') {
    fputs(" (", stdout);
    for (int v = 0, n = 0; v < VERB_COUNT; v++)
      if (option_of(r, (Verb)v)) printf("%s%s", n++ ? ", " : "", verb_rows[v].name);
    putchar(')');
  }
  puts(".");
}

static void print_man(void) {
  puts(".TH TGC 1 \"\" \"tgc " TGC_VERSION
       "\"\n.SH NAME\ntgc \\- compile ONNX models ahead of time to self\\-contained C\n.SH SYNOPSIS\n"
       ".B tgc\n.I VERB INPUT\n[\\fB\\-o\\fR \\fIOUT\\fR] [\\fIoptions\\fR]\n.SH DESCRIPTION\n"
       "Turns a model, in ONNX or in tgc\\(aqs own text format, into a bundle of C source that needs nothing but a C compiler.\n"
       "Results go to standard output, diagnostics to standard error. A bundle is complete or absent.\n.SH VERBS");
  for (int i = 0; i < VERB_COUNT; i++) {
    printf(".TP\n.B %s ", verb_rows[i].name);
    put_troff(verb_rows[i].args);
    putchar('\n');
    put_troff(verb_rows[i].gloss);
    puts(".");
  }
  puts(".SH OPTIONS\nIn parentheses the verbs that take an option; without any, all do.\n"
       "Where an option that may not be repeated is given twice, the last value counts.");
  for (int i = 0; i < OPTIONS; i++) print_man_option(&option_rows[i]);
  puts(".SH EXIT STATUS");
  for (int i = 0; i < EXITS; i++) printf(".TP\n.B %d\n%s.\n", exit_rows[i].code, exit_rows[i].gloss);
  puts(".SH ENVIRONMENT\n.TP\n.B CC\nThe C compiler of run, verify, bench, profile and tune, with arguments after blanks "
       "(cc).\n.TP\n.B TGC_CFLAGS\n"
       "More arguments for it.\n.TP\n.B TGC_PYTHON\nA Python with onnxruntime and numpy, for bench \\-\\-vs\\-ort (python3).\n"
       ".TP\n.B TMPDIR\nWhere they keep their files while they work (/tmp).\n"
       ".TP\n.B XDG_CACHE_HOME\nWhere the store of tune lies, in tgc/tune.db (~/.cache).");
}

/* ---- parsing ---- */
double duration(const char *text) {
  char *end;
  double v = strtod(text, &end);
  double unit = *end == 'm' ? 60 : *end == 'h' ? 3600 : 1;
  if (*end == 's' || *end == 'm' || *end == 'h') end++;
  return end == text || *end || !(v >= 0 && v < 1e7) ? -1 : v * unit;
}

static int wrong(const Options *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int wrong(const Options *o, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  fputs("tgc: ", stderr);
  vfprintf(stderr, fmt, ap);
  fprintf(stderr, " (tgc help%s%s)\n", o->verb == VERB_COUNT ? "" : " ", o->verb == VERB_COUNT ? "" : verb_name[o->verb]);
  va_end(ap);
  return EX_USAGE_;
}

static bool parse_size(const char *s, int64_t *out) {
  char *end;
  errno = 0;
  long long v = strtoll(s, &end, 10);
  int64_t scale = *end == 'k' ? 1 << 10 : *end == 'M' ? 1 << 20 : *end == 'G' ? 1 << 30 : 1;
  if (scale > 1) end++;
  return end != s && !*end && !errno && v >= 0 && i64_mul(v, scale, out);
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
  if (value && !*value) return wrong(o, "--%s needs a value: %s", r->name, r->arg);
  switch (r->kind) {
  case FLAG: *(bool *)field = true; return -1;
  case MAYBE: *(const char **)field = value ? value : "yes"; return -1;
  case TEXT: *(const char **)field = value; return -1;
  case LIST: VEC_PUSH((Texts *)field, value); return -1;
  case SIZE: return parse_size(value, field) ? -1 : wrong(o, "--%s needs a whole number, not '%s'", r->name, value);
  case COUNT:
    return parse_size(value, field) && *(int64_t *)field
               ? -1
               : wrong(o, "--%s needs a whole number of at least 1, not '%s'", r->name, value);
  case REAL:
    return parse_real(value, field) ? -1 : wrong(o, "--%s needs a number that is not negative, not '%s'", r->name, value);
  }
  return -1;
}

/* The row of an option, by its letter or else by its name: the one for this verb, or any verb's; NULL: none. */
static const OptionRow *find_option(Verb v, char letter, const char *name, size_t n) {
  const OptionRow *found = NULL;
  for (const OptionRow *r = option_rows; r < option_rows + OPTIONS; r++) {
    if (letter ? r->letter != letter : strlen(r->name) != n || memcmp(r->name, name, n)) continue;
    if (!found || (v != VERB_COUNT && option_of(r, v))) found = r;
  }
  return found;
}

static int parse_long(Options *o, char ***argv) {
  const char *text = **argv + 2, *eq = strchr(text, '='), *value = eq ? eq + 1 : NULL;
  const OptionRow *r = find_option(o->verb, 0, text, eq ? (size_t)(eq - text) : strlen(text));
  if (!r) return wrong(o, "unknown option '%s'", **argv);
  if (o->verb != VERB_COUNT && !option_of(r, o->verb)) return wrong(o, "%s takes no option --%s", verb_name[o->verb], r->name);
  if (r->kind == FLAG && eq) return wrong(o, "--%s takes no value", r->name);
  if (!value && r->kind != FLAG && r->kind != MAYBE && !(value = *++*argv))
    return wrong(o, "--%s needs a value: %s", r->name, r->arg);
  return store(o, r, value);
}

static int parse_short(Options *o, char ***argv) {
  for (const char *at = **argv + 1; *at; at++) {
    const OptionRow *r = find_option(o->verb, *at, NULL, 0);
    if (!r) return wrong(o, "unknown option '-%c'", *at);
    if (o->verb != VERB_COUNT && !option_of(r, o->verb)) return wrong(o, "%s takes no option -%c", verb_name[o->verb], *at);
    if (r->kind == FLAG) {
      store(o, r, NULL);
      continue;
    }
    const char *value = at[1] ? at + 1 : *++*argv;
    if (!value) return wrong(o, "-%c needs a value: %s", r->letter, r->arg);
    return store(o, r, value);
  }
  return -1;
}

static int parse_word(Options *o, const char *word) {
  if (o->verb == VERB_COUNT) {
    if (!strcmp(word, "help")) return o->help = true, -1;
    for (int i = 0; i < VERB_COUNT; i++)
      if (!strcmp(word, verb_name[i])) o->verb = (Verb)i;
    return o->verb == VERB_COUNT ? wrong(o, "unknown verb '%s'", word) : -1;
  }
  if (o->model || !*verb_rows[o->verb].args) return wrong(o, "unexpected argument '%s'", word);
  o->model = word;
  return -1;
}

static bool is_pass(char letter) {
  for (int i = 0; i < pass_count(); i++)
    if (pass_info(i).letter == letter) return true;
  return false;
}

static int check_stop(const Options *o) {
  const char *name = o->stop_after;
  Sb names = { 0 };
  bool known = !strcmp(name, "load"), of_graph = known;
  int code = -1;
  for (int i = 0; i < pass_count(); i++) {
    const PassInfo p = pass_info(i);
    sb_printf(&names, ", %s", p.name);
    if (strcmp(p.name, name)) continue;
    known = true;
    of_graph = p.level == L_GRAPH;
  }
  if (!known) code = wrong(o, "unknown --stop-after '%s'; there are load%s", name, names.p);
  else if (of_graph && o->kernel >= 0 && !o->dump)
    code = wrong(o, "--kernel has no effect with --stop-after=%s, which prints no kernels", name);
  sb_free(&names);
  return code;
}

static int unknown_precision(const Options *o) {
  Sb s = { 0 };
  for (int p = 0; p < PREC_COUNT; p++) sb_printf(&s, "%s%s", p ? ", " : "", precision_name[p]);
  int status = wrong(o, "unknown --precision '%s'; there are %s", o->precision, s.p);
  sb_free(&s);
  return status;
}

/* ---- options that would have no effect ---- */
static bool given(const Options *o, const char *name) {
  for (int i = 0; i < OPTIONS; i++)
    if (o->given[i / 64] >> i % 64 & 1 && !strcmp(option_rows[i].name, name)) return true;
  return false;
}

/* clang-format off */
/* The first option of a pair is ignored beside the second. */
static const struct { const char *option, *beside; } ignored[] = {
  { "name", "stop-after" },         { "emit", "stop-after" },      { "embed-weights", "stop-after" },
  { "no-cpu-check", "stop-after" }, { "self-test", "stop-after" }, { "explain", "stop-after" },
  { "cc-limit", "stop-after" },     { "seconds", "runs" },
  { "self-test", "start-after" },   { "dim", "start-after" },      { "result", "start-after" },
  { "capacity", "start-after" },    { "state", "start-after" },    { "data", "start-after" },
  { "seed", "start-after" },        { "no-index-status", "start-after" }, { "lock", "start-after" },
  { "tune-db", "no-tune-store" },  { "backend", "outputs" },       { "kernel-groups", "outputs" },           { "schedule", "outputs" },
  { "no-tune-store", "outputs" },  { "tune-db", "outputs" },       { "denormals", "outputs" },        { "threads", "outputs" },
  { "cpu", "outputs" },            { "cc-limit", "outputs" },      { "dump", "outputs" },
};
/* An option that has no effect unless one of the others is given. */
static const struct { const char *option, *without[3]; } idle[] = {
  { "format", { "output" } },
  { "kernel", { "dump", "stop-after" } },
  { "seed", { "self-test", "precision", "weights" } }, /* for compile */
};
/* clang-format on */

static int check_effect(const Options *o) {
  Emit emit;
  const Backend *b = backend_of(o, &emit);
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
    if (given(o, ignored[i].option) && given(o, ignored[i].beside))
      return wrong(o, "--%s has no effect with --%s", ignored[i].option, ignored[i].beside);
  for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
    Sb names = { 0 };
    bool any = !given(o, idle[i].option) || (!strcmp(idle[i].option, "seed") && o->verb != VERB_compile);
    for (int k = 0; k < 3 && idle[i].without[k]; k++) {
      any |= given(o, idle[i].without[k]);
      sb_printf(&names, "%s--%s", k ? " or " : "", idle[i].without[k]);
    }
    const int code = any ? -1 : wrong(o, "--%s has no effect without %s", idle[i].option, names.p);
    sb_free(&names);
    if (code >= 0) return code;
  }
  if (o->cpu && !b->schedules) return wrong(o, "--cpu has no effect with the backend %s: LLVM schedules for a CPU", b->name);
  if (o->device && !b->device && !(o->model && is_bundle(o->model)))
    return wrong(o, "--device has no effect with the backend %s: its code runs on the CPU", b->name);
  if (o->archs && !b->images) return wrong(o, "--arch has no effect with the backend %s", b->name);
  if (o->archs && o->verb == VERB_inspect && !o->explain && !o->json)
    return wrong(o, "--arch has no effect without --explain or --json");
  if (b->device && o->target)
    return wrong(o, "--target has no effect with the backend %s: the device's driver compiles", b->name);
  if (b->device && o->groups)
    return wrong(o, "--kernel-groups has no effect with the backend %s: a launch is one kernel", b->name);
  if (b->flushes && o->denormals && !strcmp(o->denormals, "keep"))
    return wrong(o, "--denormals=keep has no effect with the backend %s: its language lets denormals be zero", b->name);
  if (b->device && o->no_cpu_check) return wrong(o, "--no-cpu-check has no effect with the backend %s", b->name);
  if (o->verb == VERB_profile && !b->is_c && !b->device)
    return wrong(o, "profile cannot time kernels of the backend %s", b->name);
  if (o->verb == VERB_tune && b->device && !b->driver)
    return wrong(o, "tune cannot measure for the backend %s: its schedules come from the cost model", b->name);
  if (o->device && b->device && !b->driver && (o->verb == VERB_compile || o->verb == VERB_inspect || o->verb == VERB_check))
    return wrong(o, "--device has no effect with the backend %s: tgc %s asks no driver for it", b->name, verb_name[o->verb]);
  if (o->verb == VERB_tune && b->device && o->threads)
    return wrong(o, "--threads has no effect with the backend %s: the device shares the work of a run", b->name);
  if (o->verb != VERB_compile) return -1;
  if (o->cc_limit && emit != EMIT_SO) return wrong(o, "--cc-limit has no effect without --emit=so, since nothing is linked");
  if (o->embed && strcmp(o->embed, "yes") && emit != EMIT_TEXT && !b->images)
    return wrong(o, "--embed-weights=%s has no effect with --emit=%s: the weights are in the object", o->embed,
                 o->emit ? o->emit : "obj");
  return -1;
}

static int check_bundle(const Options *o) {
  for (int i = 0; i < OPTIONS; i++)
    if (o->given[i / 64] >> i % 64 & 1 && !option_of_bundle(&option_rows[i], o->verb))
      return wrong(o, "--%s has no effect on '%s', a bundle that is already compiled", option_rows[i].name,
                   o->model);
  return -1;
}

static int check_twice(const Options *o, const char *name, const Texts *list) {
  for (size_t i = 0; i < list->n; i++)
    for (size_t k = 0; k < i; k++)
      if (!strcmp(list->p[i], list->p[k])) return wrong(o, "--%s %s is given twice", name, list->p[i]);
  return -1;
}

static int check_dim(const Options *o, size_t i) {
  const char *text = o->dims.p[i], *eq = strrchr(text, '=');
  const size_t n = eq ? (size_t)(eq - text) : 0;
  int64_t v;
  if (!n) return wrong(o, "--dim needs NAME=N, not '%s'", text);
  if (!parse_size(eq + 1, &v)) return wrong(o, "--dim %s: the size must be a whole number, not '%s'", text, eq + 1);
  if (v < 1) return wrong(o, "--dim %s: the size must be at least 1", text);
  if (v > MOST_ELEMS) return wrong(o, "--dim %s: the size must be at most 2^40", text);
  for (size_t k = 0; k < i; k++)
    if (!strncmp(o->dims.p[k], text, n + 1) && !strchr(o->dims.p[k] + n + 1, '='))
      return wrong(o, "--dim gives '%.*s' twice: %s and %s", (int)n, text, o->dims.p[k] + n + 1, eq + 1);
  return -1;
}

/* Appends a word to "c, ir or obj"; last: it is the last word */
static void add_choice(Sb *s, const char *word, bool last) { sb_printf(s, "%s%s", !s->n ? "" : last ? " or " : ", ", word); }

static int unknown_backend(const Options *o) {
  Sb names = { 0 }, forms = { 0 };
  for (const Backend *const *b = backends; *b; b++) {
    add_choice(&names, (*b)->name, !b[1]);
    for (const CodeForm *f = (*b)->forms; f->word; f++) add_choice(&forms, f->word, !b[1] && !f[1].word);
  }
  const int code = o->emit ? wrong(o, "--emit is %s, not '%s'", forms.p, o->emit)
                           : wrong(o, "--backend is %s, not '%s'", names.p, o->backend);
  sb_free(&names);
  sb_free(&forms);
  return code;
}

static int check_values(const Options *o) {
  for (const char *s = o->dump ? o->dump : ""; *s; s++)
    if (!is_pass(*s)) return wrong(o, "no pass or step has the letter '%c'; `tgc ops` lists them", *s);
  if (o->verb == VERB_compile && !o->out && !o->stop_after) return wrong(o, "compile needs -o DIR");
  if (groups_named(o->groups) == GROUPS_COUNT)
    return wrong(o, "unknown --kernel-groups '%s'; there are faster, none, all", o->groups);
  if (o->precision && precision_named(o->precision) == PREC_COUNT) return unknown_precision(o);
  if (o->weights && storage_named(o->weights) == STORAGE_COUNT)
    return wrong(o, "unknown --weights '%s'; there are fp32, bf16, fp16, int8, int4", o->weights);
  if (o->denormals && strcmp(o->denormals, "flush") && strcmp(o->denormals, "keep"))
    return wrong(o, "--denormals is flush or keep, not '%s'", o->denormals);
  Emit emit;
  const Backend *b = backend_of(o, &emit);
  if (!b) return unknown_backend(o);
  if (o->backend && strcmp(o->backend, b->name)) return wrong(o, "--emit=%s is not for --backend=%s", o->emit, o->backend);
  if (o->embed && strcmp(o->embed, "yes") && strcmp(o->embed, "incbin") && strcmp(o->embed, "c"))
    return wrong(o, "--embed-weights is incbin or c, not '%s'", o->embed);
  if (o->format && strcmp(o->format, "npy") && strcmp(o->format, "pb") && strcmp(o->format, "raw"))
    return wrong(o, "--format is npy, pb or raw, not '%s'", o->format);
  if (o->threads > 1024) return wrong(o, "--threads is at most 1024");
  if (o->time && duration(o->time) < 0)
    return wrong(o, "--time needs a number of seconds, or one with s, m or h, not '%s'", o->time);
  if (o->cc_limit && duration(o->cc_limit) < 0) return wrong(o, "--cc-limit needs a time as --time does, not '%s'", o->cc_limit);
  if (given(o, "percentile") && !(o->percentile > 0 && o->percentile <= 100))
    return wrong(o, "--percentile is above 0 and at most 100, not %g", o->percentile);
  if (o->seconds > MOST_SECONDS) return wrong(o, "--seconds is at most %g", MOST_SECONDS);
  if (o->cc_limit && duration(o->cc_limit) == 0) return wrong(o, "--cc-limit 0 leaves the C compiler no time");
  if (o->beam > 1000) return wrong(o, "--beam is at most 1000");
  if (o->name && !bundle_name_ok(o->name))
    return wrong(o, "--name needs a C identifier of at most 40 characters, not '%s'", o->name);
  int code = check_effect(o);
  if (code < 0 && o->stop_after) code = check_stop(o);
  if (code < 0) code = check_twice(o, "result", &o->results);
  for (size_t i = 0; i < o->dims.n && code < 0; i++) code = check_dim(o, i);
  return code;
}

int options_parse(Options *o, int argc, char **argv) {
  *o = (Options){ .verb = VERB_COUNT, .kernel = -1, .rtol = 1e-3, .atol = 1e-7, .seconds = 2 };
  bool words = false; /* after "--" */
  int code;
  (void)argc;
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
  if (o->verb == VERB_COUNT) return wrong(o, "no verb given");
  if (!o->model && !o->tunables && *verb_rows[o->verb].args)
    return wrong(o, "%s needs %s", verb_name[o->verb], verb_rows[o->verb].args);
  code = check_values(o);
  return code < 0 && strstr(verb_rows[o->verb].args, "BUNDLE") && is_bundle(o->model) ? check_bundle(o) : code;
}

void options_free(Options *o) {
  VEC_FREE(&o->inputs);
  VEC_FREE(&o->dims);
  VEC_FREE(&o->states);
  VEC_FREE(&o->results);
  VEC_FREE(&o->settings);
}
