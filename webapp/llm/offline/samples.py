"""Ready-made texts for the demonstration: Markdown, code, a table, and a story long enough to reload halfway."""

import re

MARKDOWN = """Here is a little of everything that is rendered:

## A heading

Text can be **bold**, *italic*, ~~struck through~~ or `code`, and may hold a [link](https://www.openai.com/).

1. First point
2. Second point
   - a detail
   - another one

> A quotation, for good measure.

| Ingredient | Amount |
|:-----------|-------:|
| Flour      |  500 g |
| Water      | 350 ml |
| Salt       |   10 g |

```python
def greet(name: str) -> str:
    return f"Hello, {name}!"
```
"""

CODE = """Here is a small example in Python:

```python
from collections import Counter


def most_common_words(text: str, count: int = 3) -> list[tuple[str, int]]:
    \"\"\"The words used most often, with how often.\"\"\"
    words = (word.strip(".,;:!?").lower() for word in text.split())
    return Counter(word for word in words if word).most_common(count)


print(most_common_words("the cat and the dog and the bird"))
# [('the', 3), ('and', 2), ('cat', 1)]
```

It splits the text into words, drops punctuation and counts. This is a fixed sample: I cannot write new code.
"""

TABLE = """| Planet | Diameter (km) | Moons |
|:-------|--------------:|------:|
| Venus  |        12,104 |     0 |
| Earth  |        12,756 |     1 |
| Mars   |         6,792 |     2 |

The same table is shown for every such request.
"""

LIST = """Three things to try here:

- Tell me something about yourself, then ask about it in a new conversation.
- Ask for a long story and reload the page in the middle of it.
- Stop an answer half-way, then let it be written again.
"""

_CHAPTERS = """\
The lighthouse at the end of the bay had not been lit for forty years when Mara inherited it, together with a
ring of keys, none of which were labelled, and a note that said only: *mind the third step*.

She found the third step on the first evening. It was a hand's breadth lower than the others, and beneath the
loose board lay a logbook wrapped in oilcloth. Every page held a date, a wind, and the name of one ship that
had come home.

The last page was different. It named a ship that had not come home, and below it somebody had written, in a
smaller hand: *keep the lamp ready*. Mara read the line twice, and went up to look at the lamp.

It took the whole of spring. She polished the lens until it threw rainbows on the wall, learnt to splice the
old cable, and was taught by the harbour master, who pretended not to care, how to read the sky over the
headland.

By summer the village had taken to walking out along the causeway in the evenings. They brought bread, gossip,
a chair with three legs, and once a goat, which ate the first chapter of the tide tables and looked pleased
about it.

In September a fog came in that was thicker than anyone remembered. The radio masts were down, the bells
sounded as if wrapped in wool, and somewhere beyond the rocks an engine coughed, stopped, and coughed again.

Mara climbed the stairs, minding the third step, and turned the key that fitted nothing else. The lamp hummed,
flickered, and then laid one long white arm across the water, as calmly as if it had only been resting.

The boat that followed it in was small and blue, with a crew of two and a hold full of apples. They had been
lost since noon. They said that they had steered for a star, and were rather embarrassed to find that it had a
door.

That night Mara opened the logbook and wrote down the date, the wind, and the name of the boat. Then, because
there was space left on the page, she added in a smaller hand: *keep the lamp ready*. And that is where the
story begins.
"""

# Lines are wrapped only for the editor: a paragraph is one line of Markdown.
STORY = "# The lamp at the end of the bay\n\n" + re.sub(r"(?<!\n)\n(?=\S)", " ", _CHAPTERS)

HELP = """An administrator connects a language model under **Administration → Models**: the address of an \
OpenAI-compatible server, a key if it asks for one, then which of its models to offer. They answer from the next \
message on.

Or set these and start again:

- `OPENAI_API_KEY`: your key with OpenAI, or with any compatible provider
- `OPENAI_BASE_URL`: the address of another OpenAI-compatible server, for example a local one

Everything else, including your conversations and memories, stays as it is."""
