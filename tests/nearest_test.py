#!/usr/bin/env python3
"""nearest_test.py NEAREST [unittest's arguments]: compares the example nearest with numpy through .npy files."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases

nearest = None  # absolute path of the program


class NearestTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def run_nearest(self, *arguments):
        process = subprocess.run([nearest, *arguments], cwd=self.directory, capture_output=True, text=True)
        errors = "".join(line for line in process.stderr.splitlines(True) if "WARNING: ASan doesn't" not in line)
        return process.returncode, process.stdout, errors

    def save(self, name, array):
        np.save(os.path.join(self.directory, name), array)

    def load(self, name):
        return np.load(os.path.join(self.directory, name))

    def check(self, queries, points, *options):
        self.save("q.npy", queries)
        self.save("p.npy", points)
        status, out, errors = self.run_nearest("q.npy", "p.npy", "-o", "i.npy", "--distances", "d.npy", *options)
        self.assertEqual((status, errors), (0, ""))
        squares = ((queries[:, None].astype(float) - points[None].astype(float))**2).sum(-1)
        indices, distances = self.load("i.npy"), self.load("d.npy")
        self.assertEqual((indices.dtype, indices.shape), (np.int64, (len(queries),)))
        self.assertEqual((distances.dtype, distances.shape), (np.float32, (len(queries),)))
        np.testing.assert_array_equal(indices, squares.argmin(1))
        np.testing.assert_allclose(distances, squares.min(1), rtol=1e-5, atol=1e-4)
        return out

    def random(self, rows, columns):
        return np.random.default_rng(rows).standard_normal((rows, columns)).astype(np.float32)

    def test_modes(self):
        for mode in ["strict", "tensor", "full"]:
            with self.subTest(mode):
                self.assertEqual(self.check(self.random(67, 19), self.random(403, 19), "--mode", mode), "")

    def test_lowest_index_of_equal_distances(self):
        points = np.concatenate([self.random(50, 3)] * 4)
        self.check(self.random(20, 3), points)

    def test_one_point_and_one_query(self):
        self.check(self.random(9, 5), self.random(1, 5))
        self.check(self.random(1, 5), self.random(90, 5))

    def test_time(self):
        out = self.check(self.random(5, 4), self.random(6, 4), "--repeat", "3")
        self.assertTrue(re.fullmatch(r"[0-9]+\.[0-9]{3} ms\n", out), out)

    def test_refused(self):
        self.save("q.npy", self.random(5, 4))
        self.save("wide.npy", self.random(6, 7))
        self.save("cube.npy", np.zeros((2, 2, 2), np.float32))
        for arguments, says in [
            (["q.npy"], "two input files"),
            (["q.npy", "q.npy"], "-o"),
            (["q.npy", "wide.npy", "-o", "i.npy"], "wide.npy"),
            (["q.npy", "missing.npy", "-o", "i.npy"], "missing.npy"),
            (["q.npy", "cube.npy", "-o", "i.npy"], "cube.npy"),
            (["q.npy", "q.npy", "q.npy", "-o", "i.npy"], "third"),
            (["q.npy", "q.npy", "-o", "i.npy", "--mode", "fast"], "--mode fast"),
            (["q.npy", "q.npy", "-o", "i.npy", "--repeat", "0"], "--repeat 0"),
            (["q.npy", "q.npy", "-o", "i.npy", "--repeat", "3x"], "--repeat 3x"),
            (["q.npy", "q.npy", "-o", "no/i.npy"], "no/i.npy"),
        ]:
            with self.subTest(arguments):
                status, out, errors = self.run_nearest(*arguments)
                self.assertEqual((status, out, errors.count("\n")), (2, "", 1))
                self.assertIn(says, errors)
                self.assertFalse(os.path.exists(os.path.join(self.directory, "i.npy")))

    def test_help(self):
        status, out, errors = self.run_nearest("--help")
        self.assertEqual((status, errors), (0, ""))
        self.assertIn("--distances FILE", out)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    nearest = os.path.abspath(sys.argv.pop(1))
    result = cases.run()
    sys.exit(not result.wasSuccessful() or result.testsRun == 0)
