#!/bin/sh
# Writes the accessors of arguments from the args column of ops.h: range_extent(x), pad_lo(x, axis). Usage: accessors.sh OPS.H
set -e
echo "/* Made by tools/accessors.sh: the arguments of a node by name, for nodes of the op that the name begins with. */"
sed -n 's/^OP(\([A-Z0-9]*\), *[A-Z]*, *[0-9SV], *"[^"]*", *"\([^"]*\)".*/\1 \2/p' "$1" | awk '
  BEGIN { type["o"] = type["O"] = "Op"; type["k"] = "RangeKind"; type["m"] = "uint32_t" }
  {
    op = tolower($1)
    lists = 0
    for (i = 2; i <= NF; i++) {
      split($i, a, ":")
      is_list = a[2] == "l" || a[2] == "v"
      t = a[2] in type ? type[a[2]] : "int64_t"
      at = is_list ? (lists == 1 ? "x->rank + i" : lists ? lists " * x->rank + i" : "i") : i - 2
      printf "static inline %s %s_%s(const Node *x%s) ", t, op, a[1], is_list ? ", int i" : ""
      printf "{ return (%s)args_of(x, OP_%s)[%s]; }\n", t, $1, at
      lists += is_list
    }
  }'
