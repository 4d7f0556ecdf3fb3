"""The fake model's summary: the user's own sentences, nothing invented."""

from fakemodel.tasks import conversation_summary
from fakemodel.tasks.request import TaskRequest
from webapp.legacies.extraction_prompt import fact_task


def asked(*turns: tuple[str, str]) -> TaskRequest:
    text = "\n".join(
        f'<message n="{n}" role="{role}" date="2026-03-01">{said}</message>' for n, (role, said) in enumerate(turns, 1)
    )
    return TaskRequest("conversation_summary", {}, [{"role": "user", "content": text}])


def test_it_keeps_what_the_user_said_of_themselves_and_no_small_talk():
    summary = conversation_summary.run(
        asked(
            ("user", "Hello!"),
            ("assistant", "Hi, I am a model."),
            ("user", "My boat is called Ida. She is 12 m long."),
        )
    )["summary"]
    assert summary == "The user said: My boat is called Ida. She is 12 m long."


def test_it_is_short_and_drops_questions_first():
    turns = [("user", f"I own house number {n} in the long street of the town by the sea.") for n in range(60)]
    summary = conversation_summary.summary_of([("user", "What is a house?"), *turns])
    assert len(summary) <= conversation_summary.MAX_CHARS + 20
    assert len(summary) < sum(len(text) for _, text in turns) / 2
    assert "What is a house" not in summary and "house number 0" in summary


def test_a_summary_of_summaries_has_something_of_each():
    told = "I painted boat {n}0, a long one, with the help of friends. It took hours and hours in the yard by the sea."
    turns = [("user", f"(23 November 2026) The user said: {told.format(n=n)} I was tired of {n}.") for n in range(13)]
    summary = conversation_summary.summary_of(turns)
    assert all(f"boat {n}0," in summary for n in range(13))
    assert summary.count("The user said") == 1 and len(summary) <= conversation_summary.MAX_CHARS + 20


def test_without_statements_it_says_so_and_in_a_space_it_names_no_facts():
    request = asked(("user", "Thanks!"), ("assistant", "Welcome"))
    schema = {"type": "object", "properties": {"summary": {"type": "string"}, "facts": {"type": "array"}}}
    answer = conversation_summary.run(TaskRequest(request.name, schema, request.messages))
    assert answer == {"summary": "2 messages.", "facts": []}


def test_in_a_legacy_it_tells_what_the_user_said_of_the_person():
    schema = {"type": "object", "properties": {"summary": {"type": "string"}, "facts": {"type": "array"}}}
    request = asked(
        ("user", "Rosa was born in Porto in 1921. She taught at the village school for 40 years."),
        ("assistant", "Rosa loved the sea."),
        ("user", "Her roses won every prize. I live in Oslo. Did Rosa like tea?"),
    )
    system = {"role": "system", "content": fact_task("Rosa Almeida")}
    answer = conversation_summary.run(TaskRequest(request.name, schema, [system, *request.messages]))
    facts = [(fact["category"], fact["content"], fact["message"]) for fact in answer["facts"]]
    assert facts == [
        ("milestone", "Rosa was born in Porto in 1921.", 1),
        ("occupation", "Rosa Almeida taught at the village school for 40 years.", 1),
        ("habit", "Rosa Almeida's roses won every prize.", 3),
    ]
    assert all(fact["quote"] in request.texts("user")[0] for fact in answer["facts"])
