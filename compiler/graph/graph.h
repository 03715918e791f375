/* graph.h: passes on the graph of tensors. */
#ifndef TGC_GRAPH_H
#define TGC_GRAPH_H
#include "../cost/tunable.h"
#include "precision.h"
#include "storage.h"

typedef struct StateSpec {  /* what the user says of a state, or of several by a pattern with one * */
  const char *past, *present;
  int axis;                 /* -1: as the graph has it */
  int64_t capacity;         /* 0: the default */
  bool grow;                /* starts empty */
  const Tensor *init;       /* NULL: zeros */
} StateSpec;
void graph_states(Graph *g, const StateSpec *specs, int n); /* once, before other passes; fails with EX_USAGE_ */
void graph_grow(Graph *g, const bool *grows); /* grow.c: by state, whether it starts empty */

bool graph_integer(Graph *g, const Target *t);  /* sums over quantised values become sums over integers; true: changed */
/* exact rewrites, and with merge the rules of scale.c, which round anew; true: changed */
bool graph_simplify(Graph *g, bool merge);
/* f16 and bf16 between inputs and outputs become f32; every: rounded after each op, as the IR has it; true: changed */
bool graph_promote_half(Graph *g, bool every);
bool graph_fold(Graph *g);     /* what depends on constants only becomes tensors; true: changed */
bool graph_sink_concat(Graph *g);    /* concatenations that are only moved become those of moved parts; true: changed */
bool graph_merge_gemms(Graph *g); /* sums of products that share a factor become one; true: changed */
double product_time(Precision p, const Target *t); /* of a term of a sum of products, next to a multiply-add of floats */
double product_bytes(Precision p, const Target *t); /* of a weight of such a product */
/* some instruction does all products of p's terms in less time than one of floats */
bool split_faster(Precision p, const Target *t);
/* factors as sums of bf16, where p asks for it, or where that is faster, which flushes denormals; true: changed */
bool graph_bf16_split(Graph *g, Precision p, const Target *t, bool keep_denormals);
/* weights in half precision, where p asks for it; true: changed */
bool graph_weights_to_half(Graph *g, Precision p, const Target *t);
bool graph_quantize_weights(Graph *g, Storage how); /* weights that are read a few times only in fewer bits; true: changed */
bool narrow_pairs(Precision p, const Target *t); /* the machine multiplies pairs of what p rounds to */
bool graph_winograd(Graph *g, Precision p, const Target *t); /* windows by fewer products where that costs less; true: changed */
/* windows without taps that meet padding only, where that is less work; true: changed */
bool graph_padding_split(Graph *g, const Target *t);
/* variance.c: of each element of roots what roundings make of it, as f32 of the root's shape, to be evaluated in double.
 * product: relative error of products in sums beside their type's. false: it is not known */
bool graph_variance(IR *ir, const Ref *roots, int n, double product, Ref *out);
#endif
