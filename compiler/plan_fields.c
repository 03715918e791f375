/* SPDX-License-Identifier: MIT */
/* plan_fields.c: the attributes in lines of dumps: their place in a structure, their value when absent, and their limits.
 *
 * needs: the structs of a plan   gives: their fields by name   breaks: nothing */
#include "plan_parts.h"
#include "opt/opts.h"

#define FIELDS(a) { a, (int)(sizeof a / sizeof *a) }
/* clang-format off */
#define PLACE(field) offsetof(Place, field)
static const Field place_rows[] = {
  { "materialized", F_FLAG, PLACE(materialized), 0, 0, 1 },
  { "select",    F_FLAG,  PLACE(select),    0, 0, 1 },
  { "reads_halo", F_FLAG, PLACE(reads_halo), 0, 0, 1 },
  { "state",     F_INT,   PLACE(state),     0, 0, MOST_INT },
  { "inside",    F_VALUE, PLACE(inside),    0, 0, 0 },
  { "at",        F_LONG,  PLACE(inside_at), 0, 0, MOST_ELEMS },
  { "inner",     F_INT,   PLACE(inner),    -1, 0, MAX_RANK - 1 },
  { "halo",      F_FLAG,  PLACE(has_halo),  0, 0, 1 },
  { "lo",        F_AXES,  PLACE(lo),        0, 0, MOST_ELEMS },
  { "hi",        F_AXES,  PLACE(hi),        0, 0, MOST_ELEMS },
  { "fill",      F_FILL,  PLACE(fill),      0, 0, 0 },
  { "buffer",    F_INT,   PLACE(buf),      -1, 0, MOST_INT },
  { "offset",    F_LONG,  PLACE(offset),    0, 0, MOST_ELEMS },
  { "stride",    F_AXES,  PLACE(stride),    0, 0, MOST_ELEMS },
};
const Fields place_fields = FIELDS(place_rows);
#undef PLACE
#define BUF(field) offsetof(Buf, field)
static const Field buffer_rows[] = {
  { "piece",  F_LONG,  BUF(piece),  0, 0, MOST_ELEMS },
  { "packed", F_INT,   BUF(packed), 0, 0, MOST_INT },
  { "of",     F_INT,   BUF(of),     0, 0, MOST_INT },
  { "at",     F_LONG,  BUF(at),     0, 0, MOST_ELEMS },
  { "step",   F_LONG,  BUF(step),   0, -MOST_ELEMS, MOST_ELEMS },
  { "turn",   F_INT,   BUF(turn),   0, 0, 2 },
  { "value",  F_VALUE, BUF(value),  0, 0, 0 },
};
const Fields buffer_fields = FIELDS(buffer_rows);
#undef BUF
#define STATE(field) offsetof(GState, field)
static const Field state_rows[] = {
  { "axis",     F_INT,  STATE(axis),    -1, 0, MAX_RANK - 1 },
  { "taken",    F_LONG, STATE(taken),    0, 0, MOST_ELEMS },
  { "capacity", F_LONG, STATE(capacity), 0, 0, MOST_ELEMS },
};
const Fields state_fields = FIELDS(state_rows);
#undef STATE
#define PACKED(field) offsetof(Packed, field)
static const Field packed_rows[] = {
  { "tensor", F_TENSOR, PACKED(tensor), 0, 0, MOST_INT },
  { "base",   F_LONG,   PACKED(base),   0, -MOST_ELEMS, MOST_ELEMS },
  { "closed", F_LONG,   PACKED(closed), 0, -MOST_ELEMS, MOST_ELEMS },
  { "buffer", F_INT,    PACKED(buf),   -1, 0, MOST_INT },
  { "extent", F_LIST,   PACKED(extent), 0, 1, MOST_ELEMS },
  { "coef",   F_LIST,   PACKED(coef),   0, -MOST_ELEMS, MOST_ELEMS },
  { "gate",   F_LIST,   PACKED(gate),   0, -MOST_ELEMS, MOST_ELEMS },
};
const Fields packed_fields = FIELDS(packed_rows);
#undef PACKED
#define KERNEL(field) offsetof(Kernel, field)
static const Field kernel_rows[] = {
  { "group_size", F_INT, KERNEL(group_size),         1, 0, MOST_INT },
  { "chunks_per_task", F_INT, KERNEL(chunks_per_task),        0, 0, MOST_INT },
  { "chunks",    F_INT,  KERNEL(chunks),           0, 0, MOST_INT },
  { "flops",     F_LONG, KERNEL(flops),            0, 0, INT64_MAX },
  { "read",      F_LONG, KERNEL(bytes_read),       0, 0, INT64_MAX },
  { "written",   F_LONG, KERNEL(bytes_written),    0, 0, INT64_MAX },
  { "moves",     F_FLAG, KERNEL(moves),            0, 0, 1 },
  { "loop",      F_INT,  KERNEL(loop),             0, 0, GRAPH_LOOPS },
  { "trips",     F_LONG, KERNEL(trips),            0, 0, INT32_MAX },
  { "until",     F_INT,  KERNEL(until),            0, 0, MOST_INT },
  { "when",      F_INT,  KERNEL(when),             0, 0, MOST_INT },
  { "may_alias", F_FLAG, KERNEL(may_alias),        0, 0, 1 },
  { "overwrites", F_INT, KERNEL(overwrites),       0, 0, MOST_INT },
  { "as",        F_INT,  KERNEL(as),               0, 0, MOST_INT },
  { "accesses",  F_LONG, KERNEL(bounds.accesses),  0, 0, INT64_MAX },
  { "by_ranges", F_LONG, KERNEL(bounds.by_ranges), 0, 0, INT64_MAX },
  { "clamped",   F_LONG, KERNEL(bounds.clamped),   0, 0, INT64_MAX },
  { "schedule",  F_TEXT, KERNEL(schedule),         0, 0, 0 },
  { "function",  F_INT,  KERNEL(code),            -1, 0, MOST_INT },
};
const Fields kernel_fields = FIELDS(kernel_rows);
#undef KERNEL
#define NEST(field) offsetof(NestSchedule, field)
static const Field nest_rows[] = {
  { "key",     F_KEY,  NEST(key),     0, 0, 0 },
  { "opts",    F_TEXT, NEST(opts),    0, 0, 0 },
  { "from",    F_TEXT, NEST(from),    0, 0, 0 },
  { "partial", F_FLAG, NEST(partial), 0, 0, 1 },
};
const Fields nest_fields = FIELDS(nest_rows);
#undef NEST
#define PENDING(field) offsetof(NestState, field)
static const Field pending_rows[] = {
  { "depth",    F_INT,  PENDING(depth),    0, 0, MAX_RANGES },
  { "kept",     F_INT,  PENDING(kept),     0, 0, MAX_RANGES },
  { "loop",     F_NODE, PENDING(panel[0]), 0, 0, 0 },
  { "copies",   F_NODE, PENDING(panel[1]), 0, 0, 0 },
  { "lanes",    F_NODE, PENDING(panel[2]), 0, 0, 0 },
  { "terms",    F_INT,  PENDING(panel_depth), 0, 0, MOST_TILE },
  { "unit",     F_UNIT, PENDING(unit), 0, 0, 0 },
};
const Fields pending_fields = FIELDS(pending_rows);
#undef PENDING
#define OPTS(field) offsetof(Opts, field)
static const Field opts_rows[] = {
  { "staged",  F_NODE, OPTS(staged),  0, 0, 0 },
  { "terms",   F_INT,  OPTS(depth),   0, 0, MOST_TILE },
  { "unit",    F_UNIT, OPTS(unit),    0, 0, 0 },
  { "mrows",   F_NODE, OPTS(side[0]), 0, 0, 0 },
  { "columns", F_NODE, OPTS(side[1]), 0, 0, 0 },
  { "split",   F_NODE, OPTS(split),   0, 0, 0 },
  { "sums",    F_INT,  OPTS(sum_parts), 0, 0, MOST_TILE },
  { "grouped", F_NODE, OPTS(grouped), 0, 0, 0 },
  { "isa_op",  F_ISA_OP, OPTS(isa_op), 0, 0, 0 },
  { "threads", F_INT,  OPTS(threads), 0, 0, MOST_INT },
  { "borders", F_INT,  OPTS(nborders), 0, 0, MAX_PARTS },
};
const Fields opts_fields = FIELDS(opts_rows);
#undef OPTS
#define OPT(field) offsetof(Opt, field)
static const Field opt_rows[] = {
  { "range",   F_NODE, OPT(range),   0, 0, 0 },
  { "unroll",  F_INT,  OPT(unroll),  1, 1, MOST_TILE },
  { "lanes",   F_INT,  OPT(lanes),   1, 1, MOST_TILE },
  { "partial", F_FLAG, OPT(partial), 0, 0, 1 },
  { "rows",    F_FLAG, OPT(rows),    0, 0, 1 },
  { "grid",    F_FLAG, OPT(grid),    0, 0, 1 },
  { "threads", F_INT,  OPT(threads), 0, 0, MOST_TILE },
};
const Fields opt_fields = FIELDS(opt_rows);
#undef OPT
#define MOVE_(field) offsetof(Move, field)
static const Field move_rows[] = {
  { "range", F_NODE, MOVE_(range), 0, 0, 0 },
  { "block", F_INT,  MOVE_(block), 0, 0, MOST_TILE },
};
const Fields move_fields = FIELDS(move_rows);
#undef MOVE_
static const Field peel_rows[] = { { "range", F_NODE, 0, 0, 0, 0 } };
const Fields peel_fields = FIELDS(peel_rows);
static const Field part_rows[] = { { "opts", F_TEXT, 0, 0, 0, 0 } };
const Fields part_fields = FIELDS(part_rows);
#define MEMORY(field) offsetof(StatePlace, field)
static const Field memory_rows[] = {
  { "at",    F_LONG, MEMORY(at),     0, 0, MOST_ELEMS },
  { "outer", F_LONG, MEMORY(outer),  0, 0, MOST_ELEMS },
  { "block", F_LONG, MEMORY(block),  0, 0, MOST_ELEMS },
  { "keep",  F_LONG, MEMORY(keep),   0, 0, MOST_ELEMS },
  { "step",  F_LONG, MEMORY(step),   0, 0, MOST_ELEMS },
  { "slots", F_LONG, MEMORY(slots),  0, 0, MOST_ELEMS },
};
const Fields memory_fields = FIELDS(memory_rows);
#undef MEMORY
#define PLAN(field) offsetof(Plan, field)
static const Field arena_rows[] = {
  { "bytes",    F_LONG, PLAN(memory.arena_bytes), 0, 0, MOST_ELEMS },
  { "bound",    F_LONG, PLAN(memory.arena_bound), 0, 0, MOST_ELEMS },
  { "state_at", F_LONG, PLAN(memory.state_at),    0, 0, MOST_ELEMS },
  { "state",    F_LONG, PLAN(memory.state_bytes), 0, 0, MOST_ELEMS },
  { "guard_at", F_LONG, PLAN(memory.guard_at),    0, 0, MOST_ELEMS },
};
const Fields arena_fields = FIELDS(arena_rows);
static const Field cost_rows[] = {
  { "alone",  F_REAL, PLAN(layouts.cost[0]), 0, 0, 0 },
  { "chosen", F_REAL, PLAN(layouts.cost[1]), 0, 0, 0 },
};
const Fields cost_fields = FIELDS(cost_rows);
#undef PLAN
/* clang-format on */
