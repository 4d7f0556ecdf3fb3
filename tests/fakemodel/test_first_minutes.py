"""What the fake model keeps of what strangers say in their first minutes, by its rules and the engine's."""

import pytest

from fakemodel.tasks import run_task
from fakemodel.tasks.request import TaskRequest
from testkit.memory_extraction import Bench
from webapp.llm.structured import schema_of
from webapp.memories.learning.model_call import SCHEMA_NAME
from webapp.memories.rules.policy import Policy
from webapp.memories.rules.statements import FIELD


def kept(said: str) -> list[str]:
    bench = Bench(policy=Policy(is_trusted=True))
    call, parts = bench.call([said])
    bench.take(call, run_task(TaskRequest(SCHEMA_NAME, schema_of(parts), list(call.messages)))[FIELD])
    return sorted(memory.content for memory in bench.memories if memory.is_current)


@pytest.mark.parametrize(
    ("said", "noted"),
    [
        ("I am vegetarian and allergic to peanuts.", ["Allergic to peanuts", "Is vegetarian"]),
        ("Hi, I'm Sam and I live in Bristol.", ["Lives in Bristol", "Name is Sam"]),
        ("I'm Anna, 34, from Oslo.", ["34 years old", "From Oslo", "Name is Anna"]),
        ("I have two kids, Emma and Noah.", ["Has two kids, Emma and Noah"]),
        (
            "My name is Bob and I keep two donkeys called Fern and Oak.",
            ["Keeps two donkeys called Fern and Oak", "Name is Bob"],
        ),
        ("I keep bees.", ["Keeps bees"]),
        ("We have three goats.", ["Has three goats"]),
        ("I keep my tea in a tin.", []),
        ("I keep a goat cheese in the fridge.", []),
        ("I have two dogs that love the sea.", ["Has two dogs that love the sea"]),
        ("I'm learning Spanish and I play the guitar.", ["Learning Spanish", "Plays the guitar"]),
        ("I'm planning a trip to Japan in April.", ["Planning a trip to Japan in April"]),
        ("I live with my partner Tom in Ghent.", ["Lives with their partner Tom in Ghent"]),
        ("I got married last week.", ["Is married"]),
        ("Please answer briefly.", ["Answer briefly"]),
        ("Remember that my flight is on 3 June.", ["Flight is on 3 June"]),
        ("Ich heiße Lena und wohne in Köln.", ["Heißt Lena", "Wohnt in Köln"]),
        ("Ich bin Vegetarierin und allergisch gegen Nüsse.", ["Allergisch gegen Nüsse", "Ist Vegetarierin"]),
        ("Ich habe zwei Kinder. Bitte antworte kurz.", ["Antworte kurz", "Hat zwei Kinder"]),
        ("Je m'appelle Chloé et j'habite à Nantes.", ["Habite à Nantes", "S’appelle Chloé"]),
        ("Je suis végétarienne et allergique aux arachides.", ["Allergique aux arachides", "Est végétarienne"]),
        ("Me llamo Lucía y vivo en Granada.", ["Se llama Lucía", "Vive en Granada"]),
        ("Soy vegetariana. No me gustan las setas.", ["Es vegetariana", "No le gustan las setas"]),
        ("Chamo-me Inês e moro em Braga.", ["Chama-se Inês", "Mora em Braga"]),
        ("Tenho dois filhos. Não gosto de cogumelos.", ["Não gosta de cogumelos", "Tem dois filhos"]),
        ("I can't sleep because of my knee.", ["Cannot sleep because of their knee"]),
        ("I love my wife and my two dogs.", ["Loves their wife and their two dogs"]),
        ("I love Oslo and my dog's name is Rex.", ["Dog is called Rex", "Loves Oslo"]),
        ("I live in Lisbon with my dog Rex.", ["Dog is called Rex", "Lives in Lisbon"]),
        ("I'm retired and I garden a lot.", ["Gardens a lot", "Is retired"]),
        ("Ich bin Rentnerin.", ["Ist Rentnerin"]),
        ("Je suis retraitée et j'habite à Lyon.", ["Est retraitée", "Habite à Lyon"]),
        ("Estoy jubilada y vivo en Cádiz.", ["Está jubilada", "Vive en Cádiz"]),
        ("Estou aposentado.", ["Está aposentado"]),
        ("我退休了。", ["退休"]),
        ("أنا متقاعدة.", ["متقاعدة"]),
        ("我叫小红，我住在成都。", ["住在成都", "叫小红"]),
        ("我对花生过敏。", ["对花生过敏"]),
        ("اسمي ليلى وأعيش في عمّان.", ["الاسم ليلى", "يعيش في عمّان"]),
        ("لا أحب الفطر.", ["لا يحب الفطر"]),
    ],
)
def test_it_is_noted_in_the_words_of_a_person_in_the_language_it_was_said(said: str, noted: list[str]) -> None:
    assert kept(said) == sorted(noted)


@pytest.mark.parametrize(
    "said",
    [
        "I'm Batman, lol.",
        "When I'm president I'll ban Mondays.",
        "I need help with my taxes.",
        "I have a question about my two cats.",
        "I use this to test you.",
        "Answer in one short sentence: why is the sky blue?",
        "Antworte kurz: was ist 2+2?",
        "Wenn ich in Rom wohne, lerne ich Italienisch.",
        "Je suis perdu dans ce code.",
        "Quiero saber cómo llegar a Roma.",
        "如果我住在巴黎，我喜欢什么？",
    ],
)
def test_what_says_nothing_of_them_is_left_alone(said: str) -> None:
    assert kept(said) == []
