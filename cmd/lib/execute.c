/* SPDX-License-Identifier: MIT */
/* execute.c: loads and runs a built bundle, in a child process. A kernel that crashes becomes a diagnosis and does not end tgc.
 * Results return in shared memory. */
#include "../cmd.h"
#include "../../runtime_stub/tgcrt_device.h"
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DRIVER_MS = 600000 }; /* most milliseconds of a run; some drivers compile kernels in the first one */

typedef struct Result {
  int status;   /* a status of tgcrt.h; -1: `why` explains */
  bool clamped, cut; /* some run clamped an index; cut off rows */
  char why[252];
} Result;
typedef size_t (*BytesFn)(void);
typedef int (*InitFn)(void *, void *, size_t, const void *, size_t);
typedef int (*MapFn)(const char *, size_t, const void **);
typedef int (*ExecutorFn)(void *, const tgcrt_executor *);
typedef int (*OpenFn)(void *, const tgcrt_device *);
typedef int (*PoolFn)(tgcrt_pool **, void *, size_t, const tgcrt_pool_options *);
typedef const tgcrt_executor *(*PoolExecutorFn)(const tgcrt_pool *);

static void *symbol(void *so, const char *name, const char *suffix) {
  char full[128];
  snprintf(full, sizeof full, "%s%s", name, suffix);
  return dlsym(so, full);
}

/* The threads end with the process. */
static int use_threads(void *so, const Interface *f, void *ctx, int threads) {
  PoolFn start;
  PoolExecutorFn executor;
  ExecutorFn set;
  *(void **)&start = symbol(so, "tgcrt", "_pool_start");
  *(void **)&executor = symbol(so, "tgcrt", "_pool_executor");
  *(void **)&set = symbol(so, f->name, "_set_executor");
  if (!start || !executor) start = tgcrt_pool_start, executor = tgcrt_pool_executor; /* object bundles have no runtime */
  if (!set) return TGCRT_THREADS;
  tgcrt_pool *pool;
  size_t bytes = TGCRT_POOL_BYTES(threads);
  int status = start(&pool, xmalloc(bytes), bytes, &(tgcrt_pool_options){ .threads = threads });
  return status ? status : set(ctx, executor(pool));
}

/* Keeps the first line of the driver's message. */
static void note_log(void *arg, const char *text) {
  char *why = arg;
  if (!*why) snprintf(why, 252, "%.*s", (int)strcspn(text, "\n"), text);
}

typedef struct ValueFns { /* the library's functions about values of one kind */
  const char *kind, *count, *bytes, *name;
} ValueFns;

/* Values of the whole bundle have the names ENTRY_NAME, unless entries share them. */
static bool is_of_entry(const char *whole, const char *entry, const char *name) {
  const size_t n = strlen(entry);
  return !strcmp(whole, name) || (!strncmp(whole, entry, n) && whole[n] == '_' && !strcmp(whole + n + 1, name));
}

/* Whether the library has the manifest's values of a kind. The manifest says how much memory a run may write, so a wrong one
 * would corrupt memory. Shapes of a range are those of one size, so only their number is compared. The values of an entry are
 * found by their names. */
static bool has_values(void *so, const Interface *f, const ValueFns *names, const GIO *v, size_t n, char why[252]) {
  BytesFn count;
  size_t (*bytes)(size_t index);
  const char *(*name)(size_t index);
  *(void **)&count = symbol(so, f->name, names->count);
  *(void **)&bytes = symbol(so, f->name, names->bytes);
  *(void **)&name = symbol(so, f->name, names->name);
  if (!count || !bytes || !name) return true; /* the library was linked without them */
  const size_t has = count();
  if (f->part ? has < n : has != n) {
    snprintf(why, 252, "manifest.json lists %zu %s%s, and the bundle's code has %zu", n, names->kind, n == 1 ? "" : "s", has);
    return false;
  }
  for (size_t i = 0; i < n && !f->symbols.n; i++) {
    const size_t wanted = (size_t)gio_bytes(&v[i]);
    size_t k = f->part ? 0 : i;
    while (f->part && k < has && !is_of_entry(name(k), f->part, v[i].name)) k++;
    const size_t there = k < has ? bytes(k) : 0;
    if (there == wanted) continue;
    snprintf(why, 252, "manifest.json gives %zu bytes to %s '%.80s', and the bundle's code %zu", wanted, names->kind, v[i].name,
             there);
    return false;
  }
  return true;
}

/* The arena is filled with 0xA5, so that reads of unwritten memory show. */
int model_open(const char *dir, const char *so_path, const Interface *f, int threads, Loaded *m, char why[252]) {
  const Arch arch = elf_arch(so_path);
  if (arch != ARCH_ANY && arch != host_arch()) {
    snprintf(why, 252, "it is code for %s, and this machine is %s", arch_name(arch), arch_name(host_arch()));
    return -1;
  }
  m->so = dlopen(so_path, RTLD_NOW | RTLD_LOCAL);
  if (!m->so) {
    snprintf(why, 252, "%s", dlerror());
    return -1;
  }
  BytesFn ctx_bytes;
  InitFn init;
  MapFn map;
  *(void **)&init = symbol(m->so, f->name, "_init");
  *(void **)&ctx_bytes = symbol(m->so, f->name, "_ctx_bytes");
  *(void **)&m->run = symbol(m->so, f->name, f->run);
  *(void **)&map = symbol(m->so, "tgcrt", "_map");
  if (!map) map = tgcrt_map;
  if (!init || !m->run || !ctx_bytes) {
    snprintf(why, 252, "the library lacks %s_init, %s%s or %s_ctx_bytes", f->name, f->name, f->run, f->name);
    return -1;
  }
  static const ValueFns inputs = { "input", "_input_count", "_input_bytes", "_input_name" },
                        outputs = { "output", "_output_count", "_output_bytes", "_output_name" };
  if (!has_values(m->so, f, &inputs, f->inputs.p, f->inputs.n, why)) return -1;
  if (!has_values(m->so, f, &outputs, f->outputs.p, f->outputs.n, why)) return -1;
  m->ctx = xcalloc(1, ctx_bytes());
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
  OpenFn open_device;
  *(void **)&open_device = symbol(m->so, f->name, "_open");
  if (!status && open_device)
    status = open_device(m->ctx, &(tgcrt_device){ .name = f->device, .log = note_log, .log_arg = why, .wait_ms = DRIVER_MS });
  if (!status) status = init(m->ctx, arena, arena_bytes, weights, weight_bytes);
  *(void **)&m->set_sizes = symbol(m->so, f->name, "_set_sizes");
  m->again = NULL;
  for (int k = 0; k < f->symbols.n; k++)
    if (f->symbols.p[k].appended) m->again = f->sizes;
  if (!status && f->symbols.n) status = m->set_sizes ? m->set_sizes(m->ctx, f->sizes) : TGCRT_SIZE;
  m->init_ms = clock_ms() - start - m->map_ms;
  if (!status && threads > 1) status = use_threads(m->so, f, m->ctx, threads);
  return status;
}

int model_again(const Loaded *m, const void *const *in, void *const *out) {
  if (m->again) m->set_sizes(m->ctx, m->again);
  return m->run(m->ctx, in, out);
}

/* Reports a failure. If a library cannot be loaded, the compiler is at fault, or the machine lacks memory or descriptors. */
_Noreturn void model_failed(Ctx *c, int status, const char *why) {
  static const char *const lacking[] = { "Too many open files", "Cannot allocate memory", "failed to map", "no memory",
                                         "cannot map" };
  int code = EX_MISSING;
  for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++)
    if (strstr(why, lacking[i])) code = EX_RETRY;
  if (status <= 0 || status == TGCRT_CPU || status == TGCRT_THREADS) c->file = NULL; /* the model is not at fault */
  if (status == TGCRT_CPU)
    fail(c, EX_MISSING,
         "this CPU, or its operating system, lacks instructions that the model was compiled for (tgc devices lists what it has)");
  if (status == TGCRT_THREADS) fail(c, EX_RETRY, "the model cannot be run: %s (--threads)", tgcrt_strerror(status));
  if (status >= TGCRT_DRIVER && status <= TGCRT_BUSY) {
    code = status == TGCRT_DRIVER || status == TGCRT_DEVICE ? EX_MISSING : status == TGCRT_BUILD ? EX_FAILED : EX_RETRY;
    c->file = NULL;
    fail(c, code, "the model cannot be run: %s%s%s", tgcrt_strerror(status), *why ? ": " : "", why);
  }
  if (status > 0) fail(c, EX_FAILED, "the model returned status %d: %s", status, tgcrt_strerror(status));
  if (starts_with(why, "manifest.json")) fail(c, EX_BADMODEL, "%s", why);
  fail(c, code, "the compiled model cannot be loaded: %s%s", why,
       code == EX_MISSING ? "; set CC to a compiler for this machine" : "");
}

/* Gives each state its first value. */
static int restart(const Loaded *m, const Interface *f) {
  int (*reset)(void *ctx);
  *(void **)&reset = symbol(m->so, f->name, "_state_reset");
  const int status = reset ? reset(m->ctx) : TGCRT_ARGUMENT;
  return !status && m->again ? m->set_sizes(m->ctx, f->sizes) : status;
}

int bundle_execute(Ctx *c, const Options *o, const char *dir, const char *scratch, const Interface *f, size_t steps, size_t per,
                   size_t stride, const Tensor *in, Tensor *out) {
  const char *so = is_foreign(f->target) ? NULL : bundle_build(c, o, dir, scratch, f, NULL);
  const Arch arch = so ? elf_arch(so) : f->target->arch; /* portable code is for the compiler's machine */
  if (arch != ARCH_ANY && arch != host_arch()) {
    for (size_t s = 0; s < steps; s += per)
      bundle_emulate(c, o, dir, scratch, f, arch, per, in + s * stride, out + s * f->outputs.n);
    return TGCRT_OK;
  }
  size_t bytes = 0, nin = f->inputs.n, nout = f->outputs.n;
  for (size_t i = 0; i < nout; i++) bytes += value_room(&f->outputs.p[i]);
  Result *r = shared_memory(c, sizeof *r);
  bytes = size_mul(bytes, steps);
  char *data = shared_memory(c, bytes);
  memset(data, 0xa5, bytes);
  const void **src = ARENA_NEW(&c->model, const void *, steps * nin + 1);
  void **dst = ARENA_NEW(&c->model, void *, steps * nout + 1);
  for (size_t i = 0; i < steps * nin; i++) src[i] = in[i / nin * stride + i % nin].data;
  for (size_t i = 0, at = 0; i < steps * nout; i++) {
    const GIO *v = &f->outputs.p[i % nout];
    out[i] = tensor_like(v);
    dst[i] = data + at;
    at += value_room(v);
  }
  pid_t pid = child_start(c);
  if (!pid) {
    Loaded m;
    r->status = model_open(dir, so, f, (int)o->threads, &m, r->why);
    for (size_t s = 0; s < steps && !r->status; s++) {
      if (s && s % per == 0 && f->states && (r->status = restart(&m, f))) break;
      r->status = m.run(m.ctx, src + s * nin, dst + s * nout);
      if (!run_is_complete(r->status)) continue;
      *(r->status == TGCRT_INDEX ? &r->clamped : &r->cut) = true;
      r->status = TGCRT_OK;
    }
    _exit(0);
  }
  int ended = child_wait(c, o, pid, "running"), status = r->status;
  const bool clamped = r->clamped, cut = r->cut;
  char why[sizeof r->why];
  memcpy(why, r->why, sizeof why);
  munmap(r, sizeof *r);
  for (size_t i = 0; i < steps * nout; i++)
    out[i].data = arena_dup(&c->model, dst[i], (size_t)out[i].elems * (size_t)dt_bytes(out[i].dt));
  munmap(data, bytes ? bytes : 1);
  if (!WIFEXITED(ended) || WEXITSTATUS(ended)) child_died(c, ended, "the compiled model");
  if (status < 0 || status == TGCRT_CPU || status == TGCRT_THREADS || status >= TGCRT_DRIVER) model_failed(c, status, why);
  if (clamped) warn_at(c, (Pos){ 0 }, "%s", tgcrt_strerror(TGCRT_INDEX));
  if (cut) warn_at(c, (Pos){ 0 }, "%s (--capacity)", tgcrt_strerror(TGCRT_CAPACITY));
  return status;
}

int plan_execute(Ctx *c, const Options *o, const Plan *p, const char *scratch, size_t steps, size_t per, const Tensor *in,
                 Tensor *out) {
  const char *dir = plan_put(c, o, p, scratch);
  Interface f = interface_read(c, o, dir);
  int status = bundle_execute(c, o, dir, scratch, &f, steps, per, p->g->inputs.n, in, out);
  interface_free(&f);
  return status;
}
