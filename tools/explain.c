/* explain.c: why sgemm_run() takes the plan that it takes: the plans that the selection considers for a call, in the
   order of their estimated times, with the terms of the estimate. It needs no GPU.

     explain M N K [OPTION VALUE]...
       --op OP           NN (default), NT, TN or TT
       --batch N         multiplications of the call; default 1
       --beta NUMBER     default 0
       --padding N       floats by which each row is wider than a packed one; default 0
       --workspace MIB   default: without limit; 0: none
       --mode MODE       strict (default), tensor or tensor_full
       --gpu NAME        H200 (default), A100, RTX3090 or RTX3070
       --count N         strict plans to print; default 12

   Columns, in microseconds: the estimate; SMs: the busiest SM; loads: bytes that SMs load over the L2-to-SM throughput;
   memory: the lower bound of bytes; L2: lost L2 reuse; sums: clusters, second kernel, partial tiles; pack: packing;
   power: the power bound. waves: blocks over resident block slots. The formula is in docs/stages/splitk.md, "When each
   pays".
     Exit status: 0, 2 if an argument is wrong. */
#include "sgemm.h"
#include "tools/gpus.h"
#include "tools/numbers.h"
#include "tools/plans.h"

static int fail(const char *what, const char *argument) {
  fprintf(stderr, "explain: %s: %s\n", what, argument);
  return 2;
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

typedef struct options {
  sgemm_params p;
  sgemm_device device;
  int count;
} options;

/* Sets the device of a name. The implementation is compiled for its best architecture. */
static int set_gpu(options *o, const char *name) {
#define X(known, properties, arch) {known, GPU_DEVICE properties},
  static const struct {
    const char *name;
    sgemm_device device;
  } gpus[] = {GPU_LIST(X)};
#undef X
  size_t i;
  for (i = 0; i < sizeof gpus / sizeof *gpus; i++)
    if (strcmp(gpus[i].name, name) == 0) {
      o->device = gpus[i].device;
      o->device.has_sm90a_code = o->device.code_arch == 90;
      return 0;
    }
  return fail("--gpu is not H200, A100, RTX3090 or RTX3070", name);
}

static int set_mode(options *o, const char *name) {
  static const char *const names[] = {"strict", "tensor", "tensor_full"};
  for (o->p.mode = SGEMM_STRICT; o->p.mode <= SGEMM_TENSOR_FULL; o->p.mode++)
    if (strcmp(names[o->p.mode], name) == 0)
      return 0;
  return fail("--mode is not strict, tensor or tensor_full", name);
}

/* Sets one option. 0 is success. *padding: floats that widen each row. */
static int set_option(options *o, const char *name, const char *value, char op[3], long long *padding) {
  long long number;
  char *end;
  if (strcmp(name, "--gpu") == 0)
    return set_gpu(o, value);
  if (strcmp(name, "--mode") == 0)
    return set_mode(o, value);
  if (strcmp(name, "--op") == 0) {
    if (strlen(value) != 2 || strspn(value, "NT") != 2)
      return fail("--op is not NN, NT, TN or TT", value);
    memcpy(op, value, 3);
    return 0;
  }
  if (strcmp(name, "--beta") == 0) {
    o->p.beta = strtof(value, &end);
    return end != value && *end == '\0' ? 0 : fail("--beta is not a number", value);
  }
  if (strcmp(name, "--batch") == 0) {
    if (!numbers_parse(value, 1, 1 << 30, &number))
      return fail("--batch is not a whole number of at least 1", value);
    o->p.batch = number;
    return 0;
  }
  if (strcmp(name, "--padding") == 0)
    return numbers_parse(value, 0, 1 << 20, padding) ? 0
                                                     : fail("--padding is not a whole number from 0 to 1048576", value);
  if (strcmp(name, "--workspace") == 0) {
    if (!numbers_parse(value, 0, 1 << 20, &number))
      return fail("--workspace is not a whole number of MiB from 0 to 1048576", value);
    o->p.workspace_bytes = number << 20;
    return 0;
  }
  if (strcmp(name, "--count") == 0) {
    if (!numbers_parse(value, 1, 1000, &number))
      return fail("--count is not a whole number from 1 to 1000", value);
    o->count = (int)number;
    return 0;
  }
  return fail("unknown option", name);
}

static int parse(options *o, int argc, char **argv) {
  long long size[3], padding = 0;
  char op[3] = "NN";
  sgemm_params packed;
  int i;
  memset(o, 0, sizeof *o);
  o->p.batch = 1;
  o->p.workspace_bytes = INT64_MAX;
  o->count = 12;
  if (argc < 4 || set_gpu(o, "H200"))
    return fail("usage", "explain M N K [OPTION VALUE]...");
  for (i = 0; i < 3; i++)
    if (!numbers_parse(argv[1 + i], 1, 1 << 30, &size[i]))
      return fail("a size is not a whole number of at least 1", argv[1 + i]);
  for (i = 4; i < argc; i += 2) {
    if (i + 1 == argc)
      return fail("the option needs a value", argv[i]);
    if (set_option(o, argv[i], argv[i + 1], op, &padding))
      return 2;
  }
  packed = sgemm_params_init(op[0] == 'N' ? SGEMM_N : SGEMM_T, op[1] == 'N' ? SGEMM_N : SGEMM_T, size[0], size[1],
                             size[2]);
  packed.batch = o->p.batch;
  packed.beta = o->p.beta;
  packed.mode = o->p.mode;
  packed.workspace_bytes = o->p.workspace_bytes;
  packed.lda += padding;
  packed.ldb += padding;
  packed.ldc += padding;
  packed.stride_a = (packed.op_a == SGEMM_N ? packed.m : packed.k) * packed.lda;
  packed.stride_b = (packed.op_b == SGEMM_N ? packed.k : packed.n) * packed.ldb;
  packed.stride_c = packed.m * packed.ldc;
  o->p = packed;
  return 0;
}

/* ---- The plans --------------------------------------------------------------------------------------------------- */

enum { CANDIDATES_MOST = SGEMM_VARIANT_COUNT * SGEMM__PLAN_NUMBERS };

static void print_candidate(const options *o, const sgemm__problem *q, const sgemm_plan *plan, double us) {
  const sgemm__variant_calibration *own = sgemm__calibration_of(plan->variant);
  const sgemm__candidate r = sgemm__candidate_of(plan->variant, own, q, &sgemm__h200);
  const sgemm__waves w = sgemm__waves_of(plan, &r, q);
  const double mhz = o->device.clock_mhz;
  const double pack = (plan->repack_a ? q->pack_a : 0.0) + (plan->repack_b ? q->pack_b : 0.0);
  char fields[64];
  int used = 0;
  fields[0] = '\0';
  if (plan->cluster_k > 1)
    used += snprintf(fields + used, sizeof fields - (size_t)used, " cluster_k %d", plan->cluster_k);
  if (plan->split_k > 1)
    used += snprintf(fields + used, sizeof fields - (size_t)used, " split_k %d", plan->split_k);
  if (plan->stream_k > 1)
    used += snprintf(fields + used, sizeof fields - (size_t)used, " stream_k %d", plan->stream_k);
  if (plan->serial_k > 1)
    used += snprintf(fields + used, sizeof fields - (size_t)used, " serial_k %d", plan->serial_k);
  if (plan->repack_a || plan->repack_b)
    snprintf(fields + used, sizeof fields - (size_t)used, " packs %s%s", plan->repack_a ? "A" : "",
             plan->repack_b ? "B" : "");
  printf(
      "%10.1f %10.1f %10.1f %10.1f %8.1f %8.1f %8.1f %10.1f %8.2f %8.1f  %s%s\n", us,
      sgemm__sm_time(&w, plan, &r) / mhz, sgemm__load_time(&w, plan, &r) / mhz,
      sgemm__memory_time(&w, plan, &r, q, &sgemm__h200) / mhz, sgemm__lost_reuse(&w, plan, &r, q, &sgemm__h200) / mhz,
      (sgemm__split_cost(plan, &r, q, &sgemm__h200) + (w.units - 1.0) * w.left * r.partial) / mhz,
      sgemm__pack_cost(pack, q->dram_byte, &sgemm__h200) / mhz, sgemm__power_bound(&w, plan, &r, q) / mhz,
      w.blocks / w.wave, (double)sgemm_plan_workspace(plan, &o->p) / 1048576.0, r.v->name + strlen("sgemm_"), fields);
}

int main(int argc, char **argv) {
  static sgemm_plan plans[CANDIDATES_MOST];
  static double us[CANDIDATES_MOST];
  options o;
  sgemm_params strict;
  sgemm__problem q;
  sgemm_plan selected;
  char line[400];
  int i, count;
  if (parse(&o, argc, argv))
    return 2;
  q = sgemm__problem_of(&o.p, &o.device, &sgemm__h200);
  selected = sgemm_select(&o.p, SGEMM_STAGE_ANY, &o.device);
  sgemm_plan_describe(&selected, &o.p, &o.device, line, sizeof line);
  strict = o.p;
  strict.mode = SGEMM_STRICT;
  count = sgemm_candidates(&strict, &o.device, plans, us, CANDIDATES_MOST);
  printf("%s\n%s\n%d strict plans are considered:\n", o.device.name, line, count);
  printf("%10s %10s %10s %10s %8s %8s %8s %10s %8s %8s\n", "estimate", "SMs", "loads", "memory", "L2", "sums", "pack",
         "power", "waves", "MiB");
  for (i = 0; i < count && i < o.count; i++)
    print_candidate(&o, &q, &plans[i], us[i]);
  return fflush(stdout) == 0 ? 0 : fail("standard output", strerror(errno));
}
