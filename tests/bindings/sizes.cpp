/* SPDX-License-Identifier: MIT */
// sizes.cpp: a model for ranges of sizes through net.hpp: y[b,n] = 2 x[b,n], s[b] = sums along n; b from 1 to 3, n from 2 to 8 in
// steps of 2. The last line is "ok".
#include "net.hpp"
#include <cstdlib>
#include <vector>

#define CHECK(x) do { if (!(x)) { std::printf("line %d: %s\n", __LINE__, #x); std::exit(1); } } while (0)

int main() {
  net::Model model(std::nothrow);
  CHECK(model.try_set_sizes({ 1, 2 }).code() == TGCRT_UNREADY && model.sizes().b == 0);
  CHECK(model.try_open().ok() && model.sizes().b == 3 && model.sizes().n == 8);
  for (std::int64_t b = 1; b <= 3; b++)
    for (std::int64_t n = 2; n <= 8; n += 2) {
      CHECK(model.try_set_sizes({ b, n }).ok() && model.sizes().b == b && model.sizes().n == n);
      const std::size_t elements = static_cast<std::size_t>(b * n), rows = static_cast<std::size_t>(b);
      CHECK(model.elements<net::Input::x>() == elements && model.elements<net::Output::s>() == rows);
      CHECK((model.shape<net::Output::y>() == std::array<std::int64_t, 2>{ b, n }));
      std::vector<float> x(elements, 1), y(elements + 1, -1), s(rows + 1, -1);
      net::Inputs in;
      net::Outputs out;
      in.x = x;
      out.y = { y.data(), elements };
      out.s = { s.data(), rows };
      CHECK(model.try_run(in, out).ok() && s[rows - 1] == static_cast<float>(n) && y[elements - 1] == 2);
      CHECK(y[elements] == -1 && s[rows] == -1);
      out.y = y;
      CHECK(model.try_run(in, out).code() == TGCRT_ARGUMENT);
    }
  CHECK(model.try_set_sizes({ 4, 2 }).code() == TGCRT_SIZE && model.try_set_sizes({ 1, 3 }).code() == TGCRT_SIZE);
  CHECK(model.sizes().b == 3 && model.sizes().n == 8 && net::ranges[1].step == 2 && net::ranges[0].high == 3);
#ifdef NET_THROWS
  try {
    model.set_sizes({ 1, 10 });
    CHECK(false);
  } catch (const net::Error &e) {
    CHECK(e.status().code() == TGCRT_SIZE && !std::strcmp(e.what(), "size 'n': 10, expected 2 to 8 in steps of 2"));
  }
  model.set_sizes({ 2, 4 });
  std::array<float, 8> x = {}, y;
  std::array<float, 3> s;
  try {
    net::Inputs in;
    net::Outputs out;
    in.x = x;
    out.y = y;
    out.s = s;
    model.run(in, out);
    CHECK(false);
  } catch (const net::Error &e) {
    CHECK(!std::strcmp(e.what(), "output 's': 3 elements, expected 2"));
  }
#endif
  std::puts("ok");
}
