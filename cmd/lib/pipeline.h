/* SPDX-License-Identifier: MIT */
/* pipeline.h: pipelines. A .tgp text (docs/pipelines.md) describes models that are compiled into one bundle, and the entries by
 * which a program runs the models. A stage is a model with options. A Pos is a line and column of the text. */
#ifndef TGC_PIPELINE_H
#define TGC_PIPELINE_H
#include "../cmd.h"

typedef struct PipeOption { const char *name, *value; Pos at; } PipeOption; /* an option of tgc that holds for one stage */
typedef struct PipeStage {
  const char *name, *file;
  Pos at;
  VEC(PipeOption) options;
} PipeStage;
typedef struct PipeEnd { const char *stage, *value; Pos at; } PipeEnd; /* STAGE.VALUE: an input or an output of a stage */
typedef VEC(PipeEnd) PipeEnds;
typedef struct PipeLink { PipeEnd from, to; } PipeLink; /* the output `from` becomes the input `to` */
typedef struct PipeState {
  const char *name;
  PipeEnds from, to;       /* outputs that renew the state; inputs that read the state */
  int64_t axis, capacity;  /* the keys axis and capacity of --state; axis -1, capacity 0: not given */
  const char *init;        /* path of the file with the first value; NULL: zeros */
  bool grow;               /* the key grow of --state is given */
  Pos at;
} PipeState;
typedef struct PipeValue { const char *name; PipeEnds ends; Pos at; } PipeValue; /* an input or an output of the pipeline */
typedef struct PipeEntry { const char *name; VEC(int) stages; Pos at; } PipeEntry; /* stages: numbers, in execution order */
typedef struct Pipeline {
  const char *path;
  VEC(PipeStage) stages;
  VEC(PipeLink) links;
  VEC(PipeState) states;
  VEC(PipeValue) inputs, outputs; /* inputs that several stages share, and outputs to which the text gives a name of their own */
  VEC(PipeEntry) entries;
} Pipeline;

/* ---- pipeline_text.c ---- */
enum { STAGE_OPTIONS = 9 };
extern const char *const stage_options[STAGE_OPTIONS]; /* the options that may stand below a stage */
/* Parses the n bytes of text. path: the text's file, for messages and for the folder of its models. Fails with EX_BADMODEL. */
Pipeline *pipeline_parse(Ctx *c, const char *text, size_t n, const char *path);
void pipeline_print(const Pipeline *p, Sb *out);         /* appends a text that reads back as p */
void pipeline_free(Pipeline *p);                         /* frees the pipeline's tables; texts lie in c->model */
int pipeline_stage(const Pipeline *p, const char *name); /* the stage's number; -1: there is no such stage */

/* ---- pipeline_build.c ---- */
typedef Graph *LoadModel(Ctx *c, const Options *o, const Feed *feed); /* loads the model of a stage, with the stage's options */
/* The graph of the entry that --entry names, or of the only entry. Otherwise one graph with all entries (Graph.entries) */
Graph *pipeline_build(Ctx *c, const Options *o, Pipeline *p, LoadModel *load);
#endif
