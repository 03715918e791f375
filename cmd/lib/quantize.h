/* SPDX-License-Identifier: MIT */
/* quantize.h: parts of tgc quantize: samples, choices of layers, and measurements of choices on held-out samples, which
 * calibration has not seen. */
#ifndef TGC_QUANTIZE_H
#define TGC_QUANTIZE_H
#include "../cmd.h"

/* ---- samples.c ---- */
typedef struct Samples { Texts calibrate, held_out; } Samples; /* a folder for each sample */
Samples samples_find(Ctx *c, const Options *o);
/* Reads the inputs of a sample, and its outputs if out is not NULL. Returns whether it has outputs. */
typedef struct SampleShape { const GIO *in, *out; size_t nin, nout; } SampleShape;
bool sample_read(Ctx *c, const Options *o, const char *folder, const SampleShape *shape, Tensor *in, Tensor *out);

typedef struct QuantModel { /* an ONNX model, built for this machine */
  const Graph *g;
  const char *dir, *so;
  Interface f;
} QuantModel;
/* sample: a folder; the shapes of its inputs fix the model's dynamic dimensions */
QuantModel quant_model(Ctx *c, const Options *o, const char *scratch, const char *name, const Sb *text, const char *sample);
/* Runs a model on n samples in a child process. in, out: pointers for each run; out_stride 0: all runs write to the same memory.
 * after: called in the child after each run; NULL: nothing is called. */
typedef struct SampleRuns {
  const QuantModel *m;
  size_t n, out_stride;
  const void **in;
  void **out;
  void (*after)(void *arg, void *const *out);
  void *arg;
} SampleRuns;
void samples_run(Ctx *c, const Options *o, const SampleRuns *r, const char *stage);

/* ---- held_out.c: choices of layers, measured on held-out samples ---- */
/* metric: the chosen metric, for the worst output. drop: how much worse it is than the float model's. error: root mean square of
 * the difference from the float model's output, relative to that output, for the worst output. */
typedef struct Score { double metric, drop, error; } Score;
typedef struct HeldOut {
  const Options *o;
  const char *scratch;
  OnnxQuant *q;
  Texts folders;
  size_t layers, values;   /* numbers of layers and of values; each has a switch in the model below */
  QuantModel model;        /* the switched model: it computes each layer in 8 bits and in floats; inputs select one of the two */
  SampleShape shape;
  Tensor *in, *want, *floats, *got; /* sample after sample */
  void **out;              /* memory of got, shared with children */
  bool from_data;          /* want comes from the samples, not from the float model */
  int metric;              /* METRIC_COUNT: the command of --metric */
  const char *output;      /* the only output that counts; NULL: all */
  double best;             /* metric of the float model */
} HeldOut;
void held_out_open(Ctx *c, HeldOut *h, const float (*range)[2]); /* the caller sets o, scratch, q and folders */
Score held_out_score(Ctx *c, HeldOut *h, const bool *in8);     /* measures a choice of layers by the switched model */
/* measures a quantised model; number: a different one for each call */
Score held_out_model(Ctx *c, HeldOut *h, const Sb *model, int number);
void held_out_close(HeldOut *h);

/* ---- quant_layers.c: which layers are in 8 bits ---- */
/* why a layer is in floats: the search for --max-drop, the drop of the written model, or --layers; KEPT_NOT: it is in 8 bits */
typedef enum { KEPT_NOT, KEPT_SEARCH, KEPT_WRITTEN, KEPT_FILE } Kept;
typedef struct LayerRow {
  QuantLayer layer;
  Kept kept;
  Score alone;             /* with this layer alone in 8 bits */
  double back;             /* KEPT_SEARCH: the drop with this layer in 8 bits as well */
} LayerRow;
typedef struct LayerChoice {
  LayerRow *rows;
  bool *in8;
  size_t n;
  size_t *worst;           /* layers, the worst first; NULL: not measured */
  Score all, written;      /* all: with all layers in 8 bits; written: the model that is written */
} LayerChoice;
LayerChoice layers_open(Ctx *c, const Options *o, const OnnxQuant *q); /* as --layers says, else all in 8 bits */
void layers_measure(Ctx *c, LayerChoice *k, HeldOut *h);      /* each layer alone */
/* leaves the worst layers in floats until the drop is at most --max-drop */
void layers_search(Ctx *c, LayerChoice *k, HeldOut *h);
/* puts the n worst of the layers in 8 bits into floats; false: none is in 8 bits */
bool layers_keep_more(LayerChoice *k, size_t n);
size_t layers_kept(const LayerChoice *k);
void layers_save(Ctx *c, const LayerChoice *k, const char *path);
void layers_print(Ctx *c, const Options *o, const LayerChoice *k);
json_t *layers_json(const LayerChoice *k);
#endif
