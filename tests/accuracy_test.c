/* The tensor modes keep the rules A to G of tools/accuracy_rule.h with its quick settings. TF32 breaks rules. Each rule
   is broken by synthetic errors that are slightly too large. */
#include "tests/testing.h"

#include "tools/accuracy_rule.h"

/* ---- On the backend ---------------------------------------------------------------------------------------------- */

Test(accuracy, rules_are_kept) {
  bench b;
  request q;
  verdict verdicts[VERDICTS_MOST];
  record *records;
  int i, all, count, modes = 0;
  need_backend();
  request_init(&q, 1);
  all = count_records(&q);
  records = (record *)calloc((size_t)all, sizeof *records);
  cr_assert(records != NULL);
  cr_assert(open_bench(&b, DEFAULT_SIDE, DEFAULT_SIDE, deepest_of(&q)) == 0);
  cr_assert(measure_all(&b, &q, records) == 0);
  cr_assert(judge_all(&b, &q, records, all, verdicts, &count) == 0);
  for (i = 0; i < count; i++)
    cr_expect(!verdicts[i].broken, "rule %c, %s: %s", verdicts[i].rule, subject_name(verdicts[i].subject),
              verdicts[i].text);
  modes = b.has[TENSOR] + b.has[TENSOR_FULL];
#if !defined(MACHINE_CUDA)
  cr_assert(modes == 2, "%d tensor modes on the CPU model", modes);
#endif
  cr_assert(count == 3 + 7 * modes + 2, "%d verdicts on %d tensor modes", count, modes);
  close_bench(&b);
  free(records);
}

/* ---- Synthetic errors -------------------------------------------------------------------------------------------- */

enum { SEEDS = 5 };

/* Records of one input at one k. Each subject has the errors of the baseline. */
static void make_records(record *records, int input) {
  int seed, s;
  memset(records, 0, SEEDS * sizeof *records);
  for (seed = 0; seed < SEEDS; seed++) {
    records[seed].input = input;
    records[seed].k = 64;
    records[seed].seed = seed;
    for (s = 0; s < SUBJECTS; s++) {
      outcome *r = &records[seed].of[s];
      r->ran = r->tensor = 1;
      r->path = "synthetic";
      r->frobenius = 1e-7;
      r->componentwise = 6.0 * ROUNDOFF;
      r->bias = 4.0 * ROUNDOFF;
    }
  }
}

static int broken(const record *records, char rule) {
  verdict v;
  judge(&v, records, SEEDS, rule, TENSOR);
  return v.broken;
}

Test(verdicts, errors_at_the_limit_are_kept) {
  static const struct {
    char rule;
    int input;
  } cases[] = {{'A', INPUT_normal}, {'B', INPUT_normal},     {'C', INPUT_positive},
               {'D', INPUT_sparse}, {'E', INPUT_integers_a}, {'F', INPUT_nan}};
  record records[SEEDS];
  size_t i;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    make_records(records, cases[i].input);
    cr_assert(!broken(records, cases[i].rule), "rule %c", cases[i].rule);
  }
}

Test(verdicts, frobenius) {
  record records[SEEDS];
  make_records(records, INPUT_normal);
  records[3].of[TENSOR].frobenius = 1.01e-7;
  cr_assert(broken(records, 'A'), "the mean is above 1");
  make_records(records, INPUT_normal);
  records[0].of[TENSOR].frobenius = records[1].of[TENSOR].frobenius = 0.5e-7;
  records[3].of[TENSOR].frobenius = 1.49e-7;
  cr_assert(!broken(records, 'A'), "a seed is below 1.5");
  records[3].of[TENSOR].frobenius = 1.51e-7;
  cr_assert(broken(records, 'A'), "a seed is above 1.5");
  make_records(records, INPUT_normal);
  records[4].of[TENSOR].frobenius = INFINITY;
  cr_assert(broken(records, 'A'), "an error is infinite");
}

Test(verdicts, componentwise) {
  record records[SEEDS];
  make_records(records, INPUT_normal);
  records[2].of[TENSOR].componentwise = 6.01 * ROUNDOFF;
  cr_assert(broken(records, 'B') && !broken(records, 'A'), "the error is above the baseline's");
  records[2].of[BASELINE].componentwise = 0.0;
  records[2].of[TENSOR].componentwise = 4.0 * ROUNDOFF;
  cr_assert(!broken(records, 'B'), "an error of 4 * 2^-24 is allowed");
  make_records(records, INPUT_sparse);
  records[1].of[TENSOR].componentwise = INFINITY;
  cr_assert(broken(records, 'D'));
}

Test(verdicts, bias) {
  record records[SEEDS];
  make_records(records, INPUT_positive);
  records[4].of[TENSOR].bias = -4.01 * ROUNDOFF;
  cr_assert(broken(records, 'C'));
}

Test(verdicts, single_results) {
  record records[SEEDS];
  make_records(records, INPUT_integers_b);
  records[0].of[TENSOR].inexact = 1.0;
  cr_assert(broken(records, 'E'));
  make_records(records, INPUT_zeros);
  records[4].of[TENSOR].faults = 1.0;
  cr_assert(broken(records, 'F'));
}

/* After a fallback, a result needs the bits of strict fp32 and nothing else. */
Test(verdicts, guard) {
  record records[SEEDS];
  make_records(records, INPUT_random40);
  records[1].of[TENSOR].guard = SGEMM_GUARD_SPREAD;
  records[1].of[TENSOR].componentwise = 100.0 * ROUNDOFF;
  cr_assert(!broken(records, 'D'));
  records[1].of[TENSOR].differing = 1.0;
  cr_assert(broken(records, 'D'));
}

/* A result of the full-range fallback is one of tensor cores: its errors count. */
Test(verdicts, full_range) {
  record records[SEEDS];
  make_records(records, INPUT_random40);
  records[1].of[TENSOR].guard = SGEMM_GUARD_SPREAD | SGEMM_GUARD_FULL_RANGE;
  records[1].of[TENSOR].differing = 1.0;
  cr_assert(!broken(records, 'D'));
  records[1].of[TENSOR].componentwise = 100.0 * ROUNDOFF;
  cr_assert(broken(records, 'D'));
}

Test(verdicts, nothing_to_judge) {
  record records[SEEDS];
  int i;
  make_records(records, INPUT_normal);
  for (i = 0; i < SEEDS; i++)
    records[i].of[TENSOR].tensor = 0;
  cr_assert(broken(records, 'A') && broken(records, 'B') && broken(records, 'C') && broken(records, 'E'));
}
