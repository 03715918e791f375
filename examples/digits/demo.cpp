// demo.cpp: the bundle from C++: prints the class of each picture and its probability.
// usage: demo-cpp PICTURE.pgm...    Pictures are binary PGM of 28 x 28, ink is bright.
#include "digits.hpp" // by --bindings=cpp
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <string>

using Picture = std::array<float, digits::Info<digits::Input::image>::size>;
using Answer = std::array<float, digits::Info<digits::Output::probabilities>::size>;

static Picture read(const char *path) {
  std::ifstream file(path, std::ios::binary);
  std::string magic;
  int w = 0, h = 0, most = 0;
  std::array<char, Picture().size()> ink;
  file >> magic >> w >> h >> most;
  file.get();
  if (!file.read(ink.data(), ink.size()) || magic != "P5" || w != 28 || h != 28 || most != 255)
    throw std::runtime_error("not a binary PGM of 28 x 28");
  Picture picture;
  std::transform(ink.begin(), ink.end(), picture.begin(), [](char c) { return static_cast<unsigned char>(c) / 255.0f; });
  return picture;
}

int main(int argc, char **argv) {
  const char *at = "init";
  try {
    digits::Model model;
    for (int i = 1; i < argc; i++) {
      const Picture picture = read(at = argv[i]);
      Answer answer;
      digits::Inputs in;
      digits::Outputs out;
      in.image = picture;
      out.probabilities = answer;
      model.run(in, out);
      const auto best = std::max_element(answer.begin(), answer.end());
      std::printf("%s: %d (%.2f %%)\n", at, static_cast<int>(best - answer.begin()), 100.0 * static_cast<double>(*best));
    }
  } catch (const std::exception &e) {
    std::fprintf(stderr, "demo-cpp: %s: %s\n", at, e.what());
    return 1;
  }
  return 0;
}
