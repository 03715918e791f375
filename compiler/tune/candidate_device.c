/* SPDX-License-Identifier: MIT */
/* candidate_device.c: candidates for a device. A batch is one program of the driver. Its launches are one network in the runtime of
 * bundles, with no inputs and no outputs. The candidates' buffers lie in the network's work memory and in its weights. Each part of
 * the work memory is a state, so that it can be read and written.
 *
 * Only children open a driver: it does not survive a fork, and what a candidate breaks ends with the child. Where another one goes
 * on, it gives the driver the same text, which most drivers keep what they made of. A driver that takes no text gets the images of
 * candidate_images.c.
 *
 * needs: programs of candidates    gives: a program of the driver, why it refuses a candidate, times by its events
 * keeps: the candidates' results */
#include "../bundle/bundle.h"
#include "../lower/lower.h"
#include "../target/device_driver.h"
#include "batch.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PART_ALIGN = 256, REASON = 300, INCUMBENT = 6 };
static const double LONG_RUN = 0.01; /* seconds: one sample of it is enough */

/* ---- memory: one part for buffers that are the same to whoever looks ---- */
typedef struct Part {
  int buf;                 /* the first buffer that lies there */
  int nth;                 /* number among a candidate's buffers of its type and size; -1: it is this buffer's alone */
  bool weight;
  size_t at, bytes;
} Part;

typedef struct DeviceNet {
  const Batch *b;
  const DeviceDriver *driver;
  tgcrt_net net;
  tgcrt_device device;
  void *host;              /* memory of the session */
  DeviceTables tables;
  NetImages images;        /* the text, compiled, for a driver that takes none */
  VEC(Part) parts;
  VEC(tgcrt_state) states; /* one for each part that is no weight, in order */
  int *first, *launches;   /* by kernel of the batch; launches 0: it is not in the program */
  char *weights;
  uint64_t *took;          /* nanoseconds of each launch */
  char why[REASON];        /* the driver's first words */
} DeviceNet;

static size_t buffer_bytes(const Buf *b) { return (size_t)(b->elems * dt_bytes(b->dt)); }

/* alone: what is compared has memory of its own for each buffer. */
static int part_for(DeviceNet *d, const Kernel *k, size_t at, bool alone) {
  const IR *ir = d->b->lab->ir;
  const int buf = k->bufs.p[at];
  const Buf *x = &ir->bufs.p[buf];
  Part p = { .buf = buf, .nth = alone ? -1 : 0, .weight = x->kind == BUF_WEIGHT, .bytes = buffer_bytes(x) };
  for (size_t j = 0; j < at && !alone; j++) {
    const Buf *y = &ir->bufs.p[k->bufs.p[j]];
    p.nth += y->dt == x->dt && y->elems == x->elems && (y->kind == BUF_WEIGHT) == p.weight;
  }
  for (size_t i = 0; i < d->parts.n; i++) {
    const Part *y = &d->parts.p[i];
    const Buf *of = &ir->bufs.p[y->buf];
    if (alone ? y->buf == buf : y->nth == p.nth && y->weight == p.weight && of->dt == x->dt && of->elems == x->elems) return (int)i;
  }
  size_t *end = p.weight ? &d->net.weight_bytes : &d->net.work_bytes;
  p.at = *end;
  *end += (p.bytes + PART_ALIGN) / PART_ALIGN * PART_ALIGN;
  VEC_PUSH(&d->parts, p);
  return (int)d->parts.n - 1;
}

static void add_launch(DeviceNet *d, const Kernel *k, int number, size_t index, const Launch *l, bool alone) {
  const IR *ir = d->b->lab->ir;
  uint8_t *use = buffer_uses(ir, l->prog.p, l->prog.n);
  tgcrt_launch row = { .function = (uint32_t)d->tables.functions.n, .first = (uint32_t)d->tables.places.n };
  VEC_PUSH(&d->tables.functions, device_function(d->b->lab->ctx, number, index, launch_exchange(ir, &l->prog)));
  for (size_t i = 0; i < k->bufs.n; i++) {
    if (!use[k->bufs.p[i]]) continue;
    const int at = part_for(d, k, i, alone); /* which may move the parts */
    const Part *p = &d->parts.p[at];
    VEC_PUSH(&d->tables.places, ((tgcrt_place){ p->weight ? TGCRT_PLACE_WEIGHTS : TGCRT_PLACE_WORK, 0, p->at }));
  }
  row.n = (uint32_t)d->tables.places.n - row.first;
  for (int i = 0; i < 3; i++) row.grid[i] = (uint32_t)l->grid[i], row.block[i] = (uint32_t)l->block[i];
  VEC_PUSH(&d->tables.launches, row);
  note_needs(&d->b->plan, l, &d->tables);
  free(use);
}

/* The kernels of the batch that are wanted, as one text and the launches of all */
static void net_make(DeviceNet *d, const Batch *b, const bool *wanted, bool alone) {
  Ctx *c = b->lab->ctx;
  const int n = (int)b->plan.kernels.n;
  Plan part = b->plan;
  Sb text = { 0 }, kernels = { 0 };
  *d = (DeviceNet){ .b = b, .driver = b->plan.in->backend->driver };
  d->first = ARENA_NEW(&c->model, int, n + 1);
  d->launches = ARENA_NEW(&c->model, int, n + 1);
  part.kernels.p = ARENA_NEW(&c->model, Kernel, n + 1);
  part.kernels.n = 0;
  for (int i = 0; i < n; i++) {
    if (!wanted[i]) continue;
    Kernel k = b->plan.kernels.p[i];
    Launches launches = { 0 };
    const int number = (int)part.kernels.n;
    k.code = number;
    k.head = NULL;
    part.kernels.p[part.kernels.n++] = k;
    kernel_launches(&b->plan, &k, &launches);
    d->first[i] = (int)d->tables.launches.n;
    d->launches[i] = (int)launches.n;
    for (size_t l = 0; l < launches.n; l++) add_launch(d, &k, number, l, &launches.p[l], alone);
    launches_free(&launches);
  }
  plan_render(&part);
  for (size_t i = 0; i < part.kernels.n; i++)
    if (part.kernels.p[i].code == (int)i) sb_puts(&kernels, part.kernels.p[i].text);
  sb_puts(&text, device_pragmas(&part, d->tables.needs));
  part.in->backend->prelude(&part, b->lab->target, &text);
  sb_puts(&text, kernels.p ? kernels.p : "");
  sb_free(&kernels);
  for (size_t i = 0; i < d->parts.n; i++) {
    const Part *p = &d->parts.p[i];
    if (p->weight) continue;
    VEC_PUSH(&d->states, ((tgcrt_state){ .at = p->at, .outer = 1, .block = p->bytes, .keep = p->bytes, .slots = 1, .init = (size_t)-1 }));
  }
  const char **pieces = ARENA_NEW(&c->model, const char *, 1);
  pieces[0] = sb_keep(&text, &c->model);
  d->net.variable = DEVICE_VARIABLE;
  d->net.text = pieces;
  d->net.ntext = 1;
  d->net.options = device_options(&part, b->lab->keep_denormals);
  d->net.functions = d->tables.functions.p;
  d->net.nfunctions = d->tables.functions.n;
  d->net.launches = d->tables.launches.p;
  d->net.nlaunches = d->tables.launches.n;
  d->net.places = d->tables.places.p;
  d->net.states = d->states.p;
  d->net.nstates = d->states.n;
  d->net.guard_at = (size_t)-1;
  d->net.needs = d->tables.needs;
  d->net.max_block = (uint32_t)d->tables.block;
  d->net.shared_bytes = (uint32_t)d->tables.shared_bytes;
  d->took = ARENA_NEW(&c->model, uint64_t, d->net.nlaunches + 1);
}

/* ---- a session with the driver, in a child ---- */
static void note_log(void *arg, const char *text) {
  DeviceNet *d = arg;
  const size_t n = strcspn(text + strspn(text, "\n"), "\n");
  if (!*d->why) snprintf(d->why, sizeof d->why, "%.*s", (int)n, text + strspn(text, "\n"));
}

/* NULL: the driver compiles, or the compiler has; else why that refuses the kernels */
static const char *make_images(DeviceNet *d) {
  if (!d->b->plan.in->backend->images || d->images.n) return NULL;
  const char *why = candidate_images(d->b->lab, d->net.text[0], &d->images);
  d->net.images = d->images.p;
  d->net.nimages = d->images.n;
  return why;
}

static const char *reason(const DeviceNet *d, int status) { return *d->why ? d->why : tgcrt_strerror(status); }

/* Others may use the device, too, and have taken its memory. */
static const char no_memory[] = "no memory: ";

static void tell_refused(const DeviceNet *d, int status) {
  tell("refused %s%s", status == TGCRT_MEMORY ? no_memory : "", reason(d, status));
}

/* Weights are those of the model where results count, else any numbers. */
static void fill_weights(DeviceNet *d, bool exact) {
  const IR *ir = d->b->lab->ir;
  d->weights = memory((int64_t)d->net.weight_bytes);
  for (size_t i = 0; i < d->parts.n; i++) {
    const Part *p = &d->parts.p[i];
    const Buf *x = &ir->bufs.p[p->buf];
    char *to = d->weights + p->at;
    if (!p->weight) continue;
    const void *data = ir->tensors.p[x->slot].data;
    if (exact && x->packed) packed_gather(ir, &d->b->plan.weights.packed.p[x->packed - 1], to);
    else if (exact && data) memcpy(to, data, p->bytes);
    else fill(to, x->dt, x->elems, i + 1, false);
  }
}

static int session_open(DeviceNet *d, bool exact) {
  const Lab *lab = d->b->lab;
  const tgcrt_device wanted = { .name = lab->device,
                                .replay = -1, /* each launch is timed */
                                .log = note_log,
                                .log_arg = d,
                                .wait_ms = 600000 }; /* whoever started this child ends it long before */
  const Backend *backend = d->b->plan.in->backend;
  const char *why = make_images(d);
  if (why) note_log(d, why);
  if (why) return TGCRT_BUILD;
  fill_weights(d, exact);
  d->host = memory((int64_t)backend->host_bytes(d->net.nlaunches, 0, 0, d->net.nstates));
  const int status = d->driver->open(&d->net, &wanted, &d->device);
  return status ? status : d->driver->init(&d->net, &d->device, d->host, d->weights);
}

static int run_kernel(DeviceNet *d, int kernel, double *seconds) {
  uint64_t all = 0;
  const size_t n = (size_t)d->launches[kernel];
  const int status = d->driver->profile_part(&d->net, d->host, (size_t)d->first[kernel], n, d->took);
  for (size_t i = 0; i < n; i++) all += d->took[i];
  *seconds = (double)(all ? all : 1) * 1e-9;
  return status;
}

/* Numbers in all memory but the weights; the buffers of one number have the same ones */
static int fill_memory(DeviceNet *d, int seed, bool hard) {
  const IR *ir = d->b->lab->ir;
  int status = 0;
  for (size_t i = 0, k = 0; i < d->parts.n && !status; i++) {
    const Part *p = &d->parts.p[i];
    const Buf *x = &ir->bufs.p[p->buf];
    if (p->weight) continue;
    void *data = xmalloc(p->bytes + 1);
    fill(data, x->dt, x->elems, (uint64_t)(seed * 1000 + p->buf), hard);
    status = d->driver->state_put(&d->net, d->host, k++, data);
    free(data);
  }
  return status;
}

/* ---- programs that the driver does not take ---- */
void device_pass_on(const char *line) {
  if (!starts_with(line, "gone ")) return;
  tell("%s", line);
  _exit(0);
}

/* The incumbent is what bundles have, so the driver gets the time it needs for it. Else a slow driver would make something much
 * slower the best. */
double driver_limit(const Batch *b, bool incumbent) { return b->lab->cc_limit * (incumbent ? INCUMBENT : 1); }

void device_ask(const Batch *b) {
  const Lab *lab = b->lab;
  const char *why = lab->backend->driver ? device_missing(lab->ctx, lab->backend, lab->device) : NULL;
  if (!why) return;
  tell("gone %s", why);
  _exit(0);
}

/* NULL: the driver, or the compiler before it, takes the kernels that are wanted; else why not. Which of several it refuses is
 * not known then. opens: the driver is asked, too */
static const char *try_program(Batch *b, const bool *wanted, int n, bool opens) {
  Ctx *c = b->lab->ctx;
  Child child;
  Sb line = { 0 };
  bool ended = false;
  const char *why = NULL;
  const double start = tune_clock();
  if (child_begin(c, &child, arena_printf(&c->model, "%s.log", b->stem))) {
    DeviceNet d;
    child_limits(600, 0);
    net_make(&d, b, wanted, false);
    const char *refused = make_images(&d);
    if (refused) note_log(&d, refused);
    const int bad = refused ? TGCRT_BUILD : opens ? session_open(&d, false) : TGCRT_OK;
    if (bad) tell_refused(&d, bad);
    else tell("taken");
    _exit(0);
  }
  const bool got = child_line(&child, driver_limit(b, n == 1 && wanted[0]), &line, &ended);
  const int status = child_end(&child);
  if (got) device_pass_on(line.p);
  if (!got)
    why = ended ? why_ended(c, status)
                : arena_printf(&c->model, "the %s took more than %.1f s", opens ? "driver" : "compiler", tune_clock() - start);
  else if (strcmp(line.p, "taken")) why = arena_str(&c->model, line.p + 8, strlen(line.p + 8));
  sb_free(&line);
  return why;
}

static void refuse(Batch *b, int kernel, const char *why) {
  device_ask(b);
  if (starts_with(why, no_memory)) tell("short %d %s", place_in_task(b, kernel), why + strlen(no_memory));
  else tell("fail %d %s", place_in_task(b, kernel), why);
  b->bad[kernel] = true;
}

static void sift(Batch *b, const bool *wanted, const char *why);

/* Halves of the kernels of a program that the driver does not take, for that reason. */
static void sift_halves(Batch *b, const bool *wanted, int all) {
  Arena *m = &b->lab->ctx->model;
  const int n = (int)b->plan.kernels.n;
  for (int h = 0; h < 2; h++) {
    bool *half = ARENA_NEW(m, bool, n);
    int count = 0;
    for (int i = 0, seen = 0; i < n; i++)
      if (wanted[i]) count += half[i] = (2 * seen++ >= all) == h;
    sift(b, half, try_program(b, half, count, true));
  }
}

/* why: the driver does not take them; NULL: it does */
static void sift(Batch *b, const bool *wanted, const char *why) {
  int all = 0, last = 0;
  for (int i = 0; i < (int)b->plan.kernels.n; i++)
    if (wanted[i]) all++, last = i;
  if (!why) return;
  if (all == 1) refuse(b, last, why);
  else sift_halves(b, wanted, all);
}

/* Where the driver takes each half and not the whole, nobody knows why: half of them are left out. */
void device_refused(Batch *b, const char *why) {
  const int n = (int)b->plan.kernels.n;
  int before = 0, after = 0, last = 0;
  for (int i = 0; i < n; i++)
    if (b->in_program[i]) before++, last = i;
  sift(b, b->in_program, why);
  for (int i = 0; i < n; i++) after += b->in_program[i] = b->in_program[i] && !b->bad[i];
  for (int i = last, drop = (after + 1) / 2; before == after && i >= 0 && drop; i--) {
    if (!b->in_program[i]) continue;
    tell("drop %d", place_in_task(b, i));
    b->bad[i] = true;
    b->in_program[i] = false;
    drop--;
  }
}

void device_build(Batch *b) {
  const size_t n = b->plan.kernels.n;
  b->in_program = ARENA_NEW(&b->lab->ctx->model, bool, n + 1);
  memset(b->in_program, true, n);
  if (!n || !b->plan.in->backend->images) return;
  const char *why = try_program(b, b->in_program, (int)n, false);
  if (why) device_refused(b, why);
}

/* ---- racing ---- */
static _Noreturn void lose(const DeviceNet *d, int status) {
  tell("lost %s", reason(d, status));
  _exit(0);
}

static void *device_begin(Batch *b) {
  DeviceNet *d = ARENA_NEW(&b->lab->ctx->model, DeviceNet, 1);
  net_make(d, b, b->in_program, false);
  int status = session_open(d, false);
  if (!status) status = fill_memory(d, 1, false);
  if (!status) return d;
  tell_refused(d, status);
  _exit(0);
}

static double device_once(void *self, int kernel, int repeat) {
  double best = INFINITY, seconds;
  for (int i = 0; i < repeat; i++) {
    const int status = run_kernel(self, kernel, &seconds);
    if (status) lose(self, status);
    best = fmin(best, seconds);
  }
  return best;
}

/* The first run after those of others finds caches and clocks as these left them; it does not count. */
static void device_sample(void *self, int kernel, int repeat, double *warm, double *cold) {
  const double first = device_once(self, kernel, 1);
  (void)repeat;
  *warm = *cold = first < LONG_RUN ? device_once(self, kernel, 2) : first;
}

const Course device_course = { .begin = device_begin, .once = device_once, .sample = device_sample };

/* ---- comparing ---- */
static void *read_buffer(DeviceNet *d, int buf) {
  void *data = NULL;
  for (size_t i = 0, k = 0; i < d->parts.n; i++) {
    const Part *p = &d->parts.p[i];
    if (p->weight) continue;
    if (p->buf == buf) {
      data = memory((int64_t)p->bytes);
      const int status = d->driver->state_get(&d->net, d->host, k, data);
      if (status) lose(d, status);
    }
    k++;
  }
  return data;
}

void device_outputs(Batch *b, void *session, int kernel, int seed, bool hard, void **mem) {
  DeviceNet *d = session;
  double seconds;
  int status = fill_memory(d, seed, hard);
  if (!status) status = run_kernel(d, kernel, &seconds);
  if (status) lose(d, status);
  for (size_t i = 0; i < b->plan.kernels.p[0].written.n; i++) {
    const int at = b->plan.kernels.p[0].written.p[i];
    mem[at] = read_buffer(d, at);
  }
}

void *device_compare_open(Batch *b) {
  DeviceNet *d = ARENA_NEW(&b->lab->ctx->model, DeviceNet, 1);
  const bool both[2] = { true, true };
  net_make(d, b, both, true);
  const int status = session_open(d, true);
  if (status) lose(d, status);
  return d;
}
