/* SPDX-License-Identifier: MIT */
/* passes.h: a row for each pass, in the order in which the passes run. The columns of PASS are: letter for -d; name for
 * --stop-after; function; level of the text that is printed after the pass; a description (gloss). The file of a pass begins with
 * a comment that says what the pass needs and gives. The steps of kernels run between the passes `kernels` and `bounds`. So the
 * table of steps, steps.h, is included between these two rows. */
PASS('x', loops, pass_loops, L_GRAPH, "unroll loops that are short, and all loops if the target is a device")
PASS('i', integer, pass_integer, L_GRAPH, "compute quantised values in integers")
PASS('s', simplify, pass_simplify, L_GRAPH, "rewrite the graph by a table of rules, almost all of them exact")
PASS('w', promote_half, pass_promote_half, L_GRAPH, "compute half precision in single precision")
PASS('c', fold, pass_fold, L_GRAPH, "evaluate sub-graphs of constants")
PASS('l', sink_concat, pass_sink_concat, L_GRAPH, "compute the parts of a concatenation in place")
PASS('b', merge_gemms, pass_merge_gemms, L_GRAPH, "merge matrix products that share an operand")
PASS('g', winograd, pass_winograd, L_GRAPH, "compute convolutions by Winograd tiles")
PASS('e', padding_split, pass_padding_split, L_GRAPH, "split convolutions so that no part has taps that meet only padding")
PASS('q', quantize_weights, pass_quantize_weights, L_GRAPH, "store weights in fewer bits, if asked for")
PASS('t', bf16_split, pass_bf16_split, L_GRAPH, "split factors into sums of bf16, where --precision asks for it or it is faster")
PASS('n', weights_to_half, pass_weights_to_half, L_GRAPH, "store weights in half precision, and add products in it, if asked for")
PASS('f', materialize, pass_materialize, L_GRAPH, "choose which values get memory")
PASS('y', layout, pass_layout, L_GRAPH, "choose the axis order, strides and halo of each value in memory")
PASS('k', kernels, pass_kernels, L_KERNEL, "make a kernel for each value in memory")
#include "nest/steps.h"
PASS('o', bounds, pass_bounds, L_PROG, "prove that every access lies inside its buffer, or clamp it")
PASS('m', memplan, pass_memplan, L_PROG, "choose offsets in the arena, the state and the weights")
PASS('a', rebase, pass_rebase, L_PROG, "move base offsets to the pointers of calls, where that makes kernels equal")
PASS('u', merge_functions, pass_merge_functions, L_PROG, "share one function among kernels that differ only in their memory")
PASS('r', render, pass_render, L_PROG, "print every kernel in the backend's language")
