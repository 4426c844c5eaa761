/* sgemm/launch/tune.h: sgemm_candidates(), and sgemm_tune(), which times them. */
#ifndef SGEMM_LAUNCH_TUNE_H
#define SGEMM_LAUNCH_TUNE_H

/* ---- What sgemm_tune() needs of a device (sgemm/launch/device.h) ------------------------------------------------- */

/* Sets bytes of device memory to 0 in stream order. */
static sgemm_status sgemm__set_zeros(void *memory, int64_t bytes, sgemm_stream stream);

/* A device defines sgemm__timer, sgemm__sample and SGEMM__SAMPLE_RUNS. A timer has a stream of its own,
   `timer->stream`, whose work follows that of the caller's stream. What is launched there between begin and end is a
   sample of `sample->runs` runs, at most SGEMM__SAMPLE_RUNS. sgemm__time_sample() runs it once, waits, and writes the
   time of a run to *us. After an error of sgemm__open_timer() or sgemm__end_sample() there is nothing to close. */
static sgemm_status sgemm__open_timer(sgemm__timer *timer, sgemm_stream stream);
static sgemm_status sgemm__begin_sample(sgemm__timer *timer);
static sgemm_status sgemm__end_sample(sgemm__timer *timer, sgemm__sample *sample);
static sgemm_status sgemm__time_sample(sgemm__timer *timer, sgemm__sample *sample, double *us);
static void sgemm__close_sample(sgemm__sample *sample);
static void sgemm__close_timer(sgemm__timer *timer);

/* ---- Candidates -------------------------------------------------------------------------------------------------- */

int sgemm_candidates(const sgemm_params *p, const sgemm_device *device, sgemm_plan *plans, double *microseconds,
                     int capacity) {
  sgemm__ranking ranking = {plans, microseconds, 0, capacity};
  const sgemm_plan selected = sgemm_select(p, SGEMM_STAGE_ANY, device);
  sgemm__problem q;
  if (selected.variant == SGEMM_VARIANT_NONE || capacity < 1)
    return 0;
  sgemm__set_problem(&q, p, device, &sgemm__h200);
  sgemm__rank(&selected, sgemm_plan_estimate(&selected, p, device), &ranking);
  sgemm__rank_strict(sgemm__is_preferred(sgemm__tile_sizes_of(selected.variant), &q, device->code_arch), p, device, &q,
                     &ranking);
  sgemm__rank_tensor(p, device, &q, &ranking);
  return ranking.count;
}

/* ---- The place of the results ------------------------------------------------------------------------------------ */

/* Elements from the first to the last of a batch of results, whose rows are ld apart and whose matrices are stride. */
static inline int64_t sgemm__span(const sgemm_params *p, int64_t ld, int64_t stride) {
  const int row_major = p->order == SGEMM_ROW_MAJOR;
  const int64_t rows = row_major ? p->m : p->n, width = row_major ? p->n : p->m;
  return (p->batch > 1 ? (p->batch - 1) * stride : 0) + (rows - 1) * ld + width;
}

/* Memory in the place of what a call writes: `result` of the one among C and D that it writes, `aux` of aux. */
typedef struct sgemm__scratch {
  void *result, *aux;
} sgemm__scratch;

/* Allocates zeros in the place of an array of floats at `like`, whose alignment the address at `at` has too. */
static inline sgemm_status sgemm__allocate_like(const float *like, int64_t floats, void **memory, float **at,
                                                sgemm_stream stream) {
  const int64_t offset = (int64_t)((uintptr_t)like % 16), bytes = offset + floats * (int64_t)sizeof(float);
  sgemm_status status = sgemm__allocate(memory, bytes, stream);
  if (status != SGEMM_SUCCESS) {
    *memory = NULL;
    return status == SGEMM_ERROR_WORKSPACE ? SGEMM_ERROR_SCRATCH : status;
  }
  *at = (float *)((char *)*memory + offset);
  return sgemm__set_zeros(*memory, bytes, stream);
}

/* Makes p write to scratch memory in place of the caller's. */
static inline sgemm_status sgemm__open_scratch(sgemm_params *p, sgemm__scratch *scratch, sgemm_stream stream) {
  const int in_place = p->D == NULL || p->D == p->C;
  float *result = NULL;
  sgemm_status status =
      p->D == NULL ? sgemm__allocate_like(p->C, sgemm__span(p, p->ldc, p->stride_c), &scratch->result, &result, stream)
                   : sgemm__allocate_like(p->D, sgemm__span(p, p->ldd, p->stride_d), &scratch->result, &result, stream);
  if (status == SGEMM_SUCCESS && p->aux != NULL)
    status = sgemm__allocate_like(p->aux, sgemm__span(p, p->ld_aux, p->stride_aux), &scratch->aux, &p->aux, stream);
  if (in_place)
    p->C = result;
  if (p->D != NULL)
    p->D = result;
  return status;
}

static inline void sgemm__close_scratch(const sgemm__scratch *scratch, sgemm_stream stream) {
  if (scratch->result != NULL)
    (void)sgemm__free(scratch->result, stream);
  if (scratch->aux != NULL)
    (void)sgemm__free(scratch->aux, stream);
}

/* ---- The workspace ----------------------------------------------------------------------------------------------- */

/* With SGEMM_WORKSPACE_AUTO, gives p the workspace of the plan that needs the most. If this memory cannot be had, the
   plans that need as much are removed. *memory: what to free, NULL: nothing. */
static inline sgemm_status sgemm__open_tune_workspace(sgemm_params *p, sgemm_plan *plans, double *estimates, int *count,
                                                      void **memory, sgemm_stream stream) {
  sgemm_status status = SGEMM_SUCCESS;
  *memory = NULL;
  if (p->workspace_bytes != SGEMM_WORKSPACE_AUTO)
    return status;
  for (p->workspace_bytes = 0; *count > 0; status = SGEMM_ERROR_WORKSPACE) {
    int64_t most = 0;
    int i, left = 0;
    for (i = 0; i < *count; i++)
      most = sgemm__max(most, sgemm_plan_workspace(&plans[i], p));
    if (most == 0)
      return SGEMM_SUCCESS;
    status = sgemm__allocate(memory, most, stream);
    if (status == SGEMM_SUCCESS) {
      p->workspace = *memory;
      p->workspace_bytes = most;
    }
    if (status != SGEMM_ERROR_WORKSPACE)
      return status;
    *memory = NULL;
    for (i = 0; i < *count; i++)
      if (sgemm_plan_workspace(&plans[i], p) < most) {
        plans[left] = plans[i];
        estimates[left++] = estimates[i];
      }
    *count = left;
  }
  return status;
}

/* ---- Timing ------------------------------------------------------------------------------------------------------ */

/* A sample is a number of runs of one plan, one after the other: as many as are estimated to take SGEMM__SAMPLE_US, so
   that the resolution of the clock does not count. The time of a plan is that of its shortest sample, because other
   work on the GPU and on the host makes samples longer. */
enum { SGEMM__TUNE_ROUNDS = 6 };
#define SGEMM__SAMPLE_US 200.0

/* A plan is timed no further after a round in which its shortest sample takes more than so many times the shortest of
   all. */
#define SGEMM__TUNE_LIMIT 1.5

/* Prepares a sample. The first run is no part of it: it loads the kernels. */
static inline sgemm_status sgemm__open_sample(const sgemm_plan *plan, const sgemm_params *p, const sgemm_device *device,
                                              sgemm__timer *timer, sgemm__sample *sample) {
  sgemm__target to = sgemm__to_stream(timer->stream);
  sgemm_status status = sgemm__launch_plan(plan, p, device, &to), ended;
  int i;
  if (status == SGEMM_SUCCESS)
    status = sgemm__begin_sample(timer);
  if (status != SGEMM_SUCCESS)
    return status;
  for (i = 0; i < sample->runs && status == SGEMM_SUCCESS; i++)
    status = sgemm__launch_plan(plan, p, device, &to);
  ended = sgemm__end_sample(timer, sample);
  if (status != SGEMM_SUCCESS && ended == SGEMM_SUCCESS)
    sgemm__close_sample(sample);
  return status != SGEMM_SUCCESS ? status : ended;
}

/* Takes the samples of all plans by turns and writes the number of the fastest plan, and its time. */
static inline sgemm_status sgemm__time_samples(sgemm__sample *samples, int count, sgemm__timer *timer, int *fastest,
                                               double *microseconds) {
  double us[SGEMM_MAX_CANDIDATES], limit = 0.0, taken;
  sgemm_status status = SGEMM_SUCCESS;
  int round, i;
  for (round = *fastest = 0; round < SGEMM__TUNE_ROUNDS; round++) {
    for (i = 0; i < count; i++) {
      if (round > 0 && us[i] > limit)
        continue;
      status = sgemm__time_sample(timer, &samples[i], &taken);
      if (status != SGEMM_SUCCESS)
        return status;
      us[i] = round > 0 ? sgemm__smaller(us[i], taken) : taken;
      *fastest = us[i] < us[*fastest] ? i : *fastest;
    }
    /* Set between rounds: within a round it would compare the first samples of some plans with the second samples of
       others, which are shorter. */
    limit = SGEMM__TUNE_LIMIT * us[*fastest];
  }
  *microseconds = us[*fastest];
  return status;
}

/* Times plans for p, whose workspace fits them, and writes the number of the fastest, and its time. Plans whose grid
   exceeds the limits of a launch are left out. */
static inline sgemm_status sgemm__time_plans(const sgemm_plan *plans, const double *estimates, int count,
                                             const sgemm_params *p, const sgemm_device *device, sgemm__timer *timer,
                                             int *fastest, double *microseconds) {
  sgemm__sample samples[SGEMM_MAX_CANDIDATES];
  int numbers[SGEMM_MAX_CANDIDATES]; /* numbers of the samples' plans */
  sgemm_status status = SGEMM_SUCCESS;
  int i, open = 0;
  for (i = 0; i < count; i++) {
    const double runs = SGEMM__SAMPLE_US / estimates[i];
    samples[open].runs = (int)sgemm__larger(1.0, sgemm__smaller(runs, SGEMM__SAMPLE_RUNS));
    status = sgemm__open_sample(&plans[i], p, device, timer, &samples[open]);
    if (status == SGEMM_SUCCESS)
      numbers[open++] = i;
    else if (status != SGEMM_ERROR_GRID)
      break;
  }
  if (open > 0 && (status == SGEMM_SUCCESS || status == SGEMM_ERROR_GRID)) {
    status = sgemm__time_samples(samples, open, timer, fastest, microseconds);
    *fastest = numbers[*fastest];
  }
  for (i = 0; i < open; i++)
    sgemm__close_sample(&samples[i]);
  return status;
}

/* Times plans for p, which writes to scratch memory instead of the caller's. */
static inline sgemm_status sgemm__tune_on(sgemm__timer *timer, sgemm_plan *plans, double *estimates, int count,
                                          const sgemm_params *p, const sgemm_device *device, sgemm_plan *plan,
                                          double *microseconds) {
  sgemm_params with = *p;
  sgemm__scratch scratch = {NULL, NULL};
  void *workspace = NULL;
  int fastest = 0;
  sgemm_status status = sgemm__open_scratch(&with, &scratch, timer->stream);
  if (status == SGEMM_SUCCESS)
    status = sgemm__open_tune_workspace(&with, plans, estimates, &count, &workspace, timer->stream);
  if (status == SGEMM_SUCCESS)
    status = sgemm__time_plans(plans, estimates, count, &with, device, timer, &fastest, microseconds);
  if (status == SGEMM_SUCCESS)
    *plan = plans[fastest];
  if (workspace != NULL)
    (void)sgemm__free(workspace, timer->stream);
  sgemm__close_scratch(&scratch, timer->stream);
  return status;
}

sgemm_status sgemm_tune(const sgemm_params *p, int count, sgemm_plan *plan, double *microseconds, sgemm_stream stream) {
  sgemm_plan plans[SGEMM_MAX_CANDIDATES];
  double estimates[SGEMM_MAX_CANDIDATES], us = 0.0;
  sgemm_device device;
  sgemm__timer timer;
  sgemm_status status;
  if (p == NULL || plan == NULL)
    return p == NULL ? SGEMM_ERROR_PARAMS : SGEMM_ERROR_PLAN;
  if (count < 1 || count > (int)SGEMM_MAX_CANDIDATES)
    return SGEMM_ERROR_CANDIDATES;
  status = sgemm_check(p);
  if (status == SGEMM_SUCCESS)
    status = sgemm_device_query(-1, &device);
  if (status != SGEMM_SUCCESS)
    return status;
  count = sgemm_candidates(p, &device, plans, estimates, count);
  if (count == 0)
    return sgemm__why_no_plan(SGEMM_STAGE_ANY, p, &device);
  if (sgemm__is_noop(p)) {
    *plan = plans[0];
  } else {
    status = sgemm__open_timer(&timer, stream);
    if (status != SGEMM_SUCCESS)
      return status;
    status = sgemm__tune_on(&timer, plans, estimates, count, p, &device, plan, &us);
    sgemm__close_timer(&timer);
  }
  if (status == SGEMM_SUCCESS && microseconds != NULL)
    *microseconds = us;
  return status;
}

#endif /* SGEMM_LAUNCH_TUNE_H */
