/* cpu/model/fiber.h: switches between the scheduler and the fibers, and the failure of a launch. */
#ifndef SGEMM_CPU_FIBER_H
#define SGEMM_CPU_FIBER_H

#include "cpu/model/worker.h"

#if defined(__SANITIZE_ADDRESS__)
#define SGEMM__CPU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SGEMM__CPU_ASAN 1
#endif
#endif
#ifndef SGEMM__CPU_ASAN
#define SGEMM__CPU_ASAN 0
#endif
#if SGEMM__CPU_ASAN
#include <sanitizer/common_interface_defs.h> /* AddressSanitizer has to know each switch of stacks */
#endif

static sgemm__cpu_fiber *sgemm__cpu_running(sgemm__cpu_worker *w) {
  return &w->fibers[w->rank * (int)w->grid->size.threads + w->thread];
}

/* ---- Switches ---------------------------------------------------------------------------------------------------- */

/* sgemm__cpu_resume() switches from the scheduler to the running fiber and returns when that fiber yields.
   sgemm__cpu_yield() switches from the running fiber to the scheduler and returns when the scheduler resumes the fiber.

   With AddressSanitizer both call swapcontext(), because _longjmp() of AddressSanitizer does not support fibers.
   swapcontext() makes two system calls for each switch, since it also sets the signal mask. Other builds therefore
   call _longjmp(). They declare it by its symbol: the macro of _FORTIFY_SOURCE refuses jumps to another stack. */
#if SGEMM__CPU_ASAN

static void sgemm__cpu_resume(sgemm__cpu_worker *w) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(w);
  void *fake;
  __sanitizer_start_switch_fiber(&fake, w->stacks + (size_t)(f - w->fibers) * SGEMM__CPU_STACK, SGEMM__CPU_STACK);
  swapcontext(&w->scheduler, &f->context);
  __sanitizer_finish_switch_fiber(fake, NULL, NULL);
}

static void sgemm__cpu_yield(sgemm__cpu_worker *w) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(w);
  void *fake;
  __sanitizer_start_switch_fiber(&fake, w->scheduler_stack, w->scheduler_stack_size);
  swapcontext(&f->context, &w->scheduler);
  __sanitizer_finish_switch_fiber(fake, &w->scheduler_stack, &w->scheduler_stack_size);
}

#else

void sgemm__cpu_jump(jmp_buf to, int value) __asm__("_longjmp") __attribute__((noreturn));

static void sgemm__cpu_resume(sgemm__cpu_worker *w) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(w);
  if (_setjmp(w->scheduler_resume_point) != 0)
    return;
  if (f->started)
    sgemm__cpu_jump(f->resume_point, 1);
  f->started = 1;
  setcontext(&f->context);
}

static void sgemm__cpu_yield(sgemm__cpu_worker *w) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(w);
  if (_setjmp(f->resume_point) == 0)
    sgemm__cpu_jump(w->scheduler_resume_point, 1);
}

#endif

/* Yields until the phase of the given parity of mbarrier b has completed. b = NULL: yields until the scheduler's next
   pass over the threads of the block. */
static void sgemm__cpu_suspend(const sgemm__mbarrier *b, int parity) {
  sgemm__cpu_fiber *f = sgemm__cpu_running(sgemm__cpu);
  f->suspended = 1;
  f->awaited = b;
  f->awaited_parity = (uint32_t)parity;
  sgemm__cpu_yield(sgemm__cpu);
}

/* Entry of a fiber. The fiber runs its thread of one block after another. When the launch ends, the fiber stays at its
   last yield. */
static void sgemm__cpu_fiber_main(void) {
  sgemm__cpu_worker *w = sgemm__cpu;
#if SGEMM__CPU_ASAN
  __sanitizer_finish_switch_fiber(NULL, &w->scheduler_stack, &w->scheduler_stack_size);
#endif
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
