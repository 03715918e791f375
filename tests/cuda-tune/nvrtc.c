/* SPDX-License-Identifier: MIT */
/* nvrtc.c: a library in NVRTC's place that compiles kernels for the CPU, by tests/cuda/shim.py. A cubin of it says "library
 * PATH", and the libcuda of tests/cuda-runtime loads that. FAKE_NVRTC_SHIM=COMMAND runs shim.py, FAKE_NVRTC_FOLDER=FOLDER is for
 * what it makes. FAKE_NVRTC_LOG=FILE: a line for each program that is compiled.
 *
 * Like NVRTC it initialises the driver, if there is one.
 *
 * FAKE_NVRTC_KERNEL=K and FAKE_NVRTC_CODE=TEXT: each program has this text at the beginning of its kernel kK. */
#include "../case/edit_kernel.h"
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Program {
  char *text, log[400], cubin[600];
} Program;
enum { INVALID_OPTION = 5, COMPILATION = 6 };
static const char ptx[] = "no PTX";

int nvrtcVersion(int *major, int *minor);
int nvrtcGetNumSupportedArchs(int *n);
int nvrtcGetSupportedArchs(int *arch);
int nvrtcCreateProgram(Program **p, const char *text, const char *name, int n, const char *const *header,
                       const char *const *names);
int nvrtcDestroyProgram(Program **p);
int nvrtcCompileProgram(Program *p, int n, const char *const *option);
int nvrtcGetProgramLogSize(Program *p, size_t *n);
int nvrtcGetProgramLog(Program *p, char *log);
int nvrtcGetPTXSize(Program *p, size_t *n);
int nvrtcGetPTX(Program *p, char *to);
int nvrtcGetCUBINSize(Program *p, size_t *n);
int nvrtcGetCUBIN(Program *p, char *to);

static char *edited(const char *text) {
  const char *kernel = getenv("FAKE_NVRTC_KERNEL"), *code = getenv("FAKE_NVRTC_CODE");
  char name[64] = "";
  if (kernel && code) snprintf(name, sizeof name, " k%s(", kernel);
  return edit_kernel(1, &text, name, *name ? code : "");
}

static void initialise_driver(void) {
  int (*init)(unsigned flags) = NULL;
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library) *(void **)&init = dlsym(library, "cuInit");
  if (init) init(0);
  if (library) dlclose(library);
}

static void note(void) {
  const char *path = getenv("FAKE_NVRTC_LOG");
  FILE *f = path ? fopen(path, "a") : NULL;
  if (f) fprintf(f, "program\n"), fclose(f);
}

/* The first error of the C++ compiler, by the name that the text has for tgc */
static void take_error(Program *p, FILE *said) {
  char line[1000];
  while (fgets(line, sizeof line, said)) {
    const char *error = strstr(line, "error: ");
    if (error && !*p->log) snprintf(p->log, sizeof p->log, "net.cu: %.300s", error);
  }
}

static int compile(Program *p, const char *stem) {
  char path[500], command[1200];
  snprintf(path, sizeof path, "%s.cu", stem);
  FILE *f = fopen(path, "w");
  if (!f || fputs(p->text, f) < 0 || fclose(f)) abort();
  snprintf(command, sizeof command, "%s %s.cu %s.so -O1 2>&1", getenv("FAKE_NVRTC_SHIM"), stem, stem);
  f = popen(command, "r");
  if (!f) abort();
  take_error(p, f);
  return pclose(f) ? COMPILATION : 0;
}

int nvrtcVersion(int *major, int *minor) { return *major = 12, *minor = 9, 0; }
int nvrtcGetNumSupportedArchs(int *n) { return *n = 2, 0; }
int nvrtcGetSupportedArchs(int *arch) { return arch[0] = 80, arch[1] = 86, 0; }

int nvrtcCreateProgram(Program **p, const char *text, const char *name, int n, const char *const *header,
                       const char *const *names) {
  (void)header, (void)names;
  *p = calloc(1, sizeof **p);
  (*p)->text = edited(text);
  return strcmp(name, "net.cu") || n;
}

int nvrtcDestroyProgram(Program **p) {
  free((*p)->text);
  free(*p);
  return *p = NULL, 0;
}

/* Like an NVRTC that does not compile the functions of a program in parallel */
int nvrtcCompileProgram(Program *p, int n, const char *const *option) {
  char stem[400], made[500];
  uint64_t digest = 0xcbf29ce484222325u;
  for (int i = 0; i < n; i++)
    if (!strncmp(option[i], "--split-compile", 15)) return INVALID_OPTION;
  note();
  initialise_driver();
  for (const char *at = p->text; *at; at++) digest = (digest ^ (unsigned char)*at) * 0x100000001b3u;
  snprintf(stem, sizeof stem, "%s/%016llx", getenv("FAKE_NVRTC_FOLDER"), (unsigned long long)digest);
  snprintf(made, sizeof made, "%s.so", stem);
  snprintf(p->cubin, sizeof p->cubin, "library %s", made);
  return access(made, F_OK) ? compile(p, stem) : 0; /* another test had the same text */
}

int nvrtcGetProgramLogSize(Program *p, size_t *n) { return *n = strlen(p->log) + 1, 0; }
int nvrtcGetProgramLog(Program *p, char *log) { return strcpy(log, p->log), 0; }
int nvrtcGetPTXSize(Program *p, size_t *n) { return *n = p ? sizeof ptx : 0, 0; }
int nvrtcGetPTX(Program *p, char *to) { return memcpy(to, ptx, sizeof ptx), !p; }
int nvrtcGetCUBINSize(Program *p, size_t *n) { return *n = strlen(p->cubin) + 1, 0; }
int nvrtcGetCUBIN(Program *p, char *to) { return strcpy(to, p->cubin), 0; }
