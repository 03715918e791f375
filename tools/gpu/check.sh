#!/bin/sh
# SPDX-License-Identifier: MIT
# check.sh KIT: runs what kit.sh has made on the GPU of this machine: each model against its reference outputs, a product for each row of
# matrix instructions, a bundle for ranges of sizes, small models through OpenCL, verify, profile and tune of one model. The bundle for
# ranges, and models of at least 20 kernels, also run under compute-sanitizer. Without a GPU it says so and ends well. Takes ten minutes
# at most, and writes KIT/gpu-check.log.
# Environment: TGC, in place of the kit's; GPU_CHECK_SECONDS (570).
set -u
kit=$1
begun=$(date +%s)
last=${GPU_CHECK_SECONDS:-570}
bad=0 good=0 ran=0

listed=$("${TGC:-$kit/tgc}" devices 2>&1)
device=$(echo "$listed" | grep -e '--backend=cuda' | head -n 1 | sed 's/^devices *//; s/^ *//')
if [ -z "$device" ]; then
  echo "gpu-check: no GPU of NVIDIA here: nothing was run ($(echo "$listed" | grep -i cuda | head -n 1 | sed 's/^devices *//; s/^ *//'))"
  exit 0
fi
if [ ! -d "$kit/models" ]; then
  echo "gpu-check: there are no bundles in '$kit': make gpu-kit makes them" >&2
  exit 66
fi
kit=$(cd "$kit" && pwd)
log=$kit/gpu-check.log
echo "$listed" > "$log"
echo "gpu-check: $device"

left() { echo $((begun + last - $(date +%s))); }

# one WHAT SECONDS COMMAND...
one() {
  what=$1 seconds=$2
  shift 2
  [ "$(left)" -gt "$seconds" ] || seconds=$(left)
  if [ "$seconds" -lt 1 ]; then
    echo "not ok   $what: no time was left"
    bad=$((bad + 1))
    return 1
  fi
  echo "== $what" >> "$log"
  if timeout "$seconds" "$@" >> "$log" 2>&1; then
    echo "ok       $what"
    good=$((good + 1))
    return 0
  fi
  echo "not ok   $what: $(tail -n 1 "$log")"
  bad=$((bad + 1))
  return 1
}

# of FOLDER FILE: the file, which a bundle for OpenCL may share with the one for CUDA
of() { if [ -e "$1/$2" ]; then echo "$1/$2"; else echo "models/$(basename "$1")/$2"; fi; }
example() { echo "$1/net_check --weights $(of "$1" net_weights.bin) --check $(of "$1" net_check.bin)"; }
cd "$kit" || exit 1
for folder in models/*/; do
  [ -d "$folder" ] && one "model $(basename "$folder")" 60 $(example "${folder%/}")
done
for folder in rows/*/; do
  if [ -d "$folder" ]; then one "matrix instructions of $(basename "$folder")" 60 $(example "${folder%/}")
  else echo "skipped  matrix instructions: this tgc has no row of them"; fi
done

ranges='ranges/sizes ranges/net_weights.bin'
if [ -d ranges ]; then one "ranges of sizes" 60 $ranges; fi

if ldconfig -p | grep -q libnvidia-opencl; then
  mkdir -p vendors # so that the loader takes this driver, and not that of a CPU
  echo libnvidia-opencl.so.1 > vendors/nvidia.icd
  OCL_ICD_VENDORS=$kit/vendors
  export OCL_ICD_VENDORS
  for folder in opencl/*/; do
    [ -d "$folder" ] && one "OpenCL, model $(basename "$folder")" 60 env LD_LIBRARY_PATH="$kit/lib" $(example "${folder%/}")
  done
else
  echo "skipped  OpenCL: this driver has no libnvidia-opencl"
fi

PATH=$PATH:/usr/local/cuda/bin
isa=$(echo "$device" | sed -n 's/.*--isa=\([^ ]*\).*/\1/p')
if ! command -v "${CC:-cc}" > /dev/null; then
  echo "skipped  verify, profile, tune: there is no C compiler '${CC:-cc}', which links the bundle"
else
  here="digits.onnx --backend=cuda --isa=$isa --arch=${isa#cuda-}"
  one "verify of digits" 60 ${TGC:-./tgc} verify $here
  one "profile of digits" 60 ${TGC:-./tgc} profile $here
  one "bench of digits" 60 ${TGC:-./tgc} bench $here
  one "tune of digits" 90 ${TGC:-./tgc} tune $here --time=20s -o gpu.tgc-lock
fi

if command -v compute-sanitizer > /dev/null; then
  for tool in memcheck racecheck synccheck; do
    if [ -d ranges ]; then one "$tool, ranges of sizes" 120 compute-sanitizer --tool $tool --error-exitcode 86 $ranges; fi
  done
  for folder in $(ls -d models/*/ 2>/dev/null); do
    [ "$ran" -lt 20 ] || break
    folder=${folder%/}
    kernels=$(sed -n 's/.*"launches": \([0-9][0-9]*\).*/\1/p' "$folder/manifest.json" | head -n 1)
    for tool in memcheck racecheck synccheck; do
      one "$tool, $(basename "$folder"), ${kernels:-0} kernels" 120 compute-sanitizer --tool $tool --error-exitcode 86 $(example "$folder")
    done
    ran=$((ran + ${kernels:-0}))
  done
  [ "$ran" -ge 20 ] || echo "only $ran kernels were under compute-sanitizer: the kit has no more"
else
  echo "skipped  compute-sanitizer is not here: it is a part of NVIDIA's toolkit"
fi
echo "gpu-check: $good ok, $bad not ok, in $(($(date +%s) - begun)) s; $log says more"
[ "$bad" = 0 ]
