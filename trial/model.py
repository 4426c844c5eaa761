import re,sys
def funcs(path):
    cur=None;out={}
    for l in open(path):
        m=re.search(r'Function : (\S+)',l)
        if m: cur=m.group(1);out[cur]=[];continue
        m=re.match(r'\s+/\*([0-9a-f]{4,})\*/\s+(.*?);\s',l)
        if m and cur: out[cur].append((int(m.group(1),16),m.group(2)))
    return out
def loop(ins):
    best=None
    for k,(a,t) in enumerate(ins):
        m=re.search(r'BRA(?:\.\w+)*\s+(?:\w+,\s*)?(?:`\(\S+\)|0x([0-9a-f]+))',t)
        if m and m.group(1):
            to=int(m.group(1),16)
            if to<a:
                body=[x for x in ins if to<=x[0]<=a]
                n=sum('FFMA' in x[1] for x in body)
                if n>=1000 and (best is None or len(body)<len(best)): best=body
    return best
def model(body):
    cache={};free=[0,0];s=0;n=0;start=0;mv=0
    for rep in range(2):
        if rep: start=s;n=0
        for a,t in body:
            t=re.sub(r'^@!?U?P\d+ ','',t)
            if not t.startswith('FFMA'):
                continue
            ops=[o.strip() for o in t.split(' ',1)[1].split(',')]
            d=ops[0];src=ops[1:4]
            if d.rstrip()!=src[2].replace('.reuse',''): mv+=rep
            reads=set()
            for slot,o in enumerate(src):
                r=re.match(r'R(\d+)',o)
                if not r: continue
                r=int(r.group(1))
                if cache.get(slot)!=r: reads.add(r)
            ncache={}
            for slot,o in enumerate(src):
                if '.reuse' in o: ncache[slot]=int(re.match(r'R(\d+)',o).group(1))
            cache=ncache
            c=[0,0]
            for r in reads:c[r%2]+=1
            s2=s+1
            while any(c[b] and max(free[b],s2)+c[b]>s2+max(2,c[b]) for b in(0,1)): s2+=1
            for b in(0,1):
                if c[b]: free[b]=max(free[b],s2)+c[b]
            s=s2;n+=1
    return n,(s-start)/n,mv
if __name__=='__main__':
    for f,ins in funcs(sys.argv[1]).items():
        b=loop(ins)
        if not b: continue
        n,c,mv=model(b)
        kinds={}
        for a,t in b:
            k=re.sub(r'^@!?U?P\d+ ','',t).split()[0].split('.')[0]; kinds[k]=kinds.get(k,0)+1
        # gaps between LD and its distance to first use
        import collections
        pos=[i for i,(a,t) in enumerate(b) if 'LDS' in t]
        dist=[]
        for i in pos:
            m=re.search(r'LDSM?\S* R(\d+)',b[i][1])
            if not m: continue
            r=int(m.group(1)); regs={r,r+1,r+2,r+3}
            for j in range(1,len(b)):
                t=b[(i+j)%len(b)][1]
                if 'FFMA' in t:
                    rs=set(int(x) for x in re.findall(r'R(\d+)',t.split(' ',1)[1].split(',',1)[1]))
                    if rs&regs: dist.append(j);break
        gaps=[(pos[(i+1)%len(pos)]-pos[i])%len(b) for i in range(len(pos))]
        print(f[:70],'FFMA',n,'model %.3f'%c,'moved',mv,'instr',len(b),{k:v for k,v in kinds.items() if k!='FFMA'},'dist min %d med %d'%(min(dist),sorted(dist)[len(dist)//2]) if dist else '','gaps<6: %d of %d'%(sum(g<6 for g in gaps),len(gaps)))
