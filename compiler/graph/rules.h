/* SPDX-License-Identifier: MIT */
/* rules.h: shared by the tables of graph rules. A rule returns the node that replaces r, or 0 if the rule does not apply. The
 * last argument, `users`, is the RefMap of ir_rewrite_users, with the number of uses of each node. */
#ifndef TGC_RULES_H
#define TGC_RULES_H
#include "../ir/refmap.h"

Ref splat(IR *ir, const Node *x, int64_t bits); /* returns a node of x's type and shape; each element has these bits */
static inline bool is_constant(const IR *ir, Ref r) { return !node(ir, r)->varies; } /* whether r depends only on constants */

/* Maps the shape of a part of a tensor through a reshape from the shape `from` to the shape `to`. part[i] is from[i] or 1; out[i]
 * gets to[i] or 1. The reshape may join axes of which some are whole in the part and others have extent 1. Then reshape_part
 * returns false or, with `widen`, makes these axes whole in `part` and `out`. All extents must be above 0. */
bool reshape_part(int from_rank, const int64_t *from, int to_rank, const int64_t *to, int64_t *part, int64_t *out, bool widen);

/* x is a reshape of `from`. Returns the axis of x that has the same entries as axis a of `from`; -1 if there is none */
int reshape_axis(const Node *x, const Node *from, int a);

/* weights_to_half.c: stores the f32 weight w in the half type d. Returns a cast of the stored weight back to f32; 0 if a finite
 * element would overflow */
Ref half_weight(IR *ir, Ref w, DType d);

/* quantize_weights.c: tests whether factor f of a sum of products consists of quantised constants. These are bytes that are cast
 * to floats, moved, and given shared zero points and scales. If the test succeeds, chain gets the nodes from the factor to the
 * cast, at most MAX_GROUP. Returns the number of these nodes; 0 if the test fails, or if the factor is read so often that floats
 * are faster. */
enum { MAX_GROUP = 16 };
int quantised_factor(const IR *ir, Ref sum, int f, Ref *chain);

/* scale.c: rules that change roundings; fp32-strict leaves them out */
Ref rule_scale_into_constant(IR *ir, Ref r, void *users);
Ref rule_merge_addends(IR *ir, Ref r, void *users);
Ref rule_divided_argument(IR *ir, Ref r, void *users);
Ref rule_scaled_extreme(IR *ir, Ref r, void *users);

/* power.c: a power with a constant exponent becomes products and roots; roundings may change */
Ref rule_constant_power(IR *ir, Ref r, void *users);

/* move.c: exact rewrites of movement */
Ref rule_reshape(IR *ir, Ref r, void *users);
Ref rule_expand(IR *ir, Ref r, void *users);
Ref rule_permute(IR *ir, Ref r, void *users);
Ref rule_shrink(IR *ir, Ref r, void *users);
Ref rule_part_of_part(IR *ir, Ref r, void *users);       /* as rule_shrink, but only for a part of a part */
Ref rule_window(IR *ir, Ref r, void *users);
Ref rule_pad(IR *ir, Ref r, void *users);
Ref rule_cat(IR *ir, Ref r, void *users);
Ref rule_gather(IR *ir, Ref r, void *users);
Ref rule_slice_of_iteration(IR *ir, Ref r, void *users); /* as rule_gather, but only if the index counts iterations of a loop */
Ref rule_reduce(IR *ir, Ref r, void *users);
Ref rule_reduce_windows(IR *ir, Ref r, void *users);
Ref rule_hoist_expand(IR *ir, Ref r, void *users);
#endif
