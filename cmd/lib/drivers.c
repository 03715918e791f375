/* drivers.c: the devices that the drivers of this machine report, as `tgc devices` lists them. A child asks them: a driver may
 * crash. */
#include "../cmd.h"
#include "../../runtime_stub/tgcrt_device.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_LISTED = 16 };

typedef struct Found {
  int n;
  tgcrt_device_facts device[MOST_LISTED];
  char why[252];           /* there is none; "": no word */
} Found;

static void note_why(void *arg, const char *text) {
  Found *f = arg;
  snprintf(f->why, sizeof f->why, "%.*s", (int)strcspn(text, "\n"), text);
}

static void find_devices(Found *f) {
  while (f->n < MOST_LISTED && !tgcrt_opencl_facts((size_t)f->n, &f->device[f->n], note_why, f)) f->n++;
}

/* Doubles, which models need or do not, and features of rows */
static json_t *abilities_json(uint32_t set) {
  json_t *list = json_array();
  if (set & TGCRT_NEEDS_F64) json_array_append_new(list, json_string("f64"));
  for (const DeviceFeature *x = device_features; x->name; x++)
    if (set & x->bit) json_array_append_new(list, json_string(x->name));
  return list;
}

static json_t *device_json(Ctx *c, const tgcrt_device_facts *f, int number) {
  const Target *row = device_with(&c->model, device_target(f->is_cpu ? "opencl-cpu" : "opencl"), f->abilities);
  return json_pack("{s:i, s:o, s:o, s:o, s:s, s:s, s:I, s:I, s:I, s:b, s:I, s:I, s:o}", "device", number, "name",
                   json_text(f->name), "driver", json_text(f->driver), "version", json_text(f->version), "kind",
                   f->is_gpu ? "gpu" : f->is_cpu ? "cpu" : "other", "isa", row->isa, "units",
                   (json_int_t)f->units, "threads", (json_int_t)f->max_threads, "shared_bytes", (json_int_t)f->shared_bytes,
                   "shared_is_fast", f->shared_is_fast, "memory", (json_int_t)f->memory, "largest_buffer",
                   (json_int_t)f->largest, "abilities", abilities_json(f->abilities));
}

json_t *drivers_json(Ctx *c, const Options *o, const char **why) {
  Found *f = shared_memory(c, sizeof *f);
  json_t *list = json_array();
  const pid_t pid = child_start(c);
  if (!pid) {
    find_devices(f);
    _exit(0);
  }
  const int ended = child_wait(c, o, pid, "asking drivers");
  for (int i = 0; i < f->n; i++) json_array_append_new(list, device_json(c, &f->device[i], i));
  *why = !WIFEXITED(ended)  ? "a driver of OpenCL has crashed"
         : *f->why          ? arena_str(&c->model, f->why, strlen(f->why))
         : f->n             ? NULL
                            : "no driver of OpenCL reports a device";
  return list;
}

void drivers_print(Ctx *c, const json_t *list, const char *why) {
  const json_t *d, *a;
  size_t i, k;
  json_array_foreach(list, i, d) {
    Sb can = { 0 };
    json_array_foreach(json_object_get(d, "abilities"), k, a) sb_printf(&can, "%s%s", k ? ", " : "", json_string_value(a));
    printf("%s--device=%zu --isa=%s  %s (%s)\n", i ? "              " : "devices       ", i,
           json_string_value(json_object_get(d, "isa")), json_string_value(json_object_get(d, "name")),
           json_string_value(json_object_get(d, "version")));
    printf("                %s, units %lld, blocks of %lld threads, shared memory %s%s, memory %s; has %s\n",
           json_string_value(json_object_get(d, "kind")), (long long)json_integer_value(json_object_get(d, "units")),
           (long long)json_integer_value(json_object_get(d, "threads")),
           bytes_text(c, json_integer_value(json_object_get(d, "shared_bytes"))),
           json_is_true(json_object_get(d, "shared_is_fast")) ? "" : " (a part of its memory)",
           bytes_text(c, json_integer_value(json_object_get(d, "memory"))), can.n ? can.p : "the baseline");
    sb_free(&can);
  }
  if (why) printf("devices       %s\n", why);
}
