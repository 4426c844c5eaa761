/* plan.c: the sizes of tiles and panels.

   A tile of b x b with panels of A and B that are both new takes 8 b k bytes over the link and 2 b^2 k FLOP. At 55 GB/s
   and 55 TFLOP/s the multiplication hides the copies from b = 4000 on, at 190 TFLOP/s (tensor) from b = 13800 on. A
   tile that shares one panel with the tile before needs half of that, and a tile whose panels are still on the device
   nothing. So tiles have 8192 rows and columns where there is memory, and panels are kept for the next tiles. */
#include "adapters/host/plan.h"

enum {
  BLOCK = 8192,      /* largest rows and columns by default */
  PART = 2048,       /* C has up to 4 parts in each direction, of at least this size, so that copies can overlap */
  PANEL = 2048,      /* k of a panel by default */
  LONG_PANEL = 4096, /* in the tensor modes: the panel's sum is added to C half as often */
  LOW_PANEL = 512,   /* a tile is made smaller before a panel is made shorter than this */
  LOW_BLOCK = 256,   /* a panel is made shorter before a tile is made smaller than this */
  LEAST = 32,        /* the least block and panel */
  RESULTS = 3,       /* one is computed, one goes out, one waits for its first panels */
  PANELS = 4,        /* two are multiplied, two come in */
  MOST_PANELS = 4096
};

static int64_t round_up(int64_t x, int64_t unit) { return (x + unit - 1) / unit * unit; }
static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

sgemm_params sgemm_host__tile_params(const sgemm_params *p, int64_t rows, int64_t cols, int64_t depth) {
  sgemm_params t = sgemm_params_init((sgemm_op)p->op_a, (sgemm_op)p->op_b, rows, cols, depth);
  t.lda = sgemm_host__pitch(t.lda);
  t.ldb = sgemm_host__pitch(t.ldb);
  t.ldc = sgemm_host__pitch(t.ldc);
  t.alpha = p->alpha;
  t.beta = 1.0f;
  t.mode = p->mode;
  return t;
}

/* The block of a dimension in `parts` parts or more. */
static int64_t block_of(int64_t size, int64_t largest, int64_t parts) {
  parts = sgemm__max(parts, sgemm__ceil_div(size, largest));
  return least(least(size, largest), round_up(sgemm__ceil_div(size, parts), 256));
}

static int64_t parts_of(int64_t size) { return sgemm__max(1, least(4, size / PART)); }

/* The blocks without regard to memory. Each device gets at least 4 tiles where they can have 1024 rows or columns. */
static void choose_blocks(const sgemm_params *p, const sgemm_host__limits *limits, sgemm_host__plan *plan) {
  const int64_t largest = limits->block > 0 ? limits->block : BLOCK;
  int64_t m = parts_of(p->m), n = parts_of(p->n);
  while (limits->devices > 1 && m * n < 4 * limits->devices) {
    if (p->m / m >= p->n / n && p->m / m >= 2048)
      m *= 2;
    else if (p->n / n >= 2048)
      n *= 2;
    else
      break;
  }
  plan->block_m = limits->block > 0 ? least(p->m, largest) : block_of(p->m, largest, m);
  plan->block_n = limits->block > 0 ? least(p->n, largest) : block_of(p->n, largest, n);
}

static int64_t choose_panel(const sgemm_params *p, int64_t asked) {
  const int64_t largest = p->mode != SGEMM_STRICT && p->k >= 4 * LONG_PANEL ? LONG_PANEL : PANEL;
  if (asked > 0)
    return least(p->k, asked);
  return least(p->k, round_up(sgemm__ceil_div(p->k, sgemm__ceil_div(p->k, largest)), LEAST));
}

/* The counts and bytes that follow from the blocks, the panel and the number of results. Memory that is left goes to
   panels. Returns 1 if the plan fits. */
static int fits(const sgemm_params *p, const sgemm_host__limits *limits, int results, int least_panels,
                sgemm_host__plan *plan) {
  const sgemm_params tile = sgemm_host__tile_params(p, plan->block_m, plan->block_n, plan->panel_k);
  const int64_t block = sgemm__max(sgemm_host__pitch(plan->block_m), sgemm_host__pitch(plan->block_n));
  int64_t useful, rest;
  plan->tiles_m = sgemm__ceil_div(p->m, plan->block_m);
  plan->tiles_n = sgemm__ceil_div(p->n, plan->block_n);
  plan->panels_k = sgemm__ceil_div(p->k, plan->panel_k);
  plan->results = (int)least(results, plan->tiles_m * plan->tiles_n);
  plan->panel_bytes = 4 * block * sgemm_host__pitch(plan->panel_k);
  plan->result_bytes = round_up(4 * plan->block_m * sgemm_host__pitch(plan->block_n), 256);
  plan->workspace_bytes = round_up(least(limits->workspace(&tile), limits->memory_bytes / 4), 256);
  useful = least(MOST_PANELS, plan->panels_k * (plan->tiles_m + plan->tiles_n));
  rest = limits->memory_bytes - plan->workspace_bytes - plan->results * plan->result_bytes;
  plan->panels = rest < 0 ? 0 : (int)least(useful, rest / plan->panel_bytes);
  plan->bytes = plan->workspace_bytes + plan->results * plan->result_bytes + plan->panels * plan->panel_bytes;
  return plan->panels >= least(useful, least_panels);
}

static void halve(int64_t *size) { *size = sgemm__max(LEAST, round_up(*size / 2, LEAST)); }

int sgemm_host__plan_make(const sgemm_params *p, const sgemm_host__limits *limits, sgemm_host__plan *plan) {
  int results = RESULTS, least_panels = PANELS;
  choose_blocks(p, limits, plan);
  plan->panel_k = choose_panel(p, limits->panel);
  while (!fits(p, limits, results, least_panels, plan)) {
    int64_t *block = plan->block_m > plan->block_n ? &plan->block_m : &plan->block_n;
    if (results == RESULTS)
      results = RESULTS - 1;
    else if (plan->panel_k > LOW_PANEL)
      halve(&plan->panel_k);
    else if (*block > LOW_BLOCK)
      halve(block);
    else if (plan->panel_k > LEAST)
      halve(&plan->panel_k);
    else if (*block > LEAST)
      halve(block);
    else if (least_panels > 2) {
      results = 1;
      least_panels = 2;
    } else
      return 0;
  }
  return 1;
}
