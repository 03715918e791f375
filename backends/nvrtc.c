/* SPDX-License-Identifier: MIT */
/* nvrtc.c: kernels in CUDA C++ to cubins, PTX and fatbins. NVRTC, NVIDIA's compiler as a library, is opened when it is first
 * needed, and so is nvFatbin, which packs images into one. Where NVRTC is missing, clang makes PTX, which drivers compile.
 *
 * A model is one program. Its architectures are compiled by a thread each. So are the kernels of candidates, by a newer NVRTC.
 *
 * needs: text of the prelude and all kernels    gives: images, and what functions take of the machine    breaks: nothing */
#include "../compiler/target/matrix_units.h"
#include "nvrtc.h"
#include "../runtime_stub/tgcrt_device.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- libraries ---- */
typedef struct Program *Program; /* nvrtcProgram */
typedef struct Fatbin *Fatbin;   /* nvFatbinHandle */
#define NVRTC_FUNCTIONS \
  F(Version, (int *major, int *minor)) F(GetNumSupportedArchs, (int *n)) F(GetSupportedArchs, (int *arch)) \
  F(CreateProgram, (Program *p, const char *text, const char *name, int n, const char *const *header, const char *const *names)) \
  F(DestroyProgram, (Program *p)) F(CompileProgram, (Program p, int n, const char *const *option)) \
  F(GetProgramLogSize, (Program p, size_t *n)) F(GetProgramLog, (Program p, char *log)) \
  F(GetPTXSize, (Program p, size_t *n)) F(GetPTX, (Program p, char *to)) \
  F(GetCUBINSize, (Program p, size_t *n)) F(GetCUBIN, (Program p, char *to))
#define FATBIN_FUNCTIONS \
  F(Create, (Fatbin *f, const char **option, size_t n)) F(Destroy, (Fatbin *f)) \
  F(AddCubin, (Fatbin f, const void *p, size_t n, const char *arch, const char *name)) \
  F(AddPTX, (Fatbin f, const char *p, size_t n, const char *arch, const char *name, const char *options)) \
  F(Size, (Fatbin f, size_t *n)) F(Get, (Fatbin f, void *to))

static struct Nvrtc {
#define F(name, arguments) int(*name) arguments;
  NVRTC_FUNCTIONS
#undef F
  bool found;
  char why[200];           /* it is not found */
} nvrtc;
static struct NvFatbin {
#define F(name, arguments) int(*name) arguments;
  FATBIN_FUNCTIONS
#undef F
  bool found;
} fatbin;

/* A path from the environment is the only one that is tried. why: the linker's word on the first */
static void *library_open(const char *variable, const char *const *names, char why[200]) {
  const char *own = getenv(variable);
  const char *const only[] = { own, NULL };
  void *handle = NULL;
  if (own && *own) names = only;
  for (const char *const *name = names; !handle && *name; name++) {
    handle = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    if (!handle && name == names) snprintf(why, 200, "%s", dlerror());
  }
  return handle;
}

static const char *const nvrtc_names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so",
                                           NULL };
static const char *const fatbin_names[] = { "libnvfatbin.so.13", "libnvfatbin.so.12", "libnvfatbin.so",
                                            "/usr/local/cuda/lib64/libnvfatbin.so", NULL };

static void load_libraries(void) {
  char why[200];
  void *handle = library_open("TGC_NVRTC", nvrtc_names, nvrtc.why);
  nvrtc.found = handle != NULL;
#define F(name, arguments) if (handle) nvrtc.found &= (*(void **)&nvrtc.name = dlsym(handle, "nvrtc" #name)) != NULL;
  NVRTC_FUNCTIONS
#undef F
  if (handle && !nvrtc.found) snprintf(nvrtc.why, sizeof nvrtc.why, "it lacks a function of NVRTC 11.2");
  handle = library_open("TGC_NVFATBIN", fatbin_names, why);
  fatbin.found = handle != NULL;
#define F(name, arguments) if (handle) fatbin.found &= (*(void **)&fatbin.name = dlsym(handle, "nvFatbin" #name)) != NULL;
  FATBIN_FUNCTIONS
#undef F
}

/* ---- what is asked for ---- */
enum { LEAST_ARCH = 75 }; /* CUDA 13 compiles for no older one */

Archs cuda_archs(Ctx *c, const ImageOrder *order) {
  Archs a = { .n = 0 };
  const char *text = order->archs;
  if (!text) text = arena_printf(&c->model, "sm_%d", order->target->dev->arch ? order->target->dev->arch : LEAST_ARCH);
  for (const char *at = text; *at;) {
    char *end;
    const bool named = starts_with(at, "sm_") && at[3] >= '1' && at[3] <= '9';
    const long arch = named ? strtol(at + 3, &end, 10) : 0;
    if (!named || arch < 50 || arch > 999 || (*end && *end != ',') || (*end == ',' && !end[1]))
      fail(c, EX_USAGE_, "--arch needs names like sm_75,sm_90, not '%s'", text);
    if (a.n == MOST_ARCHS) fail(c, EX_USAGE_, "--arch takes at most %d architectures", MOST_ARCHS);
    int k = a.n++;
    for (; k && a.arch[k - 1] >= arch; k--) {
      if (a.arch[k - 1] == arch) fail(c, EX_USAGE_, "--arch names sm_%ld twice", arch);
      a.arch[k] = a.arch[k - 1];
    }
    a.arch[k] = (int)arch;
    at = end + (*end == ',');
  }
  const MatrixUnit *u;
  for (int i = 0; (u = device_matrix_unit(order->target->dev, i)); i++)
    if (a.arch[0] < u->capability)
      fail(c, EX_USAGE_, "sm_%d has no %s, which --isa=%s may use: leave it out of --arch, or name an --isa without +mma",
           a.arch[0], u->name, order->target->isa);
  return a;
}

void cuda_arithmetic(const Target *t, bool keep_denormals, Sb *out) {
  sb_printf(out, "--fmad=%s --ftz=%s --prec-div=true --prec-sqrt=true", t->in_order ? "false" : "true",
            keep_denormals ? "false" : "true");
}

/* ---- NVRTC: one architecture, in a thread ---- */
enum { INVALID_OPTION = 5 }; /* NVRTC_ERROR_INVALID_OPTION */
typedef struct Job {
  const ImageOrder *order;
  const char *arch;        /* "--gpu-architecture=sm_80" */
  const char *const *options;
  int noptions, status;
  Bytes log, cubin, ptx;   /* PTX and the log with a NUL behind them, which counts */
} Job;

static Bytes taken(Program p, int (*size)(Program, size_t *), int (*get)(Program, char *)) {
  Bytes b = { 0 };
  if (size(p, &b.n)) return (Bytes){ 0 };
  char *to = xmalloc(b.n + 1);
  if (get(p, to)) b.n = 0;
  to[b.n] = 0;
  b.p = (uint8_t *)to;
  return b;
}

static void *compile_one(void *arg) {
  Job *j = arg;
  Program p;
  j->status = nvrtc.CreateProgram(&p, (const char *)j->order->text.p, j->order->file, 0, NULL, NULL);
  if (j->status) return NULL;
  j->status = nvrtc.CompileProgram(p, j->noptions, j->options);
  if (j->status == INVALID_OPTION && j->order->candidates) j->status = nvrtc.CompileProgram(p, j->noptions - 1, j->options);
  j->log = taken(p, nvrtc.GetProgramLogSize, nvrtc.GetProgramLog);
  if (!j->status) {
    j->cubin = taken(p, nvrtc.GetCUBINSize, nvrtc.GetCUBIN);
    j->ptx = taken(p, nvrtc.GetPTXSize, nvrtc.GetPTX);
  }
  nvrtc.DestroyProgram(&p);
  return NULL;
}

/* PTX without the NUL, which counts in NVRTC's */
static Bytes kept(Ctx *c, Bytes b, bool text) {
  const size_t n = b.n - (text && b.n && !b.p[b.n - 1]);
  char *p = arena_str(&c->model, (const char *)b.p, n);
  return (Bytes){ (const uint8_t *)p, n };
}

/* ---- NVRTC's process ---- NVRTC initialises CUDA's driver, if there is one. The children of a process that has done so cannot
 * use the driver, and tgc runs bundles in children. So a child compiles, and sends what it has made. */
static void compile_all(Job *jobs, int n) {
  pthread_t thread[MOST_ARCHS];
  bool own[MOST_ARCHS] = { 0 };
  for (int i = 0; i < n; i++) own[i] = i + 1 < n && !pthread_create(&thread[i], NULL, compile_one, &jobs[i]);
  for (int i = 0; i < n; i++)
    if (!own[i]) compile_one(&jobs[i]);
  for (int i = 0; i < n; i++)
    if (own[i]) pthread_join(thread[i], NULL);
}

static void send_part(FILE *to, Bytes b) {
  fwrite(&b.n, sizeof b.n, 1, to);
  if (b.n) fwrite(b.p, 1, b.n, to);
}

typedef struct Jobs { Job *p; int n; } Jobs;

static void compile_and_send(void *arg, int fd) {
  const Jobs *jobs = arg;
  FILE *to = fdopen(fd, "w");
  if (!to) _exit(1);
  compile_all(jobs->p, jobs->n);
  for (int i = 0; i < jobs->n; i++) {
    fwrite(&jobs->p[i].status, sizeof jobs->p[i].status, 1, to);
    send_part(to, jobs->p[i].log);
    send_part(to, jobs->p[i].cubin);
    send_part(to, jobs->p[i].ptx);
  }
  _exit(fflush(to) || ferror(to));
}

static bool take_bytes(const Sb *from, size_t *at, void *to, size_t n) {
  const bool there = from->n - *at >= n;
  if (there) memcpy(to, from->p + *at, n), *at += n;
  return there;
}

static bool take_part(const Sb *from, size_t *at, Bytes *out) {
  if (!take_bytes(from, at, &out->n, sizeof out->n) || from->n - *at < out->n) return false;
  out->p = (const uint8_t *)from->p + *at;
  *at += out->n;
  return true;
}

/* Results of the jobs, which live in *text; NULL, or why there are none */
static const char *compile_apart(Ctx *c, Job *jobs, int n, Sb *text) {
  ctx_progress(c, "NVRTC", -1); /* it tells nothing while it compiles */
  const int ended = child_output(c, compile_and_send, &(Jobs){ jobs, n }, text);
  bool whole = true;
  size_t at = 0;
  for (int i = 0; i < n && whole; i++)
    whole = take_bytes(text, &at, &jobs[i].status, sizeof jobs[i].status) && take_part(text, &at, &jobs[i].log) &&
            take_part(text, &at, &jobs[i].cubin) && take_part(text, &at, &jobs[i].ptx);
  if (whole) return NULL;
  return arena_printf(&c->model, "NVRTC has ended early: %s",
                      WIFSIGNALED(ended) ? strsignal(WTERMSIG(ended)) : "it made no images");
}

/* Options as a list: words of the arithmetic between the first and the last ones. The last one of candidates is not known to an
 * older NVRTC. It changes the order of functions, so bundles do without it. */
static int option_list(Ctx *c, const ImageOrder *order, int arch, const char **list) {
  int n = 0;
  Sb words = { 0 };
  cuda_arithmetic(order->target, order->keep_denormals, &words);
  char *text = arena_str(&c->model, words.p, words.n);
  sb_free(&words);
  list[n++] = arena_printf(&c->model, "--gpu-architecture=sm_%d", arch);
  for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) list[n++] = word;
  list[n++] = "--disable-warnings"; /* such as a loop's variable that nothing uses */
  if (order->candidates) list[n++] = "--split-compile=0"; /* on all processors */
  return n;
}

static void check_supported(Ctx *c, const Archs *a) {
  int n = 0, list[64] = { 0 };
  Sb names = { 0 };
  if (nvrtc.GetNumSupportedArchs(&n) || n > 64 || nvrtc.GetSupportedArchs(list)) return;
  for (int k = 0; k < n; k++) sb_printf(&names, "%ssm_%d", k ? ", " : "", list[k]);
  for (int i = 0; i < a->n; i++) {
    bool any = false;
    for (int k = 0; k < n; k++) any |= list[k] == a->arch[i];
    if (!any) fail(c, EX_MISSING, "this NVRTC has no sm_%d; it has %s", a->arch[i], sb_keep(&names, &c->model));
  }
  sb_free(&names);
}

static void add_image(Images *out, uint32_t kind, int arch, const char *end, Bytes bytes) {
  VEC_PUSH(&out->list, ((Image){ kind, (uint32_t)arch, end, bytes }));
}

/* Cubins of all architectures, but where only PTX is wanted, and the PTX of the least. Returns why NVRTC refuses the text */
static const char *by_nvrtc(Ctx *c, const ImageOrder *order, const Archs *a, Images *out) {
  Job jobs[MOST_ARCHS] = { 0 };
  const char *options[MOST_ARCHS][16];
  const int n = order->emit == EMIT_ASM ? 1 : a->n;
  Sb made = { 0 };
  check_supported(c, a);
  out->maker = cuda_version(c);
  for (int i = 0; i < n; i++)
    jobs[i] = (Job){ .order = order, .options = options[i], .noptions = option_list(c, order, a->arch[i], options[i]) };
  const char *why = compile_apart(c, jobs, n, &made);
  for (int i = 0; i < n && !why; i++)
    if (jobs[i].status)
      why = arena_printf(&c->model, "NVRTC does not compile the kernels for sm_%d (error %d): %.*s", a->arch[i], jobs[i].status,
                         jobs[i].log.n ? (int)jobs[i].log.n : 1000,
                         jobs[i].log.n ? (const char *)jobs[i].log.p : "it gives no reason");
  for (int i = 0; i < n && !why; i++) {
    if (order->emit != EMIT_ASM) {
      add_image(out, TGCRT_IMAGE_CUBIN, a->arch[i], arena_printf(&c->model, "_sm_%d.cubin", a->arch[i]),
                kept(c, jobs[i].cubin, false));
      cubin_uses(c, out->list.p[out->list.n - 1].bytes, (uint32_t)a->arch[i], out);
    }
  }
  if (!why)
    add_image(out, TGCRT_IMAGE_PTX, a->arch[0], arena_printf(&c->model, "_sm_%d.ptx", a->arch[0]), kept(c, jobs[0].ptx, true));
  sb_free(&made);
  return why;
}

/* ---- clang ---- */
/* Words of CUDA's headers, which clang is not given, by words of its own */
static const char clang_words[] =
    "#define __global__ __attribute__((global))\n#define __device__ __attribute__((device))\n"
    "#define __shared__ __attribute__((shared))\n#define __launch_bounds__(n) __attribute__((launch_bounds(n)))\n"
    "#define __forceinline__ __inline__ __attribute__((always_inline))\n#include <__clang_cuda_builtin_vars.h>\n"
    "#define __int_as_float(i) __builtin_bit_cast(float, (int)(i))\n"
    "#define fabsf __builtin_fabsf\n#define fmaf __builtin_fmaf\n#define sqrtf __builtin_sqrtf\n#define rintf __builtin_rintf\n"
    "#define floorf __builtin_floorf\n#define ceilf __builtin_ceilf\n#define truncf __builtin_truncf\n"
    "#define fabs __builtin_fabs\n#define fma __builtin_fma\n#define sqrt __builtin_sqrt\n#define rint __builtin_rint\n"
    "#define floor __builtin_floor\n#define ceil __builtin_ceil\n#define trunc __builtin_trunc\n#line 1\n";

static const char *clang_name(void) {
  const char *own = getenv("TGC_CLANG");
  return own && *own ? own : "clang-19";
}

/* PTX of the least architecture. Returns why clang refuses the text of candidates */
static const char *by_clang(Ctx *c, const ImageOrder *order, const Archs *a, Images *out) {
  const char *clang = clang_name(), *why = "";
  const char *const argv[] = { clang, "-x", "cuda", arena_printf(&c->model, "--cuda-gpu-arch=sm_%d", a->arch[0]), "-nocudainc",
                               "-nocudalib", "--cuda-device-only", "-S", "-w", "-O3",
                               a->arch[0] > 90 ? "-O3" : "--cuda-feature=+ptx78", /* which drivers of CUDA 11.8 take */
                               order->target->in_order ? "-ffp-contract=off" : "-ffp-contract=fast",
                               order->keep_denormals ? "-fno-gpu-flush-denormals-to-zero" : "-fgpu-flush-denormals-to-zero", "-o",
                               ">", "<", NULL };
  Sb text = { 0 };
  Bytes ptx = { 0 };
  sb_puts(&text, clang_words);
  sb_put(&text, (const char *)order->text.p, order->text.n);
  const size_t n = text.n;
  const char *words = sb_keep(&text, &c->model);
  const Bytes program = { (const uint8_t *)words, n };
  const int code = order->compiler.run ? order->compiler.run(c, order->compiler.arg, argv, program, &ptx, &why) : EX_MISSING;
  if (code == EX_BUG && order->candidates) return why;
  if (code)
    fail(c, code == EX_BUG ? EX_MISSING : code,
         "cannot compile for CUDA: NVRTC (%s) cannot be opened, and clang failed: %s; set TGC_NVRTC to the path of NVRTC, or use "
         "--emit=cu", nvrtc_names[0], why);
  if (order->emit != EMIT_ASM && !order->candidates)
    warn_at(c, (Pos){ 0 }, "the bundle has PTX from %s but no cubin, because NVRTC cannot be opened: %s", clang, nvrtc.why);
  out->maker = clang;
  add_image(out, TGCRT_IMAGE_PTX, a->arch[0], arena_printf(&c->model, "_sm_%d.ptx", a->arch[0]), ptx);
  return NULL;
}

/* ---- one image of all ---- */
/* False: the images stay as they are. */
static bool packed(Ctx *c, Images *out) {
  Fatbin f;
  size_t n = 0;
  const uint32_t least = out->list.p[0].arch;
  bool ok = fatbin.found && !fatbin.Create(&f, (const char *[]){ "-compress-all" }, 1);
  if (!ok) return false;
  for (size_t i = 0; i < out->list.n; i++) {
    const Image *m = &out->list.p[i];
    const char *arch = arena_printf(&c->model, "%u", m->arch);
    if (m->kind == TGCRT_IMAGE_CUBIN) ok &= !fatbin.AddCubin(f, m->bytes.p, m->bytes.n, arch, "tgc");
    else ok &= !fatbin.AddPTX(f, (const char *)m->bytes.p, m->bytes.n + 1, arch, "tgc", ""); /* with its NUL */
  }
  ok &= !fatbin.Size(f, &n) && n;
  char *to = arena_alloc(&c->model, n + 1);
  ok &= !fatbin.Get(f, to);
  fatbin.Destroy(&f);
  if (!ok) return false;
  out->list.n = 0;
  add_image(out, TGCRT_IMAGE_FATBIN, (int)least, ".fatbin", (Bytes){ (const uint8_t *)to, n });
  return true;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

const char *cuda_version(Ctx *c) {
  int major = 0, minor = 0;
  pthread_once(&once, load_libraries);
  if (!nvrtc.found) return clang_name();
  nvrtc.Version(&major, &minor);
  return arena_printf(&c->model, "NVRTC %d.%d", major, minor);
}

const char *cuda_images(Ctx *c, const ImageOrder *order, Images *out) {
  const char *why = NULL;
  const Archs a = cuda_archs(c, order);
  c->file = NULL; /* the model is not to blame from here on */
  if (order->emit == EMIT_TEXT) { /* the bundle's own build makes it */
    add_image(out, TGCRT_IMAGE_FATBIN, a.arch[0], ".fatbin", (Bytes){ 0 });
    return NULL;
  }
  pthread_once(&once, load_libraries);
  if (nvrtc.found) why = by_nvrtc(c, order, &a, out);
  else if (order->emit == EMIT_OBJ)
    fail(c, EX_MISSING, "--emit=cubin needs NVRTC, and %s cannot be opened: install it, or set TGC_NVRTC to its path",
         nvrtc_names[0]);
  else why = by_clang(c, order, &a, out);
  if (!why && order->emit == EMIT_LIB && !order->candidates) packed(c, out);
  return why;
}
