# SPDX-License-Identifier: MIT
# tgc: settings first, then what to build, then what to check.
CC       ?= cc
BUILD    ?= build
PREFIX   ?= /usr/local
LIBDIR   ?= $(PREFIX)/lib
DESTDIR  ?=
OPT      ?= -O2 -g
PIC      := -fPIC -fno-semantic-interposition# the objects of the program are those of libtgc.so
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wimplicit-fallthrough
CSTD     := -std=c11 -D_GNU_SOURCE -ffp-contract=off -fno-strict-aliasing
PKGS     := libprotobuf-c jansson nettle zlib sqlite3
CFLAGS   += $(OPT) $(PIC) $(CSTD) $(WARN) $(SANFLAGS) $(shell pkg-config --cflags $(PKGS) 2>/dev/null) -I$(BUILD)/gen
LLVM_CONFIG ?= llvm-config-19
LLVM     := $(shell $(LLVM_CONFIG) --includedir 2>/dev/null)# headers only: the library is opened when it is needed
CFLAGS   += $(if $(LLVM),-DTGC_LLVM -I$(LLVM))
LDLIBS   += $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm -pthread
SAN      := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -DTGC_CHECK_ARGS
ONNX_PROTO ?= third_party/onnx/onnx.proto
VERSION  := $(shell sed -n 's/.*define TGC_VERSION "\(.*\)"/\1/p' compiler/support/support.h)
PYTHON   ?= python3
TESTS    ?=# words of which a test's path must contain one; empty: all
BENCH    ?=# the same for the models of bench

SRC := $(wildcard compiler/*.c compiler/*/*.c frontends/*.c frontends/*/*.c frontends/*/*/*.c backends/*.c runtime_stub/*.c)
CMD := $(wildcard cmd/*.c cmd/verbs/*.c cmd/lib/*.c libtgc/*.c)
OBJ := $(SRC:%.c=$(BUILD)/%.o)
LIB := $(BUILD)/libtgc.a
EMBED := $(sort $(wildcard runtime_stub/* cmd/probe/* cmd/page/*))
GEN := $(BUILD)/gen/onnx.pb-c.o $(BUILD)/gen/templates.o
UNIT := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/unit/*.c) tests/bad/load.c $(wildcard tests/device-programs/*.c))

# ---- build ----
all: $(BUILD)/tgc

$(BUILD)/tgc: $(CMD:%.c=$(BUILD)/%.o) $(LIB)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIB): $(OBJ) $(GEN)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/%.o: %.c | $(BUILD)/gen/onnx.pb-c.c $(BUILD)/gen/accessors.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

# libtgc as it is installed. The archive above has only the compiler, for the tests.
ABI := 1# TGC_ABI
, := ,
SHARED := $(BUILD)/libtgc.so.$(ABI)
WHOLE := $(if $(SANFLAGS),,-Wl$(,)-z$(,)defs)# a program has the functions of sanitizers
CLIENT := $(patsubst %.c,$(BUILD)/%.o,$(wildcard libtgc/*.c cmd/lib/*.c))
$(SHARED): $(CLIENT) $(LIB) libtgc/exports.map
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=libtgc/exports.map $(WHOLE) -o $@ $(CLIENT) $(LIB) $(LDLIBS)
$(BUILD)/static/libtgc.a: $(CLIENT) $(OBJ) $(GEN)
	@mkdir -p $(@D) && rm -f $@
	ar rcs $@ $^
lib: $(SHARED) $(BUILD)/static/libtgc.a

# what was built without LLVM, or with the headers of another one, is built again
$(BUILD)/backends/llvm_build.o: $(BUILD)/llvm
$(BUILD)/llvm: again
	@mkdir -p $(@D)
	@echo '$(LLVM)' | cmp -s - $@ || echo '$(LLVM)' > $@
again: ;

# a header that an earlier build has seen and that is gone now: what included it is compiled again
%.h: ;

# the reader's code comes from onnx.proto of ONNX; its warnings are not ours
$(BUILD)/gen/onnx.pb-c.c: $(ONNX_PROTO)
	@mkdir -p $(@D)
	protoc-c --c_out=$(@D) -I$(dir $<) $<
$(BUILD)/gen/onnx.pb-c.o: $(BUILD)/gen/onnx.pb-c.c
	$(CC) $(OPT) $(PIC) $(SANFLAGS) -I$(BUILD)/gen -w -c -o $@ $<

# the arguments of nodes by name
$(BUILD)/gen/accessors.h: tools/accessors.sh compiler/ir/ops.h
	@mkdir -p $(@D)
	tools/accessors.sh compiler/ir/ops.h > $@

# what goes into bundles, and what bench runs beside them, is part of the program
$(BUILD)/gen/templates.c: tools/embed.sh $(EMBED)
	@mkdir -p $(@D)
	tools/embed.sh $(EMBED) > $@
$(BUILD)/gen/templates.o: $(BUILD)/gen/templates.c compiler/support/support.h
	$(CC) $(CFLAGS) -I. -c -o $@ $<

# models in this process: their code asks the program for the runtime's functions
CASES := $(BUILD)/tests/sweep/sweep $(BUILD)/tests/fuzz/cases $(BUILD)/tests/opencl/opencl $(BUILD)/tests/metal/vectors
$(CASES): $(BUILD)/%: %.c $(BUILD)/tests/case/case.o $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -MP -rdynamic -o $@ $< $(BUILD)/tests/case/case.o $(LIB) $(LDFLAGS) $(LDLIBS)

# the compiler of the tests, which compiles equal sources once
TESTS_CC := $(BUILD)/tests/cc/cc
$(TESTS_CC): tests/cc/cc.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -MP -o $@ $< $(LDFLAGS) $(shell pkg-config --libs nettle)

$(BUILD)/tests/%: tests/%.c $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -MP -o $@ $< $(LIB) $(LDFLAGS) $(LDLIBS) -lcmocka

# Packages are installed before a make of its own builds, because flags are asked of pkg-config;
# on all processors, unless -j says how many.
AGAIN = +@$(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# ---- demo: the example network, from ONNX to an answer ----
DEMO := $(BUILD)/demo
demo: deps
	$(AGAIN) run-demo
run-demo: all
	@mkdir -p $(DEMO)
	$(BUILD)/tgc compile examples/digits/digits.onnx -o $(DEMO)/net --name digits --embed-weights --bindings=cpp
	@$(MAKE) --no-print-directory -C examples/digits NET="$(abspath $(DEMO))/net" OUT="$(abspath $(DEMO))" "$(abspath $(DEMO))/demo"
	$(DEMO)/demo examples/digits/samples/3.pgm

# ---- check ----
deps:
	@tools/deps.sh build
deps-check:
	@tools/deps.sh build check

check: deps-check
	$(AGAIN) depcheck run-tests
run-tests: all lib $(UNIT) $(CASES) $(TESTS_CC)
	@BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(PYTHON) tests/run $(TESTS)

# what users do, each from an empty folder to numbers: minutes
paths: deps-check
	@tools/deps.sh paths windows
	$(AGAIN) run-paths
run-paths: all lib
	@PATHS=all BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(PYTHON) tests/run $(TESTS)

# every model by each compiler: minutes
models: all
	@TGC_COMPILERS="$${TGC_COMPILERS:-gcc clang}" BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" tests/models/run | grep -v '^ok'

# layers and models with an open batch, sequence or both, for ranges of sizes: every size through a real bundle, and random graphs in
# the program interpreter: an hour; SIZES=WORD: only bundles that have the word in their name
sizes: all $(BUILD)/tests/unit/sizes
	@$(if $(SIZES),,SIZES_SEED=1000 SIZES_GRAPHS=2000 $(BUILD)/tests/unit/sizes)
	@SIZES=$(or $(SIZES),all) BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(PYTHON) tests/sizes/run
# models with open dimensions at ten sizes of ranges, beside ONNX Runtime; SIZES=WORD: only those with the word in their name
sizes-ort: all
	@TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(PYTHON) tests/sizes/reference.py $(SIZES)
# a bundle for ranges beside bundles for single sizes: minutes; ISA=x86-64-v3 for another machine than this one, BENCH=ffns,encoders
# for some of the tables; bert_base, gpt2_decode (half an hour, 2 GB) and bilstm only if they are named, with TGC_PYTHON
bench-sizes: all
	@TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(PYTHON) tests/sizes/bench.py $(or $(ISA),native) 31 1,2 $(BENCH)
# bundles for ranges beside ONNX Runtime, with sizes drawn at random; BENCH='tinybert bilstm' for some models
bench-sizes-ort: all
	@TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(or $(TGC_PYTHON),$(PYTHON)) tests/sizes/random_sizes.py 20 $(BENCH)

# every official test of an operator through a real bundle: minutes
nodes: all
	@NODES=all BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" tests/nodes/run | grep -v '^ok'

# every official test of an operator and every model from bundles for OpenCL on PoCL, and models under Oclgrind: an hour
opencl: deps-check
	$(AGAIN) run-opencl
run-opencl: all
	@OPENCL=all BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(PYTHON) tests/devices/run
	@OPENCL=all BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(PYTHON) tests/device-tune/run
	@OPENCL=all BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(PYTHON) tests/tune-job/run

# kernels for CUDA of every model and of every official test of an operator, by NVRTC and ptxas: half an hour
cuda: deps-check
	$(AGAIN) run-cuda
run-cuda: all
	@CUDA=all BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(PYTHON) tests/cuda/run
	@CUDA=all BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(PYTHON) tests/cuda-tune/run

# every model on the machines that QEMU plays: half an hour
cross: deps-check
	@tools/deps.sh cross
	$(AGAIN) run-cross
run-cross: all
	@CROSS=all BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" tests/cross/run

# every model through LLVM, for this machine and for others
llvm: deps-check
	@tools/deps.sh llvm cross
	$(AGAIN) run-llvm
run-llvm: all
	@LLVM=all BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" tests/llvm/run

# a folder of less than 64 MiB for a machine with a GPU of NVIDIA and no network, and what it runs there
gpu-kit: all
	@TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" PYTHON="$(PYTHON)" tools/gpu/kit.sh $(BUILD)/gpu-kit $(TESTS)
gpu-check: all
	@TGC="$(abspath $(BUILD))/tgc" tools/gpu/check.sh $(BUILD)/gpu-kit
gpu-bench: all
	@TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(PYTHON) tools/gpu/bench.py $(BENCH)

# instructions, code and memory of int8 micro-kws on microcontrollers that QEMU plays: seconds
icount: deps-check
	@tools/deps.sh cross
	$(AGAIN) run-icount
run-icount: all
	@TGC="$(abspath $(BUILD))/tgc" $(PYTHON) tests/bench/icount.py $(ICOUNT)

# packages of --package by CMake, Meson, Bazel and the AVR core of Arduino, and in stubs of the others: a minute
packages: deps-check
	@tools/deps.sh packages
	$(AGAIN) run-packages
run-packages: all
	@PACKAGES=all BAZEL=bazel BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" tests/packages/run

# portable bundles of all models for Windows, by clang and Wine: minutes
windows: deps-check
	@tools/deps.sh windows
	$(AGAIN) run-windows
run-windows: all
	@WINDOWS=all BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" tests/windows/run

# deviations of the runtime and of generated code from MISRA C:2012, beside the table of docs/misra.md: minutes
misra: deps-check
	$(AGAIN) run-misra
run-misra: all
	@MISRA=all TGC="$(abspath $(BUILD))/tgc" $(PYTHON) tests/misra/run

# what compilers say of the C of every model for every machine, which is nothing: hours
quiet: all
	@QUIET=all BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" tests/quiet/run | grep -v '^ok'

# the tuner killed 500 times: half an hour beside other work
kills: all
	@TUNE_KILLS=500 TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" tests/tune/run U02

# the errors of tgc's own functions on all 2^32 floats: minutes
ulp: all
	@STEP=1 BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" tests/ulp/run

# everything again under AddressSanitizer and UBSan: the compiler here, the generated C through TGC_CFLAGS
san: deps-check
	$(AGAIN) BUILD=$(BUILD)/san OPT="-O1 -g" SANFLAGS="$(SAN)" \
	  TGC_CFLAGS="$(SAN)" ASAN_OPTIONS=detect_leaks=0 run-tests
export TGC_CFLAGS ASAN_OPTIONS

# N windows of convolutions and pools on four machines, from SEED on
sweep: N ?= 20000
sweep: SEED ?= 1
sweep: all $(CASES)
	@SWEEP=$(N) SEED=$(SEED) BUILD="$(abspath $(BUILD))" CC="$(CC)" $(PYTHON) tests/sweep/run

# GRAPHS random graphs and MUTANTS of the official tests in one process; GRAPHS random graphs as programs of threads in the
# interpreter, and a tenth of them from bundles for OpenCL; broken models, and random graphs in further ways, for
# SECONDS each; from SEED on; beside ONNX Runtime where PYTHON has it
fuzz: GRAPHS ?= 1000
fuzz: MUTANTS ?= 2000
fuzz: SECONDS ?= 60
fuzz: SEED ?= 0
fuzz: all $(CASES) $(BUILD)/tests/device-programs/models
	@BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" PYTHON="$(PYTHON)" tests/fuzz/all.sh \
	  $(BUILD)/fuzz $(SEED) $(GRAPHS) $(MUTANTS) $(SECONDS)

# random models at the corners of operators beside ONNX Runtime, and random models with ranges of sizes at six sizes each
fuzz-corners: all $(CASES)
	@BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(or $(TGC_PYTHON),$(PYTHON)) tests/fuzz/corners.py \
	  --graphs=$(or $(GRAPHS),400) --seed=$(or $(SEED),0) --folder=$(BUILD)/fuzz/corners
fuzz-sizes: all
	@TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(or $(TGC_PYTHON),$(PYTHON)) tests/sizes/random_bundles.py \
	  --graphs=$(or $(GRAPHS),400) --seed=$(or $(SEED),0) --folder=$(BUILD)/fuzz/sizes

# the code of every test model is that of another commit: minutes
same: BASE ?= HEAD
same: all
	@BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" $(PYTHON) tools/same.py $(BASE) $(TESTS)

# predicted times of kernels and candidates beside measured ones: fifteen minutes
predict: all
	@TGC="$(abspath $(BUILD))/tgc" BUILD="$(abspath $(BUILD))" tests/bench/predict.py
# what two threads gain in networks, and what this machine itself gives: two minutes
scaling: all
	@TGC="$(abspath $(BUILD))/tgc" BUILD="$(abspath $(BUILD))" CC="$(CC)" $(PYTHON) tests/bench/scaling.py $(BENCH)

bench: all
	@BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(PYTHON) tests/bench/bench.py $(BENCH)
# what tuning gains, in pairs of processes; an hour for all networks
bench-tuned: all
	@BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(PYTHON) tests/bench/tuned.py $(BENCH)
# ensembles of trees; PYTHON needs the packages that tests/bench/trees.py lists
bench-trees: all
	@BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" CC="$(CC)" $(PYTHON) tests/bench/trees.py $(BENCH)
# NonMaxSuppression, TopK and CumSum beside ONNX Runtime: two minutes; PYTHON needs numpy, onnx and onnxruntime
bench-select: all
	@BUILD="$(abspath $(BUILD))" TGC="$(abspath $(BUILD))/tgc" TGC_PYTHON="$(PYTHON)" $(PYTHON) tests/bench/selection.py $(BENCH)
bench-docs:
	@$(MAKE) --no-print-directory bench BENCH="--docs docs/benchmarks.md"

depcheck:
	@tools/depcheck.sh

golden: all
	@TGC="$(abspath $(BUILD))/tgc" tests/golden/run --update

# what pages of docs/ quote from the source and from the program; the diff is reviewed
docs: all
	tools/irdoc.py
	TGC="$(abspath $(BUILD))/tgc" tools/opsdoc.py
	TGC="$(abspath $(BUILD))/tgc" tools/tunabledoc.py
	TGC="$(abspath $(BUILD))/tgc" tools/kernels.py
	BUILD="$(abspath $(BUILD))" tools/structure.py
	TGC="$(abspath $(BUILD))/tgc" tests/commands/run --update

# README.md, docs/ and examples/ as HTML, in build/site
site:
	@tools/deps.sh site
	$(PYTHON) tools/site.py $(BUILD)/site

# only lines that differ from the last commit: columns lined up by hand elsewhere stay
format:
	git clang-format --extensions c,h HEAD

# what find_package and pkg-config read; they stay right if the folder of the installation is moved
FILLED = sed -e 's|@prefix@|$(PREFIX)|; s|@libdir@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|; s|@version@|$(VERSION)|; s|@abi@|$(ABI)|; s|@packages@|$(PKGS)|'
VERSION := $(shell sed -n 's/^\#define TGC_VERSION "\(.*\)"/\1/p' compiler/support/support.h)
COMPLETIONS := bash-completion/completions zsh/site-functions fish/vendor_completions.d
install-lib: lib
	install -Dm644 libtgc/tgc.h $(DESTDIR)$(PREFIX)/include/tgc.h
	install -Dm644 $(SHARED) $(DESTDIR)$(LIBDIR)/libtgc.so.$(ABI)
	ln -sf libtgc.so.$(ABI) $(DESTDIR)$(LIBDIR)/libtgc.so
	install -Dm644 $(BUILD)/static/libtgc.a $(DESTDIR)$(LIBDIR)/libtgc.a
	mkdir -p $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(LIBDIR)/cmake/tgc
	$(FILLED) libtgc/tgc.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/tgc.pc
	$(FILLED) libtgc/tgcConfig.cmake.in > $(DESTDIR)$(LIBDIR)/cmake/tgc/tgcConfig.cmake
	$(FILLED) libtgc/tgcConfigVersion.cmake.in > $(DESTDIR)$(LIBDIR)/cmake/tgc/tgcConfigVersion.cmake

install: all install-lib
	install -Dm755 $(BUILD)/tgc $(DESTDIR)$(PREFIX)/bin/tgc
	mkdir -p $(DESTDIR)$(PREFIX)/share/man/man1
	$(BUILD)/tgc --man > $(DESTDIR)$(PREFIX)/share/man/man1/tgc.1
	mkdir -p $(COMPLETIONS:%=$(DESTDIR)$(PREFIX)/share/%)
	$(BUILD)/tgc completions bash > $(DESTDIR)$(PREFIX)/share/$(word 1,$(COMPLETIONS))/tgc
	$(BUILD)/tgc completions zsh > $(DESTDIR)$(PREFIX)/share/$(word 2,$(COMPLETIONS))/_tgc
	$(BUILD)/tgc completions fish > $(DESTDIR)$(PREFIX)/share/$(word 3,$(COMPLETIONS))/tgc.fish

# what install writes, and nothing else; folders stay
uninstall: all
	@rm -rf $(BUILD)/uninstall
	@$(MAKE) --no-print-directory -s install DESTDIR="$(abspath $(BUILD))/uninstall"
	cd $(BUILD)/uninstall && find . ! -type d | sed 's,^\.,,' | while read -r f; do rm -f "$(DESTDIR)$$f"; done

# ---- packages of tgc ----
# The program with its libraries linked in, but for libc, libm and, if it is there, LLVM: for any Linux of this architecture that is
# not older. Equal sources and tools give equal bytes.
DIST := tgc-$(VERSION)-$(shell uname -s | tr A-Z a-z)-$(shell uname -m)
STATIC = -Wl,-Bstatic $(filter-out -lm -lpthread -ldl,$(shell pkg-config --static --libs-only-l $(PKGS) 2>/dev/null)) \
         -Wl,-Bdynamic -lm -pthread
dist: all
	@rm -rf $(BUILD)/dist && mkdir -p $(BUILD)/dist/$(DIST)
	$(CC) $(CFLAGS) $(LDFLAGS) -s -o $(BUILD)/dist/tgc $(CMD:%.c=$(BUILD)/%.o) $(LIB) $(STATIC)
	@$(MAKE) --no-print-directory -s install PREFIX= DESTDIR="$(abspath $(BUILD))/dist/$(DIST)"
	@cp $(BUILD)/dist/tgc $(BUILD)/dist/$(DIST)/bin/tgc
	@cp README.md CHANGELOG.md LICENSE $(BUILD)/dist/$(DIST)
	@tools/licences.sh $(PKGS) > $(BUILD)/dist/$(DIST)/LICENCES-OF-LIBRARIES
	tar -C $(BUILD)/dist --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$${SOURCE_DATE_EPOCH:-0} -cf - $(DIST) | \
	  gzip -9n > $(BUILD)/$(DIST).tar.gz
	@ls -l $(BUILD)/$(DIST).tar.gz

# a Debian package of this commit, which lintian accepts
deb:
	@tools/deps.sh build deb
	tools/deb.sh $(VERSION) $(BUILD)/deb

clean:
	rm -rf $(BUILD)

.PHONY: misra run-misra lib install-lib site gpu-kit gpu-check gpu-bench all again ulp deps deps-check demo run-demo check run-tests paths run-paths models nodes opencl run-opencl cuda run-cuda kills cross run-cross llvm run-llvm quiet san sweep fuzz fuzz-corners fuzz-sizes same bench bench-trees bench-tuned bench-select bench-docs predict scaling depcheck golden docs format install clean icount run-icount windows run-windows uninstall dist deb packages run-packages sizes sizes-ort bench-sizes bench-sizes-ort
-include $(OBJ:.o=.d) $(CMD:%.c=$(BUILD)/%.d) $(UNIT:=.d) $(CASES:=.d) $(BUILD)/tests/case/case.d
