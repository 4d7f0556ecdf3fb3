"""The SDK is loaded where it is needed, and with what is needed of it."""

from __future__ import annotations

import subprocess
import sys

from testkit.processes import ROOT


def test_a_process_that_never_streams_is_spared_the_client_of_streams() -> None:
    code = (
        "import sys; from webapp.llm.sdk import warm_up; before = 'openai' in sys.modules; warm_up(streams=False); "
        "print(before, 'openai' in sys.modules, 'aiohttp.client' in sys.modules)"
    )
    child = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert child.stdout.split() == ["False", "True", "False"], child.stderr
