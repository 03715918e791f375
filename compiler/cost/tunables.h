/* SPDX-License-Identifier: MIT */
/* tunables.h: thresholds, limits and budgets, a row each: TUNABLE(type, name, value, least, most, unit, reason). Costs
 * of code are in rates.h. Array dimensions, and numbers fixed by a file format or an instruction set, are constants where they are
 * used. No value makes a result wrong. The columns `least` and `most` limit the value, and so compile time and memory. */
/* clang-format off */
/* ---- graph ---- */
TUNABLE(double, winograd_gain, 0.9, 0, 10, "share of the direct sum's cycles", "Winograd tiles must take less; a smaller gain is within the error of the cost model")
TUNABLE(double, winograd_amplification, 176, 1, 176, "times", "limit of the amplification of rounding errors by Winograd tiles: the greatest of the table in docs/numerics.md")
TUNABLE(double, padding_gain, 0.9, 0, 10, "share of the whole's cycles", "convolutions split at their padding must take less; a smaller gain is within the error of the cost model")
TUNABLE(double, bf16_split_gain, 0.75, 0, 10, "share of the direct sum's cycles", "sums of bf16 must take less; no machine with such an instruction has timed the choice yet")
TUNABLE(int, half_least, 16384, 1, 1073741824, "elements", "smaller weights keep four bytes: they cost more time to widen than to read")
TUNABLE(int, half_least_dot, 4096, 1, 1073741824, "elements", "as half_least, where an instruction takes halves directly: for smaller weights, rounding costs more than it gains")
TUNABLE(int, quantize_least, 4096, 1, 1073741824, "elements", "--weights leaves smaller weights alone: reading them costs no time")
TUNABLE(int, quantize_reads, 8, 1, 1048576, "multiply-adds", "multiply-adds that a core does while a weight of four bytes arrives; --weights leaves weights that are used more often per run alone")
TUNABLE(double, window_traffic, 8, 0, 1000, "elements reduced", "reducing this many elements costs as much as storing and loading one; nested windows are reduced axis by axis where that saves time")
TUNABLE(int, merged_gemms, 8, 1, 8, "sums", "most sums of products merged into one; with more, cutting the result apart costs as much as merging saves")
TUNABLE(int, merged_epilogue, 8, 0, 64, "ops", "most ops after each sum that are merged with it: bounds compile time")
TUNABLE(int, sink_moves, 8, 0, 8, "nodes", "longest chain of movement below which a part is computed in place; longer chains do not occur")
TUNABLE(int, scale_path, 16, 0, 16, "nodes", "longest path from a factor to the constant that absorbs it; longer paths do not occur")
TUNABLE(int, half_moves, 32, 0, 64, "ops", "most movement between a cast from a half and a product of a matrix unit: bounds recursion")

TUNABLE(int, loop_trips, 9, 1, 2147483647, "iterations", "loops with fewer iterations are unrolled: their copies are fused with what is around them, and folded")

/* ---- schedule ---- */
TUNABLE(int, inlined_most, 160, 1, 400, "nodes", "most nodes inlined into one kernel: bounds the length of C functions and the depth of recursion")
TUNABLE(int, regrouped_most, 12, 0, 64, "reshapes", "most reshapes on the way to a load: each one adds quotients and remainders to the index")
TUNABLE(int, select_most, 8, 1, 8, "parts", "most parts of a concatenation that one kernel computes side by side; more do not fit into registers")
TUNABLE(double, hoisted_share, 4, 1, 1000, "times", "an expansion makes the work above it count less often by this factor, besides its extent, since loops hoist it")
TUNABLE(double, layout_gain, 0.9, 0, 10, "share of the cost to beat", "layouts by PBQP must cost less than those chosen value by value; prices are no more accurate (docs/why.md)")
TUNABLE(int, layout_accesses, 64, 1, 4096, "accesses", "most accesses of a loop body that are priced; further ones resemble these")
TUNABLE(double, layout_tile, 4, 1, 64, "uses", "uses of an operand per load, in the registers of a contraction")
TUNABLE(int, layout_near, 8, 1, 4096, "elements", "lanes at most this far apart still share cache lines")
TUNABLE(double, layout_far, 8, 1, 1000, "times the second level", "larger data is in no cache level")
TUNABLE(int, layout_pages, 64, 1, 65536, "pages", "pages that the first-level TLB holds; more rows on pages of their own cost PAGE_TURN")
TUNABLE(int, memplan_rounds, 64, 1, 10000, "rounds", "rounds of improvement per order of buffers: bounds compile time")
TUNABLE(int, memplan_patience, 16, 1, 10000, "rounds", "rounds without improvement after which an order of buffers is given up")
TUNABLE(int, memplan_many, 2000, 1, 1000000, "buffers", "plans with more buffers get one round: time grows with their square")

/* ---- kernel groups ---- */
TUNABLE(int, group_chunks_most, 1024, 4, 1048576, "chunks", "most chunks of a kernel group: bounds compile time")
TUNABLE(int, group_shares_least, 4, 2, 255, "shares", "fewest shares of chunks for threads; with fewer, threads would be idle")
TUNABLE(int, group_shares_most, 255, 1, 255, "shares", "most shares of chunks for threads; each share has a piece of memory of its own")
TUNABLE(int, group_shares_wanted, 8, 1, 255, "shares", "shares of chunks where the number of cores is unknown: two for each of four")
TUNABLE(int, group_shares_odd, 16, 1, 255, "shares", "from this many shares on, an odd number is balanced enough for an even number of threads")
TUNABLE(int, group_run_least, 256, 1, 1048576, "bytes", "least contiguous bytes that a chunk stores; less would splinter memory")
TUNABLE(double, group_uncut, 0.05, 0, 1, "share of the main nest's elements", "most elements of the group's other nests, each of which one chunk runs whole")

/* ---- canonical nests ---- */
TUNABLE(int, nest_select_most, 8, 1, 64, "values", "longest range that selects between values and is therefore unrolled")
TUNABLE(int, stream_bytes, 256, 1, 1048576, "bytes", "least contiguous bytes worth a stream of their own: four cache lines")

/* ---- opts ---- */
TUNABLE(int, unroll_most, 16, 1, 64, "copies", "most copies of one range in a register tile; no machine has more registers for one side")
TUNABLE(int, tile_instructions, 400, 1, 4000, "instructions", "most instructions of a register tile: bounds the length of code")
TUNABLE(int, body_instructions, 130, 1, 4000, "instructions", "most instructions of a tile with its unrolled terms; more do not fit into the cache of decoded instructions")
TUNABLE(int, spread_instructions, 180, 1, 4000, "instructions", "as body_instructions, where shuffles serve several copies")
TUNABLE(int, scalar_instructions, 48, 1, 4000, "instructions", "most instructions of a register tile without vectors: such machines have little memory for code")
TUNABLE(int, whole_terms, 7, 1, 16, "values", "longest range of a reduction that is unrolled completely: the longest window of common networks")
TUNABLE(int, walk_trees, 10, 1, 64, "walks", "walks through several trees that alternate: with the addresses of the tables they fill 16 registers")
TUNABLE(int, walk_rows, 16, 1, 64, "walks", "walks of several rows through one tree that alternate: they share cache lines, so more of them pay")
TUNABLE(int, row_tile, 4, 1, 16, "rows", "rows reduced together in a row-wise reduction: while one waits for its sum, another goes on")
TUNABLE(int, cheap_terms, 8, 0, 1000, "instructions", "terms up to this cost are recomputed rather than kept in registers")
TUNABLE(double, stage_gain, 1.4, 0.1, 100, "times", "copies of panels must be better by this factor, since the model does not see all their cost")
TUNABLE(double, tile_gain, 0.995, 0.5, 1, "share of a tile's cycles", "a tile must take less to replace another: keeps the choice stable")
TUNABLE(int, stage_bytes, 65536, 64, 1048576, "bytes", "most bytes of a nest's panels, which are local memory of the kernel and must fit on the stack")
TUNABLE(double, stage_walks, 8, 1, 1000000, "walks", "fewest walks over a panel that is copied; fewer do not pay for the copy")
TUNABLE(double, streams, 20, 1, 10000, "streams", "streams that a prefetcher follows: Zen 4")
TUNABLE(int, stream_apart, 1024, 64, 1048576, "bytes", "accesses at least this far apart are separate streams")
TUNABLE(int, ways_left, 4, 1, 16, "ways", "ways of the first-level cache for copies at strides of a page: half of them, the rest serves streaming data")
TUNABLE(int, spread_registers, 4, 0, 64, "registers", "registers for values spread over lanes")
TUNABLE(double, few_tiles, 16, 0, 10000, "tiles", "below this many, load imbalance between threads is priced")
TUNABLE(int, lane_block, 128, 1, 65536, "lanes", "lanes per block where lanes crowd sets of the second level; a 2048 by 2048 transposition takes 2.5 ms, without blocks 4.3, on Zen 4")
TUNABLE(double, lane_block_far, 8, 0, 10000, "times the second level", "smaller data stays in a cache and needs no blocks")
TUNABLE(int, dot_sharing, 4, 1, 65536, "results", "fewest results that share an operand, for lanes of a dot-product instruction")
TUNABLE(int, mma_turns, 8, 1, 16, "copies", "most copies of a short range along which copies share tiles")
TUNABLE(int, schedule_statements, 6000, 16, 20000, "statements", "most statements of a nest after expansion: bounds compile time")
TUNABLE(int, schedule_rests, 3, 0, 8, "tiles", "most tiles of a nest that leave a rest: each rest doubles the nest's code")

/* ---- opts of devices ---- */
TUNABLE(int, device_block, 256, 32, 1024, "threads", "threads of a block: enough to hide the latency of memory, and every device has them")
TUNABLE(int, device_share_least, 4, 1, 64, "values", "fewest values of a reduction for each thread of a group; with fewer it mostly waits for the others")
TUNABLE(int, device_row_least, 8, 1, 1024, "elements", "fewest elements of a row that a group shares; one thread takes a shorter row")
TUNABLE(int, device_held, 8, 1, 64, "elements", "most elements of a row that a thread keeps in registers")
TUNABLE(int, device_beside_least, 32, 1, 256, "elements", "fewest contiguous elements along which threads of a block are worth while")
TUNABLE(int, device_depth, 16, 4, 32, "terms", "usual number of terms in a round of panels")
TUNABLE(int, device_side_threads, 64, 1, 256, "threads", "most threads along one side of a tile: bounds compile time")
TUNABLE(int, device_side_copies, 8, 1, 16, "copies", "most copies along one side of a tile: bounds the length of code")
TUNABLE(int, device_side_least, 4, 1, 1024, "values", "fewest values of each side of a contraction that is tiled")
TUNABLE(int, device_terms_least, 8, 1, 1024, "terms", "fewest terms of sums of products that are tiled")
TUNABLE(int, device_results_least, 1024, 1, 1048576, "results", "fewest results of a contraction that is tiled; with fewer, threads share the reduction")
TUNABLE(int, device_parts_most, 32, 1, 256, "parts", "most parts of a sum")
TUNABLE(int, device_part_least, 64, 1, 65536, "terms", "fewest terms in a part of a sum; fewer are not enough work for a block")
TUNABLE(int, device_warp_least, 16, 1, 64, "threads", "threads of a warp that prices assume at least; a block of fewer is not worth its start")
TUNABLE(double, device_long, 1e8, 0, 1e15, "products", "contractions with at least this many products may have more sums per thread: fewer blocks still fill the device")
TUNABLE(double, device_parts_gain, 1.5, 1, 100, "times as fast", "sums in parts must be this much faster, because their cost is known least")
TUNABLE(double, fused_adds, 128, 0, 1000000, "loads", "most loads of parts by a thread that reads sums; more take longer than a separate launch")

/* ---- prefetch ---- */
TUNABLE(bool, prefetch, true, 0, 1, "", "prefetch packed weights where panels are walked more than once")
TUNABLE(double, prefetch_least, 1, 0, 1000, "times the first level", "smaller weights need no prefetch: they stay near")

/* ---- threads ---- */
TUNABLE(int, units_of_chunk, 4, 1, 1000, "units", "units per chunk where extents allow: chunks then differ by one unit")
TUNABLE(int, units_few, 12, 1, 1000, "units", "units that two or four threads share well enough, where that saves them much")
TUNABLE(double, inner_loop_gain, 0.7, 0, 1, "share of the cycles lost", "sharing an inner loop must lose less than this share of what sharing the outermost loop loses")
TUNABLE(double, inner_loop_few, 0.3, 0, 1, "share of the cycles lost", "as inner_loop_gain, where the inner loop has fewer units than chunks")
TUNABLE(int, affinity_loop, 6, 1, 1024, "values", "shortest range that certainly keeps a loop when it is tiled")

/* ---- programs ---- */
TUNABLE(int, bounds_boxes, 16384, 1, 1048576, "boxes", "most boxes of range values evaluated to prove one access: bounds compile time")
TUNABLE(int, bounds_plan_boxes, 1048576, 1, 16777216, "boxes", "most boxes to prove all accesses of a plan: about a second")
TUNABLE(double, variants_time, 0.97, 0, 1, "share of the modelled time", "the kernels that take this share of the time are built for the further machines of --isa=fat")

/* ---- bundles ---- */
TUNABLE(int, shown_nodes, 6, 0, 1000, "nodes", "most source nodes of a kernel listed in comments")
TUNABLE(int, calls_of_function, 512, 1, 65536, "calls", "most calls in one function of a bundle: the time gcc takes for a switch grows with its square")
TUNABLE(int, reroll_period, 1024, 1, 65536, "calls", "longest sequence of calls that a loop repeats: bounds compile time")

/* ---- tuner ---- */
TUNABLE(int, tune_patience, 4, 1, 1000, "generations", "generations without a better schedule that end the search of a nest")
TUNABLE(int, tune_new, 64, 2, 4096, "candidates", "new candidates per generation: about what a batch can price")
TUNABLE(int, tune_lent, 8, 1, 4096, "candidates", "candidates per generation taken from other nests")
TUNABLE(int, tune_few, 6, 1, 4096, "candidates", "a generation with at least this many candidates gets no variations of the best one")
TUNABLE(double, tune_progress, 0.99, 0, 1, "share of the last best's time", "a new best below this is progress")
TUNABLE(double, tune_hope, 0.02, 0, 1, "share of a nest's time", "gain that is always considered possible")
TUNABLE(double, tune_gain, 0.98, 0, 1, "share of the heuristic's time", "a schedule must take less; a smaller gain may be noise, and the heuristic's schedule stays")
TUNABLE(double, tune_long, 6000, 1, 1000000, "statements", "a candidate this long counts twice its cycles: its code must be fetched and compiled")
TUNABLE(int, tune_statements, 4000, 16, 20000, "statements", "most statements of a candidate; longer ones take seconds to compile")
TUNABLE(int, tune_variant_statements, 1000, 16, 20000, "statements", "most statements of a varied schedule; longer ones take seconds to compile")
TUNABLE(int, tune_batch_statements, 5000, 16, 1000000, "statements", "most statements of a batch for the C compiler")
TUNABLE(int, tune_screen_statements, 12000, 16, 1000000, "statements", "most statements of a batch for the screen, which compiles in this process")
TUNABLE(int, tune_file_statements, 3000, 16, 1000000, "statements", "most statements per file for the C compiler, whose time grows faster than the length")
TUNABLE(double, tune_screened_gain, 0.97, 0, 10, "share of the incumbent's time", "the screen's code must take less; otherwise the C compiler is not worth its time")
TUNABLE(int, tune_headers, 2, 1, 1000, "files", "from this many files on, the headers of instructions are precompiled")
TUNABLE(int, tune_compile_memory, 1024, 64, 65536, "MiB", "memory limit of a C compiler")
TUNABLE(int, tune_quick_rounds, 2, 1, 5, "rounds", "rounds of a race with the screen's code")
TUNABLE(int, tune_finalists, 3, 1, 1000, "candidates", "candidates that run the last rounds of a race")
TUNABLE(int, tune_retries, 3, 1, 100, "runs", "runs of a sample that was interrupted")
TUNABLE(double, tune_hopeless, 1.6, 1, 1000, "times the fastest", "a candidate slower than this drops out of the race")
TUNABLE(double, tune_sample, 50e-6, 0, 1, "seconds", "least duration of a warm sample; shorter runs are repeated within it")
TUNABLE(double, tune_grace, 1, 0, 1000, "seconds", "time that a step of a race may take above three times the incumbent's")
TUNABLE(double, tune_fill, 10, 0, 1000, "seconds", "further time for the first step, which waits until memory is filled")
TUNABLE(double, tune_last_race, 3, 0, 1000, "seconds", "time for a race that is under way when time is up")
TUNABLE(double, tune_verify, 60, 1, 10000, "seconds", "time limit of a comparison with the empty schedule")
TUNABLE(double, validate_gain, 0.995, 0, 1, "share of the untuned time", "in the whole model a schedule must take less to be kept")
TUNABLE(double, validate_slack, 1.005, 0.5, 2, "share of the untuned time", "most that it may take with another number of threads, within what can be measured")
TUNABLE(double, validate_chunks_gain, 0.96, 0, 1, "share of the time with the model's chunks", "another number of chunks must take less")
TUNABLE(double, validate_seconds, 1.6, 0.01, 1000, "seconds", "run time of each side of a comparison, over all of its processes")

/* ---- measuring ---- */
TUNABLE(double, bench_block, 0.03, 0.001, 10, "seconds", "time of one competitor before the next has its turn")
TUNABLE(double, bench_window, 0.5, 0.01, 100, "seconds", "window in which the load by other processes is judged")
TUNABLE(double, bench_disturbed, 0.1, 0, 1000, "CPUs", "a window with more load by other processes is repeated")
TUNABLE(int, bench_repeats, 6, 0, 1000, "windows", "most repetitions of a disturbed window before it counts")
TUNABLE(int, bench_runs_least, 10, 1, 1000000, "runs", "fewest runs of a competitor, however long they take")
/* clang-format on */
#undef TUNABLE
