/* Operators of the standard that the table does not have, and why: a row each, domain, name, reason. Those of later
 * standards, and of other makers, are refused without one. */
#define STRINGS "there are no strings"
#define DATA_SIZE "the size of its result depends on the data"
#define OPTIONALS "there are no optionals"
#define RANDOM "each run would give other numbers"
#define TRAINING "models are not trained"
REFUSED("", "Bernoulli",            RANDOM)
REFUSED("", "ImageDecoder",         "it reads picture files")
REFUSED("", "Multinomial",          RANDOM)
REFUSED("", "Optional",             OPTIONALS)
REFUSED("", "OptionalGetElement",   OPTIONALS)
REFUSED("", "OptionalHasElement",   OPTIONALS)
REFUSED("", "RandomNormal",         RANDOM)
REFUSED("", "RandomNormalLike",     RANDOM)
REFUSED("", "RandomUniform",        RANDOM)
REFUSED("", "RandomUniformLike",    RANDOM)
REFUSED("", "RegexFullMatch",       STRINGS)
REFUSED("", "StringConcat",         STRINGS)
REFUSED("", "StringNormalizer",     STRINGS)
REFUSED("", "StringSplit",          STRINGS)
REFUSED("", "TfIdfVectorizer",      "it counts words, which nearly all models have as strings")
REFUSED("", "Unique",               DATA_SIZE)
REFUSED("ai.onnx.ml", "CastMap",        "there are no maps")
REFUSED("ai.onnx.ml", "CategoryMapper", STRINGS)
REFUSED("ai.onnx.ml", "DictVectorizer", "there are no maps")
REFUSED("ai.onnx.ml", "SVMClassifier",  "its classes come from votes of pairs, and their probabilities from iterations until these agree")
REFUSED("ai.onnx.ml", "ZipMap",         "there are no maps")
REFUSED("ai.onnx.preview.training", "Adagrad",  TRAINING)
REFUSED("ai.onnx.preview.training", "Adam",     TRAINING)
REFUSED("ai.onnx.preview.training", "Gradient", TRAINING)
REFUSED("ai.onnx.preview.training", "Momentum", TRAINING)
#undef STRINGS
#undef DATA_SIZE
#undef OPTIONALS
#undef RANDOM
#undef TRAINING
