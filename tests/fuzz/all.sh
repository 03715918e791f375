#!/bin/sh
# SPDX-License-Identifier: MIT
# Every fuzzer, one after another, whatever the others found: all.sh FOLDER SEED GRAPHS MUTANTS SECONDS. Exit status 1 if one
# found something.
here=$(dirname "$0")
folder=$1 seed=$2 bad=0
"$PYTHON" "$here/many.py" --graphs "$3" --seed "$seed" --folder "$folder" || bad=1
"$PYTHON" "$here/many.py" --on programs --graphs "$3" --seed "$seed" --folder "$folder/programs" || bad=1
"$PYTHON" "$here/many.py" --on devices --graphs $(($3 / 10)) --seed "$seed" --folder "$folder/devices" || bad=1
"$PYTHON" "$here/mutate.py" --mutants "$4" --seed "$seed" --folder "$folder" || bad=1
"$PYTHON" "$here/corrupt.py" --seconds "$5" --seed "$seed" --folder "$folder" || bad=1
if "$PYTHON" -c 'import numpy, onnx, onnxruntime' 2>/dev/null; then
  "$PYTHON" "$here/fuzz.py" --seconds "$5" --seed "$seed" --folder "$folder" || bad=1
fi
exit $bad
