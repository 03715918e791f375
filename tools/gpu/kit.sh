#!/bin/sh
# SPDX-License-Identifier: MIT
# kit.sh FOLDER [WORD...]: a folder for a machine with an NVIDIA GPU and no network: tgc with its libraries, bundles of small models
# that are compiled and linked here for CUDA, the smallest of them for OpenCL too, and the scripts that run them. WORDs choose models
# whose names contain one of them. Environment: TGC, CC, MODELS (../shared/models), GPU_ARCHS (sm_75,sm_80,sm_90), GPU_KIT_MIB (64:
# the most that the folder may take).
set -eu
kit=$1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
tgc=${TGC:-$root/build/tgc}
models=${MODELS:-$root/../shared/models}
archs=${GPU_ARCHS:-sm_75,sm_80,sm_90}
most=$((${GPU_KIT_MIB:-64} * 1024)) # KiB
small=$((256 * 1024))                # bytes of an ONNX file, for OpenCL

chosen() {
  [ $# -gt 1 ] || return 0
  name=$1
  shift
  for word; do case $name in *"$word"*) return 0 ;; esac; done
  return 1
}

# bundle NAME MODEL OPTION...: its example, ready to run, with what it needs
bundle() {
  to=$1 model=$2 work=$kit/work
  shift 2
  rm -rf "$work"
  if ! "$tgc" compile "$model" --name=net --self-test -q -o "$work" "$@" 2>"$kit/said"; then
    echo "gpu-kit: $(basename "$to"): $(tail -n 1 "$kit/said")" >&2
    rm -rf "$work"
    return 1
  fi
  make -s -C "$work" CC="${CC:-cc}" CFLAGS=-O2 LDFLAGS=-ldl build/net_check
  mkdir -p "$to"
  strip "$work/build/net_check" 2>/dev/null || :
  cp "$work/build/net_check" "$work/net_weights.bin" "$work/net_check.bin" "$work/manifest.json" "$to"
  rm -rf "$work"
}

rm -rf "$kit"
mkdir -p "$kit/lib" "$kit/models" "$kit/opencl" "$kit/rows"
cp "$tgc" "$kit/tgc.bin"
strip "$kit/tgc.bin" 2>/dev/null || :
ldd "$tgc" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | grep -Ev '/(libc|libm|libdl|libpthread)\.so' | while read -r library; do
  cp "$library" "$kit/lib"
done
opencl=$(ldconfig -p | sed -n 's/.*libOpenCL\.so\.1 .*=> //p' | head -n 1) # the loader: a driver of NVIDIA's has none
[ -z "$opencl" ] || cp "$opencl" "$kit/lib"
printf '#!/bin/sh\nhere=$(cd "$(dirname "$0")" && pwd)\nLD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$here/tgc.bin" "$@"\n' > "$kit/tgc"
chmod +x "$kit/tgc"
cp "$root/tools/gpu/check.sh" "$root/tools/gpu/bench.py" "$root/tools/onnxfile.py" "$root/examples/digits/digits.onnx" "$kit"
printf 'gpu-check:\n\t@sh check.sh .\ngpu-bench:\n\t@$${PYTHON:-python3} bench.py\n.PHONY: gpu-check gpu-bench\n' > "$kit/Makefile"

# a product for each row of matrix instructions that this tgc has, with code for the row's own architecture
for row in $("$tgc" devices | sed -n 's/^\(cuda-sm_[0-9]*+mma\) .*/\1/p'); do
  arch=${row#cuda-}
  bundle "$kit/rows/$row" "$root/tests/device-runtime/product.onnx" --backend=cuda --isa="$row" --arch="${arch%+mma}" || :
done

# a bundle for ranges of sizes, with a program that runs it at all of them
work=$kit/work
if "$tgc" compile "$root/tests/device-runtime/sizes.tg" --dim b=0:3 --dim n=1:9 --backend=cuda --arch="$archs" --name=net -q -o "$work" 2>"$kit/said"; then
  make -s -C "$work" CC="${CC:-cc}" CFLAGS=-O2 build/libnet.a
  mkdir -p "$kit/ranges"
  ${CC:-cc} -std=c11 -O2 -I"$work" -o "$kit/ranges/sizes" "$root/tests/device-runtime/sizes.c" "$work/build/libnet.a" -ldl -lm -pthread
  cp "$work/net_weights.bin" "$kit/ranges"
else
  echo "gpu-kit: ranges: $(tail -n 1 "$kit/said")" >&2
fi
rm -rf "$work"

# share NAME: removes files of the bundle for OpenCL that the one for CUDA has too, so that more models fit; check.sh finds them there
share() {
  for file in net_weights.bin net_check.bin; do
    if cmp -s "$kit/models/$1/$file" "$kit/opencl/$1/$file"; then rm "$kit/opencl/$1/$file"; fi
  done
}

# model NAME FILE BYTES OPTION...
model() {
  name=$1 file=$2 size=$3
  shift 3
  bundle "$kit/models/$name" "$file" --backend=cuda --arch="$archs" "$@" || return 0
  if [ "$size" -le $small ] && bundle "$kit/opencl/$name" "$file" --backend=opencl "$@"; then share "$name"; fi
  [ "$(du -sk "$kit" | cut -f 1)" -gt $most ] || return 0
  echo "gpu-kit: $name would make the folder larger than $((most / 1024)) MiB" >&2
  rm -rf "$kit/models/$name" "$kit/opencl/$name"
}

if chosen digits "$@"; then model digits "$root/examples/digits/digits.onnx" 0; fi
"${PYTHON:-python3}" -c 'import sys; sys.path.insert(0, sys.argv[1]); import fixtures; [print(n, d) for n, d in fixtures.NAMED]' "$root/tests" |
  while read -r name dims; do
    [ ! -f "$models/$name/model.onnx" ] || echo "$(wc -c < "$models/$name/model.onnx") $name $dims"
  done | sort -n | # so that only the largest are left out
  while read -r size name dims; do
    chosen "$name" "$@" || continue
    options=
    for d in $dims; do options="$options --dim $d"; done
    model "$name" "$models/$name/model.onnx" "$size" $options
  done
rm -f "$kit/said"
echo "$kit: $(ls "$kit/models" | wc -l) models, $(ls "$kit/opencl" | wc -l) for OpenCL too, $(ls "$kit/rows" | wc -l) rows of matrix instructions, $(du -sm "$kit" | cut -f 1) MiB"
