/* SPDX-License-Identifier: MIT */
/* files.c: files of bundles that several backends have in common: of those for CPUs, of those for devices, and of those for
 * programs in JavaScript. */
#include "backends.h"

const FileRow host_files[] = {
  { FILE_TEMPLATE, "net.h.in", "%.h", ANYWHERE },
  { FILE_CODE, NULL, NULL, ANYWHERE },
  { FILE_VARIANTS, NULL, NULL, ANYWHERE },
  { FILE_WEIGHTS, NULL, NULL, ANYWHERE },
  { FILE_COPIED, "tgcrt.h", NULL, ANYWHERE },
  { FILE_COPIED, "tgcrt.c", NULL, ANYWHERE },
  { FILE_COPIED, "tgcrt_pool.c", NULL, HOSTED },
  { FILE_BINDINGS, NULL, NULL, ANYWHERE },
  { FILE_TEMPLATE, "example.c.in", "example.c", ANYWHERE },
  { FILE_TEMPLATE, "check.c.in", "check.c", HOSTED },
  { FILE_TEMPLATE, "LICENSE.0BSD", "LICENSE", ANYWHERE },
  { FILE_TEMPLATE, "Makefile.in", "Makefile", ANYWHERE },
  { FILE_TEMPLATE, "CMakeLists.txt.in", "CMakeLists.txt", ANYWHERE },
  { FILE_TEMPLATE, "Config.cmake.in", "%Config.cmake.in", ANYWHERE },
  { FILE_TEMPLATE, "net.pc.in", "%.pc", HOSTED },
  { FILE_END, NULL, NULL, ANYWHERE },
};

const FileRow device_files[] = {
  { FILE_TEMPLATE, "net.h.in", "%.h", ANYWHERE },
  { FILE_CODE, NULL, NULL, ANYWHERE },
  { FILE_IMAGES, NULL, NULL, ANYWHERE },
  { FILE_TEMPLATE, "device.c.in", "%.c", ANYWHERE },
  { FILE_WEIGHTS, NULL, NULL, ANYWHERE },
  { FILE_COPIED, "tgcrt.h", NULL, ANYWHERE },
  { FILE_COPIED, "tgcrt_device.h", NULL, ANYWHERE },
  { FILE_COPIED, "tgcrt.c", NULL, ANYWHERE },
  { FILE_COPIED, "tgcrt_pool.c", NULL, HOSTED },
  { FILE_COPIED, "tgcrt_session.h", NULL, ANYWHERE },
  { FILE_RUNTIME, NULL, NULL, ANYWHERE },
  { FILE_BINDINGS, NULL, NULL, ANYWHERE },
  { FILE_TEMPLATE, "example.c.in", "example.c", ANYWHERE },
  { FILE_TEMPLATE, "check.c.in", "check.c", HOSTED },
  { FILE_SCRIPT, NULL, NULL, ANYWHERE },
  { FILE_TEMPLATE, "LICENSE.0BSD", "LICENSE", ANYWHERE },
  { FILE_TEMPLATE, "Makefile.in", "Makefile", ANYWHERE },
  { FILE_TEMPLATE, "CMakeLists.txt.in", "CMakeLists.txt", ANYWHERE },
  { FILE_TEMPLATE, "Config.cmake.in", "%Config.cmake.in", ANYWHERE },
  { FILE_TEMPLATE, "net.pc.in", "%.pc", HOSTED },
  { FILE_END, NULL, NULL, ANYWHERE },
};

const FileRow web_files[] = {
  { FILE_CODE, NULL, NULL, ANYWHERE },
  { FILE_WEIGHTS, NULL, NULL, ANYWHERE },
  { FILE_TEMPLATE, "LICENSE.0BSD", "LICENSE", ANYWHERE },
  { FILE_TEMPLATE, "net.mjs.in", "%.mjs", ANYWHERE },
  { FILE_END, NULL, NULL, ANYWHERE },
};
