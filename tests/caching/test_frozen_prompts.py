"""Requests of the methods that must not change: caches and recordings of replies need them.

A request's key hashes its messages, the keys of its images, and the schema of its answer. The calls
of Video-RLM and of the plain baselines are held by `test_frozen_keys`.
"""

from __future__ import annotations

from typing import Any

from support.method_calls import method_calls

from atlaskit.agents import prompts
from atlaskit.caching.cache import Cache
from atlaskit.methods import prompts as method_prompts
from atlaskit.models.cached import reply_key

ELSEWHERE = {"CaptionCall", "FramesCall", "TextCall"} | {
    f"{step}Call" for step in ("Decision", "Glance", "Probe", "Review", "Step", "Task")
}
"""The calls that `test_frozen_keys` holds."""
KEYS = {
    "ClipCall": "e4990062c7f461ea0e34abdde102ad90f36a3c1f5731e009e6d11eba05ec25dd",
    "ClipCall, silent": "e04a4a40388d1663191c0e77139d8cb2e1e81ad5f8a21a830e9cf9daa1108574",
    "EvidenceCall": "3d42a012d18ce0a347510ce8c94a8e47852f5f4938bd833ba893eec3a73bdcfc",
    "EvidenceCall, when, nothing found": "3c91cff3c00fd807a5dd1f445d50f8fa01a03a841a6dc134712dfd9baf45f516",
    "StillCall": "e25213e882ae601a67fd90e9b3a8063820bbfa15df81fb4e49b95c164e7ae2fd",
    "StillCall, silent": "cda3c0575d021a2108c6910f96ef3c30faa84955c21f3956bb73e87efd9e5d4c",
    "QueriesCall": "9ebffaacef72977cffaa0b13eb60e219d8db52815af3526e4bc5dc0b386ec14c",
    "ContinuesCall": "6c7214e0b7e8c3cc03c9c4da4ea54375267ef1d52c2993ad8249ae119cbeb8a9",
    "SceneCall": "f7021e887e6df1b15f50656d40a200522f2dbe7b0613136f03b1b7fa77482b74",
    "CharactersCall": "1a382784643e0cf99b07a32769dffbcec05cd674b1b6e317728f5dcd45fec467",
    "MapCall": "476c56a5cde82a76d8aec32516268b7a3a9915dadf525655664525cbd72619b4",
    "ReduceCall": "abfa5cc6edc9c748e22aa891d06162e3a7d07cc076db319cae1b886a6f9b6cb5",
    "GoalCall": "819a0559c67358d957436916b162eca9fe5620b2498a9fe46d098a30734d79e7",
    "SceneLookCall": "36307846982977e38d3860bbe7753fd5a3424cedb70d38a77154af2122c4b786",
    "OverviewCall": "aac72b0b13c4bafaa147919074887b8b0c748023b94d83d38567f6687c7ca46b",
    "BrowseCall": "af792fdc23b11986c612cbda632cadcecdcace0e47eb933d2c17687dc8211a15",
    "BrowseCall, empty": "fbb965412831d6b7022199eb7a6aa40743ffd5ec57f77a78b070aad7bc0d2fc6",
    "InspectCall, found": "370f10e369e687eff147f351fa9660cfceba3ecefcb9d89d84b1120581c9fe70",
    "InspectCall, confidence": "356c199d57510eaa624a087d0f98aa15d85abb8c4c010e0ec00f2608415dd1c0",
    "SnapshotCall": "2b2448b962524c0b270197d9191eb18a9035c01c53f9e99d66d9522df7cec296",
    "RelevanceCall": "bc96d7d9344b051216bbd033dbaf5cf1747ff9a407d23d85d83adc3112a80937",
    "JudgeCall": "4f68298ffca6ac96bb197d6f57759c5bf63517afb004154a5398d7c86a79b966",
    "PickCall": "dc2ceda7a213d72ef3ab158ae48e84fa047ced20556a4edb421e5e7280d64bd9",
    "SummaryCall": "b2255df565529289000ebe6672a69166c035d473d18a7c5b75cfd28d117defd2",
    "FactsCall": "4fa47f469df4bcd7f6a8b00ab61f500bad2357cd7228f2a04eaac99aaadacf76",
    "ConsolidateCall": "662bd25480084ba77e47941b85cf429466696f560f708464461d0c84ad37221c",
    "ControllerCall, dvd": "5149cb40afed9c61fe6e036412cf160abff2ccb6014c88ab11e0871c69f17aa8",
    "ControllerCall, dvd, later": "f7f9125c24df7751bfd80a11269743e19f6e7546e8994c1f4c21d7cfb73177e1",
    "ControllerCall, videoarm": "74cecbffb8f6bc29d4c95a029b88cd89e708fd3810972bab7b63c655704f49e1",
    "ControllerCall, videoarm, later": "eda5e0a24c049d4622465d827f2e0690df6ae1ca022747f53e0b1b61a5a54221",
    "ControllerCall, worldmm": "8533f23e5c14ef1bebb39aa7f90c07016beea0157f2a3150e398888054303033",
    "ControllerCall, worldmm, later": "fce7465d9deea84a61b83caa5c736551db5490971358ba0e2c1aa3ca61d3abcc",
}
"""The key of each request, written down when its prompt came."""


class Anyone:
    """A model with a name, which is part of a key."""

    name, parameters = "anyone", dict[str, Any]()


def test_requests_are_those_of_earlier_versions(cache: Cache) -> None:
    found = {name: reply_key(Anyone(), call.request()).rpartition(":")[2] for name, call in method_calls(cache)}  # type: ignore[arg-type]
    assert found == KEYS


def test_every_call_is_held_here_or_there(cache: Cache) -> None:
    held = {type(call).__name__ for _, call in method_calls(cache)}
    assert held | ELSEWHERE == {name for name in (*prompts.__all__, *method_prompts.__all__) if name.endswith("Call")}
