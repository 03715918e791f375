/* tgcrt_device.h: what bundles share whose kernels run on a device: how a caller names the device, and the tables that
 * describe a model to the runtime. C99, usable from C++. Several such bundles in one program need one tgcrt_opencl.c, and one
 * tgcrt_cuda.c. */
#ifndef TGCRT_DEVICE_H
#define TGCRT_DEVICE_H
#include "tgcrt.h"
#ifdef __cplusplus
extern "C" {
#endif

/* ---- for callers ---- */

/* For NAME_open. All of it may be 0. */
typedef struct tgcrt_device {
  /* Which device: "1" is the second of all platforms' devices; any other text is a part of the device's name, in letters of
   * either case. NULL or "": what the environment variable NAME_DEVICE (in capitals) says. Without that, too: the first GPU,
   * else the first device. */
  const char *name;
  /* OpenCL: the caller's cl_context, cl_device_id and cl_command_queue, which must run commands in order. NULL: own ones. A
   * queue brings its context and its device, a context its first device. Then the name is not looked at.
   * CUDA: the caller's CUcontext, and its CUstream as the queue; NULL: the device's primary context, and a stream of its own.
   * A stream brings its context, and a context its device; `device` is not looked at, because a CUdevice may be 0.
   * Metal: the caller's id<MTLDevice> and id<MTLCommandQueue>, which brings its device; no context. */
  void *context, *device, *queue;
  const char *cache; /* path of a file that keeps the built kernels, valid until NAME_init; NULL: each NAME_init builds them.
                      * Metal: of a library that the bundle's build.sh has made; it is only read */
  /* Is told why a function fails, and what the driver's compiler says; NULL: nobody hears. */
  void (*log)(void *arg, const char *text);
  void *log_arg;
  int64_t wait_ms;   /* how long NAME_run and others wait for the device at most; 0: 60000 */
  /* Launches that NAME_init has recorded are handed over as one command, if the driver can do that. 1: yes, -1: no, 0: what suits
   * most drivers of the interface. OpenCL: 0 is no, and NAME_run replays where no state moves. CUDA: 0 is yes. */
  int replay;
  int own; /* after NAME_open: what it has made for the context; nothing for callers */
} tgcrt_device;

enum { TGCRT_DEVICE_RUNS = 64 }; /* how many runs of a context may wait for the device */

/* What a driver says of a device */
typedef struct tgcrt_device_facts {
  char name[256], driver[256], version[256];
  int is_gpu, is_cpu;
  uint32_t units;        /* that run blocks side by side */
  uint32_t max_threads;  /* of a block */
  uint64_t shared_bytes; /* of a block */
  int shared_is_fast;    /* it is memory of its own, not a part of the device's memory */
  uint64_t memory, largest; /* bytes, and of one buffer */
  uint32_t abilities;    /* TGCRT_NEEDS_ bits of what it has */
  uint32_t arch;         /* CUDA: 90 is compute capability 9.0 */
} tgcrt_device_facts;

/* ---- for models: constant tables ---- */

enum { /* what kernels need, beside what every device has; pinned */
  TGCRT_NEEDS_F64 = 1,
  TGCRT_NEEDS_F16 = 2,
  TGCRT_NEEDS_SUBGROUPS = 4,
  TGCRT_NEEDS_INT_DOT = 8 /* products of four bytes, summed */
};

enum { /* where a buffer lies */
  TGCRT_PLACE_WORK = 0,
  TGCRT_PLACE_WEIGHTS = 1,
  TGCRT_PLACE_INPUT = 2,
  TGCRT_PLACE_OUTPUT = 3,
  TGCRT_PLACE_STATE = 4, /* in work memory, `at` where it is for cursor 0; it moves with the state's cursor */
  TGCRT_PLACE_NEXT = 5   /* likewise the state's next value: of two places the one where the state is not */
};

typedef struct tgcrt_place { /* of one buffer of a launch */
  uint8_t memory;  /* TGCRT_PLACE_ */
  uint32_t number; /* of the input, output or state */
  uint64_t at;     /* bytes, from the beginning of that memory */
} tgcrt_place;

/* A kernel of OpenCL has two parameters for each of its buffers: the memory, and bytes from its beginning on (ulong). One of CUDA
 * has one parameter: the address where the buffer begins, 64 bits. */
typedef struct tgcrt_launch {
  uint32_t function, first, n; /* a number of functions[]; its buffers are places[first] to places[first + n - 1] */
  uint32_t grid[3], block[3];  /* blocks, and threads of a block; none of them is 0 */
} tgcrt_launch;

enum { TGCRT_IMAGE_CUBIN = 1, TGCRT_IMAGE_PTX = 2, TGCRT_IMAGE_FATBIN = 3 };
typedef struct tgcrt_image {   /* the kernels, compiled */
  uint32_t kind, arch;         /* TGCRT_IMAGE_; 90: compute capability 9.0; of PTX and of a fatbin the least */
  const unsigned char *bytes;  /* PTX ends in a NUL, which n does not count */
  size_t n;                    /* 0: not known, the image says it itself */
} tgcrt_image;

typedef struct tgcrt_net {
  const char *variable;          /* of the environment: "NET_DEVICE" */
  const char *const *text;       /* source of the kernels, in pieces */
  size_t ntext;
  const char *options;           /* of the driver's compiler */
  const char *const *functions;
  size_t nfunctions;
  const tgcrt_launch *launches;  /* in order */
  size_t nlaunches;
  const tgcrt_place *places;
  size_t work_bytes;             /* intermediate values, then states, then the guard */
  size_t weight_bytes;
  const size_t *input_bytes, *output_bytes;
  size_t ninputs, noutputs;
  const tgcrt_state *states;     /* their places count from state_at of work memory on; a cursor of 0 each is there unused */
  size_t nstates, state_at;
  size_t guard_at;               /* a byte of work memory that each run writes, not 0 where it clamped an index; (size_t)-1: no */
  uint32_t needs;                /* TGCRT_NEEDS_ */
  uint32_t max_block;            /* threads of the largest block */
  uint32_t shared_bytes;         /* of the launch that has most of it */
  const tgcrt_image *images;     /* CUDA: what to choose from; the text is not there then */
  size_t nimages;
} tgcrt_net;

/* ---- OpenCL 1.2: tgcrt_opencl.c. It opens the driver's library when it is called; programs link nothing for it. ---- */

/* Of device `number`, counted as for tgcrt_device.name. TGCRT_DEVICE: there is none. log as in tgcrt_device, or NULL */
int tgcrt_opencl_facts(size_t number, tgcrt_device_facts *facts, void (*log)(void *arg, const char *text), void *log_arg);

int tgcrt_opencl_describe(const tgcrt_device *open, tgcrt_device_facts *facts); /* the same of a device that is open */

/* Host memory of a context, aligned to TGCRT_ALIGN: NET_ARENA_BYTES */
#define TGCRT_OPENCL_BYTES(launches, inputs, outputs, states) \
  ((1024 + 8 * ((launches) + (inputs) + (outputs) + (states)) + 63) / 64 * 64)

/* For the model's own functions, which check their arguments. m is that host memory. */
int tgcrt_opencl_open(const tgcrt_net *net, const tgcrt_device *wanted, tgcrt_device *open); /* wanted may be NULL */
int tgcrt_opencl_init(const tgcrt_net *net, const tgcrt_device *open, void *m, const void *weights);
int tgcrt_opencl_run(const tgcrt_net *net, void *m, const void *const *in, void *const *out);
int tgcrt_opencl_run_on(const tgcrt_net *net, void *m, void *const *in, void *const *out);
int tgcrt_opencl_sync(const tgcrt_net *net, void *m, int64_t ms);
int tgcrt_opencl_profile(const tgcrt_net *net, void *m, const void *const *in, void *const *out, uint64_t *nanoseconds);
/* Some launches alone, in order and on what memory holds: no input is copied, no state moves. A launch's time begins where the
 * one before it ended. */
int tgcrt_opencl_profile_part(const tgcrt_net *net, void *m, size_t first, size_t n, uint64_t *nanoseconds);
int tgcrt_opencl_close(const tgcrt_net *net, tgcrt_device *open, void *m); /* m NULL: init was not called, or failed */
int tgcrt_opencl_state_reset(const tgcrt_net *net, void *m);
int tgcrt_opencl_state_get(const tgcrt_net *net, void *m, size_t k, void *value);
int tgcrt_opencl_state_put(const tgcrt_net *net, void *m, size_t k, const void *value);
int tgcrt_opencl_state_save(const tgcrt_net *net, void *m, void *saved, size_t bytes);
int tgcrt_opencl_state_load(const tgcrt_net *net, void *m, const void *saved, size_t bytes);

/* ---- CUDA: tgcrt_cuda.c. It opens the driver's library when it is called; programs link nothing for it. ---- */

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

/* ---- Metal: tgcrt_metal.c. It opens the system's libraries when it is called; programs link nothing for it. ---- */

int tgcrt_metal_facts(size_t number, tgcrt_device_facts *facts, void (*log)(void *arg, const char *text), void *log_arg);
int tgcrt_metal_describe(const tgcrt_device *open, tgcrt_device_facts *facts); /* the same of a device that is open */
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
