/* SPDX-License-Identifier: MIT */
/* nvrtc.c: a library in NVRTC's place that refuses every program, or knows one architecture only (-DONE). */
#include <stddef.h>
#include <string.h>

int nvrtcVersion(int *major, int *minor);
int nvrtcGetNumSupportedArchs(int *n);
int nvrtcGetSupportedArchs(int *arch);
int nvrtcCreateProgram(void **p, const char *text, const char *name, int n, const char *const *header, const char *const *names);
int nvrtcDestroyProgram(void **p);
int nvrtcCompileProgram(void *p, int n, const char *const *option);
int nvrtcGetProgramLogSize(void *p, size_t *n);
int nvrtcGetProgramLog(void *p, char *log);
int nvrtcGetPTXSize(void *p, size_t *n);
int nvrtcGetPTX(void *p, char *to);
int nvrtcGetCUBINSize(void *p, size_t *n);
int nvrtcGetCUBIN(void *p, char *to);

static const char said[] = "net.cu(7): error: this line is not to NVRTC's liking";
static const char image[] = "no ELF file";

int nvrtcVersion(int *major, int *minor) { return *major = 12, *minor = 9, 0; }
int nvrtcGetNumSupportedArchs(int *n) { return *n = 1, 0; }
int nvrtcGetSupportedArchs(int *arch) { return *arch = 80, 0; }
int nvrtcCreateProgram(void **p, const char *text, const char *name, int n, const char *const *header, const char *const *names) {
  (void)header, (void)names;
  *p = (void *)(size_t)1;
  return strcmp(name, "net.cu") || !strstr(text, "extern \"C\" __global__ void __launch_bounds__(") || n;
}
int nvrtcDestroyProgram(void **p) { return *p = NULL, 0; }
int nvrtcCompileProgram(void *p, int n, const char *const *option) {
  (void)p;
#ifdef ONE
  return n < 1 || strcmp(option[0], "--gpu-architecture=sm_80");
#else
  return n > 0 && option[0] ? 6 : 1;
#endif
}
int nvrtcGetProgramLogSize(void *p, size_t *n) { return *n = p ? sizeof said : 0, 0; }
int nvrtcGetProgramLog(void *p, char *log) { return memcpy(log, said, sizeof said), !p; }
int nvrtcGetPTXSize(void *p, size_t *n) { return *n = p ? sizeof image : 0, 0; }
int nvrtcGetPTX(void *p, char *to) { return memcpy(to, image, sizeof image), !p; }
int nvrtcGetCUBINSize(void *p, size_t *n) { return *n = p ? sizeof image : 0, 0; }
int nvrtcGetCUBIN(void *p, char *to) { return memcpy(to, image, sizeof image), !p; }
