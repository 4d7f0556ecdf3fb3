"""`python -m jobs.worker [queue ...]`: an RQ worker with the application loaded once, before it forks a horse a job.

Loading the application in every horse would cost half a second a job; a horse that inherited the worker's database
connections would lose writes silently (webapp/factory.py disposes of them in the child).
"""

from __future__ import annotations

import gc
import sys

from rq import Worker
from rq.serializers import JSONSerializer

# Loaded before the fork. jobs.journeys is not: setting a PDF takes 20 MB of libraries, and is rare.
from jobs import digests, documents, indexing, memories, summaries, titles, upkeep  # noqa: F401
from jobs.runner import worker_app
from webapp.cli.launch.processes import take_forks_along
from webapp.extensions import make_redis
from webapp.jobspecs import Queue, rq_queue
from webapp.llm.sdk import warm_up


def main(names: list[str]) -> None:
    """Work off the named queues, all of them by default, most urgent first, until told to stop."""
    take_forks_along()
    app = worker_app()
    settings = app.extensions["settings"]
    with app.app_context():
        connection = make_redis(settings.redis_url, tailing=True)
        queues = [rq_queue(connection, Queue(name)) for name in names or [queue.value for queue in Queue]]
        # A short life sign, and monitoring as often: a worker that was killed is noticed within the minute.
        worker = Worker(
            queues,
            connection=connection,
            serializer=JSONSerializer,
            worker_ttl=30,
            maintenance_interval=15,
            job_monitoring_interval=5,
        )
        warm_up()  # in the parent, once: every horse would pay half a second for it
        gc.collect()
        gc.freeze()
        worker.work(logging_level="WARNING")  # retries that wait are queued by jobs.schedule


if __name__ == "__main__":
    main(sys.argv[1:])
