/* shim.c: faults of a driver of OpenCL, preloaded into tgc, which finds the driver's functions by dlsym. SHIM_KERNEL=K and
 * SHIM_CODE=TEXT: the driver gets this text at the beginning of the kernel kK of each program. SHIM_DEVICE=NAME: devices have
 * this name. SHIM_CREATES=FILE: a byte for each program that is made. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *Create(void *context, uint32_t n, const char **text, const size_t *length, int32_t *status);
typedef int32_t Info(void *device, uint32_t what, size_t n, void *value, size_t *size);
static Create *real_create;
static Info *real_info;

/* The text in one piece, with the code behind the brace that opens the kernel's body */
static char *edited(uint32_t n, const char **text, const char *kernel, const char *code) {
  size_t bytes = strlen(code) + 1;
  char name[64], *all, *at;
  for (uint32_t i = 0; i < n; i++) bytes += strlen(text[i]);
  all = calloc(1, bytes);
  if (!all) abort();
  for (uint32_t i = 0; i < n; i++) strcat(all, text[i]);
  snprintf(name, sizeof name, "void k%s(", kernel);
  at = strstr(all, name);
  at = at ? strchr(at, '{') : NULL;
  if (!at) return all;
  memmove(at + 1 + strlen(code), at + 1, strlen(at + 1) + 1);
  memcpy(at + 1, code, strlen(code));
  return all;
}

static void *create(void *context, uint32_t n, const char **text, const size_t *length, int32_t *status) {
  const char *kernel = getenv("SHIM_KERNEL"), *code = getenv("SHIM_CODE"), *log = getenv("SHIM_CREATES");
  const int out = log ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (out >= 0 && write(out, "p", 1) < 0) abort();
  if (out >= 0) close(out);
  if (!kernel || !code) return real_create(context, n, text, length, status);
  char *all = edited(n, text, kernel, code);
  void *program = real_create(context, 1, (const char **)&all, NULL, status);
  free(all);
  return program;
}

static int32_t info(void *device, uint32_t what, size_t n, void *value, size_t *size) {
  enum { NAME = 0x102b };
  const char *name = getenv("SHIM_DEVICE");
  if (!name || what != NAME || !value) return real_info(device, what, n, value, size);
  snprintf(value, n, "%s", name);
  return 0;
}

void *dlsym(void *library, const char *name) {
  static void *(*real)(void *, const char *);
#ifdef __x86_64__
  if (!real) *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
#else
  if (!real) *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
#endif
  void *found = real(library, name);
  if (found && !strcmp(name, "clCreateProgramWithSource")) *(void **)&real_create = found, found = (void *)create;
  else if (found && !strcmp(name, "clGetDeviceInfo")) *(void **)&real_info = found, found = (void *)info;
  return found;
}
