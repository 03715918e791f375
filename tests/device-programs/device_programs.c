/* SPDX-License-Identifier: MIT */
/* Runs hand-written device programs (*.tgd), and compares them with the graph that each of them computes.
 *
 * Sections of a file: "graph" defines the results; each "launch" is a program, in order; "traffic" has the costs of their
 * accesses on gpu-any. "wrong: FAULT" is an edit of the programs, old lines after '<', new ones after '>'. After the edit the
 * interpreter must report that fault in several orders of threads. "says: LINE" is the same for the whole line of the report in
 * ascending order. With an edit "verifier: MESSAGE", the verifier must refuse the programs.
 *
 * Every program must pass the verifier, print as it reads, fit the device, and give the graph's bits in all orders of threads.
 * Without any one of its barriers it must be reported. Values are small integers, so sums are exact. Prints TAP; arguments:
 * files. */
#include "../../compiler/interp/interp.h"
#include "../../compiler/interp/interp_threads.h"
#include <math.h>
#include "slurp.h"
#include <stdlib.h>

enum { MAX_LAUNCHES = 8, MAX_EDITS = 40 };

typedef struct Edit { const char *kind, *want, *old, *new; } Edit; /* kind: "wrong", "says" or "verifier" */
typedef struct File {
  const char *path, *graph, *launch[MAX_LAUNCHES], *traffic;
  int nlaunches, nedits;
  Edit edit[MAX_EDITS];
} File;

typedef struct Case { /* a set of programs and their memory */
  Ctx ctx;
  IR *ir;
  Launch launch[MAX_LAUNCHES];
  int n;
  Arena a;
  void **mem;
} Case;

static int results, failures;

static bool result(bool good, const File *f, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static bool result(bool good, const File *f, const char *fmt, ...) {
  va_list ap;
  const char *name = strrchr(f->path, '/') ? strrchr(f->path, '/') + 1 : f->path;
  printf("%sok %d - %s: ", good ? "" : "not ", ++results, name);
  va_start(ap, fmt);
  vprintf(fmt, ap);
  va_end(ap);
  printf("\n");
  failures += !good;
  return good;
}

static void comment(const char *text) {
  for (const char *p = text; p && *p;) {
    const size_t n = strcspn(p, "\n");
    printf("# %.*s\n", (int)n, p);
    p += n + (p[n] == '\n');
  }
}

/* ---- files ---- */
/* The lines that begin with c, without c and the blank behind it */
static const char *lines_of(Arena *a, const char *text, char c) {
  Sb out = { 0 };
  for (const char *p = text; *p;) {
    const size_t n = strcspn(p, "\n");
    if (*p == c) sb_put(&out, p + 2, n - 1);
    p += n + (p[n] == '\n');
  }
  const char *s = arena_printf(a, "%s", out.n ? out.p : "");
  sb_free(&out);
  return s;
}

static void add_section(Arena *a, File *f, const char *head, const char *body) {
  const char *colon = strchr(head, ':');
  if (!strcmp(head, "graph")) f->graph = body;
  else if (!strcmp(head, "launch")) f->launch[f->nlaunches++] = body;
  else if (!strcmp(head, "traffic")) f->traffic = body;
  else if (colon)
    f->edit[f->nedits++] = (Edit){ arena_printf(a, "%.*s", (int)(colon - head), head), colon + 2, lines_of(a, body, '<'),
                                   lines_of(a, body, '>') };
}

static bool read_file(Arena *a, const char *path, File *f) {
  char *text = slurp(a, path);
  *f = (File){ .path = path };
  if (!text) return false;
  for (char *at = strstr(text, "--- "); at;) {
    char *head = at + 4, *body = head + strcspn(head, "\n"), *next = strstr(body, "\n--- ");
    *body++ = 0;
    if (next) *next = 0;
    add_section(a, f, head, arena_printf(a, "%s\n", body)); /* with the end of its last line */
    at = next ? next + 1 : NULL;
  }
  return f->graph && f->nlaunches;
}

/* ---- a case ---- */
typedef struct Reading { Case *k; const char *text; bool verify; } Reading;

static void read_program(Ctx *c, void *arg) {
  Reading *r = arg;
  Refs list = { 0 };
  (void)c;
  ir_parse_program(r->k->ir, r->text, strlen(r->text), &list);
  if (r->verify) ir_verify_program(r->k->ir, list.p, list.n);
  r->k->launch[r->k->n++] = launch_of(r->k->ir, list);
}

/* edit: applied to the text first, if the text has its old lines; NULL: none. false: *said is the message */
static bool open_case(Case *k, const File *f, const Edit *edit, bool verify, char **said) {
  static const Pos line = { 0 };
  size_t nsaid;
  bool good = true;
  memset(k, 0, sizeof *k);
  ctx_init(&k->ctx);
  k->ctx.err = open_memstream(said, &nsaid);
  k->ir = ir_new(&k->ctx);
  k->ir->dump = &line; /* errors become messages */
  for (int i = 0; i < f->nlaunches && good; i++) {
    const char *text = f->launch[i], *at = NULL;
    for (const char *p = text; edit && !at && (p = strstr(p, edit->old)); p++)
      if (p == text || p[-1] == '\n' || p[-1] == ' ') at = p;
    if (at) text = arena_printf(&k->ctx.model, "%.*s%s%s", (int)(at - text), text, edit->new, at + strlen(edit->old));
    Reading r = { k, text, verify };
    good = !ctx_try(&k->ctx, read_program, &r);
  }
  fclose(k->ctx.err);
  k->ctx.err = stderr;
  return good;
}

static void close_case(Case *k) {
  for (int i = 0; i < k->n; i++) VEC_FREE(&k->launch[i].prog);
  free(k->mem);
  arena_free(&k->a);
  ir_free(k->ir);
  ctx_free(&k->ctx);
}

/* Allocates all buffers: inputs and outputs, and between them the arena, in which buffers may overlap. */
static void give_memory(Case *k, const Tensor *in, void *const *out) {
  int64_t arena = 0;
  for (size_t i = 0; i < k->ir->bufs.n; i++) {
    const Buf *b = &k->ir->bufs.p[i];
    const int64_t end = b->offset + b->elems * dt_bytes(b->dt);
    if (b->dt && b->kind == BUF_ARENA && end > arena) arena = end;
  }
  char *room = arena_alloc(&k->a, (size_t)arena + 64);
  k->mem = xcalloc(k->ir->bufs.n + 1, sizeof *k->mem);
  for (size_t i = 0; i < k->ir->bufs.n; i++) {
    const Buf *b = &k->ir->bufs.p[i];
    if (!b->dt || buf_is_own(b->kind)) continue;
    if (b->kind == BUF_INPUT) k->mem[i] = (void *)(uintptr_t)in[b->slot].data;
    else if (b->kind == BUF_OUTPUT) k->mem[i] = out[b->slot];
    else k->mem[i] = room + (b->offset < 0 ? 0 : b->offset);
  }
}

static Ref nth_barrier(const Case *k, int launch, int n, size_t *at) {
  const Refs *p = &k->launch[launch].prog;
  for (size_t i = 0; i < p->n; i++)
    if (node(k->ir, p->p[i])->op == OP_BARRIER && !n--) {
      *at = i;
      return p->p[i];
    }
  return 0;
}

/* ---- checks ---- */
typedef struct World { /* the graph, its inputs and its outputs */
  Ctx ctx;
  Graph *g;
  Tensor *in, *want;
  void **out;
} World;

static void open_world(World *w, const File *f) {
  ctx_init(&w->ctx);
  Graph *g = w->g = ir_parse_graph(&w->ctx, f->graph, strlen(f->graph), f->path);
  w->in = ARENA_NEW(&w->ctx.model, Tensor, g->inputs.n);
  w->want = ARENA_NEW(&w->ctx.model, Tensor, g->outputs.n);
  w->out = ARENA_NEW(&w->ctx.model, void *, g->outputs.n);
  const Tensor **in = ARENA_NEW(&w->ctx.model, const Tensor *, g->inputs.n);
  Ref *outputs = ARENA_NEW(&w->ctx.model, Ref, g->outputs.n);
  for (size_t i = 0; i < g->inputs.n; i++) {
    const GIO *io = &g->inputs.p[i];
    Tensor *t = &w->in[i];
    *t = (Tensor){ .dt = io->dt, .rank = io->rank, .elems = dims_elems(io->dims, io->rank) };
    memcpy(t->dims, io->dims, sizeof t->dims);
    float *v = ARENA_NEW(&w->ctx.model, float, (size_t)t->elems);
    for (int64_t e = 0; e < t->elems; e++) v[e] = (float)((e * 7919 + (int64_t)i * 31) % 17 - 8);
    t->data = v;
    in[i] = t;
  }
  for (size_t i = 0; i < g->outputs.n; i++) outputs[i] = g->outputs.p[i].ref;
  CHECK(interp_graph(g->ir, outputs, (int)g->outputs.n, in, &w->ctx.model, false, 0, w->want));
  for (size_t i = 0; i < g->outputs.n; i++)
    w->out[i] = arena_alloc(&w->ctx.model, (size_t)(w->want[i].elems * dt_bytes(w->want[i].dt)));
}

static void close_world(World *w) {
  ir_free(w->g->ir);
  ctx_free(&w->ctx);
}

static bool same_outputs(const World *w) {
  for (size_t i = 0; i < w->g->outputs.n; i++)
    if (memcmp(w->out[i], w->want[i].data, (size_t)(w->want[i].elems * dt_bytes(w->want[i].dt)))) return false;
  return true;
}

static bool prints_as_it_reads(const Case *k) {
  bool same = true;
  for (int i = 0; i < k->n; i++) {
    Sb once = { 0 }, twice = { 0 };
    Refs list = { 0 };
    Ctx c;
    ctx_init(&c);
    IR *ir = ir_new(&c);
    ir_print_program(k->ir, k->launch[i].prog.p, k->launch[i].prog.n, &once);
    ir_parse_program(ir, once.p, once.n, &list);
    ir_print_program(ir, list.p, list.n, &twice);
    same &= once.n == twice.n && !memcmp(once.p, twice.p, once.n) && list.n == k->launch[i].prog.n;
    VEC_FREE(&list);
    sb_free(&once);
    sb_free(&twice);
    ir_free(ir);
    ctx_free(&c);
  }
  return same;
}

static void put_traffic(const Case *k, const LaunchReport *r, Sb *out) {
  for (size_t i = 0; i < r->traffic.n; i++) {
    const Traffic *t = &r->traffic.p[i];
    const Node *x = node(k->ir, t->access);
    sb_printf(out, "%s b%lld: %lld requests, %lld sectors, %lld conflicts\n", x->op == OP_LOAD ? "load" : "store",
              (long long)buffer_id(node(k->ir, access_buffer(x))), (long long)t->requests, (long long)t->sectors,
              (long long)t->conflicts);
  }
}

/* inspect estimates the costs of launches from some blocks of each part. The estimate may differ by a tenth from all blocks'
 * costs. */
static void check_estimate(const File *f, const Case *k, const Device *d, const LaunchReport *all) {
  double counted[4] = { 0 }, said[4] = { 0 };
  bool near = true;
  for (int i = 0; i < k->n; i++) {
    const LaunchTraffic t = interp_traffic(k->ir, &k->launch[i], d);
    const double part[4] = { t.requests, t.sectors, t.shared, t.conflicts };
    for (int j = 0; j < 4; j++) said[j] += part[j];
  }
  for (size_t i = 0; i < all->traffic.n; i++) {
    const Traffic *t = &all->traffic.p[i];
    const bool shared = k->ir->bufs.p[buffer_id(node(k->ir, access_buffer(node(k->ir, t->access))))].kind == BUF_SHARED;
    counted[shared ? 2 : 0] += (double)t->requests;
    counted[1] += (double)t->sectors;
    counted[3] += (double)t->conflicts;
  }
  for (int j = 0; j < 4; j++) near &= fabs(said[j] - counted[j]) <= 0.1 * counted[j];
  result(near, f, "estimates %g requests, %g sectors, %g of shared memory, %g conflicts of %g, %g, %g, %g", said[0], said[1],
         said[2], said[3], counted[0], counted[1], counted[2], counted[3]);
}

/* A launch with too many micro-ops runs the first block of each part, the last one and eight others. */
static void check_sample(const File *f, Case *k, const Device *d) {
  for (int i = 0; i < k->n; i++) {
    LaunchReport all = { 0 }, some = { 0 };
    interp_launch(k->ir, &k->launch[i], d, k->mem, (ThreadOrder){ .warp = 32 }, 0, &all);
    interp_launch(k->ir, &k->launch[i], d, k->mem, (ThreadOrder){ .warp = 32 }, all.steps / 2, &some);
    const bool long_one = launch_blocks(&k->launch[i]) > 10;
    result(some.sampled == long_one && (some.steps < all.steps) == long_one && !launch_faults(&some) && !all.sampled, f,
           "launch %d of %lld steps, sampled: %lld", i, (long long)all.steps, (long long)some.steps);
    launch_report_free(&all);
    launch_report_free(&some);
  }
}

static void check_good(const File *f, World *w, const Device *d) {
  char *said = NULL;
  Case k;
  LaunchReport r = { 0 };
  Sb why = { 0 }, traffic = { 0 };
  bool fits = true, ran = true;
  if (!result(open_case(&k, f, NULL, true, &said), f, "the verifier lets it pass")) comment(said);
  result(prints_as_it_reads(&k), f, "prints as it reads");
  for (int i = 0; i < k.n; i++) fits &= device_takes(d, k.ir, &k.launch[i], &why);
  if (!result(fits, f, "the device takes it")) comment(why.p);
  give_memory(&k, w->in, w->out);
  for (int i = 0; i < k.n; i++) ran &= interp_launch_orders(k.ir, &k.launch[i], d, k.mem, 0, &r);
  if (!result(ran, f, "no fault, and the same bits in all orders of threads")) comment(r.text.p);
  result(same_outputs(w), f, "the bits of the graph");
  put_traffic(&k, &r, &traffic);
  check_estimate(f, &k, d, &r);
  if (f->traffic && !result(!strcmp(f->traffic, traffic.p), f, "what its accesses cost")) comment(traffic.p);
  check_sample(f, &k, d);
  sb_free(&why);
  sb_free(&traffic);
  launch_report_free(&r);
  close_case(&k);
  free(said);
}

/* Whether the first norders orders report `want`; NULL: any fault */
static void check_fault(const File *f, World *w, const Device *d, Case *k, size_t norders, const char *want, const char *name) {
  static const ThreadOrder orders[] = { { .warp = 1 }, { .warp = 32 }, { ORDER_DESCENDING, 0, 1 }, { ORDER_SHUFFLED, 5, 16 } };
  give_memory(k, w->in, w->out);
  bool found = true;
  for (size_t o = 0; o < sizeof orders / sizeof *orders && o < norders; o++) {
    LaunchReport r = { 0 };
    for (int i = 0; i < k->n; i++) interp_launch(k->ir, &k->launch[i], d, k->mem, orders[o], 0, &r);
    const bool here = want ? r.text.n && strstr(r.text.p, want) : launch_faults(&r) > 0;
    if (!here) comment(r.text.n ? r.text.p : "no fault");
    found &= here;
    launch_report_free(&r);
  }
  result(found, f, "%s", name);
}

static void check_edit(const File *f, World *w, const Device *d, const Edit *e) {
  char *said = NULL;
  Case k;
  const bool verifier = !strcmp(e->kind, "verifier"), read = open_case(&k, f, e, verifier, &said);
  const char *name = arena_printf(&w->ctx.model, "%s: %.*s", e->want, (int)strcspn(e->new, "\n"), e->new);
  if (verifier) {
    if (!result(!read && strstr(said, e->want), f, "refused, %s", name)) comment(said);
  } else if (!read) {
    result(false, f, "%s", name);
    comment(said);
  } else {
    check_fault(f, w, d, &k, strcmp(e->kind, "says") ? SIZE_MAX : 1, e->want, name);
  }
  close_case(&k);
  free(said);
}

static void check_barriers(const File *f, World *w, const Device *d) {
  for (int launch = 0; launch < f->nlaunches; launch++)
    for (int n = 0;; n++) {
      char *said = NULL;
      Case k;
      size_t at;
      open_case(&k, f, NULL, false, &said);
      const Ref b = nth_barrier(&k, launch, n, &at);
      if (b) {
        Refs *p = &k.launch[launch].prog;
        memmove(p->p + at, p->p + at + 1, (--p->n - at) * sizeof *p->p);
        const char *name = arena_printf(&w->ctx.model, "reported without barrier %lld", (long long)barrier_id(node(k.ir, b)));
        check_fault(f, w, d, &k, SIZE_MAX, NULL, name);
      }
      close_case(&k);
      free(said);
      if (!b) break;
    }
}

int main(int argc, char **argv) {
  Arena a = { 0 };
  const Device *d = device_with(&a, device_target("gpu-any"), DEVF_SUBGROUPS)->dev;
  for (int i = 1; i < argc; i++) {
    File f;
    World w;
    if (!read_file(&a, argv[i], &f)) {
      printf("not ok %d - %s cannot be read\n", ++results, argv[i]);
      failures++;
      continue;
    }
    open_world(&w, &f);
    check_good(&f, &w, d);
    check_barriers(&f, &w, d);
    for (int e = 0; e < f.nedits; e++) check_edit(&f, &w, d, &f.edit[e]);
    close_world(&w);
  }
  arena_free(&a);
  printf("1..%d\n", results);
  return failures != 0;
}
