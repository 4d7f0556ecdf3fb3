"""The jobs that wait for no other work: finishing what died, queueing what is owed, closing the books, account mail."""

from jobs.runner import job
from webapp.accounts import mails
from webapp.files.uploads import sweep_storage
from webapp.shell import upkeep
from webapp.transfer import storage

sweep = job("sweep")(upkeep.sweep)
purge = job("purge")(upkeep.purge)
send_mail = job("mail")(mails.send)


@job("sweep_files")
def sweep_files() -> int:
    """Delete the bytes that no row names."""
    return storage.sweep() + sweep_storage()
