#include <cuda_runtime.h>
#include <cublas_v2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <algorithm>
#include <vector>
#include <string>
#include "sgemm.h"
#define CK(x) do{int e_=(int)(x);if(e_){fprintf(stderr,"error %d line %d\n",e_,__LINE__);exit(1);}}while(0)
static cudaEvent_t e0,e1;
template<class F> static double timeit(F f){ f();f(); std::vector<double> v;
  for(int b=0;b<3;b++){ float ms=0; int n=b?0:4; if(n){CK(cudaEventRecord(e0)); for(int i=0;i<n;i++)f(); CK(cudaEventRecord(e1));CK(cudaEventSynchronize(e1));CK(cudaEventElapsedTime(&ms,e0,e1));}
    static int m; if(n){m=(int)(8/(ms/n)); if(m<4)m=4; if(m>300)m=300;} n=m;
    CK(cudaEventRecord(e0)); for(int i=0;i<n;i++)f(); CK(cudaEventRecord(e1));CK(cudaEventSynchronize(e1));CK(cudaEventElapsedTime(&ms,e0,e1)); v.push_back(ms*1e3/n);}
  std::sort(v.begin(),v.end()); return v[1];}
__global__ void fill(float*p,size_t n,unsigned s){ size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x; if(i<n){unsigned x=(unsigned)i*2654435761u+s; x^=x>>15;x*=2246822519u;x^=x>>13;x*=3266489917u;x^=x>>16; p[i]=x*(2.0f/4294967296.0f)-1;} }
int main(int argc,char**argv){ // b shapes.csv shape-filter row-filter
  const char*sf=argc>2?argv[2]:"",*rf=argc>3?argv[3]:""; FILE*f=fopen(argv[1],"r"); char line[512]; if(!f||!fgets(line,512,f))return 1;
  cublasHandle_t h; CK(cublasCreate(&h)); void*ws; CK(cudaMalloc(&ws,32<<20)); CK(cublasSetWorkspace(h,ws,32<<20)); CK(cudaEventCreate(&e0));CK(cudaEventCreate(&e1));
  sgemm_machine mach; CK(sgemm_machine_query(&mach));
  while(fgets(line,512,f)){ char name[64],ops[8]; long m,n,k,batch; if(line[0]=='#')continue; if(sscanf(line,"%63[^,],%ld,%ld,%ld,%ld,%7s",name,&m,&n,&k,&batch,ops)!=6)continue;
    if(*sf&&!strstr((std::string(",")+sf+",").c_str(),(std::string(",")+name+",").c_str()))continue;
    if((double)m*k*batch>3e8||(double)n*k*batch>6e8||(double)m*n*batch>2e8)continue;
    int ta=ops[0]=='T',tb=ops[1]=='T'; sgemm_params p=sgemm_params_init(ta?SGEMM_T:SGEMM_N,tb?SGEMM_T:SGEMM_N,m,n,k); p.batch=batch; p.stride_a=m*k;p.stride_b=n*k;p.stride_c=m*n;
    float*A,*B,*C,*R; size_t na=m*k*batch,nb=n*k*batch,nc=m*n*batch; CK(cudaMalloc(&A,na*4));CK(cudaMalloc(&B,nb*4));CK(cudaMalloc(&C,nc*4));CK(cudaMalloc(&R,nc*4));
    fill<<<(na+255)/256,256>>>(A,na,1);fill<<<(nb+255)/256,256>>>(B,nb,77); p.A=A;p.B=B;p.C=C; size_t wb=(size_t)1<<31; CK(cudaMalloc(&p.workspace,wb)); p.workspace_bytes=wb;
    float al=1,be=0; double tc=timeit([&]{CK(cublasSgemmStridedBatched(h,tb?CUBLAS_OP_T:CUBLAS_OP_N,ta?CUBLAS_OP_T:CUBLAS_OP_N,n,m,k,&al,B,tb?k:n,n*k,A,ta?m:k,m*k,&be,R,n,m*n,batch));});
    printf("%s %ldx%ldx%ld %s b%ld cuBLAS %.1f us\n",name,m,n,k,ops,batch,tc);
    std::vector<float> x(nc),y(nc); CK(cudaMemcpy(y.data(),R,nc*4,cudaMemcpyDeviceToHost)); sgemm_plan chosen=sgemm_select(&p,SGEMM_STAGE_COUNT,&mach);
    for(int v=0;v<SGEMM_VARIANT_COUNT;v++){ const sgemm_variant_info*i=sgemm_variant_get((sgemm_variant)v); if(!sgemm_compiled((sgemm_variant)v)||!strstr(i->name,rf))continue;
      double tiles=ceil((double)m/i->BM)*ceil((double)n/i->BN); int planes[5],np=0; planes[np++]=1; if(i->packs){int ms=mach.multiprocessors*i->resident; planes[np++]=ms; int e=sgemm__even_shares(tiles,ms); if(e>1)planes[np++]=e;} else if(i->bufs>=3) for(int q=2;q<=16;q*=2)if(q*tiles*batch<=600&&k/q>=64&&np<5)planes[np++]=q;
      for(int q=0;q<np;q++){ sgemm_plan plan={(sgemm_variant)v,1,planes[q]}; if(sgemm_plan_workspace(&plan,&p)>p.workspace_bytes)continue;
        CK(cudaMemset(C,255,nc*4)); int st=sgemm_run_plan(&plan,&p,0); if(st){printf("  %s status %d\n",i->name,st);continue;} CK(cudaMemcpy(x.data(),C,nc*4,cudaMemcpyDeviceToHost));
        double worst=0; for(size_t z=0;z<nc;z++){double d=fabs((double)x[z]-y[z]); if(!(d<=worst))worst=d;}
        double us=timeit([&]{sgemm_run_plan(&plan,&p,0);});
        sgemm__figures fig=sgemm__measured; sgemm__problem pr=sgemm__problem_of(&p,&mach,&fig); sgemm__row row=sgemm__row_of((sgemm_variant)v,&pr,&fig); double cost=sgemm__cost(&plan,&row,&pr,&fig)/1980.0;
        printf("  %-28s planes %3d %9.1f us %6.2f TF ratio %.3f reckoned %.1f%s%s\n",i->name,planes[q],us,2e-6*m*n*k*batch/us,tc/us,cost,chosen.variant==v&&chosen.planes==planes[q]?" *":"",worst<1e-3*sqrt((double)k)?"":" WRONG"); fflush(stdout);}
    }
    CK(cudaFree(A));CK(cudaFree(B));CK(cudaFree(C));CK(cudaFree(R));CK(cudaFree(p.workspace)); }
}
