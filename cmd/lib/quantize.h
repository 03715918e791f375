/* SPDX-License-Identifier: MIT */
/* quantize.h: parts of tgc quantize: samples, choices of layers, and measurements of these choices. A choice says which layers
 * are computed in 8 bits; the others are computed in floats. A choice is measured on held-out samples, which calibration has not
 * seen. */
#ifndef TGC_QUANTIZE_H
#define TGC_QUANTIZE_H
#include "../cmd.h"

/* ---- samples.c ---- */
typedef struct Samples { Texts calibrate, held_out; } Samples; /* paths of folders, one for each sample */
/* held_out: all samples of --holdout-data. Without this option: some samples of --data if --holdout, --metric or --max-drop is
 * given, else none. calibrate: the other samples of --data */
Samples samples_find(Ctx *c, const Options *o);
typedef struct SampleShape { const GIO *in, *out; size_t nin, nout; } SampleShape; /* declared inputs and outputs of a model */
/* Reads the inputs of the sample in `folder` into in[], and the outputs into out[]. False: out is NULL, or the sample has no
 * outputs. Fails if an input is missing, or if the sample has only some of the outputs. */
bool sample_read(Ctx *c, const Options *o, const char *folder, const SampleShape *shape, Tensor *in, Tensor *out);

typedef struct QuantModel { /* an ONNX model, built for this machine */
  const Graph *g;
  const char *dir, *so;    /* dir: path of the model's bundle; so: path of the shared object that was built from the bundle */
  Interface f;             /* the bundle's interface; interface_free frees it */
} QuantModel;
/* Builds a model in a new folder scratch/name. text: the bytes of the ONNX file. sample: path of a sample's folder; the shapes of
 * this sample's inputs fix the model's dynamic dimensions. */
QuantModel quant_model(Ctx *c, const Options *o, const char *scratch, const char *name, const Sb *text, const char *sample);
typedef struct SampleRuns {
  const QuantModel *m;
  size_t n;                /* number of runs */
  size_t out_stride;       /* number of pointers in `out` for each run; 0: all runs write to the same memory */
  const void **in;         /* for each run, pointers to the data of all inputs */
  void **out;              /* for each run, pointers to the memory of all outputs */
  void (*after)(void *arg, void *const *out); /* called in the child after each run, with the run's outputs; NULL: no call */
  void *arg;
} SampleRuns;
/* Makes these runs in a child process, and fails if one of them fails. stage: text for the progress line */
void samples_run(Ctx *c, const Options *o, const SampleRuns *r, const char *stage);

/* ---- held_out.c: choices of layers, measured on held-out samples ---- */
/* The result of a measurement. metric: the metric of --metric, for the worst output. drop: by how much `metric` is worse than the
 * metric of the float model. error: the greatest relative error of an output. The relative error is the root mean square of the
 * difference from the float model's output, divided by the root mean square of that output. */
typedef struct Score { double metric, drop, error; } Score;
typedef struct HeldOut {
  const Options *o;
  const char *scratch;
  OnnxQuant *q;
  Texts folders;           /* paths of the held-out samples */
  size_t layers, values;   /* number of layers; number of values that can be in 8 bits. Each layer and each of these values has a
                              switch in `model` */
  /* The switched model computes each layer both in 8 bits and in floats. Further inputs, the switches, select the results. */
  QuantModel model;
  SampleShape shape;       /* the inputs, without the switches, and the outputs */
  /* For each sample: inputs, reference outputs, outputs of the float model, and outputs of the latest measurement */
  Tensor *in, *want, *floats, *got;
  void **out;              /* memory of got, shared with children */
  bool from_data;          /* the reference outputs come from the samples; false: from the float model */
  int metric;              /* METRIC_ of cmd.h; METRIC_COUNT: the command of --metric */
  const char *output;      /* name of the only output that counts; NULL: all outputs count */
  double best;             /* metric of the float model */
} HeldOut;
/* Builds the switched model, and runs it with all layers in floats. The caller has set o, scratch, q and folders. range: as in
 * onnx_quant_write. Fails with EX_USAGE_ if --metric names no output of the model, or the metric of the float model is not
 * finite */
void held_out_open(Ctx *c, HeldOut *h, const float (*range)[2]);
/* Measures a choice of layers by the switched model. in8: for each layer, whether the layer is in 8 bits */
Score held_out_score(Ctx *c, HeldOut *h, const bool *in8);
/* Builds and measures a quantised model. model: the bytes of the ONNX file. number: a different number in each call */
Score held_out_model(Ctx *c, HeldOut *h, const Sb *model, int number);
void held_out_close(HeldOut *h);

/* ---- quant_layers.c: which layers are in 8 bits ---- */
/* Why a layer is kept in floats. KEPT_NOT: the layer is in 8 bits. KEPT_SEARCH: the search for --max-drop chose floats.
 * KEPT_WRITTEN: the model that was built from the choice had too large a drop. KEPT_FILE: the file of --layers says so. */
typedef enum { KEPT_NOT, KEPT_SEARCH, KEPT_WRITTEN, KEPT_FILE } Kept;
typedef struct LayerRow {
  QuantLayer layer;
  Kept kept;
  Score alone;             /* the score of the model with only this layer in 8 bits */
  double back;             /* if kept is KEPT_SEARCH: the drop that the choice would have with this layer in 8 bits as well */
} LayerRow;
typedef struct LayerChoice {
  LayerRow *rows;          /* by layer, in the order of the model */
  bool *in8;               /* by layer: true if the layer is in 8 bits */
  size_t n;                /* number of layers */
  size_t *worst;           /* the indices of the rows, from the greatest alone.drop to the least; NULL: not measured */
  Score all, written;      /* all: the score with all layers in 8 bits; written: the score of the model that is written */
} LayerChoice;
/* The choice of --layers, or else all layers in 8 bits. Fails if the choice has no layer in 8 bits */
LayerChoice layers_open(Ctx *c, const Options *o, const OnnxQuant *q);
void layers_measure(Ctx *c, LayerChoice *k, HeldOut *h);      /* sets `alone` in each row, k->worst and k->all */
/* Puts the worst layers into floats, as many as are needed for a drop of at most --max-drop. Then each of these layers returns to
 * 8 bits if the drop stays within that limit. To be called after layers_measure. */
void layers_search(Ctx *c, LayerChoice *k, HeldOut *h);
/* Puts the n worst layers that are still in 8 bits into floats. False: no layer is left in 8 bits. To be called after
 * layers_measure. */
bool layers_keep_more(LayerChoice *k, size_t n);
size_t layers_kept(const LayerChoice *k);                     /* number of layers in floats */
void layers_save(Ctx *c, const LayerChoice *k, const char *path); /* writes the file of --save-layers */
void layers_print(Ctx *c, const Options *o, const LayerChoice *k); /* prints a table on stdout, the worst layer first */
json_t *layers_json(const LayerChoice *k);                    /* the same for --json; the caller owns the result */
#endif
