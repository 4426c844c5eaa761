"""Functions of the Python tests: runs unittest with the filter and the XML report of Bazel."""
import html
import os
import sys
import unittest

# A configuration of Bazel, and the variable by which a test finds that it runs in it.
CONFIGS = {"full": "SGEMM_TEST_FULL", "asan": "SGEMM_TEST_UNGUARDED"}


class Result(unittest.TextTestResult):
    """Keeps every test that ran, for the XML report."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.all = []

    def stopTest(self, test):
        super().stopTest(test)
        self.all.append(test)


def name_of(test):
    """Class/test; for a subtest, the name of its test."""
    return "/".join(getattr(test, "test_case", test).id().split(".")[-2:])


def report(result, path):
    """Writes a JUnit file with the tests that passed, failed or were skipped."""
    bad = {name_of(test): text for test, text in result.failures + result.errors}
    skipped = {name_of(test): reason for test, reason in result.skipped}
    with open(path, "w") as file:
        file.write(f'<testsuites><testsuite name="{os.path.basename(sys.argv[0])}" tests="{len(result.all)}" '
                   f'failures="{len(bad)}" skipped="{len(skipped)}">\n')
        for name in map(name_of, result.all):
            inside = (f'<failure message="{html.escape(bad[name].splitlines()[-1])}"/>' if name in bad else
                      f'<skipped message="{html.escape(skipped[name])}"/>' if name in skipped else "")
            file.write(f'<testcase name="{name}">{inside}</testcase>\n')
        file.write("</testsuite></testsuites>\n")


def run():
    """Runs the tests that sys.argv or --test_filter=CLASS/TEST names, otherwise all; prints how to repeat failures."""
    only = os.environ.get("TESTBRIDGE_TEST_ONLY")
    if only:
        sys.argv += ["-k", only.replace("/", ".")]
    runner = unittest.TextTestRunner(resultclass=Result)
    result = unittest.main("__main__", exit=False, testRunner=runner).result
    if "XML_OUTPUT_FILE" in os.environ:
        report(result, os.environ["XML_OUTPUT_FILE"])
    config = "".join(f"--config={name} " for name, variable in CONFIGS.items() if os.environ.get(variable, "0") != "0")
    for name in sorted({name_of(test) for test, _ in result.failures + result.errors}):
        print(f"repeat: ./bazelw test {config}{os.environ.get('TEST_TARGET', '')} --test_filter={name}")
    return result
