"""The jobs that wait for no other work: finishing what died, queueing what is owed, closing the books, account mail."""

from jobs.runner import job
from webapp.accounts import mails
from webapp.files.uploads import sweep_storage
from webapp.shell import upkeep

sweep = job("sweep")(upkeep.sweep)
sweep_files = job("sweep_files")(sweep_storage)
purge = job("purge")(upkeep.purge)
send_mail = job("mail")(mails.send)
