/* cpu/model/cp_async.h: cp.async of the CPU model. A copy takes place when its thread waits for its commit group. From
   the issue to that wait the destination is unwritten, so the model reports a thread that reads it too early. */
#ifndef SGEMM_CPU_CP_ASYNC_H
#define SGEMM_CPU_CP_ASYNC_H

#include "cpu/model/shared_memory.h"

#include <stdlib.h>

/* Adds a copy to the pending ones of the running thread. floats: 1 or 4; 0: the copy writes one zero. */
static inline void sgemm__cpu_issue_copy(float *shared, const float *p, int floats) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(sgemm__cpu);
  sgemm__cpu_check_waited(SGEMM__CPU_DEFERRED);
  if (f->copy_count == f->copy_capacity) {
    const int capacity = f->copy_capacity > 0 ? 2 * f->copy_capacity : 64;
    sgemm__cpu_copy *copies = (sgemm__cpu_copy *)realloc(f->copies, (size_t)capacity * sizeof *copies);
    if (copies == NULL)
      sgemm__cpu_abort(SGEMM_ERROR_MEMORY, "no memory for the pending copies", NULL, 0);
    f->copies = copies;
    f->copy_capacity = capacity;
  }
  f->copies[f->copy_count].to = shared;
  f->copies[f->copy_count].from = p;
  f->copies[f->copy_count].floats = floats;
  f->copies[f->copy_count].group = f->copy_group;
  f->copy_count++;
  sgemm__cpu_mark_unwritten(shared, floats == 4 ? 4 : 1);
}

static inline void sgemm__copy(float *shared, const float *p, int inside) {
  if (inside)
    sgemm__count_access(SGEMM__COUNT_LOAD_GLOBAL, p, 1);
  else
    sgemm__count_skip();
  sgemm__count_access(SGEMM__COUNT_STORE_SHARED, shared, 1);
  sgemm__cpu_issue_copy(shared, p, inside ? 1 : 0);
}

static inline void sgemm__copy_single4(float *shared, const float *p, int step, int exist) {
  int v;
  for (v = 0; v < 4; v++)
    sgemm__copy(shared + v * step, p + v * step, v * step < exist);
}

static inline void sgemm__copy4(float *shared, const float *p) {
  sgemm__cpu_check_aligned(p);
  sgemm__cpu_check_aligned(shared);
  sgemm__count_access(SGEMM__COUNT_LOAD_GLOBAL, p, 4);
  sgemm__count_access(SGEMM__COUNT_STORE_SHARED, shared, 4);
  sgemm__cpu_issue_copy(shared, p, 4);
}

static inline void sgemm__copy4_if(float *shared, const float *p, int inside) {
  static const float zeros[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  sgemm__cpu_check_aligned(shared);
  if (inside) {
    sgemm__cpu_check_aligned(p);
    sgemm__count_access(SGEMM__COUNT_LOAD_GLOBAL, p, 4);
  } else {
    sgemm__count_skip();
  }
  sgemm__count_access(SGEMM__COUNT_STORE_SHARED, shared, 4);
  sgemm__cpu_issue_copy(shared, inside ? p : zeros, 4);
}

static inline void sgemm__copy_commit(void) { sgemm__cpu_running(sgemm__cpu)->copy_group++; }

static inline void sgemm__copy_wait(int most) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(sgemm__cpu);
  int done = 0;
  for (; done < f->copy_count && f->copies[done].group < f->copy_group - most; done++) {
    const sgemm__cpu_copy *c = &f->copies[done];
    const float zero = 0.0f;
    memcpy(c->to, c->floats > 0 ? c->from : &zero, c->floats > 0 ? (size_t)c->floats * sizeof(float) : sizeof zero);
  }
  f->copy_count -= done;
  if (done > 0)
    memmove(f->copies, f->copies + done, (size_t)f->copy_count * sizeof *f->copies);
}

static inline void sgemm__ptxas_fence(void) {}

#endif /* SGEMM_CPU_CP_ASYNC_H */
