/* SPDX-License-Identifier: MIT */
/* machine.c: the CPU whose facts the cost model uses: that of --machine, else this CPU as it was measured, else the rates of the
 * table. machine_measure.c measures a CPU. */
#include "../cmd.h"
#include "../../compiler/target/cpu_facts.h"
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 16 };

static const char *names_of_cpus(Ctx *c) {
  Sb s = { 0 };
  for (const CpuRow *r = cpu_rows; r->name; r++) sb_printf(&s, "%s%s", r == cpu_rows ? "" : ", ", r->name);
  return sb_keep(&s, &c->model);
}

/* The text of a dump is on one line; no file is called so. */
static bool is_text(const char *s) { return starts_with(s, "machine "); }

const CpuFacts *machine_given(Ctx *c, const Options *o) {
  const char *why;
  const CpuFacts *f = o->machine ? cpu_named(&c->model, o->machine) : NULL;
  if (f || !o->machine) return f;
  const char *text = o->machine;
  if (!is_text(text)) {
    if (access(text, F_OK))
      fail(c, EX_USAGE_, "unknown --machine '%s': no file, and none of %s%s", text, names_of_cpus(c),
           choice_near(&c->model, "machine", text));
    const Bytes file = file_read(c, text, TEXT_MAX);
    text = arena_str(&c->model, (const char *)file.p, file.n);
  }
  f = cpu_parse(&c->model, text, &why);
  if (!f) fail(c, EX_USAGE_, "--machine '%s': %s", is_text(o->machine) ? "" : o->machine, why);
  return f;
}

const CpuFacts *machine_stored(Ctx *c, const Options *o) { return o->no_store ? NULL : machine_measured(c, o); }

const CpuFacts *machine_measured(Ctx *c, const Options *o) {
  const char *why, *text = store_machine(c, store_path(c, o->tune_db), cpu_identity(&c->model));
  return text ? cpu_parse(&c->model, text, &why) : NULL; /* an older tgc may have written another text */
}

/* ---- printing ---- */
const char *machine_line(Ctx *c, const CpuFacts *f) {
  Sb text = { 0 };
  if (!f) return NULL;
  cpu_print(f, &text);
  for (char *p = text.p; *p; p++)
    if (*p == '\n') *p = p[1] ? ';' : 0;
  return sb_keep(&text, &c->model);
}

int machine_print(const Options *o, const CpuFacts *f) {
  Sb text = { 0 };
  if (o->json) {
    json_t *j = json_report("devices", NULL), *facts = json_object();
    for (int i = 0; i < FACT_COUNT; i++)
      json_object_set_new(facts, fact_info[i].name, json_pack("{s:f, s:s, s:s}", "value", f->at[i], "unit", fact_info[i].unit,
                                                              "source", f->source[i]));
    json_object_set_new(j, "machine", json_pack("{s:s, s:s, s:o}", "name", f->name, "isa", f->isa, "facts", facts));
    json_print(j);
    return EX_DONE;
  }
  cpu_print(f, &text);
  fwrite(text.p, 1, text.n, stdout);
  sb_free(&text);
  return EX_DONE;
}
