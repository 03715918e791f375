/* SPDX-License-Identifier: MIT */
/* options.h: a row for every verb and every option. The parser, the help, the man page and the completions of shells are made
 * from these rows. A file that needs rows first defines one or several of the macros VERB, GROUP and OPTION. Then this file
 * includes options.h.
 *
 * In the row of an option, `verbs` has a letter for each verb that takes the option. The letters are: c compile, r run, v verify,
 * i inspect, k check, b bench, p profile. Further letters are: t tune, q quantize, w report, a audit, x diff, d devices, o ops,
 * s completions. A star stands for all verbs. A capital letter says that the verb takes the option for a bundle, too. If an
 * option has different meanings for different verbs, the option has a row for each meaning.
 *
 * `field` is the member of struct Options (cmd.h) that holds the option's value. `kind` says which value the option takes:
 * - FLAG: none
 * - TEXT: a text; if the option is repeated, the last value counts
 * - LIST: a text; if the option is repeated, all values count
 * - SIZE: an integer of at least 0, which may end with k, M or G for powers of 1024
 * - COUNT: a SIZE of at least 1
 * - REAL: a real number of at least 0
 * - MAYBE: a text behind '=', or nothing, which stands for "yes"
 *
 * In the help, a value in parentheses is the default. */
/* clang-format off */
#ifndef VERB
#define VERB(name, args, gloss, examples)
#endif
#ifndef GROUP
#define GROUP(name, title)
#endif
#ifndef OPTION
#define OPTION(letter, name, arg, kind, field, verbs, group, help)
#endif

/*   name       arguments        one line of help
 *   examples */
VERB(compile,    "MODEL -o DIR", "write a bundle: C source, weights, build files and a manifest",
     "tgc compile net.onnx -o net_c --isa=native\n"
     "tgc compile net.onnx -o net_so --backend=llvm --emit=so")
VERB(run,        "MODEL|BUNDLE", "compile and build the model, run it on this machine and show the outputs",
     "tgc run net.onnx --input=image.npy -o outputs")
VERB(verify,     "MODEL|BUNDLE", "run a bundle and compare its outputs with reference data or with the interpreter",
     "tgc verify net.onnx --precision=bf16\n"
     "tgc verify net_c --model=net.onnx --data=vectors --require 'cosine>=0.999'")
VERB(inspect,    "MODEL|BUNDLE", "show inputs, outputs, operators, cost, kernels and memory",
     "tgc inspect net.onnx --explain")
VERB(check,      "MODEL",        "say whether the model can be compiled and what is missing",
     "tgc check net.onnx --backend=opencl")
VERB(bench,      "MODEL|BUNDLE", "measure the latency on this machine; --vs-ort compares it with ONNX Runtime's",
     "tgc bench net.onnx --threads=2 --vs-untuned")
VERB(profile,    "MODEL|BUNDLE", "show where the time goes, kernel by kernel",
     "tgc profile net.onnx --trace=trace.json")
VERB(tune,       "MODEL",        "search for faster schedules of its kernels on this machine, and keep them",
     "tgc tune net.onnx --time=5m")
VERB(quantize,   "MODEL -o OUT", "write the model quantised to 8 bits, calibrated on sample inputs",
     "tgc quantize net.onnx --data=samples -o net8.onnx\n"
     "tgc quantize net.onnx --data=samples --max-drop=0.01 -o net8.onnx")
VERB(report,     "MODEL -o FILE", "write a page of HTML: graph, roofline, memory, kernels and accuracy",
     "tgc report net.onnx -o report.html")
VERB(audit,      "BUNDLE",
     "find a bound for the stack of a run, and check that it allocates nothing, takes no lock and makes no system call",
     "tgc audit net_rt --json")
VERB(diff,       "BUNDLE BUNDLE", "compare two bundles: interface, options, sizes, errors, kernels and schedules",
     "tgc diff net_yesterday net_c")
VERB(devices,    "",             "list this machine's features, and the machines for which bundles can be built and run here",
     "tgc devices --json")
VERB(ops,        "",             "list the operators of the intermediate representation and of ONNX, and the passes",
     "tgc ops | grep Conv")
VERB(completions, "SHELL",       "write the completions of tgc for bash, zsh or fish",
     "tgc completions bash > ~/.local/share/bash-completion/completions/tgc")

/* The groups of options, in the order of the help */
GROUP(INPUT,     "Input")
GROUP(OUTPUT,    "Output")
GROUP(TARGET,    "Target")
GROUP(PRECISION, "Precision")
GROUP(MEMORY,    "Memory")
GROUP(STATE,     "State")
GROUP(TUNING,    "Schedules and tuning")
GROUP(MEASURING, "Running and measuring")
GROUP(LIMITS,    "Limits")
GROUP(DEBUG,     "Debugging")
GROUP(GENERAL,   "General")

/*     letter name              argument                 kind   field            verbs        group */

OPTION(0,   "dim",              "NAME=N|NAME=RANGE|NAME=SUM", LIST,  dims,            "crVikbptqw", INPUT,
       "size of a dynamic dimension, named as in the model or as INPUT:AXIS; --data and --input set it as well; all=N sets "
       "the dimensions that have no size yet. A range LOW:HIGH[:STEP][@TYPICAL] makes one bundle for all of its sizes; up to four "
       "dimensions may have one. A sum adds up other dimensions and numbers: total=past+seq")
OPTION(0,   "result",           "NAME",                   LIST,  results,         "crVikbptw",  INPUT,
       "make this value an output in place of the model's outputs, and drop what it does not need; may be repeated")
OPTION(0,   "from",             "NAME",                   LIST,  froms,           "crVikbptw",  INPUT,
       "make this value an input, and drop the nodes and inputs that only lead to it; may be repeated")
OPTION(0,   "const",            "NAME=VALUE",             LIST,  consts,          "crVikbptw",  INPUT,
       "bind an input to a number, to numbers separated by commas, or to @FILE.npy; may be repeated")
OPTION(0,   "rename",           "OLD=NEW",                LIST,  renames,         "crVikbptw",  INPUT,
       "give an input or output another name, which --prologue, --epilogue, --convert, --state and files of data then use; may "
       "be repeated")
OPTION(0,   "prologue",         "FILE.tg",                LIST,  prologues,       "crVikbptw",  INPUT,
       "put this graph before the model: its outputs become the inputs of the same names; may be repeated")
OPTION(0,   "epilogue",         "FILE.tg",                LIST,  epilogues,       "crVikbptw",  INPUT,
       "put this graph after the model: its inputs are the outputs of the same names; may be repeated")
OPTION(0,   "convert",          "NAME=FORM[,KEY...]",     LIST,  converts,        "crVikbptw",  INPUT,
       "take the input, or give the output, in another form: u8 or i16 elements, pictures in rgb, nv12 or yuyv, sound, argmax, "
       "topk, masks (docs/pictures.md); may be repeated")
OPTION(0,   "capacity",         "N",                      COUNT, capacity,        "crVikbptw",  INPUT,
       "rows reserved for a result whose size depends on data; one more output gives the number of valid rows")
OPTION(0,   "string-bytes",     "N",                      COUNT, string_bytes,    "crVikbptw",  INPUT,
       "bytes reserved for each string of an input (64); a longer string is refused")
OPTION(0,   "entry",            "NAME",                   TEXT,  entry,           "cRVIkBptw",   INPUT,
       "entry of a pipeline (docs/pipelines.md), or of a bundle with several entries: compile or run this entry only")
OPTION('i', "input",            "[NAME=]FILE",            LIST,  inputs,          "RVBPw",      INPUT,
       "file for an input: .npy, .npz, .pb, or raw bytes; files without a name go to the inputs in order")
OPTION(0,   "data",             "PATH",                   TEXT,  data,            "cRVBPqw",    INPUT,
       "folder with input_0, input_1, ..., output_0, ... as .pb or .npy, or an .npz of inputs and outputs; verify also takes a "
       "folder of such folders test_data_set_0, test_data_set_1, ...")
OPTION(0,   "percentile",       "P",                      REAL,  percentile,      "q",          INPUT,
       "calibration clips a value's range at this percentile of each sample's elements, at both ends (100: no clipping)")
OPTION(0,   "holdout",          "K",                      COUNT, holdout,         "q",          INPUT,
       "keep K samples, spread evenly over --data, out of calibration, and measure on them (default: a fifth of the samples "
       "with --metric or --max-drop, else none)")
OPTION(0,   "holdout-data",     "PATH",                   TEXT,  holdout_data,    "q",          INPUT,
       "folder of further samples to measure on; calibration uses all of --data")
OPTION(0,   "layers",           "FILE",                   TEXT,  layers,          "q",          INPUT,
       "take the choice of layers in 8 bits from this file, which --save-layers wrote")
OPTION(0,   "layers",           "FILE",                   TEXT,  layers,          "w",          INPUT,
       "show the layers of this file, which tgc quantize --json printed: their errors, and which of them are in 8 bits")
OPTION(0,   "seed",             "N",                      SIZE,  seed,            "cRVBPw",     INPUT,
       "seed of random inputs, for inputs without a file (0)")
OPTION(0,   "size",             "N[,N...]|NAME=N[,...]",  LIST,  sizes,           "RVBP",       INPUT,
       "size of a run, if --dim gives a range (default: the size of the data of --data or --input, else HIGH); with several "
       "ranges each size needs its name: batch=2,seq=17. verify and bench make several runs if the option is repeated, or, "
       "for one range, has the form N,N")
OPTION(0,   "outputs",          "FILE",                   TEXT,  outputs,         "V",          INPUT,
       "compare these outputs, which the bundle's program NAME_check wrote with --save on any machine; run nothing here")
OPTION(0,   "model",            "MODEL",                  TEXT,  original,        "V",          INPUT,
       "the model that a bundle was made from: its exact results are the reference, and if the check fails, nodes that may be "
       "wrong are named")
OPTION(0,   "ort",              0,                        FLAG,  ort,             "V",          INPUT,
       "take the outputs of ONNX Runtime as the reference, through the Python named by TGC_PYTHON (python3)")
OPTION(0,   "ort-unfused",      0,                        FLAG,  ort_unfused,     "V",          INPUT,
       "let ONNX Runtime run the model's operators one by one: operators of 8 bits that it fuses round differently")

OPTION('o', "output",           "DIR",                    TEXT,  out,             "c",          OUTPUT,
       "folder for the bundle; with --stop-after, file for the text")
OPTION('o', "output",           "DIR",                    TEXT,  out,             "R",          OUTPUT,
       "folder for the outputs, as files")
OPTION('o', "output",           "FILE",                   TEXT,  out,             "t",          OUTPUT,
       "lock file to write (MODEL.tgc-lock); none: write no lock file")
OPTION('o', "output",           "FILE",                   TEXT,  out,             "q",          OUTPUT,
       "file for the new model")
OPTION(0,   "save-layers",      "FILE",                   TEXT,  save_layers,     "q",          OUTPUT,
       "write to this file which layers are in 8 bits, for --layers")
OPTION('o', "output",           "FILE",                   TEXT,  out,             "w",          OUTPUT,
       "file for the page")
OPTION(0,   "dot",              "FILE",                   TEXT,  dot,             "w",          OUTPUT,
       "also write the graph as text for Graphviz")
OPTION(0,   "name",             "NAME",                   TEXT,  name,            "c",          OUTPUT,
       "prefix of the bundle's files and C symbols (net)")
OPTION(0,   "emit",             "KIND",                   TEXT,  emit,            "c",          OUTPUT,
       "form of the bundle's code. With --backend=c: c; llvm: ir, asm, obj (default), lib, and if a linker is installed so or "
       "wasm; opencl: cl; metal: metal; cuda: cu, ptx, cubin or fatbin (default; cubins where nvFatbin is missing)")
OPTION(0,   "bindings",         "LIST",                   TEXT,  bindings,        "c",          OUTPUT,
       "also write the interface in these languages, separated by commas: cpp, python, rust (JavaScript: --emit=wasm)")
OPTION(0,   "embed-weights",    "HOW",                    MAYBE, embed,           "c",          OUTPUT,
       "put the weights into the program: incbin (by the assembler; used without HOW) or c (as a C array, slow to compile above "
       "about 10 MB). file: leave them in net_weights.bin, the default except for machines without an operating system")
OPTION(0,   "package",          "KIND",                   TEXT,  package,         "c",          OUTPUT,
       "write the files of another build system: cmake, meson, bazel, arduino, zephyr, esp-idf, platformio or android")
OPTION(0,   "run-step",         0,                        FLAG,  run_step,        "c",          OUTPUT,
       "add the function net_run_step, which does a part of a run and returns, so that other work can go on in between; only "
       "with --backend=c")
OPTION(0,   "no-cpu-check",     0,                        FLAG,  no_cpu_check,    "c",          OUTPUT,
       "skip the CPU feature check in net_init")
OPTION(0,   "self-test",        0,                        FLAG,  self_test,       "c",          OUTPUT,
       "add reference inputs and outputs, with which `make check` tests the bundle")
OPTION(0,   "format",           "FORMAT",                 TEXT,  format,          "R",          OUTPUT,
       "format of output files: npy, pb or raw (npy)")
OPTION(0,   "json",             0,                        FLAG,  json,            "RVIkBPtdoqXA", OUTPUT,
       "print a report as JSON")
OPTION(0,   "junit",            "FILE",                   TEXT,  junit,           "VIBA",        OUTPUT,
       "write the results of the checks as JUnit's XML, for build servers")
OPTION(0,   "markdown",         "FILE",                   TEXT,  markdown,        "VIBA",        OUTPUT,
       "append the results of the checks to this file, as a table in Markdown")
OPTION(0,   "explain",          0,                        FLAG,  explain,         "cI",         OUTPUT,
       "show for each kernel its source nodes, schedule, operations and bytes")

OPTION(0,   "isa",              "ISA",                    TEXT,  isa,             "c",          TARGET,
       "machine to compile for: portable, native or a level that `tgc devices` lists, with +FEATURE and -FEATURE appended "
       "(native-amx), or fat: all levels of x86-64 in one bundle (default: " DEFAULT_ISA ", or the machine that the backend "
       "names)")
OPTION(0,   "isa",              "ISA",                    TEXT,  isa,             "rvikbptw",   TARGET,
       "machine to compile for, as compile takes it (default: as with compile, " DEFAULT_ISA " or the machine that the backend "
       "names)")
OPTION(0,   "machine",          "NAME|FILE",              TEXT,  machine,         "crvikbptw",  TARGET,
       "CPU whose facts the cost model uses: a name that `tgc devices --machine=list` lists, or a file that `tgc devices "
       "--measure` printed; without --isa also the machine to compile for (default with --isa=native: this CPU, if it was "
       "measured)")
OPTION(0,   "machine",          "NAME|FILE",              TEXT,  machine,         "d",          TARGET,
       "print the facts of the CPU with this name or in this file, as compile --machine takes them; list: print the names of "
       "known CPUs")
OPTION(0,   "predict",          0,                        FLAG,  predict,         "ip",         MEASURING,
       "show the time that the cost model predicts for one core, from the facts of the CPU (--machine)")
OPTION(0,   "measure",          0,                        FLAG,  measure,         "d",          MEASURING,
       "measure this CPU for three seconds, print its facts, and keep them in the tuner's store")
OPTION(0,   "target",           "TRIPLE",                 TEXT,  target,          "crvib",      TARGET,
       "system to cross-compile for, as an LLVM triple (default: that of --isa)")
OPTION(0,   "cpu",              "NAME",                   TEXT,  cpu,             "crvibt",     TARGET,
       "CPU for which LLVM schedules instructions, by LLVM's name")
OPTION(0,   "backend",          "NAME",                   TEXT,  backend,         "crvikbptw",  TARGET,
       "backend that writes the kernels: c, llvm, opencl, cuda or metal (default: c); profile supports all but llvm")
OPTION(0,   "device",           "DEVICE",                 TEXT,  device,          "RVBPw",      TARGET,
       "device on which a bundle of --backend=opencl, cuda or metal runs: its number in tgc devices, or a part of its name")
OPTION(0,   "device",           "DEVICE",                 TEXT,  device,          "t",          TARGET,
       "device to tune for: its number in tgc devices, or a part of its name")
OPTION(0,   "device",           "DEVICE",                 TEXT,  device,          "k",          TARGET,
       "check that this device has what the kernels need: its number or a part of its name")
OPTION(0,   "device",           "DEVICE",                 TEXT,  device,          "ci",         TARGET,
       "device whose schedules are taken from the tuner's store: its number or a part of its name")
OPTION(0,   "arch",             "LIST",                   TEXT,  archs,           "crvibptw",   TARGET,
       "architectures that --backend=cuda compiles for, such as sm_75,sm_90 (default: that of --isa); inspect shows "
       "which resources kernels use on them")

OPTION(0,   "precision",        "HOW",                    TEXT,  precision,       "crvibptw",   PRECISION,
       "arithmetic precision: fp32 (default); fp32-strict: sums in one order everywhere; fp32-fast: products with relative "
       "errors up to 2^-14; bf16x6 or bf16x3: factors split into sums of bf16; bf16 or fp16: large weights are "
       "rounded to that type, and with bf16 also the values that bf16 instructions multiply by them; fp16-arith: up to 32 "
       "products are added in fp16, if the machine does this faster")
OPTION(0,   "weights",          "HOW",                    TEXT,  weights,         "crvibptw",   PRECISION,
       "weight-only quantisation: fp32 (none; default), bf16, fp16, int8 or int4; weights that a run reads more than a few times "
       "stay fp32")
OPTION(0,   "denormals",        "HOW",                    TEXT,  denormals,       "crvbpw",     PRECISION,
       "denormal floats in kernels: flush (to zero; default, except with fp32-strict), or keep, which may cost time")
OPTION(0,   "rtol",             "X",                      REAL,  rtol,            "V",          PRECISION,
       "relative tolerance (1e-3); if --rtol or --atol is given, an error beyond both fails even if rounding explains it")
OPTION(0,   "atol",             "X",                      REAL,  atol,            "V",          PRECISION,
       "absolute tolerance (1e-7)")
OPTION(0,   "require",          "METRIC>=X",              LIST,  requires,        "V",          PRECISION,
       "least value that a metric over all runs must have, or with <= the greatest; the default tolerances then do not count; "
       "METRIC@OUTPUT for one output. Metrics: max_ulp, max_relative, max_absolute, rms, cosine, snr (dB), top1 (share of rows "
       "with the same greatest element), outside (elements outside the tolerances); may be repeated")
OPTION(0,   "metric",           "NAME=COMMAND",           LIST,  metrics,         "V",          PRECISION,
       "one more metric: a shell command that gets two .npy files, the outputs of all runs and their references, and the "
       "output's name, and prints a number")
OPTION(0,   "metric",           "METRIC",                 TEXT,  metric,          "q",          PRECISION,
       "measure of accuracy on held-out samples: a METRIC of verify --require for the worst output, METRIC@OUTPUT for one output "
       "(default: cosine), or NAME=COMMAND as verify --metric takes it, whose greater numbers are better")
OPTION(0,   "max-drop",         "X",                      REAL,  max_drop,        "q",          PRECISION,
       "how much worse the metric may be than the float model's; layers stay in floats until this holds on held-out samples")

OPTION(0,   "optimize",         "GOAL",                   TEXT,  optimize,        "crvikbptw",  MEMORY,
       "what may grow to make the code faster. speed: the arena and the weights; size: only the arena; ram: only the weights; "
       "small: neither (default: speed, but small for machines without an operating system)")
OPTION(0,   "max-arena",        "SIZE",                   TEXT,  max_arena,       "crvikbptw",  MEMORY,
       "most bytes of the arena, with k M G for powers of 1024; a model that needs more is refused")
OPTION(0,   "max-weights",      "SIZE",                   TEXT,  max_weights,     "crvikbptw",  MEMORY,
       "most bytes of the weights; a model that needs more is refused")

OPTION(0,   "state",            "IN=OUT[:KEY=VALUE,...]", LIST,  states,          "crVibptw",   STATE,
       "keep OUT inside the bundle as IN of the next run; * matches part of the names. Keys: axis, capacity, init, grow")
OPTION(0,   "steps",            "N",                      COUNT, steps,           "RV",         STATE,
       "number of successive runs of a model with states (1)")

OPTION(0,   "schedule",         "FILE",                   TEXT,  schedule,        "crvibpw",    TUNING,
       "lock file to take schedules from (MODEL.tgc-lock, if it exists); none: use no lock file")
OPTION(0,   "lock",             "FILE",                   TEXT,  lock,            "ci",         TUNING,
       "write all decisions of the compilation to a lock file, for --schedule")
OPTION(0,   "no-tune-store",    0,                        FLAG,  no_store,        "crvibpw",    TUNING,
       "do not use schedules from the tuner's store")
OPTION(0,   "tune-db",          "FILE",                   TEXT,  tune_db,         "crvibptdw",  TUNING,
       "file of the tuner's store ($XDG_CACHE_HOME/tgc/tune.db)")
OPTION(0,   "tune-log",         "FILE",                   TEXT,  tune_log,        "t",          TUNING,
       "merge this log, if it exists, into the store; at the end write the store to it")
OPTION(0,   "job",              "DIR",                    TEXT,  job,             "t",          TUNING,
       "measure nothing here: write a folder with candidates, which another machine builds and runs (make -C DIR run)")
OPTION(0,   "import",           "LOG",                    TEXT,  import,          "t",          TUNING,
       "measure nothing here: merge into the store the log of a folder from --job, and write the lock file; with --job, "
       "the import is done first")
OPTION(0,   "time",             "TIME",                   TEXT,  time,            "t",          TUNING,
       "time for the search and for the runs of the whole model: 90, 90s, 5m or 1h (60s)")
OPTION(0,   "trials",           "N",                      SIZE,  trials,          "t",          TUNING,
       "stop after this many candidates (0: no limit); with --job: candidates per nest (16)")
OPTION(0,   "no-validate",      0,                        FLAG,  no_validate,     "t",          TUNING,
       "keep the schedules found without testing them in the whole model")
OPTION(0,   "beam",             "N",                      COUNT, beam,            "t",          TUNING,
       "beam width: schedules per nest that the search keeps and varies in each round (4)")
OPTION(0,   "kernel-groups",    "WHICH",                  TEXT,  groups,          "crvibptw",   TUNING,
       "kernels to run chunk by chunk in groups: faster (default: those for which the cost model predicts a gain), none, or all "
       "(those that can)")
OPTION(0,   "tunable",          "NAME=VALUE",             LIST,  settings,        "crvibptw",   TUNING,
       "set a threshold, limit or rate of the compiler, as inspect --tunables lists them; rates=0.8 scales all rates; may be "
       "repeated")
OPTION(0,   "tunables",         0,                        FLAG,  tunables,        "i",          TUNING,
       "list the tunables with values, units and reasons; reads no model")

OPTION(0,   "interpret",        0,                        FLAG,  interpret,       "v",          MEASURING,
       "run a device's kernels in the interpreter, without building a bundle, and report races between threads; slow")
OPTION(0,   "threads",          "N",                      COUNT, threads,         "RVBPqtw",    MEASURING,
       "threads that share the work of a run (1)")
OPTION(0,   "runs",             "N",                      COUNT, runs,            "BPw",        MEASURING,
       "number of timed runs (as many as fit in --seconds)")
OPTION(0,   "seconds",          "X",                      REAL,  seconds,         "BPw",        MEASURING,
       "how many seconds to measure; with --vs-ort or --vs-untuned, each compared program runs that long (2)")
OPTION(0,   "limit",            "NAME=VALUE,...",         TEXT,  limits,          "IB",         MEASURING,
       "greatest values that pass: latency (5ms), arena, weights and code (200kB, 1MiB), kernels; inspect knows arena, weights "
       "and kernels")
OPTION(0,   "baseline",         "FILE",                   TEXT,  baseline,        "IB",         MEASURING,
       "compare with an earlier report, which --json printed")
OPTION(0,   "tolerance",        "NAME=PERCENT,...",       TEXT,  tolerance,       "IB",         MEASURING,
       "growth above --baseline that passes, in percent (latency=10,code=1; others 0)")
OPTION(0,   "repeat",           "N",                      COUNT, repeat,          "B",          MEASURING,
       "measure a latency above its limit again, at most N times in all; the least counts (3)")
OPTION(0,   "rate",             "HZ",                     REAL,  rate,            "B",          MEASURING,
       "start a run this many times a second; report the greatest time, the jitter, how late runs begin, and a histogram")
OPTION(0,   "cold",             0,                        FLAG,  cold,            "B",          MEASURING,
       "empty the caches before each run")
OPTION(0,   "cpus",             "LIST",                   TEXT,  cpus,            "B",          MEASURING,
       "CPUs on which the model may run, such as 0,2-3")
OPTION(0,   "csv",              "FILE",                   TEXT,  csv,             "B",          MEASURING,
       "with --rate or --cold: write the time of each run, and how late it began")
OPTION(0,   "vs-ort",           0,                        FLAG,  vs_ort,          "B",          MEASURING,
       "alternate with ONNX Runtime and compare times, through the Python named by TGC_PYTHON (python3)")
OPTION(0,   "pairs",            "N",                      COUNT, pairs,           "B",          MEASURING,
       "with --vs-untuned: compare N pairs of new processes, each for --seconds, and print the gain with its confidence interval")
OPTION(0,   "vs-untuned",       0,                        FLAG,  vs_untuned,      "B",          MEASURING,
       "alternate with the bundle without tuned schedules and compare times")
OPTION(0,   "trace",            "FILE",                   TEXT,  trace,           "P",          MEASURING,
       "write a Chrome trace of a run near the median, with a row for each thread")

OPTION(0,   "cc-limit",         "TIME",                   TEXT,  cc_limit,        "t",          LIMITS,
       "time limit of the C compiler for one file, or of a device's compiler or driver for the kernels of a round (10s)")
OPTION(0,   "cc-limit",         "TIME",                   TEXT,  cc_limit,        "cRVBPqwA",    LIMITS,
       "time limit of the C compiler or the linker for one file (10m)")
OPTION(0,   "max-nodes",        "N",                      COUNT, max_nodes,       "crvikbptqw", LIMITS,
       "limit of the number of the model's nodes, after inlining functions (10000000)")
OPTION(0,   "max-unroll",       "N",                      COUNT, max_unroll,      "crvikbptqw", LIMITS,
       "limit of the number of nodes made by unrolling loops, scans, sequences and recurrent operators (1000000)")
OPTION(0,   "max-nesting",      "N",                      COUNT, max_nesting,     "crvikbptqw", LIMITS,
       "limit of the depth of protobuf messages nested in the file (100)")
OPTION(0,   "max-decoded",      "BYTES",                  COUNT, max_decoded,     "crvikbptqw", LIMITS,
       "memory limit for the decoded file (32 times its size, plus 64 MiB)")
OPTION(0,   "max-fold",         "BYTES",                  COUNT, max_fold,        "crvikbptqw", LIMITS,
       "memory limit for results of constant folding (4 times the model, at least 256 MiB)")
OPTION(0,   "max-fold-steps",   "N",                      COUNT, max_fold_steps,  "crvikbptqw", LIMITS,
       "limit of operations spent on constant folding (4000000000)")
OPTION(0,   "allow-hardlinks",  0,                        FLAG,  hardlinks,       "crvikbptqw", LIMITS,
       "accept external data files with more than one hard link")
OPTION(0,   "no-index-status",  0,                        FLAG,  no_index_status, "crvikbptw",  LIMITS,
       "do not report indices out of range in a run's status; they are clamped either way")

OPTION('d', "dump",             "LETTERS",                TEXT,  dump,            "crvibp",     DEBUG,
       "print the intermediate representation after the passes and steps with these letters, which tgc ops lists, on stderr")
OPTION(0,   "stop-after",       "PASS",                   TEXT,  stop_after,      "c",          DEBUG,
       "stop after this pass or step and print the text form on stdout; load: the model as it was read")
OPTION(0,   "kernel",           "K",                      SIZE,  kernel,          "crvibp",     DEBUG,
       "let --dump and --stop-after print kernel K only; the first is 0")
OPTION(0,   "time-passes",      0,                        FLAG,  time_passes,     "c",          DEBUG,
       "print how long each pass and step took, on stderr")
OPTION(0,   "start-after",      "PASS",                   MAYBE, start_after,     "cv",         DEBUG,
       "continue from a dump, given as MODEL, that --stop-after=PASS -o FILE wrote; the dump records its pass and options")

OPTION('q', "quiet",            0,                        FLAG,  quiet,           "*",          GENERAL,
       "no warnings, no progress and no summary")
OPTION('v', "verbose",          0,                        FLAG,  verbose,         "*",          GENERAL,
       "print what is being done")
OPTION(0,   "color",            "WHEN",                   TEXT,  color,           "*",          GENERAL,
       "colours: auto (on a terminal, unless NO_COLOR is set; default), always or never")
OPTION(0,   "messages",         "FORM",                   TEXT,  messages,        "*",          GENERAL,
       "form of messages on standard error: text (default), or json: a record on each line (docs/schema/message.schema.json)")
OPTION(0,   "wide",             0,                        FLAG,  wide,            "IBPtdoXq",    GENERAL,
       "do not cut the lines of tables at the width of the terminal")
OPTION('h', "help",             0,                        FLAG,  help,            "*",          GENERAL,
       "print this help")
OPTION(0,   "man",              0,                        FLAG,  man,             "*",          GENERAL,
       "print the manual page as troff source")
OPTION(0,   "version",          0,                        FLAG,  version,         "*",          GENERAL,
       "print the version")
/* clang-format on */
#undef VERB
#undef GROUP
#undef OPTION
