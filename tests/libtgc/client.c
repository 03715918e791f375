/* SPDX-License-Identifier: MIT */
/* client.c: a program that uses libtgc as it is installed. It compiles a model to memory and to a folder, also from several
 * threads at once. It makes every kind of failure, after which the library must go on.
 * usage: client MODEL BROKEN FOLDER    BROKEN: a model that cannot be compiled. Prints TAP. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <tgc.h>
#include <unistd.h>

static int number, bad;

static void result(int good, const char *what) {
  printf("%sok %d - %s\n", good ? "" : "not ", ++number, what);
  bad |= !good;
}

/* ---- messages ---- */
typedef struct Heard { int errors, warnings; char text[4000], node[400], file[400]; int line; } Heard;

static void hear(void *arg, const tgc_message *m) {
  Heard *h = arg;
  ++*(m->level == TGC_ERROR ? &h->errors : &h->warnings);
  snprintf(h->text, sizeof h->text, "%s", m->text);
  snprintf(h->node, sizeof h->node, "%s", m->node ? m->node : "");
  snprintf(h->file, sizeof h->file, "%s", m->file ? m->file : "");
  h->line = m->line;
}

static int says(const Heard *h, const char *part) {
  if (h->errors && strstr(h->text, part)) return 1;
  printf("# it says '%s', expected '%s'\n", h->text, part);
  return 0;
}

/* ---- a bundle as one number, to compare bundles ---- */
static unsigned long long digest(const tgc *t, size_t *files) {
  unsigned long long h = 1469598103934665603u; /* FNV-1a */
  tgc_file f;
  for (*files = 0; tgc_bundle_file(t, *files, &f); ++*files)
    for (size_t i = 0; i < f.bytes; i++) h = (h ^ ((const unsigned char *)f.data)[i]) * 1099511628211u;
  return h;
}

static const char *model;

typedef struct Job { const char *isa, *emit; int status; } Job;

static void *compile(void *arg) {
  Job *job = arg;
  unsigned long long *h = calloc(1, sizeof *h);
  tgc *t = tgc_new();
  size_t files;
  if (!tgc_set(t, "isa", job->isa) && !tgc_set(t, "emit", job->emit) && !tgc_load(t, model)) {
    job->status = tgc_compile(t);
    if (!job->status) *h = digest(t, &files);
  }
  tgc_free(t);
  return h;
}

static unsigned long long joined(pthread_t thread) {
  void *p;
  pthread_join(thread, &p);
  unsigned long long h = *(unsigned long long *)p;
  free(p);
  return h;
}

static void threads(const char *emit) {
  Job job[4] = { { "x86-64-v4", emit, 0 }, { "x86-64-v3", emit, 0 }, { "x86-64-v4", emit, 0 }, { "x86-64-v3", emit, 0 } };
  pthread_t thread[4];
  unsigned long long h[4];
  for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, compile, &job[i]);
  for (int i = 0; i < 4; i++) h[i] = joined(thread[i]);
  if (job[0].status == TGC_MISSING) printf("ok %d - four threads make objects # SKIP no LLVM\n", ++number);
  else result(h[0] && h[1] && h[0] == h[2] && h[1] == h[3] && h[0] != h[1], "four threads compile at the same time");
}

static void failures(const char *broken) {
  Heard h = { 0 };
  tgc *t = tgc_new();
  tgc_value v;
  tgc_file f;
  const char *report;
  tgc_listen(t, hear, &h);
  result(tgc_compile(t) == TGC_USAGE && says(&h, "tgc_load comes first"), "no model");
  result(tgc_load(t, NULL) == TGC_USAGE && says(&h, "NULL"), "no path");
  result(tgc_load(t, "/nonexistent.onnx") == TGC_NO_INPUT && says(&h, "") && strstr(h.file, "nonexistent"), "no file");
  result(tgc_load(t, broken) == TGC_BAD_MODEL && *h.node && strstr(h.file, "broken"),
         "a model that is wrong: the message names the node");
  result(!tgc_describe(t, TGC_INPUT, 0, &v) && !tgc_bundle_file(t, 0, &f), "nothing is there after it");
  result(tgc_set(t, "izza", "x") == TGC_USAGE && says(&h, "unknown option"), "an unknown option");
  result(tgc_set(t, "isa", NULL) == TGC_USAGE && says(&h, "--isa needs a value"), "an option without its value");
  result(tgc_set(t, "output", "x") == TGC_USAGE && says(&h, "for the program"), "an option of the program");
  result(tgc_set(t, "dump", "x") == TGC_USAGE && says(&h, "for the program"), "an option that prints");
  result(!tgc_set(t, "isa", "i386") && tgc_load(t, model) == TGC_USAGE && says(&h, "unknown --isa"), "an unknown machine");
  result(!tgc_set(t, "isa", "portable") && !tgc_load(t, model), "it goes on afterwards");
  result(tgc_write(t, "/tmp") == TGC_USAGE && says(&h, "tgc_compile comes first"), "no bundle");
  result(!tgc_compile(t) && tgc_write(t, "/dev/null/x") == TGC_NO_WRITE && says(&h, ""), "a folder that cannot be");
  result(!tgc_set(t, "max-arena", "1") && tgc_compile(t) == TGC_BAD_MODEL && says(&h, "arena"), "a limit of memory");
  result(!tgc_set(t, "max-arena", "1M") && !tgc_compile(t), "another limit");
  result(!tgc_set(t, "data", "/nonexistent") && tgc_verify(t, &report) == TGC_NO_INPUT && !report, "no data to verify with");
  tgc_free(t);
}

/* In a child, whose memory is all used: the call fails with its message, and does not end the process. */
static int without_memory(void) {
  Heard h = { 0 };
  tgc *t = tgc_new();
  tgc_listen(t, hear, &h);
  if (tgc_load(t, model)) return 1;
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || fscanf(f, "%ld", &pages) != 1) return 2;
  fclose(f);
  const struct rlimit limit = { (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE), RLIM_INFINITY };
  if (setrlimit(RLIMIT_AS, &limit)) return 3;
  void *p, *rest = NULL; /* the memory that malloc still has */
  for (size_t bytes = 1 << 16; bytes >= 256; bytes /= 2)
    while ((p = malloc(bytes))) *(void **)p = rest, rest = p;
  const int status = tgc_compile(t);
  while (rest) p = *(void **)rest, free(rest), rest = p;
  if (status != TGC_BAD_MODEL || !says(&h, "out of memory")) return 4;
  tgc_free(t);
  return 0;
}

static void memory(void) {
  fflush(stdout);
  const pid_t pid = fork();
  int status = -1;
  if (!pid) {
    const int code = without_memory();
    fflush(stdout);
    _exit(code);
  }
  waitpid(pid, &status, 0);
  if (status) printf("# wait status %#x\n", (unsigned)status);
  result(!status, "without memory the call fails, and the process goes on");
}

static void values(tgc *t) {
  tgc_value v = { 0 };
  result(tgc_describe(t, TGC_INPUT, 0, &v) && !strcmp(v.name, "image") && !strcmp(v.type, "f32") && v.rank == 4 &&
             v.dims[3] == 28 && tgc_describe(t, TGC_OUTPUT, 0, &v) && !strcmp(v.name, "probabilities") && v.dims[1] == 10 &&
             !tgc_describe(t, TGC_INPUT, 1, &v) && !tgc_describe(t, TGC_STATE, 0, &v) && !tgc_describe(t, 7, 0, &v),
         "the values of the model");
}

int main(int argc, char **argv) {
  if (argc != 4) return 64;
  model = argv[1];
  struct sigaction before, after;
  sigaction(SIGBUS, NULL, &before);
  size_t files, again;
  Heard h = { 0 };
  tgc *t = tgc_new();
  tgc_listen(t, hear, &h);
  result(!strncmp(tgc_version(), "0.", 2), "the version");
  result(!tgc_set(t, "name", "digits") && !tgc_set(t, "embed-weights", NULL) && !tgc_set(t, "isa", "portable"), "options");
  result(!tgc_load(t, model), "a model is loaded");
  values(t);
  result(!tgc_compile(t), "it is compiled");
  const unsigned long long first = digest(t, &files);
  result(files > 8 && !tgc_compile(t) && digest(t, &again) == first && again == files, "twice gives the same bytes");
  result(!tgc_write(t, argv[3]) && !tgc_write(t, argv[3]), "it is written, also over itself");
  const char *report = NULL;
  result(!tgc_verify(t, &report) && report && strstr(report, "\"passed\": true"), "it is verified on this machine");
  result(!tgc_set(t, "rtol", "0") && !tgc_set(t, "atol", "0") && tgc_verify(t, &report) != TGC_USAGE && report,
         "it is verified with options");
  result(digest(t, &again) == first, "the bundle is as it was");
  result(!h.errors, "no message is an error");
  tgc_free(t);
  tgc_free(NULL);
  failures(argv[2]);
  threads("c");
  threads("obj");
  memory();
  sigaction(SIGBUS, NULL, &after);
  result(before.sa_handler == after.sa_handler, "no signal handler was installed");
  printf("1..%d\n", number);
  return bad;
}
