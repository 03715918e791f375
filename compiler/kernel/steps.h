/* One row per step of a kernel, in order: letter for -d, name for --stop-after and of the function step_NAME, scope (each nest by
 * itself, each kernel, the plan), kinds of targets it serves, level of the text after it, what it needs, what it gives.
 * Steps run one after another, each over all kernels in the order of their execution. */
/* clang-format off */
STEP('V', even,      KERNEL, ANY, L_NEST,   "sinks",               "nests without selections by uneven remainders", "ranges split where a selection asks for a remainder that does not divide")
STEP('C', canon,     NEST,   ANY, L_NEST,   "nests",               "canonical ranges, whose places schedules name", "ranges split at their quotients, merged and ordered")
STEP('F', cost,      KERNEL, ANY, L_NEST,   "canonical nests",     "operations and bytes of a run",                 "what each kernel computes and touches")
STEP('h', groups,    PLAN,   CPU, L_KERNEL, "canonical nests, operations and bytes", "ranges of chunks",            "kernels that run chunk by chunk together")
STEP('A', affinity,  PLAN,   CPU, L_NEST,   "canonical nests",     "who reads a buffer in which spans",             "which loops can share what threads have in their caches")
STEP('S', schedule,  NEST,   ANY, L_NEST,   "canonical nests",     "opts to apply",                                 "the schedule of each nest: given, or by the model")
STEP('B', peel,      NEST,   ANY, L_NEST,   "opts",                "borders as nests of their own",                 "borders where gates may be closed cut off")
STEP('G', dot_groups,NEST,   CPU, L_NEST,   "opts",                "ranges of kind dot, row and depth",             "values of reductions in groups for dot-product and matrix instructions")
STEP('O', reorder,   NEST,   ANY, L_NEST,   "opts",                "loops in the order of the schedule",            "loops taken outside of others")
STEP('R', rests,     NEST,   ANY, L_NEST,   "opts, ordered loops", "extents that tiles divide",                     "what tiles leave as nests of its own")
STEP('T', tile,      NEST,   ANY, L_NEST,   "extents that tiles divide", "blocks, copies and lanes as ranges",      "ranges split into blocks, loops, copies and lanes")
STEP('P', stage,     NEST,   CPU, L_NEST,   "split ranges",        "nests that copy operands to local memory",      "panels of operands copied")
STEP('W', pack,      NEST,   CPU, L_NEST,   "split ranges",        "rows of Plan.packed",                           "weights laid out in the order they are read")
STEP('D', number,    NEST,   ANY, L_NEST,   "split ranges",        "ranges numbered from the outside inwards",      "ranges numbered by place, which orders the terms of sums")
STEP('M', match,     PLAN,   ANY, L_NEST,   "split ranges, packed weights", "Kernel.as: kernels that are skipped",  "kernels that differ in nothing but their buffers")
STEP('X', expand,    NEST,   CPU, L_NEST,   "split ranges",        "vectors; ranges that are loops",                "copies and lanes made")
STEP('U', shuffle,   NEST,   CPU, L_NEST,   "vectors",             "vectors of what lies side by side",             "shuffles in place of elements one by one")
STEP('L', legalize,  NEST,   CPU, L_NEST,   "vectors",             "ops and lanes that the backend has",            "what the backend lacks rewritten, functions as arithmetic")
STEP('K', prefetch,  NEST,   CPU, L_NEST,   "loops, packed weights", "prefetches",                                  "weights asked for ahead")
STEP('Y', reuse,     KERNEL, ANY, L_NEST,   "Kernel.as",           "nests of all kernels",                          "copies of kernels with buffers of their own")
STEP('N', locals,    KERNEL, CPU, L_NEST,   "nests of all kernels", "local buffers that nests share",               "one local buffer where nests use it one after another")
STEP('H', threads,   KERNEL, CPU, L_NEST,   "nests, who reads a buffer in which spans", "ranges of threads, Kernel.chunks", "loops shared among threads in chunks")
STEP('p', programs,  KERNEL, CPU, L_PROG,   "nests of loops",      "lists of micro-ops, the buffers they name",     "linear programs")
STEP('v', variants,  PLAN,   CPU, L_PROG,   "schedules",           "Plan.variants",                                 "the same kernels for further machines")
/* clang-format on */
