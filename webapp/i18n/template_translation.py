"""Translation at the time a template is compiled: a page's texts become constants of the templates of a language.

Literal texts of `_`, `ngettext` and `{% trans %}` are replaced, split at their placeholders.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from jinja2 import nodes
from jinja2.ext import InternationalizationExtension
from jinja2.visitor import NodeTransformer

_PLACE = re.compile(r"%(?:\((\w+)\)s|(%))")
_MARKUP = frozenset("<>&")
SINGLE, PLURAL = frozenset({"_", "gettext"}), "ngettext"


class Translations(InternationalizationExtension):
    """Jinja's `{% trans %}` as a plain call of `gettext` or `ngettext`: folding does the rest."""

    tags = {"trans"}

    def _make_node(
        self,
        singular: str,
        plural: str | None,
        _context: str | None,
        variables: dict[str, nodes.Expr],
        plural_expr: nodes.Expr | None,
        _referenced: bool,
        _num: bool,
    ) -> nodes.Output:
        texts: list[nodes.Expr] = [nodes.Const(singular)]
        if plural_expr is not None:
            texts += [nodes.Const(plural), plural_expr]
        words = [nodes.Keyword(name, value) for name, value in variables.items()]
        name = nodes.Name("gettext" if plural_expr is None else PLURAL, "load")
        return nodes.Output([nodes.Call(name, texts, words, None, None)])


class Folder(NodeTransformer):
    """Replaces calls for translations by one language's texts; `environment.plural` chooses when rendered."""

    def __init__(
        self,
        environment: Any,
        gettext: Callable[[str], str],
        forms: Callable[[str, str], list[str]],
    ) -> None:
        self.environment = environment
        self.gettext = gettext
        self.forms = forms

    def visit_Output(self, node: nodes.Output) -> nodes.Node | list[nodes.Node]:
        """Make texts that are output directly a literal part of the page."""
        outputs: list[nodes.Node] = []
        parts: list[nodes.Expr] = []
        for child in node.nodes:
            if isinstance(child, nodes.Call) and (forms := self._texts(child)):
                values = self._values(child)
                if len(forms) == 1:
                    parts += self._pieces(forms[0], values, node.lineno)
                    continue
                if parts:
                    outputs.append(self._new(nodes.Output, node.lineno, parts))
                    parts = []
                bodies: list[list[nodes.Node]] = [
                    [self._new(nodes.Output, node.lineno, self._pieces(text, values, node.lineno))] for text in forms
                ]
                tests = [self._is(child.args[2], index, len(forms)) for index in range(len(forms) - 1)]
                others = [
                    self._new(nodes.If, node.lineno, test, body, [], [])
                    for test, body in zip(tests[1:], bodies[1:-1], strict=True)
                ]
                outputs.append(self._new(nodes.If, node.lineno, tests[0], bodies[0], others, bodies[-1]))
            else:
                parts.append(self.visit(child))
        if not outputs:
            node.nodes = parts
            return node
        if parts:
            outputs.append(self._new(nodes.Output, node.lineno, parts))
        return outputs

    def visit_Call(self, node: nodes.Call) -> nodes.Node:
        """Return texts within expressions become constants, marked safe only if the source has markup in it."""
        forms = self._texts(node)
        if not forms:
            return self.generic_visit(node)
        values = self._values(node)
        is_markup = any(_MARKUP & set(text) for text in self._sources(node))
        expressions = [self._join_nodes(text, values, node.lineno, is_markup) for text in forms]
        expression = expressions[-1]
        for index in range(len(expressions) - 2, -1, -1):
            test = self._is(node.args[2], index, len(forms))
            expression = self._new(nodes.CondExpr, node.lineno, test, expressions[index], expression)
        return expression

    def _texts(self, node: nodes.Call) -> list[str]:
        """Return the translations a call asks for, by plural form; empty for any other call."""
        name = node.node.name if isinstance(node.node, nodes.Name) else ""
        texts = self._sources(node)
        if name in SINGLE and len(node.args) == len(texts) == 1:
            return [self.gettext(texts[0])]
        if name == PLURAL and len(node.args) == 3 and len(texts) == 2:
            return self.forms(*texts)
        return []

    @staticmethod
    def _sources(node: nodes.Call) -> list[str]:
        return [each.value for each in node.args[:2] if isinstance(each, nodes.Const) and isinstance(each.value, str)]

    def _values(self, node: nodes.Call) -> dict[str, nodes.Expr]:
        values: dict[str, nodes.Expr] = {keyword.key: self.visit(keyword.value) for keyword in node.kwargs}
        if len(node.args) == 3:
            values.setdefault("num", self.visit(node.args[2]))
        return values

    def _is(self, count: nodes.Expr, form: int, among: int) -> nodes.Expr:
        """Return an expression: whether a number takes that plural form."""
        lineno = count.lineno
        plural_form: nodes.Expr = count
        number = 1
        if among != 2 or self.environment.language != "en":
            plural = self._new(nodes.EnvironmentAttribute, lineno, "plural")
            plural_form, number = self._new(nodes.Call, lineno, plural, [count], [], None, None), form
        operand = self._new(nodes.Operand, lineno, "eq", self._new(nodes.Const, lineno, number))
        comparison: nodes.Expr = self._new(nodes.Compare, lineno, plural_form, [operand])
        return comparison

    def _pieces(self, text: str, values: dict[str, nodes.Expr], lineno: int) -> list[nodes.Expr]:
        return [
            self._new(nodes.TemplateData, lineno, piece) if name is None else values[name]
            for piece, name in split_placeholders(text)
        ]

    def _join_nodes(self, text: str, values: dict[str, nodes.Expr], lineno: int, is_markup: bool) -> nodes.Expr:
        parts: list[nodes.Expr] = []
        for piece, name in split_placeholders(text):
            part = self._new(nodes.Const, lineno, piece) if name is None else values[name]
            parts.append(self._new(nodes.MarkSafe, lineno, part) if name is None and is_markup else part)
        expression: nodes.Expr = parts[0] if len(parts) == 1 else self._new(nodes.Concat, lineno, parts)
        return expression

    def _new(self, kind: Callable[..., Any], lineno: int, *fields: Any) -> Any:
        return kind(*fields, lineno=lineno, environment=self.environment)


def split_placeholders(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the pieces of a text with placeholders: (words, None), or ("", name of the placeholder). `%%` is one %."""
    index, words, is_empty = 0, "", True
    for match in _PLACE.finditer(text):
        words += text[index : match.start()] + (match[2] or "")
        index = match.end()
        if match[1]:
            if words:
                yield words, None
            yield "", match[1]
            words, is_empty = "", False
    if words + text[index:] or is_empty:
        yield words + text[index:], None


def join_outputs(body: list[nodes.Node]) -> list[nodes.Node]:
    """Merge neighbouring outputs, as in a template without anything to translate."""
    outputs: list[nodes.Node] = []
    for node in body:
        if isinstance(node, nodes.Output) and outputs and isinstance(outputs[-1], nodes.Output):
            outputs[-1].nodes = [*outputs[-1].nodes, *node.nodes]
        else:
            outputs.append(node)
    return outputs


def fold(tree: nodes.Template, environment: Any, gettext: Any, forms: Any) -> nodes.Template:
    """Return the template in one language."""
    template: nodes.Template = Folder(environment, gettext, forms).visit(tree)
    for node in [template, *template.find_all(nodes.Node)]:
        for name, value in list(node.iter_fields()):
            if isinstance(value, list) and any(isinstance(each, nodes.Output) for each in value):
                setattr(node, name, join_outputs(value))
    return template
