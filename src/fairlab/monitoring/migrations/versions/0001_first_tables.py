"""The first tables; until a version is released, they are those of the current code."""

from alembic import op

from fairlab.monitoring.store import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    metadata.create_all(op.get_bind())
