/* SPDX-License-Identifier: 0BSD */
/* tgcrt_device.h: declarations for bundles whose kernels run on a device. A caller names the device, and tables describe a
 * model to the runtime. C99, usable from C++. Bundles for one interface share one runtime file in a program:
 * tgcrt_opencl.c, tgcrt_cuda.c or tgcrt_metal.c. */
#ifndef TGCRT_DEVICE_H
#define TGCRT_DEVICE_H
#include "tgcrt.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- for callers ---- */

/* For NAME_open. All fields may be 0. */
typedef struct tgcrt_device {
  /* Which device: "1" is the second device of all platforms; a text that is no number is a part of the device's name, without
   * regard to case. NULL or "": the environment variable NAME_DEVICE (in capitals) decides. Without the variable, the first GPU
   * is used, else the first device. */
  const char *name;
  /* OpenCL: the caller's cl_context, cl_device_id and cl_command_queue; the queue must run commands in order. NULL: new ones. A
   * queue determines its context and device, and a context its first device. In both cases the name is ignored. CUDA: the
   * caller's CUcontext, and its CUstream as the queue. NULL: the device's primary context, and a new stream. A stream determines
   * its context, and a context its device; `device` is ignored, because a CUdevice may be 0. Metal: the caller's id<MTLDevice>
   * and id<MTLCommandQueue>; a queue determines its device. There is no context. */
  void *context, *device, *queue;
  /* path of a file that keeps the built kernels, valid until NAME_init; NULL: each NAME_init builds them. Metal: path of a
   * library that the bundle's build.sh has made; it is only read. */
  const char *cache;
  /* Called with the reason if a function fails, and with messages of the driver's compiler; NULL: messages are lost. */
  void (*log)(void *arg, const char *text);
  void *log_arg;
  int64_t wait_ms;   /* most milliseconds that NAME_run and others wait for the device; 0: 60000 */
  /* NAME_init may record all launches, so that a run hands them over as one command, if the driver can do that. 1: yes, -1: no,
   * 0: the best choice for most drivers of the interface. OpenCL: 0 means no, and launches of models whose states move are never
   * recorded. CUDA: 0 means yes. */
  int replay;
  int own; /* private: the objects that NAME_open has made for the context */
} tgcrt_device;

enum { TGCRT_DEVICE_RUNS = 64 }; /* most pending runs of a context */

/* Facts that a driver reports about a device */
typedef struct tgcrt_device_facts {
  char name[256], driver[256], version[256];
  int is_gpu, is_cpu;
  uint32_t units;        /* units that run blocks in parallel */
  uint32_t max_threads;  /* in a block */
  uint64_t shared_bytes; /* in a block */
  int shared_is_fast;    /* shared memory is separate from the device's memory */
  uint64_t memory, largest; /* bytes of the device's memory; most bytes of one buffer */
  uint32_t abilities;    /* TGCRT_NEEDS_ bits that it supports */
  uint32_t arch;         /* CUDA: 90 is compute capability 9.0 */
} tgcrt_device_facts;

/* ---- for models: constant tables ---- */

enum { /* needs of kernels beyond the minimum of all devices; the bits never change */
  TGCRT_NEEDS_F64 = 1,
  TGCRT_NEEDS_F16 = 2,
  TGCRT_NEEDS_SUBGROUPS = 4,
  TGCRT_NEEDS_INT_DOT = 8 /* sums of four products of bytes */
};

enum { /* the memory that contains a buffer */
  TGCRT_PLACE_WORK = 0,
  TGCRT_PLACE_WEIGHTS = 1,
  TGCRT_PLACE_INPUT = 2,
  TGCRT_PLACE_OUTPUT = 3,
  TGCRT_PLACE_STATE = 4, /* a state's value, in work memory; `at`: its place for cursor 0; the place moves with the cursor */
  TGCRT_PLACE_NEXT = 5   /* likewise: the state's next value, in the other one of the state's two places */
};

typedef struct tgcrt_place { /* the place of a launch's buffer */
  uint8_t memory;  /* TGCRT_PLACE_ */
  uint32_t number; /* number of the input, output or state */
  uint64_t at;     /* offset in that memory, in bytes */
} tgcrt_place;

/* A kernel of OpenCL has two parameters for each of its buffers: the memory, and an offset in bytes (ulong). A kernel of CUDA
 * has one: the buffer's address, 64 bits. */
typedef struct tgcrt_launch {
  uint32_t function, first, n; /* index of its function; its buffers are places[first] to places[first + n - 1] */
  uint32_t grid[3], block[3];  /* blocks, and threads of a block; none is 0 */
} tgcrt_launch;

enum { TGCRT_IMAGE_CUBIN = 1, TGCRT_IMAGE_PTX = 2, TGCRT_IMAGE_FATBIN = 3 };
typedef struct tgcrt_image {   /* compiled kernels */
  uint32_t kind, arch;         /* TGCRT_IMAGE_; 90: compute capability 9.0, the least for PTX and fatbins */
  const unsigned char *bytes;  /* PTX ends with a NUL, which n does not count */
  size_t n;                    /* 0: unknown, the image contains its size */
} tgcrt_image;

typedef struct tgcrt_net {
  const char *variable;          /* environment variable: "NET_DEVICE" */
  const char *const *text;       /* source of the kernels, in pieces */
  size_t ntext;
  const char *options;           /* for the driver's compiler */
  const char *const *functions;
  size_t nfunctions;
  const tgcrt_launch *launches;  /* in execution order */
  size_t nlaunches;
  const tgcrt_place *places;
  size_t work_bytes;             /* intermediate values, then states, then the guard */
  size_t weight_bytes;
  const size_t *input_bytes, *output_bytes;
  size_t ninputs, noutputs;
  const tgcrt_state *states;     /* in work memory from state_at on: unused room for the cursors, then the states */
  size_t nstates, state_at;
  size_t guard_at;               /* a byte of work memory. Bit 0: the run clamped an index; bit 1: a result had too many rows; (size_t)-1: none */
  uint32_t needs;                /* TGCRT_NEEDS_ bits */
  uint32_t max_block;            /* threads of the largest block */
  uint32_t shared_bytes;         /* most shared memory of a launch */
  const tgcrt_image *images;     /* CUDA: images to choose from; there is no text then */
  size_t nimages;
} tgcrt_net;

/* ---- OpenCL 1.2: tgcrt_opencl.c. It opens the driver's library on first use; programs link no library for it. ---- */

/* Facts about device `number`, counted as for tgcrt_device.name. TGCRT_DEVICE: there is none. log as in tgcrt_device, or NULL */
int tgcrt_opencl_facts(size_t number, tgcrt_device_facts *facts, void (*log)(void *arg, const char *text), void *log_arg);

int tgcrt_opencl_describe(const tgcrt_device *open, tgcrt_device_facts *facts); /* the same for an open device */

/* Host memory of a context, aligned to TGCRT_ALIGN: NET_ARENA_BYTES */
#define TGCRT_OPENCL_BYTES(launches, inputs, outputs, states) \
  ((1024 + 8 * ((launches) + (inputs) + (outputs) + (states)) + 63) / 64 * 64)

/* For the model's own functions, which check their arguments. m: host memory of the context. */
int tgcrt_opencl_open(const tgcrt_net *net, const tgcrt_device *wanted, tgcrt_device *open); /* wanted may be NULL */
int tgcrt_opencl_init(const tgcrt_net *net, const tgcrt_device *open, void *m, const void *weights);
int tgcrt_opencl_run(const tgcrt_net *net, void *m, const void *const *in, void *const *out);
int tgcrt_opencl_run_on(const tgcrt_net *net, void *m, void *const *in, void *const *out);
int tgcrt_opencl_sync(const tgcrt_net *net, void *m, int64_t ms);
int tgcrt_opencl_profile(const tgcrt_net *net, void *m, const void *const *in, void *const *out, uint64_t *nanoseconds);
/* Measures some launches alone, in order and on the current values of memory. No input is copied, and no state moves. A
 * launch's time begins at the end of the one before. */
int tgcrt_opencl_profile_part(const tgcrt_net *net, void *m, size_t first, size_t n, uint64_t *nanoseconds);
int tgcrt_opencl_close(const tgcrt_net *net, tgcrt_device *open, void *m); /* m NULL: init was not called, or failed */
int tgcrt_opencl_state_reset(const tgcrt_net *net, void *m);
int tgcrt_opencl_state_get(const tgcrt_net *net, void *m, size_t k, void *value);
int tgcrt_opencl_state_put(const tgcrt_net *net, void *m, size_t k, const void *value);
int tgcrt_opencl_state_save(const tgcrt_net *net, void *m, void *saved, size_t bytes);
int tgcrt_opencl_state_load(const tgcrt_net *net, void *m, const void *saved, size_t bytes);

/* ---- CUDA: tgcrt_cuda.c. It opens the driver's library on first use; programs link no library for it. ---- */

int tgcrt_cuda_facts(size_t number, tgcrt_device_facts *facts, void (*log)(void *arg, const char *text), void *log_arg);
int tgcrt_cuda_describe(const tgcrt_device *open, tgcrt_device_facts *facts);
#define TGCRT_CUDA_BYTES(launches, inputs, outputs, states) \
  ((1024 + 8 * (2 * (launches) + 3 * (inputs) + 4 * (outputs) + (states)) + 63) / 64 * 64)
int tgcrt_cuda_open(const tgcrt_net *net, const tgcrt_device *wanted, tgcrt_device *open); /* wanted may be NULL */
int tgcrt_cuda_init(const tgcrt_net *net, const tgcrt_device *open, void *m, const void *weights);
int tgcrt_cuda_run(const tgcrt_net *net, void *m, const void *const *in, void *const *out);
int tgcrt_cuda_run_on(const tgcrt_net *net, void *m, void *const *in, void *const *out);
int tgcrt_cuda_sync(const tgcrt_net *net, void *m, int64_t ms);
int tgcrt_cuda_profile(const tgcrt_net *net, void *m, const void *const *in, void *const *out, uint64_t *nanoseconds);
int tgcrt_cuda_profile_part(const tgcrt_net *net, void *m, size_t first, size_t n, uint64_t *nanoseconds);
int tgcrt_cuda_close(const tgcrt_net *net, tgcrt_device *open, void *m); /* m NULL: init was not called, or failed */
int tgcrt_cuda_state_reset(const tgcrt_net *net, void *m);
int tgcrt_cuda_state_get(const tgcrt_net *net, void *m, size_t k, void *value);
int tgcrt_cuda_state_put(const tgcrt_net *net, void *m, size_t k, const void *value);
int tgcrt_cuda_state_save(const tgcrt_net *net, void *m, void *saved, size_t bytes);
int tgcrt_cuda_state_load(const tgcrt_net *net, void *m, const void *saved, size_t bytes);

/* ---- Metal: tgcrt_metal.c. It opens the system's libraries on first use; programs link no library for it. ---- */

int tgcrt_metal_facts(size_t number, tgcrt_device_facts *facts, void (*log)(void *arg, const char *text), void *log_arg);
int tgcrt_metal_describe(const tgcrt_device *open, tgcrt_device_facts *facts); /* the same for an open device */
#define TGCRT_METAL_BYTES(launches, inputs, outputs, states) \
  ((2048 + 8 * ((launches) + (inputs) + 2 * (outputs) + (states)) + 63) / 64 * 64)
int tgcrt_metal_open(const tgcrt_net *net, const tgcrt_device *wanted, tgcrt_device *open); /* wanted may be NULL */
int tgcrt_metal_init(const tgcrt_net *net, const tgcrt_device *open, void *m, const void *weights);
int tgcrt_metal_run(const tgcrt_net *net, void *m, const void *const *in, void *const *out);
int tgcrt_metal_run_on(const tgcrt_net *net, void *m, void *const *in, void *const *out);
int tgcrt_metal_sync(const tgcrt_net *net, void *m, int64_t ms);
int tgcrt_metal_profile(const tgcrt_net *net, void *m, const void *const *in, void *const *out, uint64_t *nanoseconds);
int tgcrt_metal_profile_part(const tgcrt_net *net, void *m, size_t first, size_t n, uint64_t *nanoseconds);
int tgcrt_metal_close(const tgcrt_net *net, tgcrt_device *open, void *m); /* m NULL: init was not called, or failed */
int tgcrt_metal_state_reset(const tgcrt_net *net, void *m);
int tgcrt_metal_state_get(const tgcrt_net *net, void *m, size_t k, void *value);
int tgcrt_metal_state_put(const tgcrt_net *net, void *m, size_t k, const void *value);
int tgcrt_metal_state_save(const tgcrt_net *net, void *m, void *saved, size_t bytes);
int tgcrt_metal_state_load(const tgcrt_net *net, void *m, const void *saved, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
