#!/usr/bin/env python3
"""check_sass.py OBJECT...: finds machine code that reads a register before the load that writes it has ended.

An OBJECT is a cubin, an object or a program that `cuobjdump -sass` reads, or its output in a file that ends in .sass. ptxas
puts into each instruction which scoreboard its result releases and which scoreboards it waits for, because the hardware checks
neither. ptxas 13.0.88 forgot such a wait at the head of a loop, where paths with and without copies join, and the kernel
read fragments of the tile before, once in some million tiles (docs/notebook/compile_time.md, "Small operands").

The control bits of a 128-bit instruction, from sm_70 on, are those of Z. Jia et al., "Dissecting the NVIDIA Volta GPU
Architecture via Microbenchmarking" (2018), section 2.1:
  bits 110 to 112  scoreboard that is released when the result is written; 7: none
  bits 116 to 121  mask of the scoreboards that the instruction waits for
Loads from shared memory and shuffles end in their order. One without a scoreboard has ended when a later one has.

The script prints the kernels with such reads, the instructions, and the number of kernels. The exit status is 1 if there
are any, and 2 if a file has no kernel.
"""
import re
import sys

import sass

NO_SCOREBOARD = 7
LATER = 6  # in place of a scoreboard: that of a later load
IN_ORDER = ("LDS", "LDSM", "SHFL")
WIDE_LOADS = {"64": 2, "128": 4}
INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s*/\* 0x[0-9a-f]{16} \*/\s*/\* 0x([0-9a-f]{16}) \*/")


def registers_of(text, count=1):
    """The registers that operands name. count: consecutive ones that a name stands for; 2 behind .64."""
    found = set()
    for first, wide in re.findall(r"(?<![A-Z])R(\d+)(\.64)?", text):
        found |= set(range(int(first), int(first) + (2 if wide else count)))
    return found


class Instruction:
    """An instruction: what it reads and writes, what it waits for, and where it may go on."""

    def __init__(self, address, text, control):
        self.address, self.text = int(address, 16), text
        self.scoreboard, self.waits = control >> 46 & 7, control >> 52 & 63
        self.predicated = text.startswith("@")
        name, _, operands = re.sub(r"^@!?U?P\w+\s+", "", text).partition(" ")
        self.name, *modifiers = name.split(".")
        width = max([WIDE_LOADS.get(modifier, 1) for modifier in modifiers] + [1])
        target = re.search(r"0x([0-9a-f]+)\s*$", operands)
        self.target = int(target[1], 16) if self.name == "BRA" and target else None
        # A branch may have its condition as an operand.
        self.falls_through = self.predicated or self.name not in ("BRA", "EXIT", "RET") or \
            (self.name == "BRA" and "P" in operands)
        if self.name.startswith(("ST", "RED", "BAR", "BRA", "LDGSTS", "UBLKCP", "SYNCS")):
            first, others = "", operands
        else:
            first, _, others = operands.partition(",")
        if self.name in ("SHFL", "MATCH", "VOTE"):  # the predicate of the result comes first
            first, _, others = others.partition(",")
        if self.name.startswith("LD"):
            self.writes, self.reads = registers_of(first, width), registers_of(others)
        else:
            self.writes = registers_of(first, 2 if "WIDE" in modifiers else 1)
            data = re.sub(r"\[[^\]]*\]", "", others)
            self.reads = registers_of(others) | (registers_of(data, width) if self.name.startswith("ST") else set())


def kernels(path):
    """{kernel: [Instruction]}."""
    return {name: [Instruction(address, line, int(control, 16)) for address, line, control in INSTRUCTION.findall(body)]
            for name, body in sass.listings(path).items()}


def step(instruction, pending):
    """Executes an instruction. pending: {register: set of scoreboards that its loads have not released}; the state before,
    which becomes the state behind. Returns the registers that are read too early."""
    for register, scoreboards in list(pending.items()):
        left = {s for s in scoreboards if s == LATER or not instruction.waits >> s & 1}
        if left:
            pending[register] = left
        else:
            del pending[register]
    early = {register for register in instruction.reads if register in pending}
    if not instruction.predicated:
        for register in instruction.writes:
            pending.pop(register, None)
    scoreboard = instruction.scoreboard
    if instruction.name in IN_ORDER:
        for register in instruction.writes:
            pending[register] = pending.get(register, set()) | {LATER}
        if scoreboard != NO_SCOREBOARD:
            for register, scoreboards in pending.items():
                if LATER in scoreboards:
                    pending[register] = scoreboards - {LATER} | {scoreboard}
    elif scoreboard != NO_SCOREBOARD:
        for register in instruction.writes:
            pending[register] = pending.get(register, set()) | {scoreboard}
    return early


def early_reads(code):
    """{index of an instruction: registers} over all paths through a kernel."""
    index = {instruction.address: i for i, instruction in enumerate(code)}
    states, work, found = {0: {}}, [0], {}
    while work:
        i = work.pop()
        pending = {register: set(scoreboards) for register, scoreboards in states[i].items()}
        early = step(code[i], pending)
        if early:
            found.setdefault(i, set()).update(early)
        following = [i + 1] if code[i].falls_through else []
        if code[i].target in index:
            following.append(index[code[i].target])
        for j in following:
            if j >= len(code):
                continue
            changed = j not in states
            before = states.setdefault(j, {})
            for register, scoreboards in pending.items():
                if not scoreboards <= before.get(register, set()):
                    before[register] = before.get(register, set()) | scoreboards
                    changed = True
            if changed:
                work.append(j)
    return found


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.splitlines()[0])
    count = wrong = 0
    for path in sys.argv[1:]:
        found = kernels(path)
        if not found:
            print(f"check_sass.py: {path}: no kernel found", file=sys.stderr)
            sys.exit(2)
        for name, code in sorted(found.items()):
            early = early_reads(code)
            count += 1
            wrong += bool(early)
            for i in sorted(early):
                names = " ".join(f"R{register}" for register in sorted(early[i]))
                print(f"{name}: {code[i].address:#06x} {code[i].text}: reads {names} too early")
    print(f"{wrong} of {count} kernels read a register too early")
    sys.exit(wrong > 0)


main()
