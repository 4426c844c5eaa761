#!/usr/bin/env python3
"""ladder_test.py LADDER LADDER_ON_GPU PICTURES [unittest's arguments]: the ladder on the CPU model, and on the GPU of
fake_gpu.c."""

import csv
import io
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).absolute().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
import cases
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "BUILD_WORKING_DIRECTORY"}
ASAN_WARNING = re.compile(r"^==\d+==WARNING: ASan doesn't.*\n", re.M)
HEADER = "name,m,n,k,batch,op\n"
STAGES = ["naive", "coalesced", "tiled", "tile1d", "tile2d", "vectorized", "warptiled", "doublebuffered", "async",
          "splitk", "direct", "gemv", "tma", "clustered"]

EPILOGUES = re.findall(r"^  X\((\w+),", (ROOT / "sgemm/epilogues.h").read_text().split("define SGEMM_BUILTIN_EPILOGUES(X)")[1]
                       .split("// clang-format on")[0], re.M)
REDUCTIONS = re.findall(r"^  X\((\w+),", (ROOT / "sgemm/reductions.h").read_text(), re.M)
FUSIONS = EPILOGUES[1:] + [f"{reduction}_{along}" for reduction in REDUCTIONS for along in ("rows", "columns")]

SANITIZED = os.environ.get("SGEMM_TEST_UNGUARDED") == "1"  # --config=asan

ladder = ladder_on_gpu = pictures = None  # absolute paths


class LadderTest(unittest.TestCase):
    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
        self.addCleanup(shutil.rmtree, self.directory)

    def run_program(self, program, *arguments, env=None, cwd=None):
        run = subprocess.run([program, *map(str, arguments)], cwd=cwd or self.directory,
                             env={**ENVIRONMENT, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, timeout=600)
        return run.returncode, run.stdout, ASAN_WARNING.sub("", run.stderr)

    def accepted(self, *arguments, **options):
        status, out, err = self.run_program(ladder, *arguments, **options)
        self.assertEqual((status, err), (0, ""), out)
        return out

    def refused(self, *arguments, says):
        """The ladder exits with status 2, prints one line with the reason to stderr, and creates no file."""
        before = sorted(self.directory.iterdir())
        status, out, err = self.run_program(ladder, *arguments)
        self.assertEqual((status, out), (2, ""), err)
        self.assertRegex(err, r"\Aladder: [^\n]+\n\Z")
        self.assertIn(says, err)
        self.assertEqual(sorted(self.directory.iterdir()), before)

    def rows(self, *arguments):
        """The rows of --csv, each as a dictionary."""
        return list(csv.DictReader(io.StringIO(self.accepted(*arguments, "--csv", "-"))))

    def shapes(self, text):
        (self.directory / "shapes.csv").write_text(text)
        return "shapes.csv"


class Arguments(LadderTest):
    def test_help(self):
        out = self.accepted("--help")
        for word in ["--sizes", "--shapes", "--epilogues", "--cold", "--mode", "--workspace", "--prepared", "--ceilings",
                     "--gpu", "--markdown",
                     *STAGES]:
            self.assertIn(word, out)
        self.assertLessEqual(max(map(len, out.splitlines())), 120)

    def test_wrong_sizes(self):
        for option in ["--m", "--n", "--k", "--sizes"]:
            for value in ["", "0", "-1", "+5", " 5", "5 ", "1.5", "1e3", "x", "1048577", "99999999999999999999", "5,",
                          ",5", "5,,6", "1:", "1:2", "1:2:", ":2:1", "2:1:1", "1:2:0", "1:2:3:4", "1:1048577:1",
                          "1:5000:1"]:
                with self.subTest(option=option, value=value):
                    self.refused(option, value, says="sizes")

    def test_wrong_values(self):
        wrong = {"--op": ["", "N", "NNN", "nn", "XN"], "--stages": ["", "nope", "tiled,", ",tiled", "tile"],
                 "--gpu": ["", "H300", "h200"], "--peak": ["", "0", "-1", "nan", "inf", "1x"],
                 "--bandwidth": ["", "0", "-1", "nan", "inf", "1x"], "--variants": ["", "nothing*"]}
        for option, values in wrong.items():
            for value in values:
                with self.subTest(option=option, value=value):
                    self.refused(option, value, says=option.strip("-") if option != "--variants" else "no compiled variant")

    def test_unknown_and_incomplete(self):
        for option in ["--what", "-h", "512", "", "--M", "--size"]:
            with self.subTest(option=option):
                self.refused(option, says="unknown option")
        for option in ["--m", "--sizes", "--shapes", "--op", "--stages", "--variants", "--gpu", "--csv", "--json"]:
            with self.subTest(option=option):
                self.refused("--production", option, says=f"needs a value: {option}")

    def test_options_that_exclude_each_other(self):
        shapes = self.shapes(HEADER + "a,1,2,3,1,NN\n")
        for first, second in [("--sizes", "--m"), ("--k", "--sizes"), ("--shapes", "--n"), ("--sizes", "--shapes")]:
            values = {"--shapes": shapes}
            self.refused(first, values.get(first, "8"), second, values.get(second, "8"), says="not from two")
        self.refused("--shapes", shapes, "--op", "NT", says="--op is not for --shapes")
        self.refused("--peak", "1", says="no --bandwidth")
        self.refused("--bandwidth", "1", says="no --peak")
        self.refused("--peak", "1", "--bandwidth", "1", "--gpu", "A100", says="A100")
        self.refused("--csv", "-", "--json", "-", says="standard output")
        self.refused("--stages", "naive", "--production-only", says="none of the variants that this option picks: --stages")
        self.refused("--production-only", "--variants", "*", says="--variants")
        self.refused("--epilogues", "--stages", "tiled", says="none of the variants that this option picks: --stages")
        self.refused("--m", "1:100:1", "--n", "1:100:1", says="4096")

    def test_timing_is_for_gpus(self):
        for arguments in [["--cold"], ["--warm"], ["--reps", "3"], ["--time", "1"], ["--errors"],
                          ["--mode", "strict"], ["--mode", "tensor"], ["--prepared"],
                          ["--prepared-both"], ["--ceilings"], ["--workspace", "32"], ["--beta", "1"]]:
            self.refused(*arguments, says="this is the CPU model")

    def test_files(self):
        for option in ["--csv", "--json", "--markdown"]:
            self.refused(option, "missing/file", says="missing/file")
        self.refused("--shapes", "missing.csv", says="missing.csv")

    def test_wrong_shape_files(self):
        good = "a,1,2,3,1,NN\n"
        for text, says in [("", "no shapes"), (HEADER, "no shapes"),
                           (good, "header"), ("name,m,n,k\n" + good, "header"),
                           (HEADER + "a,1,2,3,1\n", "line 2"), (HEADER + good + "b,1,2,3,1,XX\n", "line 3"),
                           (HEADER + "a,0,2,3,1,NN\n", "line 2"), (HEADER + "a,1,2,3,-1,NN\n", "line 2"),
                           (HEADER + ",1,2,3,1,NN\n", "line 2"), (HEADER + '"a",1,2,3,1,NN\n', "line 2"),
                           (HEADER + "a b,1,2,3,1,NN\n", "line 2"), (HEADER + "a,1,2,3,1,NN,\n", "line 2"),
                           (HEADER + "a" * 32 + ",1,2,3,1,NN\n", "line 2"), (HEADER + "a,1,2,3,1,NN" * 99, "line 2")]:
            with self.subTest(text=text):
                self.refused("--shapes", self.shapes(text), says=says)


class Problems(LadderTest):
    def sizes(self, *arguments):
        rows = self.rows("--stages", "naive", *arguments)
        return [tuple(int(row[side]) for side in "mnk") for row in rows]

    def test_ranges_and_lists(self):
        self.assertEqual(self.sizes("--sizes", "3,10:20:5,7"), [(s, s, s) for s in (3, 10, 15, 20, 7)])
        self.assertEqual(self.sizes("--sizes", "10:14:5"), [(10, 10, 10)])
        self.assertEqual(self.sizes("--m", "2,3", "--n", "4:5:1", "--k", "6"),
                         [(2, 4, 6), (2, 5, 6), (3, 4, 6), (3, 5, 6)])
        self.assertEqual(self.sizes("--k", "7"), [(256, 256, 7)])

    def test_shapes(self):
        text = HEADER + "first,33,17,9,1,NN\r\nlast-one_2.x,5,6,7,3,TN\n\n"
        rows = self.rows("--shapes", self.shapes(text), "--variants", "*16x16*")
        self.assertEqual([[row[key] for key in HEADER.strip().replace("name", "shape").split(",")] for row in rows],
                         [line.split(",") for line in text.split()[1:]])
        self.assertTrue(all(float(row["error_over_bound"]) <= 1 for row in rows))

    def test_every_op_and_batches(self):
        text = HEADER + "".join(f"x,40,24,19,{batch},{op}\n" for batch in (1, 5) for op in ("NN", "NT", "TN", "TT"))
        rows = self.rows("--shapes", self.shapes(text), "--stages", "coalesced,tiled,doublebuffered", "--production")
        self.assertEqual(len(rows), 8 * (1 + 2 + 6 + 1))
        self.assertTrue(all(float(row["error_over_bound"]) <= 1 for row in rows))

    def test_op(self):
        self.assertEqual({row["op"] for row in self.rows("--sizes", "8", "--op", "TN")}, {"TN"})

    def test_rows(self):
        def names(*arguments):
            return [row["variant"] for row in self.rows("--sizes", "16", *arguments)]
        everything = names()
        self.assertEqual(list(dict.fromkeys(name.split("_")[1] for name in everything)), STAGES)
        self.assertEqual(names("--stages", "tiled,naive"),
                         [name for name in everything if name.split("_")[1] in ("tiled", "naive")])
        self.assertEqual(names("--variants", "*_128x128x8_8x8"),
                         [name for name in everything if name.endswith("_128x128x8_8x8")])
        self.assertEqual(names("--variants", "nothing", "--production"), ["production"])
        self.assertEqual(names("--production", "--stages", "naive"), ["production", everything[0]])
        self.assertEqual(names("--production-only"), ["production"])

    def test_production_depends_on_the_gpu(self):
        def picked(gpu):
            rows = self.rows("--sizes", "64,200,256", "--variants", "-", "--production", "--gpu", gpu)
            self.assertTrue(all(row["cluster_k"] in "1248" and row["split_k"] == "1" for row in rows))
            return tuple((row["picked"], row["cluster_k"]) for row in rows)
        self.assertGreater(len({picked(gpu) for gpu in ("H200", "A100", "RTX3070")}), 1)


class Numbers(LadderTest):
    @unittest.skipIf(SANITIZED, "counts do not depend on sanitizers, and these take minutes with them")
    def test_closed_forms(self):
        """Loads for each result and intensities have closed forms on sizes that the tiles divide."""
        slice_k = {"sgemm_{}_{}x{}x{}_{}x{}".format(*row[:6]): int(row[6]) for row in re.findall(
            r"X\((\w+), *(\d+), *(\d+), *(\d+), *(\d+), *(\d+), *\d+, *\d+, \d, \d, *(\d+),",
            (ROOT / "sgemm/variants.h").read_text())}
        self.assertEqual(list(slice_k), [row["variant"] for row in self.rows("--sizes", "1")])

        def measured(m, n, k, *arguments):
            return {row["variant"]: row for row in self.rows("--m", m, "--n", n, "--k", k, *arguments)}
        rows = measured(128, 256, 64, "--stages", ",".join(stage for stage in STAGES if stage != "gemv"))
        rows.update(measured(256, 256, 64, "--variants", "*_256x*"))
        rows.update(measured(128, 256, 128, "--variants", "*x128_*"))
        gemv = {}
        for tile, m, n in ("1x*", 8, 128), ("*x1", 128, 8):  # few results, because gemv takes long for each
            rows.update(measured(m, n, 64, "--variants", f"*gemv_{tile}x*"))
            gemv.update(measured(m, n, 512, "--variants", f"*gemv_{tile}x256_*"))
        self.assertEqual(set(slice_k), set(rows))
        # Stage gemv loads each element of its matrix once, and a quarter as many elements of its vector. With op NN the
        # matrix of 32x1x256 is A; its vector is a column of B with one element in a sector. 32x1x256 sums over 2 warps,
        # 1x32x256 over 16.
        for name, sectors, sums in ("sgemm_gemv_1x32x256_1x4", 1 + 1 / 16, 16), ("sgemm_gemv_32x1x256_4x1", 1 + 2, 2):
            self.assertEqual(float(gemv[name]["fma_threads"]), 8 * 128 * 512)
            self.assertAlmostEqual(float(gemv[name]["global_loads_per_result"]), 1.25 * 512, msg=name)
            self.assertAlmostEqual(float(gemv[name]["global_flop_per_byte"]), 0.5 / sectors, places=5, msg=name)
            self.assertAlmostEqual(float(gemv[name]["shared_flop_per_byte"]), 256 / sums, places=5, msg=name)
            del rows[name]
        # gemv with V = 1 loads an element of the vector for each element of the matrix. A thread of direct loads TM + TN
        # elements for TM * TN results.
        for name in [name for name in rows if "_direct_" in name or "_gemv_" in name]:
            TM, TN = map(int, re.search(r"_(\d+)x(\d+)$", name).groups())
            self.assertAlmostEqual(float(rows.pop(name)["global_loads_per_result"]), 64 * (1 / TM + 1 / TN), msg=name)
        for name, row in rows.items():
            BM, BN, BK, TM, TN = map(int, re.search(r"_(\d+)x(\d+)x(\d+)_(\d+)x(\d+)$", name).groups())
            k = max(64, BK)
            loads = 2 * k if BK == 1 else k / BM + k / BN
            self.assertAlmostEqual(float(row["global_loads_per_result"]), loads, msg=name)
            self.assertEqual(float(row["fma_threads"]), int(row["m"]) * 256 * k)
            if BK > 1:
                sectors = k / BN + k / BM * max(1, 8 / BN)  # a row of B's tile may be smaller than a sector
                self.assertAlmostEqual(float(row["global_flop_per_byte"]), k / 2 / sectors, places=5, msg=name)
                # Stages tma and clustered sum the 4 lanes of a quad in registers.
                summed = slice_k[name] // 4 if re.search("_(tma|clustered)_", name) else slice_k[name]
                # With k = 8 BK and one sliced-K group a variant of splitk has a cluster of 2 blocks. They store their
                # sums, load them again, and load those of both blocks.
                clusters = 2 if "_splitk_" in name and k == 8 * BK else 0
                shared = k / TM + k / TN + (summed if summed > 1 else 0) + 2 * clusters
                self.assertAlmostEqual(float(row["shared_flop_per_byte"]), k / 2 / shared, places=5, msg=name)

    def test_bytes_of_epilogues(self):
        """An epilogue in a second kernel loads the sums again, and what it reads, and stores the result again, and aux. One in
        registers loads a bias for each of its 4 rows."""
        rows = {row["variant"].partition("+")[2]: row for row in self.rows("--m", "128", "--n", "192", "--k", "8",
                                                                           "--epilogues", "--gpu", "A100")}
        self.assertEqual(list(rows), ["", *FUSIONS])
        plain = {side: float(rows[""][f"global_{side}_per_result"]) for side in ("loads", "stores")}
        self.assertEqual((plain["stores"], float(rows[""]["over_plain"])), (1, 1))
        more = {"relu": (0.25, 0), "sigmoid": (2, 1), "gelu": (2, 2), "residual": (3, 1), "drelu": (2, 1), "scale_n": (2, 1)}
        for name, (loads, stores) in more.items():
            got = {side: float(rows[name][f"global_{side}_per_result"]) for side in plain}
            self.assertAlmostEqual(got["loads"], plain["loads"] + loads, msg=name)
            self.assertAlmostEqual(got["stores"], plain["stores"] + stores, msg=name)
            self.assertAlmostEqual(float(rows[name]["over_plain"]), sum(got.values()) / sum(plain.values()), msg=name)
        for name in FUSIONS[len(EPILOGUES) - 1:]:
            self.assertEqual(rows[name]["over_plain"], "")
        rows = {row["variant"].partition("+")[2]: row for row in self.rows("--m", "128", "--n", "192", "--k", "8",
                                                                           "--epilogues", "--no-aux", "--gpu", "A100")}
        for name, stores in {"gelu": 0, "gelu_erf": 1, "silu": 0}.items():
            self.assertEqual(float(rows[name]["global_stores_per_result"]), plain["stores"] + stores, msg=name)
        out = self.accepted("--sizes", "40", "--epilogues")
        self.assertLessEqual(max(map(len, out.splitlines())), 120)
        self.assertEqual(re.findall(r"^production\+?(\w*)", out, re.M), list(rows))
        self.assertRegex(out, rf"\n{len(rows)} results, 0 wrong\n\Z")

    def test_roofs(self):
        row, = self.rows("--sizes", "64", "--variants", "*tiled_32*", "--peak", "1000", "--bandwidth", "100")
        self.assertAlmostEqual(float(row["memory_roof_tflops"]), 0.8, places=6)  # 8 FLOP/byte * 100 GB/s
        self.assertLess(float(row["roof_tflops"]), 1.0)
        self.assertEqual(row["registers"], "")  # unknown: ptxas did not compile for this GPU
        row, = self.rows("--sizes", "256", "--variants", "*doublebuffered_128x256x8*", "--peak", "1", "--bandwidth", "100")
        self.assertEqual((row["bound"], row["roof_tflops"]), ("FMA", "0.001"))
        row, = self.rows("--sizes", "64", "--variants", "*naive*", "--peak", "1000", "--bandwidth", "100")
        self.assertEqual((row["bound"], row["shared_roof_tflops"]), ("memory", ""))

    def test_errors(self):
        """Errors in both units, for shapes of one column, of one row, and of a batch. Two runs have equal errors."""
        shapes = self.shapes(HEADER + "column,1500,1,40,1,NN\nrow,1,1500,40,1,TT\nbatch,20,3,40,30,NT\n")
        rows = self.rows("--shapes", shapes, "--stages", "naive", "--production")
        self.assertEqual(rows, self.rows("--shapes", shapes, "--stages", "naive", "--production"))
        for row in rows:
            error = float(row["componentwise_error"])
            self.assertTrue(0 < error < 40 * 2 ** -24)
            self.assertAlmostEqual(float(row["error_over_bound"]), error / 42 * 2 ** 24, places=6)

    def test_occupancy(self):
        row, = self.rows("--sizes", "16", "--variants", "*tiled_32*", "--gpu", "RTX3090")
        self.assertAlmostEqual(float(row["occupancy_percent"]), 100 * 32 / 48, places=4)  # one block's warps
        for gpu, arch in {"H200": "sm90a", "A100": "sm80", "RTX3090": "sm86", "RTX3070": "sm86"}.items():
            registers = (ROOT / f"docs/measurements/registers_{arch}.csv").read_text()
            for row in self.rows("--sizes", "16", "--gpu", gpu):
                # tma needs sm_90a. A new variant has no registers in the file until tools/registers.py has run.
                if (gpu != "H200" and row["stage"] in ("tma", "clustered")) or row["variant"].replace("sgemm", "SGEMM") + "," not in registers:
                    self.assertEqual(row["occupancy_percent"], "")
                    continue
                # These variants have 113 KiB of shared memory; a block of an RTX has at most 99 KiB.
                large = re.search("_(16x32|32x16)x128_", row["variant"])
                least = 0 if large and gpu.startswith("RTX") else 1
                self.assertTrue(least <= float(row["occupancy_percent"]) <= 100)


class Outputs(LadderTest):
    def test_table(self):
        out = self.accepted("--sizes", "40", "--production")
        lines = out.splitlines()
        self.assertLessEqual(max(map(len, lines)), 120)
        self.assertEqual(sum(line.startswith("sgemm_") for line in lines), len(self.rows("--sizes", "40")))
        self.assertRegex(out, r"\d+ results, 0 wrong\n\Z")

    def test_formats_agree(self):
        arguments = ["--sizes", "24,40", "--stages", "naive,tiled,doublebuffered", "--production"]
        self.accepted(*arguments, "--csv", "a.csv", "--json", "a.json", "--markdown", "a.md")
        rows = list(csv.DictReader(io.StringIO((self.directory / "a.csv").read_text())))
        data = json.loads((self.directory / "a.json").read_text(), parse_constant=self.fail)
        table = [[cell.strip() for cell in line.strip("|").split("|")]
                 for line in (self.directory / "a.md").read_text().splitlines()]
        self.assertEqual(len(rows), 2 * (1 + 2 + 6 + 1))
        self.assertEqual((len(data["benchmarks"]), len(table)), (len(rows), len(rows) + 2))
        self.assertEqual(len({len(line) for line in table}), 1)
        self.assertEqual(set(data["context"]), {"date", "executable", "num_cpus", "library_version", "machine", "gpu",
                                                "peak_gflops", "bandwidth_gbs"})
        names = [benchmark["name"] for benchmark in data["benchmarks"]]
        self.assertEqual(len(set(names)), len(names))
        for row, benchmark, line in zip(rows, data["benchmarks"], table[2:]):
            for key, value in row.items():
                if isinstance(benchmark[key], str):
                    self.assertEqual(benchmark[key], value)
                elif benchmark[key] is None:
                    self.assertEqual(value, "")
                else:
                    self.assertEqual(benchmark[key], float(value))
            self.assertEqual([benchmark[key] for key in ("run_type", "time_unit", "iterations")],
                             ["iteration", "ms", 1])
            self.assertEqual(benchmark["run_name"], benchmark["name"])
            self.assertGreater(benchmark["real_time"], 0)
            self.assertGreaterEqual(benchmark["cpu_time"], 0)
            self.assertEqual("/".join([line[0].strip("`"), line[1]]), benchmark["name"])
            loads = table[0].index("global loads")
            self.assertEqual(line[loads], f"{benchmark['global_loads_per_result']:.1f}")

    def test_standard_output(self):
        arguments = ["--sizes", "16", "--stages", "naive"]
        self.assertEqual(len(json.loads(self.accepted(*arguments, "--json", "-"))["benchmarks"]), 1)
        self.assertEqual(len(self.accepted(*arguments, "--markdown", "-").splitlines()), 3)
        self.assertEqual(len(self.accepted(*arguments, "--csv", "-", "--json", "x.json").splitlines()), 2)
        self.assertTrue((self.directory / "x.json").exists())

    def test_killed(self):
        """The ladder writes each row to the CSV as soon as it is measured."""
        path = self.directory / "x.csv"
        run = subprocess.Popen([ladder, "--sizes", "16,1024", "--stages", "naive", "--csv", path], env=ENVIRONMENT,
                               stdout=subprocess.DEVNULL)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        for _ in range(6000):
            if path.exists() and len(path.read_text().splitlines()) == 2:
                break
            time.sleep(0.01)
        self.assertIsNone(run.poll())
        run.kill()
        run.wait()
        row, = csv.DictReader(io.StringIO(path.read_text()))
        self.assertEqual((row["variant"], row["m"], row["verdict"]), ("sgemm_naive_32x32x1_1x1", "16", ""))
        self.assertEqual(len(row), len(self.rows("--sizes", "16", "--stages", "naive")[0]))

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_not_written(self):
        def run(*arguments, stdout):
            with open(stdout, "w") as out:
                run = subprocess.run([ladder, *arguments], env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=subprocess.PIPE, text=True, timeout=600)
            return run.returncode, ASAN_WARNING.sub("", run.stderr)
        for option in ["--csv", "--json", "--markdown"]:
            self.assertEqual(run("--sizes", "16", option, "/dev/full", stdout="/dev/null"),
                             (2, "ladder: No space left on device: /dev/full\n"))
            self.assertEqual(run("--sizes", "16", option, "-", stdout="/dev/full"),
                             (2, "ladder: No space left on device: -\n"))
        for arguments in [["--sizes", "16"], ["--help"]]:
            self.assertEqual(run(*arguments, stdout="/dev/full"),
                             (2, "ladder: No space left on device: standard output\n"))

    def test_json_has_no_host_name_or_path(self):
        def values(data):
            inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else None
            return [data] if inner is None else [value for part in inner for value in values(part)]
        out = self.accepted("--sizes", "16", "--stages", "naive", "--json", "-")
        self.assertNotIn(os.uname().nodename, values(json.loads(out)))
        for path in [str(self.directory), str(ROOT)]:
            self.assertNotIn(path, out)

    def test_build_working_directory(self):
        self.accepted("--sizes", "16", "--csv", "x.csv", env={"BUILD_WORKING_DIRECTORY": str(self.directory)}, cwd="/")
        self.assertTrue((self.directory / "x.csv").exists())


@unittest.skipIf(SANITIZED, "the test compiles its programs without sanitizers")
class Wrong(LadderTest):
    """A ladder with faulty kernels reports wrong results in each row and by its exit status."""

    def faulty(self, find, replace, file="sgemm/device/epilogue.cuh", options=()):
        tree = pathlib.Path(tempfile.mkdtemp(dir=self.directory))
        for name in ["sgemm.h", "sgemm_kernels.cuh", "sgemm", "cpu", "tools", "docs/measurements"]:
            source, target = ROOT / name, tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("consumer", "*_cpu", "*_cuda", "_objs"))
            else:
                shutil.copy(source, target)
        text = (tree / file).read_text()
        self.assertEqual(text.count(find), 1)
        (tree / file).chmod(0o644)
        (tree / file).write_text(text.replace(find, replace))
        program = tree / "faulty"
        # Without optimisation, because the compiler takes longer than the program.
        subprocess.run(["gcc", "-std=c11", "-O0", "-ffp-contract=off", "-DSGEMM_CPU=1", "-DSGEMM_CPU_COUNT=1",
                        "-DSGEMM_STAGE=tiled", *options, f"-I{tree}", tree / "cpu/sgemm.c", tree / "tools/ladder.c",
                        "-lpthread", "-lm", "-o", program], check=True)
        return program

    def check(self, program, is_error):
        status, out, err = self.run_program(program, "--sizes", "40", "--json", "x.json", "--csv", "x.csv")
        self.assertEqual((status, err), (1, ""))
        self.assertEqual(len(re.findall(r"^sgemm_tiled.* WRONG$", out, re.M)), 2)
        self.assertLessEqual(max(map(len, out.splitlines())), 120)
        self.assertRegex(out, r"2 results, 2 wrong\n\Z")
        for benchmark in json.loads((self.directory / "x.json").read_text(), parse_constant=self.fail)["benchmarks"]:
            self.assertEqual((benchmark["error_occurred"], benchmark["error_message"]), (True, "wrong result"))
            self.assertEqual(benchmark["verdict"], "WRONG")
            self.assertTrue(is_error(benchmark["error_over_bound"]))
        for row in csv.DictReader(io.StringIO((self.directory / "x.csv").read_text())):
            self.assertEqual(row["verdict"], "WRONG")
        return out

    def refusing(self, status):
        """Runs a ladder in which a variant of stage tiled returns a status."""
        program = self.faulty(": sgemm_run_variant(plan.variant, &p, NULL),",
                              f": plan.variant == SGEMM_tiled_16x16x16_1x1 ? {status} "
                              ": sgemm_run_variant(plan.variant, &p, NULL),", file="tools/ladder_model.h")
        return self.run_program(program, "--sizes", "40", "--json", "x.json")

    def test_left_out(self):
        """A variant that has no plan for the device is left out, with one line on stderr."""
        status, out, err = self.refusing("SGEMM_ERROR_PLAN")
        self.assertEqual(status, 0)
        self.assertRegex(err, r"\Aladder: left out, no variant for this device and these operands: "
                              r"sgemm_tiled_16x16x16_1x1/40x40x40/NN\n\Z")
        self.assertRegex(out, r"\n1 results, 0 wrong\n\Z")
        benchmark, = json.loads((self.directory / "x.json").read_text())["benchmarks"]
        self.assertNotIn(benchmark["variant"], err)

    def test_refused(self):
        """Another error ends the ladder, with its sentence."""
        status, out, err = self.refusing("SGEMM_ERROR_GRID")
        self.assertEqual(status, 2)
        self.assertRegex(err, r"\Aladder: a launch needs more than [^\n]*: sgemm_tiled_16x16x16_1x1/40x40x40/NN\n\Z")
        self.assertFalse((self.directory / "x.json").read_text())

    def test_number(self):
        program = self.faulty("return p->alpha * x;", "return 1.001f * x;")
        self.check(program, lambda error: error > 1)

    def wrong_fusions(self, *arguments, **options):
        """The lines of --epilogues that a faulty ladder reports as wrong."""
        status, out, err = self.run_program(self.faulty(*arguments, **options), "--epilogues", "--m", "40", "--n", "37",
                                            "--k", "9", "--csv", "-")
        rows = {row["variant"]: row for row in csv.DictReader(io.StringIO(out))}
        wrong = [name for name in rows if rows[name]["verdict"] == "WRONG"]
        self.assertEqual((status, err), (int(len(wrong) > 0), ""))
        for name, row in rows.items():
            self.assertEqual(name in wrong, float(row["error_over_bound"]) > 1)
        return list(rows), wrong

    def test_project_row(self):
        """A project's row has a line of its own. It reads C, both indices and both scalars."""
        project = ROOT / "tests/project_epilogues.h"
        names, wrong = self.wrong_fusions("return p->alpha * x;", "return p->alpha * x;", options=("-include", project))
        self.assertEqual(names, ["production"] + [f"production+{name}" for name in
                                                  [*EPILOGUES[1:], "masked", *FUSIONS[len(EPILOGUES) - 1:]]])
        self.assertEqual(wrong, [])
        _, wrong = self.wrong_fusions("#define SGEMM__VALUE_t values->t", "#define SGEMM__VALUE_t (values->t + 1e-5f)",
                                      file="sgemm/device/apply_epilogue.cuh", options=("-include", project))
        self.assertEqual(wrong, ["production+clamp", "production+masked"])

    def test_wrong_aux(self):
        _, wrong = self.wrong_fusions("    aux[v] = values.aux[v];", "    aux[v] = 0.999f * values.aux[v];",
                                      file="sgemm/device/apply_epilogue.cuh")
        self.assertEqual(wrong, ["production+gelu", "production+gelu_erf", "production+silu"])

    def test_wrong_index(self):
        """An argmin that is the index of a neighbour."""
        _, wrong = self.wrong_fusions("r->first + own->index[0];", "r->first + (own->index[0] ^ 1);",
                                      file="sgemm/stages/reduction.cuh")
        self.assertEqual(wrong, [f"production+{name}" for name in FUSIONS if "m" == name[0]])

    def test_wrong_sums(self):
        _, wrong = self.wrong_fusions("sgemm__fma(x[i], x[i], value[i % W])",
                                      "sgemm__fma(x[i], 1.001f * x[i], value[i % W])",
                                      file="sgemm/device/partial_values.cuh")
        self.assertEqual(wrong, ["production+sum_squares_rows", "production+sum_squares_columns"])

    def test_nan(self):
        program = self.faulty("return p->alpha * x;", "return 0.0f * (1.0f / 0.0f);")
        self.check(program, lambda error: error == float("inf"))


class Generated(LadderTest):
    """The scripts that write tables find a page whose markers are damaged."""

    PAGES = {"readme_tables.py": "README.md", "page_tables.py": "docs/stages/tma.md",
             "variants_table.py": "docs/variants.md"}

    def setUp(self):
        super().setUp()
        for name in ["tools", "docs/stages", "docs/measurements"]:
            for source in (ROOT / name).glob("*.[cmpt]*"):
                self.copy(source.relative_to(ROOT))
        for name in ["README.md", "docs/variants.md", "sgemm/variants.h"]:
            self.copy(name)

    def copy(self, name):
        (self.directory / name).parent.mkdir(parents=True, exist_ok=True)
        (self.directory / name).write_bytes((ROOT / name).read_bytes())

    def run_script(self, script, *arguments):
        return self.run_program(sys.executable, self.directory / "tools" / script, *arguments)

    def test_check_and_write(self):
        for script, page in self.PAGES.items():
            text = (ROOT / page).read_text()
            self.assertEqual(self.run_script(script, "--check"), (0, "", ""))
            end = text.index("\n\n<!-- END" if "\n\n<!-- END" in text else "\n<!-- END")
            (self.directory / page).write_text(text[:end] + " changed" + text[end:])
            status, out, err = self.run_script(script, "--check")
            self.assertEqual((status, out), (1, ""))
            self.assertIn(pathlib.Path(page).name, err)
            self.assertEqual(self.run_script(script), (0, "", ""))
            self.assertEqual((self.directory / page).read_text(), text)

    def test_damaged_markers(self):
        for script, page in self.PAGES.items():
            text = (ROOT / page).read_text()
            for marker in re.findall(r"<!-- (?:BEGIN|END) \w+ -->\n", text):
                for wrong in "", 2 * marker:
                    (self.directory / page).write_text(text.replace(marker, wrong))
                    status, out, err = self.run_script(script, "--check")
                    self.assertEqual((status, out, len(err.splitlines())), (1, "", 1))
                    self.assertIn(f"{pathlib.Path(page).name}: the markers", err)
            (self.directory / page).write_text(text)

    def test_arguments(self):
        for script in self.PAGES:
            self.assertEqual(self.run_script(script, "--chek"), (2, "", f"{script}: --chek: the only option is --check\n"))


class NcuCompare(LadderTest):
    """tools/ncu_compare.py on files that an earlier run left."""

    KERNEL = "sgemm_tiled_32x32x32_1x1_nn"

    def compared(self, *, opcodes="", device="a GPU\n", loads=7):
        """The model counts 7 of everything. ncu gives `loads` requests of global loads, and nothing else."""
        script = (ROOT / "tools/ncu_compare.py").read_text()
        counters = re.findall(r'^    "(\w+)": "', script.split("METRICS = {")[1].split("}")[0], re.M)
        files = {"model.csv": f"kernel,m,n,k,{','.join(counters)}\n{self.KERNEL},8,8,8{',7' * len(counters)}\n",
                 "8x8x8_nn.raw.csv": "ID,Kernel Name,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum\n"
                                     f"0,{self.KERNEL},{loads}\n",
                 "8x8x8_nn.opcodes.csv": "kernel,opcode,executed\n" + opcodes, "device.txt": device}
        for name, text in files.items():
            if text is not None:
                (self.directory / name).write_text(text)
        return self.run_program(sys.executable, ROOT / "tools/ncu_compare.py", "--from", ".", "model.csv")

    def test_equal_and_different(self):
        self.assertEqual(self.compared()[::2], (0, ""))
        self.assertEqual(self.compared(loads=8)[::2], (1, ""))

    def test_kernels_of_no_variant(self):
        self.assertEqual(self.compared(opcodes=f"sgemm_pack,FFMA,1\n{self.KERNEL},FFMA,7\n")[::2], (0, ""))
        self.assertIn(",fma_instructions,7,7,equal\n", (self.directory / "ncu.csv").read_text())

    def test_wrong_files(self):
        status, out, err = self.compared(opcodes=f"{self.KERNEL},FFMA,many\n")
        self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))
        self.assertIn("opcodes.csv", err)
        (self.directory / "device.txt").unlink()
        status, out, err = self.compared(device=None)
        self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))
        self.assertIn("device.txt", err)


@unittest.skipIf(SANITIZED, "the CPU model computes suites here, which takes minutes with sanitizers")
class Gpu(LadderTest):
    """The GPU functions of the ladder, on the GPU of tests/fake_gpu.c."""

    SHAPES = HEADER + "tall,70,9,5,1,NN\nwide,3,70,8,1,NT\nbatch,6,20,7,3,TN\n"

    def suite(self, *arguments, shapes=SHAPES, status=0):
        """Runs a suite; returns standard output, the rows of the CSV and the context of the JSON."""
        code, out, err = self.run_program(ladder_on_gpu, "--shapes", self.shapes(shapes), "--reps", "3", *arguments,
                                          "--csv", "x.csv", "--json", "x.json", "--markdown", "x.md")
        self.assertEqual((code, err), (status, ""))
        data = json.loads((self.directory / "x.json").read_text(), parse_constant=self.fail)
        return out, list(csv.DictReader(io.StringIO((self.directory / "x.csv").read_text()))), data["context"]

    def test_production_only(self):
        _, rows, _ = self.suite("--production-only", "--warm", "--cold")
        self.assertEqual([(row["shape"], row["mode"], row["variant"]) for row in rows],
                         [(shape, mode, variant) for shape in ("tall", "wide", "batch") for mode in ("warm", "cold")
                          for variant in ("cublas", "production")])
        self.assertTrue(all(row["samples"] == "3" and float(row["error_over_bound"]) <= 1 for row in rows))
        _, rows, _ = self.suite("--production", "--variants", "*async_64x64x8_8x8")
        self.assertEqual([row["variant"] for row in rows],
                         3 * ["cublas", "production", "sgemm_async_64x64x8_8x8"])

    def test_score(self):
        for modes in [["warm"], ["cold"], ["warm", "cold"]]:
            out, rows, context = self.suite("--production-only", *(f"--{mode}" for mode in modes))
            markdown = (self.directory / "x.md").read_text().splitlines()
            self.assertLessEqual(max(map(len, out.splitlines())), 120)
            self.assertEqual({key for key in context if "score" in key},
                             {f"score_{mode}{what}" for mode in modes for what in ("", "_worst", "_worst_shape")})
            for line, mode in zip(out.splitlines()[-len(modes):], modes):
                times = {(row["shape"], row["variant"]): float(row["time_ms"]) for row in rows if row["mode"] == mode}
                speeds = {shape: times[shape, "cublas"] / times[shape, "production"] for shape, _ in times}
                mean = math.prod(speeds.values()) ** (1 / 3)
                worst = min(speeds, key=speeds.get)
                self.assertEqual(len(set(speeds.values())), 3)
                self.assertAlmostEqual(context[f"score_{mode}"], mean, places=6)
                self.assertAlmostEqual(context[f"score_{mode}_worst"], speeds[worst], places=6)
                self.assertEqual(context[f"score_{mode}_worst_shape"], worst)
                self.assertEqual(line, f"score, L2-{mode}: {mean:.3f} of cuBLAS's speed, geometric mean of 3 shapes; "
                                       f"worst {speeds[worst]:.3f}: {worst}")
                self.assertIn(f"- {line}", markdown)

    def test_no_score(self):
        """No score without production, without shape names, or with the CSV on standard output."""
        out, _, context = self.suite("--variants", "*async_64x64x8_8x8")
        self.assertNotIn("score", out + " ".join(context))
        status, out, err = self.run_program(ladder_on_gpu, "--sizes", "16", "--production-only", "--reps", "1")
        self.assertEqual((status, err), (0, ""))
        self.assertNotIn("score", out)
        status, out, err = self.run_program(ladder_on_gpu, "--shapes", self.shapes(self.SHAPES), "--production-only",
                                            "--reps", "1", "--csv", "-")
        self.assertEqual((status, err, len(out.splitlines())), (0, "", 1 + 6))

    def test_wrong_result_has_no_score(self):
        out, rows, context = self.suite("--production-only", shapes=self.SHAPES + "lost,4,13,5,2,NN\n", status=1)
        self.assertEqual([rows[-1][key] for key in ("verdict", "componentwise_error", "error_over_bound")],
                         ["WRONG", "inf", "inf"])
        self.assertEqual((context["score_warm"], context["score_warm_worst"], context["score_warm_worst_shape"]),
                         (0, 0, "lost"))
        self.assertRegex(out, r"8 results, 1 wrong\nscore, L2-warm: 0\.000 of .* 4 shapes; worst 0\.000: lost\n\Z")

    def test_errors(self):
        for modes in [["--cold"], ["--warm", "--cold"]]:
            out, rows, context = self.suite("--errors", "--production-only", *modes)
            errors = {(row["shape"], row["variant"]): float(row["componentwise_error"]) for row in rows}
            ratios = {shape: errors[shape, "production"] / errors[shape, "cublas"] for shape, _ in errors}
            for row in rows:
                self.assertAlmostEqual(float(row["error_over_cublas"]),
                                       ratios[row["shape"]] if row["variant"] == "production" else 1, places=6)
            mean, worst = math.prod(ratios.values()) ** (1 / 3), max(ratios, key=ratios.get)
            self.assertAlmostEqual(context["error_ratio"], mean, places=6)
            self.assertAlmostEqual(context["error_ratio_largest"], ratios[worst], places=6)
            self.assertEqual(context["error_ratio_largest_shape"], worst)
            table = [line.split() for line in out[out.index("largest |C - double reference| / |A||B|"):].splitlines()]
            self.assertEqual(table[2:5], [[shape, *(f"{errors[shape, of]:.3e}" for of in ("production", "cublas")),
                                           f"{ratios[shape]:.3f}"] for shape in ("tall", "wide", "batch")])
            line = f"errors: {mean:.3f} of cuBLAS's, geometric mean of 3 shapes; largest {ratios[worst]:.3f}: {worst}"
            self.assertEqual(out.splitlines()[-1], line)
            self.assertIn(f"- {line}", (self.directory / "x.md").read_text().splitlines())
        status, out, err = self.run_program(ladder_on_gpu, "--sizes", "12", "--errors", "--variants", "-", "--reps", "1")
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"\nerrors: .* of 1 shapes; largest .*: 12x12x12/NN\n\Z")

    TENSOR = HEADER + "square,256,256,256,1,NN\nsmall,70,9,5,1,NT\nbatch,127,256,161,2,TN\n"
    MODES = {"": "", "_tensor": "fp16x3", "_tensor_full": "bf16x6"}  # suffix of a mode: format of its variants

    def test_modes(self):
        out, rows, context = self.suite("--mode", "tensor,strict", "--production-only", "--errors", "--mode",
                                        "tensor_full", "--reps", "1", shapes=self.TENSOR)
        self.assertEqual([row["variant"] for row in rows],
                         3 * ["cublas", *(f"production{mode}" for mode in self.MODES)])
        self.assertTrue(all(float(row["error_over_bound"]) <= 1 for row in rows))
        of = {(row["shape"], row["variant"]): row for row in rows}
        for mode, number_format in self.MODES.items():
            for shape in ("square", "small", "batch"):
                row, strict = of[shape, f"production{mode}"], of[shape, "production"]
                keys = ("picked", "cluster_k", "split_k", "stream_k", "serial_k", "guard")
                if number_format and shape != "small":
                    self.assertRegex(row["picked"], f"^sgemm_.*_{number_format}_")
                    self.assertEqual((row["cluster_k"], row["stream_k"], row["guard"]), ("", "", "0"))
                    self.assertGreater(int(row["workspace_bytes"]), 256 * 256 * 8)
                    self.assertIn(f"\n    {row['picked']}, split_k {row['split_k']}\n", out)
                else:
                    self.assertEqual([row[key] for key in keys], [strict[key] for key in keys])
                    self.assertIn(f"\n    {row['picked']}, cluster_k {row['cluster_k']}, split_k {row['split_k']}, "
                                  f"stream_k {row['stream_k']}, serial_k {row['serial_k']}\n", out)
            self.assertEqual(of["square", f"production{mode}"]["ceiling_gflops"], "")
            speeds = [float(of[shape, f"production{mode}"]["percent_of_cublas"]) / 100
                      for shape in ("square", "small", "batch")]
            self.assertAlmostEqual(context[f"score{mode}_warm"], math.prod(speeds) ** (1 / 3), places=6)
            ratios = [float(of[shape, f"production{mode}"]["error_over_cublas"])
                      for shape in ("square", "small", "batch")]
            self.assertAlmostEqual(context[f"error_ratio{mode}"], math.prod(ratios) ** (1 / 3), places=5)
            title = mode.replace("_", ", ", 1)
            self.assertRegex(out, rf"\nscore{title}, L2-warm: .* of 3 shapes; worst .*\n")
            self.assertRegex(out, rf"\nerrors{title}: .* of 3 shapes; largest .*\n")
            self.assertRegex(out, rf"\nshape +production{mode} +cublas +ratio\nsquare ")
        self.assertFalse([key for key in context if "large" in key.split("_")])
        self.assertLessEqual(max(map(len, out.splitlines())), 120)

    def test_score_of_large_shapes(self):
        shapes = HEADER + "large,512,512,512,1,NN\nthin,512,512,8,1,NN\n"
        out, rows, context = self.suite("--mode", "tensor", "--production-only", "--reps", "1", shapes=shapes)
        speeds = {row["shape"]: float(row["percent_of_cublas"]) / 100 for row in rows
                  if row["variant"] == "production_tensor"}
        self.assertEqual({key for key in context if "score" in key},
                         {f"score_tensor_warm{large}{what}" for large in ("", "_large")
                          for what in ("", "_worst", "_worst_shape")})
        self.assertAlmostEqual(context["score_tensor_warm"], math.prod(speeds.values()) ** 0.5, places=6)
        self.assertAlmostEqual(context["score_tensor_warm_large"], speeds["large"], places=6)
        self.assertRegex(out, r"\nscore, tensor, L2-warm, m, n, k >= 512: .* of 1 shapes; worst .*: large\n")

    def test_prepared(self):
        keys = ("shape", "mode", "picked", "split_k", "componentwise_error", "guard")
        arguments = ["--mode", "tensor,tensor_full", "--production-only", "--cold", "--reps", "1"]
        shapes = HEADER + "batch,129,130,128,2,TT\n"
        _, split, _ = self.suite(*arguments, shapes=shapes)
        _, rows, context = self.suite(*arguments, "--prepared", shapes=shapes)
        self.assertEqual(context["prepared"], "B")
        self.assertEqual([[row[key] for key in keys] for row in rows], [[row[key] for key in keys] for row in split])
        for before, row in zip(split, rows):
            if row["variant"] == "cublas":
                continue
            self.assertEqual(row["variant"], before["variant"] + "_prepared")
            saved = 128 * 128 * 4 if "full" in row["variant"] else -1  # the full-range fallback of tensor splits B again
            self.assertLess(int(row["workspace_bytes"]), int(before["workspace_bytes"]) - saved)
        _, both, context = self.suite(*arguments, "--prepared-both", shapes=shapes)
        self.assertEqual(context["prepared"], "A and B")
        self.assertEqual([[row[key] for key in keys] for row in both], [[row[key] for key in keys] for row in split])
        for before, row in zip(rows, both):
            if row["variant"] != "cublas":
                saved = 256 * 128 * 4 if "full" in row["variant"] else -1
                self.assertLess(int(row["workspace_bytes"]), int(before["workspace_bytes"]) - saved)
        _, beside, context = self.suite(*arguments, "--prepared", "--prepared-both", shapes=shapes)
        self.assertEqual(context["prepared"], "B; A and B")
        of_both = [dict(row, variant=row["variant"] + "_both") for row in both if row["variant"] != "cublas"]
        for row in rows + of_both:
            found = [other for other in beside if all(other[key] == row[key] for key in keys + ("variant",))]
            self.assertEqual([other["workspace_bytes"] for other in found], [row["workspace_bytes"]])
        self.assertEqual(len(beside), len(rows) + len(of_both))

    def test_beta(self):
        for mode in ("--warm", "--cold"):
            out, rows, context = self.suite("--production", "--variants", "*async_64x64x8_8x8", "--errors", "--beta", "0.5",
                                            mode)
            self.assertEqual((len(rows), context["beta"]), (9, 0.5))
            self.assertIn("\ntall: C = op(A) op(B) + 0.5 C, m 70, ", "\n" + out)
            for row in rows:
                self.assertLessEqual(float(row["error_over_bound"]), 1)
                m, n, k, batch = (int(row[key]) for key in ("m", "n", "k", "batch"))
                moved = float(row["percent_of_copy"]) * 1e7 * float(row["time_ms"])  # bytes at 1000 GB/s
                self.assertAlmostEqual(moved / (4 * batch * (m * k + k * n + 2 * m * n)), 1, places=6)
        for value in ("", "0", "-1", "1.5", "nan", "half"):
            status, out, err = self.run_program(ladder_on_gpu, "--beta", value)
            self.assertEqual((status, out, err), (2, "", f"ladder: --beta is not a number above 0 and at most 1: {value}\n"))

    def test_ceilings(self):
        shapes = HEADER + "tall,128,70,64,1,NN\nsmall,9,70,5,1,TN\nbatch,70,64,65,2,TT\n"
        out, rows, context = self.suite("--mode", "strict,tensor,tensor_full", "--production-only", "--ceilings",
                                        "--warm", "--cold", "--reps", "1", shapes=shapes)
        for row in rows:
            products = {"production_tensor": 3, "production_tensor_full": 6}.get(row["variant"])
            if products is None or row["shape"] == "batch":
                self.assertEqual((row["ceiling_gflops"], row["percent_of_ceiling"]), ("", ""))
                continue
            ceiling = 2e-6 * int(row["m"]) * int(row["n"]) / products  # cuBLAS takes 1 ms for each of products * k
            self.assertAlmostEqual(float(row["ceiling_gflops"]) / ceiling, 1, places=6)
            percent = 100 * float(row["gflops"]) / ceiling
            self.assertAlmostEqual(float(row["percent_of_ceiling"]) / percent, 1, places=6)
            self.assertIn(f"; {float(row['percent_of_ceiling']):.1f} % of cuBLAS on "
                          f"{'fp16' if products == 3 else 'bf16'} at {products} k: ", out)
        for mode in ("tensor", "tensor_full"):
            self.assertRegex(out, rf"\nceiling, {mode}, L2-cold: .* geometric mean of 2 shapes; worst ")
            self.assertIn(f"ceiling_{mode}_warm_worst_shape", context)

    def test_epilogues(self):
        """A line for each row of the tables in each mode, with times that the last cudaMemset gives."""
        modes = {"strict": "production", "tensor_full": "production_tensor_full"}
        names = [name for mode in modes.values() for name in (mode, *(f"{mode}+{fusion}" for fusion in FUSIONS))]
        for state in ("warm", "cold"):
            out, rows, _ = self.suite("--epilogues", f"--{state}", "--mode", ",".join(modes), "--reps", "1")
            self.assertEqual([row["variant"] for row in rows], 3 * ["cublas", *names])
            self.assertLessEqual(max(map(len, out.splitlines())), 120)
            self.assertRegex(out, rf"\n{3 * (1 + len(names))} results, 0 wrong\n")
            plain = {}
            for row in rows:
                m, n, batch = (int(row[key]) for key in ("m", "n", "batch"))
                if row["variant"] in modes.values():
                    plain[row["shape"]] = float(row["time_ms"])
                if row["variant"] == "cublas":
                    self.assertEqual(row["over_plain"], "")
                    continue
                values = batch * {"rows": m, "columns": n, "": 0}[row["along"]]
                bytes_set = values * (8 if row["reduction"] in ("max", "min") else 4)
                if values > 0:
                    self.assertEqual(float(row["time_ms"]), max(1, bytes_set / 256))
                self.assertAlmostEqual(float(row["over_plain"]), float(row["time_ms"]) / plain[row["shape"]], places=6)
                self.assertLessEqual(float(row["error_over_bound"]), 1)
                name = row["epilogue"] if row["along"] == "" else f"{row['reduction']}_{row['along']}"
                self.assertTrue(row["variant"].endswith(f"+{name}") or name == "none", row["variant"])
            self.assertNotEqual(set(plain.values()), {1})
        for option in (["--beta", "1"], ["--errors"], ["--ceilings"], ["--prepared"], ["--prepared-both"]):
            status, out, err = self.run_program(ladder_on_gpu, "--epilogues", "--mode", "tensor", *option)
            self.assertEqual((status, out, err), (2, "", f"ladder: this option is not for --epilogues: {option[0]}\n"))
        status, out, err = self.run_program(ladder_on_gpu, "--no-aux")
        self.assertEqual((status, out, err), (2, "", "ladder: --no-aux is for --epilogues\n"))

    def test_wrong_modes(self):
        for arguments, says in [(["--mode", ""], "--mode is"), (["--mode", "tensor,"], "--mode is"),
                                (["--mode", "full"], "--mode is"), (["--mode"], "needs a value"),
                                (["--prepared"], "tensor mode"), (["--prepared-both"], "tensor mode"),
                                (["--mode", "strict", "--ceilings"], "tensor mode")]:
            status, out, err = self.run_program(ladder_on_gpu, *arguments)
            self.assertEqual((status, out, len(err.splitlines())), (2, "", 1))
            self.assertIn(says, err)

    def test_nan_is_an_infinite_error(self):
        out, rows, context = self.suite("--errors", "--production-only", shapes=self.SHAPES + "lost,4,13,5,2,NN\n",
                                        status=1)
        self.assertEqual([rows[-1][key] for key in ("verdict", "componentwise_error", "error_over_cublas")],
                         ["WRONG", "inf", "inf"])
        self.assertEqual([context[f"error_ratio{what}"] for what in ("", "_largest", "_largest_shape")],
                         [math.inf, math.inf, "lost"])
        self.assertRegex(out, r"\nerrors: inf of cuBLAS's, geometric mean of 4 shapes; largest inf: lost\n\Z")

    def test_out_of_memory(self):
        """The second shape exceeds the memory of the GPU. The CSV has the rows of the first."""
        shapes = self.shapes(HEADER + "fits,8,8,8,1,NN\nhuge,65536,65536,2,1,NT\n")
        status, _, err = self.run_program(ladder_on_gpu, "--shapes", shapes, "--production-only", "--csv", "x.csv",
                                          "--reps", "1")
        self.assertEqual((status, err), (2, "ladder: not enough memory for the matrices: 65536x65536x2/NT/huge\n"))
        rows = csv.DictReader(io.StringIO((self.directory / "x.csv").read_text()))
        self.assertEqual([row["shape"] for row in rows], ["fits", "fits"])

    def test_pictures(self):
        """pictures.py draws what the ladder writes."""
        if subprocess.run(["/usr/bin/python3", "-c", "import matplotlib"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no matplotlib for /usr/bin/python3")
        env = {"MPLCONFIGDIR": str(self.directory)}
        # matplotlib lists the fonts once, and says so on stderr where it takes more than 5 s.
        self.run_program("/usr/bin/python3", "-c", "import matplotlib.font_manager", env=env)
        self.suite("--production-only", "--warm", "--cold")
        for file in ("x.csv", "x.json"):
            run = self.run_program(pictures, "speedup", "--out", "x.png", file, env=env)
            self.assertEqual(run, (0, "", ""))
            self.assertTrue((self.directory / "x.png").read_bytes().startswith(b"\x89PNG"))

    def test_options_of_the_model(self):
        for option in ["--gpu", "--peak", "--bandwidth"]:
            status, out, err = self.run_program(ladder_on_gpu, option, "1")
            self.assertEqual((status, out), (2, ""))
            self.assertIn("this is the GPU build", err)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    ladder, ladder_on_gpu, pictures = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
    result = cases.run()
    print(f"{result.testsRun} tests, {len(result.skipped)} skipped")
    sys.exit(not result.wasSuccessful() or result.testsRun == 0)
