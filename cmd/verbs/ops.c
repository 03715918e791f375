/* SPDX-License-Identifier: MIT */
/* ops.c: tgc ops: lists the ops and passes of the compiler, and the operators that front ends read, from their tables. */
#include "../cmd.h"

static const char *const level_name[] = {
  [L_VALUE] = "value", [L_EXPR] = "expr", [L_GRAPH] = "graph", [L_KERNEL] = "kernel", [L_PROG] = "program"
};

static json_t *frontend_json(Ctx *c, const Options *o, const Frontend *f) {
  json_t *ops = json_array(), *refused = json_array();
  OpForm x;
  Table t = { .c = c, .o = o, .format = "<<" };
  if (f->op && !o->json) printf("\noperators of %s, and the opsets they are read in:\n", f->name);
  for (int i = 0; f->op && f->op(i, &x); i++) {
    json_array_append_new(
        x.why ? refused : ops,
        x.why ? json_pack("{s:s, s:s, s:s}", "domain", x.domain, "name", x.name, "why", x.why)
              : json_pack("{s:s, s:s, s:i, s:i}", "domain", x.domain, "name", x.name, "since", x.since, "until", x.until));
    if (o->json) continue;
    if (x.why && json_array_size(refused) == 1) {
      table_print(&t);
      printf("\noperators of %s that are not read, and why:\n", f->name);
    }
    const char *form = x.why ? x.why : arena_printf(&c->model, "%2d to %d", x.since, x.until);
    table_row(&t, x.name, arena_printf(&c->model, "%s%s%s", form, *x.domain ? "  of " : "", x.domain));
  }
  table_print(&t);
  return json_pack("{s:s, s:s, s:o, s:o}", "name", f->name, "suffix", f->suffix, "operators", ops, "refused", refused);
}

static json_t *pass_json(Ctx *c, PassInfo p, Table *t) {
  const char letter[2] = { p.letter, 0 };
  const KernelStep *s = p.step;
  table_row(t, arena_str(&c->model, letter, 1), arena_printf(&c->model, "%s%s", s ? "  " : "", p.name), p.gloss);
  json_t *j = json_pack("{s:s, s:s, s:s}", "letter", letter, "name", p.name, "gloss", p.gloss);
  if (s)
    json_object_update_new(j, json_pack("{s:s, s:s, s:s, s:s}", "scope", scope_name[s->scope], "target", kind_name[s->kind],
                                        "needs", s->needs, "gives", s->gives));
  return j;
}

int verb_ops(Ctx *c, const Options *o) {
  Table t = { .c = c, .o = o, .format = "<<<<" }, steps = { .c = c, .o = o, .format = "<<<" };
  json_t *ops = json_array(), *passes = json_array(), *front = json_array(), *back = json_array();
  for (int i = 1; i < OP_COUNT; i++) {
    const OpInfo *x = &op_info[i];
    json_array_append_new(ops, json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", x->name, "level", level_name[x->level], "type",
                                         x->type, "args", x->args, "gloss", x->gloss));
    table_row(&t, x->name, level_name[x->level], x->type,
              arena_printf(&c->model, "%s%s%s", x->args, *x->args ? "  " : "", x->gloss));
  }
  if (!o->json) table_print(&t);
  if (!o->json) puts("\npasses, with the steps of kernels indented (-d LETTER, --stop-after=NAME):");
  for (int i = 0; i < pass_count(); i++) json_array_append_new(passes, pass_json(c, pass_info(i), &steps));
  if (!o->json) table_print(&steps);
  for (const Frontend *f = frontends; f->name; f++) json_array_append_new(front, frontend_json(c, o, f));
  for (const Backend *const *b = backends; *b; b++)
    json_array_append_new(back, json_pack("{s:s, s:s}", "name", (*b)->name, "gloss", (*b)->gloss));
  json_t *j = json_report("ops", NULL);
  json_object_update_new(j,
                         json_pack("{s:o, s:o, s:o, s:o}", "ops", ops, "passes", passes, "frontends", front, "backends", back));
  if (o->json) json_print(j);
  else json_decref(j);
  table_free(&t);
  table_free(&steps);
  return EX_DONE;
}
