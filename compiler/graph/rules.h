/* rules.h: what the tables of graph rules share. */
#ifndef TGC_RULES_H
#define TGC_RULES_H
#include "../ir/refmap.h"

typedef struct Simplify {
  RefMap users;    /* kept by ir_rewrite_users */
  RefMap constant; /* node: 1 when it depends on an input of the graph, 2 when on constants only */
} Simplify;

Ref splat(IR *ir, const Node *x, int64_t bits); /* the number everywhere, in the type and shape of x */
bool depends_on_constants(Simplify *s, const IR *ir, Ref r);

/* What a part of a tensor becomes under a reshape from one shape to another: part has, axis by axis of
 * from, the extent or 1. Where the reshape mixes axes of both kinds: false, or with widen those of
 * extent 1 get the whole extent, also in part. Extents are not 0. */
bool reshape_part(int from_rank, const int64_t *from, int to_rank, const int64_t *to, int64_t *part, int64_t *out, bool widen);

/* scale.c: rules that change roundings, by name */
Ref rule_scale_into_constant(IR *ir, Ref r, void *simplify);
Ref rule_merge_addends(IR *ir, Ref r, void *simplify);

/* power.c */
Ref rule_constant_power(IR *ir, Ref r, void *simplify);

/* move.c: movement of movement, exact */
Ref rule_reshape(IR *ir, Ref r, void *simplify);
Ref rule_expand(IR *ir, Ref r, void *simplify);
Ref rule_permute(IR *ir, Ref r, void *simplify);
Ref rule_shrink(IR *ir, Ref r, void *simplify);
Ref rule_window(IR *ir, Ref r, void *simplify);
Ref rule_pad(IR *ir, Ref r, void *simplify);
Ref rule_cat(IR *ir, Ref r, void *simplify);
Ref rule_gather(IR *ir, Ref r, void *simplify);
Ref rule_reduce(IR *ir, Ref r, void *simplify);
Ref rule_hoist_expand(IR *ir, Ref r, void *simplify);
#endif
