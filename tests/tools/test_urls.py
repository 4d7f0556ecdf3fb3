"""Where the URLs that are read may come from."""

import pytest

from webapp.tools.urls import is_known


@pytest.mark.cases("url", "said")
def test_addresses_that_somebody_wrote(url, said):
    assert is_known(url, ["nothing", said])


@pytest.mark.cases("url", "said")
def test_addresses_that_were_put_together(url, said):
    assert not is_known(url, [said])
