/* SPDX-License-Identifier: MIT */
/* callgraph.c: the calls between functions and the stack of each, from the files that gcc writes with -fcallgraph-info=su and
 * from its assembly. A function outside of the compiled files has no stack of its own here: the caller assumes one. */
#include "../cmd.h"
#include <stdlib.h>
#include <string.h>

static const char *quoted_after(Ctx *c, const char *line, const char *key) {
  const char *at = strstr(line, key);
  if (!at) return "";
  at += strlen(key);
  return arena_str(&c->model, at, strcspn(at, "\""));
}

static size_t function_named(CallGraph *g, const char *name) {
  for (size_t i = 0; i < g->functions.n; i++)
    if (!strcmp(g->functions.p[i].name, name)) return i;
  VEC_PUSH(&g->functions, ((Function){ .name = name, .bytes = -1 }));
  return g->functions.n - 1;
}

/* The title of a static function is that of its file, a colon and its name. All files lie in one folder, which is left out. */
static const char *title_after(Ctx *c, const char *line, const char *key) {
  const char *title = quoted_after(c, line, key), *slash = strrchr(title, '/');
  return slash ? slash + 1 : title;
}

/* A label ends with "48 bytes (static)", "48 bytes (dynamic,bounded)" or "48 bytes (dynamic)". Functions of other files have
 * none. It has the file's path, in which quotes may be. */
static void read_node(Ctx *c, CallGraph *g, const char *line) {
  const size_t i = function_named(g, title_after(c, line, "title: \""));
  const char *label = strstr(line, "label: \""), *bytes = NULL;
  for (const char *at = label; at && (at = strstr(at, " bytes (")) != NULL; at++) bytes = at;
  if (!bytes) return;
  while (bytes > label && bytes[-1] >= '0' && bytes[-1] <= '9') bytes--;
  g->functions.p[i].bytes = strtoll(bytes, NULL, 10);
  g->functions.p[i].unbounded = strstr(bytes, "(dynamic)") != NULL;
}

static char *file_text(Ctx *c, const char *path) {
  const Bytes b = file_read(c, path, (size_t)1 << 30);
  return arena_str(&c->model, (const char *)b.p, b.n);
}

void callgraph_read(Ctx *c, CallGraph *g, const char *path) {
  char *text = file_text(c, path), *end;
  for (char *line = text; line; line = end ? end + 1 : NULL) {
    end = strchr(line, '\n');
    if (end) *end = 0;
    if (starts_with(line, "node: ")) read_node(c, g, line);
    if (!starts_with(line, "edge: ")) continue;
    const size_t from = function_named(g, title_after(c, line, "sourcename: \"")),
                 to = function_named(g, title_after(c, line, "targetname: \""));
    VEC_PUSH(&g->calls, ((FunctionCall){ from, to }));
  }
}

void callgraph_free(CallGraph *g) {
  VEC_FREE(&g->functions);
  VEC_FREE(&g->calls);
}

bool is_indirect(const Function *f) { return !strcmp(f->name, "__indirect_call"); }

/* Static functions that nothing calls by name: their addresses are taken. Titles of static functions have their file. */
static bool is_callback(const CallGraph *g, size_t i) {
  if (g->functions.p[i].bytes < 0 || !strchr(g->functions.p[i].name, ':')) return false;
  for (size_t k = 0; k < g->calls.n; k++)
    if (g->calls.p[k].to == i) return false;
  return true;
}

/* The largest stack below function i, with its own. Functions are finished once; a call of an unfinished one is a recursion. */
static int64_t deepest(CallGraph *g, size_t i, int depth) {
  enum { MOST_DEPTH = 1000 };
  Function *f = &g->functions.p[i];
  if (f->state == 2) return f->deepest;
  if (f->state == 1 || depth > MOST_DEPTH) {
    g->recursive = true;
    return 0;
  }
  f->state = 1;
  f->next = -1;
  int64_t most = 0;
  for (size_t k = 0; k < (!is_indirect(f) ? g->calls.n : g->follow ? g->functions.n : 0); k++) {
    if (is_indirect(f) ? !is_callback(g, k) : g->calls.p[k].from != i) continue;
    const size_t to = is_indirect(f) ? k : g->calls.p[k].to;
    const int64_t below = deepest(g, to, depth + 1);
    f = &g->functions.p[i];
    if (below > most || f->next < 0) most = below > most ? below : most, f->next = (int)to;
  }
  g->unbounded |= f->unbounded;
  f->deepest = most + (f->bytes > 0 ? f->bytes : 0);
  f->state = 2;
  return f->deepest;
}

/* Raises the bytes of functions whose name in the assembly is `name`, to the end of a title. */
static void add_alignment(CallGraph *g, const char *name, size_t n, int64_t bytes) {
  for (size_t i = 0; bytes && i < g->functions.n; i++) {
    Function *f = &g->functions.p[i];
    const char *colon = strrchr(f->name, ':'), *own = colon ? colon + 1 : f->name;
    if (f->bytes >= 0 && strlen(own) == n && !memcmp(own, name, n) && f->aligned < bytes) {
      f->bytes += bytes - f->aligned;
      f->aligned = bytes;
    }
  }
}

/* The bytes of "andq $-64, %rsp", which begins a frame at a multiple of 64; 0: another instruction */
static int64_t alignment_of(const char *line) {
  const char *at = strstr(line, "$-");
  return strstr(line, "\tand") && at && strstr(at, "sp") ? strtoll(at + 2, NULL, 10) : 0;
}

/* A frame may skip bytes to begin at a multiple of its alignment, and then copies the return address. gcc counts neither; both
 * together are at most one alignment. Only x86-64 skips: other machines pad inside of the frame. */
void callgraph_read_code(Ctx *c, CallGraph *g, const char *path) {
  const char *name = "";
  size_t n = 0;
  char *text = file_text(c, path), *save = NULL;
  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    const size_t length = strlen(line);
    const bool label = !strchr("\t .#", *line) && line[length - 1] == ':';
    const char *cold = label ? strstr(line, ".cold") : NULL; /* the rare part of a function may begin its frame */
    if (label) name = line, n = cold ? (size_t)(cold - line) : length - 1;
    else add_alignment(g, name, n, alignment_of(line));
  }
}

int64_t callgraph_bound(CallGraph *g, const char *entry, bool follow) {
  g->follow = follow;
  for (size_t i = 0; i < g->functions.n; i++) g->functions.p[i].state = 0;
  for (size_t i = 0; i < g->functions.n; i++)
    if (!strcmp(g->functions.p[i].name, entry) && g->functions.p[i].bytes >= 0) return deepest(g, i, 0);
  return -1;
}
