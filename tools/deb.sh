#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a Debian package of the committed files, with the uncommitted changes of tracked ones, and shows it to lintian.
# deb.sh VERSION FOLDER
set -eu
folder=$2/tgc-$1
rm -rf "$2" && mkdir -p "$folder"
git ls-files -z | tar --null -T - -cf - | tar -C "$folder" -xf -
date=$(git log -1 --format=%aD 2>/dev/null || date -R)
printf 'tgc (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- The tgc authors <tgc@example.org>  %s\n' "$1" "$date" > "$folder/debian/changelog"
(cd "$folder" && dpkg-buildpackage -b -us -uc -d -j2 > ../build.log 2>&1) || { tail -40 "$2/build.log" >&2; exit 1; }
ls -l "$2"/*.deb
lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$2"/tgc_*.deb "$2"/libtgc*.deb
