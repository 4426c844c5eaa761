/* counts.c: launches every compiled variant once at one size, A and B packed, alpha 1, beta 0. Leaves out variants that
   the device cannot run, with a line on stderr.

     counts M N K OP        sizes 1 to 65536; OP is NN, NT, TN or TT

   On the CPU model it prints the memory requests of each launch (SGEMM_COUNTS of cpu/sgemm_model.h) as CSV. On a GPU it
   prints each kernel's registers, shared memory and occupancy, and ncu_compare.py counts the launches with Nsight
   Compute. From the repository's root:

     gcc -std=c11 -O2 -ffp-contract=off -I. -DSGEMM_CPU=1 -DSGEMM_CPU_COUNT=1 -DSGEMM_STAGE=all \
         tools/counts.c cpu/sgemm.c -lpthread -lm -o counts
     nvcc -x cu -std=c++17 -O3 -I. -DMACHINE_CUDA=1 -DSGEMM_STAGE=all -gencode=arch=compute_90a,code=sm_90a \
         tools/counts.c cuda/sgemm.cu -o counts_cuda */
#include "tools/machine.h"
#include "sgemm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#if defined(MACHINE_CUDA) && MACHINE_CUDA

static void print_heading(void) {
  printf("kernel,threads,registers,shared_bytes,local_bytes,blocks,warps,occupancy_percent,limit\n");
}

static sgemm_status print_row(const sgemm_variant_info *v, const sgemm_params *p, const char *kernel) {
  static const char *const limits[] = {"threads", "blocks", "registers", "shared memory"};
  const sgemm_variant variant = (sgemm_variant)(v - sgemm_variant_get((sgemm_variant)0));
  sgemm_device device;
  sgemm_occupancy o;
  int registers;
  int64_t shared, local;
  sgemm_status status = sgemm_device_query(-1, &device);
  if (status == SGEMM_SUCCESS)
    status = sgemm_kernel_resources(variant, (sgemm_op)p->op_a, (sgemm_op)p->op_b, &registers, &shared, &local);
  if (status != SGEMM_SUCCESS)
    return status;
  o = sgemm_occupancy_of(&device, v->threads, registers, shared);
  printf("%s,%d,%d,%lld,%lld,%d,%d,%.1f,%s\n", kernel, v->threads, registers, (long long)shared, (long long)local,
         o.blocks, o.warps, 100.0 * o.fraction, limits[o.limit]);
  return SGEMM_SUCCESS;
}

#else

#include "cpu/sgemm_model.h"

#if !SGEMM_CPU_COUNT
#error "counts.c needs SGEMM_CPU_COUNT=1, or MACHINE_CUDA=1"
#endif

static void print_heading(void) {
  printf("kernel,m,n,k");
#define SGEMM__X(counter, metric) printf("," #counter);
  SGEMM_COUNTS(SGEMM__X)
#undef SGEMM__X
  printf("\n");
}

static sgemm_status print_row(const sgemm_variant_info *v, const sgemm_params *p, const char *kernel) {
  const sgemm_counts *c = sgemm_model_counts();
  (void)v;
  printf("%s,%lld,%lld,%lld", kernel, (long long)p->m, (long long)p->n, (long long)p->k);
#define SGEMM__X(counter, metric) printf(",%lld", (long long)c->counter);
  SGEMM_COUNTS(SGEMM__X)
#undef SGEMM__X
  printf("\n");
  return SGEMM_SUCCESS;
}

#endif

static int fail(const char *what, const char *detail) {
  fprintf(stderr, "counts: %s: %s\n", what, detail);
  return 2;
}

/* The size that the text gives, or 0 if it gives none. */
static int64_t parse_size(const char *text) {
  char *end;
  long long value;
  errno = 0;
  value = strtoll(text, &end, 10);
  return errno == 0 && end != text && *end == '\0' && value >= 1 && value <= 65536 ? value : 0;
}

/* Device memory with `count` small integers; NULL if there is not enough. */
static float *operand(int64_t count) {
  const size_t bytes = (size_t)count * sizeof(float);
  float *host = (float *)malloc(bytes), *device = (float *)machine_alloc(bytes);
  int64_t i;
  for (i = 0; host != NULL && i < count; i++)
    host[i] = (float)(i % 7 - 3);
  if (host == NULL || device == NULL || machine_upload(device, host, bytes)) {
    machine_free(device);
    device = NULL;
  }
  free(host);
  return device;
}

static int run(sgemm_op op_a, sgemm_op op_b, int64_t m, int64_t n, int64_t k, const char *ops) {
  sgemm_params p = sgemm_params_init(op_a, op_b, m, n, k);
  float *A = operand(m * k), *B = operand(k * n), *C = operand(m * n);
  int i;
  if (A == NULL || B == NULL || C == NULL)
    return fail(machine_name(), "not enough memory for the matrices");
  p.A = A;
  p.B = B;
  p.C = C;
  print_heading();
  for (i = 0; i < SGEMM_VARIANT_COUNT; i++) {
    const sgemm_variant_info *v = sgemm_variant_get((sgemm_variant)i);
    const sgemm_plan plan = sgemm_variant_plan((sgemm_variant)i, &p);
    char kernel[96];
    sgemm_status status;
    int letters, error;
    if (!sgemm_compiled((sgemm_variant)i))
      continue;
    /* The letters of the ops that the kernel does not read at run time. */
    letters = 2 - v->any_op_a - v->any_op_b;
    snprintf(kernel, sizeof kernel, "%s%s%.*s", v->name, letters > 0 ? "_" : "", letters, ops + (v->any_op_a != 0));
    p.workspace_bytes = sgemm_plan_workspace(&plan, &p);
    p.workspace = p.workspace_bytes > 0 ? machine_alloc((size_t)p.workspace_bytes) : NULL;
    if (p.workspace == NULL && p.workspace_bytes > 0)
      return fail(machine_name(), "not enough memory for the workspace");
    status = sgemm_run_variant((sgemm_variant)i, &p, NULL);
    if (status == SGEMM_SUCCESS && (error = machine_wait()) != 0)
      return fail(kernel, machine_error(error));
    if (status == SGEMM_SUCCESS)
      status = print_row(v, &p, kernel);
    if (status == SGEMM_ERROR_PLAN)
      fail(kernel, "left out, no variant for this device and these operands");
    else if (status != SGEMM_SUCCESS)
      return fail(kernel, sgemm_status_string(status));
    machine_free(p.workspace);
    fflush(stdout);
  }
  machine_free(C);
  machine_free(B);
  machine_free(A);
  return 0;
}

int main(int argc, char **argv) {
  static const char *const names[] = {"NN", "NT", "TN", "TT"}, *const suffixes[] = {"nn", "nt", "tn", "tt"};
  int64_t size[3];
  int i, ops = 0;
  if (argc != 5)
    return fail("four arguments are needed", "M N K OP");
  for (i = 0; i < 3; i++)
    if ((size[i] = parse_size(argv[i + 1])) == 0)
      return fail("a size is not a whole number from 1 to 65536", argv[i + 1]);
  while (ops < 4 && strcmp(argv[4], names[ops]) != 0)
    ops++;
  if (ops == 4)
    return fail("OP is not NN, NT, TN or TT", argv[4]);
  if (!machine_present())
    return fail("no device to run on", machine_name());
  return run(ops / 2 ? SGEMM_T : SGEMM_N, ops % 2 ? SGEMM_T : SGEMM_N, size[0], size[1], size[2], suffixes[ops]);
}
