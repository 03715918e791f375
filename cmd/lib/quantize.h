/* SPDX-License-Identifier: MIT */
/* quantize.h: parts of tgc quantize: samples, choices of layers, and measurements of these choices. A choice says which layers
 * are computed in 8 bits. It is measured on held-out samples, which calibration has not seen. */
#ifndef TGC_QUANTIZE_H
#define TGC_QUANTIZE_H
#include "../cmd.h"

/* ---- samples.c ---- */
typedef struct Samples { Texts calibrate, held_out; } Samples; /* paths of folders, one for each sample */
Samples samples_find(Ctx *c, const Options *o); /* calibrate: those of --data that are not held out. held_out: those of
                                                  --holdout-data, or some of --data (--holdout), or none */
typedef struct SampleShape { const GIO *in, *out; size_t nin, nout; } SampleShape; /* declared inputs and outputs of a model */
/* Reads the inputs of the sample in `folder`, and its outputs if out is not NULL. Returns whether all outputs were read. Fails if
 * an input is missing. */
bool sample_read(Ctx *c, const Options *o, const char *folder, const SampleShape *shape, Tensor *in, Tensor *out);

typedef struct QuantModel { /* an ONNX model, built for this machine */
  const Graph *g;
  const char *dir, *so;    /* paths of its bundle, and of the shared object built from it */
  Interface f;             /* free it with interface_free */
} QuantModel;
/* Builds a model in a new folder scratch/name. text: the bytes of the ONNX file. sample: path of a folder; the shapes of its
 * inputs fix the model's dynamic dimensions. */
QuantModel quant_model(Ctx *c, const Options *o, const char *scratch, const char *name, const Sb *text, const char *sample);
typedef struct SampleRuns {
  const QuantModel *m;
  size_t n;                /* number of runs */
  size_t out_stride;       /* pointers in `out` for each run; 0: all runs write to the same memory */
  const void **in;         /* run after run: a pointer to the data of each input */
  void **out;              /* run after run: a pointer to the memory of each output */
  void (*after)(void *arg, void *const *out); /* called in the child after each run; NULL: nothing is called */
  void *arg;
} SampleRuns;
/* Makes these runs in a child process. stage: text for the progress line */
void samples_run(Ctx *c, const Options *o, const SampleRuns *r, const char *stage);

/* ---- held_out.c: choices of layers, measured on held-out samples ---- */
/* The result of a measurement. metric: the metric of --metric, for the worst output. drop: by how much it is worse than the
 * metric of the float model. error: for the worst output, the root mean square of its difference from the float model's output,
 * divided by the latter's root mean square. */
typedef struct Score { double metric, drop, error; } Score;
typedef struct HeldOut {
  const Options *o;
  const char *scratch;
  OnnxQuant *q;
  Texts folders;           /* paths of the held-out samples */
  size_t layers, values;   /* numbers of layers, and of values that can be in 8 bits; each has a switch in `model` */
  QuantModel model;        /* the switched model: it computes each layer in 8 bits and in floats; inputs select one of the two */
  SampleShape shape;       /* inputs and outputs without the switches */
  /* sample after sample: inputs, reference outputs, outputs of the float model, and outputs of the latest measurement */
  Tensor *in, *want, *floats, *got;
  void **out;              /* memory of got, shared with children */
  bool from_data;          /* want comes from the samples, not from the float model */
  int metric;              /* METRIC_ of cmd.h; METRIC_COUNT: the command of --metric */
  const char *output;      /* name of the only output that counts; NULL: all outputs count */
  double best;             /* metric of the float model */
} HeldOut;
/* Builds the switched model and runs the float model. The caller has set o, scratch, q and folders. range: as in
 * onnx_quant_write */
void held_out_open(Ctx *c, HeldOut *h, const float (*range)[2]);
/* Measures a choice of layers by the switched model. in8: for each layer, whether it is in 8 bits */
Score held_out_score(Ctx *c, HeldOut *h, const bool *in8);
/* Builds and measures a quantised model. model: the bytes of the ONNX file; number: a different one for each call */
Score held_out_model(Ctx *c, HeldOut *h, const Sb *model, int number);
void held_out_close(HeldOut *h);

/* ---- quant_layers.c: which layers are in 8 bits ---- */
/* Why a layer is kept in floats. KEPT_NOT: it is in 8 bits. KEPT_SEARCH: the search for --max-drop chose so. KEPT_WRITTEN: the
 * model that was built from the choice had too large a drop. KEPT_FILE: the file of --layers says so. */
typedef enum { KEPT_NOT, KEPT_SEARCH, KEPT_WRITTEN, KEPT_FILE } Kept;
typedef struct LayerRow {
  QuantLayer layer;
  Kept kept;
  Score alone;             /* the score of the model with only this layer in 8 bits */
  double back;             /* if kept is KEPT_SEARCH: the drop that the choice would have with this layer in 8 bits as well */
} LayerRow;
typedef struct LayerChoice {
  LayerRow *rows;          /* by layer, in the order of the model */
  bool *in8;               /* by layer: it is in 8 bits */
  size_t n;                /* number of layers */
  size_t *worst;           /* numbers of the layers, the layer with the greatest drop alone first; NULL: not measured */
  Score all, written;      /* scores. all: with all layers in 8 bits; written: of the model that is written */
} LayerChoice;
LayerChoice layers_open(Ctx *c, const Options *o, const OnnxQuant *q); /* the choice of --layers, else all layers in 8 bits */
void layers_measure(Ctx *c, LayerChoice *k, HeldOut *h);      /* sets `alone` in each row, k->worst and k->all */
/* Puts the worst layers into floats, as many as it takes for a drop of at most --max-drop. Then each of them returns to 8 bits if
 * the drop stays within that limit. Call layers_measure first. */
void layers_search(Ctx *c, LayerChoice *k, HeldOut *h);
/* Puts the n worst layers that are still in 8 bits into floats. false: now no layer is in 8 bits */
bool layers_keep_more(LayerChoice *k, size_t n);
size_t layers_kept(const LayerChoice *k);                     /* number of layers in floats */
void layers_save(Ctx *c, const LayerChoice *k, const char *path); /* the file of --save-layers */
void layers_print(Ctx *c, const Options *o, const LayerChoice *k); /* a table, on stdout */
json_t *layers_json(const LayerChoice *k);                    /* the same for --json; the caller releases it */
#endif
