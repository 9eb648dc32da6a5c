"""When a look may be due and when rows were last deleted by age stand with the investigation; sizes with the look."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

LOOKS = sa.table(
    "looks", *map(sa.column, ("investigation", "number")), *(sa.column(of, sa.JSON) for of in ("report", "summary"))
)


def upgrade() -> None:
    """Add the columns; each investigation is to be asked whether a look is due."""
    for name in ("due_rows", "due_time", "retained"):
        op.add_column("investigations", sa.Column(name, sa.BigInteger, nullable=False, server_default="0"))
    op.execute("UPDATE investigations SET retained = created")
    is_due = sa.text("complete >= due_rows")
    op.create_index("investigations_due", "investigations", ["due_time"], sqlite_where=is_due, postgresql_where=is_due)
    op.add_column("looks", sa.Column("summary", sa.JSON))
    for one in op.get_bind().execute(sa.select(LOOKS).where(sa.text("state = 'done'"))).all():
        summary = {kind: len(found) for kind, found in one.report["changes"].items()}
        summary["findings"] = sum(of["significant"] for section in one.report["sections"] for of in section["contexts"])
        same = (LOOKS.c.investigation == one.investigation, LOOKS.c.number == one.number)
        op.execute(sa.update(LOOKS).where(*same).values(summary=summary))
