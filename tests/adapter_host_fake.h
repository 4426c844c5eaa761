/* adapter_host_fake.h: the cases of adapter_host_test.c that need the devices of adapters/host/device_cpu.c. Included
   at the end of that file. */

/* ---- Order of the streams ---------------------------------------------------------------------------------------- */

/* Results do not depend on when the streams do their work, with memory for few panels and for all. */
static void in_order(int order, uint64_t seed, int pinned) {
  static const int64_t kib[] = {16, 40, 70, 120, 1000};
  int i, beta;
  fake.order = order;
  fake.seed = seed;
  fake.pinned = pinned;
  for (i = 0; i < 5; i++)
    for (beta = 0; beta < 2; beta++) {
      problem q = tiled(SGEMM_ROW_MAJOR, SGEMM_N, beta ? SGEMM_T : SGEMM_N, 1.0f, (float)beta);
      q.o.memory_bytes = kib[i] * 1024;
      q.o.staging_bytes = 48 * 1024;
      make(&q);
      check_done(&q);
      release(&q);
    }
  nothing_is_left();
}
Test(order, late_pinned) { in_order(SGEMM_HOST__FAKE_LATE, 1, 1); }
Test(order, late_pageable) { in_order(SGEMM_HOST__FAKE_LATE, 1, 0); }
Test(order, early_copies_pinned) { in_order(SGEMM_HOST__FAKE_EARLY_COPIES, 1, 1); }
Test(order, early_copies_pageable) { in_order(SGEMM_HOST__FAKE_EARLY_COPIES, 1, 0); }
Test(order, random) {
  uint64_t seed;
  for (seed = 1; seed <= 6; seed++)
    in_order(SGEMM_HOST__FAKE_RANDOM, seed, (int)(seed % 2));
}

/* What stores to C wait for, 20 s or more at most, and what there was when the first one went on. */
static int64_t awaited, put;
static void wait_for_multiplications(void) {
  int64_t none = 0;
  int i;
  for (i = 0; i < 20000 && __atomic_load_n(&fake.multiplications, __ATOMIC_SEQ_CST) < awaited; i++)
    nap(1);
  __atomic_compare_exchange_n(&put, &none, fake.multiplications, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Runs a problem in which every store to C waits until `count` multiplications were put into
   streams. Checks that they are, no more than those, and the result. */
static void stores_wait(problem *q, int64_t count) {
  const int64_t page = page_bytes(), bytes = sgemm__ceil_div(4 * q->C.count, page) * page;
  float *const own = q->C.memory;
  void *memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cr_assert(memory != MAP_FAILED);
  memcpy(memory, own, 4 * (size_t)q->C.count);
  q->C.memory = (float *)memory;
  q->C.first = q->C.memory + GUARD;
  q->p.C = q->C.first;
  put = 0;
  awaited = fake.multiplications + count;
  set_trap(0, (char *)memory, bytes, PROT_READ, wait_for_multiplications);
  check_done(q);
  cr_assert(put == awaited, "%lld multiplications, not %lld", (long long)(put - awaited + count), (long long)count);
  munmap(memory, (size_t)bytes);
  q->C.memory = own;
}

/* The host runs ahead of the GPU and of the stores: the 3 multiplications of each of 3 tiles, the results of a lane,
   are in their stream while the first tile is on its way to C. */
Test(order, runs_ahead) {
  problem q = tiled(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 1.0f, 0.0f);
  fake.order = SGEMM_HOST__FAKE_LATE;
  make(&q);
  stores_wait(&q, 9);
  release(&q);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* Pinned operands are copied once each, by one copy for a panel, and go through no staging memory. */
Test(copies, pinned) {
  problem q = tiled(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 1.0f, 0.0f);
  fake.pinned = 1;
  make(&q);
  check_done(&q);
  cr_assert(fake.copies_in == 3 * 3 + 4 * 3 && fake.copies_out == 12 && fake.multiplications == 36);
  cr_assert(fake.bytes_in == q.r.bytes_in && fake.bytes_out == q.r.bytes_out);
  cr_assert(q.r.bytes_out == 4 * 75 * 101 && q.r.bytes_in == 4 * (75 * 83 + 83 * 101));
  cr_assert(fake.pins == 0);
  release(&q);
}

/* With room for a row of A and two panels of B, A comes in once for each row of tiles, and B once for each but its last
   column, which the next row begins with. */
Test(copies, row_of_a_is_kept) {
  problem q = problem_of(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 96, 160, 96, 1.0f, 0.0f);
  int64_t most;
  fake.pinned = 1;
  q.o.block = q.o.panel = 32;
  q.o.memory_bytes = 3 * 4096 + 6 * 4096; /* 3 results and 6 panels of 4 KiB */
  make(&q);
  check_done(&q);
  cr_assert(q.r.panels == 6, "%d", q.r.panels);
  most = 3 * 3 + 3 * 5 * 3 - 2; /* panels of A, and of B without those that are still there */
  cr_assert(fake.copies_in <= most, "%lld copies, not %lld", (long long)fake.copies_in, (long long)most);
  release(&q);
}

/* With room for four panels each tile begins with the panel that it shares with the tile before, because neighbours go
   through k in opposite directions. */
Test(copies, last_panel_is_kept) {
  problem q = problem_of(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 96, 160, 96, 1.0f, 0.0f);
  fake.pinned = 1;
  q.o.block = q.o.panel = 32;
  q.o.memory_bytes = 3 * 4096 + 4 * 4096;
  make(&q);
  check_done(&q);
  cr_assert(q.r.panels == 4, "%d", q.r.panels);
  cr_assert(fake.copies_in <= 2 * 3 * 15 - 14, "%lld copies", (long long)fake.copies_in);
  release(&q);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* A problem in which every kind of call occurs. */
static problem failing(int pinned) {
  problem q = tiled(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 1.0f, 1.0f);
  fake.pinned = pinned;
  fake.devices = 2;
  q.o.memory_bytes = 100 * 1024;
  q.o.staging_bytes = 48 * 1024;
  make(&q);
  return q;
}

/* Each call of a kind fails in turn: the status is that of the call, done lines are right, and nothing is left. After
   that the adapter works again. */
static void fails(int call, int pinned, int when_run) {
  int64_t at, step = 1, failures = 0;
  for (at = 1;; at += step) {
    problem q = failing(pinned);
    int status;
    memset(fake.calls, 0, sizeof fake.calls);
    fake.fail_call = call;
    fake.fail_at = at;
    fake.fail_when_run = when_run;
    status = run(&q);
    fake.fail_at = 0;
    if (status == SGEMM_SUCCESS) {
      check_lines(&q, q.C.rows);
      release(&q);
      break;
    }
    failures++;
    cr_assert(status == SGEMM_HOST__FAKE_ERROR, "call %lld: %s", (long long)at, sgemm_host_error_string(status));
    check_lines(&q, q.r.lines_done);
    if (call == SGEMM_HOST__FAKE_ALLOC || call == SGEMM_HOST__FAKE_PIN || call == SGEMM_HOST__FAKE_STREAM ||
        call == SGEMM_HOST__FAKE_EVENT)
      check_untouched(&q);
    release(&q);
    q = failing(pinned); /* what the failed call left for the next one is sound */
    check_done(&q);
    release(&q);
    nothing_is_left();
    step = at < 40 ? 1 : at / 8; /* the calls of the first tiles, and then some */
  }
  cr_assert(failures > 0, "no call failed");
  nothing_is_left();
}

#define FAILS(name, call)                                                                                              \
  Test(errors, name##_pinned) { fails(SGEMM_HOST__FAKE_##call, 1, 0); }                                                \
  Test(errors, name##_pageable) { fails(SGEMM_HOST__FAKE_##call, 0, 0); }
FAILS(device, DEVICE)
FAILS(alloc, ALLOC)
FAILS(stream, STREAM)
FAILS(event, EVENT)
FAILS(record, RECORD)
FAILS(wait, WAIT)
FAILS(sync, SYNC)
FAILS(copy_in, COPY_IN)
FAILS(copy_out, COPY_OUT)
FAILS(multiply, MULTIPLY)
Test(errors, pin) { fails(SGEMM_HOST__FAKE_PIN, 0, 0); }
Test(errors, copy_in_when_run) { fails(SGEMM_HOST__FAKE_COPY_IN, 0, 1); }
Test(errors, copy_out_when_run) { fails(SGEMM_HOST__FAKE_COPY_OUT, 0, 1); }
Test(errors, multiply_when_run) { fails(SGEMM_HOST__FAKE_MULTIPLY, 1, 1); }

/* A device that has less memory than the limit says. */
Test(errors, no_device_memory) {
  problem q = failing(0);
  fake.memory_bytes = 1000;
  cr_assert(run(&q) == SGEMM_ERROR_CUDA + 2 && q.r.lines_done == 0);
  check_untouched(&q);
  release(&q);
  nothing_is_left();
}

Test(errors, no_device) {
  problem q = failing(0);
  fake.devices = 0;
  cr_assert(run(&q) == SGEMM_ERROR_CUDA + 100);
  check_untouched(&q);
  release(&q);
}

Test(errors, device_pointers) {
  int i, order;
  for (order = SGEMM_ROW_MAJOR; order <= SGEMM_COL_MAJOR; order++)
    for (i = 0; i < 3; i++) {
      problem q = tiled(order, SGEMM_N, SGEMM_N, 1.0f, 0.0f);
      make(&q);
      fake.on_device = i == 0 ? q.p.A : i == 1 ? q.p.B : q.p.C;
      cr_assert(run(&q) == (int)SGEMM_HOST_ERROR_A + i);
      check_untouched(&q);
      q.p.alpha = 0.0f;
      cr_assert(run(&q) == (i == 2 ? (int)SGEMM_HOST_ERROR_C : (int)SGEMM_SUCCESS));
      release(&q);
    }
}

/* ---- Several devices --------------------------------------------------------------------------------------------- */

static const int numbers[] = {2, 0, 3, 1};

/* Each device gets 3 of the 12 tiles before a tile is stored, because it has 3 results, and no other device gets
   any. */
Test(devices, share_the_tiles) {
  int devices, order, i;
  fake.devices = 4;
  for (order = 0; order < 3; order++)
    for (devices = 1; devices <= 4; devices++) {
      problem q = tiled(SGEMM_COL_MAJOR, SGEMM_N, SGEMM_T, 1.0f, -1.0f);
      fake.order = order;
      memset(fake.multiplications_of, 0, sizeof fake.multiplications_of);
      q.o.device_count = devices;
      q.o.devices = numbers;
      make(&q);
      stores_wait(&q, 9 * devices);
      cr_assert(fake.streams >= 3 * devices);
      for (i = 0; i < 4; i++) {
        const int64_t count = fake.multiplications_of[numbers[i]];
        cr_assert(i < devices ? count >= 9 : count == 0, "device %d: %lld multiplications", numbers[i],
                  (long long)count);
      }
      release(&q);
    }
  nothing_is_left();
}

/* One of the devices fails in the middle: done lines are right, and no thread hangs. */
Test(devices, one_fails) {
  int64_t at;
  fake.devices = 3;
  for (at = 1; at < 36; at += 5) {
    problem q = tiled(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 1.0f, 0.0f);
    q.o.device_count = 3;
    q.o.devices = (const int[]){0, 1, 2};
    make(&q);
    memset(fake.calls, 0, sizeof fake.calls);
    fake.fail_call = SGEMM_HOST__FAKE_MULTIPLY;
    fake.fail_at = at;
    cr_assert(run(&q) == SGEMM_HOST__FAKE_ERROR);
    fake.fail_at = 0;
    check_lines(&q, q.r.lines_done);
    release(&q);
    nothing_is_left();
  }
}

/* The same bits with one device as with four, for elements whose sum depends on the order. */
Test(devices, same_bits) {
  problem q = tiled(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 1.0f, 0.0f);
  float *one;
  int64_t i;
  fake.devices = 4;
  make(&q);
  for (i = 0; i < q.A.count; i++)
    q.A.memory[i] *= 0.1f + (float)(i % 13) * 0.37f;
  cr_assert(run(&q) == SGEMM_SUCCESS);
  one = (float *)malloc(4 * (size_t)q.C.count);
  memcpy(one, q.C.memory, 4 * (size_t)q.C.count);
  memcpy(q.C.memory, q.before, 4 * (size_t)q.C.count); /* NaN */
  q.o.device_count = 4;
  q.o.devices = numbers;
  cr_assert(run(&q) == SGEMM_SUCCESS);
  cr_assert(same(one, q.C.memory, q.C.count));
  free(one);
  release(&q);
}

/* ---- Calls at once ----------------------------------------------------------------------------------------------- */

static void *call(void *context) {
  problem *q = (problem *)context;
  q->r.panels = run(q);
  return NULL;
}

Test(calls, at_once) {
  pthread_t thread[4];
  problem q[4];
  int i;
  for (i = 0; i < 4; i++) {
    q[i] = tiled(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 1.0f, 0.0f);
    make(&q[i]);
    cr_assert(pthread_create(&thread[i], NULL, call, &q[i]) == 0);
  }
  for (i = 0; i < 4; i++) {
    pthread_join(thread[i], NULL);
    cr_assert(q[i].r.panels == SGEMM_SUCCESS);
    check_lines(&q[i], q[i].C.rows);
    release(&q[i]);
  }
  nothing_is_left();
}

/* Of two calls with the default limit, each would take most of the memory. The second one plans with what is left. The
   query of the free memory is so slow that both calls would read it before one allocates. */
Test(calls, at_once_share_the_memory) {
  pthread_t thread[2];
  problem q[2];
  int i;
  fake.memory_bytes = 200 * 1024;
  fake.query_us = 50000;
  for (i = 0; i < 2; i++) {
    q[i] = problem_of(SGEMM_ROW_MAJOR, SGEMM_N, SGEMM_N, 75, 101, 83, 1.0f, 0.0f);
    make(&q[i]);
    cr_assert(pthread_create(&thread[i], NULL, call, &q[i]) == 0);
  }
  for (i = 0; i < 2; i++) {
    pthread_join(thread[i], NULL);
    cr_assert(q[i].r.panels == SGEMM_SUCCESS, "%s", sgemm_host_error_string(q[i].r.panels));
    check_lines(&q[i], q[i].C.rows);
    release(&q[i]);
  }
  nothing_is_left();
}
