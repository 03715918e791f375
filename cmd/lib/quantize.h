/* SPDX-License-Identifier: MIT */
/* quantize.h: parts of tgc quantize: samples, choices of layers, and measurements of these choices. A choice says which layers
 * (frontends.h) are computed in 8 bits; the others are computed in floats. A choice is measured on held-out samples, which
 * calibration has not seen. */
#ifndef TGC_QUANTIZE_H
#define TGC_QUANTIZE_H
#include "../cmd.h"

/* ---- samples.c ---- */
typedef struct Samples { Texts calibrate, held_out; } Samples; /* paths of folders, one for each sample */
/* With --holdout-data, held_out has the samples of --holdout-data, and calibrate has all samples of --data. Without this option,
 * held_out has some samples of --data if --holdout, --metric or --max-drop is given, else none. calibrate has all samples of
 * --data that are not held out. */
Samples samples_find(Ctx *c, const Options *o);
typedef struct SampleShape { const GIO *in, *out; size_t nin, nout; } SampleShape; /* declared inputs and outputs of a model */
/* Reads the inputs of the sample in `folder` into in[], and the outputs into out[]. If out is NULL, reads no outputs. Returns
 * whether outputs were read. Fails if an input is missing, or if the sample has some outputs but not all. */
bool sample_read(Ctx *c, const Options *o, const char *folder, const SampleShape *shape, Tensor *in, Tensor *out);

typedef struct QuantModel { /* an ONNX model, built for this machine */
  const Graph *g;
  const char *dir, *so;    /* dir: path of the model's bundle; so: path of the shared object that the bundle was built into */
  Interface f;             /* the bundle's interface; interface_free frees it */
} QuantModel;
/* Builds a model in a new folder scratch/name. text: the bytes of the ONNX file. sample: path of a sample's folder. The shapes of
 * this sample's inputs give the sizes of the model's dynamic dimensions. */
QuantModel quant_model(Ctx *c, const Options *o, const char *scratch, const char *name, const Sb *text, const char *sample);
typedef struct SampleRuns { /* runs of the model m */
  const QuantModel *m;
  size_t n;                /* number of runs */
  size_t out_stride;       /* number of pointers in `out` for each run; 0: all runs write to the same memory */
  const void **in;         /* for each run, pointers to the data of all inputs */
  void **out;              /* for each run, pointers to the memory of all outputs */
  void (*after)(void *arg, void *const *out); /* called in the child after each run, with the run's outputs; NULL: no call */
  void *arg;               /* for `after` */
} SampleRuns;
/* Makes the runs of r in a child process. Fails if a run fails. stage: text for the progress line */
void samples_run(Ctx *c, const Options *o, const SampleRuns *r, const char *stage);

/* ---- held_out.c: choices of layers, measured on held-out samples ---- */
/* The result of measuring a model on the held-out samples. metric: the value of the metric that --metric chooses, for the worst
 * output. drop: by how much `metric` is worse than HeldOut.best. error: the greatest relative error of an output. The relative
 * error is rms(difference from the float model's output) / rms(the float model's output), where rms is the root mean square. */
typedef struct Score { double metric, drop, error; } Score;
typedef struct HeldOut {
  const Options *o;
  const char *scratch;     /* path of a folder for temporary files */
  OnnxQuant *q;            /* the model to quantise (frontends.h) */
  Texts folders;           /* paths of the held-out samples */
  size_t layers, values;   /* number of layers; number of values that can be in 8 bits */
  /* The switched model, which computes each layer both in 8 bits and in floats. Further inputs, called switches, select which of
   * the two results is used. There is a switch for each layer, and one for each value that can be in 8 bits. */
  QuantModel model;
  SampleShape shape;       /* inputs of the switched model, without the switches; outputs of the switched model */
  /* For each sample: inputs, reference outputs, outputs of the float model, and outputs of the latest measurement */
  Tensor *in, *want, *floats, *got;
  void **out;              /* pointers to the data of got[], in memory that is shared with child processes */
  bool from_data;          /* the reference outputs come from the samples; false: from the float model */
  int metric;              /* a METRIC_ constant of cmd.h; METRIC_COUNT: --metric gives a command */
  const char *output;      /* name of the only output that counts; NULL: all outputs count */
  double best;             /* Score.metric of the float model */
} HeldOut;
/* Builds the switched model, and runs it with all layers in floats. Before the call, only the fields o, scratch, q and folders of
 * *h are set. range: as in onnx_quant_write (frontends.h). Fails with EX_USAGE_ if --metric names an output that the model lacks,
 * or if `best` is not finite. */
void held_out_open(Ctx *c, HeldOut *h, const float (*range)[2]);
/* Measures a choice of layers with the switched model. in8: for each layer, whether the layer is in 8 bits */
Score held_out_score(Ctx *c, HeldOut *h, const bool *in8);
/* Builds and measures a quantised model. model: the bytes of the ONNX file. number: a different number in each call */
Score held_out_model(Ctx *c, HeldOut *h, const Sb *model, int number);
void held_out_close(HeldOut *h); /* frees h->model.f; does nothing if held_out_open was not called */

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
  size_t *worst;           /* indices of rows, from the greatest alone.drop to the least; NULL: not measured */
  Score all, written;      /* all: the score with all layers in 8 bits; written: the score of the model that is written */
} LayerChoice;
/* Returns the choice in the file of --layers; without --layers, all layers are in 8 bits. Fails if no layer is in 8 bits */
LayerChoice layers_open(Ctx *c, const Options *o, const OnnxQuant *q);
void layers_measure(Ctx *c, LayerChoice *k, HeldOut *h);      /* sets k->worst, k->all, and `alone` of each row */
/* Puts as many of the worst layers into floats as are needed for a drop of at most --max-drop. Then tries each of these layers in
 * 8 bits again, one after another. The layer stays in 8 bits if the drop is still at most --max-drop. Must be called after
 * layers_measure. */
void layers_search(Ctx *c, LayerChoice *k, HeldOut *h);
/* Takes the layers that are still in 8 bits, and puts the n worst of them into floats. Returns false if no layer is left in
 * 8 bits. Must be called after layers_measure. */
bool layers_keep_more(LayerChoice *k, size_t n);
size_t layers_kept(const LayerChoice *k);                     /* number of layers in floats */
void layers_save(Ctx *c, const LayerChoice *k, const char *path); /* writes the file of --save-layers */
void layers_print(Ctx *c, const Options *o, const LayerChoice *k); /* prints a table on stdout, the worst layer first */
json_t *layers_json(const LayerChoice *k);                    /* a JSON array of the rows, in the order of the model;
                                                                 the caller releases it */
#endif
