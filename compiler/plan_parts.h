/* SPDX-License-Identifier: MIT */
/* plan_parts.h: shared by the files that write and read dumps. A line of a dump has attributes. Each attribute stands for a field
 * of a structure. plan_fields.c has tables of these fields, plan_write.c writes the lines, and plan_read.c reads the lines. */
#ifndef TGC_PLAN_PARTS_H
#define TGC_PLAN_PARTS_H
#include "ir/parse.h"
#include "ir/print.h"
#include "plan_text.h"

enum { MOST_INT = 1 << 30, MOST_TILE = 1 << 20 }; /* limits of numbers in a dump: MOST_INT for each int, MOST_TILE for a size in
                                                     an opt */

typedef enum {
  /* Each comment gives the field's type in C, then the attribute's value in the dump. */
  F_FLAG,                  /* bool: no value. The field is true if the line has the attribute */
  F_INT, F_LONG,           /* int, int64_t */
  F_REAL,                  /* double */
  F_TEXT,                  /* const char *: a string */
  F_KEY,                   /* char[65]: a string */
  F_AXES,                  /* int64_t[MAX_RANK]: a list with a number for each axis; not written if all numbers equal
                              Field.absent */
  F_FILL,                  /* Ref of a CONST: a literal of the type that the line's value has */
  F_VALUE,                 /* Ref of a graph value: the name of this graph value, which a later line may define */
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
  int64_t absent, least, most; /* absent: the attribute is not written if the field has this value. least, most: limits of a
                                  number or of the numbers in a list */
} Field;
typedef struct Fields { const Field *p; int n; } Fields;

/* ---- plan_fields.c ---- */
extern const Fields place_fields, buffer_fields, state_fields, packed_fields, kernel_fields, nest_fields, pending_fields;
extern const Fields opts_fields, opt_fields, move_fields, peel_fields, part_fields, memory_fields, arena_fields, cost_fields;
static inline int axes_of(const IR *ir, Ref value) { return value ? node(ir, value)->rank : 0; } /* length of a list of
                                                                                                    kind F_AXES */

/* ---- plan_write.c: each put_ function writes one part of a dump ---- */
typedef struct Writer {
  Printer graph, inner;    /* printers for the graph and for the current kernel */
  const Sched *s;
  const Plan *p;
  int pass;                /* number, in passes.h, of the last pass or step that ran */
  const CompileOptions *o;
  Sb *out;
  uint32_t ntensors;       /* number of tensors written so far */
  RefMap tensor;           /* key: 1 + number of a tensor in the IR; value: 1 + number of this tensor in the dump */
} Writer;
void put_after(Writer *w);
void put_settings(Writer *w);
void put_sources(Writer *w);
void put_origins(Writer *w);
/* is_placed is for Printer.attributed, and put_place is for Printer.attributes. arg: the Writer */
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

/* ---- plan_read.c: a table of plan_text.c has the words with which lines begin, and a read_ function for each word. The
 * function reads the rest of the line. read_place and read_buffer_key read only attributes. end_kernel verifies the kernel that
 * was read last ---- */
/* A name of n characters that an attribute uses before a line defines this name. owner: the attribute belongs to
 * Reader.placed.p[owner]. at: offset of the attribute's field in a Place */
typedef struct Later { Ref owner; size_t at; const char *name; size_t n; } Later;
/* The attributes of the line that defines `value`, and the position of this line */
typedef struct Placed { Ref value; Place place; Pos pos; } Placed;

typedef struct Reader {
  Resumed *r;
  Plan *into;              /* the plan, or the variant, that gets the kernels which are read */
  Kernel *kernel;          /* the kernel to which the current line belongs; NULL: none */
  VEC(Placed) placed;
  VEC(Later) later;
  VEC(Packed) packed;
  VEC(SourceFile) sources;
  VEC(int64_t) shift;      /* shifts of the buffers of the last kernel, until the program of this kernel is read */
  bool arena;              /* true: the line of the arena was read */
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
