/* SPDX-License-Identifier: MIT */
/* onednn.cpp: what oneDNN 2 takes for a layer of the benchmarks on one thread. Arguments: the layer's name as in
 * bench.py, seconds. Memory is in the formats that oneDNN likes best, constants are packed before; of its algorithms for
 * a convolution the fastest counts. Prints the median of the calls, in microseconds; 3: it has no such layer. Without
 * arguments it prints oneDNN's version. */
#include <oneapi/dnnl/dnnl.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

using namespace dnnl;
using Dims = memory::dims;
using Format = memory::format_tag;
using Arguments = std::unordered_map<int, memory>;
using Clock = std::chrono::steady_clock;

static const engine cpu(engine::kind::cpu, 0);
static double seconds;

static memory::desc described(const Dims &dims, Format format = Format::any) { return {dims, memory::data_type::f32, format}; }

static memory filled(const memory::desc &d) {
  memory m(d, cpu);
  auto *values = static_cast<float *>(m.get_data_handle());
  for (size_t i = 0; i < d.get_size() / sizeof *values; i++) values[i] = float(i * 2654435761u >> 8 & 1023) / 1024 - 0.5f;
  return m;
}

static double microseconds(const primitive &p, const Arguments &arguments) {
  stream s(cpu);
  std::vector<double> times;
  for (double sum = 0; sum < seconds || times.size() < 5; sum += times.back()) {
    auto start = Clock::now();
    p.execute(s, arguments);
    s.wait();
    times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2] * 1e6;
}

/* rows times constants */
static double product(long rows, long depth, long columns) {
  matmul::primitive_desc d({described({rows, depth}, Format::ab), described({depth, columns}), described({rows, columns}, Format::ab)}, cpu);
  return microseconds(matmul(d), {{DNNL_ARG_SRC, filled(d.src_desc())}, {DNNL_ARG_WEIGHTS, filled(d.weights_desc())}, {DNNL_ARG_DST, filled(d.dst_desc())}});
}

/* with bias and Relu, windows of k x k around each point */
static double convolution(long size, long in, long out, long k, long groups) {
  post_ops after;
  after.append_eltwise(1, algorithm::eltwise_relu, 0, 0);
  primitive_attr attributes;
  attributes.set_post_ops(after);
  Dims weights = groups > 1 ? Dims{groups, out / groups, in / groups, k, k} : Dims{out, in, k, k};
  double best = 0;
  for (algorithm a : {algorithm::convolution_direct, algorithm::convolution_winograd}) try {
    convolution_forward::primitive_desc d(
        {prop_kind::forward_inference, a, described({1, in, size, size}), described(weights), described({out}), described({1, out, size, size}),
         {1, 1}, {k / 2, k / 2}, {k / 2, k / 2}}, attributes, cpu);
    double us = microseconds(convolution_forward(d), {{DNNL_ARG_SRC, filled(d.src_desc())}, {DNNL_ARG_WEIGHTS, filled(d.weights_desc())},
                                                      {DNNL_ARG_BIAS, filled(d.bias_desc())}, {DNNL_ARG_DST, filled(d.dst_desc())}});
    best = best ? std::min(best, us) : us;
  } catch (const error &e) {
    if (e.status != dnnl_unimplemented) throw;
  }
  return best;
}

static double softmax(long rows, long columns) {
  softmax_forward::primitive_desc d({prop_kind::forward_inference, described({rows, columns}, Format::ab), 1}, cpu);
  return microseconds(softmax_forward(d), {{DNNL_ARG_SRC, filled(d.src_desc())}, {DNNL_ARG_DST, filled(d.dst_desc())}});
}

static double layer_norm(long rows, long columns) {
  layer_normalization_forward::primitive_desc d(
      {prop_kind::forward_inference, described({rows, columns}, Format::ab), 1e-5f, normalization_flags::use_scale_shift}, cpu);
  return microseconds(layer_normalization_forward(d), {{DNNL_ARG_SRC, filled(d.src_desc())}, {DNNL_ARG_DST, filled(d.dst_desc())},
                                                       {DNNL_ARG_SCALE_SHIFT, filled(d.weights_desc())}});
}

static double elementwise(algorithm a, long rows, long columns) {
  eltwise_forward::primitive_desc d({prop_kind::forward_inference, a, described({rows, columns}, Format::ab), 0, 0}, cpu);
  return microseconds(eltwise_forward(d), {{DNNL_ARG_SRC, filled(d.src_desc())}, {DNNL_ARG_DST, filled(d.dst_desc())}});
}

static std::optional<double> layer(const char *name) {
  static const struct { const char *name; algorithm a; } functions[] = {
    {"exp", algorithm::eltwise_exp}, {"tanh", algorithm::eltwise_tanh}, {"sigmoid", algorithm::eltwise_logistic},
    {"gelu", algorithm::eltwise_gelu_erf},
  };
  long a, b, c, d;
  if (sscanf(name, "gemm %ldx%ldx%ld", &a, &b, &c) == 3) return product(a, b, c);
  if (sscanf(name, "gemv %ldx%ld", &a, &b) == 2) return product(1, a, b);
  if (sscanf(name, "conv %ldx%*d %ldx%*d %ld-%ld", &a, &b, &c, &d) == 4) return convolution(b, c, d, a, 1);
  if (sscanf(name, "depthwise %ldx%*d %ld", &a, &b) == 2) return convolution(a, b, b, 3, b);
  if (sscanf(name, "softmax %ldx%ld", &a, &b) == 2) return softmax(a, b);
  if (sscanf(name, "layer norm %ldx%ld", &a, &b) == 2) return layer_norm(a, b);
  for (auto &f : functions)
    if (!strncmp(name, f.name, strlen(f.name)) && sscanf(name + strlen(f.name), " %ldx%ld", &a, &b) == 2) return elementwise(f.a, a, b);
  return {};
}

int main(int argc, char **argv) try {
  if (argc == 1) {
    auto v = version();
    return printf("%d.%d.%d\n", v->major, v->minor, v->patch) < 0;
  }
  if (argc != 3) return 2;
  seconds = atof(argv[2]);
  auto us = layer(argv[1]);
  if (us) printf("%.2f\n", *us);
  return us ? 0 : 3;
} catch (const error &e) {
  fprintf(stderr, "onednn: %s: %s\n", argv[1], e.what());
  return 1;
}
