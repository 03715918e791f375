/* SPDX-License-Identifier: MIT */
/* manifest.c: manifest.json, the description of a bundle for programs. Keys are sorted, and nothing depends on the host, the
 * user, the time or a path. Only the manifest contains names of the model's nodes.
 *
 * needs: a rendered bundle    gives: its description as JSON    breaks: nothing */
#include "../cost/tunable.h"
#include "../target/cpu_facts.h"
#include "bundle.h"
#include "../lower/lower.h"
#include <string.h>

json_t *json_text(const char *s) {
  json_t *j = json_string(s ? s : "");
  if (j) return j;
  Sb t = { 0 };
  for (; *s; s++) sb_printf(&t, *s & 0x80 ? "\\x%02x" : "%c", (unsigned char)*s);
  j = json_string(t.p);
  sb_free(&t);
  return j;
}

/* ---- text ----
 * Members are written one by one, and long lists element by element. A model may have 100,000 outputs; a JSON tree of all of
 * them would take more memory and time than compiling the model. */
enum { MEMBER = 2, ELEMENT = 4 }; /* columns of indentation */

static int add_text(const char *text, size_t n, void *to) {
  sb_put(to, text, n);
  return 0;
}

/* Writes a value, with its further lines indented. Takes the reference. */
static void put_value(Sb *o, json_t *value, int columns) {
  Sb text = { 0 };
  CHECK(value && !json_dump_callback(value, add_text, &text, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_ENCODE_ANY));
  for (const char *at = text.p, *end = text.p + text.n; at < end;) {
    const char *feed = memchr(at, '\n', (size_t)(end - at)); /* never inside a string, where a line feed is escaped */
    sb_put(o, at, (size_t)((feed ? feed + 1 : end) - at));
    if (feed) sb_printf(o, "%*s", columns, "");
    at = feed ? feed + 1 : end;
  }
  sb_free(&text);
  json_decref(value);
}

static void put_key(Sb *o, const char *key) { sb_printf(o, "%s\n%*s\"%s\": ", o->n ? "," : "{", MEMBER, "", key); }

static void put_member(Sb *o, const char *key, json_t *value) { /* NULL: no such member */
  if (!value) return;
  put_key(o, key);
  put_value(o, value, MEMBER);
}

static void put_element(Sb *o, int index, json_t *value) {
  sb_printf(o, "%s\n%*s", index ? "," : "[", ELEMENT, "");
  put_value(o, value, ELEMENT);
}

static void put_list_end(Sb *o, int n) {
  if (n) sb_printf(o, "\n%*s]", MEMBER, "");
  else sb_puts(o, "[]");
}

json_t *json_dims(int rank, const int64_t *dims) {
  json_t *j = json_array();
  for (int i = 0; i < rank; i++) json_array_append_new(j, json_integer(dims[i]));
  return j;
}

/* For each axis, which of `sizes`, and `extents` behind them, is its extent: 1 for the first. 0: a constant */
static json_t *open_json(const GIO *v) {
  json_t *j = json_array();
  for (int a = 0; a < v->rank; a++) json_array_append_new(j, json_integer(v->open[a]));
  return j;
}

static json_t *value_json(const GIO *v, const char *field) {
  json_t *j = json_pack("{s:s, s:o, s:s, s:o, s:I}", "field", field, "name", json_text(v->name), "type", dtype_info[v->dt].text,
                   "shape", json_dims(v->rank, v->dims), "bytes", (json_int_t)gio_bytes(v));
  if (gio_is_open(v)) json_object_set_new(j, "open", open_json(v));
  if (v->narrow) json_object_set_new(j, "holds", json_string(small_type(v->narrow)->name));
  return j;
}

static json_t *list_json(Ctx *c, const GIO *v, size_t n, const char *kind) {
  const char **field = bundle_fields(c, v, (int)n, kind);
  json_t *list = json_array();
  for (size_t i = 0; i < n; i++) json_array_append_new(list, value_json(&v[i], field[i]));
  return list;
}

/* extent: the numbers that extents have in the bundle */
static void put_values(Sb *o, const char *key, Ctx *c, const GIO *v, int n, const char *kind, const int *extent) {
  const char **field = bundle_fields(c, v, n, kind);
  put_key(o, key);
  for (int i = 0; i < n; i++) {
    GIO x = v[i];
    for (int a = 0; a < x.rank; a++)
      if (x.open[a]) x.open[a] = (unsigned short)(1 + extent[x.open[a] - 1]);
    put_element(o, i, value_json(&x, field[i]));
  }
  put_list_end(o, n);
}

static json_t *states_json(const Plan *p) {
  static const char *const how[] = { "in place", "alternating" };
  const GIO *v = p->g->inputs.p + graph_nin(p->g);
  const char **field = bundle_fields(p->ir->ctx, v, (int)p->memory.states.n, "state");
  json_t *j = json_array();
  for (size_t k = 0; k < p->memory.states.n; k++) {
    const GState *s = &p->g->states.p[k];
    json_t *x = value_json(&v[k], field[k]);
    json_array_append_new(j, x);
    json_object_set_new(x, "output", json_text(p->g->outputs.p[graph_nout(p->g) + k].name));
    json_object_set_new(x, "kept", json_string(s->axis < 0 ? how[p->memory.states.p[k].slots - 1] : "window"));
    if (s->axis < 0) continue;
    json_object_set_new(x, "axis", json_integer(s->axis));
    json_object_set_new(x, "capacity", json_integer(s->capacity));
  }
  return j;
}

/* Values, kernels and states of each entry; NULL: the bundle has one entry */
static json_t *entries_json(const Rendering *r) {
  const Plan *p = r->p;
  json_t *list = p->g->entries.n ? json_array() : NULL;
  for (size_t i = 0; i < p->g->entries.n; i++) {
    const GEntry *e = &p->g->entries.p[i];
    json_t *reads = json_array(), *renews = json_array();
    size_t first, end;
    entry_kernels(p, i, &first, &end);
    for (size_t k = 0; k < e->g->states.n; k++)
      json_array_append_new(e->g->states.p[k].only_read ? reads : renews, json_string(r->state[e->state[k]]));
    json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o, s:o, s:I, s:I}", "name", e->name, "inputs",
                                          list_json(p->ir->ctx, e->g->inputs.p, graph_nin(e->g), "input"), "outputs",
                                          list_json(p->ir->ctx, e->g->outputs.p, graph_nout(e->g), "output"), "reads", reads,
                                          "renews", renews, "first_call", (json_int_t)first, "calls", (json_int_t)(end - first)));
  }
  return list;
}

static json_t *errors_json(const Plan *p, const OutputError *e) {
  json_t *j = json_array();
  for (size_t i = 0; i < graph_nout(p->g); i++)
    json_array_append_new(j, json_pack("{s:o, s:f, s:f, s:f}", "output", json_text(p->g->outputs.p[i].name), "max", e[i].max,
                                       "rms", e[i].rms, "largest", e[i].largest));
  return j;
}

static json_t *nests_json(const Kernel *k) {
  json_t *j = json_array();
  for (size_t i = 0; i < k->nests.n; i++) {
    const NestSchedule *n = &k->nests.p[i];
    json_array_append_new(
        j, json_pack("{s:s, s:s, s:s, s:b, s:s*}", "key", n->key, "opts", n->opts, "from", n->from, "partial", n->partial,
                     "measured", n->measured));
  }
  return j;
}

static json_t *extents_json(const int64_t *v) {
  return json_pack("[I, I, I]", (json_int_t)v[0], (json_int_t)v[1], (json_int_t)v[2]);
}

/* Registers and memory of a launch's function on each architecture that it was compiled for; NULL: not known */
static json_t *uses_json(const Plan *p, const Images *images, int code, size_t launch) {
  const char *function = device_function(p->ir->ctx, code, launch, 0); /* no interface that compiles kernels here exchanges values */
  json_t *j = NULL;
  for (size_t i = 0; images && i < images->uses.n; i++) {
    const FunctionUse *u = &images->uses.p[i];
    if (strcmp(u->function, function)) continue;
    if (!j) j = json_object();
    json_object_set_new(j, arena_printf(&p->ir->ctx->model, "sm_%u", u->arch),
                        json_pack("{s:I, s:I, s:I}", "registers", (json_int_t)u->registers, "local_bytes",
                                  (json_int_t)u->local_bytes, "shared_bytes", (json_int_t)u->shared_bytes));
  }
  return j;
}

/* Blocks and threads of each launch; NULL: the kernel runs on the CPU */
static json_t *launches_json(const Plan *p, const Kernel *x, const Images *images) {
  Launches launches = { 0 };
  if (!p->in->target->dev) return NULL;
  json_t *j = json_array();
  kernel_launches(p, x, &launches);
  for (size_t i = 0; i < launches.n; i++)
    json_array_append_new(j, json_pack("{s:o, s:o, s:I, s:o*}", "grid", extents_json(launches.p[i].grid), "block",
                                       extents_json(launches.p[i].block), "shared_bytes",
                                       (json_int_t)launches.p[i].shared_bytes, "uses", uses_json(p, images, x->code, i)));
  launches_free(&launches);
  return j;
}

/* Whether a later iteration of the loop calls the kernel again */
static bool is_called_again(const Plan *p, const Kernel *x) {
  bool again = false;
  for (const Kernel *y = x + 1; y < p->kernels.p + p->kernels.n && y->loop == x->loop && !again; y++) again = y->sink == x->sink;
  return again;
}

/* The number of iterations that run the kernel */
static int64_t trips_of(const Plan *p, const Kernel *x) {
  if (x->only == LATER_ITERATIONS) return x->trips - 1;
  return x->only == ALL_ITERATIONS || is_called_again(p, x) ? x->trips : 1;
}

static json_t *kernel_json(const Plan *p, const Kernel *x, const KernelOrigins *from, const Images *images) {
  json_t *nodes = json_array();
  for (int i = 0; i < from->n; i++) json_array_append_new(nodes, json_text(p->ir->origins.p[from->origin[i]].text));
  json_t *trips = x->loop ? json_integer(trips_of(p, x)) : NULL;
  return json_pack("{s:o, s:o*, s:o*, s:o, s:i, s:o, s:I, s:I, s:I}", "nodes", nodes, "launches", launches_json(p, x, images),
                   "trips", trips, "schedule", json_text(x->schedule), "group_size", x->group_size, "nests", nests_json(x),
                   "flops", (json_int_t)x->flops, "bytes_read", (json_int_t)x->bytes_read, "bytes_written",
                   (json_int_t)x->bytes_written);
}

json_t *json_kernels(const Plan *p) {
  const KernelOrigins *from = kernel_origins(p);
  json_t *j = json_array();
  for (size_t k = 0; k < p->kernels.n; k++) json_array_append_new(j, kernel_json(p, &p->kernels.p[k], &from[k], NULL));
  return j;
}

static void put_kernels(Sb *o, const Plan *p, const Images *images) {
  const KernelOrigins *from = kernel_origins(p);
  put_key(o, "kernels");
  int n = 0;
  for (size_t k = 0; k < p->kernels.n; k++) /* kernels of a loop are listed once */
    if (!earlier_call(p, k)) {
      json_t *j = kernel_json(p, &p->kernels.p[k], &from[k], images);
      if (p->ir->symbols.n) json_object_set_new(j, "sized", json_boolean(kernel_sized(p->ir, &p->kernels.p[k])));
      put_element(o, n++, j);
    }
  put_list_end(o, n);
}

/* Number of nests by source of their schedule. partial: only some nests are tuned, or their search was interrupted. */
static json_t *tuning_json(const Plan *p) {
  json_t *j = json_object();
  int heuristic = 0, tuned = 0, partial = 0;
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t i = 0; i < p->kernels.p[k].nests.n; i++) {
      const NestSchedule *n = &p->kernels.p[k].nests.p[i];
      json_object_set_new(j, n->from, json_integer(json_integer_value(json_object_get(j, n->from)) + 1));
      partial += n->partial;
      ++*(strcmp(n->from, "heuristic") ? &tuned : &heuristic);
    }
  json_object_set_new(j, "partial", json_boolean(partial || (tuned && heuristic)));
  return j;
}

/* How the accesses of all kernels were proved to be inside their buffers. */
static json_t *bounds_json(const Plan *p) {
  KernelBounds all = { 0 };
  for (size_t v = 0; v <= p->variants.n; v++) {
    const Plan *of = v < p->variants.n ? p->variants.p[v] : p;
    for (size_t k = 0; k < of->kernels.n; k++) {
      all.accesses += of->kernels.p[k].bounds.accesses;
      all.by_ranges += of->kernels.p[k].bounds.by_ranges;
      all.clamped += of->kernels.p[k].bounds.clamped;
    }
  }
  return json_pack("{s:I, s:I, s:I}", "accesses", (json_int_t)all.accesses, "by_ranges", (json_int_t)all.by_ranges, "clamped",
                   (json_int_t)all.clamped);
}

static json_t *files_json(const Bundle *b) {
  json_t *j = json_object();
  for (size_t i = 0; i < b->files.n; i++) {
    const BundleFile *f = &b->files.p[i];
    char digest[65];
    if (!f->sha256) sha256_hex(f->p, f->n, digest);
    json_object_set_new(j, f->name, json_pack("{s:I, s:s}", "bytes", (json_int_t)f->n, "sha256", f->sha256 ? f->sha256 : digest));
  }
  return j;
}

static json_t *variants_json(const Plan *p, const char *net) {
  json_t *list = json_array();
  for (size_t i = 0; i + 1 < p->variants.n; i++) {
    const Plan *v = p->variants.p[i];
    int kernels = 0;
    for (size_t k = 0; k < v->kernels.n; k++) kernels += v->kernels.p[k].text != NULL;
    json_array_append_new(list, json_pack("{s:s, s:o, s:s, s:i}", "isa", v->in->target->isa, "code",
                                          json_sprintf("%s.c", bundle_variant(v, net)), "cflags", v->in->target->cflags,
                                          "kernels", kernels));
  }
  return list;
}

/* The model's file, and the files it refers to; NULL: the model came from no file. */
static json_t *source_json(Ctx *c) {
  json_t *j = NULL, *external = json_array();
  for (size_t i = 0; i < c->sources.n; i++) {
    const SourceFile *f = &c->sources.p[i];
    json_t *x = json_pack("{s:I, s:s}", "bytes", (json_int_t)f->all.n, "sha256", source_sha256(c, i));
    if (f->location) {
      json_object_set_new(x, "location", json_text(f->location));
      json_array_append_new(external, x);
    } else {
      json_decref(j);
      j = x;
    }
  }
  if (j) json_object_set(j, "external", external);
  json_decref(external);
  return j;
}

/* Tunables and rates that differ from their defaults; NULL: none. */
static json_t *tunables_json(Ctx *c) {
  json_t *j = NULL;
  TunableRow row;
  for (int i = 0; c->tunables && tunables_row(&c->model, c->tunables, i, &row); i++) {
    const bool whole = row.value == (double)(json_int_t)row.value;
    if (row.value == row.normal) continue;
    if (!j) j = json_object();
    json_object_set_new(j, row.name, whole ? json_integer((json_int_t)row.value) : json_real(row.value));
  }
  return j;
}

/* Source files for the host's compiler, where the code file is not for it */
static json_t *host_sources(Ctx *c, const BundleOptions *o) {
  json_t *list = json_array();
  const char *text = code_named(c, code_form(o)->source, o->name);
  for (size_t n; *text; text += n + (text[n] == ' ')) {
    n = strcspn(text, " ");
    json_array_append_new(list, json_stringn(text, n));
  }
  return list;
}

/* The facts of the CPU that costs are for, as the text that --machine reads */
static json_t *machine_json(const Target *t) {
  Sb text = { 0 };
  cpu_print(t->facts, &text);
  json_t *j = json_stringn(text.p, text.n);
  sb_free(&text);
  return j;
}

static json_t *bindings_json(unsigned bits) {
  json_t *list = json_array();
  for (int i = 0; bindings[i].word; i++)
    if (bits >> i & 1) json_array_append_new(list, json_string(bindings[i].word));
  return list;
}

static json_t *options_json(const Plan *p, const BundleOptions *o) {
  static const char *const mode[] = {
    [WEIGHTS_FILE] = "file", [WEIGHTS_INCBIN] = "incbin", [WEIGHTS_ARRAY] = "c", [WEIGHTS_OBJECT] = "object"
  };
  const PlanInputs *in = p->in;
  json_t *tunables = tunables_json(p->ir->ctx);
  json_t *j = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:b}", "backend", o->backend->name, "code",
                        code_file(p->ir->ctx, o), "precision", precision_name[in->precision], "weights_as",
                        storage_name[in->weights_as], "isa", in->target->isa, "cflags", in->target->cflags, "weights",
                        mode[o->weights], "denormals", o->keep_denormals ? "keep" : "flush", "self_test", o->test_in != NULL,
                        "cpu_check", in->target->features && !o->no_cpu_check);
  json_object_set_new(j, "optimize", json_string(optimize_name[in->optimize]));
  if (o->stepped) json_object_set_new(j, "run_step", json_true());
  if (o->bindings) json_object_set_new(j, "bindings", bindings_json(o->bindings));
  if (in->max_arena) json_object_set_new(j, "max_arena", json_integer(in->max_arena - 1));
  if (in->max_weights) json_object_set_new(j, "max_weights", json_integer(in->max_weights - 1));
  if (tunables) json_object_set_new(j, "tunables", tunables);
  json_t *changes = json_array();
  for (int i = 0; i < o->nchanges; i++)
    json_array_append_new(changes, json_text(arena_printf(&p->ir->ctx->model, "%s=%s", o->changes[i].name,
                                                          o->changes[i].value)));
  if (o->nchanges) json_object_set(j, "interface", changes);
  json_decref(changes);
  if (in->target->facts) json_object_set_new(j, "machine", machine_json(in->target));
  if (o->backend->device) json_object_set_new(j, "sources", host_sources(p->ir->ctx, o));
  return j;
}

const char *model_digest(const Rendering *r) {
  Ctx *c = r->p->ir->ctx;
  Sb s = { 0 };
  for (size_t i = 0; i < c->sources.n; i++)
    sb_printf(&s, "%sSHA-256 %s, %zu bytes", s.n ? "; " : "", source_sha256(c, i), c->sources.p[i].all.n);
  return s.n ? sb_keep(&s, &c->model) : "not from a file";
}

/* Options with one value; the manifest also has the rates and facts. No text in the line ends a comment or begins a line. */
const char *options_line(const Rendering *r) {
  json_t *options = options_json(r->p, r->o), *value;
  const char *key;
  Sb s = { 0 };
  json_object_foreach(options, key, value) {
    if (json_is_object(value)) continue;
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);
    const char *t = text + (*text == '"');
    sb_printf(&s, "%s%s=", s.n ? ", " : "", key);
    for (; *t && !(*t == '"' && !t[1]); t++) sb_printf(&s, "%c", *t == '*' ? '.' : *t);
    free(text);
  }
  json_decref(options);
  return sb_keep(&s, &r->p->ir->ctx->model);
}

static json_t *images_json(const Rendering *r) { /* NULL: the driver compiles the text */
  static const char *const kind[] = { [TGCRT_IMAGE_CUBIN] = "cubin", [TGCRT_IMAGE_PTX] = "ptx", [TGCRT_IMAGE_FATBIN] = "fatbin" };
  if (!r->o->backend->images) return NULL;
  json_t *list = json_array();
  for (size_t i = 0; i < r->images.list.n; i++)
    json_array_append_new(list, json_pack("{s:o, s:s, s:i}", "file", json_sprintf("%s%s", r->o->name, r->images.list.p[i].end),
                                          "kind", kind[r->images.list.p[i].kind], "arch", (int)r->images.list.p[i].arch));
  return list;
}

/* Requirements of a device bundle and its number of launches; NULL: the code runs on the CPU. */
static json_t *device_json(const Rendering *r) {
  const DeviceTables *t = &r->device;
  if (!r->o->backend->device) return NULL;
  return json_pack("{s:s, s:I, s:I, s:I, s:I, s:b, s:s*, s:o*}", "interface", r->o->backend->device, "bytes",
                   (json_int_t)t->bytes, "launches", (json_int_t)t->launches.n, "threads", (json_int_t)t->block, "shared_bytes",
                   (json_int_t)t->shared_bytes, "f64", (int)(t->needs & TGCRT_NEEDS_F64), "compiler", r->images.maker, "images",
                   images_json(r));
}

static json_t *sizes_json(const Symbols *all) {
  json_t *list = json_array();
  for (int k = 0; k < all->n; k++) {
    const Symbol *s = &all->p[k];
    json_t *j = json_pack("{s:o, s:I, s:I, s:I}", "name", json_text(s->name), "low", (json_int_t)s->low, "high",
                          (json_int_t)s->high, "step", (json_int_t)s->step);
    if (s->typical) json_object_set_new(j, "typical", json_integer(s->typical));
    if (s->appended) json_object_set_new(j, "appended", json_integer(s->appended));
    json_array_append_new(list, j);
  }
  return list;
}

/* Extents that follow from sizes; NULL: there are none */
static json_t *run_extents_json(const IR *ir, const int *number, int count) {
  json_t *list = count ? json_array() : NULL;
  for (size_t i = (size_t)ir->symbols.n; i < ir->extents.n; i++) {
    const Extent *e = &ir->extents.p[i];
    if (number[i])
      json_array_append_new(list,
                            json_pack("{s:i, s:I, s:I, s:I, s:I, s:o*}", "of", number[e->of], "times", (json_int_t)e->times,
                                      "plus", (json_int_t)e->plus, "over", (json_int_t)e->over, "most", (json_int_t)e->most,
                                      "by", e->by ? json_integer(other_extent(e, number)) : NULL));
  }
  return list;
}

void bundle_manifest(const Rendering *r, Bundle *b) {
  const Plan *p = r->p;
  const BundleOptions *o = r->o;
  Ctx *c = p->ir->ctx;
  Sb out = { 0 };
  int extents;
  const int *number = extents_used(p->ir, p->g, &extents);
  /* members are sorted by name */
  put_member(&out, "abi",
             json_pack("{s:i, s:i}", "major", BUNDLE_ABI_MAJOR, "minor", p->ir->symbols.n ? BUNDLE_ABI_SIZES : BUNDLE_ABI_MINOR));
  put_member(&out, "arena_bytes", json_integer(r->arena));
  put_member(&out, "bounds", bounds_json(p));
  put_member(&out, "device", device_json(r));
  put_member(&out, "entries", entries_json(r));
  if (o->errors) put_member(&out, "errors", errors_json(p, o->errors));
  put_member(&out, "extents", run_extents_json(p->ir, number, extents));
  put_member(&out, "files", files_json(b));
  put_member(&out, "format", json_integer(BUNDLE_FORMAT));
  put_member(&out, "generator", json_string("tgc"));
  put_values(&out, "inputs", c, p->g->inputs.p, (int)graph_nin(p->g), "input", number);
  put_member(&out, "interface", json_string(r->interface));
  put_kernels(&out, p, &r->images);
  put_member(&out, "license", json_string("0BSD"));
  put_member(&out, "model", json_text(p->g->name));
  put_member(&out, "name", json_string(o->name));
  put_member(&out, "options", options_json(p, o));
  put_values(&out, "outputs", c, p->g->outputs.p, (int)graph_nout(p->g), "output", number);
  put_member(&out, "schedules", tuning_json(p));
  if (p->ir->symbols.n) put_member(&out, "sizes", sizes_json(&p->ir->symbols));
  put_member(&out, "source", source_json(c));
  if (p->memory.states.n) {
    put_member(&out, "state_bytes", json_integer(p->memory.state_bytes));
    put_member(&out, "states", states_json(p));
  }
  if (p->variants.n) put_member(&out, "variants", variants_json(p, o->name));
  put_member(&out, "version", json_string(TGC_VERSION));
  put_member(&out, "weight_bytes", json_integer(p->weights.bytes));
  put_member(&out, "weights_sha256", json_string(r->weights_sha256));
  sb_puts(&out, "\n}\n");
  const size_t n = out.n;
  VEC_PUSH(&b->files, ((BundleFile){ .name = "manifest.json", .p = sb_keep(&out, &c->model), .n = n }));
}
