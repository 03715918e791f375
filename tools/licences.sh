#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the copyright files of the Debian packages that hold the static libraries of these pkg-config modules.
for module in "$@"; do
  folder=$(pkg-config --variable=libdir "$module")
  for name in $(pkg-config --libs-only-l "$module"); do
    package=$(dpkg -S "$folder/lib${name#-l}.a" 2>/dev/null | sed 's/:.*//')
    [ -n "$package" ] || continue
    printf '==== %s (%s)\n' "$module" "$package"
    cat "/usr/share/doc/$package/copyright"
    echo
  done
done
