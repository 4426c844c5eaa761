/* Tests of sgemm_plan_launches() on the CPU model: the launches in the list are those of sgemm_run_plan(), and give the
   same bits if they are launched from the list. Compiled with SGEMM_CPU=1, for production. */
#define _POSIX_C_SOURCE 200809L
#include "sgemm.h"
#include "sgemm_kernels.cuh"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The launches of sgemm_run_plan() ---------------------------------------------------------------------------- */

typedef struct seen_launch {
  sgemm__kernel kernel;
  sgemm__grid grid;
  unsigned char args[SGEMM_MAX_ARGUMENT_BYTES];
} seen_launch;

static seen_launch seen[16];
static int seen_count;

/* Bytes of the parameter of the kernel that is launched next. The launch does not tell. */
static size_t next_bytes[16];

static sgemm_status spy(sgemm__kernel kernel, sgemm__grid grid, const void *args) {
  cr_assert(seen_count < 16);
  seen[seen_count].kernel = kernel;
  seen[seen_count].grid = grid;
  memcpy(seen[seen_count].args, args, next_bytes[seen_count]);
  seen_count++;
  return sgemm__cpu_launch(kernel, grid, args);
}

#define sgemm__cpu_launch spy
#include "sgemm/launch/run.h"
#undef sgemm__cpu_launch

/* The kernels by name. */
#define NAMED_TWICE(name) {#name, name},
#define NAMED_VALUE(name) NAMED_TWICE(name)
#define ROW(stage, BM, BN, BK, TM, TN, WM, WN, V, bufs, slice_k, blocks, production, reason)                           \
  SGEMM__IF(SGEMM__ENABLED(stage, production))                                                                         \
  (SGEMM__KERNELS(stage, BM, BN, BK, TM, TN)(NAMED2, stage, SGEMM__NAME(stage, BM, BN, BK, TM, TN), 0))
#define NAMED2(stage, name, ...) NAMED_VALUE(name)
#define FORMAT(format, terms, idea) {"sgemm_split_" #format, sgemm_split_##format},
#define TENSOR(engine, format, BM, BN, ...) NAMED_VALUE(SGEMM__TENSOR_NAME(engine, format, BM, BN))
static const struct {
  const char *name;
  sgemm__kernel kernel;
} kernels[] = {NAMED_VALUE(sgemm_pack) NAMED_VALUE(sgemm_reduce_split_k) NAMED_VALUE(sgemm_reduce_stream_k)
                   NAMED_VALUE(sgemm_apply_epilogue) NAMED_VALUE(sgemm_split_fallback) SGEMM_VARIANTS(ROW)
                       SGEMM_FORMATS(FORMAT) SGEMM_TENSOR_VARIANTS(TENSOR)};

static sgemm__kernel kernel_named(const char *name) {
  size_t i;
  for (i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (strcmp(kernels[i].name, name) == 0)
      return kernels[i].kernel;
  return NULL;
}

/* ---- Problems ---------------------------------------------------------------------------------------------------- */

enum { SMS = 6, SIDE = 700 * 700, WORKSPACE = 64 << 20 };

typedef struct fixture {
  sgemm_params p;
  sgemm_device device;
  float *A, *B, *C;
} fixture;

/* Integers in [-3, 3]: every order of summation is exact, in 16-bit terms too. */
static float *filled(uint32_t seed) {
  float *x = (float *)aligned_alloc(256, (SIDE * sizeof(float) + 255) / 256 * 256);
  int i;
  for (i = 0; i < SIDE; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(seed >> 16 & 0x7fff) / 32768.0f < 0.5f ? (float)(seed >> 24 & 3) : -(float)(seed >> 24 & 3);
  }
  return x;
}

static fixture fixture_of(sgemm_op op_a, sgemm_op op_b, int64_t m, int64_t n, int64_t k) {
  const sgemm_model model = {SGEMM_MODEL_FORWARD, 0, 0, SMS};
  fixture f;
  sgemm_model_set(&model);
  cr_assert(sgemm_device_query(-1, &f.device) == SGEMM_SUCCESS && f.device.multiprocessors == SMS);
  f.p = sgemm_params_init(op_a, op_b, m, n, k);
  f.A = filled(1);
  f.B = filled(2);
  f.C = filled(3);
  f.p.A = f.A;
  f.p.B = f.B;
  f.p.C = f.C;
  f.p.workspace = aligned_alloc(256, (WORKSPACE + 255) / 256 * 256);
  f.p.workspace_bytes = WORKSPACE;
  return f;
}

static void fixture_free(fixture *f) {
  free(f->A);
  free(f->B);
  free(f->C);
  free(f->p.workspace);
}

/* An encoder that stores its arguments in the map. */
typedef struct fake_map {
  void *first;
  uint64_t sizes[3], strides[2];
  uint32_t box[3], element_strides[3];
  int32_t type, rank, interleave, swizzle, promotion, fill;
} fake_map;

static int encoder_result, encoder_calls;

static int encoder(void *map, int type, uint32_t rank, void *first, const uint64_t *sizes, const uint64_t *strides,
                   const uint32_t *box, const uint32_t *element_strides, int interleave, int swizzle, int promotion,
                   int fill) {
  fake_map m;
  memset(&m, 0, sizeof m);
  cr_assert((uintptr_t)map % 64 == 0 && rank == 3 && sizeof m <= 128);
  m.first = first;
  memcpy(m.sizes, sizes, sizeof m.sizes);
  memcpy(m.strides, strides, sizeof m.strides);
  memcpy(m.box, box, sizeof m.box);
  memcpy(m.element_strides, element_strides, sizeof m.element_strides);
  m.type = type;
  m.rank = (int32_t)rank;
  m.interleave = interleave;
  m.swizzle = swizzle;
  m.promotion = promotion;
  m.fill = fill;
  memcpy(map, &m, sizeof m);
  encoder_calls++;
  return encoder_result;
}

/* Sets the bytes to 0 that no field of the struct has. */
#define CLEAR(args, type, field)                                                                                       \
  memset((args) + offsetof(type, field) + sizeof(int), 0, 4) /* an int, followed by 4 bytes of padding */
static void clear_padding(const sgemm_launch *launch, unsigned char *args) {
  CLEAR(args, sgemm__args, epilogue.reads);
  if (strcmp(launch->kernel, "sgemm_reduce_split_k") == 0)
    CLEAR(args, sgemm__reduce_args, log2_cols);
  if (strcmp(launch->kernel, "sgemm_pack") == 0) {
    CLEAR(args, sgemm__pack_args, a.repack);
    CLEAR(args, sgemm__pack_args, b.repack);
  }
  if (strcmp(launch->part, "tensor") == 0) {
    CLEAR(args, sgemm__tensor_args, a.presplit);
    CLEAR(args, sgemm__tensor_args, b.presplit);
    CLEAR(args, sgemm__tensor_args, split_k);
    CLEAR(args, sgemm__tensor_args, adds_to_report);
  }
}

static int is_tma(const sgemm_launch *launch) { return strcmp(launch->part, "tma") == 0; }

/* The names of the launches in a list, with blanks between them; valid until the next call. */
static const char *names_of(const sgemm_launch *list, int count) {
  static char names[SGEMM_MAX_LAUNCHES * (sizeof list->kernel + 1)];
  int i;
  names[0] = '\0';
  for (i = 0; i < count; i++) {
    strcat(names, i > 0 ? " " : "");
    strcat(names, list[i].kernel);
  }
  return names;
}

/* Runs a plan, then its launches from the list, and compares. want: the names of the launches. */
static void compare(fixture *f, const sgemm_plan *plan, const char *want) {
  sgemm_launch list[SGEMM_MAX_LAUNCHES + 1];
  float *before = (float *)malloc(SIDE * sizeof(float)), *run = (float *)malloc(SIDE * sizeof(float));
  int i, count = -1;
  memcpy(before, f->C, SIDE * sizeof(float));
  memset(list, 0x5a, sizeof list);
  cr_assert(sgemm_plan_launches(plan, &f->p, &f->device, encoder, list, SGEMM_MAX_LAUNCHES, &count) == SGEMM_SUCCESS);
  cr_assert(memcmp(before, f->C, SIDE * sizeof(float)) == 0 && seen_count == 0, "the call launches nothing");
  for (i = 0; i < count; i++)
    next_bytes[i] = is_tma(&list[i]) ? sizeof(sgemm__tma_args) : list[i].argument_bytes;
  cr_assert_str_eq(names_of(list, count), want);
  for (i = 0; i < (int)sizeof *list; i++)
    cr_assert(((unsigned char *)&list[count])[i] == 0x5a, "no launch behind the last one is written");

  memset(f->p.workspace, 0xff, WORKSPACE);
  cr_assert(sgemm_run_plan(plan, &f->p, NULL) == SGEMM_SUCCESS, "%s", sgemm_model_error());
  memcpy(run, f->C, SIDE * sizeof(float));
  cr_assert(seen_count == count, "%d launches, %d in the list", seen_count, count);

  memcpy(f->C, before, SIDE * sizeof(float));
  memset(f->p.workspace, 0xff, WORKSPACE);
  for (i = 0; i < count; i++) {
    const sgemm__grid grid = {list[i].grid_x,  list[i].grid_y,  list[i].grid_z,
                              list[i].threads, list[i].cluster, list[i].shared_bytes};
    cr_assert(seen[i].kernel == kernel_named(list[i].kernel), "launch %d is not %s", i, list[i].kernel);
    cr_assert(memcmp(&seen[i].grid, &grid, sizeof grid) == 0, "grid of %s", list[i].kernel);
    clear_padding(&list[i], list[i].arguments);
    clear_padding(&list[i], seen[i].args);
    cr_assert(memcmp(seen[i].args, list[i].arguments, next_bytes[i]) == 0, "arguments of %s", list[i].kernel);
    cr_assert(sgemm__cpu_launch(kernel_named(list[i].kernel), grid, list[i].arguments) == SGEMM_SUCCESS);
  }
  cr_assert(memcmp(run, f->C, SIDE * sizeof(float)) == 0, "results from the list");
  cr_assert(count == 0 || memcmp(before, f->C, SIDE * sizeof(float)) != 0, "the launches compute something");
  memcpy(f->C, before, SIDE * sizeof(float));
  seen_count = 0;
  free(before);
  free(run);
}

static sgemm_plan plan_of(sgemm_variant variant, const fixture *f) { return sgemm_variant_plan(variant, &f->p); }

/* ---- The same launches ------------------------------------------------------------------------------------------- */

Test(launches, one_kernel) {
  fixture f = fixture_of(SGEMM_N, SGEMM_T, 130, 70, 37);
  sgemm_plan plan = plan_of(SGEMM_async_64x64x8_8x8, &f);
  compare(&f, &plan, "sgemm_async_64x64x8_8x8_nt");
  f.p.order = SGEMM_COL_MAJOR; /* operands and ops are exchanged */
  f.p.lda = 131, f.p.ldb = 77, f.p.ldc = 133;
  f.p.op_a = SGEMM_T, f.p.lda = 40;
  plan = plan_of(SGEMM_async_64x128x8_8x8, &f);
  compare(&f, &plan, "sgemm_async_64x128x8_8x8");
  fixture_free(&f);
}

Test(launches, split_k_and_clusters) {
  fixture f = fixture_of(SGEMM_T, SGEMM_N, 33, 65, 300);
  sgemm_plan plan = plan_of(SGEMM_splitk_16x32x128_4x4, &f);
  f.p.beta = 2.0f;
  plan.cluster_k = 2;
  compare(&f, &plan, "sgemm_splitk_16x32x128_4x4_tn");
  plan.cluster_k = 1;
  plan.split_k = 3;
  compare(&f, &plan, "sgemm_splitk_16x32x128_4x4_tn sgemm_reduce_split_k");
  fixture_free(&f);
}

Test(launches, gemv_in_a_batch) {
  fixture f = fixture_of(SGEMM_N, SGEMM_N, 1, 50, 260);
  sgemm_plan plan = plan_of(SGEMM_gemv_1x32x256_1x4, &f);
  f.p.batch = 3;
  compare(&f, &plan, "sgemm_gemv_1x32x256_1x4_n");
  fixture_free(&f);
}

Test(launches, tma_packs_and_streams) {
  fixture f = fixture_of(SGEMM_N, SGEMM_N, 150, 140, 101); /* rows of A are not aligned to 16 bytes */
  sgemm_plan plan = plan_of(SGEMM_tma_64x64x32_16x8, &f);
  compare(&f, &plan, "sgemm_pack sgemm_tma_64x64x32_16x8_nn");
  plan.repack_b = 1;
  plan.stream_k = 2 * SMS;
  compare(&f, &plan, "sgemm_pack sgemm_tma_64x64x32_16x8_nt sgemm_reduce_stream_k");
  f.p.alpha = 0.0f; /* the kernel copies nothing, so the maps are not encoded */
  plan = plan_of(SGEMM_tma_64x64x32_16x8, &f);
  encoder_calls = 0;
  compare(&f, &plan, "sgemm_tma_64x64x32_16x8_nn");
  cr_assert(encoder_calls == 0);
  fixture_free(&f);
}

/* BM, BN and BK of the variant differ. A is MN-major, so a box has BK of its rows; B is K-major, and a box has BN. */
Test(launches, tensor_maps) {
  fixture f = fixture_of(SGEMM_T, SGEMM_T, 150, 140, 101);
  sgemm_launch list[SGEMM_MAX_LAUNCHES];
  sgemm_plan plan;
  fake_map a, b;
  int count = 0;
  f.p.lda = 152, f.p.ldb = 104;
  f.p.batch = 2, f.p.stride_a = 152 * 101, f.p.stride_b = 0;
  f.p.stride_c = 150 * 140;
  plan = plan_of(SGEMM_tma_32x256x64_16x8, &f);
  cr_assert(sgemm_plan_launches(&plan, &f.p, &f.device, encoder, list, SGEMM_MAX_LAUNCHES, &count) == SGEMM_SUCCESS);
  cr_assert(count == 1 && list[0].argument_bytes == SGEMM__TENSOR_MAPS_AT + 2 * 128 && list[0].argument_count == 3);
  cr_assert(list[0].argument_offset[0] == 0 && list[0].argument_offset[1] == SGEMM__TENSOR_MAPS_AT &&
            list[0].argument_offset[2] == SGEMM__TENSOR_MAPS_AT + 128);
  memcpy(&a, list[0].arguments + SGEMM__TENSOR_MAPS_AT, sizeof a);
  memcpy(&b, list[0].arguments + SGEMM__TENSOR_MAPS_AT + 128, sizeof b);
  cr_assert(a.first == f.A && a.sizes[0] == 150 && a.sizes[1] == 101 && a.sizes[2] == 2 && a.strides[0] == 4 * 152 &&
            a.strides[1] == 4 * 152 * 101 && a.box[0] == 32 && a.box[1] == 64 && a.box[2] == 1);
  cr_assert(b.first == f.B && b.sizes[0] == 101 && b.sizes[1] == 140 && b.sizes[2] == 1 && b.strides[0] == 4 * 104 &&
            b.box[0] == 32 && b.box[1] == 256 && b.box[2] == 1 && b.element_strides[1] == 1);
  cr_assert(a.type == 7 && a.rank == 3 && a.interleave == 0 && a.swizzle == 3 && a.promotion == 3 && a.fill == 0);
  fixture_free(&f);
}

Test(launches, tensor_modes) {
  fixture f = fixture_of(SGEMM_N, SGEMM_T, 150, 140, 300);
  sgemm_plan plan = plan_of(SGEMM_async_64x64x8_8x8, &f);
  f.p.mode = SGEMM_TENSOR;
  plan.tensor = SGEMM_wgmma_fp16x3_128x64;
  compare(&f, &plan, "sgemm_split_fp16x3 sgemm_wgmma_fp16x3_128x64 sgemm_async_64x64x8_8x8_nt");
  plan.split_k = 2;
  plan.tensor_fallback = SGEMM_wgmma_bf16x6_128x64;
  compare(&f, &plan,
          "sgemm_split_fp16x3 sgemm_wgmma_fp16x3_128x64 sgemm_split_fallback sgemm_wgmma_bf16x6_128x64 "
          "sgemm_reduce_split_k sgemm_async_64x64x8_8x8_nt");
  plan.tensor_fallback = SGEMM_TENSOR_VARIANT_NONE;
  plan.tensor = SGEMM_mma_bf16x6_128x128;
  compare(&f, &plan, "sgemm_split_bf16x6 sgemm_mma_bf16x6_128x128 sgemm_reduce_split_k sgemm_async_64x64x8_8x8_nt");
  fixture_free(&f);
}

/* Each slice has launches of its own, so that a sliced plan has more than SGEMM_MAX_LAUNCHES. No launch beyond the
   capacity is written, and a list of the number that the call tells holds all. */
Test(launches, slices) {
  enum { MOST = 32 };
  static sgemm_launch list[MOST], untouched[MOST];
  fixture f = fixture_of(SGEMM_N, SGEMM_N, 70, 390, 130);
  sgemm_plan plan = plan_of(SGEMM_async_64x64x8_8x8, &f);
  int count = -1, whole, i;
  plan.tensor = SGEMM_mma_fp16x3_128x128;
  cr_assert(sgemm_plan_launches(&plan, &f.p, &f.device, NULL, list, MOST, &whole) == SGEMM_SUCCESS && whole == 3);
  plan.slices_n = 4;
  memset(list, 0x5a, sizeof list);
  memcpy(untouched, list, sizeof list);
  cr_assert(sgemm_plan_launches(&plan, &f.p, &f.device, NULL, list, SGEMM_MAX_LAUNCHES, &count) ==
            SGEMM_ERROR_CAPACITY);
  cr_assert(count > SGEMM_MAX_LAUNCHES && count <= 4 * whole && memcmp(list, untouched, sizeof list) == 0);
  cr_assert(sgemm_plan_launches(&plan, &f.p, &f.device, NULL, list, count, &count) == SGEMM_SUCCESS);
  for (i = 0; i < count; i++)
    cr_assert(list[i].argument_count == 1 && list[i].grid_x > 0);
  cr_assert(memcmp(list + count, untouched, (MOST - count) * sizeof *list) == 0);
  fixture_free(&f);
}

/* The selected plans of sizes that differ in m, n and k, in each mode: the same launches as sgemm_run_plan(). */
Test(launches, selected) {
  static const int64_t sizes[][3] = {{1, 300, 500}, {129, 67, 31}, {640, 320, 129}, {17, 600, 450}, {513, 257, 640}};
  int i, mode;
  for (i = 0; i < 5; i++)
    for (mode = SGEMM_STRICT; mode <= SGEMM_TENSOR_FULL; mode++) {
      fixture f = fixture_of(SGEMM_N, SGEMM_T, sizes[i][0], sizes[i][1], sizes[i][2]);
      sgemm_launch list[SGEMM_MAX_LAUNCHES];
      char names[sizeof list];
      sgemm_plan plan;
      int count = 0;
      f.p.mode = mode;
      plan = sgemm_select(&f.p, SGEMM_STAGE_ANY, &f.device);
      cr_assert(sgemm_plan_launches(&plan, &f.p, &f.device, encoder, list, SGEMM_MAX_LAUNCHES, &count) ==
                SGEMM_SUCCESS);
      cr_assert(count == sgemm__count_launches(&plan, &f.p, &f.device));
      strcpy(names, names_of(list, count));
      compare(&f, &plan, names);
      fixture_free(&f);
    }
}

/* Epilogues: a second kernel, the kernel that sums, and kernels with an epilogue of their own. */
Test(launches, epilogues) {
  fixture f = fixture_of(SGEMM_N, SGEMM_T, 130, 70, 337);
  sgemm_plan plan = plan_of(SGEMM_async_64x64x8_8x8, &f);
  f.p.epilogue = SGEMM_EPILOGUE_gelu;
  compare(&f, &plan, "sgemm_async_64x64x8_8x8_nt sgemm_apply_epilogue");
  cr_assert(sgemm__count_launches(&plan, &f.p, &f.device) == 2);
  plan.split_k = 2;
  compare(&f, &plan, "sgemm_async_64x64x8_8x8_nt sgemm_reduce_split_k");
  cr_assert(sgemm__count_launches(&plan, &f.p, &f.device) == 2);
  plan = plan_of(SGEMM_splitk_32x32x32_4x4, &f);
  compare(&f, &plan, "sgemm_splitk_32x32x32_4x4");
  cr_assert(sgemm__count_launches(&plan, &f.p, &f.device) == 1);
  fixture_free(&f);
}

/* Epilogues in registers: kernels of tma and of the tensor modes apply a row with a mark if the call reads nothing but
   a vector along n of the row-major result, and the rows of aux lie as those of the result do. Else a second kernel
   applies it. */
Test(launches, epilogues_in_registers) {
  fixture f = fixture_of(SGEMM_N, SGEMM_T, 128, 64, 320);
  sgemm_plan plan = plan_of(SGEMM_tma_64x64x32_16x8, &f);
  static float aux[2 * SIDE];
  float vector[128] = {1.0f, -2.0f, 0.5f}, scalar = 1.0f;
  f.p.epilogue = SGEMM_EPILOGUE_gelu;
  f.p.vec_n = vector;
  compare(&f, &plan, "sgemm_tma_64x64x32_16x8_nt");
  cr_assert(sgemm__count_launches(&plan, &f.p, &f.device) == 1);
  plan.stream_k = 3;
  compare(&f, &plan, "sgemm_tma_64x64x32_16x8_nt sgemm_reduce_stream_k");
  plan.stream_k = 0;
  f.p.vec_m = vector;
  compare(&f, &plan, "sgemm_tma_64x64x32_16x8_nt sgemm_apply_epilogue");
  cr_assert(sgemm__count_launches(&plan, &f.p, &f.device) == 2);
  f.p.vec_m = NULL;
  f.p.alpha_device = &scalar;
  compare(&f, &plan, "sgemm_tma_64x64x32_16x8_nt sgemm_apply_epilogue");
  f.p.alpha_device = NULL;
  f.p.beta = 1.0f;
  compare(&f, &plan, "sgemm_tma_64x64x32_16x8_nt sgemm_apply_epilogue");
  f.p.beta = 0.0f;
  f.p.aux = aux;
  f.p.ld_aux = f.p.ldc;
  f.p.stride_aux = f.p.stride_c;
  compare(&f, &plan, "sgemm_tma_64x64x32_16x8_nt");
  f.p.ld_aux++;
  compare(&f, &plan, "sgemm_tma_64x64x32_16x8_nt sgemm_apply_epilogue");
  f.p.ld_aux = f.p.ldc;
  f.p.batch = 2;
  f.p.stride_aux++;
  compare(&f, &plan, "sgemm_tma_64x64x32_16x8_nt sgemm_apply_epilogue");
  f.p.batch = 1;
  f.p.aux = NULL;
  f.p.epilogue = SGEMM_EPILOGUE_sigmoid;
  compare(&f, &plan, "sgemm_tma_64x64x32_16x8_nt sgemm_apply_epilogue");
  plan.tensor = SGEMM_wgmma_bf16x6_128x64;
  compare(&f, &plan, "sgemm_split_bf16x6 sgemm_wgmma_bf16x6_128x64 sgemm_tma_64x64x32_16x8_nt sgemm_apply_epilogue");
  cr_assert(sgemm__count_launches(&plan, &f.p, &f.device) == 4);
  f.p.epilogue = SGEMM_EPILOGUE_gelu;
  compare(&f, &plan, "sgemm_split_bf16x6 sgemm_wgmma_bf16x6_128x64 sgemm_tma_64x64x32_16x8_nt");
  cr_assert(sgemm__count_launches(&plan, &f.p, &f.device) == 3);
  plan.variant = SGEMM_async_64x64x8_8x8;
  compare(&f, &plan, "sgemm_split_bf16x6 sgemm_wgmma_bf16x6_128x64 sgemm_async_64x64x8_8x8_nt sgemm_apply_epilogue");
  cr_assert(sgemm__count_launches(&plan, &f.p, &f.device) == 4);
  fixture_free(&f);
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

Test(launches, parts) {
  fixture f = fixture_of(SGEMM_N, SGEMM_T, 150, 140, 300);
  static const char *const want[] = {"tensor", "tensor", "tensor", "tensor", "host", "async", "host"};
  sgemm_launch list[SGEMM_MAX_LAUNCHES];
  sgemm_plan plan = plan_of(SGEMM_async_64x64x8_8x8, &f);
  int i, count = 0;
  plan.tensor = SGEMM_wgmma_fp16x3_128x64;
  plan.tensor_fallback = SGEMM_wgmma_bf16x6_128x64;
  plan.split_k = 2;
  f.p.epilogue = SGEMM_EPILOGUE_relu;
  cr_assert(sgemm_plan_launches(&plan, &f.p, &f.device, NULL, list, SGEMM_MAX_LAUNCHES, &count) == SGEMM_SUCCESS);
  cr_assert(count == 7 && count == sgemm__count_launches(&plan, &f.p, &f.device), "the longest list of a slice");
  for (i = 0; i < count; i++)
    cr_assert_str_eq(list[i].part, want[i]);
  fixture_free(&f);
}

/* Serial split-K: a kernel for each part of k, and the one that applies an epilogue. */
Test(launches, serial) {
  static const char *const want[] = {"splitk", "splitk", "splitk", "splitk", "splitk",
                                     "splitk", "splitk", "splitk", "host"};
  fixture f = fixture_of(SGEMM_N, SGEMM_T, 150, 140, 300);
  sgemm_launch list[SGEMM_MAX_LAUNCHES];
  sgemm_plan plan = plan_of(SGEMM_splitk_64x64x16_8x4, &f);
  int i, count = 0;
  plan.serial_k = 3;
  compare(&f, &plan, "sgemm_splitk_64x64x16_8x4 sgemm_splitk_64x64x16_8x4 sgemm_splitk_64x64x16_8x4");
  plan.cluster_k = 2;
  plan.serial_k = 8;
  f.p.epilogue = SGEMM_EPILOGUE_relu;
  cr_assert(sgemm_plan_launches(&plan, &f.p, &f.device, NULL, list, SGEMM_MAX_LAUNCHES, &count) == SGEMM_SUCCESS);
  cr_assert(count == 8 && count == sgemm__count_launches(&plan, &f.p, &f.device),
            "19 k-steps are 7 parts of 3: %d launches", count);
  f.p.k = 256;
  cr_assert(sgemm_plan_launches(&plan, &f.p, &f.device, NULL, list, SGEMM_MAX_LAUNCHES, &count) == SGEMM_SUCCESS);
  cr_assert(count == SGEMM_MAX_LAUNCHES && count == sgemm__count_launches(&plan, &f.p, &f.device), "the longest list");
  for (i = 0; i < count; i++)
    cr_assert_str_eq(list[i].part, want[i]);
  fixture_free(&f);
}

/* ---- Nothing to compute, and errors ------------------------------------------------------------------------------ */

Test(launches, nothing_to_compute) {
  fixture f = fixture_of(SGEMM_N, SGEMM_T, 5, 6, 7);
  sgemm_plan plan = plan_of(SGEMM_async_64x64x8_8x8, &f);
  int count = -1;
  f.p.batch = 0;
  cr_assert(sgemm_plan_launches(&plan, &f.p, &f.device, NULL, NULL, 0, &count) == SGEMM_SUCCESS && count == 0);
  f.p.batch = 1;
  f.p.alpha = 0.0f;
  plan.tensor = SGEMM_mma_fp16x3_128x128; /* runs as sgemm_run(): one strict kernel scales C */
  cr_assert(sgemm_plan_launches(&plan, &f.p, &f.device, NULL, NULL, 0, &count) == SGEMM_ERROR_CAPACITY && count == 1);
  fixture_free(&f);
}

#define REFUSED(status, plan, p, device, encode, launches, capacity, count)                                            \
  cr_assert(sgemm_plan_launches(plan, p, device, encode, launches, capacity, count) == (status));                      \
  cr_assert(memcmp(list, untouched, sizeof list) == 0 && number == -1, #status)

/* Only code for sm_90a has a producer warpgroup. */
Test(launches, blocks_of_tma_have_a_producer_in_code_for_sm_90a) {
  fixture f = fixture_of(SGEMM_N, SGEMM_N, 192, 128, 101);
  const sgemm_plan plan = plan_of(SGEMM_tma_64x64x32_16x8, &f);
  sgemm_device other = f.device;
  sgemm_launch list[SGEMM_MAX_LAUNCHES];
  int number = 0;
  cr_assert(sgemm_plan_launches(&plan, &f.p, &f.device, encoder, list, SGEMM_MAX_LAUNCHES, &number) == SGEMM_SUCCESS);
  cr_assert(list[number - 1].threads == 256, "sm_90a: %u threads", list[number - 1].threads);
  other.has_sm90a_code = 0;
  for (other.code_arch = 90; other.code_arch <= 120; other.code_arch += 10) {
    cr_assert(sgemm_plan_launches(&plan, &f.p, &other, encoder, list, SGEMM_MAX_LAUNCHES, &number) == SGEMM_SUCCESS);
    cr_assert(list[number - 1].threads == 128, "sm_%d: %u threads", other.code_arch, list[number - 1].threads);
  }
  fixture_free(&f);
}

Test(launches, errors) {
  fixture f = fixture_of(SGEMM_N, SGEMM_T, 150, 140, 101);
  sgemm_launch list[SGEMM_MAX_LAUNCHES], untouched[SGEMM_MAX_LAUNCHES];
  const sgemm_plan plan = plan_of(SGEMM_tma_64x64x32_16x8, &f); /* packs A and B, then multiplies */
  sgemm_plan bad = plan;
  sgemm_params p = f.p;
  sgemm_device old = f.device;
  int number = -1;
  memset(list, 0x5a, sizeof list);
  memset(untouched, 0x5a, sizeof list);
  REFUSED(SGEMM_ERROR_PARAMS, &plan, NULL, &f.device, encoder, list, 6, &number);
  REFUSED(SGEMM_ERROR_PLAN, NULL, &f.p, &f.device, encoder, list, 6, &number);
  REFUSED(SGEMM_ERROR_DEVICE, &plan, &f.p, NULL, encoder, list, 6, &number);
  REFUSED(SGEMM_ERROR_LAUNCHES, &plan, &f.p, &f.device, encoder, NULL, 6, &number);
  REFUSED(SGEMM_ERROR_LAUNCHES, &plan, &f.p, &f.device, encoder, list, 6, NULL);
  bad.variant = SGEMM_VARIANT_NONE;
  REFUSED(SGEMM_ERROR_VARIANT, &bad, &f.p, &f.device, encoder, list, 6, &number);
  bad = plan;
  bad.repack_a = 0;
  REFUSED(SGEMM_ERROR_PLAN, &bad, &f.p, &f.device, encoder, list, 6, &number);
  old.code_arch = 89;
  old.has_sm90a_code = 0;
  REFUSED(SGEMM_ERROR_PLAN, &plan, &f.p, &old, encoder, list, 6, &number);
  p.lda = 1;
  REFUSED(SGEMM_ERROR_LDA, &plan, &p, &f.device, encoder, list, 6, &number);
  p = f.p;
  p.workspace_bytes = 1024;
  REFUSED(SGEMM_ERROR_WORKSPACE, &plan, &p, &f.device, encoder, list, 6, &number);
  p.workspace = NULL;
  p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  REFUSED(SGEMM_ERROR_WORKSPACE, &plan, &p, &f.device, encoder, list, 6, &number);
  bad = plan_of(SGEMM_naive_32x32x1_1x1, &f);
  REFUSED(SGEMM_ERROR_NOT_COMPILED, &bad, &f.p, &f.device, encoder, list, 6, &number);
  REFUSED(SGEMM_ERROR_TENSOR_MAP, &plan, &f.p, &f.device, NULL, list, 6, &number);
  encoder_result = 1;
  REFUSED(SGEMM_ERROR_TENSOR_MAP, &plan, &f.p, &f.device, encoder, list, 6, &number);
  encoder_result = 0;
  cr_assert(sgemm_plan_launches(&plan, &f.p, &f.device, encoder, list, 1, &number) == SGEMM_ERROR_CAPACITY);
  cr_assert(number == 2 && memcmp(list, untouched, sizeof list) == 0);
  number = -1;
  cr_assert(sgemm_plan_launches(&plan, &f.p, &f.device, encoder, NULL, -1, &number) == SGEMM_ERROR_CAPACITY);
  cr_assert(number == 2);
  p = f.p;
  p.m = INT64_C(1) << 33;
  p.n = INT64_C(1) << 17;
  p.k = 1;
  p = sgemm_params_init(SGEMM_N, SGEMM_N, p.m, p.n, p.k);
  p.A = f.A, p.B = f.B, p.C = f.C;
  number = -1;
  bad = plan_of(SGEMM_async_64x64x8_8x8, &f);
  REFUSED(SGEMM_ERROR_GRID, &bad, &p, &f.device, encoder, list, 6, &number);
  fixture_free(&f);
}
