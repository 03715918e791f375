/* SPDX-License-Identifier: MIT */
/* layers.c: the kernels of a model as reports list them: what they compute, from which nodes, by which schedule. They come from a
 * plan, or from the manifest of a bundle that was made before. */
#include "../cmd.h"
#include "../../compiler/lower/lower.h"
#include <string.h>

Layers layers_of_plan(const Plan *p) {
  Ctx *c = p->ir->ctx;
  const KernelOrigins *from = kernel_origins(p);
  Layers l = { .n = p->kernels.n, .p = ARENA_NEW(&c->model, Layer, p->kernels.n + 1) };
  for (size_t k = 0; k < l.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    const char **nodes = ARENA_NEW(&c->model, const char *, (size_t)from[k].n + 1);
    for (int i = 0; i < from[k].n; i++) nodes[i] = p->ir->origins.p[from[k].origin[i]].text;
    Launches launches = { 0 };
    if (p->in->target->dev) kernel_launches(p, x, &launches);
    l.p[k] = (Layer){ .flops = x->flops,
                      .read = x->bytes_read,
                      .written = x->bytes_written,
                      .schedule = x->schedule ? x->schedule + (*x->schedule == ' ') : "",
                      .nodes = nodes,
                      .nnodes = (size_t)from[k].n,
                      .launches = launches.n };
    launches_free(&launches);
  }
  return l;
}

static const char *kept(Ctx *c, const json_t *text) {
  const char *s = json_string_value(text);
  return s ? arena_str(&c->model, s, strlen(s)) : "";
}

Layers layers_of_manifest(Ctx *c, const json_t *manifest) {
  const json_t *kernels = json_object_get(manifest, "kernels"), *k;
  Layers l = { .n = json_array_size(kernels) };
  size_t i;
  l.p = ARENA_NEW(&c->model, Layer, l.n + 1);
  json_array_foreach(kernels, i, k) {
    const json_t *nodes = json_object_get(k, "nodes");
    Layer *x = &l.p[i];
    *x = (Layer){ .flops = json_integer_value(json_object_get(k, "flops")),
                  .read = json_integer_value(json_object_get(k, "bytes_read")),
                  .written = json_integer_value(json_object_get(k, "bytes_written")),
                  .schedule = kept(c, json_object_get(k, "schedule")),
                  .nnodes = json_array_size(nodes),
                  .launches = json_array_size(json_object_get(k, "launches")) };
    const char **texts = ARENA_NEW(&c->model, const char *, x->nnodes + 1);
    for (size_t j = 0; j < x->nnodes; j++) texts[j] = kept(c, json_array_get(nodes, j));
    x->nodes = texts;
    l.loops |= json_object_get(k, "trips") != NULL;
  }
  return l;
}

/* first and last kernel that accesses each buffer */
Life *buffer_lives(const Plan *p) {
  Life *l = ARENA_NEW(&p->ir->ctx->model, Life, p->ir->bufs.n + 1);
  for (size_t i = 0; i < p->ir->bufs.n; i++) l[i] = (Life){ -1, -1 };
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t i = 0; i < p->kernels.p[k].bufs.n; i++) {
      Life *x = &l[p->kernels.p[k].bufs.p[i]];
      if (x->first < 0) x->first = (int)k;
      x->last = (int)k;
    }
  return l;
}

/* Opsets are left out, as lines are short. */
const char *layer_nodes(Ctx *c, const Layer *l, size_t most) {
  Sb s = { 0 };
  for (size_t j = 0; j < l->nnodes && j < most; j++) {
    const char *text = l->nodes[j], *opset = strstr(text, ", opset ");
    const size_t n = opset ? (size_t)(opset - text) : strlen(text);
    sb_printf(&s, "%s%.*s%s", j ? "; " : "", (int)n, text, opset ? ")" : "");
  }
  if (l->nnodes > most) sb_printf(&s, "; and %zu more", l->nnodes - most);
  return s.n ? sb_keep(&s, &c->model) : "";
}

json_t *layer_nodes_json(const Layer *l) {
  json_t *j = json_array();
  for (size_t i = 0; i < l->nnodes; i++) json_array_append_new(j, json_text(l->nodes[i]));
  return j;
}
