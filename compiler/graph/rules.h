/* SPDX-License-Identifier: MIT */
/* rules.h: shared by the tables of graph rules. A rule returns the replacement of r, or 0. Its last argument is the RefMap of
 * ir_rewrite_users: the number of uses of each node. */
#ifndef TGC_RULES_H
#define TGC_RULES_H
#include "../ir/refmap.h"

Ref splat(IR *ir, const Node *x, int64_t bits); /* a tensor of x's type and shape; each element has these bits */
static inline bool is_constant(const IR *ir, Ref r) { return !node(ir, r)->varies; } /* depends on constants only */

/* Maps a part of a tensor through a reshape. `part` has, for each axis of `from`, the whole extent or 1; `out` gets the same for
 * the axes of `to`. False: the reshape joins axes of the whole extent with axes of 1. With `widen`, such axes get the whole
 * extent instead, in `part` and `out`. Extents are not 0. */
bool reshape_part(int from_rank, const int64_t *from, int to_rank, const int64_t *to, int64_t *part, int64_t *out, bool widen);

/* Axis of a reshape x that has the same entries as axis a of its source `from`; -1: none */
int reshape_axis(const Node *x, const Node *from, int a);

/* weights_to_half.c: the f32 weight w, stored in the two-byte type d and cast back to f32; 0: a finite element would become
 * infinite */
Ref half_weight(IR *ir, Ref w, DType d);

/* quantize_weights.c: recognises factor f of a sum of products as quantised constants: bytes that are widened, moved, and given
 * shared zero points and scales. chain gets the nodes from the factor to the cast, at most MAX_GROUP. Returns their number; 0:
 * the factor is something else, or is read so often that floats are faster. */
enum { MAX_GROUP = 16 };
int quantised_factor(const IR *ir, Ref sum, int f, Ref *chain);

/* scale.c: rules that change roundings; fp32-strict leaves them out */
Ref rule_scale_into_constant(IR *ir, Ref r, void *users);
Ref rule_merge_addends(IR *ir, Ref r, void *users);
Ref rule_divided_argument(IR *ir, Ref r, void *users);
Ref rule_scaled_extreme(IR *ir, Ref r, void *users);

/* power.c */
Ref rule_constant_power(IR *ir, Ref r, void *users);

/* move.c: exact rewrites of movement */
Ref rule_reshape(IR *ir, Ref r, void *users);
Ref rule_expand(IR *ir, Ref r, void *users);
Ref rule_permute(IR *ir, Ref r, void *users);
Ref rule_shrink(IR *ir, Ref r, void *users);
Ref rule_part_of_part(IR *ir, Ref r, void *users);       /* the part of rule_shrink for a part of a part */
Ref rule_window(IR *ir, Ref r, void *users);
Ref rule_pad(IR *ir, Ref r, void *users);
Ref rule_cat(IR *ir, Ref r, void *users);
Ref rule_gather(IR *ir, Ref r, void *users);
Ref rule_slice_of_iteration(IR *ir, Ref r, void *users); /* the part of rule_gather for an index that counts iterations */
Ref rule_reduce(IR *ir, Ref r, void *users);
Ref rule_reduce_windows(IR *ir, Ref r, void *users);
Ref rule_hoist_expand(IR *ir, Ref r, void *users);
#endif
