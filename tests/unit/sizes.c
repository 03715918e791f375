/* SPDX-License-Identifier: MIT */
/* Ranges of sizes: the formulas of tiles, refusals, and random graphs, whose programs run in the interpreter at every size of a
 * range. SIZES_GRAPHS: number of graphs; SIZES_SEED: of the first one. */
#include "../../backends/backends.h"
#include "../../compiler/cost/tunable.h"
#include "../../compiler/driver.h"
#include "../../compiler/interp/interp.h"
#include "../../frontends/sized.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- formulas ---- */
/* Tiles of all heights cover the values 0 .. n * times - 1, each once. */
static void tiles_cover(void **state) {
  (void)state;
  for (int64_t n = 1; n <= 40; n++)
    for (int times = 1; times <= 3; times++)
      for (int tile = 1; tile <= 16; tile++) {
        char seen[200] = { 0 };
        tgcrt_size s = { times, tile, 1, TGCRT_SIZE_TILES, 0 };
        const int64_t full = tgcrt_size_of(&s, n);
        for (int64_t i = 0; i < full * tile; i++) seen[i]++;
        for (s.height = 1; s.height < tile; s.height++) {
          s.rule = TGCRT_SIZE_LOWER;
          const int64_t lower = tgcrt_size_of(&s, n);
          s.rule = TGCRT_SIZE_ANY;
          assert_int_equal(tgcrt_size_of(&s, n), lower > 0);
          s.rule = TGCRT_SIZE_START;
          for (int64_t i = 0; i < lower * s.height; i++) seen[tgcrt_size_of(&s, n) + i]++;
        }
        for (int64_t i = 0; i < 200; i++) assert_int_equal(seen[i], i < n * times);
        s = (tgcrt_size){ times, tile, 1, TGCRT_SIZE_WHOLE, 0 };
        const int64_t whole = tgcrt_size_of(&s, n);
        s.rule = TGCRT_SIZE_BEGIN;
        assert_int_equal(tgcrt_size_of(&s, n), whole * tile);
        s.rule = TGCRT_SIZE_PARTS;
        assert_int_equal(whole * tile + tgcrt_size_of(&s, n), n * times);
        s.rule = TGCRT_SIZE_COVER;
        s.height = 1 + (int)(n % 5);
        const int64_t over = whole * tile + tgcrt_size_of(&s, n) * s.height - n * times;
        assert_in_range(over, 0, s.height - 1);
        s.rule = TGCRT_SIZE_SHARE;
        s.height = 48;
        const int64_t all = (n * times + tile - 1) / tile; /* a rest makes two lower tiles of itself and a full one */
        assert_int_equal(tgcrt_size_of(&s, n), (48 + all - 1) / all);
        s.rule = TGCRT_SIZE_LEFT;
        s.height = 1 + (int)(n % 5);
        assert_int_equal(tgcrt_size_of(&s, n), n * times - whole * tile == s.height);
      }
}

/* Full tiles and lower ones have n * times rows together. */
static void low_tiles_cover(void **state) {
  (void)state;
  for (int64_t n = 1; n <= 40; n++)
    for (int times = 1; times <= 3; times++)
      for (int tile = 2; tile <= 16; tile++) {
        tgcrt_size s = { times, tile, 1, TGCRT_SIZE_TILES, 0 };
        int64_t covered = tgcrt_size_of(&s, n) * tile;
        s.rule = TGCRT_SIZE_FIRST;
        const int64_t first = tgcrt_size_of(&s, n);
        assert_in_range(first, 0, tile - 1);
        for (s.height = 1; s.height < tile; s.height++) {
          s.rule = TGCRT_SIZE_HIGH;
          const int64_t high = tgcrt_size_of(&s, n);
          covered += high; /* one row of each of these tiles */
          assert_in_range(high, 0, 2);
          assert_true((high > 0) == (s.height <= first));
          s.rule = TGCRT_SIZE_SOME;
          assert_int_equal(tgcrt_size_of(&s, n), high > 0);
        }
        assert_int_equal(covered, n * times);
      }
}

/* ---- models ---- */
enum { DIMS = 3 };
typedef struct Job {
  const char *path;
  int dims; /* so many of the names below have a range */
  int64_t low[DIMS], high[DIMS], step[DIMS];
  const int64_t *run; /* the only sizes; NULL: the ranges */
  Graph *g;
} Job;

static void load(Ctx *c, void *arg) {
  static const char *const name[DIMS] = { "n", "b", "m" };
  Job *j = arg;
  DimValue dim[DIMS];
  DimRange range[DIMS];
  for (int k = 0; k < j->dims; k++) {
    dim[k] = (DimValue){ name[k], j->run ? j->run[k] : j->high[k], NULL };
    range[k] = (DimRange){ k, j->low[k], j->step[k], 0 };
  }
  const LoadOptions o = { .dims = dim, .ndims = j->dims, .unguarded = true, .ranges = range, .nranges = j->dims };
  c->file = j->path;
  j->g = j->run ? model_load(c, j->path, &o) : sized_load(c, j->path, &o);
}

/* Sets the sizes of run number i; false: there are no more */
static bool nth_run(const Job *j, int64_t i, int64_t *run) {
  for (int k = 0; k < j->dims; k++) {
    const int64_t n = (j->high[k] - j->low[k]) / j->step[k] + 1;
    run[k] = j->low[k] + i % n * j->step[k];
    i /= n;
  }
  return i == 0;
}

static void write_model(char path[64], const char *text) {
  snprintf(path, 64, "/tmp/tgc_sizes_%ld.tg", (long)getpid());
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

/* ---- refusals ---- */
static void refuses(const char *text, const char *part) {
  char path[64], line[512] = "";
  Ctx c;
  write_model(path, text);
  ctx_init(&c);
  c.err = tmpfile();
  Job j = { path, DIMS, { 1, 1, 1 }, { 4, 3, 5 }, { 1, 1, 1 }, NULL, NULL };
  j.dims = strstr(text, "[n,b") ? 2 : 1;
  const int code = ctx_try(&c, load, &j);
  rewind(c.err);
  const size_t n = fread(line, 1, sizeof line - 1, c.err);
  line[n] = 0;
  if (!code || !strstr(line, part)) fail_msg("expected '%s', got status %d and '%s'", part, code, line);
  fclose(c.err);
  ctx_free(&c);
  unlink(path);
}

static void refusals(void **state) {
  (void)state;
  refuses("x = input f32[n,3] \"x\"\nk = input f32[1] \"k\"\nf = reshape k : []\np = pad x, f lo=[1,0] hi=[1,0]\n"
          "w = window p axis=0 stride=1 dilation=1 : [n,3,3]\ny = reduce w op=add axes=[2]\noutput y \"y\"\n",
          "so its size must be one number");
  refuses("x = input f32[n*n,3] \"x\"\ny = exp x\noutput y \"y\"\n", "by no formula that tgc knows");
  refuses("x = input f32[n,7] \"x\"\ny = shrink x begin=[1,0] step=[4,1] : [n+2/4,7]\noutput y \"y\"\n",
          "so its size must be one number"); /* one row at most, and none at the least size */
  refuses("x = input f32[n,3] \"x\"\ny = shrink x begin=[0,3] step=[1,1] : [n,0]\noutput y \"y\"\n",
          "so its size must be one number"); /* no run has an element of the result */
}

/* ---- random graphs ---- */
typedef struct Random { uint64_t state; } Random;
static int below(Random *r, int n) {
  r->state = r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)((r->state >> 33) % (uint64_t)n);
}

/* Axes in front of the open one: their extents, those times a factor, their product, as many ones and zeros, and their number */
typedef struct Lead {
  const char *dims, *merged, *ones, *zeros;
  int axes;
} Lead;
static const Lead leads[] = {
  { "", "", "", "", 0 },
  { "1,", "1*", "1,", "0,", 1 },
  { "2,", "2*", "1,", "0,", 1 },
  { "3,", "3*", "1,", "0,", 1 },
  { "8,", "8*", "1,", "0,", 1 },
  { "b,", "b*", "1,", "0,", 1 },
  { "m,b,", "m*b*", "1,1,", "0,0,", 2 },
  { "b,2,", "2*b*", "1,1,", "0,0,", 2 },
};

/* A value of the graph: [lead, n * times, a, b]. b 0: without that axis. n: the extent as text, which is `least` at the least
 * size */
typedef struct Shape {
  const Lead *lead;
  int times, a, b, least;
  char n[120];
} Shape;

static int axis_of_n(const Shape *v) { return v->lead->axes; }
static int last_axis(const Shape *v) { return axis_of_n(v) + (v->b ? 2 : 1); }

static void put_shape(Sb *s, const Shape *v) {
  sb_puts(s, "[");
  sb_puts(s, v->lead->dims);
  sb_puts(s, v->n);
  if (v->times > 1) sb_printf(s, "*%d", v->times);
  sb_printf(s, ",%d", v->a);
  if (v->b) sb_printf(s, ",%d", v->b);
  sb_puts(s, "]");
}

/* "vT = reshape NAME : SHAPE" */
static void reshape_to(Sb *s, int to, const char *name, int at, const Shape *w) {
  sb_printf(s, "v%d = reshape %s%d : ", to, name, at);
  put_shape(s, w);
  sb_puts(s, "\n");
}

static void constants(Sb *s, int at, int elems, const char *shape) {
  sb_printf(s, "i%d = iota : i64[%d]\nf%d = cast i%d : f32\nm%d = mul f%d, %d.37\ns%d = sin m%d\nc%d = reshape s%d : %s\n", at, elems,
            at, at, at, at, at % 7, at, at, at, at, shape);
}

/* Axes k .. rank - 1 in an order that swaps two of them; before them those in front of k */
static void permute(Sb *s, const char *to, const char *from, int at, int next, int rank, int one, int two) {
  sb_printf(s, "%s%d = permute %s%d perm=[", to, next, from, at);
  for (int k = 0; k < rank; k++) sb_printf(s, "%s%d", k ? "," : "", k == one ? two : k == two ? one : k);
  sb_puts(s, "]\n");
}

/* softmax along an axis */
static void softmax(Sb *s, int at, int axis) {
  sb_printf(s, "q%d = reduce v%d op=max axes=[%d]\nd%d = sub v%d, q%d\ne%d = exp d%d\nz%d = reduce e%d op=add axes=[%d]\n"
            "v%d = div e%d, z%d\n", at, at, axis, at, at, at, at, at, at, at, axis, at + 1, at, at);
}

/* ---- ops along the open axis that change its extent ---- */
/* The extent becomes (extent + plus) / over + one. False: it would be empty at the least size, or the text is full */
static bool changed_extent(Shape *w, int plus, int over, int one) {
  char text[sizeof w->n];
  const int least = (w->least + plus) / over + one;
  if (w->least + plus < 0 || least < 1 || snprintf(text, sizeof text, "%s%+d/%d%+d", w->n, plus, over, one) > 100) return false;
  memcpy(w->n, text, sizeof text);
  w->least = least;
  return true;
}

/* lo or 0 for the other axes */
static void at_open_axis(Sb *s, const char *name, const Shape *v, int amount, int other) {
  sb_printf(s, " %s=[", name);
  for (int k = 0; k <= last_axis(v); k++) sb_printf(s, "%s%d", k ? "," : "", k == axis_of_n(v) ? amount : other);
  sb_puts(s, "]");
}

static Shape unchanged(Sb *s, int at, Shape v) {
  sb_printf(s, "v%d = abs v%d\n", at + 1, at);
  return v;
}

/* A convolution with constants, or a pooling */
static Shape windows(Sb *s, Random *r, int at, Shape v) {
  const int taps = 1 + below(r, 3), stride = 1 + below(r, 2), dilation = 1 + below(r, 2), lo = below(r, 3), hi = below(r, 3);
  const bool max = below(r, 3) == 0;
  Shape w = v;
  char shape[64];
  if (v.times > 1 || !changed_extent(&w, lo + hi - (taps - 1) * dilation - 1, stride, 1)) return unchanged(s, at, v);
  sb_printf(s, "g%d = pad v%d, %s", at, at, max ? "-inf" : "0");
  at_open_axis(s, "lo", &v, lo, 0);
  at_open_axis(s, "hi", &v, hi, 0);
  sb_printf(s, "\nw%d = window g%d axis=%d stride=%d dilation=%d : ", at, at, axis_of_n(&v), stride, dilation);
  put_shape(s, &w);
  s->n--;
  sb_printf(s, ",%d]\n", taps);
  snprintf(shape, sizeof shape, "[%s1,1,%s%d]", v.lead->ones, v.b ? "1," : "", taps);
  constants(s, at, taps, shape);
  if (max) sb_printf(s, "r%d = reduce w%d op=max axes=[%d]\nt%d = max r%d, -9.0\n", at, at, last_axis(&v) + 1, at, at);
  else sb_printf(s, "p%d = mul w%d, c%d\nt%d = reduce p%d op=add axes=[%d]\n", at, at, at, at, at, last_axis(&v) + 1);
  reshape_to(s, at + 1, "t", at, &w);
  return w;
}

/* Without some of the first and last entries, or every second one */
static Shape part_of_axis(Sb *s, Random *r, int at, Shape v) {
  const int begin = below(r, 3), step = 1 + below(r, 2), behind = step > 1 ? 0 : below(r, 3);
  Shape w = v;
  if (v.times > 1 || !changed_extent(&w, step - 1 - begin - behind, step, 0)) return unchanged(s, at, v);
  sb_printf(s, "v%d = shrink v%d", at + 1, at);
  at_open_axis(s, "begin", &v, begin, 0);
  at_open_axis(s, "step", &v, step, 1);
  sb_puts(s, " : ");
  put_shape(s, &w);
  sb_puts(s, "\n");
  return w;
}

/* Constants in front or behind, or both */
static Shape joined_entries(Sb *s, Random *r, int at, Shape v) {
  const int more = 1 + below(r, 3), place = below(r, 3);
  Shape w = v;
  char shape[64];
  const int lead = v.lead->axes ? atoi(v.lead->dims) : 1; /* 0: a run decides */
  if (!lead || v.lead->axes > 1 || v.times > 1 || !changed_extent(&w, place == 2 ? 2 * more : more, 1, 0))
    return unchanged(s, at, v);
  snprintf(shape, sizeof shape, "[%s%d,%d", v.lead->dims, more, v.a);
  snprintf(shape + strlen(shape), sizeof shape - strlen(shape), v.b ? ",%d]" : "]", v.b);
  constants(s, at, more * v.a * lead * (v.b ? v.b : 1), shape);
  sb_printf(s, "o%d = tanh v%d\n", at, at);
  sb_printf(s, place == 0 ? "v%d = cat c%d, o%d axis=%d\n" : place == 1 ? "v%d = cat o%d, c%d axis=%d\n" : "v%d = cat c%d, o%d, c%d axis=%d\n",
            at + 1, at, at, place == 2 ? at : axis_of_n(&v), axis_of_n(&v));
  return w;
}

/* Each entry twice */
static Shape repeated(Sb *s, int at, Shape v) {
  Shape w = v;
  const int inner = v.a * (v.b ? v.b : 1);
  if (v.times > 1 || strlen(v.n) > 90 || v.least > 40) return unchanged(s, at, v);
  strcat(w.n, "*2");
  w.least *= 2;
  sb_printf(s, "h%d = reshape v%d : [%s%s,1,%d]\nj%d = expand h%d : [%s%s,2,%d]\n", at, at, v.lead->dims, v.n, inner, at, at, v.lead->dims,
            v.n, inner);
  reshape_to(s, at + 1, "j", at, &w);
  return w;
}

/* Adds an op on value v`at`; -> the shape of v`at + 1` */
static Shape add_op(Sb *s, Random *r, int at, Shape v, bool spatial) {
  static const char *const unary[] = { "tanh", "abs", "neg", "exp" };
  const int n = axis_of_n(&v), last = last_axis(&v);
  char shape[64];
  Shape w = v;
  switch (below(r, spatial ? 32 : 20)) {
  case 0: case 1: sb_printf(s, "t%d = mul v%d, 0.25\nv%d = %s t%d\n", at, at, at + 1, unary[below(r, 4)], at); return v;
  case 2: /* a product with constants */
    if (v.b) break;
    w.a = 1 + below(r, 20);
    snprintf(shape, sizeof shape, "[%s1,%d,%d]", v.lead->ones, v.a, w.a);
    constants(s, at, v.a * w.a, shape);
    sb_printf(s, "x%d = reshape v%d : [%s%s*%d,%d,1]\n", at, at, v.lead->dims, v.n, v.times, v.a);
    sb_printf(s, "p%d = mul x%d, c%d\nr%d = reduce p%d op=add axes=[%d]\n", at, at, at, at, at, last);
    reshape_to(s, at + 1, "r", at, &w);
    return w;
  case 3: softmax(s, at, last); return v;
  case 4: /* the inner axes swapped */
    if (!v.b) break;
    w.a = v.b, w.b = v.a;
    permute(s, "v", "v", at, at + 1, last + 1, last - 1, last);
    return w;
  case 5: /* the open axis last, and back */
    permute(s, "a", "v", at, at, last + 1, n, last);
    sb_printf(s, "b%d = tanh a%d\n", at, at);
    permute(s, "v", "b", at, at + 1, last + 1, n, last);
    return v;
  case 6: /* merged with the open axis, or split from it */
    if (v.b) w.times = v.times * v.a, w.a = v.b, w.b = 0;
    else if (v.times > 1) w.times = 1, w.a = v.times, w.b = v.a;
    else break;
    reshape_to(s, at + 1, "v", at, &w);
    return w;
  case 7: /* an axis split in two */
    if (v.b || v.times > 1 || v.a % 2) break;
    w.a = 2, w.b = v.a / 2;
    reshape_to(s, at + 1, "v", at, &w);
    return w;
  case 8: /* put together with itself */
    if (v.a > 24) break;
    w.a *= 2;
    sb_printf(s, "o%d = tanh v%d\nv%d = cat v%d, o%d axis=%d\n", at, at, at + 1, at, at, n + 1);
    return w;
  case 9: /* padding and windows */
    if (v.b || v.lead->axes || v.a < 3) break;
    constants(s, at, 3, "[1,1,3]");
    sb_printf(s, "g%d = pad v%d, 0 lo=[0,1] hi=[0,1]\nw%d = window g%d axis=1 stride=1 dilation=1 : [%s*%d,%d,3]\np%d = mul w%d, c%d\n"
              "r%d = reduce p%d op=add axes=[2]\n", at, at, at, at, v.n, v.times, v.a, at, at, at, at, at);
    reshape_to(s, at + 1, "r", at, &w);
    return w;
  case 10: /* part of an axis */
    if (v.a < 2) break;
    w.a = v.a - 1;
    sb_printf(s, "v%d = shrink v%d begin=[%s0,1%s] step=[%s1,1%s] : ", at + 1, at, v.lead->zeros, v.b ? ",0" : "", v.lead->ones,
              v.b ? ",1" : "");
    put_shape(s, &w);
    sb_puts(s, "\n");
    return w;
  case 11: /* a reduction that is spread again */
    sb_printf(s, "r%d = reduce v%d op=add axes=[%d]\nt%d = mul r%d, 0.125\nv%d = sub v%d, t%d\n", at, at, n + 1, at, at, at + 1, at, at);
    return v;
  case 12: /* a reduction over the open axis, spread again */
    if (v.times > 1) break;
    snprintf(shape, sizeof shape, below(r, 2) ? "%d" : v.b && below(r, 2) ? "%d,%d,%d" : "%d,%d", n, n + 1, n + 2);
    sb_printf(s, "r%d = reduce v%d op=%s axes=[%s]\nt%d = mul r%d, 0.003\nv%d = sub v%d, t%d\n", at, at, below(r, 2) ? "add" : "max", shape,
              at, at, at + 1, at, at);
    return v;
  case 13: /* softmax along the open axis */
    if (v.times > 1) break;
    softmax(s, at, n);
    return v;
  case 14: case 15: /* an attention of the rows to each other */
    if (v.times > 1 || v.b) break;
    snprintf(shape, sizeof shape, "%s", v.lead->dims);
    sb_printf(s, "ta%d = tanh v%d\nqa%d = reshape ta%d : [%s%s,1,%d]\nka%d = reshape ta%d : [%s1,%s,%d]\npa%d = mul qa%d, ka%d\n"
              "sa%d = reduce pa%d op=add axes=[%d]\nma%d = reduce sa%d op=max axes=[%d]\nda%d = sub sa%d, ma%d\nea%d = exp da%d\n"
              "za%d = reduce ea%d op=add axes=[%d]\naa%d = div ea%d, za%d\nba%d = reshape aa%d : [%s%s,%s,1]\n"
              "oa%d = mul ba%d, ka%d\nra%d = reduce oa%d op=add axes=[%d]\n",
              at, at, at, at, shape, v.n, v.a, at, at, shape, v.n, v.a, at, at, at, at, at, n + 2, at, at, n + 1, at, at, at, at, at, at, at,
              n + 1, at, at, at, at, at, shape, v.n, v.n, at, at, at, at, at, n + 1);
    reshape_to(s, at + 1, "ra", at, &v);
    return v;
  case 16: /* the axes in front of the open one merged with it, and back */
    if (!v.lead->axes) break;
    sb_printf(s, "h%d = reshape v%d : [%s*%s%d,%d]\nj%d = tanh h%d\n", at, at, v.n, v.lead->merged, v.times, v.a * (v.b ? v.b : 1), at,
              at);
    reshape_to(s, at + 1, "j", at, &v);
    return v;
  case 18:
  case 19: /* along an axis in front of the open one */
    if (!v.lead->axes) break;
    if (below(r, 2)) softmax(s, at, below(r, v.lead->axes));
    else
      sb_printf(s, "r%d = reduce v%d op=%s axes=[0,%d]\nt%d = mul r%d, 0.003\nv%d = sub v%d, t%d\n", at, at,
                below(r, 2) ? "add" : "max", v.times > 1 ? last : n, at, at, at + 1, at, at);
    return v;
  case 20: case 21: case 22: case 23: case 24: case 25: return windows(s, r, at, v);
  case 26: case 27: return part_of_axis(s, r, at, v);
  case 28: case 29: return joined_entries(s, r, at, v);
  case 30: case 31: return repeated(s, at, v);
  default: /* another row of constants */
    snprintf(shape, sizeof shape, v.b ? "[1,%d,1]" : "[1,%d]", v.a);
    constants(s, at, v.a, shape);
    sb_printf(s, "v%d = add v%d, c%d\n", at + 1, at, at);
    return v;
  }
  sb_printf(s, "v%d = abs v%d\n", at + 1, at);
  return v;
}

/* dims: gets the number of names that have a range. spatial: also with ops that change the extent of the open axis */
static char *random_graph(uint64_t seed, int least, bool spatial, int *dims) {
  Random r = { seed * 7919 + 1 };
  Sb s = { 0 };
  const int ops = 2 + below(&r, 7);
  const Lead *lead = &leads[below(&r, (int)(sizeof leads / sizeof *leads))];
  Shape v = { lead, 1, 1 + below(&r, 24), below(&r, 3) ? 0 : 1 + below(&r, 6), least, "n" };
  const bool turned = v.lead->axes == 1 && below(&r, 2), mask = below(&r, 2);
  *dims = strchr(v.lead->dims, 'm') ? 3 : strchr(v.lead->dims, 'b') ? 2 : 1;
  if (turned) { /* n outermost in memory */
    sb_printf(&s, "u = input f32[n,%s%d", v.lead->dims, v.a);
    if (v.b) sb_printf(&s, ",%d", v.b);
    sb_printf(&s, "] \"x\"\nv0 = permute u perm=[1,0,2%s]\n", v.b ? ",3" : "");
  } else {
    sb_puts(&s, "v0 = input f32");
    put_shape(&s, &v);
    sb_puts(&s, " \"x\"\n");
  }
  for (int i = 0; i < ops; i++) v = add_op(&s, &r, i, v, spatial);
  int last = ops;
  if (v.times > 1) { /* the open axis alone again */
    Shape w = v;
    w.times = 1, w.a = v.times, w.b = v.a;
    reshape_to(&s, ++last, "v", ops, &w);
    v = w;
  }
  if (mask && !strcmp(v.n, "n")) { /* an input without the last axes */
    sb_printf(&s, "w = input f32[%sn] \"w\"\nwr = reshape w : [%sn,1%s]\nv%d = add v%d, wr\n", v.lead->dims, v.lead->dims,
              v.b ? ",1" : "", last + 1, last);
    last++;
  }
  if (turned) sb_printf(&s, "y = permute v%d perm=[1,0,2%s]\noutput y \"y\"\n", last, v.b ? ",3" : "");
  else if (!below(&r, 6)) /* an output without the open axis */
    sb_printf(&s, "y = reduce v%d op=add axes=[%d]\noutput y \"y\"\n", last, axis_of_n(&v));
  else sb_printf(&s, "output v%d \"y\"\n", last);
  char *text = strdup(s.p);
  sb_free(&s);
  return text;
}

/* ---- running ---- */
static char *room(Ctx *c, int64_t bytes, int how) {
  static const unsigned char nan[4] = { 0, 0, 0xc0, 0x7f };
  char *p = arena_alloc(&c->model, (size_t)bytes + 128);
  p += -(uintptr_t)p % 64;
  for (int64_t i = 0; i < bytes; i++) p[i] = how == 2 ? (char)nan[i % 4] : how == 1 ? (char)0xff : 0;
  return p;
}

/* Memory of a run: how it is filled, and its inputs and outputs */
typedef struct Room { char *arena; const void *const *in; void *const *out; int how; } Room;

/* Runs chunks of kernel k. share: number of the piece of each buffer that has pieces */
static void run_chunks(Plan *p, size_t k, const int64_t *run, const Room *r, int64_t share, int64_t begin, int64_t end) {
  Ctx *c = p->ir->ctx;
  const Kernel *x = &p->kernels.p[k];
  void **at = ARENA_NEW(&c->model, void *, p->ir->bufs.n + 1);
  int64_t *shift = ARENA_NEW(&c->model, int64_t, p->ir->bufs.n + 1), *all = ARENA_NEW(&c->model, int64_t, p->ir->bufs.n + 1);
  memset(shift, 0, p->ir->bufs.n * sizeof *shift);
  for (size_t i = 0; i < x->bufs.n + x->locals.n; i++) {
    const int id = i < x->bufs.n ? x->bufs.p[i] : x->locals.p[i - x->bufs.n], to = i < x->bufs.n && x->named ? x->named[i] : id;
    const Buf *b = &p->ir->bufs.p[id];
    at[to] = b->kind == BUF_INPUT    ? (void *)(uintptr_t)r->in[b->slot]
             : b->kind == BUF_OUTPUT ? r->out[b->slot]
             : b->kind == BUF_WEIGHT ? (char *)p->weights.p + b->offset
             : b->kind == BUF_LOCAL  ? room(c, b->elems * dt_bytes(b->dt), r->how)
                                     : r->arena + b->offset + share * b->piece;
    if (x->shift && i < x->bufs.n) shift[to] = x->shift[i];
  }
  for (size_t i = 0; i < p->ir->bufs.n; i++) {
    Buf *b = &p->ir->bufs.p[i];
    all[i] = b->elems;
    if (b->piece) b->elems = b->piece / dt_bytes(b->dt);
    for (int j = 0; buf_ends_early(b) && j < b->needed.n; j++)
      b->elems = b->elems / b->needed.is[j].extent * extent_in_run(p->ir, b->needed.is[j].of, run);
  }
  for (int64_t chunk = end; chunk-- > begin;) interp_run(p->ir, x->prog.p, x->prog.n, run, at, shift, chunk, chunk + 1, x->chunks);
  for (size_t i = 0; i < p->ir->bufs.n; i++) p->ir->bufs.p[i].elems = all[i];
}

/* Runs the plan's programs at these sizes, and groups of kernels chunk by chunk. Inputs and outputs have exactly their elements,
 * and pieces theirs: any other access is a BUG. */
static void run_at(Plan *p, const int64_t *run, const void *const *in, void *const *out, int how) {
  Ctx *c = p->ir->ctx;
  const Room r = { room(c, p->memory.arena_bytes, how), in, out, how };
  int64_t *size = ARENA_NEW(&c->model, int64_t, p->ir->sizes.n + 1);
  for (size_t i = 0; i < p->ir->sizes.n; i++) size[i] = size_in_run(p->ir, (int)i, run);
  Jumps jumps = plan_jumps(p, true);
  Position now = { 0 };
  for (size_t k = next_call(&jumps, 0, r.arena, size, &now); k < p->kernels.n; k = next_call(&jumps, k + 1, r.arena, size, &now)) {
    const Kernel *x = &p->kernels.p[k];
    const size_t last = k + (size_t)(x->group_size ? x->group_size : 1) - 1;
    if (!x->chunks_per_task) run_chunks(p, k, run, &r, 0, 0, x->chunks);
    for (int64_t chunk = x->chunks_per_task ? x->chunks : 0; chunk-- > 0;)
      for (size_t i = k; i <= last; i++) run_chunks(p, i, run, &r, chunk / x->chunks_per_task, chunk, chunk + 1);
    k = last;
  }
  VEC_FREE(&jumps);
}

enum { RUNS = 16 }; /* about so many runs of a graph are tried, if it has more */
/* heights: a seed for the schedules; 0: the cost model chooses them */
typedef struct Model { Job job; const char *isa, *text; bool strict; uint64_t heights; Groups groups; } Model;

static const char *run_text(const Job *j, const int64_t *run) {
  static char text[64];
  snprintf(text, sizeof text, "%d,%d,%d", (int)run[0], j->dims > 1 ? (int)run[1] : 0, j->dims > 2 ? (int)run[2] : 0);
  return text;
}

static void check_run(Ctx *c, const Model *m, Plan *p, const int64_t *run) {
  Ctx own;
  ctx_init(&own);
  Job one = m->job;
  one.run = run;
  if (ctx_try(&own, load, &one)) fail_msg("the model cannot be loaded at %s", run_text(&m->job, run));
  const GIO *y = &one.g->outputs.p[0];
  Tensor in[2], want;
  const Tensor *params[2] = { &in[0], &in[1] };
  const void *data[2];
  for (size_t k = 0; k < one.g->inputs.n; k++) {
    const GIO *x = &one.g->inputs.p[k];
    in[k] = (Tensor){ .dt = DT_F32, .rank = x->rank, .elems = dims_elems(x->dims, x->rank) };
    memcpy(in[k].dims, x->dims, sizeof in[k].dims);
    float *values = arena_alloc(&own.model, (size_t)in[k].elems * 4 + 4);
    for (int64_t i = 0; i < in[k].elems; i++) values[i] = (float)((i * 7919 + run[0] * 31 + (int64_t)k) % 201 - 100) / 64;
    data[k] = in[k].data = values;
  }
  if (!interp_graph(one.g->ir, &y->ref, 1, params, &own.model, false, 0, &want)) fail_msg("the reference is too large");
  char *first = NULL;
  for (int how = 0; how < 3; how++) {
    char *out = room(c, want.elems * 4, how);
    run_at(p, run, data, (void *const[]){ out }, how);
    if (first && memcmp(first, out, (size_t)want.elems * 4))
      fail_msg("%s at %s for %s: the result depends on memory behind the values", m->text, run_text(&m->job, run), m->isa);
    first = out;
  }
  double most = 0, off = 0;
  for (int64_t i = 0; i < want.elems; i++) {
    const double w = data_f32(want.data, i), g = data_f32(first, i);
    most = fmax(most, fabs(w));
    if (!(fabs(w - g) <= off)) off = fabs(w - g);
  }
  /* Values of order one may cancel in a sum. An element from outside would be off by much more. */
  if (!(off <= 1e-4 * most + 1e-6))
    fail_msg("%s at %s for %s: off by %g of %g", m->text, run_text(&m->job, run), m->isa, off, most);
  ir_free(one.g->ir);
  ctx_free(&own);
}

/* The text of a program, with sizes and limits, gives the same program. */
static void reads_back(Ctx *c, const Plan *p, const Kernel *k) {
  IR *ir = ir_new(c);
  Sb text = { 0 }, again = { 0 };
  Refs list = { 0 };
  ir_print_program(p->ir, k->prog.p, k->prog.n, &text);
  ir_parse_program(ir, text.p, text.n, &list);
  ir_verify_program(ir, list.p, list.n);
  ir_print_program(ir, list.p, list.n, &again);
  assert_string_equal(text.p, again.p);
  sb_free(&text);
  sb_free(&again);
  VEC_FREE(&list);
  ir_free(ir);
}

/* Schedules with tiles of any height, also of heights that the cost model seldom chooses. Nests for which a schedule is illegal
 * get one by the cost model. */
typedef struct Heights {
  ScheduleSource source;
  Random r;
  char text[64];
} Heights;

static const char *any_heights(ScheduleSource *s, const char *key, bool *partial) {
  Heights *h = (Heights *)s;
  const int rows = below(&h->r, 3), height = 2 + below(&h->r, 12);
  (void)key;
  *partial = false;
  if (below(&h->r, 3)) snprintf(h->text, sizeof h->text, "{ unroll(r%d,%d) vec(r%d,8) }", rows, height, rows + 1);
  else snprintf(h->text, sizeof h->text, "{ unroll(r%d,%d) }", rows, height);
  return h->text;
}

static void run_model(Ctx *c, void *arg) {
  Model *m = arg;
  const char *why;
  Tunables small_chunks = tunables_default;
  small_chunks.group_part = 1;
  if (m->groups == GROUPS_ALL) c->tunables = &small_chunks;
  Job range = m->job;
  Heights heights = { { "test", any_heights, NULL, NULL }, { m->heights }, "" };
  load(c, &range);
  Plan *p = compile_graph(range.g, &(CompileOptions){ .target = target_find(&c->model, m->isa, &why),
                                                      .backend = backends[0],
                                                      .schedules = m->heights ? &heights.source : NULL,
                                                      .precision = m->strict ? PREC_STRICT : PREC_FP32,
                                                      .groups = m->groups });
  for (size_t k = 0; k < p->kernels.n; k++) reads_back(c, p, &p->kernels.p[k]);
  int64_t run[DIMS] = { 0 }, runs = 0;
  while (nth_run(&range, runs, run)) runs++;
  for (int64_t i = 0; i<runs; i += runs> RUNS ? 1 + (runs + i) % (2 * runs / RUNS) : 1)
    if (nth_run(&range, i, run)) check_run(c, m, p, run);
  VEC_FREE(&p->weights.packed);
  ir_free(range.g->ir);
}

/* Graphs for a range of n; isa NULL: x86-64-v3 */
static const struct { int low, high; const char *text, *isa; Groups groups; } written[] = {
  /* A row of zeros behind the rows of a run is padding of the buffer. The nest that stores these rows ends where they end. */
  { 2, 16,
    .text = "x = input f32[n,1] \"x\"\ni = iota : i64[1]\nf = cast i : f32\nc = reshape f : [1,1]\nt = tanh x\n"
    "v = cat c, t, c axis=0\n"
    "r = reduce v op=add axes=[0,1]\nd = sub v, r\ng = pad d, -inf lo=[2,0] hi=[1,0]\nm = max g, -9.0\na = abs m\n"
    "y = reduce a op=add axes=[0]\noutput y \"y\"\n" },
  /* The columns are as many as the rows of a tile, and end, too. */
  { 1, 3,
    .text = "x = input f32[8,n,2] \"x\"\ns = shrink x begin=[0,0,1] step=[1,1,1] : [8,n,1]\np = permute s perm=[0,2,1]\n"
    "m = mul s, p\n"
    "y = tanh m\noutput y \"y\"\n" },
  { 1, 6, .text = "x = input f32[16,n,1] \"x\"\np = permute x perm=[0,2,1]\nm = mul x, p\ny = tanh m\noutput y \"y\"\n" },
  /* The last column of the padding is one of a run of n=9 only. */
  { 1, 9,
    .text = "x = input f32[4,3,n] \"x\"\nf = reshape x : [4,n*3]\ny = pad f, 2.5 lo=[0,3] hi=[1,1]\noutput y \"y\"\n" },
  /* The only window has two taps, and a run up to five entries. */
  { 1, 5,
    .text = "x = input f32[2,n] \"x\"\np = pad x, 0 lo=[0,0] hi=[0,2]\ns = shrink p begin=[0,0] step=[1,1] : [2,2]\n"
    "y = reduce s op=add axes=[1]\noutput y \"y\"\n" },
  /* Rows that only greater runs have, beside the run's rows themselves. */
  { 1, 4,
    .text = "x = input f32[n,4] \"x\"\nk = input f32[4] \"k\"\ny = add k, k\noutput y \"y\"\noutput x \"z\"\ni = iota : i64[2]\n"
    "m = mul i, 3\nj = reshape m : [2,1]\nq = gather x, j axis=0\noutput q \"q\"\n" },
  /* A vector that ends behind the piece of a group holds other elements, or starts earlier. */
  { 3, 14,
    .text = "u = input f32[n,4,10,4] \"x\"\nv0 = permute u perm=[1,0,2,3]\no0 = tanh v0\nv1 = cat v0, o0 axis=2\n"
    "q1 = reduce v1 op=max axes=[3]\nd1 = sub v1, q1\ne1 = exp d1\nz1 = reduce e1 op=add axes=[3]\nv2 = div e1, z1\n"
    "q2 = reduce v2 op=max axes=[3]\nd2 = sub v2, q2\ne2 = exp d2\nz2 = reduce e2 op=add axes=[3]\nv3 = div e2, z2\n"
    "r3 = reduce v3 op=max axes=[0,1]\nt3 = mul r3, 0.003\nv4 = sub v3, t3\nr4 = reduce v4 op=add axes=[2]\n"
    "t4 = mul r4, 0.125\nv5 = sub v4, t4\nt5 = mul v5, 0.25\nv6 = abs t5\nt6 = mul v6, 0.25\nv7 = tanh t6\n"
    "v8 = shrink v7 begin=[0,0,1,0] step=[1,1,1,1] : [4,n,19,4]\nw = input f32[4,n] \"w\"\n"
    "wr = reshape w : [4,n,1,1]\nv9 = add v8, wr\ny = permute v9 perm=[1,0,2,3]\noutput y \"y\"\n",
    "x86-64-v4", GROUPS_ALL },
  /* Rows of another length, and a scatter to elements: both number the elements of a run. */
  { 1, 9, .text = "x = input f32[n,4] \"x\"\nc = cat x, x axis=0\ny = reshape c : [4,n*2]\noutput y \"y\"\n" },
  { 1, 5,
    .text = "x = input f32[3,n] \"x\"\nq = input f32[3,1] \"q\"\np = cast q : i64\nf = reshape x : [n*3,1]\n"
    "s = scatter f, p, q op=add axis=0\ny = reshape s : [3,n]\noutput y \"y\"\n" },
  /* In a run of one entry, two kernels load keys from the original of a copy, which is empty then. */
  { 1, 9,
    .text = "x = input f32[n,16] \"x\"\nt = mul x, 0.5\nh = reshape t : [n,2,8]\nkp = permute h perm=[1,0,2]\n"
    "k = reshape kp : [2,1,n,8]\nqe = exp x\nqh = reshape qe : [n,2,8]\nqp = permute qh perm=[1,0,2]\n"
    "q = reshape qp : [2,n,1,8]\np = mul q, k\nr = reduce p op=add axes=[3]\ns = reshape r : [2,n,n]\n"
    "m = reduce s op=max axes=[2]\nd = sub s, m\ne = exp d\noutput e \"y\"\nvt = tanh x\nvh = reshape vt : [n,2,8]\n"
    "vp = permute vh perm=[1,0,2]\nv = reshape vp : [2,n,1,8]\nw = mul v, k\nwr = reduce w op=add axes=[3]\n"
    "z = reshape wr : [2,n,n]\noutput z \"z\"\n" },
};

static void written_graphs(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
    char path[64];
    Ctx c;
    write_model(path, written[i].text);
    Model m = { { path, 1, { written[i].low, 1, 1 }, { written[i].high, 1, 1 }, { 1, 1, 1 }, NULL, NULL },
                written[i].isa ? written[i].isa : "x86-64-v3", written[i].text, false, 0, written[i].groups };
    ctx_init(&c);
    if (ctx_try(&c, run_model, &m)) fail_msg("the graph cannot be compiled for a range:\n%s", written[i].text);
    ctx_free(&c);
    unlink(path);
  }
}

/* Some kernels of stacked selections have no form that ends at a size. They are refused, and must be rare. */
static bool is_refused_kernel(FILE *err) {
  char line[512] = "";
  rewind(err);
  line[fread(line, 1, sizeof line - 1, err)] = 0;
  const bool refused = strstr(line, "a kernel of this node cannot end at a size");
  if (!refused) fputs(line, stderr);
  return refused;
}

static void random_graphs(void **state) {
  static const char *const isa[] = { "x86-64-v3", "x86-64-v4", "portable", "armv8.2" };
  const char *count = getenv("SIZES_GRAPHS"), *first = getenv("SIZES_SEED");
  const long graphs = count ? atol(count) : 60, seed = first ? atol(first) : 1;
  long refused = 0;
  (void)state;
  for (long i = seed; i < seed + graphs; i++) {
    char path[64];
    int dims;
    const bool spatial = i % 2 == 0;
    char *text = random_graph((uint64_t)i, (int)(1 + i % 3), spatial, &dims);
    Ctx c;
    write_model(path, text);
    const int64_t step = 1 + (i % 5 == 0);
    Model m = { { path,
                  dims,
                  { 1 + i % 3, 1 + i % 2, 1 },
                  { 1 + i % 3 + step * (4 + i % 13), 3 + i % 4, 2 + i % 5 },
                  { step, 1, 1 },
                  NULL,
                  NULL },
                isa[i % 4],
                text,
                i % 7 == 0,
                i % 3 ? 0 : (uint64_t)i,
                i / 4 % 3 ? GROUPS_ALL : GROUPS_FASTER };
    if (graphs == 1)
      printf("%sfor %s, sizes %s", text, m.isa, run_text(&m.job, m.job.low)), printf(" to %s\n", run_text(&m.job, m.job.high)),
          fflush(stdout);
    ctx_init(&c);
    c.quiet = m.heights; /* a warning for each schedule that is illegal */
    if (spatial) c.err = tmpfile();
    if (ctx_try(&c, run_model, &m)) {
      if (!spatial || !is_refused_kernel(c.err)) fail_msg("graph %ld cannot be compiled for a range:\n%s", i, text);
      refused++;
    }
    if (spatial) fclose(c.err);
    ctx_free(&c);
    free(text);
    unlink(path);
  }
  if (refused * 100 > graphs + 100) fail_msg("%ld of %ld graphs have a kernel that cannot end at a size", refused, graphs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(tiles_cover), cmocka_unit_test(low_tiles_cover),
    cmocka_unit_test(refusals),
    cmocka_unit_test(written_graphs), cmocka_unit_test(random_graphs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
