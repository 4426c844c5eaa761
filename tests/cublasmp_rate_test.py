#!/usr/bin/env python3
"""cublasmp_rate_test.py CUBLASMP_RATE [unittest's arguments]: tests what tools/cublasmp_rate.py does without a GPU: the
block-cyclic layout, its arguments, and the end without libraries."""

import importlib.util
import os
import subprocess
import sys
import unittest

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases

script = None  # path of the tool
tool = None  # the tool as a module


class LayoutTest(unittest.TestCase):
    def check(self, shape, grid, block):
        """Compares lengths and elements with a matrix that is distributed element by element."""
        layout, whole = tool.Layout(shape, grid, block), np.full(shape, np.nan)
        for rank in range(grid[0] * grid[1]):
            row, col = divmod(rank, grid[1])
            rows = [i for i in range(shape[0]) if i // block % grid[0] == row]
            cols = [j for j in range(shape[1]) if j // block % grid[1] == col]
            self.assertEqual((layout.length(0, row), layout.length(1, col)), (len(rows), len(cols)))
            numbers = tool.numbers(rank, tool.B)
            for at, (j, i) in enumerate((j, i) for j in cols for i in rows):
                whole[i, j] = numbers[at % tool.SLAB]
        i, j = (index.ravel() for index in np.indices(shape))
        np.testing.assert_array_equal(layout.elements(tool.B, i, j), whole.ravel())

    def test_layouts(self):
        for case in (((37, 53), (2, 3), 4), ((40, 40), (1, 2), 40), ((41, 30), (2, 1), 16), ((5, 3), (3, 2), 7)):
            with self.subTest(case=case):
                self.check(*case)


class EndTest(unittest.TestCase):
    def run_tool(self, *arguments):
        environment = {**os.environ, "LD_LIBRARY_PATH": "", "PYTHONPATH": ""}
        process = subprocess.run([sys.executable, script, *arguments], env=environment, capture_output=True, text=True)
        return process.returncode, process.stdout, process.stderr

    def test_arguments(self):
        for arguments in ((), ("1", "2"), ("1", "2", "0"), ("1", "2", "3", "--grid", "2"), ("1", "2", "3", "--block", "x")):
            with self.subTest(arguments=arguments):
                status, out, errors = self.run_tool(*arguments)
                self.assertEqual((status, out), (2, ""))
                self.assertIn("error: ", errors)

    def test_without_a_library(self):
        """Every process would say which library is missing; the first one ends the others."""
        status, out, errors = self.run_tool("64", "64", "64")
        if status == 0:
            self.skipTest("this machine has the libraries and two GPUs")
        self.assertEqual((status, out), (2, ""))
        self.assertRegex(errors, r"^cublasmp_rate.py: process [01]: ")


if __name__ == "__main__":
    script = os.path.abspath(sys.argv.pop(1))
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("cublasmp_rate", script)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.SLAB = 1 << 10  # so that parts of the matrices begin again
    result = cases.run()
    sys.exit(not result.wasSuccessful() or result.testsRun == 0)
