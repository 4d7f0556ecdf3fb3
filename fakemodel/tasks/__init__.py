"""Structured tasks by schema name: one module per task, with `NAME` and `run(request) -> dict`, listed in `MODULES`.

To add a task, write the module and list it here; `request` offers the messages in the forms that rules need. What `run`
returns must satisfy the caller's schema. Schemas without a task get a minimal valid instance.
"""

from __future__ import annotations

from typing import Any

from . import conversation_digest, conversation_summary, conversation_title, legacy_facts, memory_operations
from .fallback import minimal_instance
from .request import TaskRequest

MODULES = (conversation_digest, conversation_summary, conversation_title, legacy_facts, memory_operations)
_TASKS = {module.NAME: module.run for module in MODULES}


def run_task(request: TaskRequest) -> Any:
    """The structured answer for `request`."""
    task = _TASKS.get(request.name)
    return task(request) if task else minimal_instance(request.schema)
