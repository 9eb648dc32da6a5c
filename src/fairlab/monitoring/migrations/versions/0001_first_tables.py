"""The first tables. The first change of them puts here what they were before it."""

from alembic import op

from fairlab.monitoring.store import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    metadata.create_all(op.get_bind())
