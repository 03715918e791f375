// states.cpp: the states of a model through net.hpp: y = 2 h, with h = h / 2 + x. The last line is "ok".
#include "net.hpp"
#include <cstdlib>

#define CHECK(x) do { if (!(x)) { std::printf("line %d: %s\n", __LINE__, #x); std::exit(1); } } while (0)

int main() {
  net::Model model;
  std::array<float, 40> x, y, h;
  std::array<unsigned char, NET_STATE_BYTES> saved;
  x.fill(1);
  const auto run = [&] {
    net::Inputs in;
    net::Outputs out;
    in.x = x;
    out.y = y;
    model.run(in, out);
    return y[39];
  };
  CHECK(run() == 2 && run() == 3);
  model.get<net::State::h>(h);
  model.save(saved);
  CHECK(h[0] == 1.5f && run() == 3.5f);
  h.fill(8);
  model.put<net::State::h>(h);
  CHECK(run() == 10);
  model.load(saved);
  CHECK(run() == 3.5f);
  model.reset();
  CHECK(run() == 2);
  saved.fill(255);
  CHECK(model.try_load(saved).code() == TGCRT_STATE);
  std::puts("ok");
}
