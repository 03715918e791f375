/* SPDX-License-Identifier: MIT */
/* budget.c: the limit of growth where loops are unrolled and builders make copies (--max-unroll). Loops of the graph are not
 * unrolled. Their iterations count less than copies do, but not nothing: the list of calls has each of them. */
#include "../../../compiler/cost/tunable.h"
#include "build.h"

/* Nodes made for the current node of the main graph. Tables count as nodes of the same memory. */
int64_t nodes_made(const Build *b) {
  enum { BYTES_A_NODE = 256 };
  int64_t nodes = (int64_t)(b->ir->n - b->made_from), bytes = (int64_t)((b->c->model.total - b->bytes_from) / BYTES_A_NODE);
  return nodes > bytes ? nodes : bytes;
}

bool unrolled_too_far(const Build *b) { return *b->unrolled + nodes_made(b) > b->c->limits.unroll; }

void spend(Build *b, int64_t n) {
  const int64_t most = b->c->limits.unroll;
  *b->unrolled += n < most ? n : most + 1;
  if (unrolled_too_far(b))
    bad(b, "the model has more than %lld nodes after its loops are unrolled; --max-unroll=N allows more", (long long)most);
}

int loop_begin(Build *b, int64_t trips) {
  const int64_t least = form_differs(b, trips > 0) ? 0 : b->sized ? 1 : tunable(b->c, loop_trips);
  if (b->ir->in_loop && form_differs(b, trips))
    bad(b, "the number of iterations depends on a range of sizes, and so does the number of iterations of the loop around this "
           "loop; for one of these loops, give the dimension one number");
  if (b->ir->in_loop || trips < least || trips > INT32_MAX || b->ir->loops >= GRAPH_LOOPS) return -1;
  b->ir->in_loop = true;
  b->loop_from = b->ir->n;
  return b->ir->loops;
}

/* Such a loop ends by data, and what ends it knows the number of iterations, too. */
int64_t early_trips(Build *b, int64_t trips) { return form_differs(b, trips) ? INT32_MAX - 1 : trips; }

void loop_end(Build *b) { b->ir->in_loop = false; }

/* A call of a list takes about 1.6 KB while compiling. A copied node takes that 16 times, with its kernel. An iteration counts as
 * two more, since most have two calls or more even where the body is small. */
void loop_spend(Build *b, int64_t trips) {
  enum { CALLS_A_COPY = 16, LEAST = 2 };
  spend(b, trips * ((int64_t)(b->ir->n - b->loop_from) / CALLS_A_COPY + LEAST));
}
