/* SPDX-License-Identifier: 0BSD */
/* tgcrt_session.h: the code that the runtime files tgcrt_opencl.c, tgcrt_cuda.c and tgcrt_metal.c share. This code calls the
 * operating system, compares names of devices and waits with a time limit. This file also has the public functions that open a
 * device, report facts about a device, run the model, wait for runs, and access states.
 * A session is the data that a runtime file keeps for a context, from NAME_init to NAME_close. An interface is OpenCL, CUDA or
 * Metal.
 *
 * Only the runtime files include this file. Before the #include, a runtime file defines the macro API(name), which makes the
 * names of public functions. After the #include, the runtime file defines the functions that are declared under "the work of an
 * interface", and a struct for its sessions. The struct's first member is a Core. */
#ifndef TGCRT_SESSION_H
#define TGCRT_SESSION_H
#ifndef _WIN32
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#define _DARWIN_C_SOURCE
#endif
#include "tgcrt_device.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#define DRIVER_CALL __stdcall
#else
#include <dlfcn.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#define DRIVER_CALL
#endif

/* ---- the operating system ----
 * library_open returns NULL if the library cannot be opened.
 * library_find writes the address of the library's function `name` to *function, a function pointer. If the library lacks this
 * function, library_find writes NULL.
 * exchange atomically sets *p to `value`, and returns the old value.
 * now_us returns the time of a clock in microseconds.
 * pages_take returns n bytes of zeros, or NULL if n is 0 or memory is exhausted.
 * pages_give frees the n bytes that pages_take(n) returned; p may be NULL. */
#ifdef _WIN32
static void *library_open(const char *name) { return (void *)LoadLibraryA(name); }
static void library_find(void *library, const char *name, void *function) {
  FARPROC p = GetProcAddress((HMODULE)library, name);
  memcpy(function, &p, sizeof p);
}
static long exchange(volatile long *p, long value) { return InterlockedExchange(p, value); }
static uint64_t now_us(void) {
  LARGE_INTEGER t, unit;
  QueryPerformanceCounter(&t);
  QueryPerformanceFrequency(&unit);
  return (uint64_t)((double)t.QuadPart * 1e6 / (double)unit.QuadPart);
}
static void sleep_us(uint64_t us) { Sleep((DWORD)((us + 999) / 1000)); }
static void *pages_take(size_t n) { return VirtualAlloc(NULL, n, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE); }
static void pages_give(void *p, size_t n) {
  (void)n;
  if (p) VirtualFree(p, 0, MEM_RELEASE);
}
#else
static void *library_open(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }
static void library_find(void *library, const char *name, void *function) {
  void *p = dlsym(library, name);
  memcpy(function, &p, sizeof p);
}
static long exchange(volatile long *p, long value) { return __atomic_exchange_n(p, value, __ATOMIC_ACQ_REL); }
static uint64_t now_us(void) {
  struct timespec t = { 0, 0 };
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
static void sleep_us(uint64_t us) {
  struct timespec t;
  t.tv_sec = (time_t)(us / 1000000);
  t.tv_nsec = (long)(us % 1000000) * 1000;
  nanosleep(&t, NULL);
}
static void *pages_take(size_t n) {
  void *p = n ? mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
  return p == MAP_FAILED ? NULL : p;
}
static void pages_give(void *p, size_t n) {
  if (p) munmap(p, n);
}
#endif

/* Opens and returns the first of n libraries that can be opened. Returns NULL if none can be opened. The library is never closed,
 * because threads of the driver outlive a session. */
static void *first_library(const char *const *names, size_t n) {
  void *library = NULL;
  size_t i;
  for (i = 0; i < n && !library; i++) library = library_open(names[i]);
  return library;
}

/* ---- the session ---- */
typedef struct Core { /* the part of a session that this file uses */
  tgcrt_device device;
  uint64_t *cursors;     /* by number of a state: the state's cursor (tgcrt_state) for the next run */
  unsigned char *guards; /* room for the guards (tgcrt_net.guard_at) of TGCRT_DEVICE_RUNS runs, a byte each. The first `runs`
                            bytes are in use */
  int runs;              /* number of runs that were enqueued since all commands were last known to be done */
  int pending;           /* 1: some enqueued commands may not be done yet */
  int staged;            /* 1: a run that may not be done yet uses memory of which the session has only one copy */
  int clamped;           /* OR of the guards of the runs that have ended since the last sync */
  int lost;              /* 1: the device has failed */
  tgcrt_run_sizes *sizes; /* the sizes of the next run; NULL: the model has no ranges of sizes */
  uint64_t ask_us;       /* during the first ask_us microseconds of a wait, `ask` is called without pauses; later, with pauses */
} Core;

/* ---- the work of an interface ----
 * Functions of type int32_t return a result of the driver; 0 means success. Functions of type int return a status. Sizes and
 * offsets (at, row, bytes) are in bytes. A row is consecutive bytes, such as the bytes of a state's value in one block
 * (tgcrt_state). A command that a function enqueues may run after the function has returned. */
/* Returns TGCRT_OK if `result` is 0. Otherwise logs that `function` failed, and returns the status for this result. other: the
 * status that is returned if this result has no status of its own */
static int refused(const tgcrt_device *d, int32_t result, const char *function, int other);
/* Opens a device, and makes the objects that are NULL in *d. If *d has objects of the caller, they determine the device.
 * Otherwise `name` names the device, as in tgcrt_device.name. name NULL: the default device */
static int open_device(const tgcrt_net *net, tgcrt_device *d, const char *name);
/* Sets *facts to the facts of the device with this number. */
static int ask_device(const tgcrt_device *d, unsigned long number, tgcrt_device_facts *facts);
static int32_t enter(Core *s), leave(Core *s);          /* a public function calls enter first, and leave last */
static int32_t mark_end(Core *s);                       /* notes the last command that was enqueued, for `ask` */
static int32_t ask(Core *s, int *done);                 /* sets *done to 1 if the noted command is done or has failed */
static int32_t fill_zeros(Core *s, size_t at, size_t n); /* enqueues a command that sets n bytes of work memory to 0 */
/* Enqueues a copy of n numbers to work memory, from byte `at` on. The caller may change the numbers after the return. */
static int32_t put_numbers(Core *s, size_t at, const int64_t *numbers, size_t n);
/* Enqueues a copy of t->outer rows of `bytes` bytes. from_weights 1: the source is in the weights; 0: the source is in work
 * memory. The source begins at from_at, with a row every from_row bytes. The destination is in work memory and begins at to_at,
 * with a row every t->block bytes. Source and destination do not overlap. */
static int32_t copy_rows(Core *s, int from_weights, size_t from_at, size_t from_row, size_t to_at, const tgcrt_state *t,
                         size_t bytes);
/* read_rows copies `rows` rows of `bytes` bytes from work memory to p, and write_rows copies rows from p to work memory. In work
 * memory, the first row begins at `at`, and a row begins every `row` bytes. At p, each row begins where the row before ends. The
 * functions return when the copy is done. */
static int read_rows(Core *s, size_t at, size_t row, size_t bytes, size_t rows, void *p);
static int write_rows(Core *s, size_t at, size_t row, size_t bytes, size_t rows, const void *p);
/* Returns TGCRT_ARGUMENT if a buffer of the caller is not on the device or is too small. */
static int check_buffers(Core *s, const tgcrt_net *net, void *const *in, void *const *out);
/* Sets the input and output buffers of the next launches. If in and out are NULL, these are the session's own buffers. */
static int32_t bind(Core *s, const tgcrt_net *net, void *const *in, void *const *out);
static int32_t feed(Core *s, const tgcrt_net *net, const void *const *in); /* enqueues copies of the inputs to the device */
/* Enqueues all launches. events: NULL, or an array with an element for each launch, by which the runtime file measures the time
 * of this launch */
static int32_t launch_all(Core *s, const tgcrt_net *net, uint64_t *events);
static int32_t read_guard(Core *s, const tgcrt_net *net, unsigned char *guard); /* enqueues a copy of the guard to *guard */
static int32_t fetch(Core *s, const tgcrt_net *net, void *const *out); /* enqueues copies of the outputs to the host */

/* passes the message "subject: what" to the caller's log */
static void say(const tgcrt_device *d, const char *subject, const char *what) {
  char line[400];
  if (!d || !d->log) return;
  snprintf(line, sizeof line, "%s: %s", subject, what);
  d->log(d->log_arg, line);
}

/* ---- devices ---- */
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static int contains(const char *text, const char *part) { /* whether text contains part, without regard to case */
  for (; *text; text++) {
    size_t i = 0;
    while (part[i] && lower(text[i]) == lower(part[i])) i++;
    if (!part[i]) return 1;
  }
  return 0;
}

/* Whether the text `wanted`, which has the form of tgcrt_device.name, names the device with this number and name */
static int is_wanted(const char *wanted, unsigned long number, const char *name) {
  if (!wanted[strspn(wanted, "0123456789")]) return strtoul(wanted, NULL, 10) == number;
  return contains(name, wanted);
}

/* n rounded up to a multiple of 64, and at least 64 */
static size_t buffer_bytes(size_t n) { return (n + 63) / 64 * 64 + (n ? 0 : 64); }

/* Whether the model needs more memory than the device has, or a larger buffer than the device can have. most: most bytes of a
 * buffer; 0: unknown. all: bytes of the device's memory; 0: unknown */
static int too_large(const tgcrt_net *net, uint64_t most, uint64_t all) {
  uint64_t largest = 0, sum = 0;
  size_t i;
  for (i = 0; i < 2 + net->ninputs + net->noutputs; i++) {
    const size_t n = i == 0 ? net->work_bytes : i == 1 ? net->weight_bytes : i < 2 + net->ninputs ? net->input_bytes[i - 2]
                                                                            : net->output_bytes[i - 2 - net->ninputs];
    const uint64_t bytes = buffer_bytes(n);
    if (bytes > largest) largest = bytes;
    sum += bytes;
  }
  return (most && largest > most) || (all && sum > all);
}

/* A lock: 1 while a thread looks for devices. PoCL, a driver of OpenCL, initialises itself when a program first asks for devices.
 * If a second thread asks during this time, the second thread gets no devices, or broken devices. Contexts share no other
 * variable. */
static volatile long opening;

static int lock_open(int64_t ms) { /* returns TGCRT_BUSY if the lock is not free within ms milliseconds */
  const uint64_t begun = now_us();
  while (exchange(&opening, 1)) {
    if (now_us() - begun >= (uint64_t)ms * 1000) return TGCRT_BUSY;
    sleep_us(100);
  }
  return TGCRT_OK;
}

int API(open)(const tgcrt_net *net, const tgcrt_device *wanted, tgcrt_device *open) {
  tgcrt_device d;
  const char *name;
  int status;
  memset(open, 0, sizeof *open);
  d = wanted ? *wanted : *open;
  name = d.name && *d.name ? d.name : getenv(net->variable);
  d.name = NULL; /* the caller may free this text after the return */
  d.own = 0;
  if (d.wait_ms <= 0) d.wait_ms = 60000;
  status = lock_open(d.wait_ms);
  if (status) return status;
  status = open_device(net, &d, name && *name ? name : NULL);
  exchange(&opening, 0);
  if (!status) *open = d;
  return status;
}

int API(facts)(size_t number, tgcrt_device_facts *facts, void (*log)(void *arg, const char *text), void *log_arg) {
  tgcrt_device d;
  int status = lock_open(60000);
  if (status) return status;
  memset(&d, 0, sizeof d);
  d.log = log, d.log_arg = log_arg;
  memset(facts, 0, sizeof *facts);
  status = ask_device(&d, (unsigned long)number, facts);
  exchange(&opening, 0);
  return status;
}

/* ---- waiting ---- */
/* Returns the status for a result of the driver. If the result is a failure, marks the device as lost, and logs that `function`
 * failed. */
static int lose(Core *s, int32_t result, const char *function) {
  if (!result) return TGCRT_OK;
  s->lost = 1;
  return refused(&s->device, result, function, TGCRT_LOST);
}

static int mark(Core *s) { /* to be called after commands were enqueued, so that the next wait waits for them */
  const int32_t result = mark_end(s);
  if (!result) s->pending = 1;
  return lose(s, result, "the queue");
}

/* Waits for the commands that were enqueued before the last call of mark, at most ms milliseconds. Returns TGCRT_BUSY if the
 * commands are not done by then. During the first ask_us microseconds, the function calls `ask` without pauses, because even the
 * shortest sleep takes about 60 microseconds. Later, the function sleeps between the calls, because calls take time from a device
 * that is a CPU. The length of a sleep is a sixteenth of the time since the wait began, but at most 1 ms. */
static int wait_for_end(Core *s, int64_t ms) {
  const uint64_t begun = now_us(), limit = ms > 0 ? (uint64_t)ms * 1000 : 0;
  int32_t result;
  for (;;) {
    uint64_t waited, nap;
    int done = 0;
    result = ask(s, &done);
    if (result || done) break;
    waited = now_us() - begun;
    if (waited >= limit) return TGCRT_BUSY;
    nap = waited / 16 < 1000 ? waited / 16 : 1000;
    if (waited > s->ask_us) sleep_us(nap < limit - waited ? nap : limit - waited);
  }
  s->pending = 0;
  return lose(s, result, "a command");
}

/* Waits until all commands are done, at most ms milliseconds, and adds the guards of the runs to s->clamped. Returns TGCRT_BUSY
 * if some commands are not done by then. */
static int settle(Core *s, int64_t ms) {
  int i, status = TGCRT_OK;
  if (s->lost) return TGCRT_LOST;
  if (s->pending) status = wait_for_end(s, ms);
  if (status) return status;
  for (i = 0; i < s->runs; i++) s->clamped |= s->guards[i];
  s->runs = 0;
  return TGCRT_OK;
}

static int settle_all(Core *s) { return settle(s, s->device.wait_ms); }

/* Waits until all commands are done. To be called after a command was enqueued. The log calls this command `what`. result: the
 * result of the driver's function that enqueued the command */
static int finish(Core *s, int32_t result, const char *what) {
  int status = lose(s, result, what);
  if (!status) status = mark(s);
  return status ? status : settle_all(s);
}

/* A public function calls `entered` before its work. If `entered` succeeds, the function ends with a call of `left`, and returns
 * the result of `left`. */
static int entered(Core *s) { return s->lost ? TGCRT_LOST : lose(s, enter(s), "the context"); }

static int left(Core *s, int status) {
  const int lost = lose(s, leave(s), "the context");
  return status ? status : lost;
}

/* ---- states ---- */
static int moves(const tgcrt_net *net, const tgcrt_place *p) { /* whether the offset of p changes from run to run */
  return p->memory >= TGCRT_PLACE_STATE && net->states[p->number].slots > 1;
}

static size_t place_at(const Core *s, const tgcrt_net *net, const tgcrt_place *p) { /* the offset of p in the next run */
  uint64_t cursor;
  if (!moves(net, p)) return (size_t)p->at;
  cursor = s->cursors[p->number];
  return (size_t)(p->at + (p->memory == TGCRT_PLACE_NEXT ? 1 - cursor : cursor) * net->states[p->number].step);
}

static int reset(Core *s, const tgcrt_net *net) { /* enqueues commands that set all states to their first values */
  int32_t result = 0;
  size_t k;
  for (k = 0; k < net->nstates && !result; k++) {
    const tgcrt_state *t = &net->states[k];
    const size_t at = net->state_at + t->at;
    s->cursors[k] = 0;
    result = fill_zeros(s, at, t->outer * t->block);
    if (!result && t->init != (size_t)-1) result = copy_rows(s, 1, t->init, t->keep, at, t, t->keep);
  }
  return lose(s, result, "a state");
}

/* If t is a window with step < block, enqueues commands that move its value to the beginning of each block (tgcrt_state). So
 * far, the value begins slots * step bytes after the beginning of each block. The value is copied in pieces, so that source and
 * destination of a copy do not overlap. */
static int32_t rewind_window(Core *s, const tgcrt_net *net, const tgcrt_state *t) {
  const size_t end = t->slots * t->step, at = net->state_at + t->at;
  int32_t result = 0;
  size_t done, n;
  if (!end || end + t->keep > t->block) return 0; /* no window */
  for (done = 0; done < t->keep && !result; done += n) {
    n = t->keep - done < end ? t->keep - done : end;
    result = copy_rows(s, 0, at + end + done, t->block, at + done, t, n);
  }
  return result;
}

static int32_t advance(Core *s, const tgcrt_net *net) { /* moves all cursors after a run was enqueued; may enqueue copies */
  int32_t result = 0;
  size_t k;
  for (k = 0; k < net->nstates && !result; k++) {
    const tgcrt_state *t = &net->states[k];
    if (++s->cursors[k] < t->slots) continue;
    s->cursors[k] = 0;
    result = rewind_window(s, net, t);
  }
  return result;
}

/* ---- sizes ---- */
void API(sizes)(void *m, tgcrt_run_sizes *sizes) { ((Core *)m)->sizes = sizes; }

/* input_bytes, output_bytes: the bytes of each input and of each output in the next run */
static const size_t *input_bytes(const Core *s, const tgcrt_net *net) {
  return s->sizes ? s->sizes->input_bytes : net->input_bytes;
}
static const size_t *output_bytes(const Core *s, const tgcrt_net *net) {
  return s->sizes ? s->sizes->output_bytes : net->output_bytes;
}

static int32_t put_sizes(Core *s) { /* enqueues a write of the table of sizes, if the device's copy has other numbers */
  tgcrt_run_sizes *z = s->sizes;
  const int32_t result = z && z->changed ? put_numbers(s, z->at, z->table, z->n) : 0;
  if (z && !result) z->changed = 0;
  return result;
}

/* Notes how many bytes of each output a run copies to the host. Sizes that are set later do not change these numbers. */
static void note_fetched(Core *s, const tgcrt_net *net) {
  if (s->sizes) memcpy(s->sizes->fetched, s->sizes->output_bytes, net->noutputs * sizeof *s->sizes->fetched);
}
static size_t fetched(const Core *s, const tgcrt_net *net, size_t i) { /* the noted number for output i */
  return s->sizes ? s->sizes->fetched[i] : net->output_bytes[i];
}

/* ---- runs ---- */
/* p: pointers to n values. bytes: sizes of the values. Returns TGCRT_ARGUMENT if the pointer to a value with a size above 0 is
 * NULL, or if p is NULL and n is not 0. */
static int check_values(const size_t *bytes, size_t n, const void *const *p) {
  size_t i;
  if (n && !p) return TGCRT_ARGUMENT;
  for (i = 0; i < n; i++)
    if (bytes[i] && !p[i]) return TGCRT_ARGUMENT;
  return TGCRT_OK;
}

static int check_all(const Core *s, const tgcrt_net *net, const void *const *in, void *const *out) {
  const int status = check_values(input_bytes(s, net), net->ninputs, in);
  return status ? status : check_values(output_bytes(s, net), net->noutputs, (const void *const *)out);
}

/* Returns TGCRT_OK if another run may be enqueued. stages 1: the new run uses memory of which the session has only one
 * copy (Core.staged). If an earlier run may still use this memory, the function first waits until all commands are done. */
static int admit(Core *s, int stages) {
  const int waits = stages && s->staged, status = waits ? settle_all(s) : settle(s, 0);
  return status == TGCRT_BUSY && !waits && s->runs < TGCRT_DEVICE_RUNS ? TGCRT_OK : status;
}

/* Enqueues the write of the table of sizes, all launches, the copies of windows, and the copy of the guard. events: as in
 * launch_all */
static int32_t enqueue(Core *s, const tgcrt_net *net, uint64_t *events) {
  int32_t result = put_sizes(s);
  if (!result) result = launch_all(s, net, events);
  if (!result) result = advance(s, net);
  s->guards[s->runs] = 0;
  if (!result && net->guard_at != (size_t)-1) result = read_guard(s, net, &s->guards[s->runs]);
  s->runs++;
  return result;
}

/* Enqueues a run on values of the host: copies of the inputs to the device, the commands of `enqueue`, and copies of outputs to
 * the host. events: as in launch_all */
static int enqueue_values(Core *s, const tgcrt_net *net, const void *const *in, void *const *out, uint64_t *events) {
  int32_t result = bind(s, net, NULL, NULL);
  if (!result) result = feed(s, net, in);
  if (!result) result = enqueue(s, net, events);
  if (!result) result = fetch(s, net, out);
  return result ? lose(s, result, "a run") : mark(s);
}

/* Waits for all runs, at most ms milliseconds; ms < 0: at most the device's wait_ms. Returns TGCRT_INDEX if a run clamped an
 * index, and otherwise TGCRT_CAPACITY if a result of a run had too many rows. */
static int sync_runs(Core *s, int64_t ms) {
  const int status = settle(s, ms < 0 ? s->device.wait_ms : ms), clamped = s->clamped;
  if (status) return status;
  s->clamped = 0;
  return clamped & 1 ? TGCRT_INDEX : clamped ? TGCRT_CAPACITY : TGCRT_OK; /* bits of the guard: tgcrt_net.guard_at */
}

int API(sync)(const tgcrt_net *net, void *m, int64_t ms) {
  Core *s = (Core *)m;
  const int status = entered(s);
  (void)net;
  return status ? status : left(s, sync_runs(s, ms));
}

static int run_values(Core *s, const tgcrt_net *net, const void *const *in, void *const *out) {
  int status = admit(s, 1);
  if (!status) status = enqueue_values(s, net, in, out, NULL);
  return status ? status : sync_runs(s, -1);
}

int API(run)(const tgcrt_net *net, void *m, const void *const *in, void *const *out) {
  Core *s = (Core *)m;
  int status = check_all(s, net, in, out);
  if (!status) status = entered(s);
  return status ? status : left(s, run_values(s, net, in, out));
}

static int run_buffers(Core *s, const tgcrt_net *net, void *const *in, void *const *out) {
  int32_t result;
  int status = admit(s, 0);
  if (!status) status = check_buffers(s, net, in, out);
  if (status) return status;
  result = bind(s, net, in, out);
  if (!result) result = enqueue(s, net, NULL);
  return result ? lose(s, result, "a run") : mark(s);
}

int API(run_on)(const tgcrt_net *net, void *m, void *const *in, void *const *out) {
  Core *s = (Core *)m;
  int status = check_all(s, net, (const void *const *)in, out);
  if (!status) status = entered(s);
  return status ? status : left(s, run_buffers(s, net, in, out));
}

/* ---- public functions for states. state_reset only enqueues commands; the other functions wait for earlier runs ---- */
static int reset_states(Core *s, const tgcrt_net *net) {
  const int status = reset(s, net);
  return status ? status : mark(s);
}

int API(state_reset)(const tgcrt_net *net, void *m) {
  Core *s = (Core *)m;
  const int status = entered(s);
  return status ? status : left(s, reset_states(s, net));
}

static size_t state_now(const Core *s, const tgcrt_net *net, size_t k) { /* offset of the value of state k in work memory */
  return net->state_at + net->states[k].at + (size_t)s->cursors[k] * net->states[k].step;
}

int API(state_get)(const tgcrt_net *net, void *m, size_t k, void *value) {
  Core *s = (Core *)m;
  int status = k < net->nstates ? entered(s) : s->lost ? TGCRT_LOST : TGCRT_STATE;
  if (status) return status;
  status = settle_all(s);
  if (!status)
    status = read_rows(s, state_now(s, net, k), net->states[k].block, net->states[k].keep, net->states[k].outer, value);
  return left(s, status);
}

int API(state_put)(const tgcrt_net *net, void *m, size_t k, const void *value) {
  Core *s = (Core *)m;
  int status = k < net->nstates ? entered(s) : s->lost ? TGCRT_LOST : TGCRT_STATE;
  if (status) return status;
  status = settle_all(s);
  if (!status)
    status = write_rows(s, state_now(s, net, k), net->states[k].block, net->states[k].keep, net->states[k].outer, value);
  return left(s, status);
}

int API(state_save)(const tgcrt_net *net, void *m, void *saved, size_t bytes) {
  Core *s = (Core *)m;
  int status = entered(s);
  if (status) return status;
  status = settle_all(s);
  if (!status) status = read_rows(s, net->state_at, bytes, bytes, 1, saved);
  if (!status) memcpy(saved, s->cursors, net->nstates * sizeof *s->cursors);
  return left(s, status);
}

int API(state_load)(const tgcrt_net *net, void *m, const void *saved, size_t bytes) {
  Core *s = (Core *)m;
  size_t k;
  uint64_t cursor;
  int status;
  for (k = 0; k < net->nstates && !s->lost; k++) {
    memcpy(&cursor, (const unsigned char *)saved + k * sizeof cursor, sizeof cursor);
    if (cursor >= net->states[k].slots) return TGCRT_STATE;
  }
  status = entered(s);
  if (status) return status;
  status = settle_all(s);
  if (!status) status = write_rows(s, net->state_at, bytes, bytes, 1, saved);
  if (!status) memcpy(s->cursors, saved, net->nstates * sizeof cursor);
  return left(s, status);
}
#endif
