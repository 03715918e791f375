/* SPDX-License-Identifier: MIT */
/* packages.h: a row for each kind of package. A package is a bundle with the files of another build system instead of a Makefile.
 * A row becomes a struct Package (bundle.h), and a value of --package. The columns of PACKAGE are:
 *   - the value of --package
 *   - true: programs run without an operating system; false: the target decides
 *   - where the weights are if --embed-weights is not given
 *   - which files of Backend.files the package keeps, by the name of the template or of the file. The package also keeps the
 *     header, the licence, and all files without template
 *   - further files: a template, the name of the file made from it, the next template, ...; % stands for the bundle's name
 *   - the user's next step: a command, or an instruction in words; % stands for the bundle's folder */
/* clang-format off */
#ifndef PACKAGE
#define PACKAGE(word, bare, weights, stays, files, next)
#endif
#define FILES(...) { __VA_ARGS__ }
PACKAGE("cmake", false, WEIGHTS_FILE,  "CMakeLists.txt Config.cmake.in example.c.in check.c.in",
        FILES("README.cmake.in", "README.md"), "cmake -S % -B build")
PACKAGE("meson", false, WEIGHTS_FILE,  "example.c.in check.c.in",
        FILES("meson.build.in", "meson.build", "README.meson.in", "README.md"), "meson setup build %")
PACKAGE("bazel", false, WEIGHTS_FILE,  "example.c.in check.c.in",
        FILES("BUILD.bazel.in", "BUILD.bazel", "WORKSPACE.in", "WORKSPACE", "MODULE.bazel.in", "MODULE.bazel", "README.bazel.in", "README.md"),
        "bazel build //... in %")
PACKAGE("arduino", true,  WEIGHTS_ARRAY, "",
        FILES("library.properties.in", "library.properties", "sketch.ino.in", "examples/run_%/run_%.ino", "README.arduino.in", "README.md"),
        "copy % into the folder libraries of your sketches")
PACKAGE("zephyr", true,  WEIGHTS_ARRAY, "",
        FILES("CMakeLists.zephyr.in", "CMakeLists.txt", "Kconfig.in", "Kconfig", "module.yml.in", "zephyr/module.yml", "README.zephyr.in", "README.md"),
        "west build -- -DEXTRA_ZEPHYR_MODULES=%")
PACKAGE("esp-idf", true,  WEIGHTS_ARRAY, "",
        FILES("CMakeLists.esp.in", "CMakeLists.txt", "idf_component.yml.in", "idf_component.yml", "README.esp.in", "README.md"),
        "copy % into the folder components of your project")
PACKAGE("platformio", true,  WEIGHTS_ARRAY, "",
        FILES("library.json.in", "library.json", "README.platformio.in", "README.md"), "copy % into the folder lib of your project")
PACKAGE("android", false, WEIGHTS_INCBIN, "CMakeLists.txt Config.cmake.in example.c.in check.c.in",
        FILES("build.gradle.in", "build.gradle", "AndroidManifest.xml.in", "src/main/AndroidManifest.xml", "README.android.in", "README.md"),
        "include ':%' in settings.gradle")
#undef FILES
#undef PACKAGE
/* clang-format on */
