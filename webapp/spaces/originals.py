"""The files that documents of a space were read from; their bytes are in the file storage."""

from dataclasses import asdict, dataclass

from sqlalchemy import select

from webapp.db.base import db
from webapp.errors import NotFound
from webapp.spaces.models import SpaceDocument
from webapp.spaces.service import require_member


@dataclass(frozen=True, slots=True)
class Original:
    """A stored file: the digest of its content, its kind and its name; all None for a text without a file."""

    digest: str | None = None
    media_type: str | None = None
    file_name: str | None = None

    @property
    def columns(self) -> dict[str, str | None]:
        """Return the values for the columns of a document."""
        return asdict(self)


NONE = Original()


@dataclass(frozen=True, slots=True)
class StoredOriginal:
    """The original of a document, and how many pages its text has."""

    digest: str
    media_type: str
    file_name: str
    pages: int


def original_of(user_id: int, space_id: int, document_id: int) -> StoredOriginal:
    """Return the file that a document was read from, for members. Raises NotFound, also if only the text is kept."""
    require_member(user_id, space_id)
    row = db.session.execute(
        select(SpaceDocument.digest, SpaceDocument.media_type, SpaceDocument.file_name, SpaceDocument.pages).where(
            SpaceDocument.space_id == space_id, SpaceDocument.document_id == document_id
        )
    ).one_or_none()
    if row is None:
        raise NotFound("There is no such document.")
    if not (row.digest and row.media_type and row.file_name):
        raise NotFound("The original of this document is not kept, only its text.")
    return StoredOriginal(row.digest, row.media_type, row.file_name, row.pages)
