/* SPDX-License-Identifier: MIT */
/* drivers.c: the devices that the drivers of this machine report, as `tgc devices` lists them. A child asks them: a driver may
 * crash. */
#include "../cmd.h"
#include "../../runtime_stub/tgcrt_device.h"
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_LISTED = 16 };

/* ---- interfaces: which there are, and the machine of --isa that a device of each is ---- */
typedef int FactsFn(size_t number, tgcrt_device_facts *facts, void (*log)(void *arg, const char *text), void *log_arg);
typedef struct Driver {
  const char *interface;   /* as Backend.device */
  FactsFn *facts;
  const char *(*isa)(const tgcrt_device_facts *f);
} Driver;

static const char *isa_of_opencl(const tgcrt_device_facts *f) { return f->is_cpu ? "opencl-cpu" : "opencl"; }

/* The one with the highest compute capability that is not above the device's; older devices: the lowest */
static const char *isa_of_cuda(const tgcrt_device_facts *f) {
  const Target *best = NULL;
  for (const Target *t = device_targets; t->isa; t++) {
    const bool fits = best && (uint32_t)t->dev->arch <= f->arch && t->dev->arch > best->dev->arch;
    if (t->dev->arch && (!best || fits)) best = t;
  }
  return best->isa;
}

/* The family that the version names; older and newer ones: the nearest row */
static const char *isa_of_metal(const tgcrt_device_facts *f) {
  static const char *const rows[] = { "metal-apple7", "metal-apple8", "metal-apple9" };
  const char *family = strstr(f->version, "Apple");
  const int n = family ? atoi(family + strlen("Apple")) : 0;
  return rows[n < 8 ? 0 : n > 8 ? 2 : 1];
}

static const Driver drivers[] = {
  { "opencl", tgcrt_opencl_facts, isa_of_opencl },
  { "cuda", tgcrt_cuda_facts, isa_of_cuda },
  { "metal", tgcrt_metal_facts, isa_of_metal },
  { NULL, NULL, NULL },
};

/* ---- what they report ---- */
typedef struct Found {
  int n;
  tgcrt_device_facts device[MOST_LISTED];
  char why[252];           /* there is none; "": no word */
} Found;

static void note_why(void *arg, const char *text) {
  Found *f = arg;
  snprintf(f->why, sizeof f->why, "%.*s", (int)strcspn(text, "\n"), text);
}

static void find_devices(const Driver *d, Found *f) {
  while (f->n < MOST_LISTED && !d->facts((size_t)f->n, &f->device[f->n], note_why, f)) f->n++;
}

/* Doubles, which models need or do not, and features of rows */
static json_t *abilities_json(uint32_t set) {
  json_t *list = json_array();
  if (set & TGCRT_NEEDS_F64) json_array_append_new(list, json_string("f64"));
  for (const DeviceFeature *x = device_features; x->name; x++)
    if (set & x->bit) json_array_append_new(list, json_string(x->name));
  return list;
}

static json_t *device_json(Ctx *c, const Driver *d, const tgcrt_device_facts *f, int number) {
  const Target *row = device_with(&c->model, device_target(d->isa(f)), f->abilities);
  return json_pack("{s:s, s:i, s:o, s:o, s:o, s:s, s:s, s:I, s:I, s:I, s:b, s:I, s:I, s:o}", "backend", d->interface, "device",
                   number, "name", json_text(f->name), "driver", json_text(f->driver), "version", json_text(f->version), "kind",
                   f->is_gpu ? "gpu" : f->is_cpu ? "cpu" : "other", "isa", row->isa, "units", (json_int_t)f->units, "threads",
                   (json_int_t)f->max_threads, "shared_bytes", (json_int_t)f->shared_bytes, "shared_is_fast", f->shared_is_fast,
                   "memory", (json_int_t)f->memory, "largest_buffer", (json_int_t)f->largest, "abilities",
                   abilities_json(f->abilities));
}

static void ask_driver(Ctx *c, const Options *o, const Driver *d, json_t *list, json_t *why) {
  Found *f = shared_memory(c, sizeof *f);
  const pid_t pid = child_start(c);
  if (!pid) {
    find_devices(d, f);
    _exit(0);
  }
  const int ended = child_wait(c, o, pid, "asking drivers");
  for (int i = 0; i < f->n; i++) json_array_append_new(list, device_json(c, d, &f->device[i], i));
  if (!WIFEXITED(ended)) json_array_append_new(why, json_sprintf("%s: a driver has crashed", d->interface));
  else if (*f->why) json_array_append_new(why, json_text(f->why));
  else if (!f->n) json_array_append_new(why, json_sprintf("%s: no driver reports a device", d->interface));
}

json_t *drivers_json(Ctx *c, const Options *o, json_t **why) {
  json_t *list = json_array();
  *why = json_array();
  for (const Driver *d = drivers; d->interface; d++) ask_driver(c, o, d, list, *why);
  return list;
}

static const char *text_of(const json_t *j, const char *key) { return json_string_value(json_object_get(j, key)); }

void drivers_print(Ctx *c, const Options *o, const json_t *list, const json_t *why) {
  enum { LEFT = 14, DEEPER = 16 };
  const int room = terminal_room(o);
  const json_t *d, *a;
  size_t i, k;
  json_array_foreach(list, i, d) {
    Sb can = { 0 };
    json_array_foreach(json_object_get(d, "abilities"), k, a) sb_printf(&can, "%s%s", k ? ", " : "", json_string_value(a));
    const char *how = arena_printf(&c->model, "--backend=%s --device=%lld --isa=%s", text_of(d, "backend"),
                                   (long long)json_integer_value(json_object_get(d, "device")), text_of(d, "isa"));
    const char *facts = arena_printf(
        &c->model, "%s, units %lld, blocks of %lld threads, shared memory %s%s, memory %s; has %s", text_of(d, "kind"),
        (long long)json_integer_value(json_object_get(d, "units")), (long long)json_integer_value(json_object_get(d, "threads")),
        bytes_text(c, json_integer_value(json_object_get(d, "shared_bytes"))),
        json_is_true(json_object_get(d, "shared_is_fast")) ? "" : " (a part of its memory)",
        bytes_text(c, json_integer_value(json_object_get(d, "memory"))), can.n ? can.p : "the baseline");
    print_words(arena_printf(&c->model, "%s %s (%s)", how, text_of(d, "name"), text_of(d, "version")), LEFT,
                i ? 0 : printf("devices"), room);
    print_words(facts, DEEPER, 0, room);
    sb_free(&can);
  }
  json_array_foreach(why, i, a)
    print_words(json_string_value(a), LEFT, i || json_array_size(list) ? 0 : printf("devices"), room);
}
