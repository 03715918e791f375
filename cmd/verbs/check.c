/* SPDX-License-Identifier: MIT */
/* check.c: tgc check: whether a model can be compiled, and if not, why. Checks everything short of compiling: the file, its
 * operators, types and shapes. With --backend, --isa, a limit of memory or a range of sizes it also makes the kernels. A device
 * given by --device must have what they need. */
#include "../../libtgc/session.h"
#include <stdlib.h>
#include <string.h>

typedef struct Check {
  const Options *o;
  tgc session;
  Place place;             /* the device that it runs on */
} Check;

static void load(Ctx *c, void *arg) {
  Check *k = arg;
  const char *why;
  bool plans = k->o->backend || k->o->isa || k->o->max_arena || k->o->max_weights;
  session_over(&k->session, c, k->o);
  int code = tgc_load(&k->session, k->o->model);
  if (!code) plans |= k->session.g && k->session.g->ir->symbols.n; /* some kernels have no form for all sizes */
  if (!code && plans) code = session_plan(&k->session);
  if (code) fail_silent(c, code);
  if (plans && k->o->device) code = device_for_plan(c, k->session.p, k->o->archs, k->o->device, &k->place, &why);
  if (code) fail(c, code, "the model cannot run on the device: %s", why);
}

/* With --json, messages are part of the report; they still appear on standard error. */
static json_t *messages(const char *text) {
  json_t *j = json_array();
  while (*text) {
    size_t n = strcspn(text, "\n");
    char *line = xmalloc(n + 1);
    memcpy(line, text, n);
    line[n] = 0;
    json_array_append_new(j, json_text(line));
    free(line);
    text += n + (text[n] != 0);
  }
  return j;
}

int verb_check(Ctx *c, const Options *o) {
  Check k = { .o = o };
  char *text = NULL;
  size_t n = 0;
  if (o->json) c->err = open_memstream(&text, &n), c->colored = c->over_progress = false;
  if (!c->err) BUG("no memory stream");
  int code = ctx_try(c, load, &k);
  if (o->json) {
    fclose(c->err);
    c->err = stderr;
    fputs(text, stderr);
    json_t *j = json_report("check", o->model);
    json_object_set_new(j, "compilable", json_boolean(!code));
    json_object_set_new(j, "messages", messages(text));
    free(text);
    if (!code) json_object_update_new(j, graph_json(k.session.g));
    if (!code && k.place.text) json_object_set_new(j, "runs_on", json_text(k.place.text));
    json_print(j);
  } else if (!code && !o->quiet) {
    printf("%s: %s\n", o->model, paint(o, stdout, PAINT_OK, "can be compiled", &c->model));
    if (k.place.text) printf("%s: runs on %s\n", o->model, k.place.text);
    if (o->verbose) print_interface(c, o, k.session.g);
  }
  session_end(&k.session);
  return code;
}
