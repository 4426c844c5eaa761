"""The tiers of the tests: quick, and full with --config=full."""

# The environment of a test that runs more cases in the full tier. A test without it is the same in both tiers, and Bazel keeps
# its result.
TIER_ENV = select({
    "//bazel:full_tier": {"SGEMM_TEST_FULL": "1"},
    "//conditions:default": {},
})
