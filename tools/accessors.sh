#!/bin/sh
# SPDX-License-Identifier: MIT
# Writes the accessors of arguments and operands from the columns args and operands of ops.h: range_extent(x), pad_lo(x, axis),
# load_buffer(x), load_gate(x), which is 0 where there is none, and red_range(x, i). Usage: accessors.sh OPS.H
set -e
echo "/* Made by tools/accessors.sh: the arguments and operands of a node by name, for nodes of the op that the name begins with. */"
sed -n 's/^OP(\([A-Z0-9]*\), *[A-Z]*, *\([0-9SV]\), *"[^"]*", *"\([^"]*\)", *"\([^"]*\)".*/\1|\2|\3|\4/p' "$1" | awk -F'|' '
  BEGIN { type["o"] = type["O"] = "Op"; type["k"] = "RangeKind"; type["m"] = "uint32_t" }
  {
    op = tolower($1)
    lists = 0
    n = split($4, args, " ")
    for (i = 1; i <= n; i++) {
      split(args[i], a, ":")
      is_list = a[2] == "l" || a[2] == "v"
      t = a[2] in type ? type[a[2]] : "int64_t"
      at = is_list ? (lists == 1 ? "x->rank + i" : lists ? lists " * x->rank + i" : "i") : i - 1
      printf "static inline %s %s_%s(const Node *x%s) ", t, op, a[1], is_list ? ", int i" : ""
      if (a[2] == "u") printf "{ return x->narg > %s ? args_of(x, OP_%s)[%s] : 0; }\n", at, $1, at
      else printf "{ return (%s)args_of(x, OP_%s)[%s]; }\n", t, $1, at
      lists += is_list
    }
    n = split($3, names, " ")
    if (n && $2 ~ /[0-9]/ && n != $2) {
      print "tools/accessors.sh: " $1 " takes " $2 " operands and names " n > "/dev/stderr"
      failed = 1
    }
    for (i = 1; i <= n; i++) {
      name = names[i]
      is_rest = sub(/\.\.\.$/, "", name)
      is_optional = sub(/\?$/, "", name)
      printf "static inline Ref %s_%s(const Node *x%s) ", op, name, is_rest ? ", int i" : ""
      printf "{ return %s(x, OP_%s, %s); }\n", is_optional ? "operand_if_any" : "operand_at", $1, \
             !is_rest ? i - 1 : i == 1 ? "i" : i - 1 " + i"
    }
  }
  END { exit failed }'
