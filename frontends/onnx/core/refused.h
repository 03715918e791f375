/* SPDX-License-Identifier: MIT */
/* refused.h: known operators that tgc refuses. The columns are: domain ("" is ai.onnx), name, and the reason that the message
 * gives. A file defines the macro REFUSED before it includes this file. */
#define TOKENS "tgc does not split text into tokens"
#define DATA_SIZE "the size of its result depends on the data"
#define RANDOM "its results are random"
#define TRAINING "tgc does not train models"
#define GENERATION "it is a loop around a decoder; compile the decoder alone"
#define ONE_MACHINE "its data have a layout for one machine; save the model at the level ORT_ENABLE_EXTENDED"
REFUSED("", "Bernoulli",            RANDOM)
REFUSED("", "ImageDecoder",         "it decodes image files")
REFUSED("", "Multinomial",          RANDOM)
REFUSED("", "RandomNormal",         RANDOM)
REFUSED("", "RandomNormalLike",     RANDOM)
REFUSED("", "RandomUniform",        RANDOM)
REFUSED("", "RandomUniformLike",    RANDOM)
REFUSED("ai.onnx.ml", "CastMap",        "tgc has no maps")
REFUSED("ai.onnx.ml", "DictVectorizer", "tgc has no maps")
REFUSED("ai.onnx.preview.training", "Gradient", TRAINING)
REFUSED("com.microsoft", "BeamSearch",        GENERATION)
REFUSED("com.microsoft", "GreedySearch",      GENERATION)
REFUSED("com.microsoft", "NhwcConv",          "its definition does not say in which order the weights are stored")
REFUSED("com.microsoft", "Sampling",          GENERATION)
REFUSED("com.microsoft", "Tokenizer",         TOKENS)
REFUSED("com.microsoft", "Unique",            DATA_SIZE)
REFUSED("com.microsoft", "WhisperBeamSearch", GENERATION)
REFUSED("com.microsoft.nchwc", "AveragePool", ONE_MACHINE)
REFUSED("com.microsoft.nchwc", "Conv", ONE_MACHINE)
REFUSED("com.microsoft.nchwc", "GlobalAveragePool", ONE_MACHINE)
REFUSED("com.microsoft.nchwc", "GlobalMaxPool", ONE_MACHINE)
REFUSED("com.microsoft.nchwc", "MaxPool", ONE_MACHINE)
REFUSED("com.microsoft.nchwc", "ReorderInput", ONE_MACHINE)
REFUSED("com.microsoft.nchwc", "ReorderOutput", ONE_MACHINE)
REFUSED("com.microsoft.nchwc", "Upsample", ONE_MACHINE)
#undef TOKENS
#undef DATA_SIZE
#undef RANDOM
#undef TRAINING
#undef GENERATION
#undef ONE_MACHINE
