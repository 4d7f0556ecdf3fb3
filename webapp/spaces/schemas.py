"""Requests and responses for spaces, members and documents."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from webapp.accounts.emails import normalise_email
from webapp.http.validation import Changes, Id, Input, Instant, Line, Lines, ListOut, Output, PageQuery, not_blank
from webapp.i18n.marks import say
from webapp.spaces.chunks import PDF, is_picture
from webapp.spaces.personas import PERSONAS
from webapp.spaces.signals import Consequence

MAX_INSTRUCTIONS = 8_000
MAX_DOCUMENT = 1_000_000
"""Characters of one document: about 150,000 words."""
MAX_DOCUMENTS = 500


def _known_persona(value: str | None) -> str | None:
    if value is not None and value not in PERSONAS:
        raise ValueError(say("is not one of %(names)s", names=", ".join(PERSONAS)))
    return value


def _line_ends(value: object) -> object:
    return value.replace("\r\n", "\n").strip() if isinstance(value, str) else value


Email = Annotated[str, Field(max_length=320), AfterValidator(normalise_email)]
Name = Annotated[Line, Field(min_length=1, max_length=200)]
LongText = Annotated[Lines, BeforeValidator(_line_ends)]
PersonaId = Annotated[str | None, AfterValidator(_known_persona)]
Kind = Literal["project", "legacy"]


class SpaceQuery(PageQuery):
    kind: Kind | None = None


class NewSpace(Input):
    kind: Kind
    name: Name = Field(description="Of a legacy: the person who is remembered.")
    description: Annotated[LongText, Field(max_length=4_000)] = ""
    instructions: Annotated[LongText, Field(max_length=MAX_INSTRUCTIONS)] = Field(
        "", description="Put before every reply in the space."
    )
    persona: PersonaId = Field(None, description="Of a legacy: who speaks in it.")


class SpaceChanges(Changes):
    """Only the given fields are changed; the kind of a space never changes."""

    nullable = ("persona",)

    name: Name | None = None
    description: Annotated[LongText, Field(max_length=4_000)] | None = None
    instructions: Annotated[LongText, Field(max_length=MAX_INSTRUCTIONS)] | None = None
    persona: PersonaId = None
    has_portrait: bool = Field(False, description="Tell members in prose what is shared in it, written by a model.")


class SpaceEnd(BaseModel):
    forget: Literal["memories"] | None = Field(None, description="`memories`: forget your own of this space for good.")


class Invitation(Input):
    email: Email


class NewOwner(Input):
    user_id: Id


class NewDocument(Input):
    title: Annotated[Line, Field(min_length=1, max_length=255)]
    content: Annotated[LongText, Field(min_length=1, max_length=MAX_DOCUMENT), AfterValidator(not_blank)] = Field(
        description="Text or Markdown."
    )


class SpaceOut(Output):
    space_id: int
    kind: str
    name: str
    description: str
    instructions: str = Field(description="Empty until you accept the invitation.")
    persona: str | None
    has_portrait: bool
    role: str
    status: str = Field(description="`active`, or `invited` until you accept.")
    member_count: int
    invited_by: str | None = Field(None, description="Who invited you, until you accept.")
    created_at: Instant
    updated_at: Instant


class SpaceList(ListOut):
    spaces: list[SpaceOut]


class MemberOut(Output):
    """`user_id` is null for an invitation: whether its address has an account is not revealed."""

    user_id: int | None
    invitation_id: int | None
    name: str | None
    email: str | None = Field(description="For the owner, and for an invitation.")
    role: str
    status: str
    is_you: bool
    joined_at: Instant | None


class MemberList(BaseModel):
    members: list[MemberOut]
    next_cursor: None = None


class DocumentOut(Output):
    document_id: int
    space_id: int
    title: str
    size: int = Field(description="Characters.")
    pages: int = Field(0, description="0 for a text without pages.")
    file_name: str | None = Field(None, description="Of the original; null where only the text is kept.")
    media_type: str | None = None
    status: str = Field(description="queued, indexing, ready or failed.")
    chunks_total: int
    chunks_done: int
    added_by: str | None
    is_yours: bool = Field(description="Whether you added it, and so can delete it; the owner of the space can, too.")
    created_at: Instant
    updated_at: Instant

    @property
    def is_picture(self) -> bool:
        """Return whether the document is a picture, or pages that are: there is no text in it."""
        return is_picture(self.size, self.pages)

    @property
    def shows_pages(self) -> bool:
        """Return whether a page of it without text can be shown as it looks."""
        return self.media_type == PDF


class DocumentWithText(DocumentOut):
    content: str


class DocumentList(ListOut):
    documents: list[DocumentOut]


class Consequences(BaseModel):
    """The consequences of an action that has not happened."""

    consequences: list[Consequence]


class PersonaOut(Output):
    persona_id: str
    title: str
    description: str


class PersonaList(BaseModel):
    personas: list[PersonaOut]
