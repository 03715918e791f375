/* SPDX-License-Identifier: MIT */
/* fibers.h: runs kernels for GPUs on the CPU. A shim is a C++ header that defines the words of a kernel language, such as CUDA. A
 * shim includes this file. The shim, the text of the kernels and a table of the kernels are compiled together to a library. The
 * library has the functions shim_find and shim_launch.
 *
 * A shuffle is an exchange of values between the threads of a warp. Blocks run one after another, in one thread of the CPU. If
 * a kernel has barriers or shuffles, the threads of a block are fibers. The fibers take turns, in ascending order of their
 * numbers. A turn ends at the fiber's next barrier or shuffle. If a kernel has no barriers and no shuffles, the threads of a
 * block run one after another, without fibers.
 *
 * Kernel languages do not define what happens in the following cases. Here, each of these cases is a fault:
 * - Some threads of a block end without reaching a barrier at which other threads wait.
 * - Threads of a block wait at different barriers, or threads of a warp at different shuffles.
 * - Some threads of a warp wait at a barrier, and others at a shuffle, so no thread can continue.
 * - A shuffle asks for the value of a thread that ended before this shuffle. */
#ifndef TGC_TESTS_FIBERS_H
#define TGC_TESTS_FIBERS_H
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <utility>

struct ShimIndex { unsigned x, y, z; };
static ShimIndex threadIdx, blockIdx, blockDim, gridDim;

namespace shim {
/* BLOCK: the fiber waits at a barrier for all threads of the block. WARP: the fiber waits at a shuffle for all threads of the
 * warp. */
enum State { READY, BLOCK, WARP, ENDED };
/* MOST: most threads of a block. STACK: bytes of a fiber's stack. LANES: threads of a warp. */
enum { MOST = 1024, STACK = 1 << 16, LANES = 32 };
struct Fiber {
  jmp_buf at;         /* where the fiber continues in its next turn */
  State state;
  int line;           /* line of the barrier or shuffle at which the fiber waits */
  bool begun;         /* true: the fiber has called body(), and continues at `at`; false: the fiber's next turn calls body() */
  unsigned shuffles;  /* number of the fiber's shuffles so far, in this block */
  uint64_t given[2];  /* the values that the fiber gave to its last two shuffles; the value for shuffle number k is at k % 2 */
};
static Fiber fibers[MOST];
static char *stacks;
static jmp_buf scheduler;
static int current, nthreads; /* current: number of the thread that runs. nthreads: number of threads of a block */
static bool fibrous;          /* true: the kernel has barriers or shuffles, so the threads are fibers */
static void (*call)(void **); /* calls the kernel; the argument is params */
static void **params;
static char why[200];         /* the first fault; "": none so far */

static void place(int i) { /* makes thread i the current thread */
  current = i;
  threadIdx.x = (unsigned)i % blockDim.x;
  threadIdx.y = (unsigned)i / blockDim.x % blockDim.y;
  threadIdx.z = (unsigned)i / blockDim.x / blockDim.y;
}

static void fault(const char *what, int line) {
  if (!*why)
    snprintf(why, sizeof why, "%s, line %d of the kernels, block %u,%u,%u", what, line, blockIdx.x, blockIdx.y, blockIdx.z);
}

/* Ends the turn of the current fiber: the fiber waits in this state, at this line. Returns at the fiber's next turn. If the
 * threads are not fibers, records a fault and returns at once. */
static void wait(State state, int line) {
  Fiber &f = fibers[current];
  if (!fibrous) {
    fault("a barrier in a kernel that the shim took for one without", line);
    return;
  }
  f.state = state, f.line = line;
  if (!_setjmp(f.at)) _longjmp(scheduler, 1);
}

static void body() { /* the body of a fiber: calls the kernel once for each block, and never returns */
  for (;;) {
    call(params);
    fibers[current].state = ENDED;
    if (!_setjmp(fibers[current].at)) _longjmp(scheduler, 1);
  }
}

static void resume(int i) { /* gives a turn to fiber i; returns when this fiber waits or has ended */
  Fiber &f = fibers[i];
  place(i);
  f.state = READY;
  if (_setjmp(scheduler)) return;
  if (f.begun) _longjmp(f.at, 1);
  f.begun = true;
  ucontext_t c;
  getcontext(&c);
  c.uc_stack.ss_sp = stacks + (size_t)i * STACK, c.uc_stack.ss_size = STACK, c.uc_link = NULL;
  makecontext(&c, body, 0);
  setcontext(&c);
}

/* Returns whether the threads first to first + n - 1 may continue. At least one of these threads must wait in this state, and
 * each of the others must wait in this state or have ended. Records a fault if threads in this state wait at different lines. For
 * the state BLOCK, also records a fault if the threads may continue although some of them have ended. */
static bool complete(int first, int n, State state) {
  int waiting = 0, ended = 0, line = 0;
  for (int i = first; i < first + n; i++) {
    if (fibers[i].state == ENDED) ended++;
    if (fibers[i].state != state) continue;
    if (waiting++ && fibers[i].line != line) fault("threads wait at different barriers", line);
    line = fibers[i].line;
  }
  if (waiting && waiting + ended == n && ended && state == BLOCK) fault("threads end without reaching a barrier", line);
  return waiting && waiting + ended == n;
}

static void release(int first, int n) { /* lets threads first to first + n - 1 continue, if they have not ended */
  for (int i = first; i < first + n; i++)
    if (fibers[i].state != ENDED) fibers[i].state = READY;
}

static void run_block() { /* runs the fibers of the block blockIdx until all have ended, or until a fault */
  for (int i = 0; i < nthreads; i++) fibers[i].state = READY, fibers[i].shuffles = 0;
  for (int alive = nthreads; alive && !*why;) {
    bool moved = false;
    alive = 0;
    for (int i = 0; i < nthreads && !*why; i++) {
      if (fibers[i].state == READY) moved = true, resume(i);
      alive += fibers[i].state != ENDED;
    }
    for (int w = 0; w < nthreads; w += LANES) {
      const int n = nthreads - w < LANES ? nthreads - w : LANES;
      if (complete(w, n, WARP)) release(w, n), moved = true;
    }
    if (complete(0, nthreads, BLOCK)) release(0, nthreads), moved = true;
    if (alive && !moved) fault("threads wait for each other", fibers[0].line);
  }
  if (*why) /* in the next block, all fibers begin afresh */
    for (Fiber &f : fibers) f.begun = false;
}

/* A shuffle: gives the value `mine` of the current thread to the other threads of the warp. Returns the value of thread number
 * `lane` of the warp, or `mine` if the warp has no such thread. */
template <class T> static T exchanged(T mine, int lane, int line) {
  Fiber &f = fibers[current];
  const int me = current, warp = current / LANES * LANES;
  uint64_t &slot = f.given[f.shuffles % 2];
  static_assert(sizeof mine <= sizeof slot, "a shuffle of more than eight bytes");
  memcpy(&slot, &mine, sizeof mine);
  const unsigned turn = f.shuffles++;
  wait(WARP, line);
  int from = warp + lane;
  if (lane < 0 || lane >= LANES || from >= nthreads) from = me;
  const unsigned ahead = fibers[from].shuffles - turn; /* 2: thread `from` is at the next shuffle, which uses the other slot */
  if (ahead != 1 && ahead != 2) fault("a shuffle of a lane that is not there", line);
  memcpy(&mine, &fibers[from].given[turn % 2], sizeof mine);
  return mine;
}
} // namespace shim

/* ---- the library ---- */
typedef struct ShimKernel {
  const char *name;
  void (*call)(void **params); /* calls the kernel for the current thread; params[i] is the address of parameter i */
  size_t nparams;
  int barriers; /* 1: the kernel has barriers or shuffles */
} ShimKernel;
/* Runs a kernel. grid: number of blocks along x, y and z. block: number of threads of a block along x, y and z. params: addresses
 * of the kernel's parameters. Returns NULL if there was no fault, else a text about the first fault. */
static const char *shim_run(const ShimKernel *k, const unsigned grid[3], const unsigned block[3], void **params) {
  gridDim = { grid[0], grid[1], grid[2] };
  blockDim = { block[0], block[1], block[2] };
  shim::nthreads = (int)(block[0] * block[1] * block[2]);
  shim::call = k->call, shim::params = params, shim::fibrous = k->barriers != 0, shim::why[0] = 0;
  if (shim::nthreads > shim::MOST) return "more than 1024 threads in a block";
  if (!shim::stacks) shim::stacks = (char *)malloc((size_t)shim::MOST * shim::STACK);
  for (blockIdx.z = 0; blockIdx.z < grid[2]; blockIdx.z++)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; blockIdx.y++)
      for (blockIdx.x = 0; blockIdx.x < grid[0] && !*shim::why; blockIdx.x++) {
        if (shim::fibrous) shim::run_block();
        for (int i = 0; i < shim::nthreads && !shim::fibrous; i++) shim::place(i), k->call(params);
      }
  return *shim::why ? shim::why : NULL;
}
/* Defines shim_find and shim_launch. shim_find returns the kernel `name`, or NULL if the library has no such kernel. shim_launch
 * calls shim_run. SHIM_LIBRARY has an argument for each kernel: an initialiser of a ShimKernel. The shim defines a macro
 * SHIM_KERNEL, which makes this initialiser. */
#define SHIM_LIBRARY(...) \
  static const ShimKernel shim_kernels[] = { __VA_ARGS__ }; \
  extern "C" const ShimKernel *shim_find(const char *name) { \
    for (const ShimKernel &k : shim_kernels) \
      if (!strcmp(k.name, name)) return &k; \
    return NULL; \
  } \
  extern "C" const char *shim_launch(const ShimKernel *k, const unsigned grid[3], const unsigned block[3], void **params) { \
    return shim_run(k, grid, block, params); \
  }
#endif
