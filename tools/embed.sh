#!/bin/sh
# SPDX-License-Identifier: MIT
# embed.sh FILE...: C source with the files' bytes, as the table embedded_files of compiler/support/support.h
echo '/* made by tools/embed.sh */'
echo '#include "compiler/support/support.h"'
i=0
for f in "$@"; do
  echo "static const unsigned char f$i[] = {"
  od -An -v -tx1 "$f" | sed 's/ *\(..\) */0x\1,/g'
  echo '0};'
  i=$((i + 1))
done
echo 'const Embedded embedded_files[] = {'
i=0
for f in "$@"; do
  echo "  { \"$(basename "$f")\", (const char *)f$i, sizeof f$i - 1 },"
  i=$((i + 1))
done
echo '  { 0, 0, 0 },'
echo '};'
