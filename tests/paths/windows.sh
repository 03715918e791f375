#!/bin/sh
# SPDX-License-Identifier: MIT
# A program for Windows from --package=cmake: a project of the user adds the bundle, CMake cross-compiles it, and Wine runs it from
# another folder, with the weights beside it, on the ten sample digits and on threads. Prints TAP.
. "$(dirname "$0")/lib.sh"
wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
needs "a program for Windows" cmake x86_64-w64-mingw32-gcc "$wine"
export WINEPREFIX="$BUILD/wine" WINEDEBUG=-all

cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(user C)
add_subdirectory(net)
add_executable(user user.c)
target_link_libraries(user digits::digits)
file(COPY ${CMAKE_SOURCE_DIR}/net/digits_weights.bin DESTINATION ${CMAKE_CURRENT_BINARY_DIR})
END
cat >windows.cmake <<'END'
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc)
END
cat >user.c <<'END'
#include "digits.h"
#include <stdio.h>

/* The last 784 bytes of a picture are its pixels. */
static int read_picture(const char *path, float *image) {
  unsigned char pixels[784];
  FILE *f = fopen(path, "rb");
  if (!f) return 0;
  fseek(f, -784, SEEK_END);
  const size_t n = fread(pixels, 1, sizeof pixels, f);
  fclose(f);
  for (int i = 0; i < 784; i++) image[i] = (float)pixels[i] / 255;
  return n == sizeof pixels;
}

int main(int argc, char **argv) {
  static unsigned char arena[DIGITS_ARENA_BYTES + TGCRT_ALIGN], memory[TGCRT_POOL_BYTES(3)];
  static float image[DIGITS_INPUT_0_ELEMS], scores[DIGITS_OUTPUT_0_ELEMS];
  const digits_inputs in = { image };
  const digits_outputs out = { scores };
  const tgcrt_pool_options options = { 3, 0, NULL };
  const void *weights;
  tgcrt_pool *pool = NULL;
  digits_ctx ctx;
  int status = tgcrt_map_beside("digits_weights.bin", DIGITS_WEIGHTS_BYTES, &weights);
  if (!status) status = digits_init(&ctx, TGCRT_ALIGNED(arena), DIGITS_ARENA_BYTES, weights, DIGITS_WEIGHTS_BYTES);
  if (!status) status = tgcrt_pool_start(&pool, memory, sizeof memory, &options);
  if (!status) digits_set_executor(&ctx, tgcrt_pool_executor(pool));
  for (int k = 1; k < argc && !status; k++) {
    int best = 0;
    if (!read_picture(argv[k], image)) return 1;
    status = digits_run(&ctx, &in, &out);
    for (int i = 0; i < 10; i++)
      if (scores[i] > scores[best]) best = i;
    printf("%d ", best);
  }
  tgcrt_pool_stop(pool);
  return status;
}
END
step "tgc compile" "$TGC" compile "$digits/digits.onnx" -o net --name=digits --isa=portable --package=cmake -q
step "CMake for Windows" cmake -S . -B out -DCMAKE_TOOLCHAIN_FILE="$work/windows.cmake" -DCMAKE_BUILD_TYPE=Release
step "the program" cmake --build out
mkdir elsewhere && mv out/user.exe out/digits_weights.bin elsewhere
said=$(cd / && "$wine" "$work/elsewhere/user.exe" "$digits"/samples/[0-9].pgm | tr -d '\r')
step "Wine, the ten sample digits on three threads" [ "$said" = "0 1 2 3 4 5 6 7 8 9 " ]
mv elsewhere/digits_weights.bin elsewhere/gone
step "without its weights it fails" sh -c "cd / && ! '$wine' '$work/elsewhere/user.exe'"
number "for Windows: $said"
finish
