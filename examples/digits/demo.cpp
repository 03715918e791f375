/* SPDX-License-Identifier: MIT */
// demo.cpp: the bundle from C++: prints the class of each picture and its probability.
// usage: demo-cpp PICTURE.pgm...    Pictures are binary PGM of 28 x 28, ink is bright.
#include "digits.h"
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

class Digits {
public:
  static constexpr std::size_t pixels = 28 * 28, classes = 10;
  using Picture = std::array<float, pixels>;
  using Answer = std::array<float, classes>;

  Digits() { check(digits_init(&ctx_, arena_, sizeof arena_, nullptr, 0)); }
  Digits(const Digits &) = delete; // ctx_ points into arena_
  Digits &operator=(const Digits &) = delete;

  Answer operator()(const Picture &picture) {
    Answer answer;
    digits_inputs in = {};
    digits_outputs out = {};
    in.image = picture.data();
    out.probabilities = answer.data();
    check(digits_run(&ctx_, &in, &out));
    return answer;
  }

private:
  static void check(int status) {
    if (status) throw std::runtime_error(digits_strerror(status));
  }
  alignas(TGCRT_ALIGN) unsigned char arena_[DIGITS_ARENA_BYTES];
  digits_ctx ctx_;
};

static Digits::Picture read(const char *path) {
  std::ifstream file(path, std::ios::binary);
  std::string magic;
  int w = 0, h = 0, most = 0;
  std::array<char, Digits::pixels> ink;
  file >> magic >> w >> h >> most;
  file.get();
  if (!file.read(ink.data(), ink.size()) || magic != "P5" || w != 28 || h != 28 || most != 255)
    throw std::runtime_error("not a binary PGM of 28 x 28");
  Digits::Picture picture;
  std::transform(ink.begin(), ink.end(), picture.begin(), [](char c) { return static_cast<unsigned char>(c) / 255.0f; });
  return picture;
}

int main(int argc, char **argv) {
  static Digits digits;
  for (int i = 1; i < argc; i++) {
    try {
      const Digits::Answer answer = digits(read(argv[i]));
      const auto best = std::max_element(answer.begin(), answer.end());
      std::printf("%s: %d (%.2f %%)\n", argv[i], static_cast<int>(best - answer.begin()), 100.0 * static_cast<double>(*best));
    } catch (const std::exception &e) {
      std::fprintf(stderr, "demo-cpp: %s: %s\n", argv[i], e.what());
      return 1;
    }
  }
  return 0;
}
