/* rules.h: what the tables of graph rules share. A rule's last argument is the RefMap of users that
 * ir_rewrite_users keeps. */
#ifndef TGC_RULES_H
#define TGC_RULES_H
#include "../ir/refmap.h"

Ref splat(IR *ir, const Node *x, int64_t bits); /* the number everywhere, in the type and shape of x */
static inline bool is_constant(const IR *ir, Ref r) { return !node(ir, r)->varies; } /* depends on constants only */

/* What a part of a tensor becomes under a reshape from one shape to another: part has, axis by axis of
 * from, the extent or 1. Where the reshape mixes axes of both kinds: false, or with widen those of
 * extent 1 get the whole extent, also in part. Extents are not 0. */
bool reshape_part(int from_rank, const int64_t *from, int to_rank, const int64_t *to, int64_t *part, int64_t *out, bool widen);

/* The axis of a reshape's result that is axis a of its source; -1: there is none */
int reshape_axis(const Node *x, const Node *from, int a);

/* weights_to_half.c: the weight w in two bytes, with a cast behind, or 0 where an element would become infinite */
Ref half_weight(IR *ir, Ref w, DType d);

/* quantize_weights.c: factor f of a sum of products as constant bytes that are widened, moved, and given zero points and
 * scales which several share: what lies between, with the factor first and the cast last. MAX_GROUP at most; 0: it is
 * something else, or read so often that it had better be floats. */
enum { MAX_GROUP = 16 };
int quantised_factor(const IR *ir, Ref sum, int f, Ref *chain);

/* scale.c: rules that change roundings, by name */
Ref rule_scale_into_constant(IR *ir, Ref r, void *users);
Ref rule_merge_addends(IR *ir, Ref r, void *users);
Ref rule_divided_argument(IR *ir, Ref r, void *users);
Ref rule_scaled_extreme(IR *ir, Ref r, void *users);

/* power.c */
Ref rule_constant_power(IR *ir, Ref r, void *users);

/* move.c: movement of movement, exact */
Ref rule_reshape(IR *ir, Ref r, void *users);
Ref rule_expand(IR *ir, Ref r, void *users);
Ref rule_permute(IR *ir, Ref r, void *users);
Ref rule_shrink(IR *ir, Ref r, void *users);
Ref rule_window(IR *ir, Ref r, void *users);
Ref rule_pad(IR *ir, Ref r, void *users);
Ref rule_cat(IR *ir, Ref r, void *users);
Ref rule_gather(IR *ir, Ref r, void *users);
Ref rule_reduce(IR *ir, Ref r, void *users);
Ref rule_reduce_windows(IR *ir, Ref r, void *users);
Ref rule_hoist_expand(IR *ir, Ref r, void *users);
#endif
