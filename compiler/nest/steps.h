/* SPDX-License-Identifier: MIT */
/* steps.h: a row for each step of kernels, in the order in which the steps run. A step processes all kernels, in
 * execution order, before the next step begins. The columns of STEP:
 *   - letter for -d
 *   - name for --stop-after, and of the function step_NAME
 *   - scope. PLAN: one call of the function does the whole step. KERNEL, NEST: each call does the step for one kernel. NEST: the
 *     step changes each nest of the kernel by itself, and skips kernels with Kernel.as
 *   - kinds of targets for which the step runs
 *   - level of the text that is printed after the step
 *   - needs: the data that the step reads
 *   - gives: the data that the step makes
 *   - gloss: a description of the step */
/* clang-format off */
STEP('j', join,      PLAN,   DEVICE, L_KERNEL, "sinks",            "fewer kernels, with more nests",                "join independent kernels")
STEP('V', even,      KERNEL, ANY, L_NEST,   "sinks",               "conditions only on remainders whose divisor divides the extent", "split a range r where a condition depends on r mod n, and n does not divide the extent of r")
STEP('C', canon,     NEST,   ANY, L_NEST,   "nests",               "canonical ranges, whose places schedules name", "split ranges at their quotients, merge and order them")
STEP('F', cost,      KERNEL, ANY, L_NEST,   "canonical nests",     "operations and bytes of a run",                 "count each kernel's operations and bytes")
STEP('h', groups,    PLAN,   CPU, L_KERNEL, "canonical nests, operations and bytes", "ranges of chunks of groups",  "choose kernel groups, which run chunk by chunk")
STEP('w', pitch,     PLAN,   CPU, L_NEST,   "canonical nests, ranges of chunks", "distances between parts of buffers", "move parts of buffers that a nest accesses at a time to different sets of the cache")
STEP('A', affinity,  PLAN,   CPU, L_NEST,   "canonical nests",     "spans in which loops read each buffer",             "find loops that reuse data in each thread's cache")
STEP('S', schedule,  NEST,   ANY, L_NEST,   "canonical nests",     "opts to apply",                                 "choose each nest's schedule: a given one, or one by the cost model")
STEP('B', peel,      NEST,   ANY, L_NEST,   "opts",                "borders as nests of their own",                 "cut off borders, where padding is read")
STEP('G', dot_groups, NEST,  CPU, L_NEST,   "opts",                "ranges of kind dot, row and depth",             "group the values of reductions for dot-product and matrix instructions")
STEP('O', reorder,   NEST,   ANY, L_NEST,   "opts",                "loops in the order of the schedule",            "move loops outside of others")
STEP('R', rests,     NEST,   ANY, L_NEST,   "opts, ordered loops", "extents that tiles divide",                     "make nests for the elements that tiles do not cover")
STEP('d', originals, PLAN,   CPU, L_NEST,   "rests of all kernels",    "nests that load from a copy's original",        "for ranges of sizes: let runs of one entry load from the original of a copy")
STEP('I', adds,      PLAN,   DEVICE, L_NEST, "nests of parts",      "fewer nests",                                   "add parts of sums where the sums are read")
STEP('T', tile,      NEST,   ANY, L_NEST,   "extents that tiles divide", "blocks, copies and lanes as ranges",      "split ranges into blocks, loops, copies and lanes")
STEP('Q', panels,    NEST,   DEVICE, L_NEST, "split ranges",       "rows of WeightPlan.packed",                     "lay out, in the order of their reduction, the weights that panels copy")
STEP('P', stage,     NEST,   ANY, L_NEST,   "split ranges",        "nests that copy operands to local or shared memory", "copy panels of operands to local or shared memory")
STEP('f', finish,    NEST,   CPU, L_NEST,   "split ranges",        "nests that store the sums of a tile to local memory", "for ranges of sizes: make loops of the arithmetic behind the sums of a tile")
STEP('W', pack,      NEST,   CPU, L_NEST,   "split ranges",        "rows of WeightPlan.packed",                           "lay out weights in the order in which they are read")
STEP('D', number,    NEST,   ANY, L_NEST,   "split ranges",        "ranges numbered from the outside inwards",      "number ranges from the outside inwards, which orders the terms of sums")
STEP('M', match,     PLAN,   ANY, L_NEST,   "split ranges, packed weights", "Kernel.as: kernels that are skipped",  "find kernels that differ only in their buffers")
STEP('X', expand,    NEST,   ANY, L_NEST,   "split ranges",        "vectors; ranges that are loops",                "make copies and lanes")
STEP('U', shuffle,   NEST,   CPU, L_NEST,   "vectors",             "vectors of adjacent elements",             "load vectors and shuffle them, in place of single elements")
STEP('L', legalize,  NEST,   ANY, L_NEST,   "vectors",             "ops that the backend has, and functions",       "rewrite ops and lanes that the backend lacks")
STEP('E', libm,      NEST,   ANY, L_NEST,   "ops that the backend has, and functions", "arithmetic",           "expand functions of libm that the backend lacks")
STEP('K', prefetch,  NEST,   CPU, L_NEST,   "loops, packed weights", "prefetches",                                  "prefetch weights")
STEP('Y', reuse,     KERNEL, ANY, L_NEST,   "Kernel.as",           "nests of all kernels",                          "copy nests to equal kernels, with their own buffers")
STEP('N', locals,    KERNEL, ANY, L_NEST,   "nests of all kernels", "local buffers that nests share",               "share local buffers among nests that run one after another")
STEP('H', threads,   KERNEL, CPU, L_NEST,   "nests, spans in which loops read each buffer", "ranges of threads, Kernel.chunks", "divide loops into chunks for threads")
STEP('p', programs,  KERNEL, CPU, L_PROG,   "nests of loops",      "lists of micro-ops, the buffers they name",     "make linear programs of micro-ops")
STEP('z', launches,  KERNEL, DEVICE, L_PROG, "nests",               "lists of micro-ops, the buffers they name",     "make device programs of nests")
STEP('Z', overwrite, PLAN,  CPU, L_PROG, "lists of micro-ops",  "Kernel.overwrites, loads one iteration ahead", "let kernels with reductions store over what they are the last to read")
STEP('J', narrow,    KERNEL, ANY, L_PROG, "lists of micro-ops",  "indices of 32 bits",                            "compute indices in 32 bits where that suffices")
STEP('v', variants,  PLAN,   CPU, L_PROG,   "schedules",           "Plan.variants",                                 "make the same kernels for further machines")
/* clang-format on */
