#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks a model as a build server does: check.sh MODEL [OPTION OF TGC COMPILE]...
# Compiles it, verifies the bundle and measures it. Every step is done, and then the status is 0, 1 if a check failed, or that of the
# first step that could not be done. Settings are environment variables:
#   TGC       the program (tgc)
#   RESULTS   folder for the bundle, reports, and JUnit's files (tgc-results); a folder in it for each model
#   NAME      name of that folder (the model's file without its suffix)
#   DATA      folder with test_data_set_0, ... (none: seeded inputs)
#   REQUIRE   words for --require, such as "cosine>=0.999 top1>=0.99"
#   LIMIT     value of --limit, such as latency=5ms,arena=1MB,kernels=60,code=200kB
#   BASELINE  an earlier bench.json; a file that is not there counts as none
#   TOLERANCE value of --tolerance
#   SUMMARY   file to which a page in Markdown is appended
#   SECONDS_OF_BENCH  how long to measure (2)
set -u
model=$1
shift
tgc=${TGC:-tgc}
name=${NAME:-$(basename "${model%.*}")}
dir=${RESULTS:-tgc-results}/$name
mkdir -p "$dir"
worst=0
note() { # keeps the status of a step: 1 is a failed check, more is worse
  [ "$1" -le "$worst" ] || worst=$1
}

"$tgc" compile "$model" -o "$dir/bundle" "$@" || exit $?

set -- --model="$model" --junit="$dir/verify.xml"
[ -z "${DATA:-}" ] || set -- "$@" --data="$DATA"
[ -z "${SUMMARY:-}" ] || set -- "$@" --markdown="$SUMMARY"
for word in ${REQUIRE:-}; do set -- "$@" --require="$word"; done
"$tgc" verify "$dir/bundle" "$@"
note $?

set -- --seconds="${SECONDS_OF_BENCH:-2}"
[ -z "${DATA:-}" ] || set -- "$@" --data="$DATA/test_data_set_0"
"$tgc" bench "$dir/bundle" "$@" --json > "$dir/bench.json"
note $?
[ -z "${LIMIT:-}" ] || set -- "$@" --limit="$LIMIT"
if [ -f "${BASELINE:-}" ]; then
  set -- "$@" --baseline="$BASELINE"
  [ -z "${TOLERANCE:-}" ] || set -- "$@" --tolerance="$TOLERANCE"
fi
if [ -n "${LIMIT:-}" ] || [ -f "${BASELINE:-}" ]; then
  [ -z "${SUMMARY:-}" ] || set -- "$@" --markdown="$SUMMARY"
  "$tgc" bench "$dir/bundle" "$@" --junit="$dir/bench.xml"
  note $?
fi
exit "$worst"
