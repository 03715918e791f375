/* SPDX-License-Identifier: MIT */
/* convert.c: --convert NAME=FORM,WORD,KEY=VALUE,...: tables of forms, words and keys, their parser, and the forms that keep
 * shapes. A form becomes a graph of its own, which compose.c joins to the model. */
#include "convert.h"
#include "names.h"
#include <math.h>

/* Groups of words and keys; a form says which it takes. */
enum { LAY = 1, ORD = 2, COL = 4, SAM = 8, PAK = 16, NRM = 32, MOD = 64, AXS = 128, TOP = 256, MSK = 512, QNT = 1024,
       RND = 2048 };

static ConvertFn plain_in;
enum { PIXELS = LAY | ORD | SAM | NRM | MOD | RND, YUV = COL | SAM | PAK | NRM | MOD | RND };

/* clang-format off */
static const Form inputs[] = {
  { "u8",    DT_U8,  0,   1,     PIXELS, picture_in, PLANES_NONE, 0, 0, 0 },
  { "i8",    DT_I8,  0,   1,     PIXELS, picture_in, PLANES_NONE, 0, 0, 0 },
  { "u16",   DT_U16, 0,   1,     PIXELS, picture_in, PLANES_NONE, 0, 0, 0 },
  { "i16",   DT_I16, 0,   1,     PIXELS, picture_in, PLANES_NONE, 0, 0, 0 },
  { "pcm16", DT_I16, 0,   32768, 0,      plain_in,   PLANES_NONE, 0, 0, 0 },
  { "pcm8",  DT_U8,  128, 128,   0,      plain_in,   PLANES_NONE, 0, 0, 0 },
  { "nv12",  DT_U8,  0,   1,     YUV,    picture_yuv_in, PLANES_TWO,    0, 1, 0 },
  { "nv21",  DT_U8,  0,   1,     YUV,    picture_yuv_in, PLANES_TWO,    1, 0, 0 },
  { "i420",  DT_U8,  0,   1,     YUV,    picture_yuv_in, PLANES_THREE,  0, 1, 0 },
  { "yuyv",  DT_U8,  0,   1,     YUV,    picture_yuv_in, PLANES_PACKED, 1, 3, 0 },
  { "uyvy",  DT_U8,  0,   1,     YUV,    picture_yuv_in, PLANES_PACKED, 0, 2, 1 },
  { NULL,    DT_NONE, 0,  0,     0,      NULL,       PLANES_NONE, 0, 0, 0 }
};
static const Form outputs[] = {
  { "argmax", DT_I32, 0, 1, AXS,             answer_argmax, PLANES_NONE, 0, 0, 0 },
  { "topk",   DT_I32, 0, 1, AXS | TOP,       answer_topk,   PLANES_NONE, 0, 0, 0 },
  { "mask",   DT_U8,  0, 1, MSK,             answer_mask,   PLANES_NONE, 0, 0, 0 },
  { "f32",    DT_F32, 0, 1, QNT,             answer_float,  PLANES_NONE, 0, 0, 0 },
  { "u8",     DT_U8,  0, 1, LAY | NRM | MOD, picture_out,   PLANES_NONE, 0, 0, 0 },
  { "i8",     DT_I8,  0, 1, LAY | NRM | MOD, picture_out,   PLANES_NONE, 0, 0, 0 },
  { "i16",    DT_I16, 0, 1, LAY | NRM | MOD, picture_out,   PLANES_NONE, 0, 0, 0 },
  { NULL,     DT_NONE, 0, 0, 0,              NULL,          PLANES_NONE, 0, 0, 0 }
};

static const struct Word { const char *name; size_t field; int value, group; } words[] = {
  { "nhwc",      offsetof(Spec, layout),   LAYOUT_NHWC,   LAY }, { "nchw",  offsetof(Spec, layout),   LAYOUT_NCHW,   LAY },
  { "rgb",       offsetof(Spec, order),    ORDER_RGB,     ORD }, { "bgr",   offsetof(Spec, order),    ORDER_BGR,     ORD },
  { "rgba",      offsetof(Spec, order),    ORDER_RGBA,    ORD }, { "bgra",  offsetof(Spec, order),    ORDER_BGRA,    ORD },
  { "gray",      offsetof(Spec, order),    ORDER_GRAY,    ORD },
  { "bt601",     offsetof(Spec, matrix),   MATRIX_601,    COL }, { "bt709", offsetof(Spec, matrix),   MATRIX_709,    COL },
  { "limited",   offsetof(Spec, range),    RANGE_LIMITED, COL }, { "full",  offsetof(Spec, range),    RANGE_FULL,    COL },
  { "bilinear",  offsetof(Spec, sampling), SAMPLE_BILINEAR, SAM }, { "area", offsetof(Spec, sampling), SAMPLE_AREA,  SAM },
  { "letterbox", offsetof(Spec, sampling), SAMPLE_LETTERBOX, SAM }, { "crop", offsetof(Spec, sampling), SAMPLE_CROP, SAM },
  { "warp",      offsetof(Spec, sampling), SAMPLE_WARP,   SAM }, { "replicate", offsetof(Spec, replicate), 1,        SAM },
  { "round",     offsetof(Spec, round),    1,             RND }, { "yuv6",  offsetof(Spec, yuv6),     1,             PAK },
  { "model-nhwc", offsetof(Spec, model_nhwc), 1,          MOD }, { "model-bgr", offsetof(Spec, model_bgr), 1,        MOD },
};
static const struct Key { const char *name; size_t field; int most, group; } keys[] = {
  { "mean", offsetof(Spec, mean), NUMBERS_MOST, NRM }, { "std", offsetof(Spec, std), NUMBERS_MOST, NRM },
  { "size", offsetof(Spec, size), 2, SAM },            { "fill", offsetof(Spec, fill), 1, SAM },
  { "axis", offsetof(Spec, axis), 1, AXS },            { "k", offsetof(Spec, k), 1, TOP },
  { "threshold", offsetof(Spec, threshold), 1, MSK },  { "high", offsetof(Spec, high), 1, MSK },
  { "scale", offsetof(Spec, scale), 1, QNT },          { "zero", offsetof(Spec, zero), 1, QNT },
};
/* clang-format on */
enum { WORDS = sizeof words / sizeof *words, KEYS = sizeof keys / sizeof *keys };

/* ---- parsing ---- */
static const char *known_words(const Spec *s, const char *wrong) {
  Names names = { 0 };
  for (int i = 0; i < WORDS; i++)
    if (s->form->groups & words[i].group) names_add(s->c, &names, words[i].name);
  for (int i = 0; i < KEYS; i++)
    if (s->form->groups & keys[i].group) names_add(s->c, &names, arena_printf(&s->c->model, "%s=", keys[i].name));
  Sb all = { 0 };
  for (size_t i = 0; i < names.p.n; i++) sb_printf(&all, "%s %s", i ? "," : "", names.p.p[i]);
  if (!names.p.n) sb_puts(&all, " none");
  const char *text = arena_printf(&s->c->model, "%s%s", sb_keep(&all, &s->c->model), names_near(s->c, &names, wrong));
  VEC_FREE(&names.p);
  return text;
}

static void set_word(Spec *s, const struct Word *w) {
  int *field = (int *)(void *)((char *)s + w->field);
  if (*field) refuse(s, "'%s' is given twice, or with another word of its kind", w->name);
  *field = w->value;
}

static void set_key(Spec *s, const struct Key *k, const char *value) {
  Numbers *to = (Numbers *)(void *)((char *)s + k->field);
  const char *between = k->field == offsetof(Spec, size) ? "x" : ":";
  if (to->n) refuse(s, "'%s' is given twice", k->name);
  for (const char *at = value;; at++) {
    const size_t n = strcspn(at, between);
    int64_t bits;
    if (to->n == k->most) refuse(s, "%s has more than %d values", k->name, k->most);
    if (!n || literal_parse(DT_F64, at, n, &bits)) refuse(s, "%s needs numbers, not '%s'", k->name, value);
    to->v[to->n++] = bits_to_double(DT_F64, bits);
    if (!isfinite(to->v[to->n - 1])) refuse(s, "%s needs finite numbers, not '%s'", k->name, value);
    at += n;
    if (!*at) return;
  }
}

static void parse_item(Spec *s, const char *item) {
  const char *eq = strchr(item, '=');
  const size_t n = eq ? (size_t)(eq - item) : strlen(item);
  for (int i = 0; i < WORDS; i++)
    if (!eq && !strcmp(words[i].name, item) && s->form->groups & words[i].group) {
      set_word(s, &words[i]);
      return;
    }
  for (int i = 0; i < KEYS; i++)
    if (eq && strlen(keys[i].name) == n && !memcmp(keys[i].name, item, n) && s->form->groups & keys[i].group) {
      set_key(s, &keys[i], eq + 1);
      return;
    }
  refuse(s, "the form %s takes no '%s'; it takes%s", s->form->name, item, known_words(s, item));
}

static const Form *find_form(Ctx *c, const Form *table, const char *name, const char *kind, const char *what) {
  Names names = { 0 };
  for (const Form *f = table; f->name; f++) {
    if (!strcmp(f->name, name)) return f;
    names_add(c, &names, f->name);
  }
  refuse_at(c, what, "there is no form '%s' of an %s; there are%s%s", name, kind, names_text(c, &names),
            names_near(c, &names, name));
}

static Spec parse(Ctx *c, const Form *table, const char *kind, const char *text, const char *what) {
  Spec s = { .c = c, .what = what };
  for (const char *at = text; *at || !s.form; at += *at == ',') {
    const size_t n = strcspn(at, ",");
    const char *item = arena_str(&c->model, at, n);
    if (!s.form) s.form = find_form(c, table, item, kind, what);
    else parse_item(&s, item);
    at += n;
  }
  for (int i = 0; i < s.std.n; i++)
    if (s.std.v[i] == 0) refuse(&s, "std is 0");
  return s;
}

/* Elements of another type, in the shape of the model's input */
static Ref plain_in(const Spec *s, Graph *g, const GIO *v) {
  GIO io = *v;
  io.dt = s->form->dt;
  const Ref x = graph_input(g, &io, v->name);
  return rounded_to(g->ir, normalised(s, g->ir, g_cast(g->ir, x, DT_F32), -1), v->dt);
}

/* ---- the graphs ---- */
static void check_value(const Spec *s, const GIO *v) {
  if (v->narrow || v->dt == DT_BOOL) refuse(s, "'%s' is %s, which has no other forms", v->name, graph_type(s->c, v));
}

Graph *convert_input(Ctx *c, const GIO *input, const char *spec, const char *what) {
  const Spec s = parse(c, inputs, "input", spec, what);
  check_value(&s, input);
  if (s.round && !s.sampling && (!s.form->planes || s.yuv6)) refuse(&s, "round has no effect: the values are whole numbers");
  if (s.model_bgr && !s.order && (!s.form->planes || s.yuv6))
    refuse(&s, "model-bgr has no effect without rgb, bgr, rgba or bgra");
  Graph *g = graph_new(c, "");
  g->ir->building = (Pos){ .node = what };
  Ref r = (s.layout || s.order || s.sampling || s.size.n || s.form->planes ? s.form->build : plain_in)(&s, g, input);
  graph_output(g, r, input->name);
  g->ir->building = (Pos){ 0 };
  return g;
}

Graph *convert_output(Ctx *c, const GIO *output, const char *spec, const char *what) {
  const Spec s = parse(c, outputs, "output", spec, what);
  check_value(&s, output);
  Graph *g = graph_new(c, "");
  g->ir->building = (Pos){ .node = what };
  const Ref r = s.form->build(&s, g, output);
  if (r) graph_output(g, r, output->name);
  g->ir->building = (Pos){ 0 };
  return g;
}
