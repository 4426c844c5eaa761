/* Tests that need a GPU: races, graphs, host threads, devices, grids of more than 65,535 blocks in y or z, resources of
   kernels, and errors of the CUDA runtime. Compiled with MACHINE_CUDA=1. */
#include "tests/testing.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define CUDA(call)                                                                                                     \
  do {                                                                                                                 \
    const cudaError_t error = (call);                                                                                  \
    cr_assert(error == cudaSuccess, "%s: %s", #call, cudaGetErrorString(error));                                       \
  } while (0)

/* The first compiled variant from `variant` on; SGEMM_VARIANT_NONE: there is none. */
static sgemm_variant compiled_from(int variant) {
  while (variant < SGEMM_VARIANT_COUNT && !sgemm_compiled((sgemm_variant)variant))
    variant++;
  return (sgemm_variant)variant;
}
#define FOR_EACH_VARIANT(v) for (v = compiled_from(0); v < SGEMM_VARIANT_COUNT; v = compiled_from(v + 1))

/* ---- Races ------------------------------------------------------------------------------------------------------- */

/* Stage tma with full SMs, hundreds of k-steps and many runs. All runs must have equal bits, and no result may be NaN,
   as one that is not written is. */
Test(races, same_bits_each_time, .timeout = 300) {
  enum { SIZE = 3072, RUNS = 24 };
  const size_t bytes = sizeof(float) * SIZE * SIZE;
  float *A, *B, *C, *first = (float *)malloc(bytes), *again = (float *)malloc(bytes);
  void *workspace;
  const size_t workspace_bytes = (size_t)256 << 20;
  int v, ops, i, j; /* ops 4: NN with B repacked */
  need_backend();
  cr_assert(first != NULL && again != NULL);
  CUDA(cudaMalloc((void **)&A, bytes));
  CUDA(cudaMalloc((void **)&B, bytes));
  CUDA(cudaMalloc((void **)&C, bytes));
  CUDA(cudaMalloc(&workspace, workspace_bytes));
  for (i = 0; i < SIZE * SIZE; i++) {
    first[i] = (float)(i * 7919LL % 1021 - 510) / 511.0f;
    again[i] = (float)(i * 104729LL % 997 - 498) / 499.0f;
  }
  CUDA(cudaMemcpy(A, first, bytes, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(B, again, bytes, cudaMemcpyHostToDevice));
  FOR_EACH_VARIANT(v)
  for (ops = 0; ops < 5 && sgemm_variant_get((sgemm_variant)v)->uses_tma; ops++) {
    sgemm_params p = sgemm_params_init(ops / 2 % 2 ? SGEMM_T : SGEMM_N, ops % 2 ? SGEMM_T : SGEMM_N, SIZE, SIZE, SIZE);
    sgemm_plan plan = sgemm_variant_plan((sgemm_variant)v, &p);
    plan.repack_b = ops == 4;
    p.A = A;
    p.B = B;
    p.C = C;
    p.workspace = workspace;
    p.workspace_bytes = (int64_t)workspace_bytes;
    for (i = 0; i < RUNS; i++) {
      CUDA(cudaMemset(C, 255, bytes));
      cr_assert(sgemm_run_plan(&plan, &p, NULL) == SGEMM_SUCCESS);
      CUDA(cudaMemcpy(i == 0 ? first : again, C, bytes, cudaMemcpyDeviceToHost));
      cr_assert(i == 0 || memcmp(first, again, bytes) == 0, "%s, ops %d, run %d",
                sgemm_variant_get((sgemm_variant)v)->name, ops, i);
    }
    for (j = 0; j < SIZE * SIZE && !isnan(first[j]); j++)
      ;
    cr_assert(j == SIZE * SIZE, "%s, ops %d: result %d is NaN", sgemm_variant_get((sgemm_variant)v)->name, ops, j);
  }
  CUDA(cudaFree(A));
  CUDA(cudaFree(B));
  CUDA(cudaFree(C));
  CUDA(cudaFree(workspace));
  free(first);
  free(again);
}

/* ---- Streams, graphs, threads, devices --------------------------------------------------------------------------- */

/* A problem with the workspace of sgemm_workspace_query(). */
static problem workspace_problem(int op_a, int op_b, int64_t m, int64_t n, int64_t k) {
  problem q = problem_of(SGEMM_VARIANT_NONE, op_a, op_b, m, n, k, EXACT);
  cr_assert(sgemm_workspace_query(&q.p, &q.p.workspace_bytes) == SGEMM_SUCCESS);
  return q;
}

/* Captures a call in a graph and replays the graph. In mode cudaStreamCaptureModeGlobal, an allocation or a
   synchronisation of the process fails the capture. */
static void capture_and_replay(problem q) {
  sgemm_stream stream = schedule(1);
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  sgemm_status status;
  int i;
  q.p.beta = 0.5f;
  problem_make(&q);
  CHECK(problem_upload(&q));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  status = q.plan.split_k > 0 ? sgemm_run_plan(&q.plan, &q.p, stream) : sgemm_run(&q.p, stream);
  cr_assert(status == SGEMM_SUCCESS, "status %d: %s", status, sgemm_status_string(status));
  CUDA(cudaStreamEndCapture(stream, &graph));
  CHECK(problem_download(&q));
  cr_assert(memcmp(q.C.before, q.C.after, (size_t)q.C.count * sizeof(float)) == 0, "the capture wrote C");
  CUDA(cudaGraphInstantiateWithFlags(&replay, graph, 0));
  for (i = 0; i < 3; i++) {
    CHECK(problem_upload(&q));
    CUDA(cudaGraphLaunch(replay, stream));
    CHECK(problem_download(&q));
    CHECK(problem_check(&q));
  }
  CUDA(cudaGraphExecDestroy(replay));
  CUDA(cudaGraphDestroy(graph));
  problem_free(&q);
}

/* A graph of the tensor mode, which decides on the device in each replay: with a spread of 2^18 in A full range
   computes the call, with a NaN strict fp32, else fp16x3. The graph reads the operands of the replay. */
Test(streams, graphs_with_a_fallback) {
  static const uint32_t reasons[] = {SGEMM_GUARD_SPREAD | SGEMM_GUARD_FULL_RANGE, 0, SGEMM_GUARD_NONFINITE,
                                     SGEMM_GUARD_SPREAD | SGEMM_GUARD_FULL_RANGE};
  problem q = problem_of(SGEMM_VARIANT_NONE, SGEMM_N, SGEMM_N, 1030, 1040, 1050, ROUNDING);
  sgemm_stream stream = schedule(1);
  sgemm_device device;
  sgemm_plan plan;
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  sgemm_status status;
  int i, k;
  need_backend();
  q.p.mode = SGEMM_TENSOR;
  q.nonfinite = 1;
  q.p.beta = 0.5f;
  cr_assert(sgemm_device_query(-1, &device) == SGEMM_SUCCESS);
  q.p.workspace_bytes = INT64_MAX;
  plan = sgemm_select(&q.p, SGEMM_STAGE_ANY, &device);
  need(plan.tensor != SGEMM_TENSOR_VARIANT_NONE && device.has_sm90a_code, "device with wgmma");
  plan.tensor_fallback = SGEMM_wgmma_bf16x6_128x128; /* the selection takes it for larger calls alone */
  q.p.workspace_bytes = sgemm_plan_workspace(&plan, &q.p);
  problem_make(&q);
  CHECK(problem_upload(&q));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  status = sgemm_run_plan(&plan, &q.p, stream);
  cr_assert(status == SGEMM_SUCCESS, "status %d: %s", status, sgemm_status_string(status));
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphInstantiateWithFlags(&replay, graph, 0));
  for (i = 0; i < 4; i++) {
    uint32_t reason;
    for (k = 0; k < 4; k++)
      *element(&q.A, 0, 700, k) = reasons[i] & SGEMM_GUARD_SPREAD ? 0x1p-20f : 0.5f;
    *element(&q.A, 0, 1029, 1049) = reasons[i] & SGEMM_GUARD_NONFINITE ? NAN : 1.0f;
    CHECK(problem_upload(&q));
    CUDA(cudaGraphLaunch(replay, stream));
    CHECK(problem_download(&q));
    CHECK(problem_check(&q));
    cr_assert(sgemm_guard_query(&q.p, &reason, stream) == SGEMM_SUCCESS &&
              cudaStreamSynchronize(stream) == cudaSuccess);
    cr_assert(reason == reasons[i], "replay %d: reason %u, want %u", i, reason, reasons[i]);
  }
  CUDA(cudaGraphExecDestroy(replay));
  CUDA(cudaGraphDestroy(graph));
  problem_free(&q);
}

/* Graphs of one launch, of few tiles with a long k, and of split-K with its second kernel. */
Test(streams, graphs) {
  problem split_k;
  need_backend();
  capture_and_replay(workspace_problem(SGEMM_N, SGEMM_T, 300, 310, 37));
  capture_and_replay(workspace_problem(SGEMM_T, SGEMM_N, 60, 70, 5000));
  split_k = problem_of(SGEMM_async_64x64x8_8x8, SGEMM_N, SGEMM_N, 100, 130, 500, EXACT);
  problem_plan(&split_k, 1, 5);
  capture_and_replay(split_k);
}

/* A call whose workspace comes from the pool: unaligned operands, which are packed, or split-K. */
static problem auto_problem(int op_a, int op_b, int64_t m, int64_t n, int64_t k) {
  problem q = problem_of(SGEMM_VARIANT_NONE, op_a, op_b, m, n, k, EXACT);
  q.p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  return q;
}

/* The first capture of the process also creates the pool. */
Test(streams, graphs_that_allocate) {
  need_backend();
  capture_and_replay(auto_problem(SGEMM_T, SGEMM_N, 60, 70, 20000));
  capture_and_replay(auto_problem(SGEMM_N, SGEMM_N, 1023, 1025, 1027));
}

/* A workspace of 6 TB, which no device has: the plan is refused before a launch, and the runtime keeps no error. After
   a release the pool allocates again. */
Test(streams, workspaces_from_the_pool) {
  problem q = auto_problem(SGEMM_N, SGEMM_T, 200, 400, 30001); /* 94 MB of packed operands on an H200 */
  sgemm_params huge;
  sgemm_plan plan;
  sgemm_status status;
  int i;
  need_backend();
  problem_make(&q);
  for (i = 0; i < 2; i++) {
    CHECK(problem_upload(&q));
    CHECK(problem_run(&q, schedule(1)));
    CHECK(problem_check(&q));
    cr_assert(sgemm_release_workspaces() == SGEMM_SUCCESS);
  }
  huge = sgemm_params_init(SGEMM_N, SGEMM_T, 100000, 100000, 10000000);
  huge.A = q.p.A;
  huge.B = q.p.B;
  huge.C = q.p.C;
  huge.workspace_bytes = SGEMM_WORKSPACE_AUTO;
  plan = sgemm_variant_plan(compiled_from(0), &huge);
  plan.tensor = (sgemm_tensor_variant)(SGEMM_TENSOR_VARIANT_COUNT - 1); /* for any GPU from sm_80 on */
  cr_assert(sgemm_plan_workspace(&plan, &huge) > (int64_t)6e12);
  status = sgemm_run_plan(&plan, &huge, schedule(1));
  cr_assert(status == SGEMM_ERROR_WORKSPACE, "status %d: %s", status, sgemm_status_string(status));
  cr_assert(cudaPeekAtLastError() == cudaSuccess);
  CHECK(problem_upload(&q));
  CHECK(problem_run(&q, schedule(1)));
  CHECK(problem_check(&q));
  problem_free(&q);
}

/* A stream that is being captured cannot be tuned on. The capture goes on, and so does that of another stream. */
Test(streams, tuning_beside_captures) {
  problem q = problem_of(SGEMM_VARIANT_NONE, SGEMM_N, SGEMM_N, 70, 80, 90, EXACT);
  const sgemm_stream stream = (need_backend(), schedule(1)), other = schedule(2);
  sgemm_plan plan = sgemm_variant_plan(SGEMM_VARIANT_NONE, &q.p);
  cudaGraph_t graph = NULL;
  double us = 0.0;
  problem_make(&q);
  CHECK(problem_upload(&q));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  cr_assert(sgemm_cuda_error(sgemm_tune(&q.p, 4, &plan, &us, stream)) == cudaErrorStreamCaptureUnsupported);
  cr_assert(plan.variant == SGEMM_VARIANT_NONE && us == 0.0);
  cr_assert(sgemm_tune(&q.p, 4, &plan, &us, other) == SGEMM_SUCCESS && us > 0.0);
  cr_assert(sgemm_run_plan(&plan, &q.p, stream) == SGEMM_SUCCESS);
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphDestroy(graph));
  problem_free(&q);
}

typedef struct worker {
  int stream;
  problem q;
  const char *fault;
} worker;

static void *work(void *argument) {
  worker *w = (worker *)argument;
  int i;
  for (i = 0; i < 20 && w->fault == NULL; i++) {
    w->q = workspace_problem(i % 2 ? SGEMM_T : SGEMM_N, SGEMM_N, 200 + 7 * i, 190 - 5 * i, 90 + 100 * i + w->stream);
    w->q.seed = (uint64_t)(1 + i + 100 * w->stream);
    if (i % 3 == 0)
      w->q.p.workspace_bytes = SGEMM_WORKSPACE_AUTO;
    w->fault = problem_solve(&w->q, schedule(w->stream));
  }
  return NULL;
}

Test(streams, two_host_threads) {
  worker workers[2];
  pthread_t threads[2];
  int i;
  need_backend();
  memset(workers, 0, sizeof workers);
  for (i = 0; i < 2; i++) {
    workers[i].stream = i + 1;
    schedule(i + 1); /* creates the stream */
  }
  for (i = 0; i < 2; i++)
    cr_assert(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
  for (i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
  CHECK(workers[0].fault);
  CHECK(workers[1].fault);
}

Test(streams, every_device) {
  int count, d;
  need_backend();
  CUDA(cudaGetDeviceCount(&count));
  for (d = 0; d < count; d++) {
    problem q = problem_of(SGEMM_VARIANT_NONE, SGEMM_T, SGEMM_N, 129, 200, 33, EXACT);
    CUDA(cudaSetDevice(d));
    CHECK(problem_solve(&q, NULL));
  }
}

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */

/* C has more tile rows, or tile columns, than the 65,535 blocks of a grid in y or z. */
Test(sizes, tall_and_wide) {
  int v;
  need_backend();
  FOR_EACH_VARIANT(v) {
    const sgemm_variant_info *r = sgemm_variant_get((sgemm_variant)v);
    problem tall = problem_of((sgemm_variant)v, SGEMM_N, SGEMM_N, INT64_C(65536) * r->BM + 1, 2, 3, EXACT);
    problem wide = problem_of((sgemm_variant)v, SGEMM_T, SGEMM_T, 2, INT64_C(65536) * r->BN + 1, 3, EXACT);
    CHECK(problem_solve(&tall, NULL));
    CHECK(problem_solve(&wide, NULL));
  }
}

/* The batch has more matrices than the 65,535 blocks of a grid in y, and does not fill y times z. */
Test(sizes, many_matrices) {
  int v;
  need_backend();
  FOR_EACH_VARIANT(v) {
    problem q = problem_of((sgemm_variant)v, SGEMM_N, SGEMM_N, 1, 2, 3, EXACT);
    q.p.batch = 70001;
    q.p.beta = 1.0f;
    CHECK(problem_solve(&q, NULL));
  }
}

/* ---- Device and resources ---------------------------------------------------------------------------------------- */

Test(device, query) {
  sgemm_device d, current;
  need_backend();
  cr_assert(sgemm_device_query(0, &d) == SGEMM_SUCCESS && sgemm_device_query(-1, &current) == SGEMM_SUCCESS);
  cr_assert_str_eq(d.name, current.name);
  cr_assert(d.name[0] != '\0' && d.major >= 5 && d.minor >= 0 && d.multiprocessors > 0);
  cr_assert(d.lanes == 64 || d.lanes == 128);
  cr_assert(d.threads_per_sm >= 1024 && d.threads_per_sm % 32 == 0 && d.blocks_per_sm >= 16);
  cr_assert(d.registers_per_sm >= 65536 && d.shared_per_sm >= 48 * 1024 && d.l2_bytes > 0);
  cr_assert(d.shared_reserved == (d.major >= 8 ? 1024 : 0), "%d", (int)d.shared_reserved);
  cr_assert(d.cluster_limit == 16 || d.cluster_limit == 0, "%d", d.cluster_limit);
  cr_assert(d.cluster_limit == 16 || d.code_arch < 90 || d.multiprocessors < 100, "%s: %d", d.name, d.cluster_limit);
  cr_assert(fabs(d.peak_gflops - 2e-3 * d.lanes * d.multiprocessors * d.clock_mhz) <= 1e-3 * d.peak_gflops);
  cr_assert(d.bandwidth_gbs > 10.0 && d.bandwidth_gbs < 1e5, "%g GB/s", d.bandwidth_gbs);
}

/* The properties that the selection uses: the code arch, which may be older than the GPU, and the largest shared memory
   of a block. A second query returns the same properties. */
Test(device, selection_properties) {
  sgemm_device d, again;
  need_backend();
  cr_assert(sgemm_device_query(-1, &d) == SGEMM_SUCCESS);
  cr_assert(d.code_arch >= 75 && d.code_arch <= 10 * d.major + d.minor, "%d", d.code_arch);
  cr_assert(!d.has_sm90a_code || d.code_arch == 90, "%d", d.code_arch);
  cr_assert(d.shared_per_block >= 48 * 1024 && d.shared_per_block <= d.shared_per_sm, "%d", (int)d.shared_per_block);
  cr_assert(sgemm_device_query(-1, &again) == SGEMM_SUCCESS);
  cr_assert_str_eq(again.name, d.name);
  cr_assert(again.multiprocessors == d.multiprocessors && again.lanes == d.lanes && again.clock_mhz == d.clock_mhz &&
                again.code_arch == d.code_arch && again.has_sm90a_code == d.has_sm90a_code &&
                again.shared_per_block == d.shared_per_block && again.l2_bytes == d.l2_bytes &&
                again.bandwidth_gbs == d.bandwidth_gbs,
            "the second query differs");
}

/* From stage warptiled on no kernel uses local memory. Only pipelines have more than 48 KiB of shared memory. The
   resident blocks are as many as the register budget allows. */
Test(device, resources) {
  sgemm_device d;
  int v, ops;
  need_backend();
  cr_assert(sgemm_device_query(-1, &d) == SGEMM_SUCCESS);
  FOR_EACH_VARIANT(v) {
    for (ops = 0; ops < 4; ops++) {
      const sgemm_variant_info *r = sgemm_variant_get((sgemm_variant)v);
      const sgemm_op op_a = ops / 2 ? SGEMM_T : SGEMM_N, op_b = ops % 2 ? SGEMM_T : SGEMM_N;
      sgemm_occupancy o;
      int registers;
      int64_t shared, local;
      cr_assert(sgemm_kernel_resources((sgemm_variant)v, op_a, op_b, &registers, &shared, &local) == SGEMM_SUCCESS);
      cr_assert(local == 0 || r->stage < SGEMM_STAGE_warptiled, "%s, ops %d: %d bytes of local memory", r->name, ops,
                (int)local);
      cr_assert(
          registers > 0 && registers <= 255 &&
              (r->uses_tma
                   ? shared == r->shared + (d.has_sm90a_code ? 1024 : 2048) /* mbarriers, descriptors, alignment */
               : r->shared > 0 ? shared == r->shared
                               : shared <= 48 * 1024),
          "%s, ops %d: %d registers, %d bytes shared", r->name, ops, registers, (int)shared);
      cr_assert(sgemm_variant_occupancy((sgemm_variant)v, op_a, op_b, &d, &o) == SGEMM_SUCCESS);
      cr_assert(o.blocks >= r->blocks && o.fraction > 0.0 && o.fraction <= 1.0,
                "%s, ops %d: %d blocks resident, not %d", r->name, ops, o.blocks, r->blocks);
    }
  }
}

Test(device, resources_of_variants_that_are_not_compiled) {
  int v, registers;
  int64_t shared, local;
  need_backend();
  for (v = -1; v <= SGEMM_VARIANT_COUNT; v++)
    if (!sgemm_compiled((sgemm_variant)v))
      cr_assert(sgemm_kernel_resources((sgemm_variant)v, SGEMM_N, SGEMM_N, &registers, &shared, &local) ==
                SGEMM_ERROR_NOT_COMPILED);
}

/* ---- The runtime's errors ---------------------------------------------------------------------------------------- */

Test(errors, no_such_device) {
  sgemm_device d;
  sgemm_status status;
  need_backend();
  status = sgemm_device_query(1000, &d);
  cr_assert(sgemm_cuda_error(status) == cudaErrorInvalidDevice, "status %d", status);
}

/* The runtime refuses a launch: synchronising a stream invalidates its capture, and every launch on the stream fails
   until the capture ends. Neither the device nor the stream keeps the error. */
Test(errors, refused_launch) {
  problem q = problem_of(SGEMM_VARIANT_NONE, SGEMM_N, SGEMM_N, 70, 80, 90, EXACT);
  sgemm_stream stream;
  sgemm_status status;
  cudaGraph_t graph = NULL;
  need_backend();
  stream = schedule(1);
  problem_make(&q);
  CHECK(problem_upload(&q));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cr_assert(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
  status = sgemm_run(&q.p, stream);
  cr_assert(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated && graph == NULL);
  cr_assert(sgemm_cuda_error(status) == cudaErrorStreamCaptureInvalidated, "status %d (%s)", status,
            sgemm_status_string(status));
  cudaGetLastError();
  CHECK(problem_download(&q));
  cr_assert(memcmp(q.C.before, q.C.after, (size_t)q.C.count * sizeof(float)) == 0, "C was written");
  CHECK(problem_run(&q, stream));
  CHECK(problem_check(&q));
  problem_free(&q);
}
