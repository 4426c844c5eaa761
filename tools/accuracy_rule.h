/* accuracy_rule.h: the definition of "as accurate as fp32" as a program. All modes and cuBLAS multiply the same inputs.
   The errors against the product in double have to keep these rules:

     A  relative Frobenius error over cuBLAS SGEMM's: geometric mean of the seeds at most 1, no seed above 1.5
     B  largest |error| / (|A||B|): at most the larger of cuBLAS's and 4 * 2^-24
     C  bias, the mean of sign(C) error / (|A||B|), of positive inputs at the largest k: at most 4 * 2^-24
     D  limit of rule B, on inputs that are hard to scale
     E  exact results, on integers whose products and sums fp32 represents exactly
     F  zeros, subnormals, FLT_MAX, Inf, NaN, k = 0, sizes that are multiples of nothing: NaN and Inf where strict fp32
        has them, elsewhere within the bound of an fp32 dot product
     G  equal bits in each run, whatever was in C and in the workspace before

   Rules A to D judge results that tensor cores computed. A result that the guard left to strict fp32 must have the bits
   of the strict mode. In rule A it also counts with its error if tensor cores computed another seed of its input and
   k. */
#ifndef ACCURACY_RULE_H
#define ACCURACY_RULE_H

#if defined(MACHINE_CUDA) && MACHINE_CUDA
#include "tools/accuracy_gpu.h"
#else
#include "tools/accuracy_model.h"
#endif

#include <stdarg.h>

#define ROUNDOFF 0x1p-24

/* The three modes by their numbers, the baseline with which they are compared, and a control that must break rules. */
enum { STRICT = SGEMM_STRICT, TENSOR = SGEMM_TENSOR, TENSOR_FULL = SGEMM_TENSOR_FULL, BASELINE, CONTROL, SUBJECTS };

static inline const char *subject_name(int subject) {
  const char *const names[SUBJECTS] = {"strict", "tensor", "tensor_full", accuracy_baseline_name,
                                       accuracy_control_name};
  return names[subject];
}

typedef struct outcome {
  int ran;
  int tensor;       /* 1: tensor cores computed the result, unless left_to_strict() */
  uint32_t guard;   /* a sum of sgemm_guard */
  const char *path; /* name of the variant or of the reference that ran */
  double frobenius, componentwise, bias;
  double inexact, differing, faults; /* numbers of results, as in accuracy_sums */
} outcome;

/* 1 if the guard left the result to strict fp32. */
static inline int left_to_strict(const outcome *r) { return r->guard != 0 && (r->guard & SGEMM_GUARD_FULL_RANGE) == 0; }

/* One multiplication by all subjects. */
typedef struct record {
  int input, seed;
  int64_t k;
  outcome of[SUBJECTS];
} record;

typedef struct verdict {
  char rule;
  int subject;
  int broken;
  char text[512];
} verdict;

/* ---- The bench --------------------------------------------------------------------------------------------------- */

/* BY_DEFAULT: the variant that is selected for 4096 x 4096 results. BY_SELECTION: the one that sgemm_run() selects. */
enum { BY_DEFAULT = SGEMM_TENSOR_VARIANT_COUNT, BY_SELECTION };

typedef struct bench {
  sgemm_device device;
  int64_t m, n;
  int variants[TENSOR_FULL + 1]; /* of each mode: a sgemm_tensor_variant, BY_DEFAULT or BY_SELECTION */
  int has[SUBJECTS];
  float *A, *B, *C; /* C: the results of all subjects, one after another */
  double *sum, *size;
  void *workspace;
  int64_t workspace_bytes;
  baseline baseline;
} bench;

static inline int status_failed(sgemm_status status, const char *what) {
  if (status == SGEMM_SUCCESS)
    return 0;
  return accuracy_fail(what, sgemm_cuda_error(status) ? machine_error(sgemm_cuda_error(status))
                                                      : sgemm_status_string(status));
}

static inline sgemm_format format_of(int mode) {
  return mode == SGEMM_TENSOR ? SGEMM_FORMAT_fp16x3 : SGEMM_FORMAT_bf16x6;
}

/* 1 if the device can run a tensor-core variant, the mode has its format, and it is accurate enough at this k: where an
   accumulator set sums the products of more than one k-block, the selection asks for k >= 256. */
static inline int variant_possible(const bench *b, int mode, int variant, int64_t k) {
  const sgemm_tensor_variant_info *v = sgemm_tensor_variant_get((sgemm_tensor_variant)variant);
  return v->format == format_of(mode) && b->device.code_arch >= 80 && (!v->wgmma || b->device.has_sm90a_code) &&
         v->shared <= b->device.shared_per_block && (v->k_blocks <= v->sets || k >= 256);
}

/* The variant of a tensor mode at this k. By default it is the one that is selected for 4096 x 4096 results, because
   sgemm_run() selects strict fp32 for many small sizes. SGEMM_TENSOR_VARIANT_NONE: no variant is possible. */
static inline sgemm_tensor_variant variant_of(const bench *b, int mode, int64_t k) {
  sgemm_params large = sgemm_params_init(SGEMM_N, SGEMM_N, 4096, 4096, k);
  int variant = b->variants[mode];
  if (variant == BY_DEFAULT) {
    large.mode = mode;
    large.workspace_bytes = INT64_MAX;
    variant = (int)sgemm_select(&large, SGEMM_STAGE_ANY, &b->device).tensor;
    if (variant == SGEMM_TENSOR_VARIANT_NONE)
      for (variant = 0; variant < SGEMM_TENSOR_VARIANT_COUNT && !variant_possible(b, mode, variant, k); variant++)
        ;
  }
  return (sgemm_tensor_variant)variant;
}

/* The tensor plan of a mode, without split-K. A plan of the mode tensor has the variant of full range as its fallback.
   plan.tensor is SGEMM_TENSOR_VARIANT_NONE if no variant is possible. */
static inline sgemm_plan plan_of(const bench *b, int mode, const sgemm_params *p) {
  sgemm_params strict = *p;
  sgemm_plan plan;
  strict.mode = SGEMM_STRICT;
  strict.prepared_a = strict.prepared_b = NULL;
  strict.workspace_bytes = 0;
  plan = sgemm_select(&strict, SGEMM_STAGE_ANY, &b->device); /* the strict fallback */
  plan.tensor = variant_of(b, mode, p->k);
  if (mode == SGEMM_TENSOR && plan.tensor != SGEMM_TENSOR_VARIANT_NONE)
    plan.tensor_fallback = variant_of(b, SGEMM_TENSOR_FULL, p->k);
  return plan;
}

/* Makes the workspace at least so large. Returns 0, or 2 after an error message. */
static inline int reserve(bench *b, int64_t bytes) {
  if (bytes <= b->workspace_bytes)
    return 0;
  machine_free(b->workspace);
  b->workspace = machine_alloc((size_t)bytes);
  b->workspace_bytes = b->workspace != NULL ? bytes : 0;
  return b->workspace != NULL ? 0 : accuracy_fail("not enough memory", "for the workspace");
}

/* Opens a bench for results of m x n and k up to `deepest`. Returns 0, or 2 after an error message. */
static inline int open_bench(bench *b, int64_t m, int64_t n, int64_t deepest) {
  const size_t results = (size_t)(m * n);
  int mode;
  memset(b, 0, sizeof *b);
  if (!machine_present())
    return accuracy_fail("no device to run on", machine_name());
  if (status_failed(sgemm_device_query(-1, &b->device), "the device does not answer") ||
      open_baseline(&b->baseline, m * deepest, n * deepest))
    return 2;
  b->m = m;
  b->n = n;
  b->A = (float *)machine_alloc((size_t)(m * deepest) * sizeof *b->A);
  b->B = (float *)machine_alloc((size_t)(n * deepest) * sizeof *b->B);
  b->C = (float *)machine_alloc(results * SUBJECTS * sizeof *b->C);
  b->sum = (double *)machine_alloc(results * sizeof *b->sum);
  b->size = (double *)machine_alloc(results * sizeof *b->size);
  if (b->A == NULL || b->B == NULL || b->C == NULL || b->sum == NULL || b->size == NULL)
    return accuracy_fail("not enough memory", "for the matrices");
  b->has[STRICT] = b->has[BASELINE] = b->has[CONTROL] = 1;
  for (mode = TENSOR; mode <= TENSOR_FULL; mode++) {
    const sgemm_params p = sgemm_params_init(SGEMM_N, SGEMM_N, m, n, 4096);
    b->variants[mode] = BY_DEFAULT;
    b->has[mode] = sgemm_tensor_compiled() && plan_of(b, mode, &p).tensor != SGEMM_TENSOR_VARIANT_NONE;
  }
  return 0;
}

static inline void close_bench(bench *b) {
  close_baseline(&b->baseline);
  machine_free(b->A);
  machine_free(b->B);
  machine_free(b->C);
  machine_free(b->sum);
  machine_free(b->size);
  machine_free(b->workspace);
}

/* ---- Multiplications --------------------------------------------------------------------------------------------- */

/* Sets all bytes of p's C and of the workspace to `byte` before a multiplication. */
static inline int spoil(const bench *b, const sgemm_params *p, int byte) {
  return machine_failed(machine_set(p->C, byte, (size_t)(p->m * p->n) * sizeof *p->C),
                        "C could not be overwritten before the run") ||
         (b->workspace_bytes > 0 && machine_failed(machine_set(b->workspace, byte, (size_t)b->workspace_bytes),
                                                   "the workspace could not be overwritten before the run"));
}

/* Multiplies in p's mode, after spoil(). Strict fp32 gets no workspace, as in a call where the guard fired. Returns 0,
   or 2 after an error message. */
static inline int multiply(bench *b, sgemm_params p, int byte, outcome *r) {
  const int selected = p.mode == SGEMM_STRICT || b->variants[p.mode] == BY_SELECTION;
  int64_t bytes = 0;
  sgemm_plan plan;
  sgemm_status status;
  if (!selected) {
    plan = plan_of(b, p.mode, &p);
    bytes = sgemm_plan_workspace(&plan, &p);
  } else if (p.mode != SGEMM_STRICT && status_failed(sgemm_workspace_query(&p, &bytes), "sgemm_workspace_query()")) {
    return 2;
  }
  if (reserve(b, bytes))
    return 2;
  p.workspace = bytes > 0 ? b->workspace : NULL;
  p.workspace_bytes = bytes;
  if (spoil(b, &p, byte))
    return 2;
  if (selected)
    plan = sgemm_select(&p, SGEMM_STAGE_ANY, &b->device);
  status = selected ? sgemm_run(&p, NULL) : sgemm_run_plan(&plan, &p, NULL);
  if (status_failed(status, subject_name(p.mode)))
    return 2;
  r->ran = 1;
  r->tensor = plan.tensor != SGEMM_TENSOR_VARIANT_NONE && p.k > 0;
  r->guard = 0;
  if (r->tensor && status_failed(sgemm_guard_query(&p, &r->guard, NULL), "sgemm_guard_query()"))
    return 2;
  if (machine_failed(machine_wait(), subject_name(p.mode)))
    return 2;
  r->path = !r->tensor || left_to_strict(r)
                ? "strict"
                : sgemm_tensor_variant_get(r->guard == 0 ? plan.tensor : plan.tensor_fallback)->name;
  return 0;
}

/* Computes the inputs and the product in double. Returns 0, or 2 after an error message. */
static inline int prepare(bench *b, int input, int64_t k, int seed, sgemm_params *p) {
  const accuracy_input *x = accuracy_input_get(input);
  const int ragged = x->rule == 'F'; /* 1: no size is a multiple of anything */
  *p = sgemm_params_init(SGEMM_N, SGEMM_N, b->m - 3 * ragged, b->n - 5 * ragged, k);
  p->A = b->A;
  p->B = b->B;
  p->C = b->C;
  if (machine_failed(accuracy_fill(b->A, x->kind, x->amount, 0, (uint64_t)seed, p->m, k), "A could not be filled") ||
      machine_failed(accuracy_fill(b->B, x->kind, x->amount, 1, (uint64_t)seed, p->n, k), "B could not be filled"))
    return 2;
  if (k > 0)
    return baseline_in_double(&b->baseline, p, b->sum, b->size);
  return machine_failed(machine_set(b->sum, 0, (size_t)(p->m * p->n) * sizeof *b->sum), "the reference") ||
                 machine_failed(machine_set(b->size, 0, (size_t)(p->m * p->n) * sizeof *b->size), "the reference")
             ? 2
             : 0;
}

/* Measures one case with all subjects. Returns 0, or 2 after an error message. */
static inline int measure(bench *b, int input, int64_t k, int seed, record *w) {
  const char rule = accuracy_input_get(input)->rule;
  accuracy_sums sums[SUBJECTS];
  sgemm_params p;
  int s;
  memset(w, 0, sizeof *w);
  w->input = input;
  w->k = k;
  w->seed = seed;
  if (prepare(b, input, k, seed, &p))
    return 2;
  for (s = 0; s < SUBJECTS; s++) {
    outcome *r = &w->of[s];
    p.C = b->C + s * p.m * p.n;
    if (s <= TENSOR_FULL) {
      p.mode = s;
      if (b->has[s] && multiply(b, p, 0xff, r))
        return 2;
    } else if (rule == 'A' || rule == 'D') {
      if (baseline_multiply(&b->baseline, &p, s == CONTROL) || machine_failed(machine_wait(), subject_name(s)))
        return 2;
      r->ran = r->tensor = 1;
      r->path = subject_name(s);
    }
  }
  if (machine_failed(accuracy_judge(sums, b->C, SUBJECTS, b->sum, b->size, p.m * p.n, k), "the errors"))
    return 2;
  for (s = 0; s < SUBJECTS; s++) {
    outcome *r = &w->of[s];
    const double frobenius = sums[s].error2 == 0.0 ? 0.0 : sqrt(sums[s].error2 / sums[s].sum2);
    r->frobenius = isnan(frobenius) ? INFINITY : frobenius;
    r->componentwise = sums[s].worst;
    r->bias = isnan(sums[s].bias) ? INFINITY : sums[s].bias / (double)(p.m * p.n);
    r->inexact = sums[s].inexact;
    r->differing = sums[s].differing;
    r->faults = sums[s].faults;
  }
  return 0;
}

/* The multiplications that are measured. */
enum { DEPTHS_MOST = 16, SEEDS_MOST = 100 };
typedef struct request {
  int64_t depths[DEPTHS_MOST]; /* values of k; rule F has its own */
  int depth_count, seeds;
  char inputs[INPUTS]; /* 1: requested */
  void (*after_record)(void *csv, const record *, int done, int all);
  void *csv; /* argument of after_record() */
} request;

static inline void request_init(request *q, int quick) {
  const int64_t *depths = quick ? accuracy_quick_depths : accuracy_depths;
  const size_t bytes = quick ? sizeof accuracy_quick_depths : sizeof accuracy_depths;
  memset(q, 0, sizeof *q);
  memcpy(q->depths, depths, bytes);
  q->depth_count = (int)(bytes / sizeof *depths);
  q->seeds = quick ? 2 : 5;
  memset(q->inputs, 1, sizeof q->inputs);
}

static const int64_t ragged_depths[] = {0, 33, 100, 257};
enum { RAGGED_DEPTHS = sizeof ragged_depths / sizeof *ragged_depths };

static inline int64_t deepest_of(const request *q) {
  int64_t most = 257;
  int d;
  for (d = 0; d < q->depth_count; d++)
    most = sgemm__max(most, q->depths[d]);
  return most;
}

/* An input has seeds_of() * depths_of() cases. */
static inline int seeds_of(const request *q, int input) {
  return !q->inputs[input] ? 0 : accuracy_input_get(input)->rule == 'F' ? 1 : q->seeds;
}
static inline int depths_of(const request *q, int input) {
  return accuracy_input_get(input)->rule == 'F' ? RAGGED_DEPTHS : q->depth_count;
}

static inline int count_records(const request *q) {
  int input, all = 0;
  for (input = 0; input < INPUTS; input++)
    all += seeds_of(q, input) * depths_of(q, input);
  return all;
}

/* Measures all cases, by input, then k, then seed. Returns 0, or 2 after an error message. */
static inline int measure_all(bench *b, const request *q, record *records) {
  const int all = count_records(q);
  int input, d, seed, done = 0;
  for (input = 0; input < INPUTS; input++)
    for (d = 0; d < depths_of(q, input); d++)
      for (seed = 0; seed < seeds_of(q, input); seed++) {
        const int64_t k = accuracy_input_get(input)->rule == 'F' ? ragged_depths[d] : q->depths[d];
        if (measure(b, input, k, seed, &records[done]))
          return 2;
        done++;
        if (q->after_record != NULL)
          q->after_record(q->csv, &records[done - 1], done, all);
      }
  return 0;
}

/* ---- The rules --------------------------------------------------------------------------------------------------- */

/* 1 if tensor cores computed the result, so that rules A to D judge it. */
static inline int on_tensor_cores(const outcome *r) { return r->ran && r->tensor && !left_to_strict(r); }

static inline double ratio_of(double ours, double theirs) {
  return !isfinite(ours) || !isfinite(theirs) ? INFINITY : ours == theirs ? 1.0 : ours / theirs;
}

/* The index after the last record with the input and k of record `first`. */
static inline int group_end(const record *records, int count, int first) {
  int end = first;
  while (end < count && records[end].input == records[first].input && records[end].k == records[first].k)
    end++;
  return end;
}

static inline const char *input_name(const record *w) { return accuracy_input_get(w->input)->name; }

/* Appends text, truncated to the room in v. */
static inline void say(verdict *v, const char *format, ...) {
  const size_t length = strlen(v->text);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(v->text + length, sizeof v->text - length, format, arguments);
  va_end(arguments);
}

/* Appends the inputs for which the guard fired, how often it did, and whether these results have strict's bits. */
static inline void say_paths(verdict *v, const record *records, int count, char rule, int judged) {
  int input, fired = 0, differing = 0;
  for (input = 0; input < INPUTS; input++) {
    int i, here = 0, all = 0;
    for (i = 0; i < count; i++) {
      const outcome *r = &records[i].of[v->subject];
      if (records[i].input != input || accuracy_input_get(input)->rule != rule || !r->ran)
        continue;
      all++;
      here += left_to_strict(r);
      differing += left_to_strict(r) && r->differing > 0.0;
    }
    if (here > 0)
      say(v, "%s%s %d of %d", fired == 0 ? "; guard to strict: " : ", ", accuracy_input_get(input)->name, here, all);
    fired += here;
  }
  if (differing > 0)
    say(v, "; without strict's bits: %d", differing);
  if (judged == 0 && fired == 0)
    say(v, "; nothing was judged");
  v->broken |= differing > 0 || (judged == 0 && fired == 0);
}

/* Rule A. Judges all seeds of each pair of input and k for which tensor cores computed at least one seed. */
static inline void judge_a(verdict *v, const record *records, int count) {
  double mean_most = 0.0, seed_most = 0.0;
  int first, end, i, judged = 0, mean_at = 0, seed_at = 0;
  for (first = 0; first < count; first = end) {
    double log_sum = 0.0, mean;
    int seeds = 0;
    end = group_end(records, count, first);
    for (i = first; i < end; i++)
      seeds += on_tensor_cores(&records[i].of[v->subject]);
    if (accuracy_input_get(records[first].input)->rule != 'A' || seeds == 0)
      continue;
    judged += seeds;
    for (i = first; i < end; i++) {
      const double ratio = ratio_of(records[i].of[v->subject].frobenius, records[i].of[BASELINE].frobenius);
      log_sum += log(ratio);
      if (ratio > seed_most) {
        seed_most = ratio;
        seed_at = i;
      }
    }
    mean = exp(log_sum / (end - first));
    if (mean > mean_most) {
      mean_most = mean;
      mean_at = first;
    }
  }
  v->broken = !(mean_most <= 1.0) || !(seed_most <= 1.5);
  if (judged > 0)
    say(v,
        "relative Frobenius error over %s's: mean of seeds at most %.3f (%s, k %lld), seed at most %.3f (%s, k %lld), "
        "%d judged",
        accuracy_baseline_name, mean_most, input_name(&records[mean_at]), (long long)records[mean_at].k, seed_most,
        input_name(&records[seed_at]), (long long)records[seed_at].k, judged);
  say_paths(v, records, count, 'A', judged);
}

/* Rules B and D, on the inputs of rules A and D. */
static inline void judge_b(verdict *v, const record *records, int count) {
  const char rule = v->rule == 'D' ? 'D' : 'A';
  double most = -1.0;
  int i, judged = 0, at = 0;
  for (i = 0; i < count; i++) {
    const outcome *r = &records[i].of[v->subject];
    const double allowed = fmax(records[i].of[BASELINE].componentwise, 4.0 * ROUNDOFF);
    if (accuracy_input_get(records[i].input)->rule != rule || !on_tensor_cores(r))
      continue;
    judged++;
    v->broken |= !(r->componentwise <= allowed);
    if (r->componentwise / allowed > most) {
      most = r->componentwise / allowed;
      at = i;
    }
  }
  if (judged > 0)
    say(v, "|error| / (|A||B|): at most %.3f 2^-24 where %s has %.3f (%s, k %lld), %.3f of what is allowed, %d judged",
        records[at].of[v->subject].componentwise / ROUNDOFF, accuracy_baseline_name,
        records[at].of[BASELINE].componentwise / ROUNDOFF, input_name(&records[at]), (long long)records[at].k, most,
        judged);
  say_paths(v, records, count, rule, judged);
}

static inline void judge_c(verdict *v, const record *records, int count) {
  double most = 0.0, theirs = 0.0;
  int64_t deepest = 0;
  int i, judged = 0;
  for (i = 0; i < count; i++)
    if (records[i].input == INPUT_positive)
      deepest = sgemm__max(deepest, records[i].k);
  for (i = 0; i < count; i++) {
    const outcome *r = &records[i].of[v->subject];
    if (records[i].input != INPUT_positive || records[i].k != deepest || !on_tensor_cores(r))
      continue;
    judged++;
    most = fabs(r->bias) > fabs(most) ? r->bias : most;
    theirs = fabs(records[i].of[BASELINE].bias) > fabs(theirs) ? records[i].of[BASELINE].bias : theirs;
  }
  v->broken = judged == 0 || !(fabs(most) <= 4.0 * ROUNDOFF);
  say(v, "bias of positive, k %lld: %.3f 2^-24, %s's %.3f, %d judged", (long long)deepest, most / ROUNDOFF,
      accuracy_baseline_name, theirs / ROUNDOFF, judged);
}

/* Rules E and F: the number of wrong results. */
static inline void judge_e(verdict *v, const record *records, int count) {
  double wrong = 0.0;
  int i, judged = 0, fired = 0, at = -1;
  for (i = 0; i < count; i++) {
    const outcome *r = &records[i].of[v->subject];
    const double here = v->rule == 'E' ? r->inexact : r->faults;
    if (accuracy_input_get(records[i].input)->rule != v->rule || !r->ran)
      continue;
    judged++;
    fired += left_to_strict(r);
    wrong += here;
    at = at < 0 && here > 0.0 ? i : at;
  }
  v->broken = judged == 0 || wrong > 0.0;
  say(v, "%.0f results %s, %d cases, %d of them by strict after the guard", wrong,
      v->rule == 'E' ? "not exact" : "wrong", judged, fired);
  if (at >= 0)
    say(v, "; first in %s, k %lld", input_name(&records[at]), (long long)records[at].k);
}

/* Rule G. Runs one input several times, each time with other bytes in C and in the workspace before. Returns 0, or 2
   after an error message. */
static inline int judge_g(bench *b, const request *q, verdict *v) {
  static const int poisons[] = {0xff, 0x7f, 0x00};
  enum { RUNS = sizeof poisons / sizeof *poisons };
  double differing = 0.0, faults = 0.0;
  int d, run;
  for (d = 0; d < q->depth_count; d++) {
    accuracy_sums sums[RUNS];
    sgemm_params p;
    if (prepare(b, INPUT_uniform, q->depths[d], 0, &p))
      return 2;
    p.mode = v->subject;
    for (run = 0; run < RUNS; run++) {
      outcome r;
      p.C = b->C + run * p.m * p.n;
      if (multiply(b, p, poisons[run], &r))
        return 2;
    }
    if (machine_failed(accuracy_judge(sums, b->C, RUNS, b->sum, b->size, p.m * p.n, p.k), "the errors"))
      return 2;
    for (run = 0; run < RUNS; run++) {
      differing += sums[run].differing;
      faults += isfinite(sums[run].worst) && sums[run].faults == 0.0 ? 0.0 : 1.0;
    }
  }
  v->broken = differing > 0.0 || faults > 0.0;
  say(v, "%d runs of %d cases, C and workspace poisoned: %.0f results differ, %.0f runs are wrong", RUNS,
      q->depth_count, differing, faults);
  return 0;
}

/* 1 if inputs of the rule were measured. */
static inline int measured(const record *records, int count, char rule) {
  int i;
  for (i = 0; i < count; i++)
    if (rule == 'C' ? records[i].input == INPUT_positive
                    : accuracy_input_get(records[i].input)->rule == (rule == 'B' ? 'A' : rule))
      return 1;
  return 0;
}

static inline void judge(verdict *v, const record *records, int count, char rule, int subject) {
  memset(v, 0, sizeof *v);
  v->rule = rule;
  v->subject = subject;
  if (rule == 'A')
    judge_a(v, records, count);
  else if (rule == 'B' || rule == 'D')
    judge_b(v, records, count);
  else if (rule == 'C')
    judge_c(v, records, count);
  else
    judge_e(v, records, count);
}

/* Judges the tensor modes by rules A to G, strict fp32 by E to G, and last CONTROL by A and B. For CONTROL `broken`
   means that it does not break the rule. *count: the number of verdicts, at most VERDICTS_MOST. Returns 0, or 2 after
   an error message. */
enum { VERDICTS_MOST = 32 };
static inline int judge_all(bench *b, const request *q, const record *records, int record_count, verdict *verdicts,
                            int *count) {
  int subject;
  char rule;
  *count = 0;
  for (subject = STRICT; subject <= TENSOR_FULL; subject++)
    for (rule = subject == STRICT ? 'E' : 'A'; rule <= 'G' && b->has[subject]; rule++) {
      verdict *v = &verdicts[*count];
      if (rule == 'G') {
        memset(v, 0, sizeof *v);
        v->rule = rule;
        v->subject = subject;
        if (judge_g(b, q, v))
          return 2;
      } else if (measured(records, record_count, rule)) {
        judge(v, records, record_count, rule, subject);
      } else {
        continue;
      }
      ++*count;
    }
  for (rule = 'A'; rule <= 'B' && measured(records, record_count, 'A'); rule++) {
    judge(&verdicts[*count], records, record_count, rule, CONTROL);
    verdicts[*count].broken = !verdicts[*count].broken;
    ++*count;
  }
  return 0;
}

#endif
