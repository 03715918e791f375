/* SPDX-License-Identifier: MIT */
/* interface.c: reads the interface of a built bundle from its manifest. */
#include "../cmd.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool is_bundle(const char *path) {
  struct stat st;
  return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static const char *text_of(const json_t *j, const char *key) { return json_string_value(json_object_get(j, key)); }

/* Shapes in a manifest are those of the greatest sizes. */
static bool read_values(Ctx *c, const json_t *list, const Interface *f, size_t *n, GIO *out) {
  RunSizes most = { 0 };
  greatest_sizes(&f->symbols, most);
  *n = json_array_size(list);
  for (size_t i = 0; i < *n; i++) {
    const json_t *j = json_array_get(list, i), *shape = json_object_get(j, "shape");
    const char *type = text_of(j, "type"), *name = text_of(j, "name");
    size_t rank = json_array_size(shape);
    if (!name) name = text_of(j, "field");
    if (!type || !name || !json_is_array(shape) || rank > MAX_RANK) return false;
    out[i] = (GIO){ .name = arena_str(&c->model, name, strlen(name)), .rank = (int)rank };
    out[i].dt = dtype_from_text(type, strlen(type));
    const char *holds = text_of(j, "holds");
    const SmallType *small = holds ? small_type_named(holds, strlen(holds)) : NULL;
    if (holds && (!small || small_bytes(small) != out[i].dt)) return false;
    out[i].narrow = small ? small->onnx : 0;
    for (size_t k = 0; k < rank; k++) out[i].dims[k] = json_integer_value(json_array_get(shape, k));
    for (size_t k = 0; k < rank; k++) {
      const json_int_t open = json_integer_value(json_array_get(json_object_get(j, "open"), k));
      if (open < 0 || open > (json_int_t)f->extents.n) return false;
      if (open && out[i].dims[k] != extent_of_formulas(&f->extents, f->symbols.n, (int)open - 1, most)) return false;
      out[i].open[k] = (unsigned short)open;
    }
    int64_t elems = dims_elems(out[i].dims, out[i].rank);
    if (!out[i].dt || elems < 0 || elems > INT64_MAX / 64) return false;
  }
  return true;
}

static bool read_sizes(Ctx *c, const json_t *list, Symbols *all) {
  const json_t *j;
  size_t i;
  json_array_foreach(list, i, j) {
    const char *name = text_of(j, "name");
    if (i == SYMBOLS_MOST || !name) return false;
    Symbol *s = &all->p[all->n++];
    *s = (Symbol){ arena_str(&c->model, name, strlen(name)), json_integer_value(json_object_get(j, "low")),
                   json_integer_value(json_object_get(j, "high")), json_integer_value(json_object_get(j, "step")),
                   json_integer_value(json_object_get(j, "typical")), json_integer_value(json_object_get(j, "appended")) };
    if (s->low < 0 || s->appended < 0 || s->high <= s->low || s->high > SIZES_OF_DIM || s->step < 1) return false;
  }
  return true;
}

/* Extents of runs: the symbols, and those that follow from an extent before them */
static bool read_extents(const json_t *list, const Symbols *symbols, Extents *out) {
  for (int i = 0; i < symbols->n; i++) VEC_PUSH(out, ((Extent){ .of = i }));
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *j = json_array_get(list, i);
    const Extent e = { .of = (int)json_integer_value(json_object_get(j, "of")),
                       .times = json_integer_value(json_object_get(j, "times")),
                       .plus = json_integer_value(json_object_get(j, "plus")),
                       .over = json_integer_value(json_object_get(j, "over")),
                       .most = json_integer_value(json_object_get(j, "most")),
                       .by = (int)json_integer_value(json_object_get(j, "by")) };
    if (e.of < 0 || e.of >= (int)out->n || e.over < 1 || extent_other(&e) >= (int)out->n) return false;
    VEC_PUSH(out, e);
  }
  return true;
}

static bool read_variants(Ctx *c, const json_t *list, Interface *f) {
  const json_t *v;
  size_t i;
  json_array_foreach(list, i, v) {
    const char *code = text_of(v, "code"), *cflags = text_of(v, "cflags");
    if (!code || strchr(code, '/') || !cflags) return false;
    VEC_PUSH(&f->variants, arena_str(&c->model, code, strlen(code)));
    VEC_PUSH(&f->variant_flags, arena_str(&c->model, cflags, strlen(cflags)));
  }
  return true;
}

/* The object of the manifest that has the inputs and outputs: of the entry that --entry names, else the manifest itself */
static const json_t *values_of(Ctx *c, const json_t *j, const char *entry, Interface *f) {
  const json_t *list = json_object_get(j, "entries"), *e;
  Names names = { 0 };
  size_t i;
  f->run = "_run_v";
  if (!entry) return j;
  json_array_foreach(list, i, e) {
    const char *name = text_of(e, "name");
    if (name && !strcmp(name, entry)) {
      f->run = arena_printf(&c->model, "_run_%s_v", entry);
      f->part = entry;
      VEC_FREE(&names.p);
      return e;
    }
    names_add(c, &names, name ? name : "");
  }
  if (!list) fail(c, EX_USAGE_, "--entry has no effect: the bundle has one entry");
  fail(c, EX_USAGE_, "--entry: the bundle has no entry '%s'; there are%s%s", entry, names_text(c, &names),
       names_near(c, &names, entry));
}

static bool read_interface(Ctx *c, const json_t *j, const char *entry, Interface *f) {
  const json_t *values = values_of(c, j, entry, f);
  const json_t *options = json_object_get(j, "options"), *in = json_object_get(values, "inputs"),
               *out = json_object_get(values, "outputs");
  const char *generator = text_of(j, "generator"), *name = text_of(j, "name"), *weights = text_of(options, "weights"),
             *code = text_of(options, "code"), *cflags = text_of(options, "cflags"), *digest = text_of(j, "weights_sha256");
  if (!json_is_array(in) || !json_is_array(out) || !digest || !generator || strcmp(generator, "tgc") || !name ||
      !bundle_name_ok(name) || !weights || !cflags)
    return false;
  if (!code || !strrchr(code, '.') || strchr(code, '/')) return false;
  const json_t *abi = json_object_get(j, "abi");
  if (json_integer_value(json_object_get(abi, "major")) != BUNDLE_ABI_MAJOR) return false;
  if (json_integer_value(json_object_get(abi, "minor")) < BUNDLE_ABI_MINOR) return false; /* no NAME_run_v */
  f->name = arena_str(&c->model, name, strlen(name));
  f->cflags = arena_str(&c->model, cflags, strlen(cflags));
  f->arena_bytes = json_integer_value(json_object_get(j, "arena_bytes"));
  f->weight_bytes = json_integer_value(json_object_get(j, "weight_bytes"));
  f->kernels = json_array_size(json_object_get(j, "kernels"));
  f->code = arena_str(&c->model, code, strlen(code));
  const char *isa = text_of(options, "isa"), *why;
  if (!isa || !(f->target = target_find(&c->model, isa, &why))) return false;
  f->weights_sha256 = arena_str(&c->model, digest, strlen(digest));
  f->states = json_object_get(j, "states") != NULL;
  f->embedded = strcmp(weights, "file") != 0;
  f->pool = json_object_get(json_object_get(j, "files"), "tgcrt_pool.c") != NULL;
  if (f->arena_bytes <= 0 || f->weight_bytes < 0) return false;
  const json_t *sources = json_object_get(options, "sources"); /* files of the host, if a device's driver compiles the code */
  for (size_t i = 0; i < json_array_size(sources); i++) {
    const char *source = json_string_value(json_array_get(sources, i));
    if (!source || strchr(source, '/')) return false;
    VEC_PUSH(&f->sources, arena_str(&c->model, source, strlen(source)));
  }
  if (!sources) VEC_PUSH(&f->sources, f->code);
  if (f->embedded && strcmp(weights, "object"))
    VEC_PUSH(&f->sources, arena_printf(&c->model, "%s_weights.%s", name, strcmp(weights, "c") ? "S" : "c"));
  if (!read_sizes(c, json_object_get(j, "sizes"), &f->symbols)) return false;
  if (!read_extents(json_object_get(j, "extents"), &f->symbols, &f->extents)) return false;
  if (!read_variants(c, json_object_get(j, "variants"), f)) return false;
  vec_grow((void **)&f->inputs.p, &f->inputs.cap, json_array_size(in) + 1, sizeof *f->inputs.p);
  vec_grow((void **)&f->outputs.p, &f->outputs.cap, json_array_size(out) + 1, sizeof *f->outputs.p);
  return read_values(c, in, f, &f->inputs.n, f->inputs.p) && read_values(c, out, f, &f->outputs.n, f->outputs.p);
}

void interface_at(Interface *f, const int64_t *run) {
  memcpy(f->sizes, run, sizeof f->sizes);
  values_at(f->inputs.p, f->inputs.n, &f->extents, f->symbols.n, run);
  values_at(f->outputs.p, f->outputs.n, &f->extents, f->symbols.n, run);
}

static const char *manifest_path(Ctx *c, const char *dir) {
  const char *path = arena_printf(&c->model, "%s/manifest.json", dir);
  struct stat st;
  if (!stat(dir, &st) && stat(path, &st)) fail(c, EX_NOINPUT_, "'%s' is not a bundle: it has no manifest.json", dir);
  return path;
}

Interface interface_read(Ctx *c, const Options *o, const char *dir) {
  const char *path = manifest_path(c, dir);
  Bytes b = file_read(c, path, 1 << 30);
  json_t *j = json_loadb((const char *)b.p, b.n, 0, NULL);
  Interface f = { .device = o->device };
  bool good = read_interface(c, j, strcmp(dir, o->model) ? NULL : o->entry, &f);
  json_decref(j);
  RunSizes run;
  if (good && sizes_asked(c, o, &f.symbols, run)) {
    sizes_complete(c, &f.symbols, run);
    interface_at(&f, run);
  }
  if (good && o->device && !f.target->dev)
    fail(c, EX_USAGE_, "--device has no effect: '%s' is a bundle for the CPU", dir);
  if (!good) {
    interface_free(&f);
    fail(c, EX_BADMODEL, "'%s' is not the manifest of a bundle this tgc can run", path);
  }
  return f;
}

void weights_check(Ctx *c, const char *dir, const Interface *f) {
  if (f->embedded) return; /* they are part of the object */
  const char *path = arena_printf(&c->model, "%s/%s_weights.bin", dir, f->name);
  const Bytes b = file_read(c, path, (size_t)1 << 40);
  char digest[65];
  sha256_hex(b.p, b.n, digest);
  if (strcmp(digest, f->weights_sha256))
    fail(c, EX_BADMODEL, "%s: SHA-256 is %s, the bundle's manifest says %s: these are not the weights of this bundle", path,
         digest, f->weights_sha256);
}

json_t *manifest_read(Ctx *c, const char *dir) {
  const Bytes b = file_read(c, manifest_path(c, dir), 0);
  json_t *all = json_loadb((const char *)b.p, b.n, 0, NULL);
  if (!all) fail(c, EX_BADMODEL, "the manifest of '%s' is no JSON", dir);
  return all;
}

bool bundles_equal(Ctx *c, const char *x, const char *y) {
  json_t *a = manifest_read(c, x), *b = manifest_read(c, y);
  const json_t *of_a = json_object_get(a, "files"), *of_b = json_object_get(b, "files");
  const bool equal = of_a && json_equal(of_a, of_b);
  json_decref(a);
  json_decref(b);
  return equal;
}

/* Gives a text for each file that is not as the manifest says, until `with` wants no more. */
static void files_each(Ctx *c, const char *dir, bool (*with)(Ctx *c, void *arg, const char *text, int code), void *arg) {
  json_t *all = manifest_read(c, dir);
  const char *name;
  const json_t *file;
  json_object_foreach(json_object_get(all, "files"), name, file) {
    const char *path = arena_printf(&c->model, "%s/%s", dir, name), *want = text_of(file, "sha256");
    char digest[65];
    if (strchr(name, '/') || !want) continue;
    const bool gone = access(path, F_OK) != 0;
    if (!gone) {
      const Bytes f = file_read(c, path, (size_t)1 << 40);
      sha256_hex(f.p, f.n, digest);
      if (!strcmp(digest, want)) continue;
    }
    const char *text = arena_printf(
        &c->model, gone ? "%s is missing, which the bundle's manifest lists" : "%s was changed after tgc wrote it", path);
    if (!with(c, arg, text, gone ? EX_NOINPUT_ : EX_BADMODEL)) break;
  }
  json_decref(all);
}

static bool warn_changed(Ctx *c, void *arg, const char *text, int code) {
  (void)arg, (void)code;
  warn_at(c, (Pos){ 0 }, "%s", text);
  return true;
}

void files_compare(Ctx *c, const char *dir) { files_each(c, dir, warn_changed, NULL); }

typedef struct Changed {
  const char *text;
  int code;
} Changed;

static bool keep_changed(Ctx *c, void *arg, const char *text, int code) {
  (void)c;
  *(Changed *)arg = (Changed){ text, code };
  return false;
}

const char *files_changed(Ctx *c, const char *dir, int *code) {
  Changed first = { NULL, 0 };
  files_each(c, dir, keep_changed, &first);
  *code = first.code;
  return first.text;
}

void interface_free(Interface *f) {
  VEC_FREE(&f->inputs);
  VEC_FREE(&f->outputs);
  VEC_FREE(&f->extents);
  VEC_FREE(&f->sources);
  VEC_FREE(&f->variants);
  VEC_FREE(&f->variant_flags);
}
