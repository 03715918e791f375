#!/bin/sh
# SPDX-License-Identifier: MIT
# The arrows between folders (CONTRIBUTING.md) as a check of the includes: a file may include its own
# folder and those listed for it. Prints each offence as FILE:LINE and fails if there is one.
cd "$(dirname "$0")/.." || exit 70
grep -n '^ *# *include *"' $(find cmd libtgc compiler frontends backends runtime_stub -name '*.[ch]') /dev/null | awk '
  BEGIN {
    # compiler folders, each may include those to its left
    # . is compiler itself: the driver stands above the folders it drives, and the tuner runs steps by it
    n = split("support ir target cost interp graph schedule nest opt group lower bundle . tune", order, " ")
    for (i = 1; i <= n; i++) rank[order[i] == "." ? "compiler" : "compiler/" order[i]] = i
  }
  # a/b/../c -> a/c
  function clean(path,   part, out, k, m, i) {
    m = split(path, part, "/")
    k = 0
    for (i = 1; i <= m; i++)
      if (part[i] == "..") k--
      else if (part[i] != ".") out[++k] = part[i]
    path = out[1]
    for (i = 2; i <= k; i++) path = path "/" out[i]
    return path
  }
  function dir(path) { sub(/\/[^\/]*$/, "", path); return path }
  function top(path) { sub(/\/.*/, "", path); return path }
  function allowed(from, to, file) {
    if (from == to) return 1
    if (top(from) == "runtime_stub") return top(to) == "runtime_stub"
    # what bundles and the compiler ask a CPU is asked by the same code; tgc calls what bundles export
    if (file == "runtime_stub/tgcrt_device.h")
      return from == "compiler/bundle" || from == "compiler/target" || from == "backends" || top(from) == "cmd"
    if (file == "runtime_stub/tune_machine.h" || file == "runtime_stub/tune_race.h")
      return from == "compiler/target" || from == "compiler/tune" # the tuner and its jobs measure by the same code
    if (file == "runtime_stub/tgcrt_sizes.h") return from == "compiler/ir" # bundles and the compiler compute sizes by the same code
    if (to == "runtime_stub") return file == "runtime_stub/tgcrt.h" && (from == "compiler/target" || top(from) == "cmd")
    if (top(from) == "cmd" || top(from) == "libtgc") return 1 # the verbs are clients of libtgc, which uses what they share
    if (top(from) == "frontends")
      return top(to) == "frontends" || ((to in rank) && rank[to] <= rank["compiler/graph"])
    if (top(from) == "backends")
      return top(to) == "backends" || to == "compiler/support" || to == "compiler/ir" || to == "compiler/target" || to == "compiler/lower" ||
             file == "compiler/schedule/schedule.h"   # the kernel list it renders
    return (from in rank) && (to in rank) && rank[to] < rank[from]
  }
  {
    match($0, /^[^:]*:[0-9]*/); where = substr($0, 1, RLENGTH)
    file = where; sub(/:.*/, "", file)
    target = $0; sub(/^[^"]*"/, "", target); sub(/".*/, "", target)
    # generated headers live in the build folder and are named without a path
    if (target ~ /\.pb-c\.h$/) next
    to = clean(dir(file) "/" target)
    if (!allowed(dir(file), dir(to), to)) { printf "%s: %s may not include %s\n", where, dir(file), to; bad = 1 }
  }
  END { exit bad }'
