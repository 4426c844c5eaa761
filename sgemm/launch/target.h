/* sgemm/launch/target.h: where the launches of a plan go: to a stream of the device, or into the list of
   sgemm_plan_launches(). The launch sequences call sgemm__emit(). */
#ifndef SGEMM_LAUNCH_TARGET_H
#define SGEMM_LAUNCH_TARGET_H

typedef struct sgemm__target {
  sgemm_stream stream;
  int lists;              /* 1: the launches go to a list; 0: to the stream */
  sgemm_launch *launches; /* the list */
  int capacity, count;    /* its elements; launches so far. Launches beyond the capacity are counted, not written */
  sgemm_tensor_map_encoder encode;
} sgemm__target;

static inline sgemm__target sgemm__to_stream(sgemm_stream stream) {
  sgemm__target to;
  to.stream = stream;
  to.lists = 0;
  to.launches = NULL;
  to.capacity = to.count = 0;
  to.encode = NULL;
  return to;
}

/* ---- Tensor maps ------------------------------------------------------------------------------------------------- */

enum {
  SGEMM__TENSOR_MAP_BYTES = 128,
  SGEMM__TENSOR_MAP_ALIGNMENT = 64,
  SGEMM__TENSOR_MAPS_AT = (int)(sizeof(sgemm__tma_args) + SGEMM__TENSOR_MAP_ALIGNMENT - 1) /
                          SGEMM__TENSOR_MAP_ALIGNMENT * SGEMM__TENSOR_MAP_ALIGNMENT /* in a launch of tma */
};

/* Values of the enums of cuda.h that the tensor maps have. device_cuda.h compares them with the enums. */
enum {
  SGEMM__MAP_FLOAT32 = 7,    /* CU_TENSOR_MAP_DATA_TYPE_FLOAT32 */
  SGEMM__MAP_INTERLEAVE = 0, /* CU_TENSOR_MAP_INTERLEAVE_NONE */
  SGEMM__MAP_SWIZZLE = 3,    /* CU_TENSOR_MAP_SWIZZLE_128B */
  SGEMM__MAP_PROMOTION = 3,  /* CU_TENSOR_MAP_L2_PROMOTION_L2_256B */
  SGEMM__MAP_FILL = 0        /* CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE */
};

/* Encodes the tensor map of an operand. map: SGEMM__TENSOR_MAP_BYTES, aligned to SGEMM__TENSOR_MAP_ALIGNMENT. Returns
   the CUresult of the encoder, 0 for success. */
static inline int sgemm__encode(sgemm_tensor_map_encoder encode, const sgemm__tensor_map_shape *v, void *map) {
  const uint64_t sizes[3] = {(uint64_t)v->row_length, (uint64_t)v->rows, (uint64_t)v->matrices};
  const uint64_t strides[2] = {4 * (uint64_t)v->ld, 4 * (uint64_t)v->stride};
  const uint32_t box[3] = {SGEMM__BOX, (uint32_t)v->box_rows, 1}, one[3] = {1, 1, 1};
  return encode(map, SGEMM__MAP_FLOAT32, 3, (void *)v->first, sizes, strides, box, one, SGEMM__MAP_INTERLEAVE,
                SGEMM__MAP_SWIZZLE, SGEMM__MAP_PROMOTION, SGEMM__MAP_FILL);
}

/* Encodes the tensor maps of A and B for a launch of tma, one behind the other. */
static inline int sgemm__encode_operands(sgemm_tensor_map_encoder encode, const sgemm_variant_info *v,
                                         const sgemm__args *args, unsigned char *maps) {
  const sgemm__tensor_map_shape a = sgemm__tensor_map_shape_of(args, 0, v->BM, v->BK);
  const sgemm__tensor_map_shape b = sgemm__tensor_map_shape_of(args, 1, v->BN, v->BK);
  const int error = sgemm__encode(encode, &a, maps);
  return error != 0 ? error : sgemm__encode(encode, &b, maps + SGEMM__TENSOR_MAP_BYTES);
}

/* ---- The list ---------------------------------------------------------------------------------------------------- */

/* Bytes of the struct of sgemm/args.h that is a kernel's parameter, the first one in tma. */
static inline size_t sgemm__args_bytes(int kernel) {
#define SGEMM__X(number, kernel, args) sizeof(args),
  static const size_t shared[] = {SGEMM__COMMON_KERNELS(SGEMM__X)};
#undef SGEMM__X
  const sgemm_variant_info *v = sgemm__variant_get((sgemm_variant)kernel);
  if (v != NULL)
    return v->uses_tma             ? sizeof(sgemm__tma_args)
           : sgemm__can_split_k(v) ? sizeof(sgemm__split_k_args)
                                   : sizeof(sgemm__args);
  return kernel < SGEMM__SPLIT ? shared[kernel - SGEMM_VARIANT_COUNT] : sizeof(sgemm__tensor_args);
}

/* Writes the name of a kernel, and the SGEMM_PART that defines it. */
static inline void sgemm__name_kernel(sgemm_launch *launch, int kernel, int ops) {
#define SGEMM__W(number, kernel, args) #kernel,
#define SGEMM__X(format, terms, idea) "sgemm_split_" #format,
#define SGEMM__Y(engine, format, BM, BN, ...) SGEMM__STRING(SGEMM__TENSOR_NAME(engine, format, BM, BN)),
#define SGEMM__Z(engine, format, BM, BN, ...) SGEMM__STRING(SGEMM__TENSOR_NAME(engine, format, BM, BN)) "_reduced",
  static const char *const others[SGEMM__KERNEL_COUNT - (int)SGEMM_VARIANT_COUNT] = {
      SGEMM__COMMON_KERNELS(SGEMM__W) SGEMM_FORMATS(SGEMM__X) "sgemm_split_fallback",
      SGEMM_TENSOR_VARIANTS(SGEMM__Y) SGEMM_TENSOR_VARIANTS(SGEMM__Z)};
#undef SGEMM__W
#undef SGEMM__X
#undef SGEMM__Y
#undef SGEMM__Z
  static const char suffixes[4][4] = {"_nn", "_nt", "_tn", "_tt"}, suffixes_of_one_op[2][4] = {"_n", "_t"};
  const sgemm_variant_info *v = sgemm__variant_get((sgemm_variant)kernel);
  launch->part = v != NULL ? v->stage_name : kernel < SGEMM__SPLIT ? "host" : "tensor";
  snprintf(launch->kernel, sizeof launch->kernel, "%s%s", v != NULL ? v->name : others[kernel - SGEMM_VARIANT_COUNT],
           v == NULL                      ? ""
           : ops == SGEMM__FURTHER_KERNEL ? (v->fuses == 3 ? "_fused" : "_reduced")
           : v->any_op_a && v->any_op_b   ? ""
           : v->any_op_a || v->any_op_b   ? suffixes_of_one_op[ops]
                                          : suffixes[ops]);
}

/* Adds a launch to the list. Its arguments have the layout of the kernel's parameters: each begins at the next multiple
   of its alignment. Not inlined: into a sequence with args of one type, gcc warns of the sizes of the other types. */
static __attribute__((noinline)) sgemm_status sgemm__record(int kernel, int ops, sgemm__grid grid, const void *args,
                                                            sgemm__target *to) {
  const sgemm_variant_info *v = sgemm__variant_get((sgemm_variant)kernel); /* NULL for kernels beside strict variants */
  const sgemm__args *gemm = (const sgemm__args *)args; /* the first member of each kernel's parameter */
  sgemm_launch launch;
  SGEMM__ASSERT(SGEMM__TENSOR_MAPS_AT + 2 * SGEMM__TENSOR_MAP_BYTES <= SGEMM_MAX_ARGUMENT_BYTES &&
                    sizeof(sgemm__tensor_args) <= SGEMM_MAX_ARGUMENT_BYTES,
                "the arguments fit into sgemm_launch")
  memset(&launch, 0, sizeof launch);
  sgemm__name_kernel(&launch, kernel, ops);
  launch.grid_x = grid.x;
  launch.grid_y = grid.y;
  launch.grid_z = grid.z;
  launch.threads = grid.threads;
  launch.cluster = grid.cluster;
  launch.shared_bytes = grid.shared;
  launch.argument_count = 1;
  launch.argument_bytes = sgemm__args_bytes(kernel);
  memcpy(launch.arguments, args, launch.argument_bytes);
  if (v != NULL && v->uses_tma) {
    SGEMM__ALIGNED(SGEMM__TENSOR_MAP_ALIGNMENT) unsigned char maps[2 * SGEMM__TENSOR_MAP_BYTES] = {0};
    if (gemm->k > 0 && (to->encode == NULL || sgemm__encode_operands(to->encode, v, gemm, maps) != 0))
      return SGEMM_ERROR_TENSOR_MAP;
    memcpy(launch.arguments + SGEMM__TENSOR_MAPS_AT, maps, sizeof maps);
    launch.argument_count = 3;
    launch.argument_offset[1] = SGEMM__TENSOR_MAPS_AT;
    launch.argument_offset[2] = SGEMM__TENSOR_MAPS_AT + SGEMM__TENSOR_MAP_BYTES;
    launch.argument_bytes = SGEMM__TENSOR_MAPS_AT + sizeof maps;
  }
  if (to->count < to->capacity)
    to->launches[to->count] = launch;
  to->count++;
  return SGEMM_SUCCESS;
}

/* A launch of a sequence; the arguments are those of sgemm__launch(). */
static inline sgemm_status sgemm__emit(int kernel, int ops, sgemm__grid grid, const void *args, sgemm__target *to) {
  return to->lists ? sgemm__record(kernel, ops, grid, args, to) : sgemm__launch(kernel, ops, grid, args, to->stream);
}

#endif /* SGEMM_LAUNCH_TARGET_H */
