/* options.h: a row for every verb and every option. The parser, the help and the man page are made from these rows.
 *
 * The verbs of an option are letters: c compile, r run, v verify, i inspect, k check, b bench, p profile; t tune, q quantize,
 * d devices, o ops, and * all of them. A capital letter: the option also applies when the verb is given a bundle, which is
 * already compiled. An option that means something else to another verb has a second row for it.
 *
 * The kinds are:
 * - FLAG
 * - TEXT: one value; the last one counts
 * - LIST: may be repeated
 * - SIZE: an integer, with k M G for powers of 1024
 * - COUNT: a SIZE of at least 1
 * - REAL
 * - MAYBE: a value only after '=', else "yes" */
/* clang-format off */
VERB(compile, "MODEL -o DIR",   "write a bundle: C source, weights, build files and a manifest")
VERB(run,     "MODEL|BUNDLE",   "compile and build the model, run it on this machine and show the outputs")
VERB(verify,  "MODEL",          "run a bundle and compare its outputs with reference data or with the interpreter")
VERB(inspect, "MODEL",          "show inputs, outputs, operators, cost, kernels and memory")
VERB(check,   "MODEL",          "say whether the model can be compiled and what is missing")
VERB(bench,   "MODEL|BUNDLE",   "measure the latency on this machine, beside ONNX Runtime if asked")
VERB(profile, "MODEL",          "show where the time goes, kernel by kernel")
VERB(tune,    "MODEL",          "search for faster schedules of its kernels on this machine, and keep them")
VERB(quantize, "MODEL -o OUT", "write the model quantised to 8 bits, calibrated on sample inputs")
VERB(devices, "",               "list this machine's features, and the machines for which bundles can be built and run here")
VERB(ops,     "",               "list the operators of the intermediate representation and of ONNX, and the passes")
/*     letter name            argument     kind   field           verbs    help */
OPTION('o', "output",         "DIR",       TEXT,  out,            "c",
       "folder for the bundle; with --stop-after, file for the text")
OPTION('o', "output",         "DIR",       TEXT,  out,            "R",     "folder for the outputs, as files")
OPTION('o', "output",         "FILE",      TEXT,  out,            "t",     "lock file to write (MODEL.tgc-lock), or none")
OPTION('o', "output",         "FILE",      TEXT,  out,            "q",     "file for the new model")
OPTION( 0,  "name",           "NAME",      TEXT,  name,           "c",     "prefix of the bundle's files and C symbols (net)")
OPTION( 0,  "isa",            "ISA",       TEXT,  isa,            "c",
       "machine to compile for: portable, native or a level that `tgc devices` lists, with +FEATURE and -FEATURE appended "
       "(native-amx), or fat: all levels of x86-64 in one bundle (" DEFAULT_ISA ")")
OPTION( 0,  "isa",            "ISA",       TEXT,  isa,            "rvikbpt",
       "machine to compile for, as compile takes it (native)")
OPTION( 0,  "target",         "TRIPLE",     TEXT,  target,         "crvib",
       "cross-compile for this system, an LLVM triple (that of --isa)")
OPTION( 0,  "cpu",            "NAME",       TEXT,  cpu,            "crvibt",
       "CPU, by LLVM's name, for whose timings LLVM schedules")
OPTION( 0,  "backend",        "NAME",       TEXT,  backend,        "crvikbpt",
       "backend that writes the kernels: c, llvm, opencl, cuda or metal (c); profile: all but llvm")
OPTION( 0,  "device",         "DEVICE",    TEXT,  device,         "RvBp",
       "device on which a bundle of --backend=opencl, cuda or metal runs: its number in tgc devices, or a part of its name")
OPTION( 0,  "device",         "DEVICE",    TEXT,  device,         "t",
       "device to tune for: its number in tgc devices, or a part of its name")
OPTION( 0,  "device",         "DEVICE",    TEXT,  device,         "k",
       "check that this device has what the kernels need: its number or a part of its name")
OPTION( 0,  "device",         "DEVICE",    TEXT,  device,         "ci",
       "device whose schedules are taken from the tuner's store: its number or a part of its name")
OPTION( 0,  "emit",           "KIND",       TEXT,  emit,           "c",
       "form of the bundle's code: c; with --backend=llvm ir, asm, obj, lib or so; with opencl cl; with metal metal; with cuda "
       "cu, ptx, cubin or fatbin, which is cubins where nvFatbin is missing (c; llvm obj, cuda fatbin); so needs a linker")
OPTION( 0,  "arch",           "LIST",       TEXT,  archs,          "crvibp",
       "architectures that --backend=cuda compiles for, as sm_75,sm_90 (that of --isa); inspect: resources of kernels there")
OPTION( 0,  "embed-weights",  "HOW",       MAYBE, embed,          "c",
       "put the weights into the program: incbin (by the assembler, default) or c (an array; slow above some 10 MB)")
OPTION( 0,  "no-cpu-check",   0,           FLAG,  no_cpu_check,   "c",
       "skip the CPU feature check in net_init")
OPTION( 0,  "self-test",      0,           FLAG,  self_test,      "c",
       "add reference inputs and outputs, with which `make check` tests the bundle")
OPTION( 0,  "dim",            "NAME=N",    LIST,  dims,           "crvikbptq",
       "size of a dynamic dimension, named as in the model or as INPUT:AXIS")
OPTION( 0,  "result",         "NAME",      LIST,  results,        "crvikbpt",
       "make this value an output in place of the model's outputs, and drop what it does not need; may be repeated")
OPTION( 0,  "capacity",       "N",         COUNT, capacity,       "crvikbpt",
       "rows reserved for results whose size depends on data; one more output says how many are valid")
OPTION('i', "input",          "[NAME=]FILE", LIST, inputs,        "RvBp",
       "input file: .npy, .npz, .pb, or raw bytes; without a name, inputs are taken in order")
OPTION( 0,  "data",           "PATH",      TEXT,  data,           "cRvBpq",
       "folder with input_J and output_J as .pb or .npy, or an .npz of inputs and outputs")
OPTION( 0,  "percentile",     "P",         REAL,  percentile,     "q",
       "percentile of each sample's elements that calibration keeps in a value's range (100: all)")
OPTION( 0,  "state",          "IN=OUT[:KEY=VALUE,...]", LIST, states, "crvibpt",
       "keep OUT inside the bundle as IN of the next run; * matches part of the names. Keys: axis, capacity, init, grow")
OPTION( 0,  "steps",          "N",         COUNT, steps,          "Rv",    "number of successive runs of a model with states (1)")
OPTION( 0,  "outputs",        "FILE",      TEXT,  outputs,        "v",
       "compare these outputs, which the bundle's example saved with --save on any machine; run nothing here")
OPTION( 0,  "format",         "FORMAT",    TEXT,  format,         "R",     "format of output files: npy, pb or raw (npy)")
OPTION( 0,  "seed",           "N",         SIZE,  seed,           "cRvBp", "seed of random inputs, for inputs without a file (0)")
OPTION( 0,  "precision",      "HOW",       TEXT,  precision,      "crvibpt",
       "arithmetic precision: fp32, the default; fp32-strict, sums in one order everywhere; fp32-fast, within 2^-14; bf16x6 or "
       "bf16x3, factors as sums of bf16; bf16 or fp16 weights")
OPTION( 0,  "weights",        "HOW",       TEXT,  weights,        "crvibpt",
       "weight-only quantisation: fp32 (default), bf16, fp16, int8 or int4, for weights that a run reads only a few times")
OPTION( 0,  "denormals",      "HOW",       TEXT,  denormals,      "crvbp",
       "denormal floats in kernels: flush (to zero; default but for fp32-strict), or keep, which may cost time")
OPTION( 0,  "rtol",           "X",         REAL,  rtol,           "v",     "relative tolerance (1e-3)")
OPTION( 0,  "atol",           "X",         REAL,  atol,           "v",     "absolute tolerance (1e-7)")
OPTION( 0,  "schedule",       "FILE",      TEXT,  schedule,       "crvibp",
       "lock file with schedules (MODEL.tgc-lock, if it exists), or none")
OPTION( 0,  "lock",           "FILE",      TEXT,  lock,           "ci",
       "write all decisions of the compilation to a lock file, for --schedule")
OPTION( 0,  "no-tune-store",  0,           FLAG,  no_store,       "crvibp", "do not use schedules of the tuner's store")
OPTION( 0,  "tune-db",        "FILE",      TEXT,  tune_db,        "crvibpt",
       "file of the tuner's store ($XDG_CACHE_HOME/tgc/tune.db)")
OPTION( 0,  "tune-log",       "FILE",      TEXT,  tune_log,       "t",
       "merge this log, if it exists, into the store; at the end write the store to it")
OPTION( 0,  "time",           "TIME",      TEXT,  time,           "t",     "how long to search: 90, 90s, 5m or 1h (60s)")
OPTION( 0,  "cc-limit",       "TIME",      TEXT,  cc_limit,       "t",
       "time limit of the C compiler for one file, or of a device's driver for the kernels of a round (10s)")
OPTION( 0,  "cc-limit",       "TIME",      TEXT,  cc_limit,       "cRvBpq",
       "time limit of the C compiler or the linker for one file (10m)")
OPTION( 0,  "trials",         "N",         SIZE,  trials,         "t",
       "stop after this many candidates; 0 (default): no limit")
OPTION( 0,  "no-validate",      0,           FLAG,  no_validate,      "t",
       "keep the schedules found without testing them in the whole model")
OPTION( 0,  "beam",           "N",         COUNT, beam,           "t",
       "schedules of a nest that the search varies at a time (4)")
OPTION( 0,  "kernel-groups",         "WHICH",     TEXT,  groups,         "crvibpt",
       "kernels to run chunk by chunk in groups: faster (default), where the cost model predicts a gain; none; or all that can")
OPTION( 0,  "tunable",        "NAME=VALUE", LIST, settings,      "crvibpt",
       "set a threshold, limit or rate of the compiler, as inspect --tunables lists them; rates=0.8 scales all rates; may be "
       "repeated")
OPTION( 0,  "tunables",       0,           FLAG,  tunables,       "i",
       "list the tunables with values, units and reasons; reads no model")
OPTION('d', "dump",           "LETTERS",   TEXT,  dump,           "crvibp",
       "print the intermediate representation after the passes and steps with these letters, on stderr")
OPTION( 0,  "stop-after",     "PASS",      TEXT,  stop_after,     "c",
       "stop after this pass or step and print the text form on stdout; load: the model as it was read")
OPTION( 0,  "kernel",         "K",         SIZE,  kernel,         "crvibp",
       "let --dump and --stop-after print kernel K only; the first is 0")
OPTION( 0,  "time-passes",    0,           FLAG,  time_passes,    "c",     "print how long each pass and step took, on stderr")
OPTION( 0,  "start-after",    "PASS",      MAYBE, start_after,    "c",
       "go on from a dump that --stop-after=PASS -o FILE wrote, in place of a model; it holds the pass and the options")
OPTION( 0,  "explain",        0,           FLAG,  explain,        "ci",
       "show for each kernel its source nodes, schedule, operations and bytes")
OPTION( 0,  "threads",        "N",         COUNT, threads,        "RvBpqt", "threads that share the work of a run (1)")
OPTION( 0,  "runs",           "N",         COUNT, runs,           "Bp",    "number of timed runs (as many as fit in --seconds)")
OPTION( 0,  "seconds",        "X",         REAL,  seconds,        "Bp",    "run time of each competitor in seconds (2)")
OPTION( 0,  "vs-ort",         0,           FLAG,  vs_ort,         "B",
       "alternate with ONNX Runtime and compare times, through the Python named by TGC_PYTHON (python3)")
OPTION( 0,  "vs-untuned",     0,           FLAG,  vs_untuned,     "B",
       "alternate with the bundle without tuned schedules and compare times")
OPTION( 0,  "trace",          "FILE",      TEXT,  trace,          "p",
       "write a Chrome trace of a run near the median, with a lane per thread")
OPTION( 0,  "json",           0,           FLAG,  json,           "RvikBptdoq", "print a report as JSON")
OPTION( 0,  "max-nodes",      "N",         COUNT, max_nodes,      "crvikbptq",
       "limit of the model's nodes, after inlining functions (10000000)")
OPTION( 0,  "max-unroll",     "N",         COUNT, max_unroll,     "crvikbptq",
       "limit of nodes made by unrolling loops, scans, sequences and recurrent operators (1000000)")
OPTION( 0,  "max-nesting",    "N",         COUNT, max_nesting,    "crvikbptq", "limit of nested messages in the file (100)")
OPTION( 0,  "max-decoded",    "BYTES",     COUNT, max_decoded,    "crvikbptq",
       "memory limit for the decoded file (32 times its size, plus 64 MB)")
OPTION( 0,  "max-fold",       "BYTES",     COUNT, max_fold,       "crvikbptq",
       "memory limit for results of constant folding (4 times the model, at least 256 MB)")
OPTION( 0,  "max-fold-steps", "N",         COUNT, max_fold_steps, "crvikbptq",
       "limit of operations spent on constant folding (4000000000)")
OPTION( 0,  "allow-hardlinks", 0,          FLAG,  hardlinks,      "crvikbptq",
       "accept external data files with more than one hard link")
OPTION( 0,  "no-index-status", 0,          FLAG,  no_index_status, "crvikbpt",
       "do not report indices out of range in a run's status; they are clamped either way")
OPTION('q', "quiet",          0,           FLAG,  quiet,          "*",     "no warnings and no progress")
OPTION('v', "verbose",        0,           FLAG,  verbose,        "*",     "print what is being done")
OPTION('h', "help",           0,           FLAG,  help,           "*",     "print this help")
OPTION( 0,  "man",            0,           FLAG,  man,            "*",     "print the manual page as troff source")
OPTION( 0,  "version",        0,           FLAG,  version,        "*",     "print the version")
/* clang-format on */
