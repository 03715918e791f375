/* build.c: bundles built and run on the machine at hand. The C compiler and the compiled model each
 * run in a child process: no shell sees a command, and a kernel that crashes is a diagnosis and not
 * the end of tgc. While a scratch folder exists the signals that end a program are held back, and
 * taken where tgc waits for a child, so that the folder is always removed. */
#include "cmd.h"
#include "../runtime_stub/tgcrt.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the scratch folder ---- */
static sigset_t held_signals(void) {
  sigset_t s;
  sigemptyset(&s);
  sigaddset(&s, SIGINT);
  sigaddset(&s, SIGTERM);
  sigaddset(&s, SIGHUP);
  sigaddset(&s, SIGCHLD);
  return s;
}

char *scratch_new(Ctx *c) {
  const char *base = getenv("TMPDIR");
  char *path = arena_printf(&c->model, "%s/tgc-XXXXXX", base && *base ? base : "/tmp");
  sigset_t s = held_signals();
  if (!mkdtemp(path)) fail(c, EX_NOWRITE, "cannot create a temporary folder '%s': %s", path, strerror(errno)); /* mode 0700 */
  sigprocmask(SIG_BLOCK, &s, NULL);
  return path;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
  (void)st;
  (void)kind;
  (void)ftw;
  remove(path);
  return 0;
}

void scratch_remove(const char *dir) {
  sigset_t s = held_signals();
  nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  sigprocmask(SIG_UNBLOCK, &s, NULL);
}

/* ---- child processes ---- */

/* In the child: a group of its own, so that all of it can be ended; it dies with its parent. */
static void become_child(pid_t parent) {
  sigset_t s = held_signals();
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  sigprocmask(SIG_UNBLOCK, &s, NULL);
}

pid_t child_start(Ctx *c) {
  fflush(stdout);
  pid_t parent = getpid(), pid = fork();
  if (pid < 0) fail(c, EX_RETRY, "cannot start a process: %s", strerror(errno));
  if (!pid) become_child(parent);
  else setpgid(pid, pid); /* whoever is first, so that a kill of the group cannot miss */
  return pid;
}

int interrupt_pending(void) {
  sigset_t s = held_signals();
  sigdelset(&s, SIGCHLD);
  int sig = sigtimedwait(&s, NULL, &(struct timespec){ 0, 0 });
  return sig < 0 ? 0 : sig;
}

/* The wait status of a child; an interrupt ends the child and then the verb. */
int child_wait(Ctx *c, const Options *o, pid_t pid, const char *stage) {
  sigset_t s = held_signals();
  struct timespec second = { 1, 0 };
  int status;
  int64_t seconds = 0;
  while (waitpid(pid, &status, WNOHANG) != pid) {
    int sig = sigtimedwait(&s, NULL, &second);
    if (sig < 0 && errno == EAGAIN) progress_show(o, stage, ++seconds);
    if (sig == SIGCHLD || sig < 0) continue;
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    fail(c, EX_SIGNAL + sig, "interrupted");
  }
  if (seconds) progress_show(o, NULL, 0);
  return status;
}

/* The compiler's messages go to a file, and its first lines are shown when it fails. */
static void show_log(Ctx *c, const char *path) {
  char line[400];
  FILE *f = fopen(path, "re");
  for (int i = 0; f && i < 12 && fgets(line, sizeof line, f); i++) fputs(line, c->err);
  if (f) fclose(f);
}

/* what: for messages; variable: that names another program for it */
static void run_tool(Ctx *c, const Options *o, const char *what, const char *variable, const Texts *argv, const char *log) {
  pid_t pid = child_start(c);
  if (!pid) {
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || in < 0 || dup2(in, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0) _exit(126);
    execvp(argv->p[0], (char *const *)(uintptr_t)argv->p);
    _exit(127);
  }
  int status = child_wait(c, o, pid, what);
  if (WIFEXITED(status) && !WEXITSTATUS(status)) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    fail(c, EX_MISSING, "cannot run the %s '%s'; set %s to one", what, argv->p[0], variable);
  show_log(c, log);
  fail(c, EX_BUG, "the %s '%s' does not accept the generated code", what, argv->p[0]);
}

/* kind: what the C compiler is to make of `more` */
static void compile_to(Ctx *c, const Options *o, const char *scratch, const char *out, const char *kind, const char *cflags, const Texts *more) {
  Texts argv = { 0 };
  compiler_words(c, &argv);
  split_words(c, kind, &argv);
  VEC_PUSH(&argv, "-o");
  VEC_PUSH(&argv, out);
  split_words(c, cflags, &argv);
  split_words(c, getenv("TGC_CFLAGS"), &argv);
  for (size_t i = 0; i < more->n; i++) VEC_PUSH(&argv, more->p[i]);
  VEC_PUSH(&argv, NULL);
  run_tool(c, o, "C compiler", "CC", &argv, arena_printf(&c->model, "%s/cc.log", scratch));
  VEC_FREE(&argv);
}

const char *shared_object(Ctx *c, const Options *o, const char *scratch, const char *name, const char *cflags, const Texts *more) {
  const char *so = arena_printf(&c->model, "%s/%s.so", scratch, name);
  Texts all = { 0 };
  for (size_t i = 0; i < more->n; i++) VEC_PUSH(&all, more->p[i]);
  VEC_PUSH(&all, "-lm");
  VEC_PUSH(&all, "-pthread");
  compile_to(c, o, scratch, so, "-shared -fPIC -O3", cflags, &all);
  VEC_FREE(&all);
  return so;
}

/* A source of kernels for one machine, with flags of its own. */
static const char *variant_object(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, size_t i) {
  const char *object = arena_printf(&c->model, "%s/variant%zu.o", scratch, i);
  Texts source = { 0 };
  VEC_PUSH(&source, arena_printf(&c->model, "%s/%s", dir, f->variants.p[i]));
  compile_to(c, o, scratch, object, "-c -fPIC -O3", f->variant_flags.p[i], &source);
  VEC_FREE(&source);
  return object;
}

/* An object, or a library of them, needs no C compiler but a linker: that of this machine, for others LLVM's. */
static const char *link_files(Ctx *c, const Options *o, const char *object, const char *soname, const char *scratch) {
  const char *ld = getenv("LD"), *ours = o->target ? "ld.lld" : "ld", *so = arena_printf(&c->model, "%s/model.so", scratch);
  Texts argv = { 0 };
  split_words(c, ld && strspn(ld, " ") < strlen(ld) ? ld : ours, &argv);
  const char *const rest[] = { "-shared", "-o", so, "-soname", soname, "--whole-archive", object, "--no-whole-archive" };
  for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) VEC_PUSH(&argv, rest[i]);
  if (!o->target) VEC_PUSH(&argv, "-lm");
  VEC_PUSH(&argv, NULL);
  run_tool(c, o, "linker", "LD", &argv, arena_printf(&c->model, "%s/ld.log", scratch));
  VEC_FREE(&argv);
  return so;
}

Bytes link_shared(Ctx *c, void *arg, Bytes object) {
  const Linking *l = arg;
  const char *in = arena_printf(&c->model, "%s/model.o", l->scratch);
  if (file_write(in, object.p, object.n)) fail(c, EX_NOWRITE, "cannot write '%s': %s", in, strerror(errno));
  return file_read(c, link_files(c, l->o, in, l->soname, l->scratch), (size_t)1 << 40);
}

const char *bundle_build(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, const char *hooks) {
  const char *end = strrchr(f->code, '.'), *code = arena_printf(&c->model, "%s/%s", dir, f->code);
  if (!strcmp(end, ".so")) return code;
  if (!f->states && o->threads < 2 && (!strcmp(end, ".o") || !strcmp(end, ".a"))) return link_files(c, o, code, f->code, scratch);
  Texts more = { 0 };
  VEC_PUSH(&more, arena_printf(&c->model, "-I%s", dir));
  if (hooks) VEC_PUSH(&more, arena_printf(&c->model, "-DTGC_HOOKS=\"%s\"", hooks));
  for (size_t i = 0; i < f->sources.n; i++) VEC_PUSH(&more, arena_printf(&c->model, "%s/%s", dir, f->sources.p[i]));
  for (size_t i = 0; i < f->variants.n; i++) VEC_PUSH(&more, variant_object(c, o, dir, scratch, f, i));
  VEC_PUSH(&more, arena_printf(&c->model, "%s/tgcrt.c", dir));
  VEC_PUSH(&more, arena_printf(&c->model, "%s/tgcrt_pool.c", dir));
  const char *so = shared_object(c, o, scratch, "model", f->cflags, &more);
  VEC_FREE(&more);
  return so;
}

/* ---- one run, in a child: results come back in shared memory ---- */
typedef struct Result {
  int status;
  bool clamped; /* in some run */
  char why[252];
} Result; /* status: of tgcrt.h, or -1 and why */
typedef int (*InitFn)(CallContext *, void *, size_t, const void *, size_t);
typedef int (*MapFn)(const char *, size_t, const void **);
typedef int (*ExecutorFn)(CallContext *, const tgcrt_executor *);
typedef int (*PoolFn)(tgcrt_pool **, void *, size_t, const tgcrt_pool_options *);
typedef const tgcrt_executor *(*PoolExecutorFn)(const tgcrt_pool *);

static void *symbol(void *so, const char *name, const char *suffix) {
  char full[64];
  snprintf(full, sizeof full, "%s%s", name, suffix);
  return dlsym(so, full);
}

/* The threads end with the process. */
static int use_threads(void *so, const Interface *f, CallContext *ctx, int threads) {
  PoolFn start;
  PoolExecutorFn executor;
  ExecutorFn set;
  *(void **)&start = symbol(so, "tgcrt", "_pool_start");
  *(void **)&executor = symbol(so, "tgcrt", "_pool_executor");
  *(void **)&set = symbol(so, f->name, "_set_executor");
  if (!start || !executor || !set) return TGCRT_THREADS;
  tgcrt_pool *pool;
  size_t bytes = TGCRT_POOL_BYTES(threads);
  int status = start(&pool, xmalloc(bytes), bytes, &(tgcrt_pool_options){ .threads = threads });
  return status ? status : set(ctx, executor(pool));
}

/* The arena starts as 0xA5, so that reading what was never written shows. */
int model_open(const char *dir, const char *so_path, const Interface *f, int threads, Loaded *m, char why[252]) {
  m->so = dlopen(so_path, RTLD_NOW | RTLD_LOCAL);
  if (!m->so) {
    snprintf(why, 252, "%s", dlerror());
    return -1;
  }
  InitFn init;
  MapFn map;
  *(void **)&init = symbol(m->so, f->name, "_init");
  *(void **)&m->run = symbol(m->so, f->name, "_run");
  *(void **)&map = symbol(m->so, "tgcrt", "_map");
  if (!map) map = tgcrt_map; /* objects come without the runtime */
  if (!init || !m->run) {
    snprintf(why, 252, "the library lacks %s_init or %s_run", f->name, f->name);
    return -1;
  }
  const void *weights = NULL;
  size_t arena_bytes = (size_t)f->arena_bytes, weight_bytes = f->embedded ? 0 : (size_t)f->weight_bytes;
  void *arena = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (arena == MAP_FAILED) {
    snprintf(why, 252, "no memory for the arena of %zu bytes", arena_bytes);
    return -1;
  }
  memset(arena, 0xa5, arena_bytes);
  char file[4096];
  snprintf(file, sizeof file, "%s/%s_weights.bin", dir, f->name);
  double start = clock_ms();
  int status = f->embedded ? 0 : map(file, weight_bytes, &weights);
  m->map_ms = clock_ms() - start;
  if (!status) status = init(&m->ctx, arena, arena_bytes, weights, weight_bytes);
  m->init_ms = clock_ms() - start - m->map_ms;
  if (!status && threads > 1) status = use_threads(m->so, f, &m->ctx, threads);
  return status;
}

void *shared_memory(Ctx *c, size_t n) {
  void *p = mmap(NULL, n ? n : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) fail(c, EX_BADMODEL, "no memory for %zu bytes of outputs", n);
  return p;
}

int bundle_execute(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, size_t steps,
                   size_t stride, const Tensor *in, Tensor *out) {
  const char *so = bundle_build(c, o, dir, scratch, f, NULL);
  size_t bytes = 0, nin = f->inputs.n, nout = f->outputs.n;
  for (size_t i = 0; i < nout; i++)
    bytes += ((size_t)dims_elems(f->outputs.p[i].dims, f->outputs.p[i].rank) * (size_t)dt_bytes(f->outputs.p[i].dt) + 63) / 64 *
             64;
  Result *r = shared_memory(c, sizeof *r);
  bytes = size_mul(bytes, steps);
  char *data = shared_memory(c, bytes);
  memset(data, 0xa5, bytes);
  const void **src = ARENA_NEW(&c->model, const void *, steps * nin + 1);
  void **dst = ARENA_NEW(&c->model, void *, steps * nout + 1);
  for (size_t i = 0; i < steps * nin; i++) src[i] = in[i / nin * stride + i % nin].data;
  for (size_t i = 0, at = 0; i < steps * nout; i++) {
    const GIO *v = &f->outputs.p[i % nout];
    out[i] = (Tensor){ .dt = v->dt, .rank = v->rank, .elems = dims_elems(v->dims, v->rank), .name = v->name };
    memcpy(out[i].dims, v->dims, sizeof out[i].dims);
    dst[i] = data + at;
    at += ((size_t)out[i].elems * (size_t)dt_bytes(v->dt) + 63) / 64 * 64;
  }
  pid_t pid = child_start(c);
  if (!pid) {
    Loaded m;
    r->status = model_open(dir, so, f, (int)o->threads, &m, r->why);
    for (size_t s = 0; s < steps && !r->status; s++) {
      r->status = m.run(&m.ctx, src + s * nin, dst + s * nout);
      if (r->status != TGCRT_INDEX) continue;
      r->clamped = true;
      r->status = TGCRT_OK;
    }
    _exit(0);
  }
  int ended = child_wait(c, o, pid, "running"), status = r->status;
  bool clamped = r->clamped;
  char why[sizeof r->why];
  memcpy(why, r->why, sizeof why);
  munmap(r, sizeof *r);
  for (size_t i = 0; i < steps * nout; i++)
    out[i].data = arena_dup(&c->model, dst[i], (size_t)out[i].elems * (size_t)dt_bytes(out[i].dt));
  munmap(data, bytes ? bytes : 1);
  if (!WIFEXITED(ended) || WEXITSTATUS(ended))
    fail(c, EX_BUG, "the compiled model died: %s", WIFSIGNALED(ended) ? strsignal(WTERMSIG(ended)) : "it ended the process");
  if (status < 0) fail(c, EX_BUG, "the compiled model cannot be run: %s", why);
  if (status == TGCRT_CPU) fail(c, EX_MISSING, "this CPU, or its operating system, lacks instructions that the model was compiled for (tgc devices lists what it has)");
  if (clamped) warn_at(c, (Pos){ 0 }, "%s", "an index in the data was out of range and has been clamped");
  return status;
}

bool keeps_denormals(const Options *o) {
  return o->denormals ? !strcmp(o->denormals, "keep") : o->precision && precision_named(o->precision) == PREC_STRICT;
}

const char *plan_put(Ctx *c, const Options *o, const Plan *p, const char *scratch) {
  char *dir = arena_printf(&c->model, "%s/bundle-XXXXXX", scratch);
  if (!mkdtemp(dir)) fail(c, EX_NOWRITE, "cannot create '%s': %s", dir, strerror(errno));
  Bundle b = { 0 };
  const Emit emit = p->backend->build ? EMIT_OBJ : EMIT_TEXT;
  bundle_render(p, &(BundleOptions){ .backend = p->backend, .name = "net", .emit = emit, .keep_denormals = keeps_denormals(o) }, &b);
  bundle_put(c, &b, dir);
  bundle_free(&b);
  return dir;
}

int plan_execute(Ctx *c, const Options *o, const Plan *p, const char *scratch, size_t steps, const Tensor *in, Tensor *out) {
  const char *dir = plan_put(c, o, p, scratch);
  Interface f = interface_read(c, dir);
  int status = bundle_execute(c, o, dir, scratch, &f, steps, p->g->inputs.n, in, out);
  interface_free(&f);
  return status;
}

/* ---- the manifest ---- */
bool is_bundle(const char *path) {
  struct stat st;
  return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool read_values(Ctx *c, const json_t *list, size_t *n, GIO *out) {
  json_t *j;
  *n = json_array_size(list);
  for (size_t i = 0; i < *n; i++) {
    j = json_array_get(list, i);
    const char *type = json_string_value(json_object_get(j, "type")), *name = json_string_value(json_object_get(j, "name"));
    if (!name) name = json_string_value(json_object_get(j, "field"));
    const json_t *shape = json_object_get(j, "shape");
    size_t rank = json_array_size(shape);
    if (!type || !name || !json_is_array(shape) || rank > MAX_RANK) return false;
    out[i] =
        (GIO){ .name = arena_str(&c->model, name, strlen(name)), .dt = dtype_from_text(type, strlen(type)), .rank = (int)rank };
    for (size_t k = 0; k < rank; k++) out[i].dims[k] = json_integer_value(json_array_get(shape, k));
    int64_t elems = dims_elems(out[i].dims, out[i].rank);
    if (!out[i].dt || elems < 0 || elems > INT64_MAX / 64) return false;
  }
  return true;
}

static bool read_variants(Ctx *c, const json_t *list, Interface *f) {
  const json_t *v;
  size_t i;
  json_array_foreach(list, i, v) {
    const char *code = json_string_value(json_object_get(v, "code")), *cflags = json_string_value(json_object_get(v, "cflags"));
    if (!code || strchr(code, '/') || !cflags) return false;
    VEC_PUSH(&f->variants, arena_str(&c->model, code, strlen(code)));
    VEC_PUSH(&f->variant_flags, arena_str(&c->model, cflags, strlen(cflags)));
  }
  return true;
}

static bool read_interface(Ctx *c, const json_t *j, Interface *f) {
  const json_t *options = json_object_get(j, "options"), *in = json_object_get(j, "inputs"), *out = json_object_get(j, "outputs");
  const char *name = json_string_value(json_object_get(j, "name")),
             *weights = json_string_value(json_object_get(options, "weights"));
  const char *code = json_string_value(json_object_get(options, "code"));
  const char *cflags = json_string_value(json_object_get(options, "cflags")),
             *generator = json_string_value(json_object_get(j, "generator"));
  if (!name || !bundle_name_ok(name) || !weights || !code || !strrchr(code, '.') || strchr(code, '/') || !cflags || !generator || strcmp(generator, "tgc")) return false;
  if (json_integer_value(json_object_get(json_object_get(j, "abi"), "major")) != BUNDLE_ABI_MAJOR) return false;
  f->name = arena_str(&c->model, name, strlen(name));
  f->cflags = arena_str(&c->model, cflags, strlen(cflags));
  f->arena_bytes = json_integer_value(json_object_get(j, "arena_bytes"));
  f->weight_bytes = json_integer_value(json_object_get(j, "weight_bytes"));
  f->code = arena_str(&c->model, code, strlen(code));
  f->states = json_object_get(j, "states") != NULL;
  f->embedded = strcmp(weights, "file") != 0;
  if (f->arena_bytes <= 0 || f->weight_bytes < 0) return false;
  VEC_PUSH(&f->sources, f->code);
  if (f->embedded && strcmp(weights, "object")) VEC_PUSH(&f->sources, arena_printf(&c->model, "%s_weights.%s", name, strcmp(weights, "c") ? "S" : "c"));
  if (!read_variants(c, json_object_get(j, "variants"), f)) return false;
  vec_grow((void **)&f->inputs.p, &f->inputs.cap, json_array_size(in) + 1, sizeof *f->inputs.p);
  vec_grow((void **)&f->outputs.p, &f->outputs.cap, json_array_size(out) + 1, sizeof *f->outputs.p);
  return read_values(c, in, &f->inputs.n, f->inputs.p) && read_values(c, out, &f->outputs.n, f->outputs.p);
}

Interface interface_read(Ctx *c, const char *dir) {
  const char *path = arena_printf(&c->model, "%s/manifest.json", dir);
  Bytes b = file_read(c, path, 1 << 30);
  json_t *j = json_loadb((const char *)b.p, b.n, 0, NULL);
  Interface f = { 0 };
  bool good = read_interface(c, j, &f);
  json_decref(j);
  if (!good) {
    interface_free(&f);
    fail(c, EX_BADMODEL, "'%s' is not the manifest of a bundle this tgc can run", path);
  }
  return f;
}

void interface_free(Interface *f) {
  VEC_FREE(&f->inputs);
  VEC_FREE(&f->outputs);
  VEC_FREE(&f->sources);
  VEC_FREE(&f->variants);
  VEC_FREE(&f->variant_flags);
}
