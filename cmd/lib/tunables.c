/* SPDX-License-Identifier: MIT */
/* tunables.c: --tunable, which sets thresholds, limits and rates of a compilation, and `tgc inspect --tunables`, which lists
 * them. */
#include "../cmd.h"
#include "../../compiler/cost/tunable.h"

void tunables_apply(Ctx *c, const Options *o) {
  if (!o->settings.n) return;
  Tunables *t = arena_dup(&c->model, &tunables_default, sizeof *t);
  for (size_t i = 0; i < o->settings.n; i++) {
    const char *why = tunables_set(&c->model, t, o->settings.p[i]);
    if (why) fail(c, EX_USAGE_, "%s", why);
  }
  c->tunables = t;
}

static json_t *row_json(const TunableRow *r) {
  return json_pack("{s:s, s:f, s:f, s:f, s:f, s:s, s:s}", "name", r->name, "value", r->value, "default", r->normal, "least",
                   r->least, "most", r->most, "unit", r->unit, "reason", r->reason);
}

static json_t *rates_json(void) {
  json_t *rates = json_array(), *callers = json_array();
  for (int i = 0; i < RATE_COUNT; i++)
    json_array_append_new(
        rates, json_pack("{s:s, s:s, s:s}", "name", rate_info[i].name, "unit", rate_info[i].unit, "gloss", rate_info[i].gloss));
  for (int i = 0; i < CALLER_COUNT; i++)
    json_array_append_new(callers, json_pack("{s:s, s:s}", "name", caller_info[i].name, "gloss", caller_info[i].gloss));
  return json_pack("{s:o, s:o}", "rates", rates, "callers", callers);
}

/* A line per tunable: value, unit and reason; a changed value is shown with its default. */
int tunables_list(Ctx *c, const Options *o) {
  json_t *list = json_array();
  TunableRow r;
  Table t = { c, o, "<><<", .headed = true };
  table_row(&t, "tunable", "value", "unit", "reason");
  for (int i = 0; tunables_row(&c->model, tunables_of(c), i, &r); i++) {
    const char *was = r.value != r.normal ? arena_printf(&c->model, " (default %g)", r.normal) : "";
    json_array_append_new(list, row_json(&r));
    table_row(&t, r.name, arena_printf(&c->model, "%.10g", r.value), r.unit, arena_printf(&c->model, "%s%s", r.reason, was));
  }
  if (!o->json) table_print(&t);
  table_free(&t);
  json_t *j = json_report("inspect", NULL);
  json_object_set_new(j, "tunables", list);
  json_object_update_new(j, rates_json());
  if (o->json) json_print(j);
  else json_decref(j);
  return EX_DONE;
}
