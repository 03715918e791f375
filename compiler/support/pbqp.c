/* SPDX-License-Identifier: MIT */
/* pbqp.c: solves partitioned boolean quadratic problems (PBQP) by dynamic programming: least sum of costs of alternatives and
 * of pairs of alternatives. Scholz and Eckstein allocate registers this way (LCTES 2002), and Anderson and Gregg choose the
 * layouts of a network's values (CGO 2018).
 *
 * A node with one neighbour is removed: each alternative of the neighbour gets the least cost of the node beside it. A node
 * with two neighbours likewise becomes an edge between them. Both steps are exact: the node's alternative follows from its
 * neighbours'. If every node has more neighbours, a node with the most gets an alternative by a guess. It is the best one if
 * each neighbour takes its best. At the end single nodes change as long as that lowers the cost. */
#include "pbqp.h"
#include <stdlib.h>
#include <string.h>

typedef struct Edge { int end[2]; bool gone; double *cost; } Edge; /* cost: matrix of alternatives of end[0] x alternatives of
                                                                      end[1] */
/* edges: indices; removed ones may remain in the list */
typedef struct Vertex { int alternatives; double *cost; VEC(int) edges; } Vertex;

struct Pbqp {
  Arena arena;
  VEC(Vertex) node;
  VEC(Edge) edge;
};

Pbqp *pbqp_new(void) {
  Pbqp *c = xmalloc(sizeof *c);
  memset(c, 0, sizeof *c);
  return c;
}

void pbqp_free(Pbqp *c) {
  for (size_t i = 0; i < c->node.n; i++) VEC_FREE(&c->node.p[i].edges);
  VEC_FREE(&c->node);
  VEC_FREE(&c->edge);
  arena_free(&c->arena);
  free(c);
}

int pbqp_node(Pbqp *c, int alternatives) {
  CHECK(alternatives > 0);
  VEC_PUSH(&c->node, ((Vertex){ .alternatives = alternatives, .cost = ARENA_NEW(&c->arena, double, alternatives) }));
  return (int)c->node.n - 1;
}

int pbqp_size(const Pbqp *c) { return (int)c->node.n; }

void pbqp_cost(Pbqp *c, int node, int alternative, double cost) { c->node.p[node].cost[alternative] += cost; }

static int alternatives_of(const Pbqp *c, int node) { return c->node.p[node].alternatives; }

static int other_end(const Edge *e, int node) { return e->end[e->end[0] == node]; }

/* Cost of edge e with alternative i at node and j at the other end */
static double *pair_cost(const Pbqp *c, const Edge *e, int node, int i, int j) {
  return &e->cost[e->end[0] == node ? i * alternatives_of(c, e->end[1]) + j : j * alternatives_of(c, e->end[1]) + i];
}

/* The node, after removing edges from its list that are gone */
static Vertex *edges_of(Pbqp *c, int node) {
  Vertex *x = &c->node.p[node];
  size_t n = 0;
  for (size_t i = 0; i < x->edges.n; i++)
    if (!c->edge.p[x->edges.p[i]].gone) x->edges.p[n++] = x->edges.p[i];
  x->edges.n = n;
  return x;
}

/* The edge between two nodes, a new one if needed; searches at the node with fewer edges. */
static Edge *edge_between(Pbqp *c, int a, int b) {
  int few = c->node.p[a].edges.n <= c->node.p[b].edges.n ? a : b;
  const Vertex *x = edges_of(c, few);
  for (size_t i = 0; i < x->edges.n; i++) {
    Edge *e = &c->edge.p[x->edges.p[i]];
    if (other_end(e, few) == (few == a ? b : a)) return e;
  }
  int id = (int)c->edge.n;
  VEC_PUSH(&c->edge,
           ((Edge){ .end = { a, b }, .cost = ARENA_NEW(&c->arena, double, alternatives_of(c, a) * alternatives_of(c, b)) }));
  VEC_PUSH(&c->node.p[a].edges, id);
  VEC_PUSH(&c->node.p[b].edges, id);
  return &c->edge.p[id];
}

void pbqp_edge(Pbqp *c, int a, int b, const double *cost) {
  CHECK(a != b);
  const Edge *e = edge_between(c, a, b);
  for (int i = 0; i < alternatives_of(c, a); i++)
    for (int j = 0; j < alternatives_of(c, b); j++) *pair_cost(c, e, a, i, j) += cost[i * alternatives_of(c, b) + j];
}

double pbqp_total(const Pbqp *c, const int *alternative) {
  double sum = 0;
  for (size_t v = 0; v < c->node.n; v++) sum += c->node.p[v].cost[alternative[v]];
  for (size_t i = 0; i < c->edge.n; i++) {
    const Edge *e = &c->edge.p[i];
    if (!e->gone) sum += *pair_cost(c, e, e->end[0], alternative[e->end[0]], alternative[e->end[1]]);
  }
  return sum;
}

double pbqp_cost_around(const Pbqp *c, const int *alternative, int node) {
  bool *near = xcalloc(c->node.n, sizeof *near);
  double sum = 0;
  near[node] = true;
  for (size_t i = 0; i < c->node.p[node].edges.n; i++) near[other_end(&c->edge.p[c->node.p[node].edges.p[i]], node)] = true;
  for (size_t v = 0; v < c->node.n; v++) sum += near[v] ? c->node.p[v].cost[alternative[v]] : 0;
  for (size_t i = 0; i < c->edge.n; i++) {
    const Edge *e = &c->edge.p[i];
    if (!e->gone && (near[e->end[0]] || near[e->end[1]]))
      sum += *pair_cost(c, e, e->end[0], alternative[e->end[0]], alternative[e->end[1]]);
  }
  free(near);
  return sum;
}

/* ---- removing nodes ---- */
typedef struct Taken { int node, n, edge[2]; } Taken; /* with its remaining edges at that time */
typedef struct Solver {
  Pbqp *c;               /* a copy: what remains of the problem */
  int *degree;             /* number of remaining edges */
  bool *out;               /* removed, or fixed to an alternative */
  VEC(int) few;            /* stack of nodes with at most two neighbours */
  VEC(Taken) taken;        /* removed nodes, first to last */
  int *alternative;
} Solver;

static void copy(Pbqp *to, const Pbqp *from) {
  for (size_t v = 0; v < from->node.n; v++) {
    int id = pbqp_node(to, from->node.p[v].alternatives);
    memcpy(to->node.p[id].cost, from->node.p[v].cost, (size_t)from->node.p[v].alternatives * sizeof(double));
  }
  for (size_t i = 0; i < from->edge.n; i++) pbqp_edge(to, from->edge.p[i].end[0], from->edge.p[i].end[1], from->edge.p[i].cost);
}

static Taken with_edges(const Solver *s, int v) {
  Taken t = { .node = v };
  const Vertex *x = edges_of(s->c, v);
  for (size_t i = 0; i < x->edges.n; i++) t.edge[t.n++] = x->edges.p[i];
  return t;
}

static void remove_edge(Solver *s, int id) {
  Edge *e = &s->c->edge.p[id];
  e->gone = true;
  for (int k = 0; k < 2; k++)
    if (--s->degree[e->end[k]] <= 2 && !s->out[e->end[k]]) VEC_PUSH(&s->few, e->end[k]);
}

/* The alternative of a node that costs least beside its neighbours' alternatives; *least: that cost */
static int best_beside(const Pbqp *c, const Taken *t, const int beside[2], double *least) {
  const Vertex *x = &c->node.p[t->node];
  int best = 0;
  for (int l = 0; l < x->alternatives; l++) {
    double cost = x->cost[l];
    for (int k = 0; k < t->n; k++) cost += *pair_cost(c, &c->edge.p[t->edge[k]], t->node, l, beside[k]);
    if (!l || cost < *least) *least = cost, best = l;
  }
  return best;
}

static void take_away(Solver *s, int v) {
  Pbqp *c = s->c;
  Taken t = with_edges(s, v);
  s->out[v] = true;
  VEC_PUSH(&s->taken, t);
  if (!t.n) return;
  int a = other_end(&c->edge.p[t.edge[0]], v), b = t.n > 1 ? other_end(&c->edge.p[t.edge[1]], v) : -1;
  int rows = alternatives_of(c, a), columns = b < 0 ? 1 : alternatives_of(c, b);
  double *cost = ARENA_NEW(&c->arena, double, rows * columns);
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) best_beside(c, &t, (int[]){ i, j }, &cost[i * columns + j]);
  if (b < 0) {
    for (int i = 0; i < rows; i++) c->node.p[a].cost[i] += cost[i];
  } else {
    size_t edges = c->edge.n;
    pbqp_edge(c, a, b, cost);
    if (c->edge.n > edges) s->degree[a]++, s->degree[b]++;
  }
  for (int k = 0; k < t.n; k++) remove_edge(s, t.edge[k]);
}

/* Fixes v to an alternative: its neighbours take over the costs of the edges */
static void fix(Solver *s, int v, int alternative) {
  const Vertex *x = &s->c->node.p[v];
  s->alternative[v] = alternative;
  s->out[v] = true;
  for (size_t i = 0; i < x->edges.n; i++) {
    const Edge *e = &s->c->edge.p[x->edges.p[i]];
    if (e->gone) continue;
    int u = other_end(e, v);
    for (int j = 0; j < alternatives_of(s->c, u); j++) s->c->node.p[u].cost[j] += *pair_cost(s->c, e, v, alternative, j);
    remove_edge(s, x->edges.p[i]);
  }
}

/* The alternative that is best if each neighbour takes its best one */
static int guess(const Solver *s, int v) {
  const Vertex *x = &s->c->node.p[v];
  int best = 0;
  double least_sum = 0;
  for (int l = 0; l < x->alternatives; l++) {
    double sum = x->cost[l];
    for (size_t i = 0; i < x->edges.n; i++) {
      const Edge *e = &s->c->edge.p[x->edges.p[i]];
      if (e->gone) continue;
      int u = other_end(e, v);
      double low = 0;
      for (int j = 0; j < alternatives_of(s->c, u); j++) {
        double cost = s->c->node.p[u].cost[j] + *pair_cost(s->c, e, v, l, j);
        if (!j || cost < low) low = cost;
      }
      sum += low;
    }
    if (!l || sum < least_sum) least_sum = sum, best = l;
  }
  return best;
}

static void take_few(Solver *s) {
  while (s->few.n) {
    int v = s->few.p[--s->few.n];
    if (!s->out[v] && s->degree[v] <= 2) take_away(s, v);
  }
}

/* Fixes nodes of three or more neighbours, those with the most first */
static void take_many(Solver *s) {
  int most = 0;
  for (size_t v = 0; v < s->c->node.n; v++) most = !s->out[v] && s->degree[v] > most ? s->degree[v] : most;
  for (; most > 2; most = most * 3 / 4) { /* in a few rounds, not one per degree */
    for (size_t v = 0; v < s->c->node.n; v++) {
      if (s->out[v] || s->degree[v] < most || s->degree[v] <= 2) continue;
      fix(s, (int)v, guess(s, (int)v));
      take_few(s);
    }
  }
  for (size_t v = 0; v < s->c->node.n; v++)
    if (!s->out[v]) {
      fix(s, (int)v, guess(s, (int)v));
      take_few(s);
    }
}

static int best_alternative(const Pbqp *c, int v, const int *alternative) {
  const Vertex *x = &c->node.p[v];
  int best = alternative[v];
  double cost[2] = { 0, 0 }; /* cost of the best alternative, and of the one tried */
  for (int l = -1; l < x->alternatives; l++) {
    int tried = l < 0 ? best : l;
    cost[1] = x->cost[tried];
    for (size_t i = 0; i < x->edges.n; i++) {
      const Edge *e = &c->edge.p[x->edges.p[i]];
      cost[1] += *pair_cost(c, e, v, tried, alternative[other_end(e, v)]);
    }
    if (l < 0 || cost[1] < cost[0] * (1 - 1e-12)) cost[0] = cost[1], best = tried;
  }
  return best;
}

enum { SWEEPS = 8 };

static void improve(const Pbqp *c, const int *fixed, int *alternative) {
  bool changed = true;
  for (int i = 0; i < SWEEPS && changed; i++) {
    changed = false;
    for (size_t v = 0; v < c->node.n; v++) {
      int l = fixed && fixed[v] >= 0 ? alternative[v] : best_alternative(c, (int)v, alternative);
      changed |= l != alternative[v];
      alternative[v] = l;
    }
  }
}

double pbqp_solve(const Pbqp *c, const int *fixed, int *alternative) {
  Solver s = { .c = pbqp_new(), .alternative = alternative };
  copy(s.c, c);
  s.degree = ARENA_NEW(&s.c->arena, int, c->node.n);
  s.out = ARENA_NEW(&s.c->arena, bool, c->node.n);
  for (size_t i = 0; i < s.c->edge.n; i++) s.degree[s.c->edge.p[i].end[0]]++, s.degree[s.c->edge.p[i].end[1]]++;
  for (size_t v = 0; v < c->node.n; v++)
    if (fixed && fixed[v] >= 0) fix(&s, (int)v, fixed[v]);
  for (size_t v = 0; v < c->node.n; v++)
    if (!s.out[v] && s.degree[v] <= 2) VEC_PUSH(&s.few, (int)v);
  take_few(&s);
  take_many(&s);
  while (s.taken.n) { /* last to first: its neighbours at removal have their alternatives by now */
    const Taken *t = &s.taken.p[--s.taken.n];
    int beside[2] = { 0 };
    double least;
    for (int k = 0; k < t->n; k++) beside[k] = alternative[other_end(&s.c->edge.p[t->edge[k]], t->node)];
    alternative[t->node] = best_beside(s.c, t, beside, &least);
  }
  improve(c, fixed, alternative);
  VEC_FREE(&s.few);
  VEC_FREE(&s.taken);
  pbqp_free(s.c);
  return pbqp_total(c, alternative);
}
