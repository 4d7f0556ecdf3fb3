"""The tables of the first version, gathered from the modules beside this one."""

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def table(name: str, *items: sa.schema.SchemaItem) -> None:
    """Describe a table of the first version."""
    sa.Table(name, metadata, *items, mysql_charset="utf8mb4", mysql_engine="InnoDB")


def belongs_to(name: str, key: str, *, is_key: bool = False) -> sa.Column[int]:
    """Describe a reference to the row that this one is deleted with; `is_key`: it is part of the primary key."""
    return sa.Column(name, sa.Integer, sa.ForeignKey(key, ondelete="CASCADE"), nullable=False, primary_key=is_key)
