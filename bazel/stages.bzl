"""The stages, in reading order: the one list that the build knows."""

STAGES = [
    "naive",
    "coalesced",
    "tiled",
    "tile1d",
    "tile2d",
    "vectorized",
    "warptiled",
    "doublebuffered",
    "async",
    "splitk",
    "gemv",
    "tma",
]

# Every implementation that can be linked: one stage alone, all of them, or the production rows and selection by shape.
BUILDS = ["production", "all"] + STAGES

def stage_defines(build):
    return [] if build == "production" else ["SGEMM_STAGE=" + build]

def _stage_flag_impl(ctx):
    if ctx.build_setting_value not in BUILDS:
        fail("--stage={}: no such stage; there are {}".format(ctx.build_setting_value, ", ".join(BUILDS)))

stage_flag = rule(
    implementation = _stage_flag_impl,
    build_setting = config.string(flag = True),
)
