/* SPDX-License-Identifier: MIT */
/* diff.c: tgc diff: how two bundles differ, from their manifests: interface, options, sizes, errors, and kernels with their
 * schedules. Two kernels are the same one if they come from the same nodes; equal lists of nodes are paired in order. */
#include "../cmd.h"
#include <stdlib.h>
#include <string.h>

typedef struct Half {
  json_t *manifest;
  Layers layers;
  const char **nodes; /* by kernel: its nodes as one text */
  int *other;         /* by kernel: the other bundle's kernel; -1: none */
} Half;
typedef struct DiffJob {
  const Options *o;
  Half half[2];
  Table table; /* differences: a name, then the value of each */
  json_t *report;
  int differences;
} DiffJob;

static const char *value_text(Ctx *c, const json_t *j) {
  if (!j) return "-";
  if (json_is_string(j)) return arena_str(&c->model, json_string_value(j), strlen(json_string_value(j)));
  char *dump = json_dumps(j, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(6));
  const char *text = arena_str(&c->model, dump ? dump : "", dump ? strlen(dump) : 0);
  free(dump);
  return text;
}

/* A long text without its end: the report in JSON has all of it. */
static const char *cut_text(Ctx *c, const char *text) {
  enum { MOST = 44 };
  size_t n = strlen(text);
  if (n <= MOST) return text;
  for (n = MOST; n && ((unsigned char)text[n] & 0xc0) == 0x80;) n--; /* whole characters */
  return arena_printf(&c->model, "%.*s...", (int)n, text);
}

/* The growth of a number from the first bundle to the second; "": they are no numbers */
static const char *growth_text(Ctx *c, const json_t *a, const json_t *b) {
  const double x = json_number_value(a), y = json_number_value(b);
  return json_is_number(a) && json_is_number(b) && x > 0 ? arena_printf(&c->model, "%+.1f %%", 100 * (y / x - 1)) : "";
}

/* Compares one member of both bundles, under a group of the report. */
static void compare(Ctx *c, DiffJob *d, const char *group, const char *name, const json_t *a, const json_t *b) {
  if ((!a && !b) || (a && b && json_equal(a, b))) return;
  json_t *list = json_object_get(d->report, group);
  d->differences++;
  if (!list) json_object_set_new(d->report, group, list = json_object());
  json_object_set_new(list, name, json_pack("[O?, O?]", a, b));
  table_row(&d->table, arena_printf(&c->model, "%s", name), cut_text(c, value_text(c, a)), cut_text(c, value_text(c, b)),
            growth_text(c, a, b));
}

static void compare_members(Ctx *c, DiffJob *d, const char *group, const json_t *a, const json_t *b) {
  const char *key;
  const json_t *x;
  json_object_foreach((json_t *)(uintptr_t)a, key, x) compare(c, d, group, key, x, json_object_get(b, key));
  json_object_foreach((json_t *)(uintptr_t)b, key, x) if (!json_object_get(a, key)) compare(c, d, group, key, NULL, x);
}

static const json_t *member(const DiffJob *d, int half, const char *key) { return json_object_get(d->half[half].manifest, key); }

/* ---- sizes ---- */
static json_t *sizes_of(const Half *h) {
  int64_t flops = 0, read = 0, written = 0;
  for (size_t k = 0; k < h->layers.n; k++) {
    flops += h->layers.p[k].flops;
    read += h->layers.p[k].read;
    written += h->layers.p[k].written;
  }
  const char *code = json_string_value(json_object_get(json_object_get(h->manifest, "options"), "code"));
  const json_t *file = code ? json_object_get(json_object_get(h->manifest, "files"), code) : NULL;
  return json_pack("{s:I, s:I, s:I, s:I, s:O?, s:O?, s:O?}", "kernels", (json_int_t)h->layers.n, "flops", (json_int_t)flops,
                   "bytes_read", (json_int_t)read, "bytes_written", (json_int_t)written, "arena_bytes",
                   json_object_get(h->manifest, "arena_bytes"), "weight_bytes", json_object_get(h->manifest, "weight_bytes"),
                   "code_file_bytes", json_object_get(file, "bytes"));
}

/* ---- kernels ---- */
static void pair_kernels(Ctx *c, DiffJob *d) {
  for (int i = 0; i < 2; i++) {
    Half *h = &d->half[i];
    h->nodes = ARENA_NEW(&c->model, const char *, h->layers.n + 1);
    h->other = ARENA_NEW(&c->model, int, h->layers.n + 1);
    for (size_t k = 0; k < h->layers.n; k++) {
      h->nodes[k] = layer_nodes(c, &h->layers.p[k], h->layers.p[k].nnodes);
      h->other[k] = -1;
    }
  }
  Half *a = &d->half[0], *b = &d->half[1];
  for (size_t k = 0; k < a->layers.n; k++)
    for (size_t j = 0; j < b->layers.n && a->other[k] < 0; j++)
      if (b->other[j] < 0 && !strcmp(a->nodes[k], b->nodes[j])) a->other[k] = (int)j, b->other[j] = (int)k;
}

static bool same_work(const Layer *x, const Layer *y) {
  return x->flops == y->flops && x->read == y->read && x->written == y->written;
}

static json_t *kernel_json(const Layer *l, int number) {
  return json_pack("{s:i, s:I, s:I, s:I, s:o}", "kernel", number, "flops", (json_int_t)l->flops, "bytes_read",
                   (json_int_t)l->read, "bytes_written", (json_int_t)l->written, "schedule", json_text(l->schedule));
}

static void add_kernel(DiffJob *d, const char *nodes, const Layer *a, int ka, const Layer *b, int kb) {
  json_t *list = json_object_get(d->report, "kernels");
  d->differences++;
  json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "nodes", json_text(nodes), "first",
                                        a ? kernel_json(a, ka) : json_null(), "second", b ? kernel_json(b, kb) : json_null()));
}

/* "k4 1.2 Mflop, 3 KiB", and the other only where it differs */
static const char *work_text(Ctx *c, const Layer *l, int number) {
  return arena_printf(&c->model, "k%d: %s, %s moved; %s", number, count_text(c, (double)l->flops, "flop"),
                      bytes_text(c, l->read + l->written), l->schedule);
}

static void compare_kernels(Ctx *c, DiffJob *d) {
  const Half *a = &d->half[0], *b = &d->half[1];
  const bool text = !d->o->json;
  json_object_set_new(d->report, "kernels", json_array());
  pair_kernels(c, d);
  for (size_t k = 0; k < a->layers.n; k++) {
    const Layer *x = &a->layers.p[k], *y = a->other[k] < 0 ? NULL : &b->layers.p[a->other[k]];
    if (y && same_work(x, y) && !strcmp(x->schedule, y->schedule)) continue;
    add_kernel(d, a->nodes[k], x, (int)k, y, a->other[k]);
    if (text) print_cut(d->o, arena_printf(&c->model, "%s %s", y ? "kernel" : "only in the first: kernel", a->nodes[k]));
    if (text) print_cut(d->o, arena_printf(&c->model, "  - %s", work_text(c, x, (int)k)));
    if (text && y) print_cut(d->o, arena_printf(&c->model, "  + %s", work_text(c, y, a->other[k])));
  }
  for (size_t k = 0; k < b->layers.n; k++) {
    if (b->other[k] >= 0) continue;
    add_kernel(d, b->nodes[k], NULL, -1, &b->layers.p[k], (int)k);
    if (!text) continue;
    print_cut(d->o, arena_printf(&c->model, "only in the second: kernel %s", b->nodes[k]));
    print_cut(d->o, arena_printf(&c->model, "  + %s", work_text(c, &b->layers.p[k], (int)k)));
  }
}

int verb_diff(Ctx *c, const Options *o) {
  DiffJob d = { .o = o, .report = json_report("diff", o->model), .table = { .c = c, .o = o, .format = "<<<>", .headed = true } };
  const char *path[2] = { o->model, o->other };
  for (int i = 0; i < 2; i++) {
    Interface f = interface_read(c, o, path[i]); /* it is a bundle of this version */
    interface_free(&f);
    d.half[i].manifest = manifest_read(c, path[i]);
    d.half[i].layers = layers_of_manifest(c, d.half[i].manifest);
  }
  static const char *const whole[] = { "inputs", "outputs", "states", "model", "source", "version" };
  table_row(&d.table, "", path[0], path[1], "change");
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    compare(c, &d, "bundle", whole[i], member(&d, 0, whole[i]), member(&d, 1, whole[i]));
  compare_members(c, &d, "options", member(&d, 0, "options"), member(&d, 1, "options"));
  json_t *a = sizes_of(&d.half[0]), *b = sizes_of(&d.half[1]);
  compare_members(c, &d, "sizes", a, b);
  json_decref(a);
  json_decref(b);
  compare(c, &d, "errors", "errors", member(&d, 0, "errors"), member(&d, 1, "errors"));
  compare_members(c, &d, "schedules", member(&d, 0, "schedules"), member(&d, 1, "schedules"));
  if (!o->json && d.differences) table_print(&d.table);
  else table_free(&d.table);
  compare_kernels(c, &d);
  if (!o->json && !d.differences) puts("equal: interface, options, sizes, errors, kernels and schedules");
  json_object_update_new(d.report, json_pack("{s:o, s:i, s:b}", "other", json_text(o->other), "differences", d.differences,
                                             "equal", !d.differences));
  if (o->json) json_print(d.report);
  else json_decref(d.report);
  for (int i = 0; i < 2; i++) json_decref(d.half[i].manifest);
  return d.differences ? EX_FAILED : EX_DONE;
}
