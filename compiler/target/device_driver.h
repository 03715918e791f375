/* SPDX-License-Identifier: MIT */
/* device_driver.h: functions of the runtime (runtime_stub) that bundles use. tgc itself calls these functions to use a device's
 * driver. The first call opens the driver's library in the calling process. A driver may crash, and does not survive a fork. So
 * only a child process may call these functions, and this process must not start further processes. */
#ifndef TGC_DEVICE_DRIVER_H
#define TGC_DEVICE_DRIVER_H
#include "../../runtime_stub/tgcrt_device.h"

typedef struct DeviceDriver { /* tgcrt_device.h describes each function */
  int (*open)(const tgcrt_net *net, const tgcrt_device *wanted, tgcrt_device *open);
  int (*describe)(const tgcrt_device *open, tgcrt_device_facts *facts);
  int (*init)(const tgcrt_net *net, const tgcrt_device *open, void *m, const void *weights);
  int (*state_put)(const tgcrt_net *net, void *m, size_t k, const void *value);
  int (*state_get)(const tgcrt_net *net, void *m, size_t k, void *value);
  int (*profile_part)(const tgcrt_net *net, void *m, size_t first, size_t n, uint64_t *nanoseconds);
} DeviceDriver;
#endif
