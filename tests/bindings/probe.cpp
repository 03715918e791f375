// probe.cpp: the C++ interface of tests/bindings/run's model. Its fields are macros, F0 to F3 and G0 to G3. All memory that the
// program allocates has canaries around it. Every wrong use must be refused with its message; the last line is "ok".
// usage: probe WEIGHTS OTHER|-    OTHER: other weights of the same size
#include "net.hpp"
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(x) do { if (!(x)) { std::printf("line %d: %s\n", __LINE__, #x); std::exit(1); } } while (0)

namespace {

enum { ROOM = 256, FILL = 0xa5 };
int blocks, aligned_blocks; // allocations so far; those with an alignment are arenas

struct Head { std::size_t bytes, before; };

void *guarded(std::size_t bytes, std::size_t align) {
  unsigned char *all = static_cast<unsigned char *>(std::malloc(bytes + 4 * ROOM)), *p = all + ROOM;
  if (!all) return nullptr;
  std::memset(all, FILL, bytes + 4 * ROOM);
  p += align - reinterpret_cast<std::uintptr_t>(p) % align;
  const Head head = { bytes, static_cast<std::size_t>(p - all) };
  std::memcpy(p - ROOM / 2, &head, sizeof head);
  return p;
}

void release(void *at) {
  if (!at) return;
  unsigned char *p = static_cast<unsigned char *>(at);
  Head head;
  std::memcpy(&head, p - ROOM / 2, sizeof head);
  for (std::size_t i = 0; i < ROOM / 2 - sizeof head; i++) CHECK(p[-1 - static_cast<std::ptrdiff_t>(i)] == FILL);
  for (std::size_t i = 0; i < ROOM; i++) CHECK(p[head.bytes + i] == FILL);
  std::free(p - head.before);
}

} // namespace

void *operator new(std::size_t n) {
  blocks++;
  return guarded(n, 16);
}
void *operator new(std::size_t n, std::align_val_t align, const std::nothrow_t &) noexcept {
  aligned_blocks++;
  return guarded(n, static_cast<std::size_t>(align));
}
void operator delete(void *p) noexcept { release(p); }
void operator delete(void *p, std::size_t) noexcept { release(p); }
void operator delete(void *p, std::align_val_t) noexcept { release(p); }

namespace {

const std::array<float, 30> sums = [] {
  std::array<float, 30> a{};
  for (std::size_t i = 0; i < a.size(); i++) a[i] = static_cast<float>(i) / 4;
  return a;
}();

struct Results {
  std::vector<float> sum = std::vector<float>(30);
  std::uint8_t inverted[7];
  std::array<std::int64_t, 3> more;
  std::int8_t minus[1];
};

net::Outputs outputs(Results &r) {
  net::Outputs out;
  out.G0 = r.sum;
  out.G1 = r.inverted;
  out.G2 = r.more;
  out.G3 = r.minus;
  return out;
}

void check_results(const Results &r) {
  for (std::size_t i = 0; i < 30; i++) CHECK(r.sum[i] == sums[i] + static_cast<float>(i));
  for (std::size_t i = 0; i < 7; i++) CHECK(r.inverted[i] == (i % 2 == 0 ? 0 : 1));
  CHECK(r.more[0] == 2 && r.more[1] == 2 + (std::int64_t(1) << 40) && r.more[2] == -4 && r.minus[0] == -5);
}

template <class F> std::string refusal(F f) {
#ifdef NET_THROWS
  try {
    f();
  } catch (const net::Error &e) {
    return e.what();
  }
#else
  static_cast<void>(f);
#endif
  return "nothing";
}

} // namespace

int main(int argc, char **argv) {
  CHECK(argc == 3);
  static_assert(net::Info<net::Input::F0>::shape[1] == 3 && net::Info<net::Input::F3>::shape.size() == 0);
  static_assert(std::is_same_v<net::Info<net::Input::F2>::type, std::int64_t>);
  CHECK(net::Info<net::Input::F2>::name == std::string("\xe6\x97\xa5\xe6\x9c\xac"));
  const std::uint8_t truths[] = { 1, 0, 1, 0, 1, 0, 1 };
  std::vector<std::int64_t> numbers = { 1, 2, 3 };
  const std::int8_t scalar = 5;
  net::Inputs in;
  in.F0 = sums;
  in.F1 = truths;
  in.F2 = numbers;
  in.F3 = net::View<const std::int8_t, 1>(&scalar, 1);

  net::Weights weights;
  CHECK(weights.try_map("/nonexistent").code() == TGCRT_FILE && weights.try_map(argv[1]).ok() && weights.check().ok());
  const int before = blocks, arenas = aligned_blocks;
  {
    Results r;
    net::Model model(std::nothrow);
    CHECK(model.try_run(in, outputs(r)).code() == TGCRT_UNREADY);
    CHECK(model.try_open(weights).ok() && model.try_run(in, outputs(r)).ok());
    check_results(r);
    net::Model moved(std::move(model));
    Results again;
    CHECK(moved.try_run(in, outputs(again)).ok() && model.try_run(in, outputs(r)).code() == TGCRT_UNREADY);
    check_results(again);
    net::Inputs wrong = in;
    wrong.F0 = net::View<const float, 30>(sums.data(), 29);
    CHECK(moved.try_run(wrong, outputs(r)).code() == TGCRT_ARGUMENT);
    wrong.F0 = net::View<const float, 30>(nullptr, 30);
    CHECK(moved.try_run(wrong, outputs(r)).code() == TGCRT_ARGUMENT);
    CHECK(aligned_blocks == arenas + 1 && blocks <= before + 2); // one arena, and the vectors of the results
  }
  unsigned char *mine = static_cast<unsigned char *>(guarded(net::Model::arena_bytes, net::Model::arena_align));
  {
    Results r;
    net::Model model(std::nothrow);
    CHECK(model.try_open(weights, mine, net::Model::arena_bytes - 1).code() == TGCRT_ARENA);
    CHECK(model.try_open(weights, mine + 8, net::Model::arena_bytes).code() == TGCRT_ARENA);
    CHECK(model.try_open(weights, mine, net::Model::arena_bytes).ok() && model.try_run(in, outputs(r)).ok());
    check_results(r);
    CHECK(aligned_blocks == arenas + 1);
  }
  release(mine);
#ifdef NET_THROWS
  {
    Results r;
    net::Model model(weights);
    CHECK(model.run(in, outputs(r)).ok());
    check_results(r);
    numbers.push_back(4);
    net::Inputs wrong = in;
    wrong.F2 = numbers;
    const std::string said = refusal([&] { model.run(wrong, outputs(r)); });
    CHECK(said == "input '\xe6\x97\xa5\xe6\x9c\xac': 4 elements, expected 3");
    r.sum.resize(1);
    CHECK(refusal([&] { model.run(in, outputs(r)); }) == "output 'sum': 1 elements, expected 30");
    CHECK(refusal([] { net::Weights none("/nonexistent"); }) == net::Status(TGCRT_FILE).message());
    CHECK(refusal([] { net::Model none{ net::Weights() }; }) == net::Status(TGCRT_WEIGHTS).message());
    net::Weights other(argv[2]);
    CHECK(other.check().code() == TGCRT_DIGEST);
  }
  CHECK(aligned_blocks == arenas + 3); // the constructor that threw has freed its arena, whose canaries were checked
#endif
  std::puts("ok");
  return 0;
}
