/* One row per step of a kernel, in order: letter for -d, name for --stop-after and of the function step_NAME, scope (each nest by
 * itself, each kernel, the plan), kinds of targets it serves, level of the text after it, what it needs, what it gives.
 * Steps run one after another, each over all kernels in the order of their execution. */
/* clang-format off */
STEP('V', even,      KERNEL, ANY, L_NEST,   "sinks",               "nests without selections by uneven remainders", "split ranges whose remainder a selection asks for")
STEP('C', canon,     NEST,   ANY, L_NEST,   "nests",               "canonical ranges, whose places schedules name", "split ranges at their quotients, merge and order them")
STEP('F', cost,      KERNEL, ANY, L_NEST,   "canonical nests",     "operations and bytes of a run",                 "count what each kernel computes and touches")
STEP('h', groups,    PLAN,   CPU, L_KERNEL, "canonical nests, operations and bytes", "ranges of chunks",            "choose kernels that run together, chunk by chunk")
STEP('A', affinity,  PLAN,   CPU, L_NEST,   "canonical nests",     "who reads a buffer in which spans",             "find loops that can share what threads have in their caches")
STEP('S', schedule,  NEST,   ANY, L_NEST,   "canonical nests",     "opts to apply",                                 "choose each nest's schedule: given, or by the model of cost")
STEP('B', peel,      NEST,   ANY, L_NEST,   "opts",                "borders as nests of their own",                 "cut off borders where gates may be closed")
STEP('G', dot_groups, NEST,  CPU, L_NEST,   "opts",                "ranges of kind dot, row and depth",             "group the values of reductions for dot-product and matrix instructions")
STEP('O', reorder,   NEST,   ANY, L_NEST,   "opts",                "loops in the order of the schedule",            "take loops outside of others")
STEP('R', rests,     NEST,   ANY, L_NEST,   "opts, ordered loops", "extents that tiles divide",                     "make nests of what tiles leave")
STEP('T', tile,      NEST,   ANY, L_NEST,   "extents that tiles divide", "blocks, copies and lanes as ranges",      "split ranges into blocks, loops, copies and lanes")
STEP('P', stage,     NEST,   CPU, L_NEST,   "split ranges",        "nests that copy operands to local memory",      "copy panels of operands to local memory")
STEP('W', pack,      NEST,   CPU, L_NEST,   "split ranges",        "rows of Plan.packed",                           "lay out weights in the order they are read")
STEP('D', number,    NEST,   ANY, L_NEST,   "split ranges",        "ranges numbered from the outside inwards",      "number ranges by place, which orders the terms of sums")
STEP('M', match,     PLAN,   ANY, L_NEST,   "split ranges, packed weights", "Kernel.as: kernels that are skipped",  "find kernels that differ in their buffers only")
STEP('X', expand,    NEST,   CPU, L_NEST,   "split ranges",        "vectors; ranges that are loops",                "make copies and lanes")
STEP('U', shuffle,   NEST,   CPU, L_NEST,   "vectors",             "vectors of what lies side by side",             "replace single elements by shuffles of vectors")
STEP('L', legalize,  NEST,   CPU, L_NEST,   "vectors",             "ops and lanes that the backend has",            "rewrite what the backend lacks, expand functions of libm")
STEP('K', prefetch,  NEST,   CPU, L_NEST,   "loops, packed weights", "prefetches",                                  "ask for weights ahead")
STEP('Y', reuse,     KERNEL, ANY, L_NEST,   "Kernel.as",           "nests of all kernels",                          "copy the nests of equal kernels, with buffers of their own")
STEP('N', locals,    KERNEL, CPU, L_NEST,   "nests of all kernels", "local buffers that nests share",               "share local buffers among nests that run one after another")
STEP('H', threads,   KERNEL, CPU, L_NEST,   "nests, who reads a buffer in which spans", "ranges of threads, Kernel.chunks", "share loops among threads in chunks")
STEP('p', programs,  KERNEL, CPU, L_PROG,   "nests of loops",      "lists of micro-ops, the buffers they name",     "make linear programs of micro-ops")
STEP('v', variants,  PLAN,   CPU, L_PROG,   "schedules",           "Plan.variants",                                 "make the same kernels for further machines")
/* clang-format on */
