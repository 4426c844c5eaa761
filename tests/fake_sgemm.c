/* fake_sgemm.c: a stand-in for the library's implementation, under the adapter. It computes nothing, records the last
   call, takes 200 us of the clock of fake_device.c, and returns the status that a test sets. */
#include "sgemm.h"

void fake_device_us(double us);

typedef struct fake_sgemm_record {
  int runs;
  sgemm_params p;
  sgemm_stream stream;
  sgemm_status status; /* of the next calls */
  int tunes, by_plan;  /* calls of sgemm_tune() and of sgemm_run_plan() */
  int releases;        /* calls of sgemm_release_workspaces() */
  int tuned_split_k;   /* in the plans of sgemm_tune() */
  int ran_split_k;     /* in the last plan that ran */
  sgemm_status tune_status, plan_status;
} fake_sgemm_record;
fake_sgemm_record fake_sgemm;

sgemm_status sgemm_run_stage(sgemm_stage stage, const sgemm_params *p, sgemm_stream stream) {
  (void)stage;
  fake_sgemm.runs++;
  fake_sgemm.p = *p;
  fake_sgemm.stream = stream;
  fake_device_us(200.0);
  return fake_sgemm.status;
}

sgemm_status sgemm_tune(const sgemm_params *p, int count, sgemm_plan *plan, double *microseconds, sgemm_stream stream) {
  sgemm_device device = {0};
  (void)count, (void)microseconds, (void)stream;
  fake_sgemm.tunes++;
  if (fake_sgemm.tune_status == SGEMM_SUCCESS) {
    *plan = sgemm_select(p, SGEMM_STAGE_ANY, &device);
    plan->split_k = fake_sgemm.tuned_split_k;
  }
  return fake_sgemm.tune_status;
}

sgemm_status sgemm_release_workspaces(void) {
  fake_sgemm.releases++;
  return SGEMM_SUCCESS;
}

sgemm_status sgemm_run_plan(const sgemm_plan *plan, const sgemm_params *p, sgemm_stream stream) {
  fake_sgemm.by_plan++;
  fake_sgemm.ran_split_k = plan->split_k;
  fake_sgemm.p = *p;
  fake_sgemm.stream = stream;
  fake_device_us(200.0);
  return fake_sgemm.plan_status;
}

sgemm_status sgemm_device_query(int device, sgemm_device *out) {
  const sgemm_device nothing = {"", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0};
  (void)device;
  *out = nothing;
  return SGEMM_SUCCESS;
}

/* Tensor cores for k from 100 on. */
sgemm_plan sgemm_select(const sgemm_params *p, sgemm_stage stage, const sgemm_device *device) {
  sgemm_plan plan = {(sgemm_variant)0, SGEMM_TENSOR_VARIANT_NONE, SGEMM_TENSOR_VARIANT_NONE, 1, 1, 0, 1, 0, 0, 1, 1, 1};
  (void)stage, (void)device;
  if (p->mode != SGEMM_STRICT && p->k >= 100)
    plan.tensor = (sgemm_tensor_variant)0;
  return plan;
}
