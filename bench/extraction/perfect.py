"""stub"""


def perfect_answer(case, number, memories, call):
    return []
