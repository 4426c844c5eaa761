/* cpu/model/fiber.h: switches between the scheduler and the fibers, and the failure of a launch. */
#ifndef SGEMM_CPU_FIBER_H
#define SGEMM_CPU_FIBER_H

#include "cpu/model/worker.h"

#if SGEMM__CPU_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

static sgemm__cpu_fiber *sgemm__cpu_running(sgemm__cpu_worker *w) {
  return &w->fibers[w->rank * (int)w->grid->size.threads + w->thread];
}

/* ---- Switches ---------------------------------------------------------------------------------------------------- */

static void sgemm__cpu_fiber_main(void);

/* AddressSanitizer has to know each switch of stacks. The first function is called before a switch to `size` bytes of
   stack at `stack`, the second one after it, with `kept` of the switch away from this stack (NULL: the first switch to
   it). *from, *from_size: the stack from which the switch came. */
#if SGEMM__CPU_ASAN
static inline void sgemm__cpu_leave_stack(void **kept, const void *stack, size_t size) {
  __sanitizer_start_switch_fiber(kept, stack, size);
}
static inline void sgemm__cpu_enter_stack(void *kept, const void **from, size_t *from_size) {
  __sanitizer_finish_switch_fiber(kept, from, from_size);
}
#else
static inline void sgemm__cpu_leave_stack(void **kept, const void *stack, size_t size) {
  (void)kept, (void)stack, (void)size;
}
static inline void sgemm__cpu_enter_stack(void *kept, const void **from, size_t *from_size) {
  (void)kept, (void)from, (void)from_size;
}
#endif

/* Starts a fiber on its stack. The function does not return: AddressSanitizer would take its frame for one in use. */
SGEMM__CPU_SWITCHES static void sgemm__cpu_start(sgemm__cpu_fiber *f, char *stack) {
  ucontext_t entry;
  f->started = 1;
  getcontext(&entry);
  entry.uc_stack.ss_sp = stack;
  entry.uc_stack.ss_size = SGEMM__CPU_STACK;
  entry.uc_link = NULL;
  makecontext(&entry, sgemm__cpu_fiber_main, 0);
  setcontext(&entry);
}

/* Switches from the scheduler to the running fiber and returns when that fiber yields. */
SGEMM__CPU_SWITCHES static void sgemm__cpu_resume(sgemm__cpu_worker *w) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(w);
  char *stack = w->stacks + (size_t)(f - w->fibers) * SGEMM__CPU_STACK;
  void *kept = NULL;
  sgemm__cpu_leave_stack(&kept, stack, SGEMM__CPU_STACK);
  if (SGEMM__CPU_MARK(w->scheduler_resume_point) == 0) {
    if (f->started)
      SGEMM__CPU_JUMP(f->resume_point);
    sgemm__cpu_start(f, stack);
  }
  sgemm__cpu_enter_stack(kept, NULL, NULL);
}

/* Switches from the running fiber to the scheduler and returns when the scheduler resumes the fiber. */
SGEMM__CPU_SWITCHES static void sgemm__cpu_yield(sgemm__cpu_worker *w) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(w);
  void *kept = NULL;
  sgemm__cpu_leave_stack(&kept, w->scheduler_stack, w->scheduler_stack_size);
  if (SGEMM__CPU_MARK(f->resume_point) == 0)
    SGEMM__CPU_JUMP(w->scheduler_resume_point);
  sgemm__cpu_enter_stack(kept, &w->scheduler_stack, &w->scheduler_stack_size);
}

/* Yields until the phase of the given parity of mbarrier b has completed. b = NULL: yields until the scheduler's next
   pass over the threads of the block. */
static void sgemm__cpu_suspend(const sgemm__mbarrier *b, int parity) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(sgemm__cpu);
  f->suspended = 1;
  f->awaited = b;
  f->awaited_parity = (uint32_t)parity;
  sgemm__cpu_yield(sgemm__cpu);
}

/* Entry of a fiber. The fiber runs its thread of one block after another, in one launch after another: when a launch
   ends, the fiber stays at its last yield. */
static void sgemm__cpu_fiber_main(void) {
  sgemm__cpu_worker *w = sgemm__cpu;
  sgemm__cpu_enter_stack(NULL, &w->scheduler_stack, &w->scheduler_stack_size);
  for (;;) {
    w->grid->kernel(w->grid->args);
    sgemm__cpu_running(w)->barrier_line = 0;
    sgemm__cpu_yield(w);
  }
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

/* Records a failure of the running thread and tells all OS threads to stop. A launch keeps the status and the message
   of its first failure. array: name of a shared array that the message adds with the index, or NULL. */
static void sgemm__cpu_fail(sgemm_status status, const char *what, const char *array, size_t index) {
  sgemm__cpu_worker *w = sgemm__cpu;
  sgemm__cpu_grid *g = w->grid;
  pthread_mutex_lock(&g->lock);
  if (g->status == SGEMM_SUCCESS) {
    const int64_t x = g->size.x, y = g->size.y;
    const int n = snprintf(g->message, sizeof g->message, "block (%lld, %lld, %lld), thread %d: %s",
                           (long long)(w->block % x), (long long)(w->block / x % y), (long long)(w->block / x / y),
                           w->thread, what);
    if (array != NULL)
      snprintf(g->message + n, sizeof g->message - (size_t)n, " %s[%zu]", array, index);
    g->status = status;
  }
  pthread_mutex_unlock(&g->lock);
  atomic_store(&g->failed, 1);
}

/* Fails as sgemm__cpu_fail() does and ends the running fiber: the scheduler resumes no fiber of a failed launch. */
static void sgemm__cpu_abort(sgemm_status status, const char *what, const char *array, size_t index) {
  sgemm__cpu_fail(status, what, array, index);
  sgemm__cpu_yield(sgemm__cpu);
}

#endif /* SGEMM_CPU_FIBER_H */
