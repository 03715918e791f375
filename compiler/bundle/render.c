/* SPDX-License-Identifier: MIT */
/* render.c: the files of a bundle. Most are templates of runtime_stub. words.c has the words that depend on the model, from
 * numbers and cleaned names only.
 *
 * needs: a plan with functions of kernels, all buffers placed    gives: the files of a bundle    breaks: nothing */
#include "bundle.h"
#include <string.h>

static bool is_code(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot && (!strcmp(dot, ".c") || !strcmp(dot, ".h") || !strcmp(dot, ".hpp"));
}

static void add_file(Ctx *c, Bundle *b, const char *name, const WordSet *words, const char *from) {
  Sb s = { 0 };
  template_fill(from, words, &s);
  if (is_code(name)) break_lines(&s, MOST_COLUMNS);
  size_t n = s.n;
  VEC_PUSH(&b->files, ((BundleFile){ .name = name, .p = sb_keep(&s, &c->model), .n = n }));
}

/* ---- weights and tests ---- */
static const char *weights_array(Ctx *c, const char *name, const uint8_t *p, int64_t n) {
  static const char digit[] = "0123456789";
  Sb s = { 0 };
  sb_printf(&s,
            "/* SPDX-License-Identifier: 0BSD */\n/* %s_weights.c: the weights as an array. */\n"
            "#if defined(__GNUC__)\n#define ALIGNED __attribute__((aligned(%d)))\n"
            "#elif defined(_MSC_VER)\n#define ALIGNED __declspec(align(%d))\n#else\n#define ALIGNED _Alignas(%d)\n#endif\n"
            "extern const unsigned char %s_weights[];\nALIGNED const unsigned char %s_weights[] = {\n",
            name, BUNDLE_ALIGN, BUNDLE_ALIGN, BUNDLE_ALIGN, name, name);
  char line[4 * 30 + 2];
  for (int64_t i = 0; i < n; i += 30) {
    size_t at = 0;
    for (int64_t k = i; k < n && k < i + 30; k++) {
      if (p[k] >= 100) line[at++] = digit[p[k] / 100];
      if (p[k] >= 10) line[at++] = digit[p[k] / 10 % 10];
      line[at++] = digit[p[k] % 10];
      line[at++] = ',';
    }
    line[at++] = '\n';
    sb_put(&s, line, at);
  }
  sb_puts(&s, "0 };\n");
  return sb_keep(&s, &c->model);
}

static void put_data(Sb *s, const Tensor *t, size_t n) {
  for (size_t i = 0; i < n; i++) sb_put(s, t[i].data, (size_t)(t[i].elems * dt_bytes(t[i].dt)));
}

static void add_test_data(Ctx *c, const char *name, const Graph *g, const BundleOptions *o, Bundle *b) {
  Sb s = { 0 };
  put_data(&s, o->test_in, graph_nin(g));
  put_data(&s, o->test_out, graph_nout(g));
  put_data(&s, o->test_room, graph_nout(g));
  size_t n = s.n;
  VEC_PUSH(&b->files,
           ((BundleFile){ .name = arena_printf(&c->model, "%s_check.bin", name), .p = sb_keep(&s, &c->model), .n = n }));
}

/* ---- kernels for several machines ---- */
static void add_variant(const Plan *v, int64_t weight_bytes, const char *net, const char **in, const char **out,
                        const char *digest, const BundleOptions *o, Bundle *b) {
  Ctx *c = v->ir->ctx;
  const char *name = bundle_variant(v, net), *run = arena_printf(&c->model, "%s_kernel", name);
  Sb prelude = { 0 };
  Repeats repeats = reroll_calls(v);
  check_places(v, &repeats, weight_bytes);
  v->in->backend->prelude(v, v->in->target, &prelude);
  const Word words[] = {
    { "net", net },
    { "variant", name },
    { "version", TGC_VERSION },
    { "model_digest", digest },
    { "isa", v->in->target->isa },
    { "guard", guard_text(v, arena_printf(&c->model, "%s.c", name)) },
    { "prelude", sb_keep(&prelude, &c->model) },
    { "kernels", kernels_text(v, &repeats) },
    { "states", word_if(v->memory.states.n) },
    { "state_at", arena_printf(&c->model, "%lld", (long long)v->memory.state_at) },
    { "run_kernel", run },
    { "chunks", chunks_text(v, NULL, "") },
    { "job", job_text(v, &repeats, &(JobForm){ net, in, out, true, o->stepped, "", run }) },
    { NULL, NULL },
  };
  add_file(c, b, arena_printf(&c->model, "%s.c", name), &(WordSet){ .fixed = words }, v->in->backend->variant);
  VEC_FREE(&repeats);
}

/* ---- files ---- */
static void add_weights(const Rendering *r, const WordSet *words, Bundle *b) {
  const Plan *p = r->p;
  Ctx *c = p->ir->ctx;
  if (r->o->weights == WEIGHTS_OBJECT) return;
  if (r->o->weights == WEIGHTS_ARRAY) {
    const char *text = weights_array(c, r->o->name, p->weights.p, p->weights.bytes);
    VEC_PUSH(&b->files, ((BundleFile){ .name = r->weights_source, .p = text, .n = strlen(text) }));
    return;
  }
  const char *name = arena_printf(&c->model, "%s_weights.bin", r->o->name);
  VEC_PUSH(&b->files, ((BundleFile){ name, p->weights.p, (size_t)p->weights.bytes, r->weights_sha256 }));
  if (r->o->weights == WEIGHTS_INCBIN) add_file(c, b, r->weights_source, words, "weights.S.in");
}

/* The compiled kernels, and an assembler file that puts them into the program. An image that the bundle's own build makes is no
 * file of the bundle. */
static void add_images(Rendering *r, const WordSet *words, Bundle *b) {
  Ctx *c = r->p->ir->ctx;
  const ImageOrder order = code_order(r->p, r->o, r->code);
  const char *why = r->o->backend->images(c, &order, &r->images);
  if (why) BUG("%s", why);
  for (size_t i = 0; i < r->images.list.n; i++) {
    const Bytes bytes = r->images.list.p[i].bytes;
    const char *name = arena_printf(&c->model, "%s%s", r->o->name, r->images.list.p[i].end);
    if (bytes.n) VEC_PUSH(&b->files, ((BundleFile){ .name = name, .p = bytes.p, .n = bytes.n }));
  }
  add_file(c, b, arena_printf(&c->model, "%s_images.S", r->o->name), words, "images.S.in");
}

static void add_bindings(const Rendering *r, const WordSet *words, Bundle *b) {
  Ctx *c = r->p->ir->ctx;
  for (int i = 0; bindings[i].word; i++)
    if (r->o->bindings >> i & 1) add_file(c, b, code_named(c, bindings[i].file, r->o->name), words, bindings[i].template);
}

static void add_copy(Ctx *c, const char *name, Bundle *b) {
  const Embedded *t = embedded_file(name);
  Sb s = { 0 };
  sb_put(&s, t->p, t->n);
  if (is_code(name)) break_lines(&s, MOST_COLUMNS);
  const size_t n = s.n;
  VEC_PUSH(&b->files, ((BundleFile){ .name = t->name, .p = sb_keep(&s, &c->model), .n = n }));
}

/* All files but the manifest, as the backend's rows list them */
static void add_files(Rendering *r, const WordSet *words, Bundle *b) {
  const Plan *p = r->p;
  Ctx *c = p->ir->ctx;
  const Package *package = r->o->package;
  const FilePlace elsewhere = bundle_is_bare(p, r->o) ? HOSTED : BARE;
  const FileRow *f = r->o->emit == EMIT_WASM ? r->o->backend->module_files : r->o->backend->files;
  for (; f->kind != FILE_END; f++) {
    if (f->where == elsewhere || (package && !package_has(package, f))) continue;
    switch (f->kind) {
    case FILE_END: break;
    case FILE_COPIED: add_copy(c, f->from, b); break;
    case FILE_TEMPLATE: add_file(c, b, code_named(c, f->name, r->o->name), words, f->from); break;
    case FILE_CODE: {
      r->code = code_make(p, r->o, words);
      VEC_PUSH(&b->files, ((BundleFile){ .name = code_file(c, r->o), .p = r->code.p, .n = r->code.n }));
      if (p->ir->symbols.n && r->o->backend->dialect) add_copy(c, "tgcrt_sizes.h", b);
      break;
    }
    case FILE_VARIANTS:
      for (size_t i = 0; i + 1 < p->variants.n; i++)
        add_variant(p->variants.p[i], p->weights.bytes, r->o->name, r->in, r->out, model_digest(r), r->o, b);
      break;
    case FILE_IMAGES:
      if (r->o->backend->images) add_images(r, words, b);
      break;
    case FILE_RUNTIME: add_copy(c, arena_printf(&c->model, "tgcrt_%s.c", r->o->backend->device), b); break;
    case FILE_SCRIPT:
      if (r->o->backend->script) add_file(c, b, "build.sh", words, r->o->backend->script);
      break;
    case FILE_BINDINGS: add_bindings(r, words, b); break;
    case FILE_WEIGHTS: add_weights(r, words, b); break;
    }
  }
  for (const char *const *own = package ? package->files : NULL; own && *own; own += 2)
    add_file(c, b, code_named(c, own[1], r->o->name), words, own[0]);
  if (r->o->test_in) add_test_data(c, r->o->name, p->g, r->o, b);
}

/* ---- the whole bundle ---- */
/* Host memory of a context. At least some bytes: some callers would get a null pointer for an empty arena. */
static int64_t bundle_arena(const Plan *p, const Rendering *r) {
  if (r->o->backend->device)
    return (int64_t)r->o->backend->host_bytes(r->device.launches.n, graph_nin(p->g), graph_nout(p->g), p->memory.states.n);
  return p->memory.arena_bytes ? p->memory.arena_bytes : BUNDLE_ALIGN;
}

static bool has_groups(const Plan *p) {
  for (size_t k = 0; k < p->kernels.n; k++)
    if (p->kernels.p[k].group_size > 1) return true;
  return false;
}

/* The digest of all that a caller must know: the bundle and its header are of one interface */
static const char *interface_digest(const Rendering *r) {
  const Plan *p = r->p;
  Ctx *c = p->ir->ctx;
  const Graph *g = p->g;
  const char *in = text_fields(c, g->inputs.p, (int)graph_nin(g), r->in, true, &p->ir->symbols);
  const char *out = text_fields(c, g->outputs.p, (int)graph_nout(g), r->out, false, &p->ir->symbols);
  const char *promise = arena_printf(&c->model, "%s|%s|%lld|%lld|%d%s%s%s%s%s", in, out, (long long)r->arena,
                                     (long long)p->weights.bytes, BUNDLE_ABI_MAJOR,
                                     state_text(p, r->o->name, r->NET, "", "h", false), p->variants.n ? "|fat" : "",
                                     r->o->stepped ? "|stepped" : "", entries_promise(r), size_macros(r));
  char digest[65];
  sha256_hex(promise, strlen(promise), digest);
  return arena_str(&c->model, digest, 8);
}

static Rendering rendering_of(const Plan *p, const BundleOptions *o) {
  Ctx *c = p->ir->ctx;
  const Graph *g = p->g;
  const int nin = (int)graph_nin(g), nout = (int)graph_nout(g), nstates = (int)p->memory.states.n;
  const bool fat = p->variants.n, each = fat || o->stepped || g->entries.n; /* each: tables of calls have a row for each call */
  Rendering r = { .p = p, .base = fat ? p->variants.p[p->variants.n - 1] : p, .o = o, .NET = text_upper(c, o->name) };
  r.in = bundle_fields(c, g->inputs.p, nin, "input");
  r.out = bundle_fields(c, g->outputs.p, nout, "output");
  r.state = bundle_fields(c, g->inputs.p + nin, nstates, "state");
  r.repeats = reroll_calls(r.base);
  if (!each) r.folded = repeats_folded(p, &r.repeats);
  check_places(r.base, &r.repeats, p->weights.bytes);
  r.groups = has_groups(p);
  r.jumps = plan_jumps(p, o->backend->is_c && !o->stepped && !g->entries.n);
  if (o->backend->device) r.device = device_tables(p);
  r.arena = bundle_arena(p, &r);
  r.interface = interface_digest(&r);
  char sha256[65];
  sha256_hex(p->weights.p, (size_t)p->weights.bytes, sha256);
  r.weights_sha256 = arena_str(&c->model, sha256, 64);
  r.weights_source = arena_printf(&c->model, "%s_weights.%s", o->name, o->weights == WEIGHTS_INCBIN ? "S" : "c");
  return r;
}

void bundle_render(const Plan *p, const BundleOptions *o, Bundle *b) {
  Rendering r = rendering_of(p, o);
  const WordSet words = bundle_words(&r);
  add_files(&r, &words, b);
  bundle_sbom(&r, b);
  bundle_manifest(&r, b);
  VEC_FREE(&r.folded);
  VEC_FREE(&r.repeats);
  VEC_FREE(&r.jumps);
  device_tables_free(&r.device);
  VEC_FREE(&r.images.list);
  VEC_FREE(&r.images.uses);
}

void bundle_free(Bundle *b) { VEC_FREE(&b->files); }
