"""Formulas and diagrams as people write them: all are typeset or drawn, under the page's strict policy."""

from __future__ import annotations

from playwright.sync_api import expect

from .conftest import replies, send

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
\ce{x}
\tag{1} a=b
\large x\small y\tiny z
\phantom{x}y\hphantom{z}
\hspace{1em}x\quad y\qquad z\,w\!v
\begin{array}{c|c}a&b\\\hline c&d\end{array}
\begin{smallmatrix}a&b\\c&d\end{smallmatrix}
\begin{gathered}a\\b\end{gathered}
\newcommand{\ours}{\mathbb{R}}x\in\ours""".splitlines()
UNREAD = {r"\ce{x}"}  # chemistry asks for an extension that is not loaded; it is shown as it was written

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
]


def test_sixty_formulas_are_set(tab, model):
    page = tab.page
    model.script(reply="\n\n".join(f"\\[ {formula} \\]" for formula in FORMULAS))
    send(page, "Show me")
    expect(replies(page)).to_have_count(1, timeout=30_000)
    expect(page.locator(".math[data-set]")).to_have_count(len(FORMULAS))
    assert {text.strip() for text in page.locator(".math-unread").all_text_contents()} == UNREAD
    assert page.locator(".katex").count() == len(FORMULAS) - len(UNREAD)


def test_a_dozen_kinds_of_diagrams_are_drawn(tab, model):
    page = tab.page
    model.script(reply="\n\n".join(f"```mermaid\n{text}\n```" for text in DIAGRAMS))
    send(page, "Show me")
    expect(page.locator(".code[data-diagram]")).to_have_count(len(DIAGRAMS), timeout=30_000)
    expect(page.locator("img.diagram, .diagram-note")).to_have_count(len(DIAGRAMS), timeout=60_000)
    assert page.locator(".diagram-note").all_text_contents() == []
    assert page.locator("img.diagram").evaluate_all("all => all.every(one => one.naturalWidth > 20)")
