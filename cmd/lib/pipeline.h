/* SPDX-License-Identifier: MIT */
/* pipeline.h: pipelines. A .tgp text (docs/pipelines.md) describes models that are compiled into one bundle. The text also
 * describes the entries: the ways in which a program can run the bundle. A stage is a model with options. Each struct with a
 * field `at` stands for a part of the text. This part begins at line and column `at`. */
#ifndef TGC_PIPELINE_H
#define TGC_PIPELINE_H
#include "../cmd.h"

typedef struct PipeOption { const char *name, *value; Pos at; } PipeOption; /* an option of tgc for one stage */
typedef struct PipeStage {
  const char *name, *file; /* file: path of the model */
  Pos at;
  VEC(PipeOption) options;
} PipeStage;
typedef struct PipeEnd { const char *stage, *value; Pos at; } PipeEnd; /* STAGE.VALUE: an input or an output of a stage */
typedef VEC(PipeEnd) PipeEnds;
typedef struct PipeLink { PipeEnd from, to; } PipeLink; /* the output `from` becomes the input `to` */
typedef struct PipeState { /* a state, with keys as in --state */
  const char *name;
  PipeEnds from, to;       /* from: outputs that become the next value of the state; to: inputs that read the state */
  int64_t axis, capacity;  /* keys axis and capacity; axis -1, capacity 0: not given */
  const char *init;        /* path of the file with the first value; NULL: zeros */
  bool grow;               /* whether the key grow is given */
  Pos at;
} PipeState;
/* A value to which a statement `input` or `output` gives a name. ends: for `input`, the inputs of stages that get the value; for
 * `output`, a single output of a stage, which is the value */
typedef struct PipeValue { const char *name; PipeEnds ends; Pos at; } PipeValue;
/* stages: indices into Pipeline.stages, in execution order */
typedef struct PipeEntry { const char *name; VEC(int) stages; Pos at; } PipeEntry;
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
void pipeline_print(const Pipeline *p, Sb *out);         /* appends p as a text that pipeline_parse can read */
void pipeline_free(Pipeline *p);                         /* frees the lists of p; *p and its texts are in c->model */
int pipeline_stage(const Pipeline *p, const char *name); /* index of the stage with this name; -1: none has it */

/* ---- pipeline_build.c ---- */
/* Loads the model of a stage. o: the options of the stage, with the model's path in o->model. feed: always NULL */
typedef Graph *LoadModel(Ctx *c, const Options *o, const Feed *feed);
/* With --entry, returns the graph of the entry that --entry names. Without --entry, returns the graph of the only entry. If there
 * are several entries, returns one graph that has them all (Graph.entries). If p has no entry, first adds one that runs all
 * stages. */
Graph *pipeline_build(Ctx *c, const Options *o, Pipeline *p, LoadModel *load);
#endif
