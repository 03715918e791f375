/* tunables.h: thresholds, limits and budgets, a row each: TUNABLE(type, name, value, least, most, unit, reason). What code costs is
 * not here but in rates.h. What dimensions an array, or what a file format or an instruction set fixes, is a constant where it is
 * used. No value makes a result wrong, and the least and the most keep compile time and memory in bounds. */
/* clang-format off */
/* ---- graph ---- */
TUNABLE(double, winograd_gain, 0.9, 0, 10, "of the direct sum's cycles", "Winograd tiles must take less: a smaller gain is within the error of the model")
TUNABLE(double, winograd_amplification, 176, 1, 176, "times", "rounding errors that Winograd tiles may amplify: the greatest of the table in docs/numerics.md")
TUNABLE(double, padding_gain, 0.9, 0, 10, "of the whole's cycles", "windows split where padding is must take less: a smaller gain is within the error of the model")
TUNABLE(double, bf16_split_gain, 0.75, 0, 10, "of the direct sum's cycles", "sums of bf16 must take less: no machine with such an instruction has timed the choice yet")
TUNABLE(int, half_least, 16384, 1, 1073741824, "elements", "a smaller weight costs more time to widen than to read, so it keeps four bytes")
TUNABLE(int, half_least_dot, 4096, 1, 1073741824, "elements", "the same where an instruction takes halves as they are: below, rounding costs more than it gains")
TUNABLE(int, quantize_least, 4096, 1, 1073741824, "elements", "a smaller weight costs no time to read, so --weights leaves it alone")
TUNABLE(int, quantize_reads, 8, 1, 1048576, "multiply-adds", "for each weight that a core does while four bytes arrive: a weight read more often stays as it is")
TUNABLE(double, window_traffic, 8, 0, 1000, "elements reduced", "worth an element stored and loaded: windows of windows are reduced axis by axis where that saves more")
TUNABLE(int, merged_gemms, 8, 1, 8, "sums", "of products of the same values that become one: beyond, what is cut apart again costs as much as it saves")
TUNABLE(int, merged_epilogue, 8, 0, 64, "ops", "behind each of such sums that are merged with them: bounds compile time")
TUNABLE(int, sink_moves, 8, 0, 8, "nodes", "of movement that a part is computed below, to be stored where it ends up: longer chains do not occur")
TUNABLE(int, scale_path, 16, 0, 16, "nodes", "between a factor and the constant that it joins: longer chains do not occur")

/* ---- schedule ---- */
TUNABLE(int, inlined_most, 160, 1, 400, "nodes", "inlined into one kernel: bounds the length of C functions and the depth of recursion")
TUNABLE(int, regrouped_most, 12, 0, 64, "reshapes", "on the way to a load: each makes quotients and remainders of those before")
TUNABLE(int, select_most, 8, 1, 8, "parts", "of a concatenation that one kernel computes side by side: more do not fit into registers")
TUNABLE(double, hoisted_share, 4, 1, 1000, "times", "less often is the work above an expansion counted, beside its extent: it is hoisted out of the loop")
TUNABLE(double, layout_gain, 0.9, 0, 10, "of the cost to beat", "layouts by PBQP must cost less than those chosen value by value: prices are not better than that, docs/why.md")
TUNABLE(int, layout_accesses, 64, 1, 4096, "accesses", "of one loop body that are priced: the others are like these")
TUNABLE(double, layout_tile, 4, 1, 64, "uses", "of an operand that a contraction's registers make of one load")
TUNABLE(int, layout_near, 8, 1, 4096, "elements", "from lane to lane that still share lines of the cache")
TUNABLE(double, layout_far, 8, 1, 1000, "times the second level", "what is larger no level of cache holds")
TUNABLE(int, layout_pages, 64, 1, 65536, "pages", "that the first level of translations knows: more rows on pages of their own cost PAGE_TURN")
TUNABLE(int, memplan_rounds, 64, 1, 10000, "rounds", "of one order of buffers in all: bounds compile time")
TUNABLE(int, memplan_patience, 16, 1, 10000, "rounds", "without improvement, after which an order is given up")
TUNABLE(int, memplan_many, 2000, 1, 1000000, "buffers", "from here on one round, as each takes time by their square")

/* ---- kernel groups ---- */
TUNABLE(int, group_chunks_most, 1024, 4, 1048576, "chunks", "of a kernel group: bounds compile time")
TUNABLE(int, group_shares_least, 4, 2, 255, "shares", "of chunks that threads take: fewer leave threads without work")
TUNABLE(int, group_shares_most, 255, 1, 255, "shares", "of chunks that threads take, each of which has a piece of memory of its own")
TUNABLE(int, group_shares_wanted, 8, 1, 255, "shares", "wanted where the number of cores is not known: two for each of four")
TUNABLE(int, group_shares_odd, 16, 1, 255, "shares", "are so many that they are even enough if they are odd")
TUNABLE(int, group_run_least, 256, 1, 1048576, "bytes", "that a chunk stores in a row: less is splinters of memory")
TUNABLE(double, group_uncut, 0.05, 0, 1, "of the main nest's elements", "may be in nests beside it that one chunk runs")

/* ---- canonical nests ---- */
TUNABLE(int, nest_select_most, 8, 1, 64, "values", "that a short range selects from, and is unrolled for")
TUNABLE(int, stream_bytes, 256, 1, 1048576, "bytes", "side by side that are worth to be fetched for themselves: four lines")

/* ---- opts ---- */
TUNABLE(int, unroll_most, 16, 1, 64, "copies", "of one range in a register tile: more registers than that no machine has for a side")
TUNABLE(int, tile_instructions, 400, 1, 4000, "instructions", "of a register tile: bounds the length of code")
TUNABLE(int, body_instructions, 130, 1, 4000, "instructions", "of terms unrolled whole with it: more do not stay in the cache of decoded instructions")
TUNABLE(int, spread_instructions, 180, 1, 4000, "instructions", "the same where shuffles serve several copies")
TUNABLE(int, scalar_instructions, 48, 1, 4000, "instructions", "of a register tile without vectors: memory for code is small there")
TUNABLE(int, whole_terms, 7, 1, 16, "values", "of a range of a reduction that is unrolled whole: the longest window of common networks")
TUNABLE(int, row_tile, 4, 1, 16, "rows", "reduced at a time in a row-wise reduction: while one waits for its sum another goes on")
TUNABLE(int, cheap_terms, 8, 0, 1000, "instructions", "of a term that is found again rather than kept in registers")
TUNABLE(double, stage_gain, 1.4, 0.1, 100, "times better", "copies of panels must be, as the model does not see all that they cost")
TUNABLE(double, tile_gain, 0.995, 0.5, 1, "of a tile's cycles", "what is not better does not replace it: keeps the choice stable")
TUNABLE(int, stage_bytes, 65536, 64, 1048576, "bytes", "of panels of a nest, in memory of the kernel's own: the stack must hold them")
TUNABLE(double, stage_walks, 8, 1, 1000000, "walks", "of a panel that is copied: fewer do not pay for the copy")
TUNABLE(double, streams, 20, 1, 10000, "streams", "that a prefetcher follows: Zen 4")
TUNABLE(int, stream_apart, 1024, 64, 1048576, "bytes", "from one place to the next that make them streams of their own")
TUNABLE(int, ways_left, 4, 1, 16, "ways", "of the first level of cache for copies at strides of a page: half of them, the rest is for what streams by")
TUNABLE(int, spread_registers, 4, 0, 64, "registers", "of what is spread over lanes")
TUNABLE(double, few_tiles, 16, 0, 10000, "tiles", "below so many, threads wait for the last one")
TUNABLE(int, lane_block, 128, 1, 65536, "lanes", "in a block where lanes crowd sets of the second level: a transposition of 2048 by 2048 takes 2.5 ms, without 4.3, on Zen 4")
TUNABLE(double, lane_block_far, 8, 0, 10000, "times the second level", "what is smaller stays in a cache and needs no blocks")
TUNABLE(int, dot_sharing, 4, 1, 65536, "results", "that share an operand, for lanes of a dot-product instruction to be")
TUNABLE(int, mma_turns, 8, 1, 16, "copies", "of a short range along which copies share tiles")
TUNABLE(int, schedule_statements, 6000, 16, 20000, "statements", "after expansion of one nest: bounds compile time")
TUNABLE(int, schedule_rests, 3, 0, 8, "tiles", "of a nest that leave a rest, each of which doubles its code")

/* ---- prefetch ---- */
TUNABLE(bool, prefetch, true, 0, 1, "", "packed weights are asked for ahead of time where panels are walked more than once")
TUNABLE(double, prefetch_least, 1, 0, 1000, "times the first level", "weights that take no more are near without it")

/* ---- threads ---- */
TUNABLE(int, units_of_chunk, 4, 1, 1000, "units", "a chunk, where extents allow: chunks differ by one unit")
TUNABLE(int, units_few, 12, 1, 1000, "units", "that two or four threads share well enough, where it spares them much")
TUNABLE(double, inner_loop_gain, 0.7, 0, 1, "of the cycles lost", "by sharing the outermost loop: an inner one must lose less")
TUNABLE(double, inner_loop_few, 0.3, 0, 1, "of the cycles lost", "the same where the inner loop leaves fewer units than chunks")
TUNABLE(int, affinity_loop, 6, 1, 1024, "values", "of a range of which a tile is sure to leave a loop")

/* ---- programs ---- */
TUNABLE(int, bounds_boxes, 16384, 1, 1048576, "boxes", "of values of ranges, evaluated to prove one access: bounds compile time")
TUNABLE(int, bounds_plan_boxes, 1048576, 1, 16777216, "boxes", "and to prove all accesses of a plan: about a second")
TUNABLE(double, variants_time, 0.97, 0, 1, "of the modelled time", "that the kernels take which are built for further machines of --isa=fat")

/* ---- bundles ---- */
TUNABLE(int, shown_nodes, 6, 0, 1000, "nodes", "that a kernel came from, in comments")
TUNABLE(int, calls_of_function, 512, 1, 65536, "calls", "in one function of a bundle: what gcc takes for a switch grows with its square")
TUNABLE(int, reroll_period, 1024, 1, 65536, "calls", "repeated by a loop: bounds compile time")

/* ---- tuner ---- */
TUNABLE(int, tune_patience, 4, 1, 1000, "generations", "without a better schedule that end the search of a nest")
TUNABLE(int, tune_new, 64, 2, 4096, "candidates", "of a generation: about what a batch can price")
TUNABLE(int, tune_lent, 8, 1, 4096, "candidates", "of a generation that were found for other nests")
TUNABLE(int, tune_few, 6, 1, 4096, "candidates", "that are enough for a generation without varying the best")
TUNABLE(double, tune_progress, 0.99, 0, 1, "of the last best's time", "a best below that is progress")
TUNABLE(double, tune_hope, 0.02, 0, 1, "of a nest's time", "may always be gained, as far as anyone knows")
TUNABLE(double, tune_gain, 0.98, 0, 1, "of the heuristic's time", "what is not faster may be noise and gives way to the heuristic's schedule")
TUNABLE(double, tune_long, 6000, 1, 1000000, "statements", "cost as much as running twice: they are to be fetched, and compiled")
TUNABLE(int, tune_statements, 4000, 16, 20000, "statements", "of a candidate: longer ones take seconds to compile")
TUNABLE(int, tune_variant_statements, 1000, 16, 20000, "statements", "of a varied schedule: longer ones take seconds to compile")
TUNABLE(int, tune_batch_statements, 5000, 16, 1000000, "statements", "of a batch for the compiler")
TUNABLE(int, tune_screen_statements, 12000, 16, 1000000, "statements", "of a batch for the screen, which compiles in the process")
TUNABLE(int, tune_file_statements, 3000, 16, 1000000, "statements", "of a file for the compiler, whose time grows faster than its length")
TUNABLE(double, tune_screened_gain, 0.97, 0, 10, "of the incumbent's time", "by the screen's code: more is not worth the compiler")
TUNABLE(int, tune_headers, 2, 1, 1000, "files", "that read the headers of instructions before they are compiled once for all")
TUNABLE(int, tune_compile_memory, 1024, 64, 65536, "MiB", "that a compiler may take")
TUNABLE(int, tune_quick_rounds, 2, 1, 5, "rounds", "of a race by the screen's code")
TUNABLE(int, tune_finalists, 3, 1, 1000, "candidates", "that run the last rounds of a race")
TUNABLE(int, tune_retries, 3, 1, 100, "runs", "of a sample that something interrupts")
TUNABLE(double, tune_hopeless, 1.6, 1, 1000, "times the fastest", "run of a race: not timed any further")
TUNABLE(double, tune_sample, 50e-6, 0, 1, "seconds", "that a warm sample takes at least: shorter runs are repeated within it")
TUNABLE(double, tune_grace, 1, 0, 1000, "seconds", "that a step of a race may take over three times the incumbent")
TUNABLE(double, tune_fill, 10, 0, 1000, "seconds", "more for the first step, which waits for memory to be filled")
TUNABLE(double, tune_last_race, 3, 0, 1000, "seconds", "that a race may take which is under way when time is up")
TUNABLE(double, tune_verify, 60, 1, 10000, "seconds", "that a comparison with the empty schedule may take")
TUNABLE(double, validate_gain, 0.995, 0, 1, "of the time without a schedule", "that a schedule must take less in the whole model to be kept")
TUNABLE(double, validate_slack, 1.005, 0.5, 2, "of the time without a schedule", "that it may take with another number of threads, as far as it can be told")
TUNABLE(double, validate_chunks_gain, 0.96, 0, 1, "of the time with the model's chunks", "that other numbers of chunks must take less")
TUNABLE(double, validate_seconds, 1.6, 0.01, 1000, "seconds", "that each side of a comparison runs, in all of its processes")

/* ---- measuring ---- */
TUNABLE(double, bench_block, 0.03, 0.001, 10, "seconds", "of one competitor before the next has its turn")
TUNABLE(double, bench_window, 0.5, 0.01, 100, "seconds", "over which the load by other work is judged")
TUNABLE(double, bench_disturbed, 0.1, 0, 1000, "CPUs", "of other work: a window with more is repeated")
TUNABLE(int, bench_repeats, 6, 0, 1000, "windows", "that were disturbed are repeated before one counts")
TUNABLE(int, bench_runs_least, 10, 1, 1000000, "runs", "of a competitor, however long they take")
/* clang-format on */
#undef TUNABLE
