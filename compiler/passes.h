/* One row per pass, in order: letter for -d, name for --stop-after, function, level of the text it prints.
 * needs / gives stand on top of each pass's file. */
PASS('i', integer, pass_integer, L_GRAPH, "quantised values are computed with as integers")
PASS('s', simplify, pass_simplify, L_GRAPH, "exact rewrites on the graph")
PASS('w', widen, pass_widen, L_GRAPH, "half precision is computed in single")
PASS('c', fold, pass_fold, L_GRAPH, "sub-graphs of constants become tensors")
PASS('b', siblings, pass_siblings, L_GRAPH, "sums of products of the same values become one")
PASS('g', winograd, pass_winograd, L_GRAPH, "windows by fewer products")
PASS('f', fuse, pass_fuse, L_GRAPH, "which values are stored")
PASS('y', layout, pass_layout, L_GRAPH, "where each stored value lies")
PASS('k', kernels, pass_kernels, L_KERNEL, "a kernel per stored value")
PASS('p', programs, pass_programs, L_PROG, "schedules applied, linear programs")
PASS('m', memplan, pass_memplan, L_PROG, "offsets in the arena, the state and the weights blob")
PASS('r', render, pass_render, L_PROG, "the backend's text of every kernel")
