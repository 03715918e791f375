/* SPDX-License-Identifier: 0BSD */
/* tgcrt_device.h: the runtime of bundles whose kernels run on a device. The interface to the device is OpenCL, CUDA or Metal.
 * C99, usable from C++. In a program, all bundles for one interface share one runtime file: tgcrt_opencl.c, tgcrt_cuda.c or
 * tgcrt_metal.c. A block is a group of threads that share memory (work-group). A launch runs one kernel function in a grid of
 * blocks. Functions of type int return a status of tgcrt.h, such as TGCRT_OK. NAME stands for the name of a bundle, as in
 * tgcrt.h. */
#ifndef TGCRT_DEVICE_H
#define TGCRT_DEVICE_H
#include "tgcrt.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- for callers ---- */

/* Says which device NAME_open opens, and how. 0 or NULL in a field stands for the field's default. */
typedef struct tgcrt_device {
  /* Names the device. A text of digits is the device's number: the devices of all platforms are numbered together, from 0. Any
   * other text is a part of the device's name, in capital or small letters. If `name` is NULL or "", the environment variable
   * NAME_DEVICE, with NAME in capitals, is read in place of `name`. If the variable is not set, or is "", OpenCL uses the first
   * GPU or, if there is no GPU, the first device. CUDA then uses the first device, and Metal the system's default device. */
  const char *name;
  /* Objects of the caller that NAME_open uses. NULL: NAME_open chooses a device, and makes a context and a queue.
   * - OpenCL: a cl_context, cl_device_id and cl_command_queue. The queue must run commands in order. A queue determines the
   *   context and the device. If only the context is given, the context's first device is used. If any of the three is given,
   *   `name` is ignored.
   * - CUDA: a CUcontext, and a CUstream as the queue. A stream determines the context, and a context determines the device. If
   *   `queue` and `context` are NULL, `name` decides, and the device's primary context is used. `device` is ignored.
   * - Metal: an id<MTLDevice>, and an id<MTLCommandQueue> as the queue. A queue determines the device. There is no context. */
  void *context, *device, *queue;
  /* OpenCL: path of a file that keeps the compiled kernels; NULL: each NAME_init compiles them. Metal: path of a library that the
   * bundle's build.sh has made; the library is only read. CUDA ignores this field. The path must stay valid until NAME_init
   * ends. */
  const char *cache;
  /* Called with log_arg and a message if a function fails. Also called with the log of the driver's compiler, if that
   * compiler refuses the kernels. NULL: messages are dropped */
  void (*log)(void *arg, const char *text);
  void *log_arg;
  int64_t wait_ms;   /* most milliseconds that a function such as NAME_run waits for the device; 0: 60000 */
  /* 1: NAME_init records all launches of a run, if the driver can do that. Then a run is one command. -1: launches are not
   * recorded. 0: as -1 with OpenCL, as 1 with CUDA. Metal ignores this field. With OpenCL, launches are never recorded if a state
   * has tgcrt_state.slots above 1, since the place of this state changes from run to run. */
  int replay;
  int own; /* private: which of the objects NAME_open has made */
} tgcrt_device;

enum { TGCRT_DEVICE_RUNS = 64 }; /* most runs of a context that have begun but have not ended */

/* Facts that a driver reports about a device. Facts that the driver does not report are 0 or "" */
typedef struct tgcrt_device_facts {
  char name[256], driver[256], version[256];
  int is_gpu, is_cpu;    /* 1 or 0 */
  uint32_t units;        /* number of units that run blocks in parallel */
  uint32_t max_threads;  /* most threads of a block */
  uint64_t shared_bytes; /* most bytes of shared memory of a block */
  int shared_is_fast;    /* 1: shared memory is separate from the device's memory; 0: it is a part of the device's memory */
  uint64_t memory, largest; /* bytes of the device's memory; most bytes of one buffer */
  uint32_t abilities;    /* TGCRT_NEEDS_ bits that the device supports */
  uint32_t arch;         /* CUDA: 90 is compute capability 9.0 */
} tgcrt_device_facts;

/* ---- for bundles: constant tables ---- */

enum { /* abilities that some kernels need and not all devices have; the meaning of a bit never changes */
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
  TGCRT_PLACE_STATE = 4, /* a state's value, in work memory. If tgcrt_state.slots is above 1, the value begins cursor *
                            tgcrt_state.step bytes after tgcrt_place.at */
  TGCRT_PLACE_NEXT = 5   /* work memory for the value that a state has after the run. If tgcrt_state.slots is 2, the value
                            alternates between two places, and NEXT is the place that does not hold the current value */
};

typedef struct tgcrt_place { /* the place of a buffer that a launch accesses */
  uint8_t memory;  /* TGCRT_PLACE_ */
  uint32_t number; /* number of the input, output or state, from 0 */
  uint64_t at;     /* offset in the memory, in bytes */
} tgcrt_place;

/* A launch runs one function. The function's parameters are the buffers of the launch. With OpenCL, a buffer has two parameters:
 * the memory, and an offset in bytes. With CUDA or Metal, a buffer has one parameter: the buffer's address. */
typedef struct tgcrt_launch {
  uint32_t function, first, n; /* index of the function; the n buffers are places[first] to places[first + n - 1] */
  uint32_t grid[3], block[3];  /* number of blocks, and of threads of a block, in each dimension; none is 0 */
} tgcrt_launch;

enum { TGCRT_IMAGE_CUBIN = 1, TGCRT_IMAGE_PTX = 2, TGCRT_IMAGE_FATBIN = 3 };
typedef struct tgcrt_image {   /* compiled kernels, for CUDA */
  uint32_t kind, arch;         /* kind: TGCRT_IMAGE_. arch: least compute capability, 90 for 9.0. A cubin runs only on devices
                                  whose major capability equals that of arch */
  const unsigned char *bytes;  /* PTX ends with a NUL, which n does not count */
  size_t n;                    /* number of bytes; 0: the image contains its own size */
} tgcrt_image;

typedef struct tgcrt_net {       /* a model */
  const char *variable;          /* name of the environment variable that names the device: "NET_DEVICE" */
  const char *const *text;       /* source of the kernels, in ntext pieces */
  size_t ntext;
  const char *options;           /* options for the driver's compiler */
  const char *const *functions;  /* names of the functions in the source */
  size_t nfunctions;
  const tgcrt_launch *launches;  /* in execution order */
  size_t nlaunches;
  const tgcrt_place *places;     /* the buffers of all launches */
  size_t work_bytes;             /* bytes of work memory: intermediate values, states, the guard, the table of tgcrt_run_sizes */
  size_t weight_bytes;
  const size_t *input_bytes, *output_bytes; /* bytes of each input, and of each output */
  size_t ninputs, noutputs;
  const tgcrt_state *states;     /* nstates states. The memory of all states begins at offset state_at of work memory. The cursors
                                    in this memory are unused, because the host keeps the cursors */
  size_t nstates, state_at;
  size_t guard_at;               /* offset of the guard, a byte of work memory; (size_t)-1: there is no guard. Bit 0 is set if
                                    a run has clamped an index, and bit 1 if a result had too many rows */
  uint32_t needs;                /* abilities that the kernels need: TGCRT_NEEDS_ bits */
  uint32_t max_block;            /* threads of the largest block */
  uint32_t shared_bytes;         /* most bytes of shared memory of a block */
  const tgcrt_image *images;     /* CUDA: nimages images, of which the runtime chooses one. A net with images has no text */
  size_t nimages;
} tgcrt_net;

/* The sizes that a context has set, for a model with ranges of sizes */
typedef struct tgcrt_run_sizes {
  size_t at, n;              /* the table that kernels read: n numbers of 64 bits, in work memory from byte `at` on */
  const int64_t *table;      /* these n numbers, on the host */
  const size_t *input_bytes, *output_bytes; /* bytes that a run accesses of each input and of each output */
  size_t *fetched;           /* the runtime sets this: bytes of each output that are copied to the host when a run is done */
  int changed;               /* 1: the numbers of `table` have not been copied to the device yet */
} tgcrt_run_sizes;

/* ---- OpenCL 1.2: tgcrt_opencl.c. The first call opens the driver's library; programs are not linked with that library. ---- */

/* Fills in *facts for the device with this number, counted as in tgcrt_device.name. Returns TGCRT_DEVICE if there is no such
 * device. log, log_arg: as in tgcrt_device */
int tgcrt_opencl_facts(size_t number, tgcrt_device_facts *facts, void (*log)(void *arg, const char *text), void *log_arg);

int tgcrt_opencl_describe(const tgcrt_device *open, tgcrt_device_facts *facts); /* fills in *facts for an open device */

/* Bytes of a context's memory on the host (NAME_ARENA_BYTES). launches, inputs, outputs, states: how many of them the model has.
 * The memory must be aligned to TGCRT_ALIGN */
#define TGCRT_OPENCL_BYTES(launches, inputs, outputs, states) \
  ((1024 + 8 * ((launches) + (inputs) + (outputs) + (states)) + 63) / 64 * 64)

/* A bundle's functions, such as NAME_open and NAME_init (docs/devices.md), check their arguments. Then each of them calls the
 * function below whose name ends in the same way. open: the device, filled in by tgcrt_opencl_open. m: the context's memory on
 * the host. in, out: for each input and each output, a pointer to its data on the host; for run_on, the handle of a buffer on the
 * device. ms: most milliseconds to wait; a negative ms stands for tgcrt_device.wait_ms. nanoseconds: gets the time of each
 * launch. k: number of a state. bytes: size of the memory `saved`. */
int tgcrt_opencl_open(const tgcrt_net *net, const tgcrt_device *wanted, tgcrt_device *open); /* wanted may be NULL */
int tgcrt_opencl_init(const tgcrt_net *net, const tgcrt_device *open, void *m, const void *weights);
/* For models with ranges of sizes: sets the sizes of the next runs. `sizes` must stay valid until the context is closed. */
void tgcrt_opencl_sizes(void *m, tgcrt_run_sizes *sizes);
int tgcrt_opencl_run(const tgcrt_net *net, void *m, const void *const *in, void *const *out);
int tgcrt_opencl_run_on(const tgcrt_net *net, void *m, void *const *in, void *const *out);
int tgcrt_opencl_sync(const tgcrt_net *net, void *m, int64_t ms);
int tgcrt_opencl_profile(const tgcrt_net *net, void *m, const void *const *in, void *const *out, uint64_t *nanoseconds);
/* Runs only n launches in order, from launch `first` on. nanoseconds[i] gets the time of launch first + i. The launches read the
 * values that the device's memory already holds: no input is copied, and no state moves. With OpenCL and CUDA, a launch's time
 * includes the pause since the end of the previous launch. */
int tgcrt_opencl_profile_part(const tgcrt_net *net, void *m, size_t first, size_t n, uint64_t *nanoseconds);
int tgcrt_opencl_close(const tgcrt_net *net, tgcrt_device *open, void *m); /* m NULL: init was not called, or has failed */
int tgcrt_opencl_state_reset(const tgcrt_net *net, void *m);
int tgcrt_opencl_state_get(const tgcrt_net *net, void *m, size_t k, void *value);
int tgcrt_opencl_state_put(const tgcrt_net *net, void *m, size_t k, const void *value);
int tgcrt_opencl_state_save(const tgcrt_net *net, void *m, void *saved, size_t bytes);
int tgcrt_opencl_state_load(const tgcrt_net *net, void *m, const void *saved, size_t bytes);

/* ---- CUDA: tgcrt_cuda.c. The first call opens the driver's library. tgcrt_cuda_X does what tgcrt_opencl_X does. ---- */

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
int tgcrt_cuda_close(const tgcrt_net *net, tgcrt_device *open, void *m); /* m NULL: init was not called, or has failed */
int tgcrt_cuda_state_reset(const tgcrt_net *net, void *m);
int tgcrt_cuda_state_get(const tgcrt_net *net, void *m, size_t k, void *value);
int tgcrt_cuda_state_put(const tgcrt_net *net, void *m, size_t k, const void *value);
int tgcrt_cuda_state_save(const tgcrt_net *net, void *m, void *saved, size_t bytes);
int tgcrt_cuda_state_load(const tgcrt_net *net, void *m, const void *saved, size_t bytes);

/* ---- Metal: tgcrt_metal.c. The first call opens the system's libraries. tgcrt_metal_X does what tgcrt_opencl_X does. ---- */

int tgcrt_metal_facts(size_t number, tgcrt_device_facts *facts, void (*log)(void *arg, const char *text), void *log_arg);
int tgcrt_metal_describe(const tgcrt_device *open, tgcrt_device_facts *facts);
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
int tgcrt_metal_close(const tgcrt_net *net, tgcrt_device *open, void *m); /* m NULL: init was not called, or has failed */
int tgcrt_metal_state_reset(const tgcrt_net *net, void *m);
int tgcrt_metal_state_get(const tgcrt_net *net, void *m, size_t k, void *value);
int tgcrt_metal_state_put(const tgcrt_net *net, void *m, size_t k, const void *value);
int tgcrt_metal_state_save(const tgcrt_net *net, void *m, void *saved, size_t bytes);
int tgcrt_metal_state_load(const tgcrt_net *net, void *m, const void *saved, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
