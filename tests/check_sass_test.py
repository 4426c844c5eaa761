#!/usr/bin/env python3
"""check_sass_test.py CHECK_SASS [unittest's arguments]: tests tools/check_sass.py with machine code that it can judge."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases

script = None  # path of the tool


def sass(*lines, name="sgemm_case"):
    """The output of cuobjdump for a kernel. A line has the text of an instruction, the scoreboard that its result
    releases or None, and the scoreboards that it waits for."""
    text = f"\n\t\tFunction : {name}\n\t.headerflags\t@\"EF_CUDA_SM90\"\n"
    for i, (instruction, releases, waits) in enumerate(lines):
        control = (7 if releases is None else releases) << 46 | sum(1 << scoreboard for scoreboard in waits) << 52
        text += f"        /*{16 * i:04x}*/  {instruction} ;  /* 0x{i:016x} */\n    /* 0x{control:016x} */\n"
    return text


class CheckSassTest(unittest.TestCase):
    def run_on(self, *kernels):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "build.sass")
            with open(path, "w") as file:
                file.write("".join(kernels))
            return subprocess.run([sys.executable, script, path], capture_output=True, text=True)

    def early(self, *lines):
        """Expects that the last line, and no other, reads R8 too early."""
        run = self.run_on(sass(*lines))
        address = f"{16 * (len(lines) - 1):#06x}"
        self.assertEqual(run.stdout, f"sgemm_case: {address} {lines[-1][0]}: reads R8 too early\n"
                                     "1 of 1 kernels read a register too early\n")
        self.assertEqual(run.returncode, 1)

    def right(self, *lines):
        run = self.run_on(sass(*lines))
        self.assertEqual((run.stdout, run.returncode), ("0 of 1 kernels read a register too early\n", 0))

    def test_load_and_read(self):
        use = "FFMA R0, R8, R9, R0"
        self.right(("LDG.E R8, desc[UR4][R2.64]", 1, ()), (use, None, (1,)))
        self.early(("LDG.E R8, desc[UR4][R2.64]", 1, ()), (use, None, ()))
        self.early(("LDG.E R8, desc[UR4][R2.64]", 1, ()), (use, None, (0, 2)))

    def test_every_register_of_a_wide_load(self):
        self.early(("LDS.128 R5, [R2]", 0, ()), ("FADD R0, R8, R0", None, ()))
        self.right(("LDS.64 R6, [R2]", 0, ()), ("FADD R0, R8, R0", None, ()))
        self.early(("LDG.E.64 R8, desc[UR4][R2.64]", 3, ()), ("STS [R8], R0", None, (2,)))

    def test_every_register_of_a_wide_store(self):
        self.early(("LDS R8, [R2]", 0, ()), ("STG.E.128 desc[UR4][R2.64], R5", None, ()))
        self.right(("LDS R8, [R2]", 0, ()), ("STS.128 [R7], R0", None, ()))

    def test_loads_that_end_in_order(self):
        first, second = ("LDS R8, [R2]", None, ()), ("LDS R9, [R2+0x4]", 1, ())
        self.right(first, second, ("FADD R0, R8, R9", None, (1,)))
        self.right(first, ("SHFL.BFLY PT, R9, R3, 0x1, 0x1f", 1, ()), ("FADD R0, R8, R9", None, (1,)))
        self.early(first, ("FADD R0, R8, R9", None, (0, 1, 2, 3, 4, 5)))
        self.early(("LDS R9, [R2]", 1, ()), ("LDS R8, [R2+0x4]", 3, ()), ("FADD R0, R9, R8", None, (1,)))

    def test_a_path_without_the_wait(self):
        """The code of ptxas 13.0.88: the wait is on the path with the copies alone."""
        self.early(("LDS R8, [R2]", 3, ()),
                   ("@!P1 BRA 0x30", None, ()),
                   ("IADD3 R32, R2, 0x180, RZ", None, (3,)),
                   ("FFMA R113, R8, R44, R113", None, ()))
        self.right(("LDS R8, [R2]", 3, ()),
                   ("@!P1 BRA 0x30", None, ()),
                   ("IADD3 R32, R2, 0x180, RZ", None, ()),
                   ("FFMA R113, R8, R44, R113", None, (3,)))

    def test_the_way_back_of_a_loop(self):
        run = self.run_on(sass(("FFMA R0, R8, R9, R0", None, ()), ("LDS R8, [R2]", 3, ()), ("@P1 BRA 0x0", None, ())))
        self.assertIn("0x0000 FFMA R0, R8, R9, R0: reads R8 too early", run.stdout)
        self.right(("FFMA R0, R8, R9, R0", None, ()), ("LDS R8, [R2]", 3, ()), ("@P1 BRA 0x0", None, (3,)))
        self.right(("BRA 0x30", None, ()), ("LDS R8, [R2]", 3, ()), ("EXIT", None, ()), ("FADD R0, R8, R0", None, ()))

    def test_overwritten_registers(self):
        self.right(("LDS R8, [R2]", 3, ()), ("MOV R8, R1", None, ()), ("FADD R0, R8, R0", None, ()))
        self.early(("LDS R8, [R2]", 3, ()), ("@P0 MOV R8, R1", None, ()), ("FADD R0, R8, R0", None, ()))

    def test_counts_all_kernels(self):
        good = sass(("EXIT", None, ()), name="sgemm_good")
        bad = sass(("LDS R8, [R2]", 3, ()), ("FADD R0, R8, R0", None, ()), name="sgemm_bad")
        run = self.run_on(good, bad)
        self.assertIn("sgemm_bad: 0x0010", run.stdout)
        self.assertTrue(run.stdout.endswith("1 of 2 kernels read a register too early\n"))

    def test_no_kernel(self):
        run = self.run_on("nothing\n")
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("no kernel found", run.stderr)


if __name__ == "__main__":
    script = os.path.abspath(sys.argv.pop(1))
    result = cases.run()
    sys.exit(not result.wasSuccessful() or result.testsRun == 0)
