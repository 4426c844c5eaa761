/* project_epilogues.h: epilogues of a project, as its files include them before sgemm.h. */
#ifndef PROJECT_EPILOGUES_H
#define PROJECT_EPILOGUES_H

/* It reads the indices, the old element of C and both scalars. */
#define SGEMM_PROJECT_EPILOGUES(X)                                                                                     \
  X(masked, (sum, c, row, col, s, t), row >= col ? s * sum : sum + t * c, "another scale above the diagonal")

#endif /* PROJECT_EPILOGUES_H */
