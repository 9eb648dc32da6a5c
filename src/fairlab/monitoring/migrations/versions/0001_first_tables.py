"""The first tables. Whoever changes one writes them out here as they were; a test fails until then."""

from alembic import op

from fairlab.monitoring.store import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    metadata.create_all(op.get_bind())
