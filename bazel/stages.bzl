"""The builds that can be linked: one stage, all stages, or the production variants with selection by shape."""

load("@sgemm_stages//:stages.bzl", "STAGES")

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
