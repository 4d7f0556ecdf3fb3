"""Where the URLs that are read may come from."""

import json
from pathlib import Path

import pytest

from webapp.tools.urls import is_known

CASES = json.loads(Path(__file__).with_name("urls.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("url", "said"), CASES["addresses_that_somebody_wrote"])
def test_addresses_that_somebody_wrote(url, said):
    assert is_known(url, ["nothing", said])


@pytest.mark.parametrize(("url", "said"), CASES["addresses_that_were_put_together"])
def test_addresses_that_were_put_together(url, said):
    assert not is_known(url, [said])
