/* SPDX-License-Identifier: MIT */
/* words.c: the words that a bundle's templates may use. A word stands for a fact of the model, for a condition of
 * @if, or for a file or a flag of the build. Words that few templates use are made when a template mentions them.
 *
 * needs: a Rendering    gives: a WordSet    breaks: nothing */
#include "bundle.h"
#include <string.h>

/* ---- words of kernels ---- */
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
static const char *number_text(const Rendering *r, int64_t n) {
  return arena_printf(&r->p->ir->ctx->model, "%lld", (long long)n);
}
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
/* The reverse: two arrays of pointers from the fields of two structures */
static const char *gather_text(Ctx *c, const Graph *g, const char **in, const char **out) {
  Sb s = { 0 };
  for (size_t i = 0; i < graph_nin(g); i++) sb_printf(&s, "  inputs[%zu] = in->%s;\n", i, in[i]);
  for (size_t i = 0; i < graph_nout(g); i++) sb_printf(&s, "  outputs[%zu] = out->%s;\n", i, out[i]);
  return sb_keep(&s, &c->model);
}

static const char *gather_word(const Rendering *r) { return gather_text(r->p->ir->ctx, r->p->g, r->in, r->out); }
static const char *sizes_at_word(const Rendering *r) { return number_text(r, device_sizes_at(r->p)); }
static const char *device_bytes_word(const Rendering *r) { return number_text(r, r->device.bytes); }
static const char *options_word(const Rendering *r) { return device_options(r->p, r->o->keep_denormals); }
static const char *image_names_word(const Rendering *r) { return image_names(r->p->ir->ctx, &r->images, r->o->name); }
static const char *image_rows_word(const Rendering *r) { return image_rows(r->p->ir->ctx, &r->images, r->o->name); }
static const char *image_symbols_word(const Rendering *r) { return image_symbols(r->p->ir->ctx, &r->images, r->o->name); }

/* ---- the machine ---- */
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

/* ---- words that are made at once ---- */
/* Rows of the test program check.c about n values */
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

static const char *shapes_text(const Rendering *r) {
  const Graph *g = r->p->g;
  Sb s = { 0 };
  text_shapes(&s, r->NET, "INPUT", g->inputs.p, (int)graph_nin(g));
  text_shapes(&s, r->NET, "OUTPUT", g->outputs.p, (int)graph_nout(g));
  return sb_keep(&s, &r->p->ir->ctx->model);
}

static bool embeds(const BundleOptions *o) { return o->weights != WEIGHTS_FILE; }

/* The weights are in a source or an object of their own */
static bool weights_apart(const BundleOptions *o) { return embeds(o) && o->weights != WEIGHTS_OBJECT; }

/* net_init checks the features of the CPU */
static bool asks_cpu(const Rendering *r) { return r->p->in->target->features && !r->o->no_cpu_check; }

/* Numbers, names and texts of the model */
static const Word *model_words(const Rendering *r) {
  const Plan *p = r->p;
  const BundleOptions *o = r->o;
  Ctx *c = p->ir->ctx;
  Arena *m = &c->model;
  const Graph *g = p->g;
  const char **in = r->in, **out = r->out;
  const int nin = (int)graph_nin(g), nout = (int)graph_nout(g);
  const Word words[] = {
    { "net", o->name },
    { "NET", r->NET },
    { "version", TGC_VERSION },
    { "abi_major", arena_printf(m, "%d", BUNDLE_ABI_MAJOR) },
    { "abi_minor", arena_printf(m, "%d", p->ir->symbols.n ? BUNDLE_ABI_SIZES : BUNDLE_ABI_MINOR) },
    { "interface", r->interface },
    { "arena_bytes", arena_printf(m, "%lld", (long long)r->arena) },
    { "weight_bytes", arena_printf(m, "%lld", (long long)p->weights.bytes) },
    { "cpu", cpu_text(c, p->in->target) },
    { "ninputs", arena_printf(m, "%d", nin) },
    { "noutputs", arena_printf(m, "%d", nout) },
    { "nkernels", arena_printf(m, "%zu", p->kernels.n) },
    { "kernels_said", count_noun(m, (int64_t)p->kernels.n, "kernel") },
    { "shapes", shapes_text(r) },
    { "input_fields", text_fields(c, g->inputs.p, nin, in, true, &p->ir->symbols) },
    { "output_fields", text_fields(c, g->outputs.p, nout, out, false, &p->ir->symbols) },
    { "input_slots", slots_text(p->ir, g->inputs.p, nin, in) },
    { "output_slots", slots_text(p->ir, g->outputs.p, nout, out) },
    { "assign", text_assign(c, g, in, out, (const char *const[]){ "in", "input", "out", "output" }) },
    { "assign_v", text_assign(c, g, in, out, (const char *const[]){ "inputs", "in", "outputs", "out" }) },
    { "ir_in", nin ? "%in" : "%none.in" },
    { "ir_out", nout ? "%out" : "%none.out" },
    { "code_section", module_section(p, ".text", "values") },
    { "weights_sha256", r->weights_sha256 },
    { "null_checks", text_null_checks(c, g, in, out) },
    { "nstates", arena_printf(m, "%zu", p->memory.states.n) },
    { "state_at", arena_printf(m, "%lld", (long long)p->memory.state_at) },
    { "njumps", arena_printf(m, "%zu", r->jumps.n) },
    { "kernels_here", !r->groups ? "1" : r->folded.n ? "kernels_of[table_row(job.kernel)]" : "kernels_of[job.kernel]" },
    { "work", arena_printf(m, "%lld", (long long)(o->stepped ? work_whole(p) : 0)) },
    { "work_part", arena_printf(m, "%lld", (long long)(o->stepped ? work_part(p) : 0)) },
    { "nextents", arena_printf(m, "%d", p->ir->symbols.n + size_extents(r)) },
    { "guard_at", arena_printf(m, "%lld", (long long)p->memory.guard_at) },
    { "device", device_api(p) },
    { "device_handle", o->backend->handle ? o->backend->handle : "" },
    { "work_bytes", arena_printf(m, "%lld", (long long)device_work(p)) },
    { "count", dtype_info[target_count(p->in->target)].ctype },
    { "to_count", target_count(p->in->target) == DT_I64 ? "" : "(int32_t)" },
    { "ir_count", module_count(p) },
    { "ir_size", module_size(p) },
    { "ir_cpu", asks_cpu(r) ? arena_printf(m, "%lld", (long long)p->in->target->features) : "0" },
    { "ir_call", r->repeats.n ? "call" : "kernel" },
    { "ir_embedded", embeds(o) ? "true" : "false" },
    { "ir_weights", embeds(o) ? arena_printf(m, "@%s_weights", o->name) : "null" },
    { "state_bytes", arena_printf(m, "%lld", (long long)p->memory.state_bytes) },
    { NULL, NULL },
  };
  return arena_dup(m, words, sizeof words);
}

/* Conditions: words that templates mention only in @if */
static const Word *condition_words(const Rendering *r) {
  const Plan *p = r->p;
  const BundleOptions *o = r->o;
  Arena *m = &p->ir->ctx->model;
  const Graph *g = p->g;
  const bool hosted = strstr(p->in->target->triple, "linux"); /* elsewhere a program is linked with no more than it needs */
  const Word words[] = {
    { "cpu_check", word_if(asks_cpu(r)) },
    { "takes", word_if(graph_nin(g)) },
    { "gives", word_if(graph_nout(g)) },
    { "debugs", word_if(hosted) },
    { "states", word_if(p->memory.states.n) },
    { "omits", word_if(omits_calls(r)) },
    { "alone", word_if(p->ir->symbols.n && !o->stepped && size_share(r) > 1) },
    { "guarded", word_if(g->guarded) },
    { "entries", word_if(g->entries.n) },
    { "stepped", word_if(o->stepped) },
    { "capacity", word_if(graph_may_overflow(g)) },
    { "sizes", word_if(p->ir->symbols.n > 0) },
    { "appends", word_if(size_appends(&p->ir->symbols)) },
    { "derived", word_if(size_extents(r)) },
    { "fat", word_if(p->variants.n) },
    { "flush", word_if(!o->keep_denormals) },
    { "narrow", word_if(target_count(p->in->target) == DT_I32) },
    { "embed", word_if(embeds(o)) },
    { "images", word_if(o->backend->images) },
    { "bare", word_if(bundle_is_bare(p, o)) },
    { "weights_object", word_if(weights_apart(o)) },
    { "test", word_if(o->test_in) },
    { "shared", word_if(o->emit == EMIT_SO) },
    { "python_library", word_if(binding_named(o->bindings, "python") && o->emit != EMIT_SO) },
    { "grows", word_if(g->grows) },
    { NULL, NULL },
  };
  return arena_dup(m, words, sizeof words);
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

/* Flags for the compiler that builds the bundle's code */
static const char *net_flags(const Plan *p, const BundleOptions *o) {
  const ImageOrder order = code_order(p, o, (Bytes){ 0 });
  return o->backend->flags ? o->backend->flags(p->ir->ctx, &order) : p->in->target->cflags;
}

/* Files, flags and rules of the build */
static const Word *build_words(const Rendering *r) {
  const Plan *p = r->p;
  const BundleOptions *o = r->o;
  Ctx *c = p->ir->ctx;
  Arena *m = &c->model;
  const char *net = o->name, *weights_file = r->weights_source;
  const CodeForm *form = code_form(o);
  const VariantTexts variant = variant_texts(p, net);
  const bool bare = bundle_is_bare(p, o), apart = weights_apart(o);
  const char *weights_object = apart ? arena_printf(m, " $(B)/%s_weights.o", net) : "";
  const char *python_files = arena_printf(m, embeds(o) ? "%s.py" : "%s.py %s_weights.bin", net, net);
  const Word words[] = {
    { "isa", p->in->target->isa },
    { "guard", guard_text(r->base, arena_printf(m, "%s.c", net)) },
    { "cflags", net_flags(p, o) },
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
    { "quoted_sources", package_list(c, arena_printf(m, "tgcrt.c%s%s%s", bare ? "" : " tgcrt_pool.c", apart ? " " : "",
                                                     apart ? weights_file : "")) },
    { "quoted_flags", package_list(c, net_flags(p, o)) },
    { "package_sources", arena_printf(m, "tgcrt.c%s%s", apart ? " " : "", apart ? weights_file : "") },
    { "platformio_sources", apart ? arena_printf(m, "+<tgcrt.c> +<%s>", weights_file) : "+<tgcrt.c>" },
    { "cross", target_tools(p->in->target) },
    { "machine_flags", target_machine_flags(m, p->in->target) },
    { "languages", o->weights == WEIGHTS_INCBIN || o->backend->images ? "C ASM" : "C" },
    { "weights_source", weights_file },
    { "weights_files", o->weights == WEIGHTS_INCBIN ? arena_printf(m, "%s %s_weights.bin", weights_file, net) : weights_file },
    { "library_built", o->package ? arena_printf(m, "the package's build makes it, with %s.py beside it", net)
                                  : arena_printf(m, "make in the bundle's folder makes build/lib%s.so", net) },
    { "python_files", python_files },
    { "quoted_python_files", package_list(c, python_files) },
    { "variants", variant.declarations },
    { "choose_variant", variant.choose },
    { "variant_rules", variant.rules },
    { "variant_properties", variant.properties },
    { "triple", p->in->target->triple },
    { NULL, NULL },
  };
  return arena_dup(m, words, sizeof words);
}

WordSet bundle_words(const Rendering *r) {
  Arena *m = &r->p->ir->ctx->model;
  const WordSet build = { .fixed = build_words(r) };
  const WordSet conditions = { .fixed = condition_words(r), .outer = arena_dup(m, &build, sizeof build) };
  return (WordSet){ model_words(r), made_words, r, bundle_row, arena_dup(m, &conditions, sizeof conditions) };
}
