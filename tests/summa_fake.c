/* summa_fake.c: examples/summa.c whose multiplications are put into the streams of fake_nccl.c. */
#define _POSIX_C_SOURCE 200809L
#include "tests/fake_nccl.h"
#define sgemm_run(p, stream) fake_multiply(p, stream)
#include "examples/summa.c"
