/* SPDX-License-Identifier: MIT */
/* compile.c: tgc compile: a model to a bundle, or to the text after a pass. */
#include "../../compiler/target/cpu_facts.h"
#include "../../libtgc/session.h"
#include <string.h>

/* Writes the pass's result to standard output. To a file NAME.tg it writes a dump for --start-after, with the long weights in
 * NAME.bin beside it. The graph's weights may be mapped from an existing NAME.bin. */
static int stop(tgc *t) {
  Ctx *c = t->c;
  const Options *o = &t->o;
  Sb text = { 0 }, blob = { 0 };
  bool load = !strcmp(o->stop_after, "load");
  const char *out = o->out ? o->out : "", *slash = strrchr(out, '/'), *name = slash ? slash + 1 : out, *dot = strrchr(name, '.');
  const char *stem = arena_str(&c->model, out, dot && dot > name ? (size_t)(dot - out) : strlen(out)),
             *bin = arena_printf(&c->model, "%s.bin", stem);
  if (!load && o->out) session_sample(t);
  const DumpTo to = { &blob, bin + (name - out), t->sampled ? &t->sample : NULL };
  if (!load) plan_from(o, t->g, t->target, t->from, &text, o->out ? &to : NULL);
  else if (t->g->entries.n) sb_puts(&text, pipeline_text(c, o));
  else if (o->out) ir_print_graph_blob(t->g, &text, &blob, bin + (name - out));
  else ir_print_graph(t->g, &text);
  c->file = NULL; /* later errors are not about the model */
  if (blob.n) file_replace(c, bin, blob.p, blob.n);
  if (o->out) file_replace(c, o->out, text.p, text.n);
  else fwrite(text.p, 1, text.n, stdout);
  sb_free(&text);
  sb_free(&blob);
  return EX_DONE;
}

/* Files with kernels are NAME.c, NAME.o and the like, and in a bundle for several machines NAME_MACHINE.c. */
static bool has_kernels(const char *file, const char *name) {
  static const char *const others[] = { ".h", ".pc", ".bin", ".hpp", ".py", ".rs", ".mjs", ".in" };
  const size_t n = strlen(name);
  const char *dot = strrchr(file, '.'), *rest = !strncmp(file, name, n) ? file + n : starts_with(file, "lib") ? file : "";
  const int known = sizeof others / sizeof *others;
  return *rest && dot && word_index(others, known, dot) == known && !starts_with(rest, "_weights");
}

static size_t code_bytes(const Bundle *b, const char *name) {
  size_t n = 0;
  for (size_t i = 0; i < b->files.n; i++)
    if (has_kernels(b->files.p[i].name, name)) n += b->files.p[i].n;
  return n;
}

static const char *quoted(Ctx *c, const char *path) { /* for a shell */
  const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-,=@%:";
  return strspn(path, plain) == strlen(path) || strchr(path, '\'') ? path : arena_printf(&c->model, "'%s'", path);
}

/* Two lines on standard error: the bundle, and the command that uses it */
static void summarize(const tgc *t) {
  Ctx *c = t->c;
  const Options *o = &t->o;
  const Plan *p = t->p;
  const char *name = o->name ? o->name : "net", *dir = quoted(c, o->out), *here = strchr("./", *o->out) ? "" : "./";
  if (c->records) {
    note(c, "%zu files in %s, code %s, weights %s, arena %s, %zu kernel%s for %s", t->bundle.files.n, o->out,
         bytes_text(c, (int64_t)code_bytes(&t->bundle, name)), bytes_text(c, p->weights.bytes),
         bytes_text(c, p->memory.arena_bytes), p->kernels.n, p->kernels.n == 1 ? "" : "s", p->in->target->isa);
    return;
  }
  fprintf(stderr, "%s %zu files, code %s, weights %s, arena %s, %zu kernel%s for %s\n",
          paint(o, stderr, PAINT_OK, arena_printf(&c->model, "%s:", dir), &c->model), t->bundle.files.n,
          bytes_text(c, (int64_t)code_bytes(&t->bundle, name)), bytes_text(c, p->weights.bytes),
          bytes_text(c, p->memory.arena_bytes), p->kernels.n, p->kernels.n == 1 ? "" : "s", p->in->target->isa);
  if (p->in->target->arch == ARCH_WASM && o->emit && !strcmp(o->emit, "wasm")) /* without ./ it would be a package */
    fprintf(stderr, "next: import { Model } from '%s%s/%s.mjs'\n", here, o->out, name);
  else if (o->package) fprintf(stderr, "next: %s\n", code_named(c, package_named(o->package)->next, dir));
  else fprintf(stderr, "next: make -C %s%s\n", dir, o->self_test && !target_is_bare(p->in->target) ? " check" : "");
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

/* Compiles and writes the bundle, or stops before. Returns an exit code, or calls fail() */
static int compile_to(tgc *t) {
  const Options *o = &t->o;
  int code = tgc_load(t, t->set.model);
  if (!code && o->stop_after) return stop(t);
  if (!code) code = tgc_compile(t);
  return code ? code : tgc_write(t, o->out);
}

int verb_compile(Ctx *c, const Options *given) {
  tgc t;
  session_over(&t, c, given);
  const Options *o = &t.o;
  const int code = compile_to(&t);
  if (!code && !o->stop_after) {
    if ((o->precision || o->weights) && !o->quiet) error_print(t.p, t.errors);
    if (o->explain) print_kernels(o, t.p, NULL);
    if (!o->quiet) tell_machine(c, o, t.target);
    machine_tell_default(c, o);
    if (!o->quiet) tell_growth(c, t.p);
    if (!o->quiet) summarize(&t);
  }
  session_end(&t);
  return code;
}
