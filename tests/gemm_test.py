#!/usr/bin/env python3
"""gemm_test.py GEMM [unittest's arguments]: compares the gemm example with numpy through .npy files."""

import itertools
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases

FULL = os.environ.get("SGEMM_TEST_FULL") == "1"
OPS = ["NN", "NT", "TN", "TT"]
ORDERS = ["C", "F"]
MAGIC = b"\x93NUMPY"

# Without BUILD_WORKING_DIRECTORY a relative path starts in the test's directory. With AddressSanitizer gemm prints
# warnings about the CPU model's fibers and about allocations that fail.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "BUILD_WORKING_DIRECTORY"}
ENVIRONMENT["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1"
ASAN_WARNING = re.compile(rb"^==\d+==WARNING: (ASan doesn't|AddressSanitizer failed to allocate).*\n", re.M)

gemm = None  # absolute path of the program
compared = 0  # elements of results that were compared, in all tests


turns = itertools.count()


def some(values):
    """All values in the full tier. In the quick tier every third one, from another one on each time."""
    return list(values) if FULL else list(values)[next(turns) % 3 :: 3]


def random(*shape, order="C", dtype=np.float32):
    values = np.random.default_rng(sum(shape) + 7 * len(shape)).standard_normal(shape)
    return np.asarray(values, dtype=dtype, order=order)


def header(text, version=(1, 0)):
    """The bytes of an .npy file before the data, with this text as its header."""
    return MAGIC + bytes(version) + len(text).to_bytes(2 if version == (1, 0) else 4, "little") + text


class GemmTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.directory)

    def path(self, name):
        return os.path.join(self.directory, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def write(self, name, content):
        """An array as numpy saves it, or bytes."""
        with open(self.path(name), "wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                np.save(file, content)
        return name

    def save(self, **arrays):
        for name, array in arrays.items():
            self.write(name + ".npy", array)

    def files(self):
        return {name: self.read(name) for name in os.listdir(self.directory) if os.path.isfile(self.path(name))}

    def start(self, *arguments, program=None, **options):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        options = {"cwd": self.directory, "env": ENVIRONMENT, **streams, **options}
        return subprocess.Popen([program or gemm, *arguments], **options)

    def finish(self, process, data=None):
        out, err = process.communicate(data, timeout=300)
        return process.returncode, out or b"", ASAN_WARNING.sub(b"", err)

    def run_gemm(self, *arguments, data=None, **options):
        if data is not None:
            options["stdin"] = subprocess.PIPE
        return self.finish(self.start(*arguments, **options), data)

    def accepted(self, *arguments, notes=(), **options):
        """Runs gemm. It must succeed, print these notes alone, and write no file but C.npy."""
        before = self.files()
        before.pop("C.npy", None)
        status, out, err = self.run_gemm(*arguments, "-o", "C.npy", **options)
        lines = [f"gemm: {name}: float64, rounded to float32" for name in notes]
        self.assertEqual((status, out, err.decode().splitlines()), (0, b"", lines))
        after = self.files()
        result = after.pop("C.npy")
        self.assertEqual(after, before)
        self.assertEqual(result.index(b"\n") % 64, 63)
        return np.load(self.path("C.npy"))

    def refused(self, *arguments, says, out="C.npy", **options):
        """Runs gemm. It must exit with status 2, print one line with the reason, and change no file."""
        before = self.files()
        status, stdout, err = self.run_gemm(*arguments, *([] if out is None else ["-o", out]), **options)
        self.assertEqual((status, stdout), (2, b""), err)
        self.assertRegex(err, rb"\Agemm: [^\n]+\n\Z")
        for piece in [says] if isinstance(says, str) else says:
            self.assertIn(piece, err.decode())
        self.assertEqual(self.files(), before)

    def check(self, C, a, b, op="NN", alpha=1, beta=0, c0=None):
        """Checks C componentwise. The bound has k roundings of a float32 dot product, and two for alpha and beta."""
        global compared
        alpha, beta = float(np.float32(alpha)), float(np.float32(beta))
        A, B = (np.asarray(x, np.float32).astype(np.float64) for x in (a, b))
        A = A.swapaxes(-1, -2) if op[0] == "T" else A
        B = B.swapaxes(-1, -2) if op[1] == "T" else B
        want, size = alpha * (A @ B), abs(alpha) * (abs(A) @ abs(B))
        if c0 is not None:
            c0 = c0.astype(np.float32).astype(np.float64)
            want, size = want + beta * c0, size + abs(beta) * abs(c0)
        self.assertEqual((C.shape, C.dtype), (want.shape, np.float32))
        within = abs(C - want) <= (A.shape[-1] + 2) * 2.0**-24 * size  # false for NaN
        self.assertTrue(np.all(within), f"{np.sum(~within)} of {within.size} elements are wrong")
        compared += C.size

    def multiply(self, a, b, *, op="NN", alpha=None, beta=None, c0=None, extra=()):
        """Multiplies through files, compares C with numpy and returns it."""
        arrays = {"A": a, "B": b, **({} if c0 is None else {"C0": c0})}
        self.save(**arrays)
        arguments = ["A.npy", "B.npy", "--op", op, *extra]
        arguments += [] if alpha is None else ["--alpha", str(alpha)]
        arguments += [] if beta is None else ["--beta", str(beta)]
        arguments += [] if c0 is None else ["--c", "C0.npy"]
        C = self.accepted(*arguments, notes=[f"{x}.npy" for x in arrays if arrays[x].dtype == np.float64])
        self.check(C, a, b, op, 1 if alpha is None else alpha, beta or 0, c0)
        return C

    def operands(self, op, m, n, k, order_a="C", order_b="C", dtype=np.float32):
        a = random(*((m, k) if op[0] == "N" else (k, m)), order=order_a, dtype=dtype)
        b = random(*((k, n) if op[1] == "N" else (n, k)), order=order_b, dtype=dtype)
        return a, b


class Products(GemmTest):
    def test_help(self):
        status, out, err = self.run_gemm("--help")
        self.assertEqual((status, err), (0, b""))
        for option in ["-o", "--op", "--alpha", "--beta", "--c", "--stage", "naive", "tiled"]:
            self.assertIn(option, out.decode())

    def test_defaults(self):
        self.multiply(random(5, 7), random(7, 3))

    def test_every_op_with_every_order(self):
        for op, order_a, order_b, order_c in some(itertools.product(OPS, ORDERS, ORDERS, [None, *ORDERS])):
            with self.subTest(op=op, a=order_a, b=order_b, c=order_c):
                a, b = self.operands(op, 37, 70, 23, order_a, order_b)
                c0 = random(37, 70, order=order_c) if order_c else None
                C = self.multiply(a, b, op=op, c0=c0, beta=0.5 if order_c else None)
                self.assertEqual(np.isfortran(C), order_c == "F")

    def test_vectors_as_matrices(self):
        for m, n, k in [(1, 1, 1), (1, 9, 4), (9, 1, 4), (9, 4, 1), (1, 1, 300)]:
            for op, order in some(itertools.product(OPS, ORDERS)):
                with self.subTest(m=m, n=n, k=k, op=op, order=order):
                    self.multiply(*self.operands(op, m, n, k, order, order), op=op)

    def test_alpha_and_beta(self):
        a, b, c0 = random(20, 30), random(30, 10), random(20, 10)
        for alpha, beta in itertools.product([None, 0, 1, -1, 0.1, 1e-30], [0, 1, -2.5, "3e3", "0x1p-3"]):
            with self.subTest(alpha=alpha, beta=beta):
                value = float.fromhex(beta) if beta == "0x1p-3" else beta
                self.save(A=a, B=b, C0=c0)
                arguments = [] if alpha is None else ["--alpha", str(alpha)]
                C = self.accepted("A.npy", "B.npy", *arguments, "--beta", str(beta), "--c", "C0.npy")
                self.check(C, a, b, "NN", 1 if alpha is None else alpha, value, c0)

    def test_beta_0_does_not_read_c0(self):
        a, b = self.operands("NN", 4, 6, 5)
        self.save(A=a, B=b, C0=np.full((4, 6), np.nan, np.float32))
        self.check(self.accepted("A.npy", "B.npy", "--beta", "0", "--c", "C0.npy"), a, b)

    def test_alpha_0_does_not_read_a_and_b(self):
        nan, c0 = np.full((5, 5), np.nan, np.float32), random(5, 5)
        self.save(A=nan, C0=c0)
        C = self.accepted("A.npy", "A.npy", "--alpha", "0", "--beta", "2", "--c", "C0.npy")
        self.assertTrue(np.array_equal(C, 2 * c0))

    def test_nan_and_infinity(self):
        a, b = random(6, 7), random(7, 8)
        a[1, 2], a[3, 4], b[5, 6] = np.nan, np.inf, -np.inf
        self.save(A=a, B=b)
        C = self.accepted("A.npy", "B.npy")
        with np.errstate(invalid="ignore"):
            want = a.astype(np.float64) @ b.astype(np.float64)
        finite = np.isfinite(want)
        self.assertTrue(np.array_equal(C[~finite], want[~finite].astype(np.float32), equal_nan=True))
        self.assertTrue(np.allclose(C[finite], want[finite], rtol=1e-5, atol=1e-5))
        self.assertTrue(0 < np.sum(~finite) < C.size)

    def test_float64_is_rounded_with_a_note(self):
        for types in itertools.product([np.float32, np.float64], repeat=3):
            with self.subTest(types=types):
                a, b, c0 = (random(*shape, dtype=t) for shape, t in zip([(41, 67), (67, 31), (41, 31)], types))
                self.multiply(a, b, beta=-1, c0=c0)  # 41 * 67 elements: the reader loads them in several parts
        self.multiply(random(5, 6, order="F", dtype=np.float64), random(6, 2))

    def test_large_file(self):
        a = random(3, 1500000)  # the reader loads the file in several parts
        self.save(A=a, B=np.eye(3, dtype=np.float32))
        C = self.accepted("B.npy", "A.npy", "--op", "TN")
        self.assertTrue(np.array_equal(C, a))

    def test_batches(self):
        for op, order_a, order_b in itertools.product(OPS, ORDERS, ORDERS):
            for count, shared in some(itertools.product([0, 1, 3], ["neither", "A", "B"])):
                with self.subTest(op=op, a=order_a, b=order_b, count=count, shared=shared):
                    a, b = self.operands(op, 11, 13, 17)
                    a = a if shared == "A" else random(count, *a.shape)
                    b = b if shared == "B" else random(count, *b.shape)
                    self.multiply(np.asarray(a, order=order_a), np.asarray(b, order=order_b), op=op)

    def test_batches_with_c0(self):
        for count, order in itertools.product([0, 1, 4], ORDERS):
            with self.subTest(count=count, order=order):
                c0 = random(count, 6, 8, order=order)
                self.multiply(random(count, 6, 7), random(7, 8), alpha=2, beta=3, c0=c0)

    def test_empty_dimensions(self):
        for m, n, k in itertools.product([0, 5], [0, 6], [0, 7]):
            for op, order in some(itertools.product(OPS, ORDERS)):
                with self.subTest(m=m, n=n, k=k, op=op, order=order):
                    a, b = self.operands(op, m, n, k, order, order)
                    self.multiply(a, b, op=op)
                    self.multiply(a, b, op=op, beta=1, c0=random(m, n, order=order))
                    self.multiply(a, b, op=op, beta=0.5, c0=random(m, n, order=order))

    def test_empty_dimensions_beside_huge_ones(self):
        text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (0, %d, %d)}"
        self.write("A.npy", header(text % (2**20, 2**20)))
        self.assertEqual(self.accepted("A.npy", "A.npy").shape, (0, 2**20, 2**20))
        self.write("A.npy", header(text % (2**40, 2**40)))
        self.refused("A.npy", "A.npy", says="2^60 elements")

    def test_stages(self):
        out = self.run_gemm("--help")[1].decode()
        stages = [line.split()[0] for line in out[out.index("--stage") :].splitlines()[1:]]
        self.assertIn("naive", stages)
        compiled = 0
        a, b = self.operands("NT", 150, 140, 40)
        self.save(A=a, B=b)
        for stage in stages:
            with self.subTest(stage=stage):
                arguments = ["A.npy", "B.npy", "--op", "NT", "--stage", stage]
                if b"compiled without" in self.run_gemm(*arguments, "-o", "C.npy")[2]:
                    self.refused(*arguments, says="compiled without")
                else:
                    self.check(self.accepted(*arguments), a, b, "NT")
                    compiled += 1
        self.assertGreater(compiled, 0)


class Format(GemmTest):
    def same_as_numpy(self, content):
        """A times the unit matrix is A."""
        A = np.load(self.path(self.write("A.npy", content)))
        self.write("I.npy", np.eye(A.shape[-1], dtype=np.float32))
        note = ["A.npy"] if A.dtype == np.float64 else []
        self.assertTrue(np.array_equal(self.accepted("A.npy", "I.npy", notes=note), A.astype(np.float32)))

    def test_versions(self):
        for version, dtype, order in itertools.product([(1, 0), (2, 0), (3, 0)], [np.float32, np.float64], ORDERS):
            with self.subTest(version=version, dtype=dtype, order=order):
                with open(self.path("X.npy"), "wb") as file:
                    np.lib.format.write_array(file, random(4, 3, dtype=dtype, order=order), version=version)
                self.same_as_numpy(self.read("X.npy"))

    def test_spellings(self):
        data = random(2, 3).tobytes()
        for text in [
            b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }      \n",
            b"{'descr': '=f4', 'fortran_order': False, 'shape': (2, 3)}",
            b"{'descr': '|f4', 'fortran_order': False, 'shape': (2, 3,), } \n",
            b"{'descr': 'f4', 'fortran_order': True, 'shape': (2, 3)}\n",
            b'{"shape":(2,3),"fortran_order":False,"descr":"<f4"}\n',
            b"{ 'shape' : ( 2 , 3 ) ,\n 'descr'\t: '<f4' , 'fortran_order' : True , }\n",
        ]:
            with self.subTest(text=text):
                self.same_as_numpy(header(text) + data)

    def test_python_2(self):
        self.write("A.npy", header(b"{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }\n") + bytes(24))
        self.write("B.npy", np.ones((3, 4), np.float32))
        self.assertTrue(np.array_equal(self.accepted("A.npy", "B.npy"), np.zeros((2, 4))))

    def test_malformed_headers(self):
        self.write("B.npy", random(3, 2))
        good = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
        for text in [
            b"",
            b"{}",
            b"{",
            b"[]",
            good[:-1],
            good + b"x",
            good + b"\0",
            good.replace(b"'descr'", b"'descry'"),
            good.replace(b"'descr'", b"descr"),
            good.replace(b"'descr': '<f4', ", b""),
            good.replace(b"'shape': (2, 3), ", b""),
            good.replace(b"}", b"'more': 1}"),
            good.replace(b"}", b"'descr': '<f4'}"),
            good.replace(b"'<f4'", b"'\\x3cf4'"),
            good.replace(b"'<f4'", b"'<f4\0'"),
            good.replace(b"'<f4'", b"'<f4\""),
            good.replace(b"'<f4'", b"[('x', '<f4')"),
            good.replace(b"'<f4'", b"None"),
            good.replace(b"False", b"0"),
            good.replace(b"False", b"Falsey"),
            good.replace(b"False,", b"False"),
            good.replace(b"False,", b"False,,"),
            good.replace(b"(2, 3)", b"(2 3)"),
            good.replace(b"(2, 3)", b"(2, 3"),
            good.replace(b"(2, 3)", b"[2, 3]"),
            good.replace(b"(2, 3)", b"(6)"),
            good.replace(b"(2, 3)", b"(2, -3)"),
            good.replace(b"(2, 3)", b"(2, 3.0)"),
            good.replace(b"(2, 3)", b"(2, 03)"),
            good.replace(b"(2, 3)", b"(2, 1 + 2)"),
            good.replace(b"(2, 3)", b"(,)"),
            good.replace(b"(2, 3)", b"(2, %d)" % 2**63),
            good.replace(b"(2, 3)", b"(2, 3" + 40 * b", 1" + b")"),
        ]:
            with self.subTest(text=text):
                self.write("A.npy", header(text) + bytes(24))
                self.refused("A.npy", "B.npy", says=["A.npy", "malformed header"])

    def test_mutated_headers(self):
        """If gemm accepts a changed header, numpy accepts it too and reads the same array."""
        a = random(4, 12)
        self.write("I.npy", np.eye(12, dtype=np.float32))
        accepted = 0
        good = self.read(self.write("A.npy", a))
        for position in range(good.index(b"}") + 2):
            for byte in some(b"0\x00'< "):
                with self.subTest(position=position, byte=byte):
                    self.write("A.npy", good[:position] + bytes([byte]) + good[position + 1 :])
                    status, out, err = self.run_gemm("A.npy", "I.npy", "-o", "C.npy")
                    if status == 0:
                        accepted += 1
                        self.assertTrue(np.array_equal(np.load(self.path("A.npy")), np.load(self.path("C.npy"))))
                        os.remove(self.path("C.npy"))
                    else:
                        self.refused("A.npy", "I.npy", says="A.npy")
        self.assertGreater(accepted, 0)

    def test_bad_magic_and_version(self):
        self.write("B.npy", random(3, 2))
        good = self.read(self.write("A.npy", random(2, 3)))
        for content in [b"", b"\x93", MAGIC, b"PK\x03\x04 a zip file, such as .npz", b"\x92" + good[1:]]:
            self.write("A.npy", content)
            self.refused("A.npy", "B.npy", says=["A.npy", "bad magic"])
        for version in [(0, 0), (1, 1), (4, 0), (255, 255)]:
            self.write("A.npy", MAGIC + bytes(version) + good[8:])
            self.refused("A.npy", "B.npy", says=["A.npy", "version %d.%d" % version])
        self.write("A.npy", header(b" " * 70000, (2, 0)))
        self.refused("A.npy", "B.npy", says=["A.npy", "70000 bytes is too long"])

    def test_wrong_types(self):
        self.write("B.npy", random(3, 2))
        for name in ["i4", "u1", "?", "c8", "f2", "g", "U3", "S2", "M8[s]", ">f4", ">f8"]:
            with self.subTest(dtype=name):
                dtype = np.dtype(name)
                self.write("A.npy", np.zeros((2, 3), dtype))
                self.refused("A.npy", "B.npy", says=["A.npy", f"dtype {dtype.str} is"])
        self.write("A.npy", np.zeros((2, 3), [("x", "<f4"), ("y", "<i4", (2,))]))
        self.refused("A.npy", "B.npy", says=["A.npy", "dtype [('x', '<f4')"])

    def test_wrong_dimensions(self):
        self.write("B.npy", random(3, 2))
        for shape in [(), (6,), (1, 1, 2, 3), (1,) * 32]:
            with self.subTest(shape=shape):
                self.write("A.npy", random(*shape))
                says = ["A.npy", f"shape {shape} is neither a matrix nor a 3-D batch"]
                self.refused("A.npy", "B.npy", says=says)
                self.refused("B.npy", "A.npy", says=says)

    def test_truncated_anywhere(self):
        self.write("B.npy", random(3, 2))
        for dtype in [np.float32, np.float64]:
            good = self.read(self.write("A.npy", random(2, 3, dtype=dtype)))
            for size in some([*range(12), *range(12, len(good) - 24, 13), *range(len(good) - 24, len(good))]):
                with self.subTest(dtype=dtype, size=size):
                    self.write("A.npy", good[:size])
                    says = "magic" if size < 8 else "truncated"
                    self.refused("A.npy", "B.npy", says=["A.npy", says])
                    self.refused("/dev/stdin", "B.npy", data=good[:size], says=["/dev/stdin", says])

    def test_header_claims_more_elements_than_the_file_has(self):
        self.write("B.npy", random(3, 2))
        for rows, says in [(2**40, "truncated"), (2**62, "more elements than any memory")]:
            text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 3)}" % rows
            self.write("A.npy", header(text) + bytes(24))
            self.refused("A.npy", "B.npy", says=["A.npy", says])

    def test_trailing_bytes(self):
        self.write("B.npy", random(3, 2))
        for shape in [(2, 3), (0, 3)]:
            good = self.read(self.write("A.npy", random(*shape)))
            for more in [b"\0", b"\n", good]:
                self.write("A.npy", good + more)
                self.refused("A.npy", "B.npy", says=["A.npy", "trailing"])
                self.refused("/dev/stdin", "B.npy", data=good + more, says=["/dev/stdin", "trailing"])

    def test_pipe(self):
        a, b = random(4, 5), random(5, 6)
        self.save(A=a, B=b)
        self.check(self.accepted("/dev/stdin", "B.npy", data=self.read("A.npy")), a, b)


class Errors(GemmTest):
    def setUp(self):
        super().setUp()
        self.write("A.npy", random(2, 3))
        self.write("B.npy", random(3, 4))

    def test_options(self):
        ab = ["A.npy", "B.npy"]
        self.refused(*ab, says="-o", out=None)
        self.refused(*ab, "-o", says="-o", out=None)
        self.refused(says="input", out=None)
        self.refused("A.npy", says="input")
        self.refused(*ab, "A.npy", says=["A.npy", "third"])
        for option in ["--op", "--alpha", "--beta", "--c", "--stage"]:
            self.refused(*ab, "-o", "C.npy", option, says=[option, "missing"], out=None)
        for option in ["--alpah", "-x", "-", "--", "--alpha=2", "--opNN"]:
            self.refused(*ab, option, says=[option, "unknown option"])
        for op in ["", "N", "nn", "NNN", "NC", "XT"]:
            self.refused(*ab, "--op", op, says=["--op", "NN, NT, TN or TT"])
        for stage in ["", "cublas", "Tiled", "tile", "all"]:
            self.refused(*ab, "--stage", stage, says=["--stage " + stage, "no such stage"])
        for text in ["", "x", "1x", "1,5", " 1", "1 ", "--alpha", "inf", "-inf", "nan", "1e39"]:
            self.refused(*ab, "--alpha", text, says=["--alpha " + text, "number"])
            self.refused(*ab, "--beta", text, says=["--beta " + text, "number"])
        self.refused(*ab, "--beta", "1", says=["--beta 1", "--c"])
        self.refused(*ab, "--c", "C0.npy", says=["--c C0.npy", "--beta"])

    def test_missing_and_unreadable_files(self):
        os.mkdir(self.path("D.npy"))
        absent = "No such file"
        for name, says in [("X.npy", absent), ("", absent), ("D.npy", "Is a directory"), ("A.npy/", "Not a directory")]:
            self.refused(name, "B.npy", says=[name, says])
            self.refused("A.npy", name, says=[name, says])
            self.refused("A.npy", "B.npy", "--beta", "1", "--c", name, says=[name, says])
        self.refused("two\nlines", "B.npy", says="two?lines")

    def test_shapes_that_do_not_match(self):
        self.write("B.npy", random(4, 5))
        for op, columns, rows in [("NN", 3, 4), ("NT", 3, 5), ("TN", 2, 4), ("TT", 2, 5)]:
            says = ["A.npy (2, 3)", "B.npy (4, 5)", f"{columns} columns", f"{rows} rows"]
            self.refused("A.npy", "B.npy", "--op", op, says=says)
        self.write("A.npy", random(2, 5, 3))
        for count in [3, 1, 0]:
            self.write("B.npy", random(count, 3, 4))
            says = ["A.npy (2, 5, 3)", f"B.npy ({count}, 3, 4)", f"batches of 2 and {count}"]
            self.refused("A.npy", "B.npy", says=says)

    def test_c0_of_another_shape(self):
        for shape in [(4, 2), (2, 3), (1, 2, 4), (8,)]:
            self.write("C0.npy", random(*shape))
            self.refused("A.npy", "B.npy", "--beta", "1", "--c", "C0.npy", says=["C0.npy", str(shape)])

    def test_results_too_large(self):
        self.write("A.npy", np.zeros((2**29, 0), np.float32))
        self.write("B.npy", np.zeros((0, 2**30), np.float32))
        self.refused("A.npy", "B.npy", says=["out of memory", str((2**29, 2**30))])
        self.write("A.npy", np.zeros((2**32, 0), np.float32))
        self.refused("A.npy", "B.npy", says=["A.npy", "B.npy", str((2**32, 2**30))])

    def test_no_gpu(self):
        if b"CPU model" in self.run_gemm("--help")[1]:
            self.skipTest("this gemm runs on the CPU model")
        self.refused("A.npy", "B.npy", says="no GPU", env={**ENVIRONMENT, "CUDA_VISIBLE_DEVICES": "-1"})


class Output(GemmTest):
    def setUp(self):
        super().setUp()
        self.a, self.b = random(200, 30), random(30, 40)
        self.write("A.npy", self.a)
        self.write("B.npy", self.b)

    def test_standard_output(self):
        self.accepted("A.npy", "B.npy")
        self.assertEqual(self.run_gemm("A.npy", "B.npy", "-o", "-"), (0, self.read("C.npy"), b""))

    def test_standard_output_full(self):
        with open("/dev/full", "wb") as full:
            self.refused("A.npy", "B.npy", out="-", says=["-: ", "No space left"], stdout=full)

    def test_pipe(self):
        self.accepted("A.npy", "B.npy")
        os.mkfifo(self.path("pipe"))
        pipe = os.open(self.path("pipe"), os.O_RDONLY | os.O_NONBLOCK)
        self.assertEqual(self.run_gemm("A.npy", "B.npy", "-o", "pipe"), (0, b"", b""))
        self.assertEqual(os.read(pipe, 1 << 16), self.read("C.npy"))
        os.close(pipe)

    def test_replaces(self):
        self.write("C.npy", b"old")
        os.chmod(self.path("C.npy"), 0o640)
        self.check(self.accepted("A.npy", "B.npy"), self.a, self.b)
        self.assertEqual(os.stat(self.path("C.npy")).st_mode & 0o777, 0o640)

    def test_permissions_follow_the_umask(self):
        self.accepted("A.npy", "B.npy", preexec_fn=lambda: os.umask(0o027))
        self.assertEqual(os.stat(self.path("C.npy")).st_mode & 0o777, 0o640)

    def test_may_replace_an_input(self):
        self.assertEqual(self.run_gemm("A.npy", "B.npy", "-o", "A.npy"), (0, b"", b""))
        self.check(np.load(self.path("A.npy")), self.a, self.b)

    def test_follows_a_link(self):
        os.mkdir(self.path("below"))
        self.write("below/real.npy", b"old")
        os.symlink("below/real.npy", self.path("C.npy"))
        self.accepted("A.npy", "B.npy")
        self.assertTrue(os.path.islink(self.path("C.npy")))
        self.assertEqual(os.listdir(self.path("below")), ["real.npy"])

    def test_cannot_be_written(self):
        os.mkdir(self.path("below"))
        for out, says in [
            ("missing/C.npy", "No such file"),
            ("A.npy/C.npy", "Not a directory"),
            ("below", "Is a directory"),
            ("missing/", "No such file"),
            ("", "No such file"),
            ("/proc/C.npy", "No such file"),
            ("x" * 300, "File name too long"),
        ]:
            with self.subTest(out=out):
                self.refused("A.npy", "B.npy", out=out, says=[out, says])

    def test_permission_denied(self):
        """Runs gemm as user nobody, because root may write every file."""

        def become_nobody():
            if os.geteuid() == 0:
                os.setuid(65534)

        os.mkdir(self.path("below"))
        self.write("C.npy", b"old")
        shutil.copy(gemm, self.path("gemm"))
        for name, mode in [("below", 0o555), ("C.npy", 0o444), (".", 0o777)]:
            os.chmod(self.path(name), mode)
        try:
            self.run_gemm("--help", program=self.path("gemm"), preexec_fn=become_nobody)
        except (OSError, subprocess.SubprocessError) as error:
            self.skipTest(f"gemm cannot run as nobody: {error}")
        options = {"program": self.path("gemm"), "preexec_fn": become_nobody}
        for out in ["below/C.npy", "C.npy"]:
            self.refused("A.npy", "B.npy", out=out, says=[out, "Permission denied"], **options)
        self.assertEqual(os.listdir(self.path("below")), [])

    def test_disk_full_half_way(self):
        for old in [None, b"old"]:
            if old:
                self.write("C.npy", old)
            for limit in [0, 64, 200, 5000, 20000, 32127]:  # C.npy has 32,128 bytes
                with self.subTest(old=old, limit=limit):
                    self.refused(
                        "A.npy",
                        "B.npy",
                        says=["C.npy", "File too large"],
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
                    )

    def waiting(self, number, action):
        """Starts gemm, waits until it reads B.npy, a pipe, and returns the process and the other end of the pipe. Its
        temporary file is then open. The signal `number` has this action, whatever the test inherited."""
        os.remove(self.path("B.npy"))
        os.mkfifo(self.path("B.npy"))
        process = self.start("A.npy", "B.npy", "-o", "C.npy", preexec_fn=lambda: signal.signal(number, action))
        self.addCleanup(process.kill)
        deadline = time.monotonic() + 60
        while True:
            try:
                pipe = os.open(self.path("B.npy"), os.O_WRONLY | os.O_NONBLOCK)
                break
            except OSError:  # gemm has not opened the pipe yet
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.001)
        self.assertIn(".gemm-", "".join(os.listdir(self.directory)))
        return process, pipe

    def test_interrupted(self):
        for old, number in itertools.product([None, b"old"], [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]):
            with self.subTest(signal=number, old=old):
                left = {"A.npy": self.read("A.npy")}
                if old:
                    left[self.write("C.npy", old)] = old
                process, pipe = self.waiting(number, signal.SIG_DFL)
                process.send_signal(number)
                self.assertEqual((*self.finish(process), self.files()), (-number, b"", b"", left))
                os.close(pipe)

    def test_nohup(self):
        content = self.read("B.npy")
        process, pipe = self.waiting(signal.SIGHUP, signal.SIG_IGN)
        process.send_signal(signal.SIGHUP)
        os.write(pipe, content)
        os.close(pipe)
        self.assertEqual(self.finish(process), (0, b"", b""))
        self.check(np.load(self.path("C.npy")), self.a, self.b)

    def test_build_working_directory(self):
        env = {**ENVIRONMENT, "BUILD_WORKING_DIRECTORY": self.directory}
        self.check(self.accepted("A.npy", self.path("B.npy"), cwd="/", env=env), self.a, self.b)
        env["BUILD_WORKING_DIRECTORY"] = self.path("missing")
        self.refused("A.npy", "B.npy", cwd="/", env=env, says=["BUILD_WORKING_DIRECTORY", "missing"])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    gemm = os.path.abspath(sys.argv.pop(1))
    result = cases.run()
    everything = len(sys.argv) == 1
    print(f"{result.testsRun} tests, {compared} elements compared with numpy")
    if result.testsRun == 0 or (everything and compared == 0):
        sys.exit("nothing was tested")
    sys.exit(not result.wasSuccessful())
