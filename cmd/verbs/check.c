/* check.c: tgc check: whether a model can be compiled, and if not why. Everything short of compiling:
 * the file, its operators, types and shapes. */
#include "../cmd.h"
#include <stdlib.h>
#include <string.h>

typedef struct Check {
  const Options *o;
  Graph *g;
} Check;

static void load(Ctx *c, void *arg) {
  Check *k = arg;
  k->g = load_graph(c, k->o, NULL);
}

/* With --json the messages are part of the report; they appear on standard error all the same. */
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
  Check k = { o, NULL };
  char *text = NULL;
  size_t n = 0;
  if (o->json) c->err = open_memstream(&text, &n);
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
    if (!code) json_object_update_new(j, graph_json(k.g));
    json_print(j);
  } else if (!code && !o->quiet) {
    printf("%s: can be compiled\n", o->model);
    if (o->verbose) print_interface(c, k.g);
  }
  return code;
}
