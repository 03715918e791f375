/* SPDX-License-Identifier: MIT */
/* group_parts.h: internal to kernel groups (group.c): how kernels are cut into chunks, and the buffers between them. */
#ifndef TGC_GROUP_PARTS_H
#define TGC_GROUP_PARTS_H
#include "group.h"

enum { MAX_MEMBERS = 16, MAX_NESTS = 24 }; /* limits: kernels of a group; nests of one of them */

typedef struct Member {
  int kernel;
  int when;                  /* Kernel.when, which kernels of a group have in common */
  bool fit;                  /* may be part of a group */
  int nests;
  Ref nest[MAX_NESTS];       /* canonical nests */
  int store[MAX_NESTS];      /* by nest: index of its store in touch */
  int main;                  /* the nest that stores most */
  VEC(Touch) touch;
} Member;

/* One way to cut a kernel into chunks */
typedef struct Cut {
  const Member *m;
  Ref range[MAX_NESTS];      /* by nest: the range that is cut; 0: one chunk runs the nest */
  int64_t span[MAX_NESTS];   /* by nest: elements that its store advances over all chunks */
  tgcrt_size needed;         /* chunks that a run needs; times 0: all */
} Cut;

typedef struct Group {
  int n;
  int least;                  /* fewest contiguous bytes that a chunk of a kernel stores */
  int64_t chunks, chunks_per_task;
  Cut cut[MAX_MEMBERS];
} Group;

/* A buffer that only the group accesses needs memory for one chunk, so each share of the chunks has a piece. In an address, the
 * digits above the chunk's digit move down to its place. */
typedef struct Piece {
  int buf;
  int64_t chunk, chunks, base; /* chunk: distance between chunks; base: least address of chunk 0 */
  int64_t elems;
  Needed needed;           /* Buf.needed of the piece */
} Piece;

/* The first and the last kernel that access each buffer. */
typedef struct Ends { int first, last; } Ends;

/* How a group uses a buffer. last: the last of its kernels that accesses it; readers: how many read what it writes */
typedef struct Use { int buf, last; double bytes; bool written, chunked; int readers; } Use;
typedef VEC(Use) Uses;

/* ---- group_cuts.c ---- */
/* Lists the accesses of a kernel, which the caller frees. Accesses are recorded even if the kernel cannot be in a group, since a
 * group may make what it reads. */
void member_open(IR *ir, Kernel *k, int kernel, Member *m);
int64_t touch_coef(const Touch *t, Ref range); /* returns the elements that one step of the range moves the access */
Addresses cut_addresses(const IR *ir, const Cut *c, const Touch *t, int64_t chunks);
/* Starts a group with its first kernel. Returns false if it cannot be cut this way. */
bool group_begin(IR *ir, Group *c, const Member *m, Ref along, int64_t chunks);
/* Adds the next kernel, cut along a range that walks the group's results in the same steps. Returns false if there is none. */
bool group_add(IR *ir, Group *c, const Member *m);

/* ---- group_pieces.c ---- */
/* Finds the piece of a buffer that only the group accesses. Returns false if it cannot be in pieces. */
bool piece_of(const IR *ir, const Group *c, int buf, Piece *p);
/* Sets the address of chunk 0 in the piece: *base + the sum of coef[i] * t->range[i]. Returns false if some digit is neither
 * below nor above the chunk's digit. */
bool place_in_piece(const Piece *p, const Touch *t, Ref cut, int64_t *base, int64_t *coef);
Ends *buffer_ends(const IR *ir, const Member *m, size_t n); /* by buffer; the caller frees it */
bool group_owns(const Group *c, const Ends *e);             /* returns whether only the group accesses the buffer */

/* ---- group_gain.c ---- */
void group_uses(const IR *ir, const Group *c, Uses *uses);  /* appends the uses of all buffers; the caller frees them */
/* Returns the cycles that the group saves; less than 0 if it cannot work. */
double group_gain(const IR *ir, const Group *c, const Ends *ends, const Target *t);
/* Returns whether a run of few entries has too few chunks for all threads, which could share the loops of a large kernel. */
bool leaves_threads_idle(const Plan *p, const Group *c);
/* Returns whether a group of a model with ranges of sizes gains less than `group_sized` of its kernels' cycles at the greatest
 * sizes. A run of few entries calls the group's kernels for chunks without work, and its tiles end with a chunk. */
bool gains_little(const Plan *p, const Group *c, double gain);
#endif
