/* options.h: every verb and every option, a row each. The parser, the help and the man page come
 * from here. Verbs of an option: letters c compile, r run, v verify, i inspect, k check, b bench, p profile,
 * t tune, q quantize, d devices, o ops; * stands for all. A capital letter: also where the verb is given a bundle, which is
 * compiled already. What means something else to another verb has a row for that.
 * Kinds: FLAG; TEXT one value, the last counts; LIST may be repeated; SIZE an integer, with k M G for powers of 1024;
 * COUNT the same from 1 on; REAL; MAYBE a value only after '=', "yes" without. */
/* clang-format off */
VERB(compile, "MODEL -o DIR",   "write a bundle: C source, weights, build files and a manifest")
VERB(run,     "MODEL|BUNDLE",   "compile, build and run on this machine, and show the outputs")
VERB(verify,  "MODEL",          "run a real bundle and compare it with reference data or with the interpreter")
VERB(inspect, "MODEL",          "show inputs, outputs, operators, cost, kernels and memory")
VERB(check,   "MODEL",          "say whether the model can be compiled and what is missing")
VERB(bench,   "MODEL|BUNDLE",   "measure the latency on this machine, beside ONNX Runtime if asked")
VERB(profile, "MODEL",          "say where the time goes, kernel by kernel")
VERB(tune,    "MODEL",          "search schedules for its kernels on this machine, and keep them")
VERB(quantize, "MODEL -o OUT", "write the model in 8 bits, by ranges that its values take on sample inputs")
VERB(devices, "",               "say what this machine has, and for which machines bundles can be built and run here")
VERB(ops,     "",               "list the operators of the intermediate representation and of ONNX, and the passes")
/*     letter name            argument     kind   field           verbs    help */
OPTION('o', "output",         "DIR",       TEXT,  out,            "c",     "the folder of the bundle; with --stop-after, a file for the text")
OPTION('o', "output",         "DIR",       TEXT,  out,            "R",     "a folder for the outputs as files")
OPTION('o', "output",         "FILE",      TEXT,  out,            "t",     "the lock file (MODEL.tgc-lock), or none")
OPTION('o', "output",         "FILE",      TEXT,  out,            "q",     "the new model")
OPTION( 0,  "name",           "NAME",      TEXT,  name,           "c",     "prefix of files and C symbols of the bundle (net)")
OPTION( 0,  "isa",            "ISA",       TEXT,  isa,            "c",
       "the machine to compile for: portable, native or a level that `tgc devices` lists, with +FEATURE and -FEATURE behind "
       "(native-amx), or fat, all of x86-64 in one bundle (" DEFAULT_ISA ")")
OPTION( 0,  "isa",            "ISA",       TEXT,  isa,            "rvikbpt", "the machine to compile for, as compile takes it (native)")
OPTION( 0,  "target",         "TRIPLE",     TEXT,  target,         "crvib", "the system to compile for, in LLVM's notation (that of --isa)")
OPTION( 0,  "cpu",            "NAME",       TEXT,  cpu,            "crvibt", "a CPU, by LLVM's name, whose timings LLVM schedules for")
OPTION( 0,  "backend",        "NAME",       TEXT,  backend,        "crvikbpt", "what writes the kernels: c, llvm, opencl, cuda or metal (c); profile: all but llvm")
OPTION( 0,  "device",         "DEVICE",    TEXT,  device,         "RvBp",
       "the device that a bundle of --backend=opencl, cuda or metal runs on: its number, as tgc devices lists it, or a part of its name")
OPTION( 0,  "device",         "DEVICE",    TEXT,  device,         "t",     "the device to tune for: its number, as tgc devices lists it, or a part of its name")
OPTION( 0,  "device",         "DEVICE",    TEXT,  device,         "k",     "the device that must have what the kernels need: its number or a part of its name")
OPTION( 0,  "device",         "DEVICE",    TEXT,  device,         "ci",    "the device whose schedules are taken from the tuner's store: its number or a part of its name")
OPTION( 0,  "emit",           "KIND",       TEXT,  emit,           "c",
       "the code of the bundle: c; by LLVM ir, asm, obj, lib, so; cl for OpenCL; metal; for CUDA cu, ptx, cubin, or fatbin, which is cubins where nvFatbin is missing (c; with --backend=llvm obj, with cuda fatbin); so needs a linker")
OPTION( 0,  "arch",           "LIST",       TEXT,  archs,          "crvibp",
       "architectures that --backend=cuda compiles for, as sm_75,sm_90 (that of --isa); inspect: what kernels take there")
OPTION( 0,  "embed-weights",  "HOW",       MAYBE, embed,          "c",
       "put the weights into the program: incbin (assembler, the default) or c (an array; slow beyond some 10 MB)")
OPTION( 0,  "no-cpu-check",   0,           FLAG,  no_cpu_check,   "c",
       "leave out of net_init the question whether the CPU has the instructions that the code uses")
OPTION( 0,  "self-test",      0,           FLAG,  self_test,      "c",
       "pack reference inputs and outputs, so that `make check` in the bundle proves it")
OPTION( 0,  "dim",            "NAME=N",    LIST,  dims,           "crvikbptq",
       "value of a dynamic dimension, by its name or as INPUT:AXIS")
OPTION( 0,  "result",         "NAME",      LIST,  results,        "crvikbpt",
       "make this value the output and leave out what it does not need; may be repeated")
OPTION( 0,  "capacity",       "N",         COUNT, capacity,       "crvikbpt",
       "rows of results whose size depends on data; how many count is one more output")
OPTION('i', "input",          "[NAME=]FILE", LIST, inputs,        "RvBp",
       "an input: .npy, .npz, .pb, or raw bytes; without a name they count in order")
OPTION( 0,  "data",           "PATH",      TEXT,  data,           "cRvBpq",
       "a folder of input_J and output_J, .pb or .npy, or an .npz of inputs and outputs")
OPTION( 0,  "percentile",     "P",         REAL,  percentile,     "q",
       "of the elements of each value and sample, those outside this part do not count for its range (100)")
OPTION( 0,  "state",          "IN=OUT[:KEY=VALUE,...]", LIST, states, "crvibpt",
       "keep an input and an output inside, from run to run; * stands for part of the names. Keys: axis, capacity, init, grow")
OPTION( 0,  "steps",          "N",         COUNT, steps,          "Rv",    "runs, one after another, of a model with states (1)")
OPTION( 0,  "outputs",        "FILE",      TEXT,  outputs,        "v",
       "judge these outputs, which the bundle's example wrote by --save on any machine, and run nothing here")
OPTION( 0,  "format",         "FORMAT",    TEXT,  format,         "R",     "of output files: npy, pb or raw (npy)")
OPTION( 0,  "seed",           "N",         SIZE,  seed,           "cRvBp", "seed of inputs that no file gives (0)")
OPTION( 0,  "precision",      "HOW",       TEXT,  precision,      "crvibpt",
       "how floats are summed: fp32, the default; fp32-strict, in one order everywhere; fp32-fast, within 2^-14; bf16x6 or bf16x3, as sums of bf16; bf16 or fp16 weights")
OPTION( 0,  "weights",        "HOW",       TEXT,  weights,        "crvibpt",
       "how weights are stored that a run reads a few times only: fp32, the default, bf16, fp16, int8 or int4")
OPTION( 0,  "denormals",      "HOW",       TEXT,  denormals,      "crvbp",
       "denormal floats in kernels: flush to zero, the default but for fp32-strict, or keep, where they may cost time")
OPTION( 0,  "rtol",           "X",         REAL,  rtol,           "v",     "relative tolerance (1e-3)")
OPTION( 0,  "atol",           "X",         REAL,  atol,           "v",     "absolute tolerance (1e-7)")
OPTION( 0,  "schedule",       "FILE",      TEXT,  schedule,       "crvibp",
       "a lock file of schedules (MODEL.tgc-lock, where there is one), or none")
OPTION( 0,  "lock",           "FILE",      TEXT,  lock,           "ci",
       "write all that was decided to a lock file, which --schedule takes")
OPTION( 0,  "no-tune-store",  0,           FLAG,  no_store,       "crvibp", "take no schedules from the tuner's store")
OPTION( 0,  "tune-db",        "FILE",      TEXT,  tune_db,        "crvibpt",
       "the tuner's store ($XDG_CACHE_HOME/tgc/tune.db)")
OPTION( 0,  "tune-log",       "FILE",      TEXT,  tune_log,       "t",
       "merge this log into the store where it exists, and write the store to it at the end")
OPTION( 0,  "time",           "TIME",      TEXT,  time,           "t",     "how long to search: 90, 90s, 5m or 1h (60s)")
OPTION( 0,  "cc-limit",       "TIME",      TEXT,  cc_limit,       "t",     "how long the C compiler may take for a file, or a device's driver for the kernels of a round (10s)")
OPTION( 0,  "cc-limit",       "TIME",      TEXT,  cc_limit,       "cRvBpq", "how long the C compiler or the linker may take for a file (10m)")
OPTION( 0,  "trials",         "N",         SIZE,  trials,         "t",     "stop after so many candidates; 0, the default, is no limit")
OPTION( 0,  "no-validate",      0,           FLAG,  no_validate,      "t",     "keep what was found without trying it in the whole model")
OPTION( 0,  "beam",           "N",         COUNT, beam,           "t",     "schedules of a nest that are varied at a time (4)")
OPTION( 0,  "kernel-groups",         "WHICH",     TEXT,  groups,         "crvibpt",
       "kernels to run chunk by chunk with others: faster, those for which the model of cost is (the default), none, or all that can")
OPTION( 0,  "tunable",        "NAME=VALUE", LIST, settings,      "crvibpt",
       "set a threshold, limit or rate of the compiler, as inspect --tunables lists them, or all rates by a factor: rates=0.8; may be repeated")
OPTION( 0,  "tunables",       0,           FLAG,  tunables,       "i",     "list what --tunable sets: values, units and reasons; no model is read")
OPTION('d', "dump",           "LETTERS",   TEXT,  dump,           "crvibp",
       "print the intermediate representation after the passes and steps of these letters, on stderr")
OPTION( 0,  "stop-after",     "PASS",      TEXT,  stop_after,     "c",
       "print the text form after a pass or a step of kernels on stdout and stop; the first is load")
OPTION( 0,  "kernel",         "K",         SIZE,  kernel,         "crvibp",
       "print kernel K only, where --dump or --stop-after print kernels; the first is 0")
OPTION( 0,  "time-passes",    0,           FLAG,  time_passes,    "c",     "print how long each pass and step took, on stderr")
OPTION( 0,  "start-after",    "PASS",      MAYBE, start_after,    "c",
       "go on from a dump, which --stop-after=PASS wrote with -o, in place of a model; the dump knows the pass and the options")
OPTION( 0,  "explain",        0,           FLAG,  explain,        "ci",
       "for each kernel: the nodes it came from, its schedule, operations and bytes")
OPTION( 0,  "threads",        "N",         COUNT, threads,        "RvBpqt", "threads that share the work of a run (1)")
OPTION( 0,  "runs",           "N",         COUNT, runs,           "Bp",    "runs that are timed (as many as --seconds holds)")
OPTION( 0,  "seconds",        "X",         REAL,  seconds,        "Bp",    "how long each competitor runs (2)")
OPTION( 0,  "vs-ort",         0,           FLAG,  vs_ort,         "B",
       "time ONNX Runtime in turn with the bundle, through the Python named by TGC_PYTHON (python3)")
OPTION( 0,  "vs-untuned",     0,           FLAG,  vs_untuned,     "B",
       "time the bundle without searched schedules in turn with the one that has them")
OPTION( 0,  "trace",          "FILE",      TEXT,  trace,          "p",     "write a run of about the median as a Chrome trace, with a lane for each thread")
OPTION( 0,  "json",           0,           FLAG,  json,           "RvikBptdoq", "print a report as JSON")
OPTION( 0,  "max-nodes",      "N",         COUNT, max_nodes,      "crvikbptq", "limit of nodes after inlining (10000000)")
OPTION( 0,  "max-unroll",     "N",         COUNT, max_unroll,     "crvikbptq",
       "limit of nodes that the steps of loops, scans, sequences and recurrent operators become (1000000)")
OPTION( 0,  "max-nesting",    "N",         COUNT, max_nesting,    "crvikbptq", "limit of nested messages in the file (100)")
OPTION( 0,  "max-decoded",    "BYTES",     COUNT, max_decoded,    "crvikbptq",
       "limit of memory for the decoded file (32 times the file and 64 MB)")
OPTION( 0,  "max-fold",       "BYTES",     COUNT, max_fold,       "crvikbptq",
       "limit of what constant folding may produce (4 times the model or 256 MB)")
OPTION( 0,  "max-fold-steps", "N",         COUNT, max_fold_steps, "crvikbptq",
       "limit of operations constant folding may spend (4000000000)")
OPTION( 0,  "allow-hardlinks", 0,          FLAG,  hardlinks,      "crvikbptq",
       "accept external data files that have more than one link")
OPTION( 0,  "no-index-status", 0,          FLAG,  no_index_status, "crvikbpt",
       "do not look for indices out of range in a run's data, which are clamped, to report them as its status")
OPTION('q', "quiet",          0,           FLAG,  quiet,          "*",     "no warnings and no progress")
OPTION('v', "verbose",        0,           FLAG,  verbose,        "*",     "say what is being done")
OPTION('h', "help",           0,           FLAG,  help,           "*",     "print this help")
OPTION( 0,  "man",            0,           FLAG,  man,            "*",     "print the manual page as troff source")
OPTION( 0,  "version",        0,           FLAG,  version,        "*",     "print the version")
/* clang-format on */
