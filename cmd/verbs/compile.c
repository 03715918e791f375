/* compile.c: tgc compile: a model to a bundle, or to the text after a pass. */
#include "../cmd.h"
#include "../../compiler/target/cpu_facts.h"
#include <string.h>

static WeightsMode weights_mode(const Options *o, const Backend *b, Emit emit) {
  return o->embed && emit != EMIT_TEXT && !b->images ? WEIGHTS_OBJECT
         : !o->embed ? WEIGHTS_FILE : strcmp(o->embed, "c") ? WEIGHTS_INCBIN : WEIGHTS_ARRAY;
}

/* Inputs and expected outputs: the data's outputs, else the interpreter's. */
static void reference(Ctx *c, const Options *o, const Graph *g, const Feed *feed, Tensor **in, Tensor **out) {
  *in = ARENA_NEW(&c->model, Tensor, g->inputs.n + 1);
  *out = ARENA_NEW(&c->model, Tensor, g->outputs.n + 1);
  int seeded = feed_inputs(c, feed, g->inputs.p, (int)graph_nin(g), o->seed, *in);
  if (!seeded && feed_outputs(c, feed, g->outputs.p, (int)graph_nout(g), *out)) return;
  interpret(c, o, g, 1, true, *in, *out);
}

/* Writes the pass's result to standard output. To a file NAME.tg it writes a dump for --start-after, with the long weights in
 * NAME.bin beside it. The graph's weights may be mapped from an existing NAME.bin. */
static int stop(Ctx *c, const Options *o, Graph *g, const Target *t, Resumed *from, const Sample *sample) {
  Sb text = { 0 }, blob = { 0 };
  bool load = !strcmp(o->stop_after, "load");
  const char *out = o->out ? o->out : "", *slash = strrchr(out, '/'), *name = slash ? slash + 1 : out, *dot = strrchr(name, '.');
  const char *stem = arena_str(&c->model, out, dot && dot > name ? (size_t)(dot - out) : strlen(out)),
             *bin = arena_printf(&c->model, "%s.bin", stem);
  const DumpTo to = { &blob, bin + (name - out), sample };
  if (!load) plan_from(o, g, t, from, &text, o->out ? &to : NULL);
  else if (o->out) ir_print_graph_blob(g, &text, &blob, bin + (name - out));
  else ir_print_graph(g, &text);
  c->file = NULL; /* later errors are not about the model */
  if (blob.n) file_replace(c, bin, blob.p, blob.n);
  if (o->out) file_replace(c, o->out, text.p, text.n);
  else fwrite(text.p, 1, text.n, stdout);
  sb_free(&text);
  sb_free(&blob);
  return EX_DONE;
}

typedef struct Writing {
  const char *out;
  const Plan *plan;
  BundleOptions options;
  size_t files, code; /* written: number of files, and bytes of those with kernels */
} Writing;

/* Files with kernels are NAME.c, NAME.o and the like, and in a bundle for several machines NAME_MACHINE.c. */
static bool has_kernels(const char *file, const char *name) {
  const size_t n = strlen(name);
  const char *dot = strrchr(file, '.'), *rest = !strncmp(file, name, n) ? file + n : starts_with(file, "lib") ? file : "";
  const bool other = dot && (!strcmp(dot, ".h") || !strcmp(dot, ".pc") || !strcmp(dot, ".bin"));
  return *rest && dot && !other && !starts_with(rest, "_weights");
}

static void count_files(Writing *w, const Bundle *b) {
  w->files = b->files.n;
  for (size_t i = 0; i < b->files.n; i++)
    if (has_kernels(b->files.p[i].name, w->options.name)) w->code += b->files.p[i].n;
}

static const char *quoted(Ctx *c, const char *path) { /* for a shell */
  const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-,=@%:";
  return strspn(path, plain) == strlen(path) || strchr(path, '\'') ? path : arena_printf(&c->model, "'%s'", path);
}

/* Two lines on standard error: the bundle, and the command that uses it */
static void summarize(Ctx *c, const Options *o, const Plan *p, const Writing *w) {
  const char *dir = quoted(c, o->out), *head = paint(o, stderr, PAINT_OK, arena_printf(&c->model, "%s:", dir), &c->model);
  if (c->records) {
    note(c, "%zu files in %s, code %s, weights %s, arena %s, %zu kernel%s for %s", w->files, o->out,
         bytes_text(c, (int64_t)w->code), bytes_text(c, p->weights.bytes), bytes_text(c, p->memory.arena_bytes), p->kernels.n,
         p->kernels.n == 1 ? "" : "s", p->in->target->isa);
    return;
  }
  fprintf(stderr, "%s %zu files, code %s, weights %s, arena %s, %zu kernel%s for %s\n", head, w->files,
          bytes_text(c, (int64_t)w->code), bytes_text(c, p->weights.bytes), bytes_text(c, p->memory.arena_bytes), p->kernels.n,
          p->kernels.n == 1 ? "" : "s", p->in->target->isa);
  fprintf(stderr, "next: make -C %s%s\n", dir, o->self_test ? " check" : "");
}

/* One line on standard error: the CPU that costs are for, where it is not that of the table */
static void tell_machine(Ctx *c, const Options *o, const Target *t) {
  if (!t->facts) return;
  note(c, "costs are those of the machine '%s'%s", t->facts->name, o->machine ? "" : ": this CPU, as the tuner's store has it");
}

/* One line on standard error: what takes more memory than it must, and why */
static void tell_growth(Ctx *c, const Plan *p) {
  const GrowthReport *g = &p->growth;
  const double weights = (double)p->weights.bytes / (double)(g->weights > 0 ? g->weights : 1),
               arena = (double)p->memory.arena_bytes / (double)(g->arena > 0 ? g->arena : 1);
  const bool more_weights = weights > 1.01, more_arena = g->arena > 0 && arena > 1.01;
  if (!g->layers || (!more_weights && !more_arena)) return;
  const char *text = more_weights ? arena_printf(&c->model, "weights grow from %s to %s", bytes_text(c, g->weights),
                                                 bytes_text(c, p->weights.bytes))
                                  : "the arena grows";
  if (more_arena)
    text = arena_printf(&c->model, "%s%s from %s to %s", text, more_weights ? ", the arena" : "", bytes_text(c, g->arena),
                        bytes_text(c, p->memory.arena_bytes));
  note(c, "%s, for speed: %s; --optimize=small prevents it", text, g->forms);
}

static void write_bundle(Ctx *c, void *arg) {
  Writing *w = arg;
  Bundle files = { 0 };
  bundle_render(w->plan, &w->options, &files);
  c->file = NULL; /* later errors are not about the model */
  bundle_write(c, &files, w->out);
  count_files(w, &files);
  bundle_free(&files);
}

/* Neither --precision nor --weights asks for arithmetic whose error the bundle states. */
static bool is_exact(const Options *o) { return !o->precision && !o->weights; }

int verb_compile(Ctx *c, const Options *given) {
  Options then = *given;
  const Options *o = &then;
  Feed feed = { 0 };
  Resumed *from = o->start_after ? resume_read(c, &then) : NULL;
  const Target *t = target_of(c, o, DEFAULT_ISA);
  if (!from) feed_read(c, o, &feed);
  Graph *g = from ? resumed_graph(from) : load_graph(c, o, &feed);
  const bool dumps = o->stop_after && o->out && strcmp(o->stop_after, "load");
  const bool inexact = !is_exact(o);
  Sample sample = { 0 };
  const bool sampled = !inexact || (o->stop_after && !dumps) ? false
                       : from                                 ? resumed_sample(from, &sample)
                                                              : error_sample(c, o, g, &feed, &sample);
  if (o->stop_after) return stop(c, o, g, t, from, sampled ? &sample : NULL);
  Tensor *in = NULL, *out = NULL;
  if (o->self_test) reference(c, o, g, &feed, &in, &out); /* before compiling: passes may change the graph */
  Plan *p = plan_from(o, g, t, from, NULL, NULL);
  const OutputError *errors = sampled ? error_measure(c, o, p, &sample) : NULL;
  Emit emit;
  const char *name = o->name ? o->name : "net";
  Linking linking = { o, NULL, arena_printf(&c->model, "lib%s.so", name) };
  backend_of(o, &emit);
  Writing w = { .out = o->out,
                .plan = p,
                .options =
                { .backend = p->in->backend,
                  .name = name,
                  .weights = weights_mode(o, p->in->backend, emit),
                  .emit = emit,
                  .link = link_shared,
                  .link_arg = &linking,
                  .archs = o->archs,
                  .compiler = { compile_text, &linking },
                  .no_cpu_check = o->no_cpu_check,
                  .keep_denormals = keeps_denormals(o),
                  .test_in = in,
                  .test_out = out,
                  .errors = errors } };
  const bool tools = emit == EMIT_SO || (emit != EMIT_TEXT && p->in->backend->images);
  if (tools) linking.scratch = scratch_new(c);
  work_begin(c, o, arena_printf(&c->model, "writing the bundle for %s", p->in->backend->name));
  int code = ctx_try(c, write_bundle, &w);
  work_end(c);
  if (tools) scratch_remove(linking.scratch);
  if (code) fail_silent(c, code);
  feed_free(&feed);
  if (inexact && !o->quiet) error_print(p, errors);
  if (o->explain) print_kernels(o, p, NULL);
  if (!o->quiet) tell_machine(c, o, t);
  if (!o->quiet) tell_growth(c, p);
  if (!o->quiet) summarize(c, o, p, &w);
  return EX_DONE;
}
