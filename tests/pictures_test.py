#!/usr/bin/env python3
"""pictures_test.py PICTURES [unittest's arguments]: the pictures of docs/measurements, and wrong arguments."""

import csv
import io
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases

ROOT = pathlib.Path(__file__).absolute().parent.parent
MEASUREMENTS = ROOT / "docs/measurements"
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "BUILD_WORKING_DIRECTORY"}
DRAWN = {"speedup": "suite_h200.csv", "stages": "ladder_h200.json", "rates": "suite_tensor_h200.csv",
         "accuracy": "accuracy_h200.csv"}
NAIVE, TMA, GEMV = "sgemm_naive_32x32x1_1x1_nn", "sgemm_tma_64x128x64_16x8_nn", "sgemm_gemv_1x32x256_1x4_nn"
DETAILS = '"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"'
TRAFFIC = "kernel,m,n,k,dram_bytes,time_ms"

pictures = cache = None  # absolute paths: the program, and where matplotlib keeps its list of fonts


class PicturesTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
        self.addCleanup(shutil.rmtree, self.directory)

    def run_program(self, *arguments):
        run = subprocess.run([pictures, *map(str, arguments)], cwd=self.directory, text=True, timeout=600,
                             env={**ENVIRONMENT, "MPLCONFIGDIR": cache}, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return run.returncode, run.stdout, run.stderr

    def refused(self, *arguments, says):
        """pictures.py exits with status 2, prints one line with the reason, and creates no file."""
        before = sorted(self.directory.iterdir())
        status, out, err = self.run_program(*arguments)
        self.assertEqual((status, out), (2, ""), err)
        self.assertRegex(err, r"\Apictures\.py: [^\n]+\n\Z")
        self.assertIn(says, err)
        self.assertEqual(sorted(self.directory.iterdir()), before)

    def write(self, name, text):
        (self.directory / name).write_text(text)
        return name


class Drawing(PicturesTest):
    def setUp(self):
        super().setUp()
        if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no matplotlib for /usr/bin/python3")

    def drawn(self, *arguments, says=""):
        """Draws a PNG of 900 pixels width, 300 to 700 pixels height and 5 to 150 KB, and returns its bytes."""
        self.assertEqual(self.run_program(*arguments, "--out", "x.png"), (0, "", says))
        content = (self.directory / "x.png").read_bytes()
        self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", content[16:24])
        self.assertEqual(width, 900)
        self.assertTrue(300 <= height <= 700, height)
        self.assertTrue(5000 <= len(content) <= 150 * 1024, len(content))
        return content

    def test_measurements(self):
        for picture, file in DRAWN.items():
            with self.subTest(picture=picture):
                self.drawn(picture, MEASUREMENTS / file)

    def test_same_data_same_file(self):
        """The JSON of ladder --json gives the picture of the CSV. Device and date differ: only JSON and --note have them."""
        text = (MEASUREMENTS / DRAWN["speedup"]).read_text()
        benchmarks = list(csv.DictReader(io.StringIO(text)))
        self.write("suite", text)
        expected = self.drawn("speedup", "suite")
        self.write("suite", json.dumps({"context": {}, "benchmarks": benchmarks}))
        self.assertEqual(self.drawn("speedup", "suite"), expected)
        self.write("suite", json.dumps({"context": {"gpu": "a GPU"}, "benchmarks": benchmarks}))
        self.assertNotEqual(self.drawn("speedup", "suite"), expected)
        self.write("suite", text)
        self.assertNotEqual(self.drawn("speedup", "--note", "a note", "suite"), expected)

    def test_wrong_results_are_left_out(self):
        rows = (MEASUREMENTS / DRAWN["speedup"]).read_text().splitlines()
        self.write("suite", "\n".join(rows[:-4]) + "\n")
        expected = self.drawn("speedup", "suite")
        self.write("suite", "\n".join(rows[:-4] + [row.rpartition(",")[0] + ",WRONG" for row in rows[-4:]]) + "\n")
        self.assertEqual(self.drawn("speedup", "suite"), expected)
        self.write("suite", "\n".join(rows[:1] + [row.rpartition(",")[0] + ",WRONG" for row in rows[1:]]) + "\n")
        self.refused("speedup", "suite", says="no times")

    def test_every_stage_has_a_bar(self):
        data = json.loads((MEASUREMENTS / DRAWN["stages"]).read_text())
        others = [row for row in data["benchmarks"] if row["stage"] not in ("naive", "clustered")]
        last = [{**row, "stage": "clustered"} for row in data["benchmarks"] if row["stage"] == "naive"]
        self.write("x.json", json.dumps({**data, "benchmarks": others}))
        without = self.drawn("stages", "x.json")
        self.write("x.json", json.dumps({**data, "benchmarks": others + last}))
        self.assertNotEqual(self.drawn("stages", "x.json"), without)

    def test_roofline(self):
        ladder = MEASUREMENTS / DRAWN["stages"]
        rows = [TRAFFIC, f"{NAIVE},4096,4096,4096,4000000000,276", f"{TMA},4096,4096,4096,300000000,2.5"]
        self.write("traffic.csv", "\n".join(rows + [f"{GEMV},1,4096,4096,67000000,0.0175"]))
        expected = self.drawn("roofline", "traffic.csv", ladder)
        self.write("traffic.csv", "\n".join(rows + [f"{GEMV},1,4096,4096,67000000,0.0175",
                                                    f"{GEMV},4096,4096,4096,9000000000,60"]))
        # The picture ignores gemv unless C is one row or column.
        self.assertEqual(self.drawn("roofline", "traffic.csv", ladder), expected)
        self.write("traffic.csv", "\n".join(rows + [f"{GEMV},1,4096,4096,67000000,0.01"]))
        roof = 67e6 / (json.loads(ladder.read_text())["context"]["copy_gbs"] * 1e9)  # seconds at the copy bandwidth
        self.drawn("roofline", "traffic.csv", ladder, says=f"pictures.py: gemv is at {roof / 1e-5:.2f} of its roof\n")

    def test_inputs_of_accuracy(self):
        path = MEASUREMENTS / DRAWN["accuracy"]
        uniform = self.drawn("accuracy", path)
        self.assertEqual(self.drawn("accuracy", "--input", "uniform", path), uniform)
        self.assertNotEqual(self.drawn("accuracy", "--input", "positive", path), uniform)

    def test_no_directory(self):
        self.refused("stages", "--out", "missing/x.png", MEASUREMENTS / DRAWN["stages"], says="missing/x.png")


class Refused(PicturesTest):
    def test_wrong_files(self):
        ladder = MEASUREMENTS / DRAWN["stages"]
        for picture in [*DRAWN, "roofline"]:
            more = [ladder] if picture == "roofline" else []
            self.refused(picture, "missing", *more, says="missing")
            self.refused(picture, self.write("x", "a,b\n1,2\n"), *more, says="x: n")
        for text in ["", "[]", "{}", '{"context": {}}', '{"context": {}, "benchmarks": [1]}',
                     "variant,m,time_ms\ncublas,x,1\n", "kernel,m,n,k,dram_bytes,time_ms\nsgemm_x,1,1,1,1,1\n"]:
            with self.subTest(text=text):
                self.refused("speedup", self.write("x", text), says="x: n")
                self.refused("roofline", "x", ladder, says="x: n")

    def test_wrong_measurements(self):
        suite, ladder = (MEASUREMENTS / DRAWN[picture] for picture in ("speedup", "stages"))
        self.refused("stages", MEASUREMENTS / "counts_ladder.json", says="no times")
        self.refused("stages", suite, says="not the rates of stages")
        self.refused("rates", ladder, says="two squares")
        self.refused("accuracy", "--input", "none", MEASUREMENTS / DRAWN["accuracy"], says="no rows of the input none")
        self.write("traffic.csv", f"{TRAFFIC}\n{NAIVE},64,64,64,1000,1\n")
        self.refused("roofline", "traffic.csv", suite, says="no measured ceilings")

    def test_arguments(self):
        for arguments in [[], ["nothing"], ["speedup"], ["roofline", "x"], ["traffic", "x"]]:
            status, out, err = self.run_program(*arguments)
            self.assertEqual((status, out), (2, ""))
            self.assertIn("usage:", err)


class Traffic(PicturesTest):
    def details(self, *launches):
        """Writes the CSV of ncu's page "details", one metric a line. launches: (kernel, bytes, unit, time, unit)."""
        lines = ["==PROF== Connected to process 1", "kernel,threads", DETAILS]
        for i, (kernel, moved, bytes_unit, time, time_unit) in enumerate(launches):
            lines += [f'"{i}","{kernel}","metrics","dram__bytes.sum","{bytes_unit}","{moved}"',
                      f'"{i}","{kernel}","metrics","gpu__time_duration.sum","{time_unit}","{time}"',
                      f'"{i}","{kernel}","metrics","launch__waves","","1"']
        return self.write("ncu.csv", "\n".join(lines) + "\n")

    def converted(self, *arguments, says=""):
        self.assertEqual(self.run_program("traffic", "--out", "t.csv", *arguments), (0, "", says))
        return (self.directory / "t.csv").read_text().splitlines()

    def test_units(self):
        traffic = [("1,500,000,000", "byte"), ("1.5", "Gbyte"), ("1,500", "Mbyte"), ("1.5", "GB")]
        times = [("2,500,000", "nsecond"), ("2,500", "usecond"), ("2.5", "msecond"), ("2,500", "us"), ("2.5", "ms"),
                 ("0.0025", "s"), ("2500000", "ns")]
        for (moved, bytes_unit), (time, time_unit) in zip(traffic + traffic[:3], times):
            with self.subTest(bytes_unit=bytes_unit, time_unit=time_unit):
                self.details((NAIVE, moved, bytes_unit, time, time_unit))
                self.assertEqual(self.converted("--size", 512, 768, 256, "ncu.csv"),
                                 [TRAFFIC, f"{NAIVE},512,768,256,1500000000,2.5"])

    def test_a_column_a_metric(self):
        self.write("ncu.csv", '==PROF== x\n"ID","Kernel Name","dram__bytes.sum","gpu__time_duration.sum"\n'
                   f'"","","Mbyte","us"\n"0","{NAIVE}","1.5","3"\n"1","{TMA}","2","4"\n')
        self.assertEqual(self.converted("--size", 1, 2, 3, "ncu.csv"),
                         [TRAFFIC, f"{NAIVE},1,2,3,1500000,0.003", f"{TMA},1,2,3,2000000,0.004"])

    def test_launches(self):
        """The file has the mean of a kernel's launches. Kernels of no variant are named on stderr."""
        self.details((NAIVE, "1", "Mbyte", "1", "ms"), ("sgemm_split_pack", "1", "byte", "1", "ms"),
                     (NAIVE, "3", "Mbyte", "2", "ms"))
        says = "pictures.py: left out, no variant's kernels: sgemm_split_pack\n"
        self.assertEqual(self.converted("--size", 8, 8, 8, "ncu.csv", says=says),
                         [TRAFFIC, f"{NAIVE},8,8,8,2000000,1.5"])

    def test_append(self):
        self.details((NAIVE, "1", "Mbyte", "1", "ms"))
        one = self.converted("--append", "--size", 8, 8, 8, "ncu.csv")
        self.details((GEMV, "1", "Mbyte", "1", "ms"))
        two = self.converted("--append", "--size", 1, 8, 8, "ncu.csv")
        self.assertEqual(two, one + [f"{GEMV},1,8,8,1000000,1"])
        self.assertEqual(self.converted("--size", 1, 8, 8, "ncu.csv"), [TRAFFIC, two[-1]])
        self.write("t.csv", "other\n")
        self.refused("traffic", "--append", "--out", "t.csv", "--size", 1, 8, 8, "ncu.csv", says="t.csv: not a file")

    def test_wrong_files(self):
        size = ["--size", 8, 8, 8]
        self.refused("traffic", *size, "missing", says="missing: not a CSV of ncu")
        self.refused("traffic", *size, self.write("ncu.csv", ""), says="no launch")
        self.refused("traffic", *size, self.details(("other", "1", "byte", "1", "ms")), says="no launch")
        self.refused("traffic", *size, self.details((NAIVE, "n/a", "byte", "1", "ms")), says="not a CSV of ncu")
        self.refused("traffic", *size, self.details((NAIVE, "1", "sector", "1", "ms")), says="not a CSV of ncu")
        self.write("ncu.csv", f'{DETAILS}\n"0","{NAIVE}","metrics","dram__bytes.sum","byte","1"\n')
        self.refused("traffic", *size, "ncu.csv", says="not a CSV of ncu")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    pictures = os.path.abspath(sys.argv.pop(1))
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as cache:
        # matplotlib lists the fonts once, and says so on stderr where it takes more than 5 s.
        subprocess.run(["/usr/bin/python3", "-c", "import matplotlib.font_manager"],
                       env={**ENVIRONMENT, "MPLCONFIGDIR": cache}, stderr=subprocess.DEVNULL)
        result = cases.run()
    print(f"{result.testsRun} tests, {len(result.skipped)} skipped")
    sys.exit(not result.wasSuccessful() or result.testsRun == 0)
