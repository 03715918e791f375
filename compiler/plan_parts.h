/* SPDX-License-Identifier: MIT */
/* plan_parts.h: internal to dumps. An attribute of a line is a field of a structure; plan_fields.c has tables of these fields.
 * plan_write.c writes the attributes, and plan_read.c reads them. */
#ifndef TGC_PLAN_PARTS_H
#define TGC_PLAN_PARTS_H
#include "ir/parse.h"
#include "ir/print.h"
#include "plan_text.h"

enum { MOST_INT = 1 << 30, MOST_TILE = 1 << 20 }; /* greatest numbers in a dump: for any int; for a size in an opt */

typedef enum {
  F_FLAG,                  /* bool: true if the line has the attribute's name, without a value */
  F_INT, F_LONG,           /* int, int64_t */
  F_REAL,                  /* double */
  F_TEXT,                  /* const char *: a string */
  F_KEY,                   /* char[65]: a string */
  F_AXES,                  /* int64_t[MAX_RANK]: a list with an entry per axis; not written if all equal Field.absent */
  F_FILL,                  /* Ref of a CONST: a literal of the value's type */
  F_VALUE,                 /* Ref of a graph value: the value's name, which a later line may define */
  F_TENSOR,                /* int64_t: the number of a tensor */
  F_LIST,                  /* int64_t[24]: a list */
  F_NODE,                  /* Ref of a range or a constant of the kernel: the node's name */
  F_ISA_OP,                /* const IsaOp *: the instruction's name */
  F_UNIT                   /* const MatrixUnit *: the unit's name */
} FieldKind;

typedef struct Field {
  const char *name;            /* name of the attribute */
  FieldKind kind;
  size_t at;                   /* offset in the structure */
  int64_t absent, least, most; /* absent: value that is not written; least, most: limits of a value or of a list's entries */
} Field;
typedef struct Fields { const Field *p; int n; } Fields;

/* ---- plan_fields.c ---- */
extern const Fields place_fields, buffer_fields, state_fields, packed_fields, kernel_fields, nest_fields, pending_fields;
extern const Fields opts_fields, opt_fields, move_fields, peel_fields, part_fields, memory_fields, arena_fields, cost_fields;
static inline int axes_of(const IR *ir, Ref value) { return value ? node(ir, value)->rank : 0; } /* number of entries of F_AXES */

/* ---- plan_write.c: each put_ function writes one part of a dump ---- */
typedef struct Writer {
  Printer graph, inner;    /* printers for the graph and for the current kernel */
  const Sched *s;
  const Plan *p;
  int pass;                /* index in passes.h of the last pass that ran */
  const CompileOptions *o;
  Sb *out;
  uint32_t ntensors;       /* tensors written so far */
  RefMap tensor;           /* key: 1 + number of a tensor in the IR; value: 1 + number of the tensor in the text */
} Writer;
void put_after(Writer *w);
void put_settings(Writer *w);
void put_sources(Writer *w);
void put_origins(Writer *w);
/* For Printer.attributed and .attributes; arg: the Writer */
bool is_placed(Ref r, void *arg);
void put_place(const Printer *p, Ref r, void *arg);
void put_graph(Writer *w);
void put_states(Writer *w);
void put_sample(Writer *w);
void put_cost(Writer *w);
void put_buffers(Writer *w);
void put_packed(Writer *w);
void put_kernels(Writer *w);
void put_memory(Writer *w);

/* ---- plan_read.c: most functions read the rest of a line whose first word was read; a table of plan_text.c has these words.
 * read_place and read_buffer_key read attributes. end_kernel verifies the last kernel that was read ---- */
/* A name of n characters that is used before the line that defines it. owner: an index in Reader.placed; at: offset of the field
 * in the Place of placed.p[owner] */
typedef struct Later { Ref owner; size_t at; const char *name; size_t n; } Later;
/* The attributes of a value's line, and the position of the line */
typedef struct Placed { Ref value; Place place; Pos pos; } Placed;

typedef struct Reader {
  Resumed *r;
  Plan *into;              /* the plan or the variant whose kernels are read */
  Kernel *kernel;          /* last kernel read; NULL: none yet */
  VEC(Placed) placed;
  VEC(Later) later;
  VEC(Packed) packed;
  VEC(SourceFile) sources;
  VEC(int64_t) shift;      /* shifts of the last kernel's buffers, until the kernel's program is read */
  bool arena;              /* the dump has the line of the arena */
} Reader;
static inline Reader *reader_of(Parser *p) { return p->plan->arg; }
void read_after(Parser *p);
void read_setting(Parser *p);
void read_source(Parser *p);
void read_ranges(Parser *p);
void read_origin(Parser *p);
void read_place(Parser *p, Ref value);
void read_state(Parser *p);
void read_grows(Parser *p);
void read_sample(Parser *p);
void read_cost(Parser *p);
bool read_buffer_key(Parser *p, Buf *b, const char *s, size_t n);
void read_packed(Parser *p);
void end_kernel(Parser *p);
void read_kernel(Parser *p);
void read_nest(Parser *p);
void read_pending(Parser *p);
void read_opts(Parser *p);
void read_opt(Parser *p);
void read_move(Parser *p);
void read_peel(Parser *p);
void read_part(Parser *p);
void read_isomorphic(Parser *p);
void read_shift(Parser *p);
void read_program(Parser *p);
void read_variant(Parser *p);
void read_arena(Parser *p);
void read_memory(Parser *p);
#endif
