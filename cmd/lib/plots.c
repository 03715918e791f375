/* SPDX-License-Identifier: MIT */
/* plots.c: drawings of a report as SVG. The roofline of a machine has a point for each kernel. The memory of the arena is drawn
 * over the kernels of a run. */
#include "../cmd.h"
#include <math.h>
#include <string.h>

enum { WIDTH = 900, HEIGHT = 360, LEFT = 80, TOP = 15, BOTTOM = 40, RIGHT = 20 };
#define PLOT_W (WIDTH - LEFT - RIGHT)
#define PLOT_H (HEIGHT - TOP - BOTTOM)

static void begin(Sb *s, const char *id, const char *what) {
  sb_printf(s, "<svg id=\"%s\" role=\"img\" aria-label=\"%s\" viewBox=\"0 0 %d %d\" width=\"100%%\" font-size=\"11\">\n", id,
            what, WIDTH, HEIGHT);
}

static void line(Sb *s, double x0, double y0, double x1, double y1, const char *style) {
  sb_printf(s, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x0, y0, x1, y1, style);
}

static void label(Sb *s, double x, double y, const char *anchor, const char *text) {
  sb_printf(s, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
  xml_text(s, text);
  sb_puts(s, "</text>\n");
}

/* ---- roofline ---- */
typedef struct Axis {
  double lo, hi, at, length;
} Axis; /* logarithmic; lo and hi: exponents of 10 */

static double along(const Axis *a, double v) {
  const double e = fmin(fmax(log10(v), a->lo), a->hi);
  return a->at + a->length * (e - a->lo) / (a->hi - a->lo);
}

static void include(Axis *a, double v) {
  a->lo = fmin(a->lo, floor(log10(v)));
  a->hi = fmax(a->hi, ceil(log10(v)));
}

static void put_roof(Ctx *c, Sb *s, const Timing *t, const Axis *x, const Axis *y) {
  const double ridge = t->peak.gflops / t->peak.read_gbs, from = pow(10, x->lo);
  const char *roof = "class=\"roof\" stroke=\"#1b1f24\" stroke-width=\"2\"";
  line(s, along(x, from), along(y, from * t->peak.read_gbs), along(x, ridge), along(y, t->peak.gflops), roof);
  line(s, along(x, ridge), along(y, t->peak.gflops), x->at + x->length, along(y, t->peak.gflops), roof);
  label(s, x->at + x->length, along(y, t->peak.gflops) - 5, "end", arena_printf(&c->model, "%.4g GFLOP/s", t->peak.gflops));
  label(s, along(x, from) + 6, along(y, from * t->peak.read_gbs) - 24, "start",
        arena_printf(&c->model, "%.4g GB/s", t->peak.read_gbs));
}

void plot_roofline(Ctx *c, const Timing *t, Sb *s) {
  Axis x = { 0, 1, LEFT, PLOT_W }, y = { 0, 1, TOP + PLOT_H, -PLOT_H };
  include(&x, t->peak.gflops / t->peak.read_gbs);
  include(&y, t->peak.gflops);
  for (size_t k = 0; k < t->layers.n; k++) {
    const Layer *l = &t->layers.p[k];
    if (!l->flops || l->read + l->written <= 0) continue;
    include(&x, (double)l->flops / (double)(l->read + l->written));
    include(&y, t->rows[k].gflops);
  }
  begin(s, "roofline", "roofline");
  for (double e = x.lo; e <= x.hi; e++) {
    line(s, along(&x, pow(10, e)), TOP, along(&x, pow(10, e)), TOP + PLOT_H, "stroke=\"#d8dee4\"");
    label(s, along(&x, pow(10, e)), TOP + PLOT_H + 15, "middle", arena_printf(&c->model, "%g", pow(10, e)));
  }
  for (double e = y.lo; e <= y.hi; e++) {
    line(s, LEFT, along(&y, pow(10, e)), LEFT + PLOT_W, along(&y, pow(10, e)), "stroke=\"#d8dee4\"");
    label(s, LEFT - 8, along(&y, pow(10, e)) + 4, "end", arena_printf(&c->model, "%g", pow(10, e)));
  }
  label(s, LEFT + PLOT_W / 2.0, HEIGHT - 6, "middle", "operations per byte");
  label(s, LEFT + 6, TOP + 12, "start", "GFLOP/s");
  put_roof(c, s, t, &x, &y);
  for (size_t k = 0; k < t->layers.n; k++) {
    const Layer *l = &t->layers.p[k];
    const double share = t->rows[k].ms / t->total;
    if (!l->flops || l->read + l->written <= 0) continue;
    sb_printf(
        s,
        "<a href=\"#k%zu\"><circle class=\"point\" data-kernel=\"k%zu\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"#0969da\" "
        "fill-opacity=\".55\"><title>",
        k, k, along(&x, (double)l->flops / (double)(l->read + l->written)), along(&y, t->rows[k].gflops),
        3 + 14 * sqrt(share > 0 ? share : 0));
    xml_text(s, arena_printf(&c->model, "k%zu: %s, %.1f %% of the run, %.4g GFLOP/s; %s", k, time_text(c, t->rows[k].ms),
                             share * 100, t->rows[k].gflops, layer_nodes(c, l, 4)));
    sb_puts(s, "</title></circle></a>\n");
  }
  sb_puts(s, "</svg>\n");
}

/* ---- memory ---- */
static void put_block(Ctx *c, Sb *s, const Plan *p, int b, const Life *l, double column, double row) {
  static const char *const fills[] = { "#54aeff", "#4ac26b", "#d4a72c", "#ff8182", "#c297ff" };
  const Buf *buf = &p->ir->bufs.p[b];
  const int64_t bytes = buf->elems * dt_bytes(buf->dt);
  sb_printf(s,
            "<rect class=\"block\" data-kernel=\"k%d\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" "
            "stroke=\"#fff\" stroke-width=\".5\"><title>",
            l->first, LEFT + column * l->first, TOP + PLOT_H - row * (double)(buf->offset + bytes),
            fmax(column * (l->last - l->first + 1), 0.5), fmax(row * (double)bytes, 0.5), fills[b % 5]);
  xml_text(s, arena_printf(&c->model, "%s at %lld, k%d to k%d", bytes_text(c, bytes), (long long)buf->offset, l->first, l->last));
  sb_puts(s, "</title></rect>\n");
}

void plot_memory(Ctx *c, const Plan *p, Sb *s) {
  const int64_t arena = p->memory.arena_bytes > 0 ? p->memory.arena_bytes : 1;
  const Life *l = buffer_lives(p);
  const double column = (double)PLOT_W / (double)(p->kernels.n ? p->kernels.n : 1), row = PLOT_H / (double)arena;
  begin(s, "memory", "memory of the arena by kernel");
  for (int i = 0; i <= 4; i++) {
    line(s, LEFT, TOP + PLOT_H * (1 - i / 4.0), LEFT + PLOT_W, TOP + PLOT_H * (1 - i / 4.0), "stroke=\"#d8dee4\"");
    label(s, LEFT - 8, TOP + PLOT_H * (1 - i / 4.0) + 4, "end", bytes_text(c, arena * i / 4));
  }
  const size_t step = p->kernels.n / 12 + 1;
  for (size_t k = 0; k < p->kernels.n; k += step)
    label(s, LEFT + column * ((double)k + 0.5), TOP + PLOT_H + 15, "middle", arena_printf(&c->model, "k%zu", k));
  for (size_t i = 0; i < p->ir->bufs.n; i++)
    if (p->ir->bufs.p[i].kind == BUF_ARENA && l[i].first >= 0) put_block(c, s, p, (int)i, &l[i], column, row);
  if (p->memory.states.n) {
    sb_printf(
        s,
        "<rect class=\"block\" x=\"%d\" y=\"%.2f\" width=\"%d\" height=\"%.2f\" fill=\"#afb8c1\"><title>states</title></rect>\n",
        LEFT, TOP + PLOT_H - row * (double)(p->memory.state_at + p->memory.state_bytes), PLOT_W,
        row * (double)p->memory.state_bytes);
  }
  sb_puts(s, "</svg>\n");
}
