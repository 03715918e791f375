# lib.sh: for the scripts of this folder, which source it: a clean folder as the current one, and TAP. A path is what a user does,
# from an empty folder to numbers.
# Environment: TGC, BUILD, CC.
root=$(cd "$(dirname "$0")/../.." && pwd)
: "${BUILD:=$root/build}" "${TGC:=$BUILD/tgc}" "${CC:=cc}"
digits=$root/examples/digits
work=$(mktemp -d "$BUILD/path-XXXXXX") && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT
steps=0
bad=0

# step TITLE COMMAND...: runs the command; what it prints is shown if it fails
step() {
  steps=$((steps + 1))
  title=$1
  shift
  if "$@" >"$work/step.log" 2>&1; then echo "ok $steps - $title"; else
    echo "not ok $steps - $title"
    sed 's/^/# /' "$work/step.log"
    bad=1
  fi
}

# needs TITLE PROGRAM...: ends the path with a skip unless all programs are installed
needs() {
  title=$1
  shift
  for program in "$@"; do
    command -v "$program" >/dev/null || { echo "ok 1 - $title # SKIP no $program"; echo 1..1; exit 0; }
  done
}

# number TEXT: a result that the user gets to see; `make paths` prints it
number() { echo "# number: $*"; }

finish() {
  echo "1..$steps"
  exit "$bad"
}
