"""A4 pages with a footer, paragraphs and quotations, for PDFs of people's own words; no database, no web."""

import unicodedata
from dataclasses import dataclass

from fpdf import FPDF
from fpdf.enums import Align, MethodReturnValue, WrapMode, XPos, YPos

INK, MUTED, LINE, OCHRE = (31, 28, 24), (106, 98, 88), (207, 197, 181), (143, 90, 15)
MARGIN, INDENT = 24, 5
UNBROKEN_HEIGHT = 70
"""Millimetres up to which a quotation is kept on one page."""


@dataclass(frozen=True, slots=True)
class Style:
    """The look of a paragraph: its font, size in points, height of a line in millimetres, colour, and emphasis."""

    font: str
    size: float
    height: float
    colour: tuple[int, int, int] = INK
    emphasis: str = ""


TITLE = Style("serif", 20, 9)
SECTION = Style("serif", 14.5, 7)
BODY = Style("sans", 11, 5.8)
NOTE = Style("sans", 8.5, 4.6, MUTED)
_KIND = Style("sans", 9, 5, OCHRE, "B")
_HEADING = Style("serif", 24, 10.5)
_QUOTE = Style("serif", 10.5, 5.6, emphasis="I")


class Pages(FPDF):
    """A4 pages whose footer has a line of text and the page number; from right to left if the language is."""

    def __init__(self, title: str, foot: str, *, tag: str, is_rtl: bool):
        super().__init__(format="A4")
        self.foot, self.is_rtl = foot, is_rtl
        self.start, self.end = (Align.R, Align.L) if is_rtl else (Align.L, Align.R)
        self.set_margins(MARGIN, MARGIN, MARGIN)
        self.set_auto_page_break(True, margin=MARGIN + 4)
        self.set_title(title)
        self.set_creator("Commonplace")
        self.set_lang(tag)
        self.alias_nb_pages("{pages}")

    def footer(self) -> None:
        """Write the footer of a page."""
        self.set_y(-16)
        self.use(NOTE)
        width = self.epw - 22
        self.set_x(self.left_edge(0, width))
        self.cell(width, 5, self._fit(self.foot, width), align=self.start)
        self.set_x(self.left_edge(width, 22))
        self.cell(22, 5, f"{self.page_no()} / {{pages}}", align=self.end)

    def left_edge(self, indent: float, width: float) -> float:
        """Return the left edge, in millimetres, of a box of this width, indented from the side where lines start."""
        return self.l_margin + (self.epw - indent - width if self.is_rtl else indent)

    def use(self, style: Style) -> None:
        """Write in this style from here on."""
        self.set_font(style.font, style.emphasis, style.size)
        self.set_text_color(*style.colour)

    def text_block(
        self,
        text: str,
        style: Style,
        *,
        indent: float = 0,
        width: float | None = None,
        align: Align | None = None,
        wrap: WrapMode = WrapMode.WORD,
    ) -> None:
        """Write a paragraph, from where lines start or from an indent."""
        self.use(style)
        width = width or self.epw - indent
        self.set_x(self.left_edge(indent, width))
        self.multi_cell(
            width, style.height, text, align=align or self.start, wrapmode=wrap, new_x=XPos.LMARGIN, new_y=YPos.NEXT
        )

    def heading(self, label: str, title: str) -> None:
        """Write what kind of document this is, and below it its title."""
        self.text_block(label, _KIND)
        self.ln(1)
        self.text_block(title, _HEADING)

    def own_block(self, text: str, style: Style) -> None:
        """Write a paragraph in its own direction, whatever the page's, with lines that end as its script ends them."""
        self.text_block(text, style, align=Align.R if is_rtl_text(text) else Align.L, wrap=_wrap(text))

    def height_of(self, text: str, style: Style, width: float) -> float:
        """Return the height of a text in a style, in millimetres."""
        self.use(style)
        lines_height = self.multi_cell(width, style.height, text, dry_run=True, output=MethodReturnValue.HEIGHT)
        assert isinstance(lines_height, float | int)
        return float(lines_height)

    def ensure_room(self, height: float) -> None:
        """Start a new page unless this many millimetres are left: a heading must not end a page."""
        if self.will_page_break(height):
            self.add_page()

    def quotation(self, text: str, source: str, *, indent: float = INDENT) -> None:
        """Write what somebody said between quotation marks, and below it whose words they are, beside a line."""
        quoted = f"“{text}”"
        self.ensure_room(min(self.height_of(quoted, _QUOTE, self.epw - indent - 2) + 8, UNBROKEN_HEIGHT))
        top, first = self.get_y(), self.page_no()
        self.text_block(quoted, _QUOTE, indent=indent + 2)
        self.text_block(source, NOTE, indent=indent + 2)
        self._mark(first, top, self.left_edge(indent, 0))
        self.ln(2)

    def _mark(self, first: int, top: float, left: float) -> None:
        """Draw the line beside a quotation, on every page that it covers."""
        last, end = self.page_no(), self.get_y()
        self.set_draw_color(*OCHRE)
        self.set_line_width(0.6)
        for number in range(first, last + 1):
            self.page = number
            begin = top if number == first else self.t_margin
            until = end if number == last else self.page_break_trigger
            self.line(left, begin + 0.6, left, until - 0.6)
        self.page = last

    def _fit(self, text: str, width: float) -> str:
        while len(text) > 1 and self.get_string_width(text) > width - 2:
            text = text.removesuffix("…")[:-1] + "…"
        return text


def is_rtl_text(text: str) -> bool:
    """Return whether a text begins in a script that is written from right to left."""
    directions = (unicodedata.bidirectional(char) for char in text)
    return next((name for name in directions if name in ("L", "R", "AL")), "L") != "L"


def _wrap(text: str) -> WrapMode:
    """Chinese and Japanese have no spaces to end a line at: it may end after any character."""
    letters = [char for char in text if char.isalpha()]
    wide = sum(unicodedata.east_asian_width(char) == "W" for char in letters)
    return WrapMode.CHAR if 2 * wide > len(letters) else WrapMode.WORD
