#include "sgemm.h"
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
int main(void){ int bad=0; for(int v=0;v<SGEMM_VARIANT_COUNT;v++){ const sgemm_variant_info*i=sgemm_variant_get(v); if(!i->packs||!sgemm_compiled(v))continue;
 int sz[][3]={{64,128,64},{70,130,100},{33,257,36},{129,65,128},{1,3,7},{256,300,200},{64,128,0},{140,260,70},{200,200,40}};
 for(int z=0;z<9;z++)for(int ta=0;ta<2;ta++)for(int tb=0;tb<2;tb++)for(int al=0;al<2;al++)for(int pl=1;pl<=65;pl=pl==1?3:pl==3?40:99){ int m=sz[z][0],n=sz[z][1],k=sz[z][2];
  int lda=((ta?m:k)+3)/4*4+4,ldb=((tb?k:n)+3)/4*4+4,ldc=n+1; if(!al){lda+=1;ldb+=3;}
  float*A=aligned_alloc(64,(lda*(ta?k:m)+64)*4),*B=aligned_alloc(64,(ldb*(tb?n:k)+64)*4),*C=malloc(m*ldc*4+4);
  for(int x=0;x<lda*(ta?k:m);x++)A[x]=rand()%17-8; for(int x=0;x<ldb*(tb?n:k);x++)B[x]=rand()%13-6; for(int x=0;x<m*ldc;x++)C[x]=NAN;
  sgemm_params p=sgemm_params_init(ta?SGEMM_T:SGEMM_N,tb?SGEMM_T:SGEMM_N,m,n,k);p.alpha=1;p.beta=0;p.A=A;p.lda=lda;p.B=B;p.ldb=ldb;p.C=C;p.ldc=ldc;p.op_a=ta?SGEMM_T:SGEMM_N;p.op_b=tb?SGEMM_T:SGEMM_N;p.batch=1;
  sgemm_plan plan={v,1,pl}; p.workspace=NULL; int64_t b=sgemm_plan_workspace(&plan,&p); p.workspace=aligned_alloc(256,(b+255)/256*256+256); p.workspace_bytes=b;
  sgemm_status st=sgemm_run_plan(&plan,&p,0); double w=0; for(int r=0;r<m;r++)for(int c=0;c<n;c++){double e=0;for(int q=0;q<k;q++)e+=(double)(ta?A[q*lda+r]:A[r*lda+q])*(tb?B[c*ldb+q]:B[q*ldb+c]); double d=fabs(e-C[r*ldc+c]); if(!(d<=w))w=d;}
  if(st||w!=0){bad++;printf("%s %dx%dx%d ta%d tb%d al%d pl%d status %d err %g %s\n",i->name,m,n,k,ta,tb,al,pl,st,w,sgemm_model_error());}
  free(A);free(B);free(C);free(p.workspace);} }
 printf("bad %d\n",bad); }
