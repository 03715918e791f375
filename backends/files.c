/* files.c: files of bundles that several backends have in common: of those for CPUs, of those for devices, and of those for
 * programs in JavaScript. */
#include "backends.h"

const FileRow host_files[] = {
  { FILE_TEMPLATE, "net.h.in", "%.h" },
  { FILE_CODE, NULL, NULL },
  { FILE_VARIANTS, NULL, NULL },
  { FILE_WEIGHTS, NULL, NULL },
  { FILE_COPIED, "tgcrt.h", NULL },
  { FILE_COPIED, "tgcrt.c", NULL },
  { FILE_COPIED, "tgcrt_pool.c", NULL },
  { FILE_BINDINGS, NULL, NULL },
  { FILE_TEMPLATE, "main.c.in", "main.c" },
  { FILE_TEMPLATE, "Makefile.in", "Makefile" },
  { FILE_TEMPLATE, "CMakeLists.txt.in", "CMakeLists.txt" },
  { FILE_TEMPLATE, "net.pc.in", "%.pc" },
  { FILE_END, NULL, NULL },
};

const FileRow device_files[] = {
  { FILE_TEMPLATE, "net.h.in", "%.h" },
  { FILE_CODE, NULL, NULL },
  { FILE_IMAGES, NULL, NULL },
  { FILE_TEMPLATE, "device.c.in", "%.c" },
  { FILE_WEIGHTS, NULL, NULL },
  { FILE_COPIED, "tgcrt.h", NULL },
  { FILE_COPIED, "tgcrt_device.h", NULL },
  { FILE_COPIED, "tgcrt.c", NULL },
  { FILE_COPIED, "tgcrt_pool.c", NULL },
  { FILE_COPIED, "tgcrt_session.h", NULL },
  { FILE_RUNTIME, NULL, NULL },
  { FILE_BINDINGS, NULL, NULL },
  { FILE_TEMPLATE, "main.c.in", "main.c" },
  { FILE_SCRIPT, NULL, NULL },
  { FILE_TEMPLATE, "Makefile.in", "Makefile" },
  { FILE_TEMPLATE, "CMakeLists.txt.in", "CMakeLists.txt" },
  { FILE_TEMPLATE, "net.pc.in", "%.pc" },
  { FILE_END, NULL, NULL },
};

const FileRow web_files[] = {
  { FILE_CODE, NULL, NULL },
  { FILE_WEIGHTS, NULL, NULL },
  { FILE_TEMPLATE, "net.mjs.in", "%.mjs" },
  { FILE_END, NULL, NULL },
};
