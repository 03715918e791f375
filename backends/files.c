/* files.c: files of bundles that several backends have in common. */
#include "backends.h"

const FileRow host_files[] = {
  { FILE_TEMPLATE, "net.h.in", "%.h" },
  { FILE_CODE, NULL, NULL },
  { FILE_VARIANTS, NULL, NULL },
  { FILE_WEIGHTS, NULL, NULL },
  { FILE_COPIED, "tgcrt.h", NULL },
  { FILE_COPIED, "tgcrt.c", NULL },
  { FILE_COPIED, "tgcrt_pool.c", NULL },
  { FILE_TEMPLATE, "main.c.in", "main.c" },
  { FILE_TEMPLATE, "Makefile.in", "Makefile" },
  { FILE_TEMPLATE, "CMakeLists.txt.in", "CMakeLists.txt" },
  { FILE_TEMPLATE, "net.pc.in", "%.pc" },
  { FILE_END, NULL, NULL },
};
