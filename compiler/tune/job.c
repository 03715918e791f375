/* SPDX-License-Identifier: MIT */
/* job.c: candidates for the kernels of a model as a folder, which any machine with a C compiler builds and runs (`tgc tune
 * --job`). import.c reads the log that the folder's program writes. Candidates are fixed when the folder is written. The next
 * folder goes on from what the log says about them.
 *
 * needs: nests of a plan, and what the store knows of them    gives: a folder    keeps: the store */
#include "../bundle/bundle.h"
#include "batch.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Job {
  Tuner *t;
  const JobOptions *o;
  Bundle bundle;
  Sb list, rules, objects, names; /* names: of the nests in the list */
  JobSize size;
} Job;

static void add_file(Job *j, const char *name, Bytes b) {
  VEC_PUSH(&j->bundle.files, ((BundleFile){ .name = name, .p = b.p, .n = b.n }));
}

static void add_copy(Job *j, const char *name) {
  const Embedded *e = embedded_file(name);
  add_file(j, name, (Bytes){ (const uint8_t *)e->p, e->n });
}

static void add_text(Job *j, const char *name, Sb *s) {
  const size_t n = s->n;
  add_file(j, name, (Bytes){ (const uint8_t *)sb_keep(s, &j->t->lab.ctx->model), n });
}

/* ---- nests ---- */

/* A candidate that cannot be lowered is left out, and the others are tried again. */
static bool without_failed(Task *task) {
  size_t n = 0;
  for (size_t i = 0; i < task->cand.n; i++) {
    const Candidate x = task->cand.p[i];
    if (x.outcome != OUT_FAILED) task->cand.p[n++] = (Candidate){ .opts = x.opts };
  }
  const bool fewer = n < task->cand.n && n > 1 && task->cand.p[0].outcome != OUT_FAILED;
  task->cand.n = n;
  return fewer;
}

static bool add_nest_file(Job *j, const char *name) {
  Ctx *c = j->t->lab.ctx;
  const char *path = arena_printf(&c->model, "%s/%s", j->t->lab.scratch, name);
  struct stat st;
  if (stat(path, &st)) return false;
  add_file(j, name, file_read(c, path, SIZE_MAX));
  return true;
}

/* The device's kernels, compiled here, and an assembler file that puts them into the program. False: the compiler refuses them.
 */
static bool add_images(Job *j, const char *nest) {
  const Lab *lab = &j->t->lab;
  Ctx *c = lab->ctx;
  const char *file = code_named(c, lab->backend->forms[0].file, nest);
  const Bytes text = file_read(c, arena_printf(&c->model, "%s/%s.text", lab->scratch, nest), SIZE_MAX);
  const ImageOrder order = candidate_order(lab, file, text);
  Images images = { 0 };
  const char *why = lab->backend->images(c, &order, &images);
  if (why) {
    warn_at(c, (Pos){ 0 }, "a nest is left out of the job: %s", why);
    return false;
  }
  add_file(j, file, text); /* for readers */
  for (size_t i = 0; i < images.list.n; i++)
    add_file(j, arena_printf(&c->model, "%s%s", nest, images.list.p[i].end), images.list.p[i].bytes);
  sb_puts(&j->list, image_names(c, &images, nest));
  sb_printf(&j->list, "static const tgcrt_image %s_rows[] = {\n%s};\n", nest,
            images.list.n ? image_rows(c, &images, nest) : "  { 0, 0, NULL, 0 },\n");
  sb_printf(&j->list, "extern const tgcrt_image *const %s_images;\nextern const uint32_t %s_nimages;\n", nest, nest);
  sb_printf(&j->list, "const tgcrt_image *const %s_images = %s_rows;\nconst uint32_t %s_nimages = %zu;\n", nest, nest, nest,
            images.list.n);
  Sb source = { 0 };
  template_expand("images.S.in",
                  (const Word[]){ { "net", nest }, { "image_symbols", image_symbols(c, &images, nest) }, { NULL, NULL } }, &source);
  add_text(j, arena_printf(&c->model, "%s_images.S", nest), &source);
  sb_printf(&j->objects, " $(B)/%s_images.o", nest);
  sb_printf(&j->rules, "$(B)/%s_images.o: %s_images.S\n\t@mkdir -p $(B)\n\t$(CC) -c -o $@ %s_images.S\n", nest, nest, nest);
  VEC_FREE(&images.list);
  VEC_FREE(&images.uses);
  return true;
}

static void add_nest(Job *j, Task *task) {
  const Lab *lab = &j->t->lab;
  Arena *m = &lab->ctx->model;
  const char *nest = arena_printf(m, "nest%d", task->number = j->size.nests);
  while (!lab_write(&j->t->lab, task) && without_failed(task)) {}
  if (lab->backend->images && !add_images(j, nest)) return;
  if (!add_nest_file(j, arena_printf(m, "%s.c", nest))) return;
  add_nest_file(j, arena_printf(m, "%s.bin", nest));
  j->size.nests++;
  sb_printf(&j->list, "extern const tune_nest %s;\n", nest);
  sb_printf(&j->names, "&%s, ", nest);
  sb_printf(&j->objects, " $(B)/%s.o", nest);
  const char *compile = arena_printf(m, "$(CC) $(CFLAGS) -w $(NETFLAGS) $(TGC_CFLAGS)%s -c -o $@ %s.c",
                                     lab->backend->device ? " -std=gnu99" : "", nest);
  sb_printf(&j->rules, "$(B)/%s.o: %s.c $(H)\n\t@mkdir -p $(B)\n\t%s || %s -DTUNE_EMPTY\n", nest, nest, compile, compile);
}

/* ---- the folder ---- */
static const char *upper(Arena *m, const char *s) {
  char *out = arena_str(m, s, strlen(s));
  for (char *p = out; *p; p++) *p = (char)toupper((unsigned char)*p);
  return out;
}

static const char *feature_rows(Ctx *c) {
  Sb s = { 0 };
  for (const Feature *f = features; f->name; f++)
    sb_printf(&s, "  { \"%s\", 0x%x, 0x%x },\n", arch_name(f->arch), f->bit, f->needs);
  return sb_keep(&s, &c->model);
}

static void add_template(Job *j, const char *from, const char *name, const Word *words) {
  Sb s = { 0 };
  template_expand(from, words, &s);
  add_text(j, name, &s);
}

/* bundle_write replaces a folder that has one, and keeps what else is there: the log. */
static void add_manifest(Job *j) {
  json_t *files = json_object(), *m;
  for (size_t i = 0; i < j->bundle.files.n; i++) json_object_set_new(files, j->bundle.files.p[i].name, json_true());
  m = json_pack("{s:s, s:s, s:s, s:o}", "generator", "tgc", "version", TGC_VERSION, "kind", "tune job", "files", files);
  char *text = json_dumps(m, JSON_INDENT(2) | JSON_SORT_KEYS);
  Sb s = { 0 };
  sb_printf(&s, "%s\n", text);
  free(text);
  json_decref(m);
  add_text(j, "manifest.json", &s);
}

static void add_runner(Job *j) {
  const Lab *lab = &j->t->lab;
  Ctx *c = lab->ctx;
  Arena *m = &c->model;
  const Tunables *u = tunables_of(c);
  const char *device = lab->backend->device;
  const char *runtime = device ? arena_printf(m, "tgcrt_%s", device) : NULL;
  if (device) sb_printf(&j->objects, " $(B)/%s.o", runtime);
  const Word words[] = {
    { "version", TGC_VERSION },
    { "isa", lab->target->isa },
    { "backend", lab->backend->name },
    { "device", device ? device : "" },
    { "DEVICE", device ? upper(m, device) : "" },
    { "maker", lab->backend->images ? arena_printf(m, "%s; ", lab->backend->version(c)) : "" },
    { "command", j->o->command },
    { "cflags", device ? "" : lab->target->cflags },
    { "objects", j->objects.p },
    { "rules", j->rules.p },
    { "features", feature_rows(c) },
    { "wanted", arena_printf(m, "0x%x", lab->target->features) },
    { "limit", arena_printf(m, "%g", lab->limit) },
    { "verify", arena_printf(m, "%g", u->tune_verify) },
    { "grace", arena_printf(m, "%g", u->tune_grace) },
    { "fill", arena_printf(m, "%g", u->tune_fill) },
    { "driver", arena_printf(m, "%g", lab->cc_limit) },
    { "retries", arena_printf(m, "%d", u->tune_retries) },
    { "finalists", arena_printf(m, "%d", u->tune_finalists) },
    { "hopeless", arena_printf(m, "%g", u->tune_hopeless) },
    { "sample", arena_printf(m, "%g", u->tune_sample) },
    { NULL, NULL },
  };
  static const char *const copies[] = { "tune_job.h", "tune_race.h", "tune_machine.h", "tgcrt.h", "tgcrt.c", "tgcrt_device.h" };
  add_template(j, "tune_job.c.in", "tune_job.c", words);
  add_template(j, "tune_job.mk.in", "Makefile", words);
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) add_copy(j, copies[i]);
  if (device) add_copy(j, "tgcrt_session.h"), add_copy(j, arena_printf(m, "%s.c", runtime));
}

/* A log may name any place. */
static const char *escaped(Ctx *c, const char *text) {
  Sb s = { 0 };
  for (; *text; text++) sb_printf(&s, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
  return s.n ? sb_keep(&s, &c->model) : "";
}

JobSize job_write(Tuner *t, const JobOptions *o) {
  Ctx *c = t->lab.ctx;
  Job j = { .t = t, .o = o };
  Task task;
  sb_printf(&j.list,
            "/* tune_list.c: made by tgc %s; do not edit. The nests, those first where most can be gained. */\n"
            "#include \"tune_job.h\"\n#include <stddef.h>\n",
            TGC_VERSION);
  while (tune_take(t, &task)) {
    add_nest(&j, &task);
    VEC_FREE(&task.cand);
  }
  for (size_t i = 0; i < t->goals.n; i++) j.size.left += !t->goals.p[i].done && !t->goals.p[i].taken;
  if (j.size.nests && !t->lab.interrupted(t->lab.interrupted_arg)) {
    sb_printf(&j.list, "const tune_nest *const tune_nests[] = { %sNULL };\n", j.names.p);
    sb_printf(&j.list, "const char tune_known[] = \"%s\";\n", t->place.text ? escaped(c, t->place.text) : "");
    add_text(&j, "tune_list.c", &j.list);
    add_runner(&j);
    add_manifest(&j);
    bundle_write(c, &j.bundle, o->dir);
  }
  sb_free(&j.list), sb_free(&j.rules), sb_free(&j.objects), sb_free(&j.names);
  bundle_free(&j.bundle);
  return j.size;
}
