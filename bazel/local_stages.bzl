"""The names of the stages as a repository, read from the tables of sgemm/variants.h, so that the build needs no second list."""

def _rows(text, table):
    """A list of columns for each row X(...) of a table."""
    rows = []
    for line in text.partition("#define {}(X)".format(table))[2].split("\n")[1:]:
        row = line.strip()
        if row.startswith("X("):
            rows.append([column.strip() for column in row[2:].split(",")])
        if not row.endswith("\\"):
            break
    if not rows:
        fail("sgemm/variants.h: {} has no rows".format(table))
    return rows

def _all(values, of):
    return not [value for value in values if value not in of]

# The column `prod` of SGEMM_VARIANTS.
_PRODUCTION = 12

def _local_stages_impl(rctx):
    header = rctx.read(rctx.attr.header)
    stages = [row[0] for row in _rows(header, "SGEMM_STAGES")]
    production = {stage: [] for stage in stages}
    for row in _rows(header, "SGEMM_VARIANTS"):
        if row[0] not in production or row[_PRODUCTION] not in ["0", "1", "75", "89"]:
            fail("sgemm/variants.h: a row of no stage, or whose column prod is not 0, 1, 75 or 89: X({}".format(", ".join(row)))
        production[row[0]].append(row[_PRODUCTION])
    rctx.file("BUILD")
    rctx.file("stages.bzl", "\n".join([
        '"""Written by local_stages of //bazel:local_stages.bzl."""',
        "STAGES = {}".format(stages),
        "# Stages of which the production build has all variants, and stages of which it has some.",
        "PRODUCTION_ALL = {}".format([stage for stage in stages if _all(production[stage], ["1"])]),
        "PRODUCTION_SOME = {}".format([
            stage
            for stage in stages
            if not _all(production[stage], ["1"]) and not _all(production[stage], ["0"])
        ]),
        "",
    ]))

# The label is a dependency, so Bazel reads the header again after a change.
local_stages = repository_rule(
    implementation = _local_stages_impl,
    attrs = {"header": attr.label(
        allow_single_file = True,
        default = "//:sgemm/variants.h",
    )},
    local = True,
)
