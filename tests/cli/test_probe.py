"""What the launcher tells of the model servers on this machine."""

import pytest

from testkit.processes import free_port
from tests.providers.ollama import ollama
from webapp import config
from webapp.cli.launch.probe import LOCAL_SERVERS, describe_servers

pytestmark = pytest.mark.once
HERE = "http://localhost:8000"


def test_it_looks_where_the_product_looks():
    assert LOCAL_SERVERS == config.LOCAL_SERVERS


def test_one_line_names_the_servers_that_answer_and_where_they_are_used():
    nobody = f"http://127.0.0.1:{free_port()}/v1"
    with ollama() as server:
        places = f"Ollama={server.base_url}, LM Studio={nobody}, Odd=http://nowhere, Worse=http://127.0.0.1:99999/v1"
        line = describe_servers({"LOCAL_MODEL_SERVERS": places}, HERE)
    assert line == f"Found on this machine: Ollama. Use it at {HERE}/admin/models/new"
    line = describe_servers({"LOCAL_MODEL_SERVERS": f"Ollama={nobody}"}, HERE)
    assert line == f"No model server answers on this machine. Connect a model at {HERE}/admin/models/new"


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "OPENAI_BASE_URL", "FIND_LOCAL_MODELS"])
def test_nothing_is_told_where_it_is_not_wanted(name):
    assert describe_servers({name: "0", "LOCAL_MODEL_SERVERS": "X=http://127.0.0.1:1/v1"}, HERE) == ""
