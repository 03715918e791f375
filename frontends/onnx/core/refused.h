/* Operators of the standard that the table does not have, and why: a row each, domain, name, reason. Those of later
 * standards, and of other makers, are refused without one. */
#define STRINGS "there are no strings"
#define DATA_SIZE "the size of its result depends on the data"
#define RANDOM "each run would give other numbers"
#define TRAINING "models are not trained"
#define GENERATION "it is a whole loop of generation; the decoder in its body can be compiled"
#define ONE_MACHINE "its weights are packed for one machine; ONNX Runtime saves without that at ORT_ENABLE_EXTENDED"
REFUSED("", "Bernoulli",            RANDOM)
REFUSED("", "ImageDecoder",         "it reads picture files")
REFUSED("", "Multinomial",          RANDOM)
REFUSED("", "RandomNormal",         RANDOM)
REFUSED("", "RandomNormalLike",     RANDOM)
REFUSED("", "RandomUniform",        RANDOM)
REFUSED("", "RandomUniformLike",    RANDOM)
REFUSED("", "RegexFullMatch",       STRINGS)
REFUSED("", "StringConcat",         STRINGS)
REFUSED("", "StringNormalizer",     STRINGS)
REFUSED("", "StringSplit",          STRINGS)
REFUSED("ai.onnx.ml", "CastMap",        "there are no maps")
REFUSED("ai.onnx.ml", "CategoryMapper", STRINGS)
REFUSED("ai.onnx.ml", "DictVectorizer", "there are no maps")
REFUSED("ai.onnx.preview.training", "Adagrad",  TRAINING)
REFUSED("ai.onnx.preview.training", "Adam",     TRAINING)
REFUSED("ai.onnx.preview.training", "Gradient", TRAINING)
REFUSED("ai.onnx.preview.training", "Momentum", TRAINING)
REFUSED("com.microsoft", "BeamSearch",        GENERATION)
REFUSED("com.microsoft", "GreedySearch",      GENERATION)
REFUSED("com.microsoft", "NhwcConv",          "its weights are in one of two orders, and it does not say which")
REFUSED("com.microsoft", "Sampling",          GENERATION)
REFUSED("com.microsoft", "Tokenizer",         STRINGS)
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
#undef STRINGS
#undef DATA_SIZE
#undef RANDOM
#undef TRAINING
#undef GENERATION
#undef ONE_MACHINE
