"""The commands: an account out of one file and into another, and what is refused in words."""

import zipfile

from testkit.exports import chatgpt_conversation, pack
from tests.transfer.test_restore import contents, export_account, furnish
from webapp.db.base import db
from webapp.transfer.models import Import


def test_an_account_goes_out_and_comes_in(app, make_user, tmp_path):
    person, other = make_user(), make_user()
    with app.app_context():
        furnish(person.user_id, [["One", "Two"]], ["Tea"])
    run, path = app.test_cli_runner(), tmp_path / "me.zip"
    done = run.invoke(args=["transfer", "export", "--email", person.email, str(path)])
    assert done.exit_code == 0 and zipfile.is_zipfile(path) and path.stat().st_mode & 0o77 == 0, done.output
    done = run.invoke(args=["transfer", "import", "--email", other.email, str(path)])
    assert done.exit_code == 0 and "1 conversations" in done.output and "1 spaces" in done.output, done.output
    with app.app_context():
        assert contents(export_account(other.user_id)) == contents(path.read_bytes())
    again = run.invoke(args=["transfer", "import", "--email", other.email, "--restore", str(path)])
    assert again.exit_code == 1 and "only into an empty account" in again.output


def test_another_programs_export_and_what_learning_would_take(app, user, tmp_path):
    path = tmp_path / "chatgpt.zip"
    path.write_bytes(pack({"conversations.json": [chatgpt_conversation(1), chatgpt_conversation(2)]}))
    run = app.test_cli_runner()
    done = run.invoke(args=["transfer", "import", "--email", user.email, str(path)])
    assert done.exit_code == 0 and "2 conversations imported" in done.output, done.output
    with app.app_context():
        number = db.session.query(Import).one().import_id
    done = run.invoke(args=["transfer", "estimate", "--email", user.email, str(number)])
    assert done.output.startswith("2\t2\t"), done.output


def test_what_cannot_be_done_is_said(app, user, tmp_path):
    path = tmp_path / "x.json"
    path.write_text("nonsense")
    run = app.test_cli_runner()
    for args in (
        ["transfer", "import", "--email", user.email, str(path)],
        ["transfer", "import", "--email", "nobody@example.org", str(path)],
        ["transfer", "export", "--email", "nobody@example.org", str(tmp_path / "y.zip")],
        ["transfer", "export", "--email", user.email, str(path)],
        ["transfer", "export", "--email", user.email, "--format", "pdf", str(tmp_path / "y.zip")],
        ["transfer", "estimate", "--email", user.email, "999999999"],
    ):
        done = run.invoke(args=args)
        assert done.exit_code == 1 and done.output.startswith("Error: "), (args, done.output)
