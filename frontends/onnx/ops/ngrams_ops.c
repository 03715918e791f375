/* SPDX-License-Identifier: MIT */
/* ngrams_ops.c: TfIdfVectorizer. Strings become integers. It counts how often each n-gram of a pool occurs in a row, with
 * adjacent or equally spaced elements. Each n-gram is compared at each position of the row. Entries of the result then gather the
 * counts of their n-grams. */
#include "../core/build.h"
#include <stdlib.h>
#include <string.h>

enum { WIDTH_MOST = 1 << 24 }; /* elements of a row of the result */

typedef struct Grams {
  const int64_t *pool, *index; /* n-grams one after the other; index of each in the result */
  const float *weight;         /* weight of each; NULL: 1 */
  int64_t n, count;            /* n: length of the n-grams; count: number of n-grams of this length */
} Grams;

static int compare_grams(const void *a, const void *b) {
  const Grams *x = a, *y = b;
  for (int64_t i = 0; i < x->n; i++)
    if (x->pool[i] != y->pool[i]) return x->pool[i] < y->pool[i] ? -1 : 1;
  return 0;
}

static void refuse_equal(Build *b, const Grams *g) {
  Grams *all = ARENA_NEW(&b->c->model, Grams, g->count + 1);
  for (int64_t i = 0; i < g->count; i++) all[i] = (Grams){ .pool = g->pool + i * g->n, .n = g->n };
  qsort(all, (size_t)g->count, sizeof *all, compare_grams);
  for (int64_t i = 1; i < g->count; i++)
    if (!compare_grams(&all[i - 1], &all[i]))
      bad(b, "attribute 'pool_int64s' has an n-gram of %lld elements twice", (long long)g->n);
}

/* The n-grams of length n; *before: number of n-grams before them. counts: start of each length in the pool */
static Grams grams_of(Build *b, int64_t n, const int64_t *counts, int lengths, int64_t *before) {
  int total, indices;
  const int64_t *pool = attr_ints(b, "pool_int64s", &total), *index = attr_ints(b, "ngram_indexes", &indices);
  const int64_t from = counts[n - 1], to = n < lengths ? counts[n] : total;
  if (from > to || to > total || (to - from) % n)
    bad(b, "attribute 'ngram_counts' puts n-grams of %lld elements at %lld to %lld of a pool of %d", (long long)n,
        (long long)from, (long long)to, total);
  const AttrVal *weights = attr_find(b, "weights");
  Grams g = { .pool = pool + from, .index = index + *before, .n = n, .count = (to - from) / n };
  if (weights->set) g.weight = weights->floats + *before;
  *before += g.count;
  if (*before > indices || (weights->set && *before > (int64_t)weights->n))
    bad(b, "attributes 'ngram_indexes' and 'weights' have %d and %zu entries, fewer than there are n-grams", indices, weights->n);
  refuse_equal(b, &g);
  return g;
}

/* Occurrences of each n-gram in the rows x: i32[rows, g->count]; 0: they are longer than a row */
static Ref occurrences(Build *b, const Grams *g, Ref x, int64_t skips) {
  IR *ir = b->ir;
  const int64_t rows = node(ir, x)->dims[0], columns = node(ir, x)->dims[1];
  Ref pool = tensor_ref(b, DT_I64, 4, (int64_t[]){ 1, 1, g->count, g->n }, g->pool), sum = 0;
  for (int64_t apart = 1; apart <= (g->n > 1 ? skips : 1) && (g->n - 1) * apart < columns; apart++) {
    spend(b, 1);
    const int64_t places = columns - (g->n - 1) * apart;
    Ref there = g_reshape(ir, g_window(ir, x, 1, places, g->n, 1, apart), 4, (int64_t[]){ rows, places, 1, g->n });
    Ref same = g_reduce(ir, OP_MIN, g_binary(ir, OP_CMPEQ, there, pool), 1u << 3);
    Ref count = g_reshape(ir, g_reduce(ir, OP_ADD, g_cast(ir, same, DT_I32), 1u << 1), 2, (int64_t[]){ rows, g->count });
    sum = sum ? add(b, sum, count) : count;
  }
  return sum;
}

/* The occurrences of n-grams of all lengths, and where their entries are in a row of the result */
typedef struct Counted {
  Ref *found; /* i32[rows, n-grams], by length */
  int64_t *index, n, lengths;
  double *weight;
} Counted;

static void add_grams(Counted *all, const Grams *g, Ref found) {
  for (int64_t i = 0; i < g->count; i++) {
    all->index[all->n] = g->index[i];
    all->weight[all->n++] = g->weight ? (double)g->weight[i] : 1;
  }
  all->found[all->lengths++] = found;
}

/* The first n-gram of each entry that is not taken yet, or all->n. False: no entry has one left */
static bool next_grams(const Counted *all, int64_t width, bool *taken, int64_t *gram) {
  int64_t n = 0;
  for (int64_t k = 0; k < width; k++) gram[k] = all->n;
  for (int64_t i = 0; i < all->n; i++) {
    if (taken[i] || gram[all->index[i]] < all->n) continue;
    gram[all->index[i]] = i, taken[i] = true, n++;
  }
  return n > 0;
}

/* Rows of the result. TF gives the counts, TFIDF counts times weights, IDF the weight of the last n-gram that occurs. Entries
 * take their n-grams by turns, since several n-grams may have one entry. */
static Ref with_grams(Build *b, const Counted *all, int64_t rows, int64_t width) {
  IR *ir = b->ir;
  const int64_t one[2] = { 1, width }, lo = 0, hi = 1;
  Ref y = g_expand(ir, c_int(ir, DT_F32, 0), 2, (int64_t[]){ rows, width });
  if (!all->n) return y;
  bool *taken = ARENA_NEW(&b->c->model, bool, all->n);
  int64_t *gram = ARENA_NEW(&b->c->model, int64_t, width);
  double *w = ARENA_NEW(&b->c->model, double, width);
  Ref found = pad_axes(ir, cat_all(b, all->lengths, all->found, 1), 1, 1, &lo, &hi, c_int(ir, DT_I32, 0));
  if (node(ir, found)->varies) found = stored(b, found); /* constants stay constants */
  for (bool first = true; next_grams(all, width, taken, gram); first = false) {
    spend(b, 1);
    for (int64_t k = 0; k < width; k++) w[k] = gram[k] < all->n ? all->weight[gram[k]] : 0;
    Ref times = g_gather(ir, found, tensor_ref(b, DT_I64, 2, one, gram), 1), weight = floats_ref(b, DT_F32, 2, one, w);
    if (attr_is(b, "mode", "IDF")) {
      y = g_where(ir, g_binary(ir, OP_CMPLT, c_int(ir, DT_I32, 0), times), weight, y);
      continue;
    }
    times = g_cast(ir, times, DT_F32);
    if (attr_is(b, "mode", "TFIDF")) times = mul(b, times, weight);
    y = first ? times : add(b, y, times);
  }
  return y;
}

static int by_bytes(const void *a, const void *b) {
  const Bytes *x = a, *y = b;
  const int order = memcmp(x->p, y->p, x->n < y->n ? x->n : y->n);
  return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* Numbers in place of a pool of strings, and of the strings of the input: places among the pool's different strings */
static void number_strings(Build *b) {
  const AttrVal *s = attr_find(b, "pool_strings");
  AttrVal *to = attr_find(b, "pool_int64s");
  const int64_t all = (int64_t)s->n;
  if (!s->set || !all) bad(b, "attribute 'pool_strings' is missing");
  Bytes *sorted = arena_dup(&b->c->model, s->strings, (size_t)all * sizeof *sorted);
  int64_t *number = ARENA_NEW(&b->c->model, int64_t, all), n = 0;
  qsort(sorted, (size_t)all, sizeof *sorted, by_bytes);
  for (int64_t i = 0; i < all; i++)
    if (!n || by_bytes(&sorted[n - 1], &sorted[i])) sorted[n++] = sorted[i];
  for (int64_t i = 0; i < all; i++)
    number[i] = (const Bytes *)bsearch(&s->strings[i], sorted, (size_t)n, sizeof *sorted, by_bytes) - sorted;
  *to = (AttrVal){ .name = to->name, .len = to->len, .kind = 'I', .set = true, .n = (size_t)all, .ints = number };
  b->in[0] = string_places(b, b->in[0], string_table(b, sorted, n));
}

void op_tfidf_vectorizer(Build *b) {
  if (in_narrow(b, 0) == ONNX_STRING) number_strings(b);
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  int lengths, indices;
  const int64_t *counts = attr_ints(b, "ngram_counts", &lengths), *index = attr_ints(b, "ngram_indexes", &indices);
  const int64_t least = attr_int(b, "min_gram_length"), most = attr_int(b, "max_gram_length"),
                skips = clamp(attr_int(b, "max_skip_count"), 0, MAX_ELEMS) + 1;
  if (!attr_set(b, "pool_int64s")) bad(b, "attribute 'pool_int64s' is missing");
  if (x->rank > 2) bad(b, "the input has rank %d, expected at most 2", x->rank);
  if (least > most || most > lengths)
    bad(b, "n-grams of %lld to %lld elements, but attribute 'ngram_counts' has %d entries", (long long)least, (long long)most,
        lengths);
  int64_t rows = x->rank == 2 ? x->dims[0] : 1, columns = x->rank ? x->dims[x->rank - 1] : 1, width = 0, before = 0;
  for (int i = 0; i < indices; i++) width = index[i] >= width ? (index[i] < MAX_ELEMS ? index[i] : MAX_ELEMS) + 1 : width;
  check_dims(b, 2, (int64_t[]){ rows, width });
  if (width > WIDTH_MOST)
    bad(b, "attribute 'ngram_indexes' gives rows of %lld, over the limit of %d", (long long)width, WIDTH_MOST);
  Ref data = g_reshape(ir, g_cast(ir, b->in[0], DT_I64), 2, (int64_t[]){ rows, columns });
  Counted all = { ARENA_NEW(&b->c->model, Ref, lengths + 1), ARENA_NEW(&b->c->model, int64_t, indices + 1), 0, 0,
                  ARENA_NEW(&b->c->model, double, indices + 1) };
  for (int64_t n = 1; n <= most; n++) {
    const Grams g = grams_of(b, n, counts, lengths, &before);
    Ref found = n >= least && g.count ? occurrences(b, &g, data, skips) : 0;
    if (found) add_grams(&all, &g, found);
  }
  Ref y = with_grams(b, &all, rows, width);
  b->out[0] = x->rank == 2 ? y : g_reshape(ir, y, 1, &width);
}
