"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ID, BIG, JSON = sa.Integer, sa.BigInteger, sa.JSON


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "tokens",
        sa.Column("id", ID, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("created", BIG, nullable=False),
        sa.Column("revoked", BIG),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "investigations",
        sa.Column("id", ID, primary_key=True),
        sa.Column("registration", sa.Text, nullable=False),
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("created", BIG, nullable=False),
        sa.Column("categories", JSON, nullable=False),
        sa.Column("decided", BIG, nullable=False),
        sa.Column("complete", BIG, nullable=False),
        sa.Column("counts", JSON, nullable=False),
        sa.Column("time", BIG, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "decisions",
        sa.Column("investigation", ID, primary_key=True, autoincrement=False),
        sa.Column("position", BIG, primary_key=True, autoincrement=False),
        sa.Column("event", sa.LargeBinary, nullable=False),
        sa.Column("person", sa.LargeBinary),
        sa.Column("training", sa.Boolean, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("complete", BIG),
        sa.Index("decisions_event", "investigation", "event", unique=True),
        sa.Index("decisions_complete", "investigation", "complete"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "batches",
        sa.Column("id", ID().with_variant(BIG, "postgresql"), primary_key=True),
        sa.Column("investigation", ID, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("key", sa.Text),
        sa.Column("body", sa.LargeBinary),
        sa.Column("answer", JSON, nullable=False),
        sa.Column("time", BIG, nullable=False),
        sa.Column("decided", BIG, nullable=False),
        sa.Column("counts", JSON, nullable=False),
        sa.Index("batches_key", "investigation", "kind", "key", unique=True),
        sa.Index("batches_time", "investigation", "time"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "looks",
        sa.Column("investigation", ID, primary_key=True, autoincrement=False),
        sa.Column("number", ID, primary_key=True, autoincrement=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("level", sa.Float, nullable=False),
        sa.Column("after", BIG, nullable=False),
        sa.Column("until", BIG, nullable=False),
        sa.Column("attempts", ID, nullable=False),
        sa.Column("started", BIG, nullable=False),
        sa.Column("finished", BIG),
        sa.Column("largest_p_value", sa.Float),
        sa.Column("report", JSON),
        sa.Column("notice_due", BIG),
        sa.Column("notice_attempts", ID, nullable=False),
        sa.Column("notice_answer", sa.Text),
    )
