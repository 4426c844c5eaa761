#include "sgemm.h"
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include "examples/matrices.h"
int main(int argc,char**argv){ /* m n k tb variant */
 int m=atoi(argv[1]),n=atoi(argv[2]),k=atoi(argv[3]),tb=atoi(argv[4]);
 for(int v=0;v<SGEMM_VARIANT_COUNT;v++){ const sgemm_variant_info*i=sgemm_variant_get(v); if(strcmp(i->name,argv[5]))continue;
  float*A=aligned_alloc(64,(size_t)m*k*4+64),*B=aligned_alloc(64,(size_t)n*k*4+64),*C=malloc((size_t)m*n*4);
  for(size_t x=0;x<(size_t)m*k;x++)A[x]=matrices_number(1,x); for(size_t x=0;x<(size_t)n*k;x++)B[x]=matrices_number(2,x);
  sgemm_params p=sgemm_params_init(SGEMM_N,tb?SGEMM_T:SGEMM_N,m,n,k);p.A=A;p.B=B;p.C=C;p.workspace=NULL;
  sgemm_plan plan={v,1,1}; int st=sgemm_run_plan(&plan,&p,0); double w=0;
  for(int r=0;r<m;r++)for(int c=0;c<n;c++){double e=0,z=0;for(int q=0;q<k;q++){double t=(double)A[(size_t)r*k+q]*(tb?B[(size_t)c*k+q]:B[(size_t)q*n+c]);e+=t;z+=fabs(t);} double d=matrices_distance(C[(size_t)r*n+c],e,z); if(!(d<=w))w=d;}
  printf("%s status %d error %g %s\n",i->name,st,w,sgemm_model_error()); } }
