"""The public names. A change of this list is a change of the interface."""

import atlaskit as ak

NAMES = """
    ASR VLM AddToScratchpad Atlas AtlasError Backtrack Budget Cache Claim Dialect Embedder Expand
    Finished Investigate MarkPromising Oracle Prices Question Result Search Trace Zoom ask baselines
    benchmarks cache diagnosis evaluate metrics movie open_video plots replay scaling scouts serve
    statistics strategies transcribe view walk widgets
"""


def test_the_public_names_are_there_and_documented() -> None:
    assert ak.__all__ == NAMES.split()
    assert [name for name in ak.__all__ if not (getattr(ak, name).__doc__ or "").strip()] == []
