/* The tensor modes keep the rules A to G of tools/accuracy_rule.h, in its quick settings; and the rules can be
   broken: by TF32, and by made-up errors that are just too large. */
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
  cr_assert(count == 3 + 7 * modes + 2, "%d verdicts on %d tensor modes", count, modes);
  close_bench(&b);
  free(records);
}

/* ---- Made up ----------------------------------------------------------------------------------------------------- */

enum { SEEDS = 5 };

/* Of one input at one k, as good as the baseline in all. */
static void make_up(record *records, int input) {
  int seed, s;
  memset(records, 0, SEEDS * sizeof *records);
  for (seed = 0; seed < SEEDS; seed++) {
    records[seed].input = input;
    records[seed].k = 64;
    records[seed].seed = seed;
    for (s = 0; s < SUBJECTS; s++) {
      outcome *r = &records[seed].of[s];
      r->ran = r->tensor = 1;
      r->path = "made up";
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

Test(verdicts, what_is_just_good_enough) {
  static const struct {
    char rule;
    int input;
  } cases[] = {{'A', INPUT_normal}, {'B', INPUT_normal},     {'C', INPUT_positive},
               {'D', INPUT_sparse}, {'E', INPUT_integers_a}, {'F', INPUT_nan}};
  record records[SEEDS];
  size_t i;
  for (i = 0; i < sizeof cases / sizeof *cases; i++) {
    make_up(records, cases[i].input);
    cr_assert(!broken(records, cases[i].rule), "rule %c", cases[i].rule);
  }
}

Test(verdicts, frobenius) {
  record records[SEEDS];
  make_up(records, INPUT_normal);
  records[3].of[TENSOR].frobenius = 1.01e-7;
  cr_assert(broken(records, 'A'), "a mean above 1");
  make_up(records, INPUT_normal);
  records[0].of[TENSOR].frobenius = records[1].of[TENSOR].frobenius = 0.5e-7;
  records[3].of[TENSOR].frobenius = 1.49e-7;
  cr_assert(!broken(records, 'A'), "a seed below 1.5");
  records[3].of[TENSOR].frobenius = 1.51e-7;
  cr_assert(broken(records, 'A'), "a seed above 1.5");
  make_up(records, INPUT_normal);
  records[4].of[TENSOR].frobenius = INFINITY;
  cr_assert(broken(records, 'A'), "an infinite error");
}

Test(verdicts, componentwise) {
  record records[SEEDS];
  make_up(records, INPUT_normal);
  records[2].of[TENSOR].componentwise = 6.01 * ROUNDOFF;
  cr_assert(broken(records, 'B') && !broken(records, 'A'), "above the baseline's");
  records[2].of[BASELINE].componentwise = 0.0;
  records[2].of[TENSOR].componentwise = 4.0 * ROUNDOFF;
  cr_assert(!broken(records, 'B'), "4 2^-24 are allowed");
  make_up(records, INPUT_sparse);
  records[1].of[TENSOR].componentwise = INFINITY;
  cr_assert(broken(records, 'D'));
}

Test(verdicts, bias) {
  record records[SEEDS];
  make_up(records, INPUT_positive);
  records[4].of[TENSOR].bias = -4.01 * ROUNDOFF;
  cr_assert(broken(records, 'C'));
}

Test(verdicts, single_results) {
  record records[SEEDS];
  make_up(records, INPUT_integers_b);
  records[0].of[TENSOR].inexact = 1.0;
  cr_assert(broken(records, 'E'));
  make_up(records, INPUT_zeros);
  records[4].of[TENSOR].faults = 1.0;
  cr_assert(broken(records, 'F'));
}

/* Where the guard fired, strict's bits are all that is asked for. */
Test(verdicts, guard) {
  record records[SEEDS];
  make_up(records, INPUT_random40);
  records[1].of[TENSOR].guard = SGEMM_GUARD_SPREAD;
  records[1].of[TENSOR].componentwise = 100.0 * ROUNDOFF;
  cr_assert(!broken(records, 'D'));
  records[1].of[TENSOR].differing = 1.0;
  cr_assert(broken(records, 'D'));
}

Test(verdicts, nothing_to_judge) {
  record records[SEEDS];
  int i;
  make_up(records, INPUT_normal);
  for (i = 0; i < SEEDS; i++)
    records[i].of[TENSOR].tensor = 0;
  cr_assert(broken(records, 'A') && broken(records, 'B') && broken(records, 'C') && broken(records, 'E'));
}
