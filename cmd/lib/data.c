/* SPDX-License-Identifier: MIT */
/* data.c: inputs and reference outputs of run and verify, from several kinds of files or from a seed; and outputs as files or
 * as a summary. */
#include "../cmd.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends(const char *s, const char *tail) {
  size_t n = strlen(s), k = strlen(tail);
  return n >= k && !strcmp(s + n - k, tail);
}

/* ---- reading ---- */
static NamedTensor read_one(Ctx *c, const char *name, int number, const char *path) {
  NamedTensor t = { .name = name, .number = number, .file = path };
  if (ends(path, ".pb")) {
    t.t = onnx_data_load(c, path);
    if (!name && t.t.name && *t.t.name) t.name = t.t.name;
  } else {
    Bytes b = file_read(c, path, 0);
    t.raw = !ends(path, ".npy");
    if (t.raw) t.t = (Tensor){ .dt = DT_U8, .rank = 1, .dims = { (int64_t)b.n }, .elems = (int64_t)b.n, .data = b.p };
    else t.t = npy_parse(c, path, b);
  }
  return t;
}

typedef struct Archive {
  Feed *f;
  const char *path;
  bool data;
} Archive;

/* input_J, output_J and arr_J are matched by number. Any other array belongs to the input of its name or, in an archive of
 * --data, to the output of its name. */
static void add_array(Ctx *c, void *arg, const char *name, Tensor t) {
  static const char *const numbered[] = { "input_", "output_", "arr_" };
  Archive *a = arg;
  NamedTensor x = { .name = name, .number = -1, .file = a->path, .t = t };
  bool is[3];
  (void)c;
  for (int i = 0; i < 3; i++) {
    size_t n = strlen(numbered[i]);
    is[i] = starts_with(name, numbered[i]) && name[n] && strlen(name + n) < 6 &&
            strspn(name + n, "0123456789") == strlen(name + n);
    if (is[i]) x.number = atoi(name + n);
  }
  x.named = x.number < 0;
  if (!is[1]) VEC_PUSH(&a->f->inputs, x);
  if (a->data && !is[0] && !is[2]) VEC_PUSH(&a->f->outputs, x);
}

static void put_tensor(Feed *f, NamedTensor t, bool output) {
  if (output) VEC_PUSH(&f->outputs, t);
  else VEC_PUSH(&f->inputs, t);
}

/* Whether the file has a sequence or an optional: each of its tensors is an input or output. name: of the list; number: of its
 * first tensor; place: its own number among the model's inputs; -1: not known */
static bool read_list(Ctx *c, Feed *f, const char *path, const char *name, int number, int place, bool output, int *n) {
  DataList l;
  if (!ends(path, ".pb") || !onnx_list_load(c, path, &l)) return false;
  for (int k = 0; k < l.n; k++) {
    const char *own = name ? arena_printf(&c->model, "%s.%d", name, k) : NULL;
    put_tensor(f, (NamedTensor){ .name = own, .number = name ? -1 : number + k, .file = path, .t = l.p[k] }, output);
  }
  if (!output) VEC_PUSH(&f->lists, ((GivenList){ .name = name, .place = place, .n = l.n }));
  *n = l.n > 0 ? l.n : 0;
  return true;
}

/* input_0.pb, input_1.pb, ...: names inside the files are often missing */
static void read_numbered(Ctx *c, const char *dir, const char *kind, Feed *f, bool outputs) {
  for (int i = 0, number = 0, n;; i++, number += n) {
    static const char *const suffix[] = { "pb", "npy" };
    const char *path = NULL;
    for (int k = 0; k < 2 && !path; k++) {
      const char *p = arena_printf(&c->model, "%s/%s_%d.%s", dir, kind, i, suffix[k]);
      if (!access(p, F_OK)) path = p;
    }
    if (!path) return;
    n = 1;
    if (!read_list(c, f, path, NULL, number, i, outputs, &n)) put_tensor(f, read_one(c, NULL, number, path), outputs);
  }
}

static void read_data(Ctx *c, const char *path, Feed *f) {
  struct stat st;
  if (stat(path, &st)) fail(c, EX_NOINPUT_, "cannot open '%s': %s", path, strerror(errno));
  if (!S_ISDIR(st.st_mode)) {
    npz_parse(c, path, file_read(c, path, 0), add_array, &(Archive){ f, path, true });
    return;
  }
  read_numbered(c, path, "input", f, false);
  read_numbered(c, path, "output", f, true);
  if (!f->inputs.n && !f->outputs.n) fail(c, EX_NOINPUT_, "'%s' contains no input_0 or output_0, as .pb or .npy", path);
}

/* Folder with the data of a single run; NULL: there is none. */
static const char *step_folder(Ctx *c, const char *data, size_t step) {
  const char *path = arena_printf(&c->model, "%s/step_%zu", data, step);
  return access(path, F_OK) ? NULL : path;
}

void feed_read(Ctx *c, const Options *o, Feed *f) {
  int number = 0; /* number of the next input without a name */
  for (size_t i = 0; i < o->inputs.n; i++) {
    const char *text = o->inputs.p[i], *eq = strchr(text, '='), *path = eq && access(text, F_OK) ? eq + 1 : text;
    const char *name = path == text ? NULL : arena_str(&c->model, text, (size_t)(eq - text));
    int n = 0;
    if (ends(path, ".npz")) npz_parse(c, path, file_read(c, path, 0), add_array, &(Archive){ f, path, false });
    else if (read_list(c, f, path, name, number, -1, false, &n)) number += name ? 0 : n;
    else VEC_PUSH(&f->inputs, read_one(c, name, name ? -1 : number++, path));
    if (name && ends(path, ".npz"))
      fail(c, EX_USAGE_, "--input %s: the arrays of an archive have names already; leave out NAME=", text);
  }
  for (size_t i = 0; i < f->inputs.n; i++) f->inputs.p[i].given = true;
  if (!o->data) return;
  const char *step = step_folder(c, o->data, 0);
  read_data(c, step ? step : o->data, f);
}

void feed_free(Feed *f) {
  VEC_FREE(&f->inputs);
  VEC_FREE(&f->outputs);
  VEC_FREE(&f->lists);
}

/* ---- matching with the declared inputs and outputs ---- */

static const NamedTensor *find_tensor(const NamedTensor *v, size_t n, const GIO *want, int number) {
  for (size_t i = 0; i < n; i++)
    if (v[i].name && want->name && !strcmp(v[i].name, want->name)) return &v[i];
  for (size_t i = 0; i < n; i++)
    if (v[i].number == number) return &v[i];
  return NULL;
}

/* string[2,3] of at most 64 bytes */
static const char *bounded_text(Ctx *c, int rank, const int64_t *dims) {
  return arena_printf(&c->model, "%s of at most %lld bytes", strings_text(c, rank, dims), (long long)dims[rank - 1]);
}

/* Gets sizes that are not known yet from the shape of an input's data. Bytes without a shape tell one size. symbols: number of
 * sizes */
static void sizes_given(const NamedTensor *t, const GIO *v, int symbols, int64_t *run) {
  int64_t row = dt_bytes(v->dt), *unknown = NULL;
  int n = 0;
  for (int a = 0; t && a < v->rank; a++) {
    int64_t *size = v->open[a] && v->open[a] <= symbols ? &run[v->open[a] - 1] : NULL;
    n += v->open[a] > symbols; /* an extent that follows from sizes */
    if (size && *size < 0 && !t->raw && a < t->t.rank) *size = t->t.dims[a];
    if (size && *size < 0) unknown = size, n++;
    else row *= size ? *size : v->dims[a];
  }
  if (n == 1 && unknown && t->raw && row) *unknown = t->t.elems / row;
}

const char *feed_size(Ctx *c, const Options *o, const Symbols *all, const Feed *f, const GIO *in, size_t n, int64_t *run) {
  if (!sizes_asked(c, o, all, run)) return NULL;
  for (size_t i = 0; i < n; i++) sizes_given(find_tensor(f->inputs.p, f->inputs.n, &in[i], (int)i), &in[i], all->n, run);
  return sizes_complete(c, all, run);
}

/* Each file that the user gave must belong to an input, and each to a different one. */
static void check_given(Ctx *c, const Feed *f, const GIO *want, int n) {
  const NamedTensor **taken = ARENA_NEW(&c->model, const NamedTensor *, n + 1);
  Names names = { 0 };
  for (int i = 0; i < n; i++) names_add(c, &names, want[i].name ? want[i].name : "");
  const char *there = names_text(c, &names);
  for (size_t k = 0; k < f->inputs.n; k++) {
    const NamedTensor *t = &f->inputs.p[k];
    int i = 0;
    if (!t->given) continue;
    while (i < n && (!t->name || !want[i].name || strcmp(t->name, want[i].name))) i++;
    if (i == n && t->number >= 0 && t->number < n) i = t->number;
    if (i == n && t->name)
      fail(c, EX_USAGE_, "--input '%s': the model has no input '%s'; there are%s%s", t->file, t->name, there,
           names_near(c, &names, t->name));
    if (i == n) fail(c, EX_USAGE_, "--input '%s': the model has only %d input%s:%s", t->file, n, n == 1 ? "" : "s", there);
    if (taken[i]) fail(c, EX_USAGE_, "--input gives '%s' twice, by '%s' and by '%s'", want[i].name, taken[i]->file, t->file);
    taken[i] = t;
  }
  VEC_FREE(&names.p);
}

Tensor tensor_like(const GIO *v) {
  Tensor t = { .dt = v->dt, .rank = v->rank, .elems = dims_elems(v->dims, v->rank), .name = v->name, .narrow = v->narrow };
  memcpy(t.dims, v->dims, sizeof t.dims);
  return t;
}

/* Strings of a file in rows of as many bytes as the value has. Raw files have such rows already. */
static Tensor fitted_strings(Ctx *c, const NamedTensor *t, const GIO *want, const char *kind) {
  Tensor r = tensor_like(want);
  const int64_t from = t->t.dims[t->t.rank - 1], to = r.dims[r.rank - 1], rows = dims_elems(r.dims, r.rank - 1);
  if (t->t.rank != r.rank || memcmp(t->t.dims, r.dims, (size_t)(r.rank - 1) * sizeof *r.dims))
    fail(c, EX_NOINPUT_, "'%s': %s '%s' is %s, but the file has %s", t->file, kind, want->name, bounded_text(c, r.rank, r.dims),
         bounded_text(c, t->t.rank, t->t.dims));
  char *p = ARENA_NEW(&c->model, char, r.elems + 1);
  for (int64_t i = 0; i < rows; i++) {
    const char *s = (const char *)t->t.data + i * from;
    const size_t n = strnlen(s, (size_t)from);
    if ((int64_t)n > to)
      fail(c, EX_NOINPUT_, "'%s': string %lld of %s '%s' has %zu bytes, over the limit of %lld%s", t->file, (long long)i, kind,
           want->name, n, (long long)to,
           strcmp(kind, "input") ? "" : arena_printf(&c->model, "; --string-bytes %zu allows it", n));
    memcpy(p + i * to, s, n);
  }
  r.data = p;
  return r;
}

static Tensor fitted(Ctx *c, const NamedTensor *t, const GIO *want, const char *kind) {
  if (want->narrow == ONNX_STRING && t->t.narrow == ONNX_STRING) return fitted_strings(c, t, want, kind);
  Tensor r = tensor_like(want);
  bool same = t->raw ? t->t.elems == r.elems * dt_bytes(r.dt)
                     : t->t.dt == r.dt && t->t.rank == r.rank && !memcmp(t->t.dims, r.dims, (size_t)r.rank * sizeof *r.dims);
  if (!same)
    fail(c, EX_NOINPUT_, "'%s': %s '%s' is %s, but the file has %s", t->file, kind, want->name,
         type_text(c, r.dt, r.rank, r.dims),
         t->raw ? arena_printf(&c->model, "%lld bytes", (long long)t->t.elems) : type_text(c, t->t.dt, t->t.rank, t->t.dims));
  r.data = t->t.data;
  if (r.data) return r;
  int size = dt_bytes(r.dt);
  char *p = arena_alloc(&c->model, size_mul((size_t)r.elems, (size_t)size));
  for (int64_t i = 0; i < r.elems; i++) memcpy(p + i * size, &t->t.splat, (size_t)size);
  r.data = p;
  return r;
}

/* splitmix64: floats between -1 and 1, bytes of any value, other integers 0 or 1, which are valid indices for most tables. The
 * bundle's check.c draws the same numbers. */
static void seeded_data(DType d, void *out, int64_t n, uint64_t state) {
  uint8_t *p = out;
  int size = dt_bytes(d);
  for (int64_t i = 0; i < n; i++, p += size) {
    uint64_t r = state += 0x9e3779b97f4a7c15u;
    r = (r ^ (r >> 30)) * 0xbf58476d1ce4e5b9u;
    r = (r ^ (r >> 27)) * 0x94d049bb133111ebu;
    r ^= r >> 31;
    int64_t bits;
    if (d == DT_BF16) bits = (int64_t)((r & 0x807f) | ((122 + (r >> 32) % 5) << 7));
    else if (d == DT_F16) bits = (int64_t)((r & 0x83ff) | ((10 + (r >> 32) % 5) << 10));
    else if (dt_float(d)) bits = double_to_bits(d, (double)(int32_t)(r >> 40) / 8388608.0 - 1);
    else bits = (int64_t)(d != DT_BOOL && size == 1 ? r >> 56 : r >> 63);
    memcpy(p, &bits, (size_t)size);
  }
}

int feed_inputs(Ctx *c, const Feed *f, const GIO *want, int n, int64_t seed, Tensor *out) {
  int seeded = 0;
  check_given(c, f, want, n);
  for (int i = 0; i < n; i++) {
    const NamedTensor *t = find_tensor(f->inputs.p, f->inputs.n, &want[i], i);
    if (t) {
      out[i] = fitted(c, t, &want[i], "input");
      continue;
    }
    seeded++;
    out[i] = tensor_like(&want[i]);
    void *p = arena_alloc(&c->model, size_mul((size_t)out[i].elems, (size_t)dt_bytes(out[i].dt)));
    seeded_data(out[i].dt, p, out[i].elems, (uint64_t)seed + (uint64_t)i);
    out[i].data = p;
  }
  return seeded;
}

bool feed_outputs(Ctx *c, const Feed *f, const GIO *want, int n, Tensor *out) {
  if (!f->outputs.n) return false;
  for (int i = 0; i < n; i++) {
    const NamedTensor *t = find_tensor(f->outputs.p, f->outputs.n, &want[i], i);
    if (!t) fail(c, EX_NOINPUT_, "the data has no output '%s' (number %d)", want[i].name, i);
    out[i] = fitted(c, t, &want[i], "output");
  }
  return true;
}

/* An archive names its arrays. A name that the model lacks is a mistake, unless part of the model was cut off. */
static void check_named(Ctx *c, const Options *o, const Feed *f, const Steps *s) {
  Names names = { 0 };
  for (size_t i = 0; i < s->nin + s->nout; i++) {
    const GIO *v = i < s->nin ? &s->in[i] : &s->out[i - s->nin];
    names_add(c, &names, v->name ? v->name : "");
  }
  for (size_t k = 0; k < f->inputs.n && !o->results.n; k++) {
    const NamedTensor *t = &f->inputs.p[k];
    bool known = t->given || !t->named;
    for (size_t i = 0; i < names.p.n && !known; i++) known |= !strcmp(names.p.p[i], t->name);
    if (!known)
      fail(c, EX_NOINPUT_, "'%s' has an array '%s', but the model has no input or output of that name; there are%s%s", t->file,
           t->name, names_text(c, &names), names_near(c, &names, t->name));
  }
  VEC_FREE(&names.p);
}

int feed_steps(Ctx *c, const Options *o, const Feed *first, Steps *s) {
  int seeded = 0;
  s->wanted = s->want;
  for (size_t i = 0; i < steps_of(o); i++) {
    Feed own = { 0 };
    const char *folder = i && o->data ? step_folder(c, o->data, i) : NULL;
    if (folder) read_data(c, folder, &own);
    const Feed *f = folder ? &own : first;
    check_named(c, o, f, s);
    seeded += feed_inputs(c, f, s->in, (int)s->nin, (int64_t)((uint64_t)o->seed + i * s->nin), s->given + i * s->stride);
    s->wanted = s->wanted && feed_outputs(c, f, s->out, (int)s->nout, s->want + i * s->nout);
    feed_free(&own);
  }
  return seeded;
}

/* ---- output ---- */
void tensor_save(Ctx *c, const char *path, const char *format, const char *name, const Tensor *t) {
  Sb s = { 0 };
  if (!strcmp(format, "pb")) onnx_tensor_save(t, name, &s);
  else if (!strcmp(format, "npy")) npy_write(t, &s);
  else sb_put(&s, t->data, (size_t)t->elems * (size_t)dt_bytes(t->dt));
  const size_t n = s.n;
  file_put(c, path, sb_keep(&s, &c->model), n);
}

double tensor_at(const Tensor *t, int64_t i) {
  const SmallType *small = small_type(t->narrow);
  const int64_t bits = tensor_bits(t, i);
  return small && t->dt == small_bytes(small) && dt_float(small->kept) ? small_value(small, (unsigned)bits)
                                                                        : bits_to_double(t->dt, bits);
}

enum { TOP = 5 };
typedef struct Stats {
  double min, max, mean;
  int64_t nan, top[TOP];
  int ntop;
} Stats;

static Stats stats_of(const Tensor *t) {
  Stats s = { .min = INFINITY, .max = -INFINITY };
  for (int64_t i = 0; i < t->elems; i++) {
    double v = tensor_at(t, i);
    s.nan += isnan(v);
    if (isnan(v)) continue;
    if (v < s.min) s.min = v;
    if (v > s.max) s.max = v;
    s.mean += v;
    int at = s.ntop;
    while (at && v > tensor_at(t, s.top[at - 1])) at--;
    if (at == TOP) continue;
    if (s.ntop < TOP) s.ntop++;
    memmove(&s.top[at + 1], &s.top[at], (size_t)(s.ntop - 1 - at) * sizeof *s.top);
    s.top[at] = i;
  }
  s.mean = t->elems > s.nan ? s.mean / (double)(t->elems - s.nan) : 0;
  return s;
}

static void strings_summary(Ctx *c, const char *name, const Tensor *t) {
  const int64_t n = dims_elems(t->dims, t->rank - 1);
  print_name(name);
  printf(" %s\n", bounded_text(c, t->rank, t->dims));
  for (int64_t i = 0; i < n && i < TOP; i++) printf("  [%lld] %s\n", (long long)i, string_text(c, t, i));
}

void tensor_summary(Ctx *c, const char *name, const Tensor *t) {
  if (t->narrow == ONNX_STRING) {
    strings_summary(c, name, t);
    return;
  }
  Stats s = stats_of(t);
  print_name(name);
  printf(" %s", type_text(c, t->dt, t->rank, t->dims));
  if (s.ntop) printf("  min %.6g  max %.6g  mean %.6g", s.min, s.max, s.mean);
  if (s.nan) printf("  NaN %lld", (long long)s.nan);
  putchar('\n');
  for (int i = 0; i < s.ntop; i++) printf("  [%lld] %.6g\n", (long long)s.top[i], tensor_at(t, s.top[i]));
}

static json_t *strings_json(const char *name, const Tensor *t, const char *digest) {
  const int64_t width = t->dims[t->rank - 1], n = dims_elems(t->dims, t->rank - 1);
  json_t *first = json_array();
  for (int64_t i = 0; i < n && i < TOP; i++) {
    const char *s = (const char *)t->data + i * width;
    char text[STRING_MOST + 1];
    snprintf(text, sizeof text, "%.*s", (int)strnlen(s, (size_t)width), s);
    json_array_append_new(first, json_text(text));
  }
  return json_pack("{s:o, s:s, s:o, s:I, s:s, s:o}", "name", json_text(name), "type", "string", "shape",
                   json_dims(t->rank - 1, t->dims), "string_bytes", (json_int_t)width, "sha256", digest, "first", first);
}

json_t *tensor_json(const char *name, const Tensor *t) {
  char digest[65];
  sha256_hex(t->data, (size_t)t->elems * (size_t)dt_bytes(t->dt), digest);
  if (t->narrow == ONNX_STRING) return strings_json(name, t, digest);
  Stats s = stats_of(t);
  json_t *top = json_array();
  for (int i = 0; i < s.ntop; i++)
    json_array_append_new(
        top, json_pack("{s:I, s:o}", "index", (json_int_t)s.top[i], "value", json_number(tensor_at(t, s.top[i]))));
  return json_pack("{s:o, s:s, s:o, s:s, s:o, s:o, s:o, s:I, s:o}", "name", json_text(name), "type", dtype_info[t->dt].text,
                   "shape", json_dims(t->rank, t->dims), "sha256", digest, "min", json_number(s.min), "max", json_number(s.max),
                   "mean", json_number(s.mean), "nan", (json_int_t)s.nan, "top", top);
}
