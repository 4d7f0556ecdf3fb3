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
