# tgc: settings first, then what to build, then what to check.
CC       ?= cc
BUILD    ?= build
PREFIX   ?= /usr/local
OPT      ?= -O2 -g
WARN     := -Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wimplicit-fallthrough
CSTD     := -std=c11 -D_GNU_SOURCE -ffp-contract=off -fno-strict-aliasing
PKGS     := libprotobuf-c jansson nettle
CFLAGS   += $(OPT) $(CSTD) $(WARN) $(SANFLAGS) $(shell pkg-config --cflags $(PKGS) 2>/dev/null) -I$(BUILD)/gen
LDLIBS   += $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm
ONNX_PROTO ?= /usr/include/onnx/onnx.proto

SRC := $(wildcard compiler/*.c compiler/*/*.c frontends/*.c frontends/*/*.c backends/*.c)
CMD := $(wildcard cmd/*.c)
OBJ := $(SRC:%.c=$(BUILD)/%.o)
LIB := $(BUILD)/libtgc.a
GEN := $(BUILD)/gen/onnx.pb-c.o

all: $(BUILD)/tgc

$(BUILD)/tgc: $(CMD:%.c=$(BUILD)/%.o) $(LIB)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIB): $(OBJ) $(GEN)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/%.o: %.c | $(BUILD)/gen/onnx.pb-c.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -MMD -c -o $@ $<

# the reader's code comes from Debian's onnx.proto; its warnings are not ours
$(BUILD)/gen/onnx.pb-c.c: $(ONNX_PROTO)
	@mkdir -p $(@D)
	protoc-c --c_out=$(@D) -I$(dir $<) $<
$(BUILD)/gen/onnx.pb-c.o: $(BUILD)/gen/onnx.pb-c.c
	$(CC) $(OPT) $(SANFLAGS) -I$(BUILD)/gen -w -c -o $@ $<

clean:
	rm -rf $(BUILD)

.PHONY: all clean
-include $(OBJ:.o=.d) $(CMD:%.c=$(BUILD)/%.d)
