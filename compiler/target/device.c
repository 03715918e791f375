/* SPDX-License-Identifier: MIT */
/* device.c: the devices that tgc knows, as Targets with a Device. Their CPU facts are neutral: no vectors, and no caches that a
 * schedule could rely on.
 *
 * needs: nothing    gives: rows    breaks: nothing */
#include "target.h"
#include <string.h>

/* Every GPU has twice as many registers as .sums for each of its threads. Costs are estimates for common GPUs. NVIDIA's barriers,
 * memory and launches were measured on H200s, by networks with 69 settings of limits and costs (docs/devices.md). Parts of sums
 * are in the second-level cache, and a graph starts its next launch within about 1.3 us. */
#define COSTS(of_memory, of_launch, of_parts) \
  .sums = 16, .sums_long = 64, \
  .costs = { .copy = 5, .request = 4, .barrier = 30, .term = 2, .memory = of_memory, .launch = of_launch, .doubt = of_parts }
#define USUAL COSTS(32, 1e6, 1.5)

/* The minimum that a GPU with OpenCL 1.2 must offer. Blocks of 256 threads are an exception, which all current GPUs support.
 * Grids have no limits in OpenCL; these are those of a 32-bit size_t. Warps, banks and units are those of common GPUs: only
 * schedules depend on them. */
#define OPENCL_FEATURES (DEVF_F16 | DEVF_SUBGROUPS | DEVF_INT_DOT)
static const Device opencl = {
  .may_have = OPENCL_FEATURES,
  .warp = 32, .max_threads = 256, .max_grid = { INT32_MAX, INT32_MAX, INT32_MAX }, .shared_bytes = 32768, .shared_banks = 32,
  .segment = 64, .max_args = 128, .units = 32, .unit_threads = 512, USUAL, .load_bytes = 16, .shared_is_fast = true,
  .interface = "opencl",
};
/* A GPU whose shared memory is ordinary memory, as on many phones: copies to it gain nothing. */
static const Device opencl_cached = {
  .may_have = OPENCL_FEATURES,
  .warp = 16, .max_threads = 256, .max_grid = { INT32_MAX, INT32_MAX, INT32_MAX }, .shared_bytes = 32768, .shared_banks = 1,
  .segment = 64, .max_args = 128, .units = 16, .unit_threads = 256, USUAL, .load_bytes = 16, .interface = "opencl",
};
/* No machine, but the minimum of all backends, so that all of them accept its programs. Tests use it; they count with its warps
 * and banks. WebGPU has the same blocks, grids and shared memory, but 8 buffers. */
static const Device gpu_any = {
  .may_have = OPENCL_FEATURES,
  .warp = 32, .max_threads = 256, .max_grid = { 65535, 65535, 65535 }, .shared_bytes = 16384, .shared_banks = 32, .segment = 32,
  .max_args = 31, .units = 32, .unit_threads = 512, USUAL, .load_bytes = 16, .shared_is_fast = true,
};

/* gpu-any with all matrix units, for their tests */
static const Device gpu_any_mma = {
  .warp = 32, .max_threads = 256, .max_grid = { 65535, 65535, 65535 }, .shared_bytes = 16384, .shared_banks = 32, .segment = 32,
  .max_args = 31, .units = 32, .unit_threads = 512, USUAL, .shared_is_fast = true,
  .matrix_units = "mma_16816f16 simdgroup_f16 simdgroup_f32",
};

/* GPUs of Apple. Threads and shared memory of a block, arguments and threads in lockstep are from Apple's tables of Metal's
 * features. The tables give no limit of a grid, so 32 bits are assumed. Units are those of the base models M1, M2 and M3. Apple
 * does not publish transactions, banks and the threads that fill a unit. */
#define APPLE(cores) \
  { .warp = 32, .max_threads = 1024, .max_grid = { INT32_MAX, INT32_MAX, INT32_MAX }, .shared_bytes = 32768, \
    .shared_banks = 32, .segment = 64, .max_args = 31, .units = cores, .unit_threads = 1024, USUAL, .shared_is_fast = true, \
    .no_f64 = true, .interface = "metal", .matrix_units = "simdgroup_f16 simdgroup_f32" }
static const Device apple7 = APPLE(8), apple8 = APPLE(10);

/* A CPU behind a driver of OpenCL: a block is the task of one thread. */
static const Device opencl_cpu = {
  .warp = 1, .max_threads = 1, .max_grid = { INT32_MAX, INT32_MAX, INT32_MAX }, .shared_bytes = 0, .shared_banks = 1, .segment = 64,
  .max_args = 64, .interface = "opencl", .may_have = DEVF_F16,
};

/* GPUs of NVIDIA by compute capability. Limits are from the CUDA C++ Programming Guide, "Compute Capabilities". They are warps
 * of 32, blocks of 1024 threads, 48 KiB of static shared memory, 65,536 registers, 4 KiB of parameters and sectors of 32 bytes. Units
 * (multiprocessors), bandwidth and FLOP/s are from the datasheet of the GPU that the row names. Half of a multiprocessor's
 * threads are assumed to fill it. */
#define CUDA(capability, multiprocessors, half, gb, gflop, matrix) \
  { .warp = 32, .max_threads = 1024, .max_grid = { INT32_MAX, 65535, 65535 }, .shared_bytes = 49152, .shared_banks = 32, \
    .segment = 32, .max_args = 512, .units = multiprocessors, .unit_threads = half, COSTS(12, 3e5, 1), .registers = 65536, \
    .arch = capability, .gigabytes = gb, .gigaflops = gflop, .shared_is_fast = true, .interface = "cuda", .matrix_units = matrix }
#define SM_75(matrix) CUDA(75, 40, 512, 320, 8100, matrix)
#define SM_80(matrix) CUDA(80, 108, 1024, 1555, 19500, matrix)
#define SM_86(matrix) CUDA(86, 72, 768, 600, 31200, matrix)
#define SM_89(matrix) CUDA(89, 128, 768, 1008, 82600, matrix)
#define SM_90(matrix) CUDA(90, 132, 1024, 3350, 67000, matrix)
#define SINCE_SM_80 "mma_16816f16"
static const Device cuda_sm_75 = SM_75(NULL), cuda_sm_80 = SM_80(NULL), cuda_sm_86 = SM_86(NULL), cuda_sm_89 = SM_89(NULL),
                    cuda_sm_90 = SM_90(NULL);
static const Device cuda_sm_80_mma = SM_80(SINCE_SM_80), cuda_sm_86_mma = SM_86(SINCE_SM_80), cuda_sm_89_mma = SM_89(SINCE_SM_80),
                    cuda_sm_90_mma = SM_90(SINCE_SM_80);

#define DEVICE(name, device, where) \
  { .isa = name, .arch = ARCH_ANY, .fma = true, .vector_regs = 64, .l1_bytes = 32768, .l2_bytes = 262144, .cores = 1, \
    .cflags = "", .triple = "", .llvm = "", .source = where, .dev = &(device) }
const Target device_targets[] = {
  DEVICE("opencl", opencl, "OpenCL 1.2: the least of a GPU"),
  DEVICE("opencl-cached", opencl_cached, "assumed: a GPU without fast shared memory"),
  DEVICE("gpu-any", gpu_any, "assumed: the least of OpenCL, CUDA and Metal"),
  DEVICE("gpu-any+mma", gpu_any_mma, "assumed: gpu-any with matrix units"),
  DEVICE("cuda-sm_75", cuda_sm_75, "NVIDIA's datasheet of T4"),
  DEVICE("cuda-sm_80", cuda_sm_80, "NVIDIA's datasheet of A100 40 GB"),
  DEVICE("cuda-sm_86", cuda_sm_86, "NVIDIA's datasheet of A10"),
  DEVICE("cuda-sm_89", cuda_sm_89, "NVIDIA's datasheet of RTX 4090"),
  DEVICE("cuda-sm_90", cuda_sm_90, "NVIDIA's datasheet of H100 SXM"),
  DEVICE("metal-apple7", apple7, "Apple's tables of features: Apple7, as M1 and A14"),
  DEVICE("metal-apple8", apple8, "Apple's tables of features: Apple8, as M2, A15 and A16"),
  DEVICE("metal-apple9", apple8, "Apple's tables of features: Apple9, as M3, M4 and A17"),
  DEVICE("cuda-sm_80+mma", cuda_sm_80_mma, "NVIDIA's datasheet of A100 40 GB"),
  DEVICE("cuda-sm_86+mma", cuda_sm_86_mma, "NVIDIA's datasheet of A10"),
  DEVICE("cuda-sm_89+mma", cuda_sm_89_mma, "NVIDIA's datasheet of RTX 4090"),
  DEVICE("cuda-sm_90+mma", cuda_sm_90_mma, "NVIDIA's datasheet of H100 SXM"),
  /* vectors of 32 bytes: a driver's compiler splits them if the CPU has narrower ones */
  { .isa = "opencl-cpu", .arch = ARCH_ANY, .fma = true, .vector_bytes = 32, .vector_regs = 16, .l1_bytes = 32768,
    .l2_bytes = 524288, .cores = 1, .cflags = "", .triple = "", .llvm = "", .source = "assumed: a CPU with 256-bit vectors",
    .dev = &opencl_cpu },
  { .isa = NULL },
};

/* clang-format off */
const DeviceFeature device_features[] = {
#define DEVICE_FEATURE(id, name, gloss) { DEVF_##id, name, gloss },
#include "device_features.h"
#undef DEVICE_FEATURE
  { 0, NULL, NULL },
};
/* clang-format on */

bool target_has_threads(const Target *t) { return t->dev && t->dev->max_threads > 1; }

const Target *device_target(const char *isa) {
  for (const Target *t = device_targets; t->isa; t++)
    if (!strcmp(t->isa, isa)) return t;
  return NULL;
}

const Target *device_with(Arena *a, const Target *row, uint32_t set) {
  Target *t = arena_dup(a, row, sizeof *row);
  Device *d = arena_dup(a, row->dev, sizeof *d);
  Sb isa = { 0 };
  sb_puts(&isa, row->isa);
  d->features = 0;
  for (const DeviceFeature *f = device_features; f->name; f++) {
    if (!(set & f->bit) || !(d->may_have & f->bit)) continue;
    sb_printf(&isa, "+%s", f->name);
    d->features |= f->bit;
  }
  t->dev = d;
  t->isa = sb_keep(&isa, a);
  return t;
}

static const DeviceFeature *feature_named(const Device *d, const char *s, size_t n) {
  const DeviceFeature *f = device_features;
  while (f->name && (strlen(f->name) != n || memcmp(f->name, s, n) || !(d->may_have & f->bit))) f++;
  return f->name ? f : NULL;
}

static const char *known_features(Arena *a, const Target *row, const char *word, size_t n) {
  Sb s = { 0 };
  for (const DeviceFeature *f = device_features; f->name; f++)
    if (row->dev->may_have & f->bit) sb_printf(&s, "%s%s", s.n ? ", " : "", f->name);
  if (!s.n) return arena_printf(a, "no feature '%.*s' of %s: this machine has no optional features", (int)n, word, row->isa);
  const char *text = arena_printf(a, "no feature '%.*s' of %s; there are %s", (int)n, word, row->isa, s.p);
  sb_free(&s);
  return text;
}

const Target *device_named(Arena *a, const Target *row, const char *more, const char **why) {
  uint32_t set = row->dev->features;
  for (const char *s = more; *s;) {
    const char sign = *s++;
    const size_t n = strcspn(s, "+-");
    const DeviceFeature *f = feature_named(row->dev, s, n);
    if (!f) {
      *why = known_features(a, row, s, n);
      return NULL;
    }
    set = sign == '+' ? set | f->bit : set & ~f->bit;
    s += n;
  }
  return device_with(a, row, set);
}

bool target_converts_halves(const Target *t) { return t->dev && t->dev->features & DEVF_F16 && t->flushes; }

void device_facts(const Device *d, Sb *o) {
  sb_printf(o, " warp %d threads %d grid %lld x %lld x %lld shared %lld banks %d segment %d args %d", d->warp, d->max_threads,
            (long long)d->max_grid[0], (long long)d->max_grid[1], (long long)d->max_grid[2], (long long)d->shared_bytes,
            d->shared_banks, d->segment, d->max_args);
  sb_printf(o, " units %d x %d registers %d loads %d%s", d->units, d->unit_threads, d->registers, d->load_bytes,
            d->shared_is_fast ? " fast shared" : "");
  if (d->matrix_units) sb_printf(o, " matrix %s", d->matrix_units);
}
