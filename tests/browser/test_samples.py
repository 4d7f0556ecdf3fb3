"""Formulas and diagrams as people write them: all are typeset or drawn, under the page's strict policy."""

import re

from playwright.sync_api import expect

from tests.support.attacks import ATTACKS

from .conftest import held, replies, send

LONG = 120_000  # Mermaid draws two dozen diagrams, which takes a processor a while

FORMULAS = r"""a^2+b^2=c^2
\frac{1}{1+\frac{1}{x}}
\sqrt[3]{x^2+1}
\sum_{i=1}^{n} i = \frac{n(n+1)}{2}
\prod_{k=0}^\infty \left(1+q^k\right)
\int_a^b f(x)\,dx
\oint_C \vec F\cdot d\vec r
\iint_D xy\,dA
\lim_{x\to0}\frac{\sin x}{x}=1
\begin{pmatrix}1&2\\3&4\end{pmatrix}
\begin{bmatrix}a\\b\end{bmatrix}
\begin{vmatrix}a&b\\c&d\end{vmatrix}
\begin{cases}x&x\ge0\\-x&x<0\end{cases}
\begin{aligned}a&=b\\&=c\end{aligned}
\binom{n}{k}
\overline{z}+\underline{w}
\overbrace{a+b}^{n}\underbrace{c+d}_{m}
\hat{x}\bar{y}\tilde{z}\dot{a}\ddot{b}\vec{v}
\mathbb{R}\mathcal{L}\mathfrak{g}\mathrm{d}\mathbf{x}\mathsf{s}\mathtt{t}
\alpha\beta\gamma\delta\epsilon\varepsilon\theta\lambda\mu\pi\phi\varphi\omega
\Gamma\Delta\Theta\Lambda\Sigma\Phi\Psi\Omega
\forall x\in A\;\exists y\notin B
A\cup B\cap C\setminus D\subseteq E
p\land q\lor\neg r\implies s\iff t
\therefore\because\nabla\partial\infty\hbar\ell
a\equiv b\pmod n
\left\langle\psi\middle|\phi\right\rangle
\left\lceil x\right\rceil\left\lfloor y\right\rfloor
\|v\|_2=\sqrt{\sum v_i^2}
\text{if } x>0\text{ then}
\operatorname{argmax}_x f(x)
\operatorname*{argmin}_\theta L
\mathop{\mathrm{lim\,sup}}
x\xrightarrow{f}y\xleftarrow[a]{b}z
\cancel{x}+\boxed{y}
\color{red}{x}+\textcolor{blue}{y}
{a\over b}
\dfrac12\tfrac12\cfrac12
\stackrel{!}{=}\overset{a}{b}\underset{c}{d}
\substack{a\\b}
\prime f'(x)f''(x)
\ldots\cdots\vdots\ddots
\angle ABC=90^\circ
\triangle\square\bigstar
\mathbf{A}^{-1}\mathbf{A}^\top
\det(A-\lambda I)=0
e^{i\theta}=\cos\theta+i\sin\theta
\frac{\partial^2u}{\partial t^2}=c^2\nabla^2u
H=-\sum_x p(x)\log p(x)
P(A\mid B)=\frac{P(B\mid A)P(A)}{P(B)}
\mathcal{N}(\mu,\sigma^2)
\hat\beta=(X^\top X)^{-1}X^\top y
\ce{2H2 + O2 -> 2H2O}
\pu{5 kg m-3}
\tag{1} a=b
\large x\small y\tiny z
\phantom{x}y\hphantom{z}
\hspace{1em}x\quad y\qquad z\,w\!v
\begin{array}{c|c}a&b\\\hline c&d\end{array}
\begin{smallmatrix}a&b\\c&d\end{smallmatrix}
\begin{gathered}a\\b\end{gathered}
\newcommand{\ours}{\mathbb{R}}x\in\ours""".splitlines()

DIAGRAMS = [
    "flowchart TD\n  A[Start] --> B{Ok?}\n  B -- yes --> C((End))\n  B -- no --> A",
    "graph LR\n  subgraph one\n  a1-->a2\n  end\n  a2-.->b",
    "sequenceDiagram\n  Alice->>Bob: Hello\n  Bob-->>Alice: Hi <b>there</b>",
    "classDiagram\n  Animal <|-- Duck\n  Animal : +int age",
    "stateDiagram-v2\n  [*] --> Still\n  Still --> [*]",
    "erDiagram\n  CUSTOMER ||--o{ ORDER : places",
    "gantt\n  title A plan\n  dateFormat YYYY-MM-DD\n  section One\n  Task :a1, 2026-01-01, 30d",
    'pie title Pets\n  "Dogs" : 386\n  "Cats" : 85',
    "journey\n  title My day\n  section Go\n    Tea: 5: Me",
    "gitGraph\n  commit\n  branch dev\n  commit",
    "timeline\n  title History\n  2002 : LinkedIn\n  2004 : Facebook",
    "quadrantChart\n  x-axis Low --> High\n  y-axis Low --> High\n  A: [0.3, 0.6]",
    "xychart-beta\n  x-axis [a, b, c]\n  y-axis 0 --> 10\n  bar [3, 6, 9]\n  line [2, 5, 8]",
    "sankey-beta\n\nWages,Rent,3\nWages,Food,2",
    "block-beta\n  columns 2\n  a b c d",
    "requirementDiagram\n  requirement one {\n    id: 1\n    text: It works.\n    risk: high\n  }",
    'C4Context\n  title A system\n  Person(one, "One")\n  System(two, "Two")\n  Rel(one, two, "Uses")',
    "kanban\n  todo[To do]\n    one[First]\n  done[Done]\n    two[Second]",
    'packet-beta\n  0-15: "Source"\n  16-31: "Destination"',
    "radar-beta\n  axis a, b, c\n  curve one{1, 2, 3}",
    'flowchart LR\n  classDef warm fill:#f96\n  a:::warm --> b\n  click a "https://example.org"',
    "sequenceDiagram\n  participant A\n  loop Daily\n    A->>A: Think\n  end\n  Note over A: A note",
    "stateDiagram-v2\n  state Fork <<fork>>\n  [*] --> Fork\n  Fork --> One\n  Fork --> Two",
    "mindmap\n  root((Lisbon))\n    Food\n      Pastel\n    ::icon(fa fa-book)\n    id1[Sights]\n      )Castle(",
    '---\ntitle: T\n---\n%% said\nmindmap\nid["`**Two**\n  lines \\`"]\n  A "b"; & <b>\n  B))C((\n  D\n  {{E}}',
]

LIVELY = (
    "<script>document.title='gone'</script> <hx-partial hx-target='body'>gone</hx-partial> "
    '<div hx-get="/settings" hx-trigger="load" hx-target="body">x</div>'
)

# What of a reply can be read in each frame while it is written, but for code in its frame; formulas that wait count.
WATCH = r"""() => {
  window.read = 0;
  window.raw = [];
  const marks = /\\[a-z([]|\$|`{3}|\[\^|~~|\|\s|:--/i;
  const look = () => {
    const prose = document.querySelector(".message-assistant[data-streaming] .prose");
    if (prose) {
      const blocks = [...prose.querySelectorAll("p, .math, li, td, th, h3")].slice(-6);
      for (const block of blocks) {
        if (block.closest(".code, .katex")) continue;
        let unset = block.innerText;  // without what is set, which may hold a bar of its own
        for (const one of block.querySelectorAll(".katex")) unset = unset.replace(one.innerText, "");
        window.read += unset.includes("it is");
        if (marks.test(unset)) window.raw.push(unset);
      }
    }
    requestAnimationFrame(look);
  };
  look();
}"""


def _pieces(text: str) -> list[str]:
    """A text in pieces as long as a model's tokens."""
    return re.findall(r".{1,5}", text, re.DOTALL)


HERBS = """These are herbs:

| Herb | What it is | Where it grows | When it is picked |
|:--|--:|--|--|
| Basil | it is \\(a^2\\) | in pots | in June |
"""


def _reply() -> str:
    """All samples in one reply, formulas between the diagrams, in a line and set apart by turns."""
    parts = []
    for number, formula in enumerate(FORMULAS):
        is_apart = number % 2 or "\\tag" in formula  # a number belongs to a formula of its own line
        parts.append(f"\\[ {formula} \\]" if is_apart else f"So \\( {formula} \\) it is.")
    for number, diagram in enumerate(DIAGRAMS):
        parts.insert(3 * number, f"```mermaid\n{diagram}\n```")
    parts.insert(0, HERBS)
    return "\n\n".join(parts)


def test_every_formula_is_set_and_every_diagram_drawn_while_they_stream(tab, model):
    page = tab.page
    page.evaluate(WATCH)
    head = _pieces(_reply().partition("Where")[0])
    hold = held(model, after=len(head), reply=_pieces(_reply()), first_delay=0.01, token_delay=0.002)
    send(page, "Show me")
    expect(page.locator("[data-streaming]")).to_contain_text("These are herbs")
    page.wait_for_timeout(300)  # in some frames half the head of a table might be seen
    hold.release()
    expect(replies(page)).to_have_count(1, timeout=LONG)
    expect(page.locator(".math[data-set]")).to_have_count(len(FORMULAS) + 1)
    assert page.locator(".math-unread, .katex-error").all_text_contents() == []
    assert page.locator("span.katex").count() == len(FORMULAS) + 1
    expect(page.locator("img.diagram, .diagram-note")).to_have_count(len(DIAGRAMS), timeout=LONG)
    assert page.locator(".diagram-note").all_text_contents() == []
    assert page.locator("img.diagram").evaluate_all("all => all.every(one => one.naturalWidth > 20)")
    assert page.evaluate("window.read") > 0
    assert page.evaluate("window.raw") == []


def test_no_script_of_a_reply_runs(tab, model, contexts):
    """The attacks as they are, in formulas, in diagrams and in drawings: no dialog, no request elsewhere, no error.
    Nor do a reply's or one's own words become elements that htmx would act on."""
    page = tab.page
    contexts.spoil(page.context)
    alerts: list[str] = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    elsewhere: list[str] = []
    page.on("request", lambda request: elsewhere.append(request.url))
    attacks = [attack for attack in ATTACKS if "\ud83d" not in attack and "\n" not in attack]
    framed = [
        LIVELY,
        *(attack for attack in ATTACKS if "\ud83d" not in attack),
        *(f"\\( {attack} \\)" for attack in attacks),
        *(f"$$\\text{{{attack}}}$$" for attack in attacks),
        *(f"```svg\n<svg viewBox='0 0 9 9'>{attack}</svg>\n```" for attack in attacks[::3]),
        *(f'```mermaid\nflowchart LR\n  a["{attack}"]\n```' for attack in attacks[::5]),
        '```mermaid\nflowchart LR\n  a --> b\n  click a "javascript:alert(1)"\n  click b call alert(1)\n```',
        '```mermaid\n%%{init: {"securityLevel": "loose"}}%%\nflowchart LR\n  a[<img src=x onerror=alert(1)>]\n```',
    ]
    model.script(reply=_pieces("\n\n".join(framed)), first_delay=0.01, token_delay=0.001)
    send(page, f"</article>{LIVELY}")
    expect(replies(page)).to_have_count(1, timeout=LONG)
    expect(page.locator(".message-user .message-text")).to_contain_text("<hx-partial")
    expect(page.locator(".prose :is([hx-get], script, img:not(.diagram))")).to_have_count(0)
    expect(page.locator("#composer")).to_be_visible()
    assert page.title() != "gone"
    diagrams = page.locator(".code:is([data-lang=svg], [data-lang=mermaid])").count()
    assert diagrams > 25
    expect(page.locator("img.diagram, .diagram-note")).to_have_count(diagrams, timeout=LONG)
    for link in page.locator(".prose a").all():
        assert re.match("(https?|mailto):", link.get_attribute("href") or "")
    page.reload()
    expect(page.locator("img.diagram, .diagram-note")).to_have_count(diagrams, timeout=LONG)
    assert alerts == []
    assert [url for url in elsewhere if not url.startswith((tab.server.url, "data:", "blob:"))] == []
