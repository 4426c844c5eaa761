import re
files={f:open(f).read() for f in('sgemm.h','sgemm_kernels.cuh','sgemm_tensor.cuh')}
name=None;mode=None;old=[];bad=[]
def flush():
    global old
    if old:
        o='\n'.join(old)
        n=sum(t.count(o) for t in files.values())
        if n!=1: print(name,n,repr(o[:160]))
    old=[]
for l in open('tests/mutants.txt').read().split('\n'):
    if l.startswith('@'): flush(); name=l
    elif l.startswith('-'):
        if mode!='-': flush()
        old.append(l[1:]); mode='-'; continue
    elif l.startswith('+'): flush()
    mode=l[:1]
flush()
