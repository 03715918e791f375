/* SPDX-License-Identifier: MIT */
/* pipeline.h: a .tgp text: models that are compiled into one bundle, and the entries by which a program runs them. */
#ifndef TGC_PIPELINE_H
#define TGC_PIPELINE_H
#include "../cmd.h"

typedef struct PipeOption { const char *name, *value; Pos at; } PipeOption; /* an option of tgc, for one stage */
typedef struct PipeStage {
  const char *name, *file;
  Pos at;
  VEC(PipeOption) options;
} PipeStage;
typedef struct PipeEnd { const char *stage, *value; Pos at; } PipeEnd; /* STAGE.VALUE: an input or an output of a stage */
typedef VEC(PipeEnd) PipeEnds;
typedef struct PipeLink { PipeEnd from, to; } PipeLink;
typedef struct PipeState {
  const char *name;
  PipeEnds from, to;       /* outputs that renew the state; inputs that read the state */
  int64_t axis, capacity;  /* as --state has them; axis -1, capacity 0: not given */
  const char *init;        /* a file; NULL: zeros */
  bool grow;
  Pos at;
} PipeState;
typedef struct PipeValue { const char *name; PipeEnds ends; Pos at; } PipeValue;
typedef struct PipeEntry { const char *name; VEC(int) stages; Pos at; } PipeEntry; /* numbers of stages, in order */
typedef struct Pipeline {
  const char *path;
  VEC(PipeStage) stages;
  VEC(PipeLink) links;
  VEC(PipeState) states;
  VEC(PipeValue) inputs, outputs; /* inputs that several stages share; outputs with a name of their own */
  VEC(PipeEntry) entries;
} Pipeline;

/* ---- pipeline_text.c ---- */
enum { STAGE_OPTIONS = 9 };
extern const char *const stage_options[STAGE_OPTIONS]; /* the options that may stand below a stage */
Pipeline *pipeline_parse(Ctx *c, const char *text, size_t n, const char *path); /* fails with EX_BADMODEL, line and column */
void pipeline_print(const Pipeline *p, Sb *out);         /* text that reads back as the same pipeline */
void pipeline_free(Pipeline *p);                         /* frees the pipeline's tables; texts lie in c->model */
int pipeline_stage(const Pipeline *p, const char *name); /* the stage's number; -1: there is no such stage */

/* ---- pipeline_build.c ---- */
/* The graph of the entry that o names, or else of all entries (Graph.entries). load: loads a stage's model */
typedef Graph *LoadModel(Ctx *c, const Options *o, const Feed *feed);
Graph *pipeline_build(Ctx *c, const Options *o, Pipeline *p, LoadModel *load);
#endif
