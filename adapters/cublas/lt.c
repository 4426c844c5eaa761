/* lt.c: the intercepted function of cuBLASLt. The call's description is in descriptors, which cuBLASLt's own functions
   read. */
#include "adapters/cublas/adapter.h"
#include "adapters/cublas/real.h"

/* An attribute of the multiplication, as a number or as a pointer. `otherwise`: the value for a version of cuBLASLt
   that does not have the attribute. */
static int32_t number_of(cublasLtMatmulDesc_t desc, int attribute, int32_t otherwise) {
  int32_t value = otherwise;
  return sgemm_cublas__real_lt()->cublasLtMatmulDescGetAttribute(desc, (cublasLtMatmulDescAttributes_t)attribute,
                                                                 &value, sizeof value, NULL) == CUBLAS_STATUS_SUCCESS
             ? value
             : otherwise;
}
static const void *pointer_of(cublasLtMatmulDesc_t desc, int attribute) {
  const void *value = NULL;
  return sgemm_cublas__real_lt()->cublasLtMatmulDescGetAttribute(desc, (cublasLtMatmulDescAttributes_t)attribute,
                                                                 &value, sizeof value, NULL) == CUBLAS_STATUS_SUCCESS
             ? value
             : NULL;
}
static int has_pointer(cublasLtMatmulDesc_t desc, int attribute) { return pointer_of(desc, attribute) != NULL; }

/* A matrix as its layout describes it. known: 0 if an attribute cannot be read. */
typedef struct layout {
  int known;
  uint32_t type;
  int32_t order, batch, batch_mode;
  uint64_t rows, columns;
  int64_t ld, stride, plane;
} layout;

static int read_layout(cublasLtMatrixLayout_t from, int attribute, void *to, size_t bytes) {
  return sgemm_cublas__real_lt()->cublasLtMatrixLayoutGetAttribute(from, (cublasLtMatrixLayoutAttribute_t)attribute, to,
                                                                   bytes, NULL) == CUBLAS_STATUS_SUCCESS;
}

static layout layout_of(cublasLtMatrixLayout_t from) {
  layout l = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  l.known = from != NULL && read_layout(from, CUBLASLT_MATRIX_LAYOUT_TYPE, &l.type, sizeof l.type) &&
            read_layout(from, CUBLASLT_MATRIX_LAYOUT_ORDER, &l.order, sizeof l.order) &&
            read_layout(from, CUBLASLT_MATRIX_LAYOUT_ROWS, &l.rows, sizeof l.rows) &&
            read_layout(from, CUBLASLT_MATRIX_LAYOUT_COLS, &l.columns, sizeof l.columns) &&
            read_layout(from, CUBLASLT_MATRIX_LAYOUT_LD, &l.ld, sizeof l.ld) &&
            read_layout(from, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &l.batch, sizeof l.batch) &&
            read_layout(from, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &l.stride, sizeof l.stride) &&
            read_layout(from, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, &l.plane, sizeof l.plane);
  /* A failure leaves 0, a batch of constant strides, which is all that older versions have. */
  if (l.known && !read_layout(from, SGEMM_CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, &l.batch_mode, sizeof l.batch_mode))
    l.batch_mode = 0;
  return l;
}

static int is_fp32(const layout *l) { return l->type == CUDA_R_32F; }
static int is_plain(const layout *l) { return l->order == CUBLASLT_ORDER_COL && l->plane == 0 && l->batch_mode == 0; }
static int is_size(const layout *l, int64_t rows, int64_t columns, int64_t batch) {
  return l->rows == (uint64_t)rows && l->columns == (uint64_t)columns && l->batch == batch;
}

/* Reads the epilogue. Makes the call pass unless it is none, ReLU or GELU by tanh, each without a bias or with one in
   fp32. */
static void read_epilogue(cublasLtMatmulDesc_t desc, sgemm_cublas__call *call) {
  const int32_t epilogue = number_of(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, -1);
  const int has_bias = epilogue > 0 && (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
  const int32_t type = has_bias ? number_of(desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, -1) : CUDA_R_32F;
  const float *bias = has_bias ? (const float *)pointer_of(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER) : NULL;
  switch (epilogue) {
  case CUBLASLT_EPILOGUE_DEFAULT:
    return;
  case CUBLASLT_EPILOGUE_BIAS:
    call->p.epilogue = SGEMM_EPILOGUE_bias;
    call->function = "cublasLtMatmul with bias";
    break;
  case CUBLASLT_EPILOGUE_RELU:
  case CUBLASLT_EPILOGUE_RELU | CUBLASLT_EPILOGUE_BIAS:
    call->p.epilogue = SGEMM_EPILOGUE_relu;
    call->function = has_bias ? "cublasLtMatmul with bias, ReLU" : "cublasLtMatmul with ReLU";
    break;
  case CUBLASLT_EPILOGUE_GELU:
  case CUBLASLT_EPILOGUE_GELU | CUBLASLT_EPILOGUE_BIAS:
    call->p.epilogue = SGEMM_EPILOGUE_gelu;
    call->function = has_bias ? "cublasLtMatmul with bias, GELU" : "cublasLtMatmul with GELU";
    break;
  default:
    sgemm_cublas__pass_if(1, SGEMM_CUBLAS_PATH_EPILOGUE, call);
    return;
  }
  call->p.vec_m = bias; /* column-major: a bias for each row */
  sgemm_cublas__pass_if(type != CUDA_R_32F && type != -1, SGEMM_CUBLAS_PATH_TYPE, call);
  sgemm_cublas__pass_if(has_bias && (call->p.batch != 1 || bias == NULL || (uintptr_t)bias % sizeof(float) != 0),
                        SGEMM_CUBLAS_PATH_EPILOGUE, call);
}

/* Makes the call pass unless the description of the multiplication is a product in fp32. */
static void read_description(cublasLtMatmulDesc_t desc, sgemm_cublas__call *call) {
  const int32_t sms = number_of(desc, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, 0);
  sgemm_cublas__compute_in(number_of(desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, -1), call);
  sgemm_cublas__pass_if(number_of(desc, CUBLASLT_MATMUL_DESC_SCALE_TYPE, -1) != CUDA_R_32F, SGEMM_CUBLAS_PATH_TYPE,
                        call);
  sgemm_cublas__pass_if(number_of(desc, CUBLASLT_MATMUL_DESC_POINTER_MODE, -1) != CUBLAS_POINTER_MODE_HOST,
                        SGEMM_CUBLAS_PATH_DEVICE_POINTERS, call);
  read_epilogue(desc, call);
  sgemm_cublas__pass_if(number_of(desc, CUBLASLT_MATMUL_DESC_TRANSC, CUBLAS_OP_N) != CUBLAS_OP_N ||
                            number_of(desc, CUBLASLT_MATMUL_DESC_FILL_MODE, CUBLAS_FILL_MODE_FULL) !=
                                CUBLAS_FILL_MODE_FULL,
                        SGEMM_CUBLAS_PATH_LAYOUT, call);
  sgemm_cublas__pass_if(sms != 0, SGEMM_CUBLAS_PATH_SM_COUNT, call);
  sgemm_cublas__pass_if(has_pointer(desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER) ||
                            has_pointer(desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER) ||
                            has_pointer(desc, CUBLASLT_MATMUL_DESC_C_SCALE_POINTER) ||
                            has_pointer(desc, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER) ||
                            has_pointer(desc, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER) ||
                            has_pointer(desc, SGEMM_CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER),
                        SGEMM_CUBLAS_PATH_SCALES, call);
}

/* The call, D = alpha * op(A) * op(B) + beta * C. cuBLASLt's workspace and algorithm are not used. */
static sgemm_cublas__call matmul_call(cublasLtMatmulDesc_t desc, const void *alpha, const void *A, const layout *a,
                                      const void *B, const layout *b, const void *beta, const void *C, const layout *c,
                                      void *D, const layout *d) {
  const int32_t transa = number_of(desc, CUBLASLT_MATMUL_DESC_TRANSA, -1);
  const int32_t transb = number_of(desc, CUBLASLT_MATMUL_DESC_TRANSB, -1);
  const int64_t m = (int64_t)d->rows, n = (int64_t)d->columns;
  const int64_t k = (int64_t)(transa == CUBLAS_OP_N ? a->columns : a->rows);
  sgemm_cublas__call call = sgemm_cublas__call_of("cublasLtMatmul", transa, transb, m, n, k, alpha, A, a->ld, B, b->ld,
                                                  beta, D, d->ld);
  call.p.stride_a = a->stride;
  call.p.stride_b = b->stride;
  call.p.stride_c = d->stride;
  call.p.batch = d->batch;
  read_description(desc, &call);
  sgemm_cublas__pass_if(!is_fp32(a) || !is_fp32(b) || !is_fp32(c) || !is_fp32(d), SGEMM_CUBLAS_PATH_TYPE, &call);
  sgemm_cublas__pass_if(!is_plain(a) || !is_plain(b) || !is_plain(c) || !is_plain(d), SGEMM_CUBLAS_PATH_LAYOUT, &call);
  sgemm_cublas__pass_if(!is_size(a, transa == CUBLAS_OP_N ? m : k, transa == CUBLAS_OP_N ? k : m, d->batch) ||
                            !is_size(b, transb == CUBLAS_OP_N ? k : n, transb == CUBLAS_OP_N ? n : k, d->batch) ||
                            !is_size(c, m, n, d->batch),
                        SGEMM_CUBLAS_PATH_ARGUMENTS, &call);
  if (call.path == SGEMM_CUBLAS_PATH_STRICT && *(const float *)beta != 0.0f) { /* beta is on the host */
    sgemm_cublas__pass_if(C != D || c->ld != d->ld || (d->batch > 1 && c->stride != d->stride),
                          SGEMM_CUBLAS_PATH_OUT_OF_PLACE, &call);
  }
  return call;
}

/* The arguments of the program. */
typedef struct arguments {
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t desc;
  const void *alpha, *A, *B, *beta, *C;
  cublasLtMatrixLayout_t a, b, c, d;
  void *D;
  const cublasLtMatmulAlgo_t *algo;
  void *workspace;
  size_t bytes;
  cudaStream_t stream;
} arguments;

/* Runs the call with D as result and as C. Valid because the program's C is its D, or beta is 0 and C is not read. */
static cublasStatus_t pass_matmul(const sgemm_cublas__call *call, float *D) {
  const arguments *x = (const arguments *)call->context;
  return sgemm_cublas__real_lt()->cublasLtMatmul(x->handle, x->desc, x->alpha, x->A, x->a, x->B, x->b, x->beta, D, x->c,
                                                 D, x->d, x->algo, x->workspace, x->bytes, x->stream);
}

static int take(const arguments *x, cublasStatus_t *status) {
  const sgemm_cublas__lt_functions *real = sgemm_cublas__real_lt();
  layout a, b, c, d;
  sgemm_cublas__call call;
  if (x->handle == NULL || x->desc == NULL || real->cublasLtMatmulDescGetAttribute == NULL ||
      real->cublasLtMatrixLayoutGetAttribute == NULL)
    return 0;
  a = layout_of(x->a);
  b = layout_of(x->b);
  c = layout_of(x->c);
  d = layout_of(x->d);
  call = matmul_call(x->desc, x->alpha, x->A, &a, x->B, &b, x->beta, x->C, &c, x->D, &d);
  sgemm_cublas__pass_if(!a.known || !b.known || !c.known || !d.known, SGEMM_CUBLAS_PATH_ARGUMENTS, &call);
  call.stream = x->stream;
  call.pass = c.ld == d.ld ? pass_matmul : NULL; /* the scratch memory has the size of D */
  call.context = x;
  *status = CUBLAS_STATUS_SUCCESS;
  if (!sgemm_cublas__offer(&call))
    return 0;
  *status = call.status;
  return 1;
}

SGEMM_CUBLAS_EXPORT(cublasLtMatmul)
cublasStatus_t cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc, const void *alpha,
                              const void *A, cublasLtMatrixLayout_t Adesc, const void *B, cublasLtMatrixLayout_t Bdesc,
                              const void *beta, const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
                              cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspaceSizeInBytes, cudaStream_t stream) {
  const arguments x = {lightHandle, computeDesc,          alpha, A, B, beta, C, Adesc, Bdesc, Cdesc, Ddesc, D, algo,
                       workspace,   workspaceSizeInBytes, stream};
  cublasStatus_t status;
  if (!sgemm_cublas__bypass("cublasLtMatmul") && take(&x, &status))
    return status;
  return SGEMM_CUBLAS_PASS(sgemm_cublas__real_lt(), cublasLtMatmul,
                           (lightHandle, computeDesc, alpha, A, Adesc, B, Bdesc, beta, C, Cdesc, D, Ddesc, algo,
                            workspace, workspaceSizeInBytes, stream));
}
