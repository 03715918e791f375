/* SPDX-License-Identifier: MIT */
/* render.c: the files of a bundle. Most are templates of runtime_stub. The parts that depend on the model are built here, from
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

/* ---- pieces ---- */
static const char *slots_text(const IR *ir, const GIO *v, int n, const char **name) {
  Sb s = { 0 };
  const GIO none = { 0 };
  for (int i = 0; i < n; i++) {
    const DTypeInfo *d = &dtype_info[v[i].dt];
    sb_printf(&s, "  { \"%s\", \"", name[i]);
    text_dims(&s, &v[i], &ir->symbols);
    sb_printf(&s, "\", '%c', %d, %lld", v[i].dt == DT_BF16 ? 'h' : d->cls, d->bits / 8,
              (long long)dims_elems(v[i].dims, v[i].rank));
    if (ir->symbols.n) size_slot(&s, ir, &v[i]);
    sb_puts(&s, " },\n");
  }
  if (!n) {
    sb_puts(&s, "  { \"\", \"\", 'f', 4, 0");
    if (ir->symbols.n) size_slot(&s, ir, &none);
    sb_puts(&s, " },\n");
  }
  return sb_keep(&s, &ir->ctx->model);
}

/* ---- the example: memory for each value, both structures, and the first element of each output ---- */
static void put_example_values(Sb *s, const char *NET, const char *kind, const char *KIND, const GIO *v, int n) {
  for (int i = 0; i < n; i++) {
    const bool empty = !dims_elems(v[i].dims, v[i].rank);
    sb_printf(s, "static %s %s_%d[", dtype_info[v[i].dt].ctype, kind, i);
    if (empty) sb_puts(s, "1];\n");
    else sb_printf(s, "%s_%s_%d_ELEMS];\n", NET, KIND, i);
  }
}

static void put_example_fields(Sb *s, const char *net, const char *kind, const char *name, const char **field, int n) {
  sb_printf(s, "  const %s_%sputs %s = {", net, name, name);
  for (int i = 0; i < n; i++) sb_printf(s, "%s.%s = %s_%d", i ? ", " : " ", field[i], kind, i);
  sb_puts(s, n ? " };\n" : " 0 };\n");
}

static const char *example_values(const Rendering *r) {
  const Graph *g = r->p->g;
  Sb s = { 0 };
  put_example_values(&s, r->NET, "input", "INPUT", g->inputs.p, (int)graph_nin(g));
  put_example_values(&s, r->NET, "output", "OUTPUT", g->outputs.p, (int)graph_nout(g));
  return sb_keep(&s, &r->p->ir->ctx->model);
}

static const char *example_assign(const Rendering *r) {
  Sb s = { 0 };
  put_example_fields(&s, r->o->name, "input", "in", r->in, (int)graph_nin(r->p->g));
  put_example_fields(&s, r->o->name, "output", "out", r->out, (int)graph_nout(r->p->g));
  return sb_keep(&s, &r->p->ir->ctx->model);
}

static const char *example_print(const Rendering *r) {
  const Graph *g = r->p->g;
  Sb s = { 0 };
  for (size_t i = 0; i < graph_nout(g); i++)
    if (dims_elems(g->outputs.p[i].dims, g->outputs.p[i].rank))
      sb_printf(&s, "  if (!status) printf(\"%s[0] = %%.4g\\n\", (double)output_%zu[0]);\n", r->out[i], i);
  return sb_keep(&s, &r->p->ir->ctx->model);
}

static const char *example_pointers(const Rendering *r) { /* for C++ */
  Sb s = { 0 };
  sb_printf(&s, "  %s_inputs in;\n  %s_outputs out;\n", r->o->name, r->o->name);
  for (size_t i = 0; i < graph_nin(r->p->g); i++) sb_printf(&s, "  in.%s = input_%zu;\n", r->in[i], i);
  for (size_t i = 0; i < graph_nout(r->p->g); i++) sb_printf(&s, "  out.%s = output_%zu;\n", r->out[i], i);
  return sb_keep(&s, &r->p->ir->ctx->model);
}

static const char *example_serial(const Rendering *r) {
  const Graph *g = r->p->g;
  Sb s = { 0 };
  for (size_t i = 0; i < graph_nout(g); i++)
    if (dims_elems(g->outputs.p[i].dims, g->outputs.p[i].rank))
      sb_printf(&s, "  Serial.print(F(\"%s[0] = \"));\n  Serial.println((double)output_%zu[0], 5);\n", r->out[i], i);
  return sb_keep(&s, &r->p->ir->ctx->model);
}

static const char *android_abi(const Rendering *r) {
  switch (r->p->in->target->arch) {
  case ARCH_AARCH64: return "'arm64-v8a'";
  case ARCH_ARM: return "'armeabi-v7a'";
  case ARCH_X86_64: return "'x86_64'";
  case ARCH_RISCV64: return "'riscv64'";
  default: return "'arm64-v8a', 'armeabi-v7a', 'x86_64'";
  }
}

static const char *cpu_text(Ctx *c, const Target *t) {
  Sb s = { 0 };
  sb_printf(&s, "0x%xu /* TGCRT_CPU_ bits of what the code uses:", t->features);
  for (const Feature *f = features; f->name; f++)
    if (t->features & f->bit) sb_printf(&s, " %s", f->name);
  sb_puts(&s, t->features ? " */" : " no more than every CPU of the kind has */");
  return sb_keep(&s, &c->model);
}

/* The reverse: two arrays of pointers from the fields of two structures */
static const char *gather_text(Ctx *c, const Graph *g, const char **in, const char **out) {
  Sb s = { 0 };
  for (size_t i = 0; i < graph_nin(g); i++) sb_printf(&s, "  inputs[%zu] = in->%s;\n", i, in[i]);
  for (size_t i = 0; i < graph_nout(g); i++) sb_printf(&s, "  outputs[%zu] = out->%s;\n", i, out[i]);
  return sb_keep(&s, &c->model);
}

/* The interface that runs the kernels on a device, as named in tgcrt_device.h; "": they run on the CPU */
static const char *device_api(const Plan *p) { return p->in->backend->device ? p->in->backend->device : ""; }

/* ---- state ---- */
static const char *state_rows(const Plan *p) {
  Sb s = { 0 };
  for (size_t k = 0; k < p->memory.states.n; k++) {
    const StatePlace *t = &p->memory.states.p[k];
    sb_printf(&s, "  { %lld, %lld, %lld, %lld, %lld, %lld, ", (long long)t->at, (long long)t->outer, (long long)t->block,
              (long long)t->keep, (long long)t->step, (long long)t->slots);
    if (t->init < 0) sb_puts(&s, "(size_t)-1 },\n");
    else sb_printf(&s, "%lld },\n", (long long)t->init);
  }
  return sb_keep(&s, &p->ir->ctx->model);
}

static int64_t longest_past(const Graph *g) {
  int64_t most = 0;
  for (size_t k = 0; k < g->states.n; k++) {
    int axis = g->states.p[k].axis;
    if (axis >= 0 && g->inputs.p[graph_nin(g) + k].dims[axis] > most) most = g->inputs.p[graph_nin(g) + k].dims[axis];
  }
  return most;
}

/* Text about the states for the header ("h"), the source ("c") or the module ("ll"); empty without states. whole: the module has
 * the functions of tgcrt.c that update states */
static const char *state_text(const Plan *p, const char *net, const char *NET, const char *interface, const char *kind,
                              bool whole) {
  Ctx *c = p->ir->ctx;
  Arena *m = &c->model;
  if (!p->memory.states.n) return "";
  int n = (int)p->memory.states.n;
  const GIO *v = p->g->inputs.p + graph_nin(p->g);
  const char **name = bundle_fields(c, v, n, "state");
  Sb names = { 0 }, shapes = { 0 }, text = { 0 };
  for (int k = 0; k < n; k++) sb_printf(&names, "%s%s", k ? ", " : "", name[k]);
  text_shapes(&shapes, NET, "STATE", v, n);
  const Word words[] = {
    { "net", net },
    { "NET", NET },
    { "interface", interface },
    { "names", sb_keep(&names, &c->model) },
    { "nstates", arena_printf(m, "%d", n) },
    { "state_at", arena_printf(m, "%lld", (long long)p->memory.state_at) },
    { "state_bytes", arena_printf(m, "%lld", (long long)p->memory.state_bytes) },
    { "state_shapes", sb_keep(&shapes, &c->model) },
    { "state_rows", state_rows(p) },
    { "appends", word_if(size_appends(&p->ir->symbols)) },
    { "device", device_api(p) },
    { "ir_size", module_size(p) },
    { "ir_state_rows", module_states(p, module_size(p)) },
    { "code_section", module_section(p, ".text", "values") },
    { "whole", word_if(whole) },
    { "to_i64", strcmp(module_size(p), "i64") ? "zext" : "bitcast" },
    { "length_state", arena_printf(m, "%d", n - 1) },
    { "entries", word_if(p->g->entries.n) },
    { "length_most", arena_printf(m, "%lld", (long long)longest_past(p->g)) },
    { NULL, NULL },
  };
  Sb work = { 0 };
  if (whole) template_expand("state_work.ll.in", words, &work);
  const Word with[] = { { "state_work", sb_keep(&work, m) }, { NULL, NULL } };
  const WordSet outer = { .fixed = words };
  template_fill(arena_printf(m, "state.%s.in", kind), &(WordSet){ .fixed = with, .outer = &outer }, &text);
  if (p->g->grows) template_expand(arena_printf(m, "length.%s.in", kind), words, &text);
  return sb_keep(&text, &c->model);
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

/* Preprocessor checks for what a code file needs from its compiler. */
static const char *guard_text(const Plan *p, const char *file) {
  Sb s = { 0 };
  target_guard(p->in->target, file, &s);
  return sb_keep(&s, &p->ir->ctx->model);
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

/* Texts about all variants but the last, which is in the model's own file; empty without variants. */
typedef struct VariantTexts { const char *declarations, *choose, *rules, *objects, *sources, *properties; } VariantTexts;

static VariantTexts variant_texts(const Plan *p, const char *net) {
  Ctx *c = p->ir->ctx;
  Sb declare = { 0 }, choose = { 0 }, rules = { 0 }, objects = { 0 }, sources = { 0 }, properties = { 0 };
  for (size_t i = p->variants.n; i-- > 1;) { /* poorer ones first: the last that fits is used */
    const Plan *v = p->variants.p[i - 1];
    const char *name = bundle_variant(v, net);
    sb_printf(
        &declare,
        "void %s_kernel(const void *job, int64_t begin, int64_t end); /* %s.c */\nextern const unsigned char %s_chunks[];\n",
        name, name, name);
    sb_printf(&choose, "  if ((tgcrt_cpu() & 0x%xu) == 0x%xu) ctx->run = %s_kernel, ctx->chunks = %s_chunks;\n",
              v->in->target->features, v->in->target->features, name, name);
    sb_printf(&rules, "$(B)/%s.o: %s.c %s.h tgcrt.h\n\t@mkdir -p $(B)\n\t$(CC) $(CFLAGS) %s $(WARN) $(PIC) -c -o $@ %s.c\n", name,
              name, net, v->in->target->cflags, name);
    sb_printf(&objects, "$(B)/%s.o ", name);
    sb_printf(&sources, "%s.c ", name);
    sb_printf(&properties, "set_source_files_properties(%s.c PROPERTIES COMPILE_FLAGS \"${OPTIMIZE} %s\")\n", name,
              v->in->target->cflags);
  }
  return (VariantTexts){ sb_keep(&declare, &c->model), sb_keep(&choose, &c->model),  sb_keep(&rules, &c->model),
                         sb_keep(&objects, &c->model), sb_keep(&sources, &c->model), sb_keep(&properties, &c->model) };
}

/* ---- files ---- */
static void add_weights(const Rendering *r, const WordSet *words, const char *source, Bundle *b) {
  const Plan *p = r->p;
  Ctx *c = p->ir->ctx;
  if (r->o->weights == WEIGHTS_OBJECT) return;
  if (r->o->weights == WEIGHTS_ARRAY) {
    const char *text = weights_array(c, r->o->name, p->weights.p, p->weights.bytes);
    VEC_PUSH(&b->files, ((BundleFile){ .name = source, .p = text, .n = strlen(text) }));
    return;
  }
  const char *name = arena_printf(&c->model, "%s_weights.bin", r->o->name);
  VEC_PUSH(&b->files, ((BundleFile){ name, p->weights.p, (size_t)p->weights.bytes, r->weights_sha256 }));
  if (r->o->weights == WEIGHTS_INCBIN) add_file(c, b, source, words, "weights.S.in");
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

static bool bundle_is_bare(const Plan *p, const BundleOptions *o) {
  return target_is_bare(p->in->target) || (o->package && o->package->bare);
}

/* All files but the manifest, as the backend's rows list them; weights: name of the source that embeds them */
static void add_files(Rendering *r, const WordSet *words, const char *weights, Bundle *b) {
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
    case FILE_WEIGHTS: add_weights(r, words, weights, b); break;
    }
  }
  for (const char *const *own = package ? package->files : NULL; own && *own; own += 2)
    add_file(c, b, code_named(c, own[1], r->o->name), words, own[0]);
  if (r->o->test_in) add_test_data(c, r->o->name, p->g, r->o, b);
}

/* ---- words that some templates use ---- */
static bool has_groups(const Plan *p) {
  for (size_t k = 0; k < p->kernels.n; k++)
    if (p->kernels.p[k].group_size > 1) return true;
  return false;
}

static const char *prelude_word(const Rendering *r) {
  Sb s = { 0 };
  r->o->backend->prelude(r->base, r->base->in->target, &s);
  return sb_keep(&s, &r->p->ir->ctx->model);
}
static const char *kernels_word(const Rendering *r) { return kernels_text(r->base, &r->repeats); }
static const Repeats *table_repeats(const Rendering *r) { return r->folded.n ? &r->repeats : NULL; }
static const char *rows_word(const Rendering *r) { return rows_text(r->p, &r->folded); }
static const char *folded_word(const Rendering *r) { return word_if(r->folded.n > 0); }
static const char *row_word(const Rendering *r) { return r->folded.n ? "table_row(" : ""; }
static const char *row_end(const Rendering *r) { return r->folded.n ? ")" : ""; }
static const char *ir_rows_word(const Rendering *r) { return module_rows(r->p, &r->folded); }
static const char *ir_row_word(const Rendering *r) { return r->folded.n ? "%row" : "%kernel"; }
static const char *ir_nchunks(const Rendering *r) {
  size_t n = 1;
  for (size_t k = 0; k < r->p->kernels.n; k++) n += has_row(r->p, table_repeats(r), k);
  return arena_printf(&r->p->ir->ctx->model, "%zu", n);
}
static const char *chunks_word(const Rendering *r) { return chunks_text(r->base, table_repeats(r), ""); }
static const char *ir_chunks_word(const Rendering *r) { return chunks_text(r->p, table_repeats(r), "i8 "); }
static const char *works_word(const Rendering *r) { return works_text(r->p); }
static const char *groups_word(const Rendering *r) { return r->groups ? groups_text(r->p, table_repeats(r), "") : ""; }
static const char *ir_groups_word(const Rendering *r) { return r->groups ? groups_text(r->p, table_repeats(r), "i8 ") : ""; }
/* The jumps of a run, a row for each. LLVM's text names the types. */
static const char *jumps_text(const Rendering *r, const char *row, const char *apart) {
  Sb s = { 0 };
  for (size_t k = 0; k < r->jumps.n; k++) {
    const Jump *x = &r->jumps.p[k];
    if (s.n) sb_puts(&s, apart);
    sb_printf(&s, row, x->at, x->to, x->next, (int)x->zero, (long long)x->flag, (long long)x->most, x->by);
  }
  return sb_keep(&s, &r->p->ir->ctx->model);
}
static bool omits_calls(const Rendering *r) {
  bool any = false;
  for (size_t k = 0; k < r->jumps.n; k++) any |= r->jumps.p[k].by > 0;
  return any;
}
static const char *jumps_word(const Rendering *r) {
  static const char *const row[] = { "  { %zu, %zu, %zu, %d, %lld, %lld },", "  { %zu, %zu, %zu, %d, %lld, %lld, %zu }," };
  return jumps_text(r, row[omits_calls(r)], "\n");
}
static const char *ir_jumps_word(const Rendering *r) {
  return jumps_text(r, "  %%jump { i32 %zu, i32 %zu, i32 %zu, i32 %d, i64 %lld, i64 %lld }", ",\n");
}
static const char *job_word(const Rendering *r) {
  const JobForm form = { r->o->name, r->in, r->out, r->p->variants.n, r->o->stepped, "static ", "run_kernel" };
  return job_text(r->base, &r->repeats, &form);
}
static const char *values_h(const Rendering *r) { return values_text(r->p, r->o->name, "h"); }
static const char *values_c(const Rendering *r) { return values_text(r->p, r->o->name, "c"); }
static const char *values_ll(const Rendering *r) { return values_text(r->p, r->o->name, "ll"); }
static const char *states_h(const Rendering *r) { return state_text(r->p, r->o->name, r->NET, r->interface, "h", false); }
static const char *states_c(const Rendering *r) { return state_text(r->p, r->o->name, r->NET, r->interface, "c", false); }
static const char *states_ll(const Rendering *r) {
  const bool whole = r->o->emit == EMIT_SO || r->o->emit == EMIT_WASM;
  return state_text(r->p, r->o->name, r->NET, r->interface, "ll", whole);
}

/* ---- words of a device bundle ---- */
static const char *number_text(const Rendering *r, int64_t n) { return arena_printf(&r->p->ir->ctx->model, "%lld", (long long)n); }
static const char *launches_word(const Rendering *r) { return device_launches(r->p->ir->ctx, &r->device); }
static const char *places_word(const Rendering *r) { return device_places(r->p->ir->ctx, &r->device); }
static const char *functions_word(const Rendering *r) { return device_functions(r->p->ir->ctx, &r->device); }
static const char *nlaunches_word(const Rendering *r) { return number_text(r, (int64_t)r->device.launches.n); }
static const char *launches_said(const Rendering *r) {
  return r->device.launches.n == 1 ? "1 launch" : arena_printf(&r->p->ir->ctx->model, "%zu launches", r->device.launches.n);
}
static const char *block_word(const Rendering *r) { return number_text(r, r->device.block); }
static const char *shared_word(const Rendering *r) { return number_text(r, r->device.shared_bytes); }
static const char *needs_word(const Rendering *r) { return device_needs(r->p->ir->ctx, &r->device); }
static const char *source_word(const Rendering *r) { return string_literals(r->p->ir->ctx, (const char *)r->code.p); }
static const char *digest_word(const Rendering *r) {
  char digest[65];
  sha256_hex(r->code.p, r->code.n, digest);
  return arena_str(&r->p->ir->ctx->model, digest, 64);
}
static const char *pragmas_word(const Rendering *r) { return device_pragmas(r->p, r->device.needs); }
static const char *bytes_list(const Rendering *r, const GIO *v, size_t n) {
  Sb s = { 0 };
  for (size_t i = 0; i < n; i++) sb_printf(&s, "%lld, ", (long long)gio_bytes(&v[i]));
  return sb_keep(&s, &r->p->ir->ctx->model);
}
static const char *input_bytes_word(const Rendering *r) { return bytes_list(r, r->p->g->inputs.p, graph_nin(r->p->g)); }
static const char *output_bytes_word(const Rendering *r) { return bytes_list(r, r->p->g->outputs.p, graph_nout(r->p->g)); }
static const char *gather_word(const Rendering *r) { return gather_text(r->p->ir->ctx, r->p->g, r->in, r->out); }
static const char *sizes_at_word(const Rendering *r) { return number_text(r, device_sizes_at(r->p)); }
static const char *device_bytes_word(const Rendering *r) { return number_text(r, r->device.bytes); }
static const char *options_word(const Rendering *r) { return device_options(r->p, r->o->keep_denormals); }
static const char *image_names_word(const Rendering *r) { return image_names(r->p->ir->ctx, &r->images, r->o->name); }
static const char *image_rows_word(const Rendering *r) { return image_rows(r->p->ir->ctx, &r->images, r->o->name); }
static const char *image_symbols_word(const Rendering *r) { return image_symbols(r->p->ir->ctx, &r->images, r->o->name); }

static const MadeWord made_words[] = {
  { "launches", launches_word },
  { "places", places_word },
  { "functions", functions_word },
  { "nlaunches", nlaunches_word },
  { "launches_said", launches_said },
  { "max_block", block_word },
  { "shared_bytes", shared_word },
  { "needs", needs_word },
  { "source_lines", source_word },
  { "source_sha256", digest_word },
  { "pragmas", pragmas_word },
  { "options", options_word },
  { "image_names", image_names_word },
  { "image_rows", image_rows_word },
  { "image_symbols", image_symbols_word },
  { "input_bytes", input_bytes_word },
  { "output_bytes", output_bytes_word },
  { "gather_v", gather_word },
  { "device_bytes", device_bytes_word },
  { "model_digest", model_digest },
  { "options_line", options_line },
  { "example_values", example_values },
  { "example_assign", example_assign },
  { "example_print", example_print },
  { "example_pointers", example_pointers },
  { "example_serial", example_serial },
  { "android_abi", android_abi },
  { "prelude", prelude_word },
  { "kernels", kernels_word },
  { "chunks", chunks_word },
  { "rows", rows_word },
  { "folded", folded_word },
  { "row", row_word },
  { "row_end", row_end },
  { "jumps", jumps_word },
  { "groups", groups_word },
  { "works", works_word },
  { "job", job_word },
  { "size_functions", size_functions },
  { "dims_functions", size_dims_functions },
  { "sizes_at", sizes_at_word },
  { "size_names", size_names },
  { "size_strings", size_strings },
  { "size_members", size_members },
  { "size_sets", size_sets },
  { "size_macros", size_macros },
  { "size_bounds", size_bounds },
  { "size_rows", size_rows },
  { "size_appended", size_appended },
  { "extent_rows", size_extent_rows },
  { "size_axes", size_axes },
  { "size_count", size_count },
  { "share_from", size_share_text },
  { "nsizes", size_table },
  { "open_inputs", size_inputs },
  { "open_outputs", size_outputs },
  { "value_declarations", values_h },
  { "value_functions", values_c },
  { "state_declarations", states_h },
  { "state_functions", states_c },
  { "ir_value_functions", values_ll },
  { "ir_states", states_ll },
  { "ir_check_weights", module_check_weights },
  { "ir_size_functions", module_sizes },
  { "ir_nulls", module_nulls },
  { "ir_tables", module_tables },
  { "ir_iterations", module_iterations },
  { "ir_calls", module_calls },
  { "ir_cases", module_cases },
  { "ir_chunks", ir_chunks_word },
  { "ir_nchunks", ir_nchunks },
  { "ir_rows", ir_rows_word },
  { "ir_row", ir_row_word },
  { "ir_jumps", ir_jumps_word },
  { "ir_groups", ir_groups_word },
  { "ir_float_enter", module_float_enter },
  { "ir_float_leave", module_float_leave },
  { "ir_messages", module_messages },
  { NULL, NULL },
};

/* ---- the whole bundle ---- */
/* Flags for the compiler that builds the bundle's code */
static const char *net_flags(const Plan *p, const BundleOptions *o) {
  const ImageOrder order = code_order(p, o, (Bytes){ 0 });
  return o->backend->flags ? o->backend->flags(p->ir->ctx, &order) : p->in->target->cflags;
}

/* Host memory of a context. At least some bytes: some callers would get a null pointer for an empty arena. */
static int64_t bundle_arena(const Plan *p, const Rendering *r) {
  if (r->o->backend->device)
    return (int64_t)r->o->backend->host_bytes(r->device.launches.n, graph_nin(p->g), graph_nout(p->g), p->memory.states.n);
  return p->memory.arena_bytes ? p->memory.arena_bytes : BUNDLE_ALIGN;
}

void bundle_render(const Plan *p, const BundleOptions *o, Bundle *b) {
  Ctx *c = p->ir->ctx;
  Arena *m = &c->model;
  const Graph *g = p->g;
  const char *net = o->name;
  int nin = (int)graph_nin(g), nout = (int)graph_nout(g);
  const char **in = bundle_fields(c, g->inputs.p, nin, "input"), **out = bundle_fields(c, g->outputs.p, nout, "output");
  char *NET = text_upper(c, net);
  bool embed = o->weights != WEIGHTS_FILE, apart = embed && o->weights != WEIGHTS_OBJECT, test = o->test_in != NULL;
  const CodeForm *form = code_form(o);
  const bool fat = p->variants.n, asks = p->in->target->features && !o->no_cpu_check; /* check the CPU features */
  const Plan *base = fat ? p->variants.p[p->variants.n - 1] : p; /* the kernels of the model's own file */
  const VariantTexts variant = variant_texts(p, net);
  Rendering r = { .p = p, .base = base, .o = o, .NET = NET, .in = in, .out = out, .repeats = reroll_calls(base),
                  .state = bundle_fields(c, g->inputs.p + nin, (int)p->memory.states.n, "state"),
                  .groups = has_groups(p), .jumps = plan_jumps(p, o->backend->is_c && !o->stepped && !g->entries.n) };
  const bool each = fat || o->stepped || g->entries.n; /* such bundles look up calls in more tables: a row for each call */
  if (!each) r.folded = repeats_folded(p, &r.repeats);
  check_places(base, &r.repeats, p->weights.bytes);
  if (o->backend->device) r.device = device_tables(p);
  const int64_t arena = r.arena = bundle_arena(p, &r);

  Sb shapes = { 0 };
  text_shapes(&shapes, NET, "INPUT", g->inputs.p, nin);
  text_shapes(&shapes, NET, "OUTPUT", g->outputs.p, nout);
  const char *in_fields = text_fields(c, g->inputs.p, nin, in, true, &p->ir->symbols),
             *out_fields = text_fields(c, g->outputs.p, nout, out, false, &p->ir->symbols);
  const char *promise = arena_printf(m, "%s|%s|%lld|%lld|%d%s%s%s%s%s", in_fields, out_fields, (long long)arena,
                                     (long long)p->weights.bytes, BUNDLE_ABI_MAJOR, state_text(p, net, NET, "", "h", false),
                                     fat ? "|fat" : "", o->stepped ? "|stepped" : "", entries_promise(&r), size_macros(&r));
  char digest[65];
  sha256_hex(promise, strlen(promise), digest);
  digest[8] = 0;
  r.interface = digest;

  char weights_sha256[65];
  sha256_hex(p->weights.p, (size_t)p->weights.bytes, weights_sha256);
  r.weights_sha256 = arena_str(m, weights_sha256, 64);
  const bool bare = bundle_is_bare(p, o);
  const bool hosted = strstr(p->in->target->triple, "linux"); /* elsewhere a program is linked with no more than it needs */
  const char *weights_file = arena_printf(m, "%s_weights.%s", net, o->weights == WEIGHTS_INCBIN ? "S" : "c");
  const char *weights_object = apart ? arena_printf(m, " $(B)/%s_weights.o", net) : "";
  const char *python_files = arena_printf(m, embed ? "%s.py" : "%s.py %s_weights.bin", net, net);
  const Word words[] = {
    { "net", net },
    { "NET", NET },
    { "version", TGC_VERSION },
    { "isa", p->in->target->isa },
    { "guard", guard_text(base, arena_printf(m, "%s.c", net)) },
    { "abi_major", arena_printf(m, "%d", BUNDLE_ABI_MAJOR) },
    { "abi_minor", arena_printf(m, "%d", p->ir->symbols.n ? BUNDLE_ABI_SIZES : BUNDLE_ABI_MINOR) },
    { "interface", digest },
    { "arena_bytes", arena_printf(m, "%lld", (long long)arena) },
    { "weight_bytes", arena_printf(m, "%lld", (long long)p->weights.bytes) },
    { "cpu", cpu_text(c, p->in->target) },
    { "cpu_check", word_if(asks) },
    { "ninputs", arena_printf(m, "%d", nin) },
    { "noutputs", arena_printf(m, "%d", nout) },
    { "nkernels", arena_printf(m, "%zu", p->kernels.n) },
    { "kernels_said", count_noun(m, (int64_t)p->kernels.n, "kernel") },
    { "shapes", sb_keep(&shapes, &c->model) },
    { "input_fields", in_fields },
    { "output_fields", out_fields },
    { "input_slots", slots_text(p->ir, g->inputs.p, nin, in) },
    { "output_slots", slots_text(p->ir, g->outputs.p, nout, out) },
    { "assign", text_assign(c, g, in, out, (const char *const[]){ "in", "input", "out", "output" }) },
    { "assign_v", text_assign(c, g, in, out, (const char *const[]){ "inputs", "in", "outputs", "out" }) },
    { "takes", word_if(nin) },
    { "gives", word_if(nout) },
    { "ir_in", nin ? "%in" : "%none.in" },
    { "ir_out", nout ? "%out" : "%none.out" },
    { "code_section", module_section(p, ".text", "values") },
    { "debugs", word_if(hosted) },
    { "weights_sha256", weights_sha256 },
    { "null_checks", text_null_checks(c, g, in, out) },
    { "states", word_if(p->memory.states.n) },
    { "nstates", arena_printf(m, "%zu", p->memory.states.n) },
    { "state_at", arena_printf(m, "%lld", (long long)p->memory.state_at) },
    { "njumps", arena_printf(m, "%zu", r.jumps.n) },
    { "omits", word_if(omits_calls(&r)) },
    { "alone", word_if(p->ir->symbols.n && !o->stepped && size_share(&r) > 1) },
    { "kernels_here", !r.groups ? "1" : r.folded.n ? "kernels_of[table_row(job.kernel)]" : "kernels_of[job.kernel]" },
    { "guarded", word_if(g->guarded) },
    { "entries", word_if(g->entries.n) },
    { "stepped", word_if(o->stepped) },
    { "work", arena_printf(m, "%lld", (long long)(o->stepped ? work_whole(p) : 0)) },
    { "work_part", arena_printf(m, "%lld", (long long)(o->stepped ? work_part(p) : 0)) },
    { "capacity", word_if(graph_may_overflow(g)) },
    { "sizes", word_if(p->ir->symbols.n > 0) },
    { "appends", word_if(size_appends(&p->ir->symbols)) },
    { "derived", word_if(size_extents(&r)) },
    { "nextents", arena_printf(m, "%d", p->ir->symbols.n + size_extents(&r)) },
    { "guard_at", arena_printf(m, "%lld", (long long)p->memory.guard_at) },
    { "fat", word_if(fat) },
    { "variants", variant.declarations },
    { "choose_variant", variant.choose },
    { "variant_rules", variant.rules },
    { "variant_properties", variant.properties },
    { "flush", word_if(!o->keep_denormals) },
    { "triple", p->in->target->triple },
    { "device", device_api(p) },
    { "device_handle", o->backend->handle ? o->backend->handle : "" },
    { "work_bytes", arena_printf(m, "%lld", (long long)device_work(p)) },
    { "count", dtype_info[target_count(p->in->target)].ctype },
    { "to_count", target_count(p->in->target) == DT_I64 ? "" : "(int32_t)" },
    { "narrow", word_if(target_count(p->in->target) == DT_I32) },
    { "ir_count", module_count(p) },
    { "ir_size", module_size(p) },
    { "ir_cpu", asks ? arena_printf(m, "%lld", (long long)p->in->target->features) : "0" },
    { "ir_call", r.repeats.n ? "call" : "kernel" },
    { "ir_embedded", embed ? "true" : "false" },
    { "ir_weights", embed ? arena_printf(m, "@%s_weights", net) : "null" },
    { "embed", word_if(embed) },
    { "cflags", net_flags(p, o) },
    { "images", word_if(o->backend->images) },
    { "code", code_file(c, o) },
    { "code_rule", code_named(c, form->rule, net) },
    { "archive_start", code_named(c, form->archive, net) },
    { "link", code_named(c, form->link, net) },
    { "properties", code_named(c, form->properties, net) },
    { "custom", code_named(c, form->custom, net) },
    { "library", code_named(c, form->library, net) },
    { "objects", arena_printf(m, "%s%s$(B)/tgcrt.o%s%s", code_named(c, form->object, net), variant.objects,
                              bare ? "" : " $(B)/tgcrt_pool.o", weights_object) },
    { "sources", arena_printf(m, "%s%stgcrt.c%s%s%s", code_named(c, form->source, net), variant.sources,
                              bare ? "" : " tgcrt_pool.c", apart ? " " : "", apart ? weights_file : "") },
    { "headers", o->backend->device ? "tgcrt.h tgcrt_device.h" : "tgcrt.h" },
    { "library_file", strstr(form->library, "INSTALL_INTERFACE") ? code_file(c, o) : "" },
    { "bare", word_if(bare) },
    { "quoted_sources", package_list(c, arena_printf(m, "tgcrt.c%s%s%s", bare ? "" : " tgcrt_pool.c", apart ? " " : "",
                                                     apart ? weights_file : "")) },
    { "quoted_flags", package_list(c, net_flags(p, o)) },
    { "package_sources", arena_printf(m, "tgcrt.c%s%s", apart ? " " : "", apart ? weights_file : "") },
    { "platformio_sources", apart ? arena_printf(m, "+<tgcrt.c> +<%s>", weights_file) : "+<tgcrt.c>" },
    { "cross", target_tools(p->in->target) },
    { "machine_flags", target_machine_flags(m, p->in->target) },
    { "languages", o->weights == WEIGHTS_INCBIN || o->backend->images ? "C ASM" : "C" },
    { "weights_object", word_if(apart) },
    { "weights_source", weights_file },
    { "weights_files", o->weights == WEIGHTS_INCBIN ? arena_printf(m, "%s %s_weights.bin", weights_file, net) : weights_file },
    { "test", word_if(test) },
    { "shared", word_if(o->emit == EMIT_SO) },
    { "library_built", o->package ? arena_printf(m, "the package's build makes it, with %s.py beside it", net)
                                  : arena_printf(m, "make in the bundle's folder makes build/lib%s.so", net) },
    { "python_files", python_files },
    { "quoted_python_files", package_list(c, python_files) },
    { "python_library", word_if(binding_named(o->bindings, "python") && o->emit != EMIT_SO) },
    { "grows", word_if(g->grows) },
    { "state_bytes", arena_printf(m, "%lld", (long long)p->memory.state_bytes) },
    { NULL, NULL },
  };
  add_files(&r, &(WordSet){ words, made_words, &r, bundle_row, NULL }, weights_file, b);
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
