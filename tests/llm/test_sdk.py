"""The SDK is loaded where it is needed, and with what is needed of it."""

import subprocess
import sys

from testkit.processes import ROOT


def test_it_is_loaded_when_asked_for_and_a_worker_has_what_streams_too() -> None:
    """A scheduled turn streams from its model as any other does."""
    code = (
        "import sys; from webapp.llm.sdk import warm_up; before = 'openai' in sys.modules; warm_up(jobs=True); "
        "print(before, 'openai' in sys.modules, 'aiohttp.client' in sys.modules)"
    )
    child = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert child.stdout.split() == ["False", "True", "True"], child.stderr
