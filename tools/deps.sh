#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes sure that what tgc needs is on this machine: deps.sh SET...
# Sets: build (to compile tgc), check (to run its tests), cross (to run bundles on emulated
# machines), llvm (to test objects for WebAssembly), paths (what users do, in
# other languages and in a browser), site (to write the documentation as HTML),
# packages (to build bundles by the build systems of others), deb (to make a Debian package of tgc), windows (to run
# bundles for Windows). LLVM itself is in check: tgc builds
# without it.
# As root on Debian the missing packages are installed through apt; otherwise this says which they are.
# A package counts as present when its probe succeeds, so other systems and own builds are fine.
set -u

# set | package | probe
table='
build gcc                  has cc
build make                 has make
build libc6-dev            header stdio.h
build pkg-config           has pkg-config
build libprotobuf-c-dev    module libprotobuf-c
build protobuf-c-compiler  has protoc-c
build libjansson-dev       module jansson
build nettle-dev           module nettle
build zlib1g-dev           module zlib
build libsqlite3-dev       module sqlite3
check clang                has clang
check g++                  has c++
check libcmocka-dev        module cmocka
check python3              has python3
check python3-numpy        module_of_python numpy
check zstd                 has zstd
check binutils             has nm
check cmake                has cmake
check groff                has groff
check locales              file /usr/share/i18n/locales/de_DE
check ocl-icd-libopencl1   library libOpenCL.so.1
check pocl-opencl-icd      file /etc/OpenCL/vendors/pocl.icd
check oclgrind             has oclgrind
check cppcheck             has cppcheck
check cmark-gfm            has cmark-gfm
check zsh                  has zsh
check fish                 has fish
check graphviz             has dot
check llvm-19-dev          has llvm-config-19
check clang-19             has clang-19
cross gcc-aarch64-linux-gnu     has aarch64-linux-gnu-gcc
cross libc6-dev-arm64-cross     file /usr/aarch64-linux-gnu/include/stdio.h
cross gcc-riscv64-linux-gnu     has riscv64-linux-gnu-gcc
cross libc6-dev-riscv64-cross   file /usr/riscv64-linux-gnu/include/stdio.h
cross gcc-arm-linux-gnueabihf   has arm-linux-gnueabihf-gcc
cross libc6-dev-armhf-cross     file /usr/arm-linux-gnueabihf/include/stdio.h
cross gcc-arm-none-eabi         has arm-none-eabi-gcc
cross libnewlib-arm-none-eabi   file /usr/include/newlib/stdio.h
cross qemu-user                 has qemu-aarch64
cross qemu-system-arm           has qemu-system-arm
windows gcc-mingw-w64-x86-64   has x86_64-w64-mingw32-gcc
windows wine64                 file /usr/lib/wine/wine64
deb debhelper              has dh
deb dpkg-dev               has dpkg-buildpackage
deb fakeroot               has fakeroot
deb lintian                has lintian
packages cmake                 has cmake
packages meson                 has meson
packages ninja-build           has ninja
packages gcc-arm-none-eabi     has arm-none-eabi-gcc
packages libnewlib-arm-none-eabi file /usr/include/newlib/stdio.h
packages qemu-system-arm       has qemu-system-arm
packages gcc-avr               has avr-g++
packages avr-libc              file /usr/lib/avr/include/stdlib.h
packages arduino-core-avr      file /usr/share/arduino/hardware/arduino/avr
packages qemu-system-misc      has qemu-system-avr
packages simavr                has simavr
packages bazel-bootstrap       has bazel
packages bazel-rules-java      file /usr/share/bazel/rules/java
packages bazel-rules-proto     file /usr/share/bazel/rules/proto
llvm lld                   has wasm-ld
paths chromium             has chromium
site cmark-gfm             has cmark-gfm
llvm nodejs                has node
paths lld                  has wasm-ld
paths nodejs               has node
paths rustc                has rustc
paths python3-venv         module_of_python ensurepip
'

has() { command -v "$1" >/dev/null 2>&1; }
file() { [ -e "$1" ]; }
module() { pkg-config --exists "$1" 2>/dev/null; }
library() { PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q "$1"; }
module_of_python() { "${TGC_PYTHON:-python3}" -c "import $1" 2>/dev/null || /usr/bin/python3 -c "import $1" 2>/dev/null; }
header() { printf '#include <%s>\n' "$1" | cc -E - >/dev/null 2>&1; }

missing=
for set in "$@"; do
  while read -r row package probe; do
    [ "$row" = "$set" ] || continue
    eval "$probe" || missing="$missing $package"
  done <<END
$table
END
done
[ -n "$missing" ] || exit 0

if ! has apt-get; then
  echo "tgc needs these Debian packages, or their like on this system:$missing" >&2
  exit 69
fi
if [ "$(id -u)" != 0 ]; then
  echo "tgc needs packages that are not installed. As root: apt-get install -y$missing" >&2
  exit 69
fi
echo "tgc needs packages that are not installed; installing through apt:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
# shellcheck disable=SC2086
if { apt-get update && apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
  rm -f "$log"
else
  cat "$log" >&2
  rm -f "$log"
  echo "apt could not install:$missing" >&2
  exit 69
fi
