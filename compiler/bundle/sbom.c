/* SPDX-License-Identifier: MIT */
/* sbom.c: the file sbom.cdx.json of a bundle: its parts and where they come from, as CycloneDX lists them. It names the model
 * with its digest, the version of tgc, and each file with digest and licence. It has no date, since equal commands give equal
 * bytes.
 *
 * needs: all files but the manifest    gives: one more file    breaks: nothing */
#include "bundle.h"
#include <stdlib.h>
#include <string.h>

static json_t *hashes(const char *sha256) { return json_pack("[{s:s, s:s}]", "alg", "SHA-256", "content", sha256); }

/* The model's file, or one that it refers to */
static json_t *source(Ctx *c, size_t i, const char *name) {
  const SourceFile *f = &c->sources.p[i];
  return json_pack("{s:s, s:o, s:o, s:o}", "type", f->location ? "data" : "machine-learning-model", "bom-ref",
                   json_sprintf("source-%zu", i), "name", json_text(f->location ? f->location : name), "hashes",
                   hashes(source_sha256(c, i)));
}

/* Files with weights have the licence of the model, which tgc does not know. */
static bool is_ours(const char *file, const char *net) {
  const size_t n = strlen(net);
  return strncmp(file, net, n) || (strncmp(file + n, "_weights", 8) && strncmp(file + n, "_check", 6) && strcmp(file + n, ".o"));
}

static json_t *file(const BundleFile *f, const char *net) {
  json_t *j = json_pack("{s:s, s:o, s:s, s:o}", "type", "file", "bom-ref", json_sprintf("file-%s", f->name), "name", f->name,
                        "hashes", hashes(f->sha256));
  if (is_ours(f->name, net)) json_object_set_new(j, "licenses", json_pack("[{s:{s:s}}]", "license", "id", "0BSD"));
  return j;
}

/* The same bytes have the same number: it is made of their digest, as RFC 9562 has it for version 8. */
static json_t *serial(const Bundle *b) {
  Sb all = { 0 };
  char d[65];
  for (size_t i = 0; i < b->files.n; i++) sb_puts(&all, b->files.p[i].sha256);
  sha256_hex(all.p, all.n, d);
  sb_free(&all);
  d[12] = '8';
  d[16] = 'a';
  return json_sprintf("urn:uuid:%.8s-%.4s-%.4s-%.4s-%.12s", d, d + 8, d + 12, d + 16, d + 20);
}

void bundle_sbom(const Rendering *r, Bundle *b) {
  Ctx *c = r->p->ir->ctx;
  json_t *parts = json_array(), *refs = json_array();
  char digest[65];
  for (size_t i = 0; i < c->sources.n; i++) json_array_append_new(parts, source(c, i, r->p->g->name));
  for (size_t i = 0; i < b->files.n; i++) {
    BundleFile *f = &b->files.p[i];
    if (!f->sha256) sha256_hex(f->p, f->n, digest), f->sha256 = arena_str(&c->model, digest, 64);
    json_array_append_new(parts, file(f, r->o->name));
  }
  for (size_t i = 0; i < json_array_size(parts); i++)
    json_array_append(refs, json_object_get(json_array_get(parts, i), "bom-ref"));
  json_t *j = json_pack("{s:s, s:s, s:s, s:o, s:i, s:{s:{s:[{s:s, s:s, s:s}]}, s:{s:s, s:s, s:s, s:s}}, s:o, s:[{s:s, s:o}]}",
                        "$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat", "CycloneDX", "specVersion",
                        "1.6", "serialNumber", serial(b), "version", 1, "metadata", "tools", "components", "type", "application",
                        "name", "tgc", "version", TGC_VERSION, "component", "type", "library", "bom-ref", "bundle", "name",
                        r->o->name, "version", r->interface, "components", parts, "dependencies", "ref", "bundle", "dependsOn",
                        refs);
  char *text = json_dumps(j, JSON_INDENT(1) | JSON_SORT_KEYS);
  json_decref(j);
  const size_t n = strlen(text);
  VEC_PUSH(&b->files, ((BundleFile){ .name = "sbom.cdx.json", .p = arena_dup(&c->model, text, n), .n = n }));
  free(text);
}
