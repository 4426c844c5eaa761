#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>
#include "sgemm.h"
#define CK(x) do{int e_=(int)(x);if(e_){fprintf(stderr,"error %d line %d\n",e_,__LINE__);exit(1);}}while(0)
__global__ void fill(float*p,size_t n,unsigned s){ size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x; if(i<n){unsigned x=(unsigned)i*2654435761u+s; x^=x>>15;x*=2246822519u;x^=x>>13;x*=3266489917u;x^=x>>16; p[i]=x*(2.0f/4294967296.0f)-1;} }
__global__ void diff(const unsigned*a,const unsigned*b,size_t n,int N,unsigned*out){ size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x; if(i<n&&a[i]!=b[i]){ unsigned k=atomicAdd(out,1u); if(k<8){out[1+3*k]=(unsigned)(i/N);out[2+3*k]=(unsigned)(i%N);out[3+3*k]=a[i];out[40+k]=b[i];} atomicMin(out+30,(unsigned)(i/N));atomicMax(out+31,(unsigned)(i/N));atomicMin(out+32,(unsigned)(i%N));atomicMax(out+33,(unsigned)(i%N)); } }
static double F(unsigned u){float f;memcpy(&f,&u,4);return f;}
int main(int argc,char**argv){ int n=argc>1?atoi(argv[1]):4096, reps=argc>2?atoi(argv[2]):100, sync=argc>3?atoi(argv[3]):0;
  size_t N2=(size_t)n*n; float*A,*B,*C,*R; unsigned*o; CK(cudaMalloc(&A,N2*4));CK(cudaMalloc(&B,N2*4));CK(cudaMalloc(&C,N2*4));CK(cudaMalloc(&R,N2*4));CK(cudaMalloc(&o,256)); void*w; size_t wb=1ull<<30; CK(cudaMalloc(&w,wb));
  fill<<<(N2+255)/256,256>>>(A,N2,1);fill<<<(N2+255)/256,256>>>(B,N2,77);
  sgemm_machine mach; CK(sgemm_machine_query(&mach));
  for(int v=0;v<SGEMM_VARIANT_COUNT;v++){ const sgemm_variant_info*i=sgemm_variant_get((sgemm_variant)v); if(!sgemm_compiled((sgemm_variant)v)||!i->packs||!strstr(i->name,argc>4?argv[4]:""))continue;
   for(int ops=0;ops<4;ops++) for(int pl=0;pl<2;pl++){ sgemm_params p=sgemm_params_init(ops/2?SGEMM_T:SGEMM_N,ops%2?SGEMM_T:SGEMM_N,n,n,n); p.A=A;p.B=B;p.workspace=w;p.workspace_bytes=wb; sgemm_plan plan={(sgemm_variant)v,1,pl?mach.multiprocessors*i->resident:1};
    p.C=R; CK(sgemm_run_plan(&plan,&p,0)); CK(cudaDeviceSynchronize()); p.C=C; int bad=0; 
    for(int r=0;r<reps;r++){ CK(cudaMemset(C,255,N2*4)); unsigned init[64]; memset(init,0,sizeof init); init[30]=init[32]=~0u; CK(cudaMemcpy(o,init,256,cudaMemcpyHostToDevice)); if(sync==2)CK(cudaMemset(w,255,1<<28)); CK(sgemm_run_plan(&plan,&p,0)); if(sync)CK(cudaDeviceSynchronize());
      diff<<<(N2+255)/256,256>>>((unsigned*)C,(unsigned*)R,N2,n,o); unsigned h[64]; CK(cudaMemcpy(h,o,256,cudaMemcpyDeviceToHost)); if(h[0]){ if(bad++<3) printf("%s ops %d planes %d rep %d: %u differ, rows %u..%u cols %u..%u; first (%u,%u) %g is %g, (%u,%u) %g is %g\n",i->name,ops,plan.planes,r,h[0],h[30],h[31],h[32],h[33],h[1],h[2],F(h[40]),F(h[3]),h[4],h[5],F(h[41]),F(h[6])); } }
    printf("%s ops %d planes %d: %d of %d bad\n",i->name,ops,plan.planes,bad,reps); fflush(stdout); } }
}
