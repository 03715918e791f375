/* SPDX-License-Identifier: MIT */
/* llvm_build.c: compiles IR text to machine code, through LLVM's C interface. The library is opened on first use, because
 * loading it takes longer than most other work of tgc. Functions that need it end with EX_MISSING if it is missing, or if tgc
 * was built without its headers.
 *
 * Few passes run, because programs are already tiled and vectorised, and invariant code is outside of loops. More than clean-up
 * costs registers: hoisting loads and unrolling make kernels slower and larger. */
#include "llvm.h"
#include <stdlib.h>
#include <string.h>

#if defined TGC_LLVM
#include <dlfcn.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <unistd.h>

/* ---- the library ---- */
#define FUNCTIONS \
  F(ContextCreate) F(ContextDispose) F(CreateMemoryBufferWithMemoryRange) F(ParseIRInContext) F(DisposeModule) \
  F(DisposeMessage) F(NormalizeTargetTriple) F(SetTarget) F(SetModuleDataLayout) F(DisposeTargetData) F(GetTargetFromTriple) \
  F(CreateTargetMachineOptions) F(DisposeTargetMachineOptions) F(TargetMachineOptionsSetCPU) \
  F(TargetMachineOptionsSetFeatures) F(TargetMachineOptionsSetCodeGenOptLevel) F(TargetMachineOptionsSetRelocMode) \
  F(TargetMachineOptionsSetABI) F(CreateTargetMachineWithOptions) F(DisposeTargetMachine) F(GetTargetMachineTriple) F(CreateTargetDataLayout) \
  F(CreatePassBuilderOptions) F(DisposePassBuilderOptions) F(RunPasses) F(GetErrorMessage) F(DisposeErrorMessage) \
  F(TargetMachineEmitToMemoryBuffer) F(GetBufferStart) F(GetBufferSize) F(DisposeMemoryBuffer) F(GetNamedGlobal) \
  F(ConstStringInContext2) F(AddGlobal) F(SetInitializer) F(SetGlobalConstant) F(SetAlignment) F(TypeOf) \
  F(ReplaceAllUsesWith) F(DeleteGlobal) F(SetValueName2) F(OrcCreateLLJIT) F(OrcDisposeLLJIT) \
  F(OrcLLJITGetMainJITDylib) F(OrcLLJITAddObjectFile) F(OrcLLJITLookup) F(OrcLLJITGetGlobalPrefix) \
  F(OrcCreateDynamicLibrarySearchGeneratorForProcess) F(OrcJITDylibAddGenerator) F(GetVersion) F(ParseCommandLineOptions) \
  F(ContextSetDiagnosticHandler) F(GetDiagInfoSeverity) F(GetDiagInfoDescription) F(GetFirstFunction) F(GetNextFunction) \
  F(IsDeclaration)

typedef struct Library {
#define F(name) __typeof__(LLVM##name) *name;
  FUNCTIONS
#undef F
  void *handle;
  const char *missing; /* name of the missing library or function; NULL: none is missing */
  char why[300];       /* the linker's message */
} Library;

static const char *const library_names[] = { "libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so" };
static const char *const architectures[] = { "X86", "AArch64", "RISCV", "ARM", "WebAssembly" };

static Library library;

static void *find(const char *prefix, const char *name, const char *suffix) {
  char full[96];
  snprintf(full, sizeof full, "LLVM%s%s%s", prefix, name, suffix);
  return dlsym(library.handle, full);
}

/* Whether the library says that it is of this version. Its name may be wrong; nothing else is called before. */
static bool right_version(const char *name) {
  void (*version)(unsigned *major, unsigned *minor, unsigned *patch);
  unsigned major = 0, minor = 0, patch = 0;
  *(void **)&version = find("", "GetVersion", "");
  if (version) version(&major, &minor, &patch);
  if (major == LLVM_VERSION_MAJOR) return true;
  snprintf(library.why, sizeof library.why, "%s is LLVM %u.%u.%u", name, major, minor, patch);
  return false;
}

static void load_library(void) {
  static const char *const parts[] = { "TargetInfo", "Target", "TargetMC", "AsmPrinter" };
  for (size_t i = 0; i < sizeof library_names / sizeof *library_names && !library.handle; i++) {
    library.handle = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library.handle && !i) snprintf(library.why, sizeof library.why, "%s", dlerror());
    if (!library.handle || right_version(library_names[i])) continue;
    dlclose(library.handle);
    library.handle = NULL;
  }
  if (!library.handle) {
    library.missing = library_names[0];
    return;
  }
#define F(name) if (!(*(void **)&library.name = find("", #name, "")) && !library.missing) library.missing = "LLVM" #name;
  FUNCTIONS
#undef F
  for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
      void (*initialize)(void);
      *(void **)&initialize = find("Initialize", architectures[i], parts[k]);
      if (initialize) initialize();
    }
}

static const Library *llvm(Ctx *c) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load_library);
  if (!library.missing) return &library;
  c->file = NULL; /* the model is not at fault */
  if (strstr(library.why, "Too many open files") || strstr(library.why, "Cannot allocate memory"))
    fail(c, EX_RETRY, "LLVM cannot be loaded: %s", library.why);
  fail(c, EX_MISSING, "this needs LLVM 19, and %s cannot be found (Debian: libllvm19)%s%s", library.missing,
       *library.why ? ": " : "", library.why);
}

bool llvm_available(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load_library);
  return !library.missing;
}

/* ---- one module ---- */
typedef struct Session {
  const Library *l;
  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMTargetMachineRef machine;
} Session;

static LLVMTargetMachineRef machine_of(Ctx *c, const Library *l, const Target *t) {
  LLVMTargetRef target;
  char *why = NULL;
  char *triple = l->NormalizeTargetTriple(t->triple); /* LLVM expects four parts; a triple may have three */
  if (!*t->triple)
    fail(c, EX_USAGE_, "LLVM needs a particular machine, and '%s' is none: choose one by --isa or --target", t->isa);
  if (l->GetTargetFromTriple(triple, &target, &why)) {
    const char *text = arena_str(&c->model, why, strlen(why));
    l->DisposeMessage(why);
    fail(c, EX_USAGE_, "LLVM does not know the target '%s': %s", t->triple, text);
  }
  LLVMTargetMachineOptionsRef o = l->CreateTargetMachineOptions();
  l->TargetMachineOptionsSetCPU(o, t->cpu ? t->cpu : "");
  l->TargetMachineOptionsSetFeatures(o, t->llvm);
  l->TargetMachineOptionsSetCodeGenOptLevel(o, LLVMCodeGenLevelDefault);
  l->TargetMachineOptionsSetRelocMode(o, t->arch == ARCH_WASM || t->arch == ARCH_ARM ? LLVMRelocStatic : LLVMRelocPIC);
  LLVMTargetMachineRef m = l->CreateTargetMachineWithOptions(target, triple, o);
  l->DisposeMessage(triple);
  l->DisposeTargetMachineOptions(o);
  return m;
}

/* The text must end with a NUL. A text that LLVM rejects is a bug of tgc. */
static Session session_open(Ctx *c, const Target *t, const char *text, size_t n) {
  Session s = { .l = llvm(c) };
  const Library *l = s.l;
  char *why = NULL;
  s.machine = machine_of(c, l, t);
  s.context = l->ContextCreate();
  LLVMMemoryBufferRef b = l->CreateMemoryBufferWithMemoryRange(text, n, "module", true);
  if (l->ParseIRInContext(s.context, b, &s.module, &why)) BUG("LLVM does not read the module: %s", why);
  LLVMTargetDataRef layout = l->CreateTargetDataLayout(s.machine);
  char *triple = l->GetTargetMachineTriple(s.machine);
  l->SetTarget(s.module, triple);
  l->DisposeMessage(triple);
  l->SetModuleDataLayout(s.module, layout);
  l->DisposeTargetData(layout);
  return s;
}

static void session_close(Session *s) {
  s->l->DisposeModule(s->module);
  s->l->ContextDispose(s->context);
  s->l->DisposeTargetMachine(s->machine);
}

static const char passes[] =
    "always-inline,function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,early-cse,infer-alignment),globaldce";

/* OPT_FAST: half of the time for these passes; the code is slightly slower. */
static const char fast_passes[] = "always-inline,function(sroa,early-cse,infer-alignment),globaldce";

static void optimize(Session *s, const char *what) {
  const Library *l = s->l;
  LLVMPassBuilderOptionsRef o = l->CreatePassBuilderOptions();
  LLVMErrorRef e = l->RunPasses(s->module, what, s->machine, o);
  if (e) BUG("LLVM does not run the passes: %s", l->GetErrorMessage(e));
  l->DisposePassBuilderOptions(o);
}

static LLVMMemoryBufferRef generate(Session *s, bool text) {
  LLVMMemoryBufferRef out;
  char *why = NULL;
  if (s->l->TargetMachineEmitToMemoryBuffer(s->machine, s->module, text ? LLVMAssemblyFile : LLVMObjectFile, &why, &out))
    BUG("LLVM does not generate code: %s", why);
  return out;
}

/* ---- names of CPUs ---- */
typedef struct Ask { Ctx *c; const Target *t; } Ask;

/* Generates code for the CPU, with messages to fd. */
static void try_cpu(void *arg, int fd) {
  static const char text[] = "define void @f() {\n  ret void\n}\n";
  const Ask *ask = arg;
  dup2(fd, STDERR_FILENO);
  Session s = session_open(ask->c, ask->t, text, sizeof text - 1);
  generate(&s, false);
  _exit(0);
}

/* LLVM's C interface has no question for this. LLVM prints a warning about a CPU that it does not know, and may then end the
 * process. */
void llvm_check_cpu(Ctx *c, const Target *t) {
  Sb said = { 0 };
  llvm(c);
  const int status = child_output(c, try_cpu, &(Ask){ c, t }, &said);
  const bool known = !status && !said.n;
  sb_free(&said);
  if (!known) fail(c, EX_USAGE_, "--cpu: LLVM knows no CPU '%s' for '%s'", t->cpu, t->triple);
}

/* Turns the declaration of a constant into its definition. */
static void define_bytes(Session *s, const char *name, const void *p, size_t n) {
  const Library *l = s->l;
  LLVMValueRef declared = l->GetNamedGlobal(s->module, name);
  CHECK(declared);
  LLVMValueRef bytes = l->ConstStringInContext2(s->context, p, n, true);
  LLVMValueRef g = l->AddGlobal(s->module, l->TypeOf(bytes), "");
  l->SetInitializer(g, bytes);
  l->SetGlobalConstant(g, true);
  l->SetAlignment(g, 64);
  l->ReplaceAllUsesWith(declared, g);
  l->DeleteGlobal(declared);
  l->SetValueName2(g, name, strlen(name));
}

/* ---- progress ---- */
/* LLVM remarks on the stack of each function, in the middle of generating its code. These remarks are counted. */
typedef struct Counted {
  Ctx *c;
  const Library *l;
  size_t done, all; /* functions */
} Counted;

static void count_function(LLVMDiagnosticInfoRef d, void *arg) {
  Counted *k = arg;
  const LLVMDiagnosticSeverity severity = k->l->GetDiagInfoSeverity(d);
  if (severity == LLVMDSError) BUG("LLVM says: %s", k->l->GetDiagInfoDescription(d));
  if (severity == LLVMDSRemark) ctx_progress(k->c, "generating code", (double)++k->done / (double)(k->all + 1));
}

static void count_functions(Session *s, Counted *k) {
  static const char *const remarks[] = { "tgc", "-pass-remarks-analysis=prologepilog" };
  static bool made; /* LLVM has this for the whole process, and once */
  if (!k->c->progress) return;
  if (!made) s->l->ParseCommandLineOptions(sizeof remarks / sizeof *remarks, remarks, NULL);
  made = true;
  for (LLVMValueRef f = s->l->GetFirstFunction(s->module); f; f = s->l->GetNextFunction(f)) k->all += !s->l->IsDeclaration(f);
  s->l->ContextSetDiagnosticHandler(s->context, count_function, k);
}

Bytes llvm_generate(Ctx *c, const Target *t, const Code *m, bool assembly) {
  Session s = session_open(c, t, m->text, m->n);
  if (m->weights) define_bytes(&s, m->weights_name, m->weights, m->weight_bytes);
  Counted counted = { .c = c, .l = s.l };
  optimize(&s, passes);
  count_functions(&s, &counted);
  LLVMMemoryBufferRef b = generate(&s, assembly);
  Bytes out = { arena_dup(&c->model, s.l->GetBufferStart(b), s.l->GetBufferSize(b)), s.l->GetBufferSize(b) };
  s.l->DisposeMemoryBuffer(b);
  session_close(&s);
  return out;
}

/* ---- code for this process ---- */
struct LoadedCode { const Library *l; LLVMOrcLLJITRef jit; };

static void check(const Library *l, LLVMErrorRef e) {
  if (e) BUG("LLVM does not load the code: %s", l->GetErrorMessage(e));
}

/* Passes that OPT_FAST omits. Loop strength reduction is 40 % of the time of code generation, and makes a kernel 0 to 5 %
 * faster. Scheduling instructions a second time is another 8 %; out-of-order cores gain little by it. The passes before
 * instruction selection are for source code, and selection keeps the kernels' order: together 10 %, without further spills. A
 * search for stores that could be merged is 12 %, and finds none, since programs are vectorised. Scheduling before registers
 * are allocated is 16 %; without it, 85 kernels of ShuffleNet took 0.994 times as long, since programs are in a good order.
 * Machine CSE is 5 %, and finds little after early-cse. On x86, a pass turns conditional moves of clamped indices into
 * branches. Without it, kernels of MobileNetV2 in 8 bits compile in 22 % less time, and touch the stack a quarter as often.
 * LLVM has these options once for the whole process. */
static void set_fast_options(const Library *l, const Target *t) {
  static const char *const without[] = { "tgc", "-disable-lsr", "-disable-post-ra", "-disable-cgp", "-disable-mergeicmps",
                                         "-disable-constant-hoisting", "-disable-copyprop", "-pre-RA-sched=fast",
                                         "-combiner-store-merging=0", "-enable-misched=0", "-disable-machine-cse",
                                         "-x86-cmov-converter=0", "-disable-x86-domain-reassignment" };
  enum { ALL = sizeof without / sizeof *without, OF_X86 = 2 }; /* the last ones are known to LLVM for x86 only */
  static bool made;
  if (!made) l->ParseCommandLineOptions(starts_with(t->triple, "x86") ? ALL : ALL - OF_X86, without, NULL);
  made = true;
}

LoadedCode *llvm_jit_load(Ctx *c, const Target *t, const char *text, size_t n, OptLevel opt_level) {
  if (opt_level == OPT_FAST) set_fast_options(llvm(c), t);
  Session s = session_open(c, t, text, n);
  const Library *l = s.l;
  optimize(&s, opt_level == OPT_FAST ? fast_passes : passes);
  LLVMMemoryBufferRef object = generate(&s, false); /* the JIT takes ownership */
  LoadedCode *j = xmalloc(sizeof *j);
  LLVMOrcDefinitionGeneratorRef process;
  j->l = l;
  session_close(&s);
  check(l, l->OrcCreateLLJIT(&j->jit, NULL));
  LLVMOrcJITDylibRef main = l->OrcLLJITGetMainJITDylib(j->jit);
  check(l, l->OrcCreateDynamicLibrarySearchGeneratorForProcess(&process, l->OrcLLJITGetGlobalPrefix(j->jit), NULL, NULL));
  l->OrcJITDylibAddGenerator(main, process);
  check(l, l->OrcLLJITAddObjectFile(j->jit, main, object));
  return j;
}

void *llvm_jit_symbol(LoadedCode *j, const char *name) {
  LLVMOrcExecutorAddress at = 0;
  check(j->l, j->l->OrcLLJITLookup(j->jit, &at, name));
  return (void *)(uintptr_t)at;
}

void llvm_jit_free(LoadedCode *j) {
  if (!j) return;
  check(j->l, j->l->OrcDisposeLLJIT(j->jit));
  free(j);
}

const char *llvm_version(Ctx *c) {
  unsigned major, minor, patch;
  if (!llvm_available()) return NULL;
  library.GetVersion(&major, &minor, &patch);
  return arena_printf(&c->model, "LLVM %u.%u.%u", major, minor, patch);
}

#else
static _Noreturn void missing(Ctx *c) { fail(c, EX_MISSING, "this needs LLVM 19, which tgc was built without"); }
bool llvm_available(void) { return false; }
void llvm_check_cpu(Ctx *c, const Target *t) { (void)t, missing(c); }
Bytes llvm_generate(Ctx *c, const Target *t, const Code *m, bool assembly) { (void)t, (void)m, (void)assembly, missing(c); }
LoadedCode *llvm_jit_load(Ctx *c, const Target *t, const char *text, size_t n, OptLevel opt_level) {
  (void)t, (void)text, (void)n, (void)opt_level, missing(c);
}
void *llvm_jit_symbol(LoadedCode *j, const char *name) { (void)j, (void)name; return NULL; }
void llvm_jit_free(LoadedCode *j) { (void)j; }
const char *llvm_version(Ctx *c) { return (void)c, NULL; }
#endif
