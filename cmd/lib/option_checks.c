/* SPDX-License-Identifier: MIT */
/* option_checks.c: refuses options whose values are wrong, and options that have no effect beside others or without them. */
#include "../cmd.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ELEMS   ((int64_t)1 << 40)
#define MOST_SECONDS 1e7

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
  if (!known) code = option_wrong_value(o, "stop-after", name, "unknown --stop-after '%s'; there are load%s", name, names.p);
  else if (of_graph && o->kernel >= 0 && !o->dump)
    code = option_wrong(o, "--kernel has no effect with --stop-after=%s, which prints no kernels", name);
  sb_free(&names);
  return code;
}

static int unknown_precision(const Options *o) {
  Sb s = { 0 };
  for (int p = 0; p < PREC_COUNT; p++) sb_printf(&s, "%s%s", p ? ", " : "", precision_name[p]);
  int status = option_wrong_value(o, "precision", o->precision, "unknown --precision '%s'; there are %s", o->precision, s.p);
  sb_free(&s);
  return status;
}

/* ---- options that would have no effect ---- */
bool option_given(const Options *o, const char *name) {
  for (int i = 0; option_rows[i].name; i++)
    if (o->given[i / 64] >> i % 64 & 1 && !strcmp(option_rows[i].name, name)) return true;
  return false;
}

/* clang-format off */
/* The first option of a pair is ignored beside the second. */
static const struct { const char *option, *beside; } ignored[] = {
  { "name", "stop-after" },         { "emit", "stop-after" },      { "embed-weights", "stop-after" },
  { "package", "stop-after" },
  { "run-step", "stop-after" },
  { "no-cpu-check", "stop-after" }, { "bindings", "stop-after" }, { "self-test", "stop-after" }, { "explain", "stop-after" },
  { "cc-limit", "stop-after" },     { "seconds", "runs" },
  { "self-test", "start-after" },   { "dim", "start-after" },      { "result", "start-after" },
  { "from", "start-after" },        { "const", "start-after" },    { "rename", "start-after" },
  { "prologue", "start-after" },    { "epilogue", "start-after" }, { "convert", "start-after" },
  { "capacity", "start-after" },    { "state", "start-after" },    { "data", "start-after" },
  { "seed", "start-after" },        { "no-index-status", "start-after" }, { "lock", "start-after" },
  { "holdout", "holdout-data" },
  { "tune-db", "no-tune-store" },  { "backend", "outputs" },       { "kernel-groups", "outputs" },           { "schedule", "outputs" },
  { "no-tune-store", "outputs" },  { "tune-db", "outputs" },       { "denormals", "outputs" },        { "threads", "outputs" },
  { "machine", "outputs" },        { "machine", "measure" },
  { "optimize", "outputs" },       { "max-arena", "outputs" },     { "max-weights", "outputs" },
  { "cpu", "outputs" },            { "cc-limit", "outputs" },      { "dump", "outputs" },
  { "vs-ort", "pairs" },
  { "vs-ort", "rate" },            { "vs-untuned", "rate" },       { "vs-ort", "cold" },            { "vs-untuned", "cold" },
  { "interpret", "outputs" },      { "device", "interpret" },      { "arch", "interpret" },           { "threads", "interpret" },
  { "cc-limit", "interpret" },     { "start-after", "outputs" },
  { "tune-log", "job" },           { "threads", "job" },           { "no-validate", "job" },       { "device", "job" },
  { "tune-log", "import" },        { "threads", "import" },        { "no-validate", "import" },    { "device", "import" },
};
/* An option that has no effect unless one of the others is given. */
static const struct { const char *option, *without[3]; } idle[] = {
  { "format", { "output" } },
  { "kernel", { "dump", "stop-after" } },
  { "tolerance", { "baseline" } },
  { "csv", { "rate", "cold" } },
  { "repeat", { "limit", "baseline" } },
  { "pairs", { "vs-untuned" } },
  { "ort-unfused", { "ort" } },
  { "seed", { "self-test", "precision", "weights" } }, /* for compile */
};
/* clang-format on */

/* verify runs a dump on data; the other verbs only compile it. */
static bool feeds_dump(const Options *o, const char *option) {
  return o->verb == VERB_verify && (!strcmp(option, "data") || !strcmp(option, "seed"));
}

static int check_effect(const Options *o) {
  Emit emit;
  const Backend *b = backend_of(o, &emit);
  if (o->out && !strcmp(o->out, "-"))
    return option_wrong(o, "-o - is no file name; %s, or give ./- for a file of this name",
                 o->stop_after ? "leave out -o to print the text" : "give the name of a file or folder");
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
    if (option_given(o, ignored[i].option) && option_given(o, ignored[i].beside) && !feeds_dump(o, ignored[i].option))
      return option_wrong(o, "--%s has no effect with --%s", ignored[i].option, ignored[i].beside);
  for (size_t i = 0; i < sizeof idle / sizeof *idle; i++) {
    Sb names = { 0 };
    bool any = !option_given(o, idle[i].option) || (!strcmp(idle[i].option, "seed") && o->verb != VERB_compile);
    for (int k = 0; k < 3 && idle[i].without[k]; k++) {
      any |= option_given(o, idle[i].without[k]);
      sb_printf(&names, "%s--%s", k ? " or " : "", idle[i].without[k]);
    }
    const int code = any ? -1 : option_wrong(o, "--%s has no effect without %s", idle[i].option, names.p);
    sb_free(&names);
    if (code >= 0) return code;
  }
  if (o->cpu && !b->schedules)
    return option_wrong(o, "--cpu has no effect with the backend %s: only LLVM schedules for a CPU", b->name);
  if (o->device && !b->device && !(o->model && is_bundle(o->model)))
    return option_wrong(o, "--device has no effect with the backend %s: its code runs on the CPU", b->name);
  if (o->interpret && !b->device && !o->start_after)
    return option_wrong(o, "--interpret has no effect with the backend %s: it is for kernels of devices", b->name);
  if (o->archs && !b->images) return option_wrong(o, "--arch has no effect with the backend %s", b->name);
  if (o->archs && o->verb == VERB_inspect && !o->explain && !o->json)
    return option_wrong(o, "--arch has no effect without --explain or --json");
  if (b->device && o->target)
    return option_wrong(o, "--target has no effect with the backend %s: the device's driver compiles the kernels", b->name);
  if (b->device && o->machine)
    return option_wrong(o, "--machine has no effect with the backend %s: its kernels do not run on the CPU", b->name);
  if (b->device && o->groups)
    return option_wrong(o, "--kernel-groups has no effect with the backend %s: a launch runs one kernel", b->name);
  if (b->flushes && o->denormals && !strcmp(o->denormals, "keep"))
    return option_wrong(o, "--denormals=keep has no effect with the backend %s: its language lets denormals be zero", b->name);
  if (b->device && o->no_cpu_check) return option_wrong(o, "--no-cpu-check has no effect with the backend %s", b->name);
  if (o->verb == VERB_profile && !b->is_c && !b->device)
    return option_wrong(o, "profile cannot time kernels of the backend %s", b->name);
  if (o->job && !b->is_c && !b->device)
    return option_wrong(
        o, "--job has no effect with the backend %s: its candidates are not source that another machine can compile", b->name);
  if (o->verb == VERB_tune && b->device && !b->driver && !o->job && !o->import)
    return option_wrong(o, "tune cannot measure for the backend %s: its schedules come from the cost model", b->name);
  if (o->device && b->device && !b->driver && (o->verb == VERB_compile || o->verb == VERB_inspect || o->verb == VERB_check))
    return option_wrong(o, "--device has no effect with the backend %s: tgc %s uses no driver", b->name, verb_rows[o->verb].name);
  if (o->verb == VERB_tune && b->device && o->threads)
    return option_wrong(o, "--threads has no effect with the backend %s: the device itself divides the work of a run", b->name);
  if (o->verb != VERB_compile) return -1;
  if (o->run_step && !(b->is_c && emit == EMIT_TEXT)) return option_wrong(o, "--run-step needs C: --backend=c");
  if (o->cc_limit && emit != EMIT_SO && emit != EMIT_WASM)
    return option_wrong(o, "--cc-limit has no effect without --emit=so or wasm, since nothing is linked");
  if (o->embed && strcmp(o->embed, "yes") && strcmp(o->embed, "file") && emit != EMIT_TEXT && !b->images)
    return option_wrong(o, "--embed-weights=%s has no effect with --emit=%s: the weights are in the object", o->embed,
                 o->emit ? o->emit : "obj");
  return -1;
}

static int check_twice(const Options *o, const char *name, const Texts *list) {
  for (size_t i = 0; i < list->n; i++)
    for (size_t k = 0; k < i; k++)
      if (!strcmp(list->p[i], list->p[k])) return option_wrong(o, "--%s %s is given twice", name, list->p[i]);
  return -1;
}

/* --dim NAME=LOW:HIGH[:STEP][@TYPICAL] */
static int check_range_of_dim(const Options *o, size_t i, const char *value) {
  Symbol s;
  int ranges = 0;
  const char *wrong_with = parse_range(value, &s);
  if (wrong_with) return option_wrong(o, "--dim %s: %s", o->dims.p[i], wrong_with);
  for (size_t k = 0; k <= i; k++) ranges += strchr(strrchr(o->dims.p[k], '='), ':') != NULL;
  return ranges > SYMBOLS_MOST ? option_wrong(o, "--dim %s: at most %d dimensions may have ranges", o->dims.p[i], SYMBOLS_MOST)
                               : -1;
}

static int check_sizes(const Options *o) {
  int runs = 0;
  for (size_t i = 0; i < o->sizes.n; i++) {
    const int n = runs_of_size(o->sizes.p[i]);
    if (!n)
      return option_wrong(
          o, "--size %s: needs whole numbers, separated by commas: N,N for several runs, or NAME=N,NAME=N for one",
          o->sizes.p[i]);
    runs += n;
  }
  if (runs > 1 && o->verb != VERB_verify && o->verb != VERB_bench)
    return option_wrong(o, "--size %s: tgc %s has one run, so give one number for each range", o->sizes.p[o->sizes.n - 1],
                 verb_rows[o->verb].name);
  return -1;
}

/* n: length of the name */
static int check_dim_twice(const Options *o, size_t i, size_t n) {
  const char *text = o->dims.p[i];
  for (size_t k = 0; k < i; k++)
    if (!strncmp(o->dims.p[k], text, n + 1) && !strchr(o->dims.p[k] + n + 1, '='))
      return option_wrong(o, "--dim gives '%.*s' twice: %s and %s", (int)n, text, o->dims.p[k] + n + 1, text + n + 1);
  return -1;
}

static int check_dim(const Options *o, size_t i) {
  const char *text = o->dims.p[i], *eq = strrchr(text, '=');
  const size_t n = eq ? (size_t)(eq - text) : 0;
  int64_t v;
  if (!n) return option_wrong(o, "--dim needs NAME=N, not '%s'", text);
  if (strchr(eq, ':') && (v = check_range_of_dim(o, i, eq + 1)) >= 0) return (int)v;
  if (strchr(eq, ':')) return check_dim_twice(o, i, n);
  if (strchr(eq, '+')) return check_dim_twice(o, i, n); /* the front end knows the names of a sum */
  if (!parse_size(eq + 1, &v))
    return option_wrong(o, "--dim %s: the size must be a whole number, not '%s'; a range is LOW:HIGH", text, eq + 1);
  if (v < 1) return option_wrong(o, "--dim %s: the size must be at least 1", text);
  if (v > MOST_ELEMS) return option_wrong(o, "--dim %s: the size must be at most 2^40", text);
  return check_dim_twice(o, i, n);
}

/* Appends a word to "c, ir or obj"; last: it is the last word */
static void add_choice(Sb *s, const char *word, bool last) { sb_printf(s, "%s%s", !s->n ? "" : last ? " or " : ", ", word); }

static int unknown_backend(const Options *o) {
  Sb names = { 0 }, forms = { 0 };
  for (const Backend *const *b = backends; *b; b++) {
    add_choice(&names, (*b)->name, !b[1]);
    for (const CodeForm *f = (*b)->forms; f->word; f++) add_choice(&forms, f->word, !b[1] && !f[1].word);
  }
  const int code = o->emit ? option_wrong_value(o, "emit", o->emit, "--emit must be %s, not '%s'", forms.p, o->emit)
                           : option_wrong_value(o, "backend", o->backend, "--backend must be %s, not '%s'", names.p, o->backend);
  sb_free(&names);
  sb_free(&forms);
  return code;
}

static int check_metrics(const Options *o) {
  Arena a = { 0 };
  Texts names = { 0 };
  int code = -1;
  metric_choices(o, &a, &names);
  for (size_t i = 0; i < o->metrics.n && code < 0; i++)
    if (!strchr(o->metrics.p[i], '=') || o->metrics.p[i][0] == '=' || !strchr(o->metrics.p[i], '=')[1])
      code = option_wrong(o, "--metric needs NAME=COMMAND, not '%s'", o->metrics.p[i]);
  for (size_t i = 0; i < o->requires.n && code < 0; i++) {
    const char *text = o->requires.p[i];
    RequireParts r;
    if (!requirement_parse(text, &r)) code = option_wrong(o, "--require needs METRIC>=X or METRIC<=X, not '%s'", text);
    else if (!metric_known(o, text, r.metric_n)) {
      const char *name = arena_str(&a, text, r.metric_n);
      code = option_wrong(o, "unknown metric '%s' in --require%s", name, did_you_mean(&a, name, names.p, names.n));
    }
  }
  VEC_FREE(&names);
  arena_free(&a);
  return code;
}

/* --metric of quantize */
static int check_metric(const Options *o) {
  Arena a = { 0 };
  Texts names = { 0 };
  const char *text = o->metric;
  int code = -1;
  if (!text) return -1;
  const size_t n = strcspn(text, "@=");
  if (text[n] && (!n || !text[n + 1])) code = option_wrong(o, "--metric needs NAME, NAME@OUTPUT or NAME=COMMAND, not '%s'", text);
  else if (text[n] != '=' && metric_named(text, n) == METRIC_COUNT) {
    const char *name = arena_str(&a, text, n);
    metric_choices(o, &a, &names);
    code = option_wrong(o, "unknown metric '%s' in --metric%s", name, did_you_mean(&a, name, names.p, names.n));
  }
  VEC_FREE(&names);
  arena_free(&a);
  return code;
}

static int check_budgets(const Options *o) {
  Arena a = { 0 };
  int code = -1;
  const char *why = o->limits ? limits_parse(&a, o->limits, false, &(Measures){ 0 }) : NULL;
  if (why) code = option_wrong(o, "--limit '%s': %s", o->limits, why);
  why = !why && o->tolerance ? limits_parse(&a, o->tolerance, true, &(Measures){ 0 }) : NULL;
  if (why) code = option_wrong(o, "--tolerance '%s': %s", o->tolerance, why);
  arena_free(&a);
  return code;
}

static int unknown_binding(const Options *o, const char *word, int n) {
  Sb names = { 0 };
  for (const Binding *b = bindings; b->word; b++) add_choice(&names, b->word, !b[1].word);
  const bool js = (n == 2 && !memcmp(word, "js", 2)) || (n == 10 && !memcmp(word, "javascript", 10));
  const int code = js ? option_wrong(o, "--bindings has no '%.*s': --emit=wasm writes a module and net.mjs, which loads it", n,
                                     word)
                      : option_wrong(o, "--bindings must be %s, not '%.*s'", names.p, n, word);
  sb_free(&names);
  return code;
}

static int check_bindings(const Options *o, Emit emit) {
  unsigned bits;
  const char *word, *name = o->name ? o->name : "net";
  int n;
  if (!o->bindings) return -1;
  if (!bindings_parse(o->bindings, &bits, &word, &n)) return unknown_binding(o, word, n);
  if (emit == EMIT_WASM) return option_wrong(o, "--bindings has no effect with --emit=wasm, whose interface is in JavaScript");
  const Package *k = o->package ? package_named(o->package) : NULL;
  if (k && k->bare && binding_named(bits, "python"))
    return option_wrong(
        o, "--bindings=python loads a shared library, and --package=%s is for machines without an operating system", k->word);
  const Binding *b = binding_refuses(bits, name);
  return b ? option_wrong(o, "--name=%s cannot be with --bindings=%s: the name has a meaning in %s", name, b->word, b->gloss)
           : -1;
}

static int unknown_package(const Options *o) {
  Sb names = { 0 };
  for (const Package *k = packages; k->word; k++) sb_printf(&names, "%s%s", k == packages ? "" : ", ", k->word);
  const int code = option_wrong_value(o, "package", o->package, "unknown --package '%s'; there are %s", o->package, names.p);
  sb_free(&names);
  return code;
}

/* Only CMake builds code that is not C, and kernels for several machines. */
static int check_package(const Options *o, const Backend *b, Emit emit) {
  if (!o->package) return 0;
  const Package *k = package_named(o->package);
  if (!k) return unknown_package(o);
  if (b->device) return option_wrong(o, "--package is for CPUs: --backend=%s has none", b->name);
  if (emit == EMIT_WASM) return option_wrong(o, "--package has no effect with --emit=wasm, whose module needs no build system");
  if (strcmp(o->package, "cmake") && !(b->is_c && emit == EMIT_TEXT))
    return option_wrong(o, "--package=%s needs C: --backend=c", o->package);
  if (!strcmp(o->package, "bazel") && o->embed && (!strcmp(o->embed, "yes") || !strcmp(o->embed, "incbin")))
    return option_wrong(
        o, "--package=bazel cannot tell the assembler where the weights are; embed them as C, with --embed-weights=c");
  if (strcmp(o->package, "cmake") && o->isa && !strcmp(o->isa, "fat"))
    return option_wrong(o, "--package=%s is for one machine: it has no --isa=fat", o->package);
  return 0;
}

/* Options with a few words as values. "yes" is the value of an option that was given none. */
static int check_choices(const Options *o) {
  const struct { const char *option, *value, *words[5], *must; } rows[] = {
    { "denormals", o->denormals, { "flush", "keep" }, "flush or keep" },
    { "embed-weights", o->embed, { "yes", "incbin", "c", "file" }, "incbin, c or file" },
    { "format", o->format, { "npy", "pb", "raw" }, "npy, pb or raw" },
    { "color", o->color, { "auto", "always", "never" }, "auto, always or never" },
    { "messages", o->messages, { "text", "json" }, "text or json" },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *option = rows[i].option, *value = rows[i].value, *const *word = rows[i].words;
    while (value && *word && strcmp(value, *word)) word++;
    if (!*word) return option_wrong_value(o, option, value, "--%s must be %s, not '%s'", option, rows[i].must, value);
  }
  return 0;
}

static int check_numbers(const Options *o) {
  int64_t limit;
  if (!parse_limit(o->max_arena, &limit)) return option_wrong(o, "--max-arena needs a whole number, not '%s'", o->max_arena);
  if (!parse_limit(o->max_weights, &limit))
    return option_wrong(o, "--max-weights needs a whole number, not '%s'", o->max_weights);
  if (o->threads > 1024) return option_wrong(o, "--threads must be at most 1024");
  if (o->time && duration(o->time) < 0)
    return option_wrong(o, "--time needs a number of seconds, or one with s, m or h, not '%s'", o->time);
  if (o->cc_limit && duration(o->cc_limit) < 0)
    return option_wrong(o, "--cc-limit needs a number of seconds, or one with s, m or h, not '%s'", o->cc_limit);
  if (option_given(o, "percentile") && !(o->percentile > 0 && o->percentile <= 100))
    return option_wrong(o, "--percentile must be above 0 and at most 100, not %g", o->percentile);
  if (o->cpus && !pace_cpus(o->cpus, &(Pace){ .rate = 0 }))
    return option_wrong(o, "--cpus needs numbers of CPUs, such as 0,2-3, not '%s'", o->cpus);
  if (option_given(o, "rate") && !(o->rate > 0 && o->rate <= 1e6))
    return option_wrong(o, "--rate must be above 0 and at most 1e6");
  if (o->seconds > MOST_SECONDS) return option_wrong(o, "--seconds must be at most %g", MOST_SECONDS);
  if (o->cc_limit && duration(o->cc_limit) == 0) return option_wrong(o, "--cc-limit 0 leaves the C compiler no time");
  if (o->beam > 1000) return option_wrong(o, "--beam must be at most 1000");
  return 0;
}

int options_check(const Options *o) {
  for (const char *s = o->dump ? o->dump : ""; *s; s++)
    if (!is_pass(*s)) return option_wrong(o, "no pass or step has the letter '%c'; `tgc ops` lists them", *s);
  if (groups_named(o->groups) == GROUPS_COUNT)
    return option_wrong_value(o, "kernel-groups", o->groups, "unknown --kernel-groups '%s'; there are faster, none, all",
                              o->groups);
  if (o->precision && precision_named(o->precision) == PREC_COUNT) return unknown_precision(o);
  if (o->weights && storage_named(o->weights) == STORAGE_COUNT)
    return option_wrong_value(o, "weights", o->weights, "unknown --weights '%s'; there are fp32, bf16, fp16, int8, int4",
                              o->weights);
  if (optimize_named(o->optimize) == OPTIMIZE_COUNT)
    return option_wrong_value(o, "optimize", o->optimize, "unknown --optimize '%s'; there are speed, size, ram, small",
                              o->optimize);
  const int chosen = check_choices(o);
  if (chosen) return chosen;
  Emit emit;
  const Backend *b = backend_of(o, &emit);
  if (!b) return unknown_backend(o);
  if (o->backend && strcmp(o->backend, b->name)) return option_wrong(o, "--backend=%s has no --emit=%s", o->backend, o->emit);
  const int packaged = check_package(o, b, emit);
  if (packaged) return packaged;
  const int counted = check_numbers(o);
  if (counted) return counted;
  if (o->name && !bundle_name_ok(o->name))
    return option_wrong(o, "--name needs a C identifier of at most 40 characters, not '%s'", o->name);
  int code = check_effect(o);
  if (code < 0) code = check_bindings(o, emit);
  if (code < 0 && o->stop_after) code = check_stop(o);
  if (code < 0) code = check_twice(o, "result", &o->results);
  if (code < 0) code = check_twice(o, "from", &o->froms);
  if (code < 0) code = check_metrics(o);
  if (code < 0) code = check_metric(o);
  if (code < 0) code = check_budgets(o);
  for (size_t i = 0; i < o->dims.n && code < 0; i++) code = check_dim(o, i);
  if (code < 0) code = check_sizes(o);
  return code;
}
