/* SPDX-License-Identifier: MIT */
/* pipeline.h: pipelines. A .tgp text (docs/pipelines.md) describes models that are compiled into one bundle. It also describes
 * the entries: the ways in which a program can run the bundle. A stage is a model with options. Each field `at` is the line and
 * the column in the text. */
#ifndef TGC_PIPELINE_H
#define TGC_PIPELINE_H
#include "../cmd.h"

typedef struct PipeOption { const char *name, *value; Pos at; } PipeOption; /* an option of tgc for one stage */
typedef struct PipeStage {
  const char *name, *file;
  Pos at;
  VEC(PipeOption) options;
} PipeStage;
typedef struct PipeEnd { const char *stage, *value; Pos at; } PipeEnd; /* STAGE.VALUE: an input or an output of a stage */
typedef VEC(PipeEnd) PipeEnds;
typedef struct PipeLink { PipeEnd from, to; } PipeLink; /* the output `from` becomes the input `to` */
typedef struct PipeState { /* a state, with keys as in --state */
  const char *name;
  PipeEnds from, to;       /* from: outputs that renew the state; to: inputs that read the state */
  int64_t axis, capacity;  /* keys axis and capacity; axis -1, capacity 0: not given */
  const char *init;        /* path of the file with the first value; NULL: zeros */
  bool grow;               /* whether the key grow is given */
  Pos at;
} PipeState;
/* An input or output of the pipeline, to which the text gives a name. ends: for an input, the inputs of stages that get it; for
 * an output, the output of a stage that it is */
typedef struct PipeValue { const char *name; PipeEnds ends; Pos at; } PipeValue;
typedef struct PipeEntry { const char *name; VEC(int) stages; Pos at; } PipeEntry; /* stages: indices, in execution order */
typedef struct Pipeline {
  const char *path;
  VEC(PipeStage) stages;
  VEC(PipeLink) links;
  VEC(PipeState) states;
  VEC(PipeValue) inputs, outputs; /* from the statements `input` and `output` */
  VEC(PipeEntry) entries;
} Pipeline;

/* ---- pipeline_text.c ---- */
enum { STAGE_OPTIONS = 9 };
extern const char *const stage_options[STAGE_OPTIONS]; /* names of the options that may stand below a stage */
/* Parses the n bytes at `text`. Fails with EX_BADMODEL if the text has an error. path: the path of the text's file. Paths in the
 * text are relative to the folder of this file. */
Pipeline *pipeline_parse(Ctx *c, const char *text, size_t n, const char *path);
void pipeline_print(const Pipeline *p, Sb *out);         /* appends a text from which pipeline_parse makes p again */
void pipeline_free(Pipeline *p);                         /* frees the lists of p; *p itself and the texts lie in c->model */
int pipeline_stage(const Pipeline *p, const char *name); /* the stage's index; -1: there is no such stage */

/* ---- pipeline_build.c ---- */
typedef Graph *LoadModel(Ctx *c, const Options *o, const Feed *feed); /* loads the model of a stage, with the stage's options */
/* With --entry, returns the graph of the entry that --entry names. Without --entry, returns the graph of the only entry, or one
 * graph with all entries (Graph.entries). */
Graph *pipeline_build(Ctx *c, const Options *o, Pipeline *p, LoadModel *load);
#endif
