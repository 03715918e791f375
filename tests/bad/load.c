/* load.c: loads models as the program does, and says what came of it: "load FILE..." exits with the code of
 * the last. "load cut FILE" and "load flip FILE" load every prefix of a file, and the file with every
 * single bit flipped, in one process: thousands of loads would take minutes as programs of their own.
 * They print how often each code came, and fail on any other than those a bad model may give. */
#include "../../frontends/frontends.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct Job { const char *path; bool tensor; } Job;

static void load(Ctx *c, void *arg) {
  const Job *job = arg;
  LoadOptions o = { 0 };
  if (job->tensor) {
    c->file = job->path;
    onnx_tensor_load(c, job->path);
    return;
  }
  Graph *g = model_load(c, job->path, &o);
  VEC_FREE(&g->inputs);
  VEC_FREE(&g->outputs);
  ir_free(g->ir);
}

static int load_once(const Job *job, FILE *err) {
  Ctx c;
  ctx_init(&c);
  c.err = err;
  int code = ctx_try(&c, load, (void *)job);
  ctx_free(&c);
  return code;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint8_t *slurp(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  uint8_t *p = malloc(1 << 20);
  *n = f && p ? fread(p, 1, 1 << 20, f) : 0;
  if (f) fclose(f);
  return p;
}

/* Loads variant i of the file: the first i bytes, or bit i flipped. */
static int load_variant(const char *scratch, uint8_t *p, size_t n, size_t i, bool flip, FILE *err) {
  if (flip) p[i / 8] ^= (uint8_t)(1 << i % 8);
  int failed = file_write(scratch, p, flip ? n : i);
  if (flip) p[i / 8] ^= (uint8_t)(1 << i % 8);
  return failed ? EX_NOINPUT_ : load_once(&(Job){ scratch, false }, err);
}

static int sweep(const char *path, bool flip) {
  size_t n;
  uint8_t *p = slurp(path, &n);
  char scratch[] = "/tmp/tgc-sweep-XXXXXX";
  int fd = mkstemp(scratch), fault = 0;
  if (!p || !n || fd < 0) return EX_NOINPUT_;
  close(fd);
  FILE *err = fopen("/dev/null", "w");
  size_t done = 0, bad = 0, variants = flip ? n * 8 : n;
  for (size_t i = 0; i < variants; i++) {
    double start = seconds();
    int code = load_variant(scratch, p, n, i, flip, err);
    done += code == EX_DONE;
    bad += code == EX_BADMODEL;
    if ((code == EX_DONE || code == EX_BADMODEL) && seconds() - start < 1) continue;
    printf("%s %zu: code %d after %.1f s\n", flip ? "bit" : "length", i, code, seconds() - start);
    fault = 1;
  }
  printf("%zu accepted, %zu refused\n", done, bad);
  unlink(scratch);
  fclose(err);
  free(p);
  return fault;
}

int main(int argc, char **argv) {
  if (argc == 3 && !strcmp(argv[1], "cut")) return sweep(argv[2], false);
  if (argc == 3 && !strcmp(argv[1], "flip")) return sweep(argv[2], true);
  int code = EX_USAGE_;
  for (int i = 1; i < argc; i++) {
    size_t n = strlen(argv[i]);
    code = load_once(&(Job){ argv[i], n > 3 && !strcmp(argv[i] + n - 3, ".pb") }, stderr);
    if (argc > 2) printf("%d %s\n", code, argv[i]);
  }
  return code;
}
