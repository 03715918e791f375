/* SPDX-License-Identifier: 0BSD */
/* tgcrt_device.h: the runtime of bundles whose kernels run on a device, through OpenCL, CUDA or Metal (the interface). It has a
 * struct by which a caller names the device, and tables by which a bundle describes its model. C99, usable from C++. All bundles
 * for one interface share one runtime file in a program: tgcrt_opencl.c, tgcrt_cuda.c or tgcrt_metal.c. A block is a group of
 * threads that share memory (work-group). A launch starts a grid of blocks. Functions of type int return a status of tgcrt.h. */
#ifndef TGCRT_DEVICE_H
#define TGCRT_DEVICE_H
#include "tgcrt.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- for callers ---- */

/* The device to use, for NAME_open. A field that is 0 or NULL has its default. */
typedef struct tgcrt_device {
  /* Names the device. A number counts the devices of all platforms from 0. Any other text is a part of the device's name, without
   * regard to case. NULL or "": the environment variable NAME_DEVICE (NAME in capitals) names the device in the same way. Without
   * the variable, the first GPU is used, or else the first device. */
  const char *name;
  /* Objects of the caller to use; NULL: NAME_open makes them.
   * - OpenCL: a cl_context, cl_device_id and cl_command_queue. The queue must run commands in order. A queue determines the
   *   context and the device. If there is a context and no queue, the context's first device is used. In both cases `name` is
   *   ignored.
   * - CUDA: a CUcontext, and a CUstream as the queue. Without a context, the device's primary context is used. A stream
   *   determines the context, and a context the device. `device` is ignored, because a CUdevice may be 0.
   * - Metal: an id<MTLDevice>, and an id<MTLCommandQueue> as the queue. A queue determines the device. There is no context. */
  void *context, *device, *queue;
  /* Path of a file that keeps the compiled kernels; NULL: each NAME_init compiles them. The text must be valid until NAME_init.
   * Metal: path of a library that the bundle's build.sh has made; the file is only read. */
  const char *cache;
  /* Called with log_arg and a message if a function fails, and for each message of the driver's compiler. NULL: no messages */
  void (*log)(void *arg, const char *text);
  void *log_arg;
  int64_t wait_ms;   /* most milliseconds that a function such as NAME_run waits for the device; 0: 60000 */
  /* Whether NAME_init records all launches, so that a run is one command, if the driver can do that. 1: yes. -1: no. 0: no for
   * OpenCL, yes for CUDA, which is better with most drivers. Metal ignores this field. With OpenCL, launches of models whose
   * states move are never recorded. */
  int replay;
  int own; /* private: which of the objects NAME_open has made */
} tgcrt_device;

enum { TGCRT_DEVICE_RUNS = 64 }; /* most runs of a context that have begun and not ended */

/* Facts that a driver reports about a device */
typedef struct tgcrt_device_facts {
  char name[256], driver[256], version[256];
  int is_gpu, is_cpu;    /* 1 or 0 */
  uint32_t units;        /* number of units that run blocks in parallel */
  uint32_t max_threads;  /* most threads of a block */
  uint64_t shared_bytes; /* most bytes of shared memory of a block */
  int shared_is_fast;    /* 1: shared memory is separate from the device's memory; 0: it is a part of the latter */
  uint64_t memory, largest; /* bytes of the device's memory; most bytes of one buffer */
  uint32_t abilities;    /* TGCRT_NEEDS_ bits that the device supports */
  uint32_t arch;         /* CUDA: 90 is compute capability 9.0 */
} tgcrt_device_facts;

/* ---- for bundles: constant tables ---- */

enum { /* abilities of devices that some kernels need and not all devices have; the bits never change */
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
  TGCRT_PLACE_STATE = 4, /* a state's value, in work memory. `at`: the place for cursor 0; the place moves with the cursor */
  TGCRT_PLACE_NEXT = 5   /* the next value of a state that has two places in work memory: the place without the value of now */
};

typedef struct tgcrt_place { /* the place of a buffer that a launch accesses */
  uint8_t memory;  /* TGCRT_PLACE_ */
  uint32_t number; /* number of the input, output or state, from 0 */
  uint64_t at;     /* offset in that memory, in bytes */
} tgcrt_place;

/* A launch runs one function. For each of its buffers, a function of OpenCL has two parameters: the memory, and an offset in
 * bytes. A function of CUDA or Metal has one parameter for each buffer: the buffer's address. */
typedef struct tgcrt_launch {
  uint32_t function, first, n; /* index of the function; its n buffers are places[first] to places[first + n - 1] */
  uint32_t grid[3], block[3];  /* number of blocks, and of threads of a block, in each dimension; none is 0 */
} tgcrt_launch;

enum { TGCRT_IMAGE_CUBIN = 1, TGCRT_IMAGE_PTX = 2, TGCRT_IMAGE_FATBIN = 3 };
typedef struct tgcrt_image {   /* compiled kernels, for CUDA */
  uint32_t kind, arch;         /* kind: TGCRT_IMAGE_. arch: 90 is compute capability 9.0; PTX and fatbins run from it on */
  const unsigned char *bytes;  /* PTX ends with a NUL, which n does not count */
  size_t n;                    /* number of bytes; 0: the image itself contains its size */
} tgcrt_image;

typedef struct tgcrt_net {       /* a model */
  const char *variable;          /* name of the environment variable: "NET_DEVICE" */
  const char *const *text;       /* source of the kernels, in ntext pieces */
  size_t ntext;
  const char *options;           /* options for the driver's compiler */
  const char *const *functions;  /* names of the functions in the source */
  size_t nfunctions;
  const tgcrt_launch *launches;  /* in execution order */
  size_t nlaunches;
  const tgcrt_place *places;     /* the buffers of all launches */
  size_t work_bytes;             /* bytes of work memory: intermediate values, then states, then the guard */
  size_t weight_bytes;
  const size_t *input_bytes, *output_bytes; /* bytes of each input, and of each output */
  size_t ninputs, noutputs;
  const tgcrt_state *states;     /* in work memory, from state_at on: unused room for the cursors, then the states */
  size_t nstates, state_at;
  size_t guard_at;               /* offset of the guard, a byte of work memory; (size_t)-1: there is none. A run sets bit 0 if it
                                    has clamped an index, and bit 1 if a result had too many rows */
  uint32_t needs;                /* TGCRT_NEEDS_ bits */
  uint32_t max_block;            /* threads of the largest block */
  uint32_t shared_bytes;         /* most bytes of shared memory of a block */
  const tgcrt_image *images;     /* CUDA: nimages images, of which the runtime chooses one. A net with images has no text */
  size_t nimages;
} tgcrt_net;

/* A model for ranges of sizes: the sizes that are set. It belongs to the context. */
typedef struct tgcrt_run_sizes {
  size_t at, n;              /* the table that kernels read: n numbers of 64 bits, in work memory from `at` on */
  const int64_t *table;      /* the numbers */
  const size_t *input_bytes, *output_bytes; /* bytes that a run accesses of each input and of each output */
  size_t *fetched;           /* set by the runtime: bytes of each output that it copies to the host when a run is done */
  int changed;               /* 1: the device does not have the numbers yet */
} tgcrt_run_sizes;

/* ---- OpenCL 1.2: tgcrt_opencl.c. It opens the driver's library when it is first used; programs are not linked with it. ---- */

/* Fills in *facts about the device with this number, which counts as in tgcrt_device.name. Returns TGCRT_DEVICE if there is no
 * such device. log, log_arg: as in tgcrt_device */
int tgcrt_opencl_facts(size_t number, tgcrt_device_facts *facts, void (*log)(void *arg, const char *text), void *log_arg);

int tgcrt_opencl_describe(const tgcrt_device *open, tgcrt_device_facts *facts); /* the same for a device that is open */

/* Bytes of a context's memory on the host, NAME_ARENA_BYTES; the memory must be aligned to TGCRT_ALIGN */
#define TGCRT_OPENCL_BYTES(launches, inputs, outputs, states) \
  ((1024 + 8 * ((launches) + (inputs) + (outputs) + (states)) + 63) / 64 * 64)

/* The bundle's functions of the same names call these, after they have checked their arguments: NAME_open, NAME_init and so on
 * (docs/devices.md). m: the context's memory on the host. in, out: arrays with a pointer for each input and each output. It
 * points to data on the host; for run_on, it is a buffer on the device. ms: limit of the wait in milliseconds. nanoseconds:
 * receives the time of each launch. k: number of a state. bytes: size of `saved`. */
int tgcrt_opencl_open(const tgcrt_net *net, const tgcrt_device *wanted, tgcrt_device *open); /* wanted may be NULL */
int tgcrt_opencl_init(const tgcrt_net *net, const tgcrt_device *open, void *m, const void *weights);
/* Tells the sizes of the runs to come. A context of such a model calls it before each run. */
void tgcrt_opencl_sizes(void *m, tgcrt_run_sizes *sizes);
int tgcrt_opencl_run(const tgcrt_net *net, void *m, const void *const *in, void *const *out);
int tgcrt_opencl_run_on(const tgcrt_net *net, void *m, void *const *in, void *const *out);
int tgcrt_opencl_sync(const tgcrt_net *net, void *m, int64_t ms);
int tgcrt_opencl_profile(const tgcrt_net *net, void *m, const void *const *in, void *const *out, uint64_t *nanoseconds);
/* Runs only n launches, from launch `first` on, in order. They read the values that the device's memory holds now. No input is
 * copied, and no state moves. The time of a launch begins at the end of the launch before it. */
int tgcrt_opencl_profile_part(const tgcrt_net *net, void *m, size_t first, size_t n, uint64_t *nanoseconds);
int tgcrt_opencl_close(const tgcrt_net *net, tgcrt_device *open, void *m); /* m NULL: init was not called, or it failed */
int tgcrt_opencl_state_reset(const tgcrt_net *net, void *m);
int tgcrt_opencl_state_get(const tgcrt_net *net, void *m, size_t k, void *value);
int tgcrt_opencl_state_put(const tgcrt_net *net, void *m, size_t k, const void *value);
int tgcrt_opencl_state_save(const tgcrt_net *net, void *m, void *saved, size_t bytes);
int tgcrt_opencl_state_load(const tgcrt_net *net, void *m, const void *saved, size_t bytes);

/* ---- CUDA: tgcrt_cuda.c. It opens the driver's library when it is first used. The functions are those of OpenCL. ---- */

int tgcrt_cuda_facts(size_t number, tgcrt_device_facts *facts, void (*log)(void *arg, const char *text), void *log_arg);
int tgcrt_cuda_describe(const tgcrt_device *open, tgcrt_device_facts *facts);
#define TGCRT_CUDA_BYTES(launches, inputs, outputs, states) \
  ((1024 + 8 * (2 * (launches) + 3 * (inputs) + 4 * (outputs) + (states)) + 63) / 64 * 64)
int tgcrt_cuda_open(const tgcrt_net *net, const tgcrt_device *wanted, tgcrt_device *open); /* wanted may be NULL */
int tgcrt_cuda_init(const tgcrt_net *net, const tgcrt_device *open, void *m, const void *weights);
void tgcrt_cuda_sizes(void *m, tgcrt_run_sizes *sizes);
int tgcrt_cuda_run(const tgcrt_net *net, void *m, const void *const *in, void *const *out);
int tgcrt_cuda_run_on(const tgcrt_net *net, void *m, void *const *in, void *const *out);
int tgcrt_cuda_sync(const tgcrt_net *net, void *m, int64_t ms);
int tgcrt_cuda_profile(const tgcrt_net *net, void *m, const void *const *in, void *const *out, uint64_t *nanoseconds);
int tgcrt_cuda_profile_part(const tgcrt_net *net, void *m, size_t first, size_t n, uint64_t *nanoseconds);
int tgcrt_cuda_close(const tgcrt_net *net, tgcrt_device *open, void *m); /* m NULL: init was not called, or it failed */
int tgcrt_cuda_state_reset(const tgcrt_net *net, void *m);
int tgcrt_cuda_state_get(const tgcrt_net *net, void *m, size_t k, void *value);
int tgcrt_cuda_state_put(const tgcrt_net *net, void *m, size_t k, const void *value);
int tgcrt_cuda_state_save(const tgcrt_net *net, void *m, void *saved, size_t bytes);
int tgcrt_cuda_state_load(const tgcrt_net *net, void *m, const void *saved, size_t bytes);

/* ---- Metal: tgcrt_metal.c. It opens the system's libraries when it is first used. The functions are those of OpenCL. ---- */

int tgcrt_metal_facts(size_t number, tgcrt_device_facts *facts, void (*log)(void *arg, const char *text), void *log_arg);
int tgcrt_metal_describe(const tgcrt_device *open, tgcrt_device_facts *facts); /* the same for an open device */
#define TGCRT_METAL_BYTES(launches, inputs, outputs, states) \
  ((2048 + 8 * ((launches) + (inputs) + 2 * (outputs) + (states)) + 63) / 64 * 64)
int tgcrt_metal_open(const tgcrt_net *net, const tgcrt_device *wanted, tgcrt_device *open); /* wanted may be NULL */
int tgcrt_metal_init(const tgcrt_net *net, const tgcrt_device *open, void *m, const void *weights);
void tgcrt_metal_sizes(void *m, tgcrt_run_sizes *sizes);
int tgcrt_metal_run(const tgcrt_net *net, void *m, const void *const *in, void *const *out);
int tgcrt_metal_run_on(const tgcrt_net *net, void *m, void *const *in, void *const *out);
int tgcrt_metal_sync(const tgcrt_net *net, void *m, int64_t ms);
int tgcrt_metal_profile(const tgcrt_net *net, void *m, const void *const *in, void *const *out, uint64_t *nanoseconds);
int tgcrt_metal_profile_part(const tgcrt_net *net, void *m, size_t first, size_t n, uint64_t *nanoseconds);
int tgcrt_metal_close(const tgcrt_net *net, tgcrt_device *open, void *m); /* m NULL: init was not called, or it failed */
int tgcrt_metal_state_reset(const tgcrt_net *net, void *m);
int tgcrt_metal_state_get(const tgcrt_net *net, void *m, size_t k, void *value);
int tgcrt_metal_state_put(const tgcrt_net *net, void *m, size_t k, const void *value);
int tgcrt_metal_state_save(const tgcrt_net *net, void *m, void *saved, size_t bytes);
int tgcrt_metal_state_load(const tgcrt_net *net, void *m, const void *saved, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
