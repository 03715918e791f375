/* SPDX-License-Identifier: MIT */
/* the examples of the pages in docs: "```tg" reads as a graph; "```tg exact", "kernel" and "program" print as
 * they stand */
#include "../../compiler/ir/ir.h"
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

typedef struct Example {
  const char *kind, *text;
  size_t n;
  Sb out;
} Example;

static void run(Ctx *c, void *arg) {
  Example *e = arg;
  if (*e->kind && strcmp(e->kind, "exact")) {
    IR *ir = ir_new(c);
    if (!strcmp(e->kind, "kernel")) {
      Ref sink = ir_parse_kernel(ir, e->text, e->n);
      ir_verify_kernel(ir, sink);
      ir_print_nodes(ir, &sink, 1, &e->out);
    } else {
      Refs list = { 0 };
      ir_parse_program(ir, e->text, e->n, &list);
      ir_verify_program(ir, list.p, list.n);
      ir_print_program(ir, list.p, list.n, &e->out);
      VEC_FREE(&list);
    }
    ir_free(ir);
    return;
  }
  Graph *g = ir_parse_graph(c, e->text, e->n, "example");
  ir_verify_graph(g);
  ir_print_graph(g, &e->out);
  VEC_FREE(&g->inputs);
  VEC_FREE(&g->outputs);
  ir_free(g->ir);
}

static int examples_of(const char *path) {
  Ctx c;
  ctx_init(&c);
  char *text = (char *)file_read(&c, path, 1 << 24).p, *at = text;
  int n = 0;
  while ((at = strstr(at, "\n```tg"))) {
    at += strlen("\n```tg");
    Example e = { .kind = "" };
    char *line = strchr(at, '\n'), *end = line ? strstr(line, "\n```") : NULL;
    if (!end) fail_msg("%s: an example without an end", path);
    *line = 0;
    e.kind = *at == ' ' ? at + 1 : "";
    e.text = line + 1;
    e.n = (size_t)(end + 1 - e.text);
    char *copy = arena_str(&c.model, e.text, e.n);
    if (ctx_try(&c, run, &e)) fail_msg("%s: refused:\n%s", path, copy);
    if (*e.kind && strcmp(copy, e.out.p)) fail_msg("%s: the example\n%sprints as\n%s", path, copy, e.out.p);
    sb_free(&e.out);
    at = end;
    n++;
  }
  ctx_free(&c);
  return n;
}

static void examples_read_and_print_as_they_stand(void **state) {
  (void)state;
  char path[600];
  DIR *d = opendir("docs");
  int n = 0;
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    size_t len = strlen(e->d_name);
    if (len < 4 || strcmp(e->d_name + len - 3, ".md")) continue;
    snprintf(path, sizeof path, "docs/%s", e->d_name);
    n += examples_of(path);
  }
  closedir(d);
  assert_true(n > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(examples_read_and_print_as_they_stand) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
