/* SPDX-License-Identifier: MIT */
/* llvm.c: prints programs as LLVM IR, in its text form: memory, tiles, loops and functions. llvm_exprs.c and llvm_vectors.c print
 * the values. Accumulators are stack slots, which LLVM turns into registers. Writing text needs no LLVM; llvm_build.c makes
 * objects of it. */
#include "llvm_render.h"
#include <stdlib.h>

static const char *memory_type(DType d) { return d == DT_BOOL ? "i8" : llvm_scalar[d]; }

static void name_value(Render *w, Ref r, const char *text) {
  VEC_PUSH(&w->text, text);
  refmap_set(&w->at, r, (uint32_t)w->text.n);
}

static void open_block(Render *w, const char *label) {
  sb_printf(w->o, "%s:\n", label);
  w->block = label;
}

/* Around code that may be skipped. */
static void begin_scope(Render *w) { VEC_PUSH(&w->outside, w->bases.n); }
static void end_scope(Render *w) { w->bases.n = w->outside.p[--w->outside.n]; }

/* ---- memory ---- */

/* Elements of a buffer at known distances share a base, so LLVM has one address to keep and not one for each. */
static bool is_offset(const IR *ir, Ref index, int64_t *by) {
  const Node *x = node(ir, index);
  return x->op == OP_ADD && (x->dt == DT_I64 || x->dt == DT_I32) && x->lanes == 1 && node_is_const(ir, rhs(x), by);
}

static bool is_address(const Node *x, int k) { return k == 1 && is_access(x); }

static void find_wanted(Render *w) {
  int64_t by;
  for (size_t i = 0; i < w->k->prog.n; i++) {
    const Node *x = node(w->ir, w->k->prog.p[i]);
    for (int k = 0; k < x->nsrc; k++)
      if (!is_address(x, k) && is_offset(w->ir, x->src[k], &by)) refmap_set(&w->wanted, x->src[k], 1);
  }
}

/* not inbounds: only base and offset together need lie in the buffer */
static const char *put_base(Render *w, Ref buffer, Ref index, const char *type) {
  for (size_t i = w->bases.n; i-- > 0;)
    if (w->bases.p[i].buffer == buffer && w->bases.p[i].index == index) return w->bases.p[i].text;
  const char *of = llvm_scalar[node(w->ir, index)->dt];
  const char *p = llvm_emit(w, "getelementptr %s, ptr %s, %s %s", type, value(w, buffer), of, value(w, index));
  VEC_PUSH(&w->bases, ((Base){ buffer, index, p }));
  return p;
}

static const char *put_address(Render *w, const Node *x) {
  const char *type = memory_type((DType)node(w->ir, access_buffer(x))->dt);
  const Ref index = access_index(x);
  int64_t by;
  CHECK(node(w->ir, index)->lanes == 1);
  if (!is_offset(w->ir, index, &by)) return put_base(w, access_buffer(x), index, type);
  return llvm_emit(w, "getelementptr %s, ptr %s, i64 %lld", type, put_base(w, access_buffer(x), lhs(node(w->ir, index)), type),
                   (long long)by);
}

static const char *put_access(Render *w, const Node *x) { /* the load itself; bools become masks */
  const DType d = (DType)x->dt;
  const Text t = llvm_type(memory_type(d), x->lanes);
  const char *v = llvm_emit(w, "load %s, ptr %s, align %d", t.s, put_address(w, x), dt_bytes(d));
  return d == DT_BOOL ? llvm_emit(w, "icmp ne %s %s, %s", t.s, v, x->lanes > 1 ? "zeroinitializer" : "0") : v;
}

/* The code that follows runs if the gate holds; close_gate ends it. */
static const char *open_gate(Render *w, const char *gate, int n) {
  const char *then = arena_printf(&w->a, "then%d", n);
  sb_printf(w->o, "  br i1 %s, label %%%s, label %%join%d\n", gate, then, n);
  open_block(w, then);
  begin_scope(w);
  return then;
}
static void close_gate(Render *w, int n) {
  end_scope(w);
  sb_printf(w->o, "  br label %%join%d\n", n);
  open_block(w, arena_printf(&w->a, "join%d", n));
}

static const char *put_load(Render *w, const Node *x) {
  if (!load_gate(x)) return put_access(w, x);
  CHECK(node(w->ir, load_gate(x))->lanes == 1);
  const int n = w->blocks++;
  const char *gate = value(w, load_gate(x)), *otherwise = value(w, load_else(x)), *before = w->block,
             *then = open_gate(w, gate, n);
  const char *v = put_access(w, x);
  close_gate(w, n);
  return llvm_emit(w, "phi %s [ %s, %%%s ], [ %s, %%%s ]", llvm_value((DType)x->dt, x->lanes).s, v, then, otherwise, before);
}

static void put_store(Render *w, const Node *x) {
  const Node *v = node(w->ir, store_value(x));
  const DType d = (DType)v->dt;
  const int n = store_gate(x) ? w->blocks++ : 0;
  const Text t = llvm_type(memory_type(d), v->lanes);
  if (store_gate(x)) open_gate(w, value(w, store_gate(x)), n);
  const char *a = value(w, store_value(x));
  if (d == DT_BOOL) a = llvm_emit(w, "zext %s %s to %s", llvm_value(d, v->lanes).s, a, t.s);
  const char *p = put_address(w, x);
  sb_printf(w->o, "  store %s %s, ptr %s, align %d\n", t.s, a, p, dt_bytes(d));
  if (store_gate(x)) close_gate(w, n);
}

static const char *put_acc(Render *w, const Node *x) {
  const Text t = llvm_value((DType)x->dt, x->lanes);
  const char *slot = arena_printf(&w->a, "%%a%d", w->accs++);
  sb_printf(&w->slots, "  %s = alloca %s\n", slot, t.s);
  sb_printf(w->o, "  store %s %s, ptr %s\n", t.s, value(w, acc_init(x)), slot);
  return slot;
}

/* ---- tiles: registers of x86's matrix unit, by number ---- */
static const char *stack_slot(Render *w, const char *name, Text t) {
  sb_printf(&w->slots, "  %s = alloca %s, align 64\n", name, t.s);
  return name;
}

/* Begins a nest that multiplies tiles, with the shapes of the tiles. */
static void put_tiles(Render *w, size_t at) {
  const char *slot = stack_slot(w, arena_printf(&w->a, "%%a%d", w->accs++), llvm_type("i8", 64));
  tile_registers(w->ir, w->k->prog.p + at, w->k->prog.n - at, &w->tiles);
  sb_puts(w->o, "  store <64 x i8> <");
  for (int i = 0; i < 64; i++) sb_printf(w->o, "%si8 %d", i ? ", " : "", w->tiles.config[i]);
  sb_printf(w->o, ">, ptr %s, align 64\n  call void @llvm.x86.ldtilecfg(ptr %s)\n", slot, slot);
}

static const char *put_spill(Render *w, const Node *x) {
  const int t = tile_register(&w->tiles, get_acc(node(w->ir, operand(x))));
  const char *slot = stack_slot(w, arena_printf(&w->a, "%%a%d", w->accs++), llvm_value((DType)x->dt, x->lanes));
  sb_printf(w->o, "  call void @llvm.x86.tilestored64(i8 %d, ptr %s, i64 %d)\n", t, slot, w->tiles.config[16 + 2 * t]);
  return slot;
}

static const char *put_part(Render *w, const Node *x) {
  const char *p = llvm_emit(w, "getelementptr inbounds %s, ptr %s, %s %s", llvm_scalar[x->dt], value(w, part_tile(x)),
                            llvm_scalar[node(w->ir, part_index(x))->dt], value(w, part_index(x)));
  return llvm_emit(w, "load %s, ptr %s, align %d", llvm_value((DType)x->dt, x->lanes).s, p, dt_bytes((DType)x->dt));
}

/* Prints a tile op. False: x is no tile op. */
static bool put_tile(Render *w, Ref r) {
  const Node *x = node(w->ir, r);
  const int t = tile_register(&w->tiles, r);
  switch ((Op)x->op) {
  case OP_TILE: {
    const char *p = put_address(w, x);
    sb_printf(w->o, "  call void @llvm.x86.tileloadd64(i8 %d, ptr %s, i64 %lld)\n", t, p,
              (long long)tile_stride(x) * dt_bytes((DType)x->dt));
    return true;
  }
  case OP_MMA:
    sb_printf(w->o, "  call void @llvm.x86.%s(i8 %d, i8 %d, i8 %d)\n", tile_isa_op(w->ir, x)->name,
              tile_register(&w->tiles, tile_sum(w->ir, x)), tile_register(&w->tiles, mma_x(x)),
              tile_register(&w->tiles, mma_y(x)));
    return true;
  case OP_ACC:
    if (t >= 0) sb_printf(w->o, "  call void @llvm.x86.tilezero(i8 %d)\n", t);
    return t >= 0;
  case OP_GET: case OP_SET: return tile_register(&w->tiles, variable_of(x)) >= 0;
  default: return false;
  }
}

/* ---- loops: tested at their end, because most extents are known ---- */
/* A size of the run, as d */
static const char *put_size(Render *w, int64_t number, DType d) {
  const char *at = llvm_emit(w, "getelementptr inbounds i64, ptr %%n, i64 %lld", (long long)number);
  const char *size = llvm_emit(w, "load i64, ptr %s, align 8", at);
  return d == DT_I64 ? size : llvm_emit(w, "trunc i64 %s to %s", size, llvm_scalar[d]);
}

/* Where the current chunks begin or end among the units of a shared range; limit: how many of them a run has, NULL: all */
static const char *put_bound(Render *w, const char *chunk, const Node *range, const char *limit) {
  const long long units = (long long)range_extent(range);
  const int chunks = w->k->chunks;
  const char *type = llvm_scalar[range->dt];
  if (range->dt != target_count(w->t)) chunk = llvm_emit(w, "sext %s %s to %s", llvm_scalar[target_count(w->t)], chunk, type);
  if (limit) return llvm_emit(w, "udiv %s %s, %d", type, llvm_emit(w, "mul nsw %s %s, %s", type, chunk, limit), chunks);
  if (units == chunks) return chunk;
  if (units % chunks == 0) return llvm_emit(w, "mul nsw %s %s, %lld", type, chunk, units / chunks);
  return llvm_emit(w, "sdiv %s %s, %d", type, llvm_emit(w, "mul nsw %s %s, %lld", type, chunk, units), chunks);
}

static void put_loop(Render *w, const Node *loop, int n) {
  const Ref range = loop_range(loop);
  const Node *r = node(w->ir, range);
  const char *type = llvm_scalar[r->dt];
  const char *name = arena_printf(&w->a, "%%r%d", n), *label = arena_printf(&w->a, "loop%d", n), *first = "0", *any = NULL;
  const char *limit = range_limit(r) ? put_size(w, range_limit(r) - 1, (DType)r->dt) : NULL;
  const char *end = limit ? limit : arena_printf(&w->a, "%lld", (long long)range_extent(r));
  if (range_kind(r) == RK_THREAD) {
    first = put_bound(w, "%begin", r, limit);
    end = put_bound(w, "%end", r, limit);
  } else if (range_extent(r) < 1) any = "false";
  if (limit || range_kind(r) == RK_THREAD) any = llvm_emit(w, "icmp slt %s %s, %s", type, first, end);
  if (loop_gate(loop)) any = any ? llvm_emit(w, "and i1 %s, %s", any, value(w, loop_gate(loop))) : value(w, loop_gate(loop));
  if (any) sb_printf(w->o, "  br i1 %s, label %%%s, label %%exit%d\n", any, label, n);
  else sb_printf(w->o, "  br label %%%s\n", label);
  const char *before = w->block;
  open_block(w, label);
  sb_printf(w->o, "  %s = phi %s [ %s, %%%s ]", name, type, first, before);
  if (!range_runs_once(w->ir, r)) sb_printf(w->o, ", [ %s.next, %%next%d ]", name, n);
  sb_puts(w->o, "\n");
  name_value(w, range, name);
  VEC_PUSH(&w->ends, end);
  begin_scope(w);
}

static void put_end(Render *w, Ref range) {
  const char *name = value(w, range), *n = name + 2; /* the number in "%r7" */
  const char *type = llvm_scalar[node(w->ir, range)->dt];
  const char *last = w->ends.p[--w->ends.n];
  end_scope(w);
  if (range_runs_once(w->ir, node(w->ir, range))) sb_printf(w->o, "  br label %%exit%s\n", n);
  else {
    sb_printf(w->o, "  br label %%next%s\nnext%s:\n", n, n);
    sb_printf(w->o, "  %s.next = add nuw nsw %s %s, 1\n", name, type, name);
    sb_printf(w->o, "  %s.more = icmp slt %s %s.next, %s\n", name, type, name, last);
    sb_printf(w->o, "  br i1 %s.more, label %%loop%s, label %%exit%s\n", name, n, n);
  }
  open_block(w, arena_printf(&w->a, "exit%s", n));
}

/* ---- one micro-op: the text of its value, or NULL ---- */
static void put_prefetch(Render *w, const Node *x) { /* not inbounds: the address may be behind the buffer */
  const Ref buffer = prefetch_buffer(x);
  const char *p = llvm_emit(w, "getelementptr %s, ptr %s, %s %s", memory_type((DType)node(w->ir, buffer)->dt), value(w, buffer),
                            llvm_scalar[node(w->ir, prefetch_index(x))->dt], value(w, prefetch_index(x)));
  sb_printf(w->o, "  call void @llvm.prefetch.p0(ptr %s, i32 0, i32 %d, i32 1)\n", p, prefetch_near(x) ? 3 : 2);
}

static const char *put_value(Render *w, Ref r, int *loops) {
  const Node *x = node(w->ir, r);
  const DType d = (DType)x->dt;
  const Text t = llvm_value(d, x->lanes);
  if (put_tile(w, r)) return NULL;
  switch ((Op)x->op) {
  case OP_SPILL: return put_spill(w, x);
  case OP_PART: return put_part(w, x);
  case OP_CONST: return llvm_constant(w, d, const_value(x));
  case OP_RANGE: return NULL;
  case OP_SIZE: return put_size(w, size_id(x), d);
  case OP_BUFFER:
    for (size_t i = 0; i < w->k->bufs.n; i++)
      if (w->k->bufs.p[i] == buffer_id(x)) return arena_printf(&w->a, "%%b%zu", i);
    for (size_t i = 0; i < w->k->locals.n; i++)
      if (w->k->locals.p[i] == buffer_id(x)) return arena_printf(&w->a, "%%panel%zu", i);
    BUG("a buffer that the kernel does not name");
  case OP_LOOP: put_loop(w, x, (*loops)++); return NULL;
  case OP_END: put_end(w, end_range(x)); return NULL;
  case OP_LOAD: return put_load(w, x);
  case OP_STORE: put_store(w, x); return NULL;
  case OP_PREFETCH: put_prefetch(w, x); return NULL;
  case OP_ACC: return put_acc(w, x);
  case OP_GET: return llvm_emit(w, "load %s, ptr %s", t.s, value(w, get_acc(x)));
  case OP_SET: {
    const Node *v = node(w->ir, set_value(x));
    sb_printf(w->o, "  store %s %s, ptr %s\n", llvm_value((DType)v->dt, v->lanes).s, value(w, set_value(x)),
              value(w, set_acc(x)));
    return NULL;
  }
  case OP_DOT: return llvm_dot(w, x);
  case OP_SCALB:
    return llvm_emit(w, "call %s @llvm.x86.avx512.mask.scalef.ps.512(%s %s, %s %s, %s zeroinitializer, i16 -1, i32 4)", t.s, t.s,
                     value(w, lhs(x)), t.s, value(w, rhs(x)), t.s);
  case OP_LOOKUP:
    return llvm_emit(w, "call %s @llvm.x86.avx512.permvar.sf.512(%s %s, %s %s)", t.s, t.s, value(w, lookup_table(x)),
                     llvm_value(DT_U32, x->lanes).s, value(w, lookup_index(x)));
  case OP_BCAST: return llvm_bcast(w, x);
  case OP_VEC: return llvm_vec(w, x);
  case OP_LANE:
    return llvm_emit(w, "extractelement %s %s, i64 %lld", llvm_value(d, node(w->ir, operand(x))->lanes).s, value(w, operand(x)),
                     (long long)lane_lane(x));
  case OP_SHUFFLE: return llvm_shuffle(w, x);
  case OP_HRED: return llvm_hred(w, hred_op(x), d, node(w->ir, operand(x))->lanes, value(w, operand(x)));
  default: return llvm_expr(w, x);
  }
}

/* Alignment of a buffer in each iteration. Buffers with memory of their own begin at multiples of 64 bytes; slices lie in it. */
static int64_t alignment(const Buf *b) {
  int64_t align = b->kind == BUF_ARENA || b->kind == BUF_WEIGHT ? 64 : dt_bytes(b->dt);
  while (b->of && ((b->at * dt_bytes(b->dt)) % align || (b->step * dt_bytes(b->dt)) % align)) align /= 2;
  return align;
}

static void put_parameters(const Plan *p, const Kernel *k, const Target *t, Sb *o) {
  const char *count = llvm_scalar[target_count(t)];
  for (size_t i = 0; i < k->bufs.n; i++) {
    const Buf *b = &p->ir->bufs.p[k->bufs.p[i]];
    bool written = false;
    for (size_t j = 0; j < k->written.n; j++) written |= k->written.p[j] == k->bufs.p[i];
    sb_printf(o, "%sptr %snocapture %salign %lld %%b%zu", i ? ", " : "", k->may_alias ? "" : "noalias ",
              written ? "" : "readonly ", (long long)alignment(b), i);
  }
  const bool sized = kernel_sized(p->ir, k);
  if (sized) sb_printf(o, "%sptr noalias nocapture readonly align 8 %%n", k->bufs.n ? ", " : "");
  if (k->chunks > 1) sb_printf(o, "%s%s %%begin, %s %%end", k->bufs.n || sized ? ", " : "", count, count);
}

static void llvm_kernel(const Plan *p, int index, const Target *t, Sb *o) {
  const Kernel *k = &p->kernels.p[index];
  Sb body = { 0 };
  Render w = { .ir = p->ir, .k = k, .t = t, .o = &body, .block = "entry" };
  int loops = 0;
  for (size_t i = 0; i < k->locals.n; i++) {
    const Buf *b = &p->ir->bufs.p[k->locals.p[i]];
    sb_printf(&w.slots, "  %%panel%zu = alloca [%lld x i8], align 64\n", i, (long long)b->elems * dt_bytes(b->dt));
  }
  find_wanted(&w);
  for (size_t i = 0; i < k->prog.n; i++) {
    int64_t by;
    if (is_offset(p->ir, k->prog.p[i], &by) && !refmap_get(&w.wanted, k->prog.p[i])) continue;
    if (node(p->ir, k->prog.p[i])->op == OP_TILES) {
      put_tiles(&w, i);
      continue;
    }
    const char *text = put_value(&w, k->prog.p[i], &loops);
    if (text) name_value(&w, k->prog.p[i], text);
  }
  if (w.tiles.n) sb_puts(&body, "  call void @llvm.x86.tilerelease()\n"); /* tiles in use slow down other code */
  sb_printf(o, "define internal void @k%d(", index);
  put_parameters(p, k, t, o);
  sb_printf(o, ") #0 {\nentry:\n%s%s  ret void\n}\n", w.slots.p ? w.slots.p : "", body.p ? body.p : "");
  sb_free(&body);
  sb_free(&w.slots);
  refmap_free(&w.at);
  refmap_free(&w.wanted);
  VEC_FREE(&w.text);
  VEC_FREE(&w.ends);
  VEC_FREE(&w.bases);
  VEC_FREE(&w.outside);
  arena_free(&w.a);
}

/* ---- a module with all of them ---- */
/* A function cN that calls kernel N for all of its chunks, those of a group one by one */
static void put_entry(const IR *ir, const Kernel *k, size_t index, const Target *t, Sb *o) {
  const size_t pointers = k->bufs.n + kernel_sized(ir, k); /* the last one is that of the sizes */
  const char *count = llvm_scalar[target_count(t)], *comma = pointers ? ", " : "";
  const bool by_chunk = k->chunks > 1 && k->chunks_per_task;
  sb_printf(o, "define void @c%zu(ptr %%buffers) #3 {\nentry:\n", index);
  for (size_t i = 0; i < pointers; i++)
    sb_printf(o, "  %%at%zu = getelementptr ptr, ptr %%buffers, i32 %zu\n  %%b%zu = load ptr, ptr %%at%zu\n", i, i, i, i);
  if (by_chunk)
    sb_printf(o, "  br label %%loop\nloop:\n  %%i = phi %s [ 0, %%entry ], [ %%next, %%loop ]\n  %%next = add %s %%i, 1\n", count,
              count);
  sb_printf(o, "  call void @k%zu(", index);
  for (size_t i = 0; i < pointers; i++) sb_printf(o, "%sptr %%b%zu", i ? ", " : "", i);
  if (by_chunk) sb_printf(o, "%s%s %%i, %s %%next", comma, count, count);
  else if (k->chunks > 1) sb_printf(o, "%s%s 0, %s %d", comma, count, count, k->chunks);
  sb_puts(o, ")\n");
  if (by_chunk)
    sb_printf(o, "  %%more = icmp slt %s %%next, %d\n  br i1 %%more, label %%loop, label %%exit\nexit:\n", count, k->chunks);
  sb_puts(o, "  ret void\n}\n");
}

void llvm_kernels(const Plan *p, const Target *t, Sb *o) {
  Sb text = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *kernel = &p->kernels.p[k];
    llvm_kernel(p, (int)k, t, &text);
    put_entry(p->ir, kernel, k, t, &text);
  }
  sb_printf(o, "target triple = \"%s\"\n", t->triple);
  llvm_prelude_of(p->ir->ctx, text.p, t, o);
  sb_puts(o, text.p);
  sb_free(&text);
}

static LoadedCode *llvm_load(Ctx *c, const Plan *p, const Target *t, OptLevel opt_level) {
  Sb text = { 0 };
  llvm_kernels(p, t, &text);
  LoadedCode *code = llvm_jit_load(c, t, text.p, text.n, opt_level);
  sb_free(&text);
  return code;
}

/* ---- vector forms: LLVM splits vectors that the machine lacks ---- */
static bool llvm_supports(const Target *t, Op op, DType d, DType from, int lanes) {
  const char *text = llvm_op_text(op, from);
  if (op == OP_DOT) return d == DT_I32 && llvm_has_dot(t, from, lanes); /* other types: product by product */
  if (op == OP_SCALB) return target_scales(t, from, lanes);
  if (op == OP_LOOKUP) return target_looks_up(t, from, lanes);
  if (op == OP_CAST || op == OP_BITCAST || op == OP_WHERE) return true;
  if (!text) return lanes == 1;
  if (*text == '#') return lanes == 1 && !libm_has(op, d);
  return lanes == 1 || dt_float(from) || (op != OP_DIV && op != OP_MOD && op != OP_FLDIV && op != OP_FLMOD);
}

/* clang-format off */
/* a library that tgc made, in the bundle or where CMake has installed it */
#define INSTALLED(file) " $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/" file ">" \
                        " $<INSTALL_INTERFACE:$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/%/" file ">"
static const CodeForm forms[] = {
  { "ir", EMIT_TEXT, "%.ll", "LLC ?= llc\n$(B)/%.o: %.ll\n\t@mkdir -p $(B)\n\t$(LLC) -O2 -filetype=obj -relocation-model=pic -o $@ %.ll\n",
    "$(B)/%.o ", "rm -f $@", "", "${CMAKE_CURRENT_BINARY_DIR}/%.o ", "EXTERNAL_OBJECT ON", "",
    "find_program(LLC NAMES llc-19 llc)\n"
    "add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/%.o DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/%.ll\n"
    "  COMMAND ${LLC} -O2 -filetype=obj -relocation-model=pic -o ${CMAKE_CURRENT_BINARY_DIR}/%.o ${CMAKE_CURRENT_SOURCE_DIR}/%.ll)\n"
    "set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/%.o PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)\n" },
  { "asm", EMIT_ASM, "%.s",  "$(B)/%.o: %.s\n\t@mkdir -p $(B)\n\t$(CC) -c -o $@ %.s\n",
    "$(B)/%.o ", "rm -f $@", "", "%.s ", "LANGUAGE C", "", "" },
  { "obj", EMIT_OBJ, "%.o",      "", "%.o ", "rm -f $@",    "", "%.o ", "EXTERNAL_OBJECT ON", "", "" },
  { "lib", EMIT_LIB, "lib%.a",   "", "",     "cp lib%.a $@", "", "",    "EXTERNAL_OBJECT ON", INSTALLED("lib%.a"), "" },
  { "so",  EMIT_SO,  "lib%.so",  "", "",     "rm -f $@", "lib%.so -Wl,-rpath,'$$ORIGIN/..' ", "", "EXTERNAL_OBJECT ON", INSTALLED("lib%.so"), "" },
  { "wasm", EMIT_WASM, "%.wasm", "", "", "", "", "", "", "", "" },
  { .word = NULL },
};
/* clang-format on */

const Backend llvm_backend = { .name = "llvm",
                               .gloss = "LLVM IR, and objects of it where LLVM 19 is installed",
                               .comment = { "; ", "" },
                               .model = "net.ll.in",
                               .forms = forms,
                               .makes = EMIT_OBJ,
                               .files = host_files,
                               .module_files = web_files,
                               .sizes = true,
                               .schedules = true,
                               .supports = llvm_supports,
                               .kernel = llvm_kernel,
                               .prelude = llvm_prelude,
                               .build = llvm_generate,
                               .load = llvm_load,
                               .symbol = llvm_jit_symbol,
                               .version = llvm_version };
