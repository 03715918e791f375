/* SPDX-License-Identifier: MIT */
/* session.c: the functions of tgc.h. Each runs its work in ctx_try, so that a failure anywhere in the compiler is a status here.
 *
 * A context lives from one tgc_load to the next, and all memory of a model and a bundle with it. tgc_verify has a context of its
 * own. */
#include "session.h"
#include <stdlib.h>
#include <string.h>

#define SAME(public, own) _Static_assert((int)(public) == (int)(own), "the statuses are the program's exit codes")
SAME(TGC_FAILED, EX_FAILED);
SAME(TGC_USAGE, EX_USAGE_);
SAME(TGC_BAD_MODEL, EX_BADMODEL);
SAME(TGC_NO_INPUT, EX_NOINPUT_);
SAME(TGC_MISSING, EX_MISSING);
SAME(TGC_BUG, EX_BUG);
SAME(TGC_NO_WRITE, EX_NOWRITE);
SAME(TGC_RETRY, EX_RETRY);

const char *tgc_version(void) { return TGC_VERSION; }

/* ---- messages ---- */
static void notify(const tgc *t, tgc_message m) {
  if (t->listener) t->listener(t->listener_arg, &m);
}

static void pass_on(void *arg, bool warning, Pos at, const char *text) {
  const tgc *t = arg;
  notify(t, (tgc_message){ warning ? TGC_WARNING : TGC_ERROR, t->c->file, at.node, at.line, at.col, text });
}

static void refuse(void *arg, const char *text) { notify(arg, (tgc_message){ .level = TGC_ERROR, .text = text }); }

static int wrong_use(const tgc *t, const char *text) {
  if (t->guest) BUG("%s", text);
  notify(t, (tgc_message){ .level = TGC_ERROR, .text = text });
  return TGC_USAGE;
}

/* ---- life ---- */
static void context_open(tgc *t, Ctx *c) {
  ctx_init(c);
  c->say = pass_on;
  c->say_arg = t;
  c->copies = true;
}

static void drop(tgc *t) { /* the model and the bundle, but not the context */
  bundle_free(&t->bundle);
  feed_free(&t->feed);
  t->from = NULL;
  t->g = NULL;
  t->p = NULL;
  t->test_in = t->test_out = t->test_room = NULL;
  t->sampled = t->loaded = t->used = false;
}

static void start(Ctx *c, void *arg) {
  (void)c;
  tgc *t = arg;
  context_open(t, &t->own);
}

tgc *tgc_new(void) {
  tgc *t = calloc(1, sizeof *t); /* not xcalloc: there is no context that could say why */
  if (!t) return NULL;
  options_init(&t->set, VERB_compile);
  t->set.say = refuse;
  t->set.say_arg = t;
  t->set.quiet = true; /* no progress, no notes on standard error */
  t->c = &t->own;
  Ctx first = { .say = pass_on, .say_arg = t }, *before = ctx_enter(&first);
  const int code = ctx_try(&first, start, t);
  ctx_enter(before);
  if (!code) return t;
  free(t);
  return NULL;
}

void tgc_free(tgc *t) {
  if (!t) return;
  drop(t);
  ctx_free(&t->own);
  options_free(&t->set);
  arena_free(&t->texts);
  free(t);
}

void session_over(tgc *t, Ctx *c, const Options *o) {
  *t = (tgc){ .c = c, .set = *o, .guest = true };
}

void session_end(tgc *t) { drop(t); }

void tgc_listen(tgc *t, tgc_listener *f, void *arg) {
  t->listener = f;
  t->listener_arg = arg;
}

/* Runs a step in the session's context. The program's own context ends the program by a bug. */
static int in_context(const tgc *t, void (*step)(Ctx *c, void *arg), void *arg) {
  Ctx *before = ctx_enter(t->guest ? NULL : t->c);
  const int code = ctx_try(t->c, step, arg);
  ctx_enter(before);
  return code;
}

/* A call of the library. Around the session's context there is one more, for a lack of memory outside of the steps. */
typedef struct Call Call;
struct Call {
  int (*run)(Call *k);     /* returns a status */
  tgc *t;
  const char *text, *value;
  const char **report;
  int status;
};

static void run_call(Ctx *c, void *arg) {
  Call *k = arg;
  (void)c;
  k->status = k->run(k);
}

static int call(Call k) {
  if (k.t->guest) return k.run(&k);
  Ctx around = { .say = pass_on, .say_arg = k.t }, *before = ctx_enter(&around);
  const int code = ctx_try(&around, run_call, &k);
  ctx_enter(before);
  if (code) k.t->c = &k.t->own; /* it may have been that of tgc_verify */
  return code ? code : k.status;
}

/* ---- options ---- */
/* Options that say where and how a program prints are not for a library. */
static bool is_for_programs(const OptionRow *r) {
  static const char *const more[] = { "output", "json", "explain" };
  const int n = sizeof more / sizeof *more;
  return r->group == GROUP_DEBUG || r->group == GROUP_GENERAL || word_index(more, n, r->name) < n;
}

static bool is_of_verb(const char *option, Verb v, bool *program) {
  bool found = false;
  for (const OptionRow *r = option_rows; r->name; r++) {
    if (strcmp(r->name, option) || !option_of(r, v)) continue;
    found = true;
    *program = is_for_programs(r);
  }
  return found;
}

static int set_option(Call *k) {
  tgc *t = k->t;
  Options *o = &t->set;
  bool program = false;
  if (!k->text) return wrong_use(t, "the name of the option is NULL");
  const Verb v = is_of_verb(k->text, VERB_compile, &program) ? VERB_compile : VERB_verify;
  if (v == VERB_verify) is_of_verb(k->text, VERB_verify, &program);
  if (program)
    return wrong_use(t, arena_printf(&t->texts, "the option '%s' is for the program tgc, not for the library", k->text));
  t->stale = true;
  o->verb = v;
  const int code = option_set(o, k->text, k->value ? arena_str(&t->texts, k->value, strlen(k->value)) : NULL);
  o->verb = VERB_compile;
  return code < 0 ? TGC_OK : code;
}

int tgc_set(tgc *t, const char *option, const char *value) {
  return call((Call){ .run = set_option, .t = t, .text = option, .value = value });
}

/* The options of verify alone say nothing to compile. */
static int check_options(tgc *t, Verb v) {
  t->o = t->set;
  t->o.verb = v;
  t->o.model = t->path;
  if (t->guest) return TGC_OK; /* options_parse has checked them */
  const int code = options_check(&t->o);
  return code < 0 ? TGC_OK : code;
}

/* ---- model ---- */
static void load(Ctx *c, void *arg) {
  tgc *t = arg;
  Options *o = &t->o;
  if (!t->guest) tunables_apply(c, o);
  t->from = o->start_after ? resume_read(c, o) : NULL;
  t->target = target_of(c, o);
  if (!t->from) feed_read(c, o, &t->feed);
  t->g = t->from ? resumed_graph(t->from) : load_graph(c, o, &t->feed);
  t->loaded = true;
}

static int load_again(tgc *t) {
  drop(t);
  t->stale = false;
  if (!t->guest) {
    ctx_free(&t->own);
    context_open(t, &t->own);
  }
  return in_context(t, load, t);
}

static int load_model(Call *k) {
  tgc *t = k->t;
  if (!k->text) return wrong_use(t, "the path of the model is NULL");
  t->path = t->guest ? k->text : arena_str(&t->texts, k->text, strlen(k->text));
  const int code = check_options(t, t->guest ? t->set.verb : VERB_compile);
  return code ? code : load_again(t);
}

int tgc_load(tgc *t, const char *path) { return call((Call){ .run = load_model, .t = t, .text = path }); }

int tgc_describe(const tgc *t, int kind, size_t i, tgc_value *v) {
  if (!t->loaded) return 0;
  const size_t nin = graph_nin(t->g), nout = graph_nout(t->g);
  const size_t first = kind == TGC_STATE ? nin : 0, n = kind == TGC_STATE ? t->g->inputs.n - nin : kind == TGC_INPUT ? nin : nout;
  if ((kind != TGC_INPUT && kind != TGC_OUTPUT && kind != TGC_STATE) || i >= n) return 0;
  const GIO *io = kind == TGC_OUTPUT ? &t->g->outputs.p[i] : &t->g->inputs.p[first + i];
  *v = (tgc_value){ io->name ? io->name : "", dtype_info[io->dt].text, io->rank, io->dims };
  return 1;
}

/* ---- bundle ---- */
/* Inputs and expected outputs, which are the data's or the interpreter's, with tolerances. It comes before compiling: passes may
 * change the graph, and tolerances need a plan of their own. */
static void make_reference(tgc *t) {
  Ctx *c = t->c;
  const Graph *g = t->g;
  t->test_in = ARENA_NEW(&c->model, Tensor, g->inputs.n + 1);
  t->test_out = ARENA_NEW(&c->model, Tensor, g->outputs.n + 1);
  t->test_room = ARENA_NEW(&c->model, Tensor, g->outputs.n + 1);
  const int seeded = feed_inputs(c, &t->feed, g->inputs.p, (int)graph_nin(g), t->o.seed, t->test_in);
  const bool given = !seeded && feed_outputs(c, &t->feed, g->outputs.p, (int)graph_nout(g), t->test_out);
  if (!given) interpret(c, &t->o, g, 1, true, t->test_in, t->test_out);
  rounding_tolerances(c, &t->o, g, t->target, t->test_in, t->test_out, given, t->test_room);
}

/* The bundle states the error of its arithmetic. */
static bool inexact(const Options *o) { return o->precision || o->weights; }

void session_sample(tgc *t) {
  t->sampled = inexact(&t->o) &&
               (t->from ? resumed_sample(t->from, &t->sample) : error_sample(t->c, &t->o, t->g, &t->feed, &t->sample));
}

static void plan(Ctx *c, void *arg) {
  tgc *t = arg;
  const bool compiles = t->o.verb == VERB_compile;
  if (compiles) session_sample(t);
  if (compiles && t->o.self_test) make_reference(t);
  t->used = true;
  t->p = plan_from(&t->o, t->g, t->target, t->from, NULL, NULL);
  t->errors = t->sampled ? error_measure(c, &t->o, t->p, &t->sample) : NULL;
  if (t->test_room && inexact(&t->o) && !t->g->ir->symbols.n) /* the interpreter wants sizes of a range */
    rounding_widen(c, &t->o, t->p->g, t->test_in, t->test_out, t->test_room);
}

int session_plan(tgc *t) { return in_context(t, plan, t); }

static WeightsMode weights_mode(const Options *o, const Plan *p, Emit emit) {
  const Package *package = o->package ? package_named(o->package) : NULL;
  const bool bare = target_is_bare(p->in->target) && !(package && package->bare); /* it has no files; or the package's own rule */
  const char *how = o->embed ? o->embed : bare ? "yes" : NULL;
  const WeightsMode usual = package ? package->weights : WEIGHTS_FILE;
  if (package && !how) return usual;
  if (usual != WEIGHTS_FILE && !strcmp(how, "yes")) return usual;
  if (!how || !strcmp(how, "file")) return WEIGHTS_FILE;
  return emit != EMIT_TEXT && !p->in->backend->images ? WEIGHTS_OBJECT : strcmp(how, "c") ? WEIGHTS_INCBIN : WEIGHTS_ARRAY;
}

typedef struct Drawing { tgc *t; BundleOptions options; } Drawing;

static void draw(Ctx *c, void *arg) {
  Drawing *d = arg;
  (void)c;
  bundle_render(d->t->p, &d->options, &d->t->bundle);
}

/* Branches are selections where runs have no jumps (graph/unroll_loops.c), unless a dump has them. */
static void refuse_jumps(Ctx *c, const Plan *p, bool stepped) {
  Jumps jumps = { 0 };
  if (stepped || p->g->entries.n) jumps = plan_jumps(p, false);
  if (!jumps.n) return;
  const bool loop = jumps.p[jumps.n - 1].most;
  fail(c, EX_BADMODEL, "kernel %zu begins a %s, which %s not run", loop ? jumps.p[jumps.n - 1].to : jumps.p[0].at,
       loop ? "loop that may end early" : "side of a branch", stepped ? "net_run_step does" : "the entries of a pipeline do");
}

static void render(Ctx *c, void *arg) {
  tgc *t = arg;
  const Options *o = &t->o;
  const Backend *b = t->p->in->backend;
  Emit emit;
  backend_of(o, &emit);
  const char *name = o->name ? o->name : "net";
  refuse_jumps(c, t->p, o->run_step);
  Linking linking = { o, NULL, arena_printf(&c->model, "lib%s.so", name), emit == EMIT_WASM };
  int nchanges;
  const Setting *changes = changes_of(c, o, &nchanges);
  Drawing d = { t, { .backend = b,
                     .name = name,
                     .weights = weights_mode(o, t->p, emit),
                     .emit = emit,
                     .bindings = bindings_of(o),
                     .link = link_shared,
                     .link_arg = &linking,
                     .archs = o->archs,
                     .compiler = { compile_text, &linking },
                     .package = o->package ? package_named(o->package) : NULL,
                     .stepped = o->run_step,
                     .no_cpu_check = o->no_cpu_check,
                     .keep_denormals = keeps_denormals(o),
                     .test_in = t->test_in,
                     .test_out = t->test_out,
                     .test_room = t->test_room,
                     .errors = t->errors,
                     .changes = changes,
                     .nchanges = nchanges } };
  const bool tools = emit == EMIT_SO || emit == EMIT_WASM || (emit != EMIT_TEXT && b->images);
  if (tools) linking.scratch = scratch_new(c);
  work_begin(c, o, arena_printf(&c->model, "writing the bundle for %s", b->name));
  int code = ctx_try(c, draw, &d);
  work_end(c);
  if (tools) scratch_remove(linking.scratch);
  if (code) fail_silent(c, code);
}

static int compile_model(Call *k) {
  tgc *t = k->t;
  if (!t->path) return wrong_use(t, "there is no model: tgc_load comes first");
  int code = t->stale ? check_options(t, VERB_compile) : TGC_OK;
  if (!code && (t->stale || t->used || !t->loaded)) code = load_again(t);
  if (!code) code = session_plan(t);
  return code ? code : in_context(t, render, t);
}

int tgc_compile(tgc *t) { return call((Call){ .run = compile_model, .t = t }); }

int tgc_bundle_file(const tgc *t, size_t i, tgc_file *f) {
  if (i >= t->bundle.files.n) return 0;
  const BundleFile *b = &t->bundle.files.p[i];
  *f = (tgc_file){ b->name, b->p, b->n };
  return 1;
}

typedef struct Put { tgc *t; const char *folder; } Put;

static void put(Ctx *c, void *arg) {
  const Put *to = arg;
  c->file = NULL; /* later errors are not about the model */
  bundle_write(c, &to->t->bundle, to->folder);
}

static int write_folder(Call *k) {
  Put to = { k->t, k->text };
  if (!k->t->bundle.files.n) return wrong_use(k->t, "there is no bundle: tgc_compile comes first");
  if (!k->text) return wrong_use(k->t, "the path of the folder is NULL");
  return in_context(k->t, put, &to);
}

int tgc_write(tgc *t, const char *folder) { return call((Call){ .run = write_folder, .t = t, .text = folder }); }

/* ---- verify ---- */
typedef struct Verifying { tgc *t; json_t *report; int code; } Verifying;

static void verify(Ctx *c, void *arg) {
  Verifying *v = arg;
  tunables_apply(c, &v->t->o);
  v->code = verify_model(c, &v->t->o, &v->report);
}

static int verify_apart(Call *k) {
  tgc *t = k->t;
  if (t->guest || !t->path) return wrong_use(t, "there is no model: tgc_load comes first");
  int code = check_options(t, VERB_verify);
  t->stale = true; /* a compilation has other options */
  if (code) return code;
  t->o.json = true; /* nothing is printed */
  Ctx other;
  Verifying v = { .t = t };
  context_open(t, &other);
  t->c = &other;
  code = in_context(t, verify, &v);
  t->c = &t->own;
  ctx_free(&other);
  char *text = v.report ? json_dumps(v.report, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
  if (text && k->report) *k->report = arena_str(&t->texts, text, strlen(text));
  free(text);
  json_decref(v.report);
  return code ? code : v.code;
}

int tgc_verify(tgc *t, const char **report) {
  if (report) *report = NULL;
  return call((Call){ .run = verify_apart, .t = t, .report = report });
}
