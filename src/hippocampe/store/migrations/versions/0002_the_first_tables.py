"""The first tables"""

import sqlalchemy as sa
from alembic import op

from hippocampe.store import sqlite

revision = "0002"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "api_key",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("hash", sa.String(length=128), nullable=False),
        sa.Column("label", sa.String(length=200), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_key")),
        sa.UniqueConstraint("hash", name=op.f("uq_api_key_hash")),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(
        op.f("ix_audit_space_created_at"), "audit", ["space", "created_at"], unique=False
    )
    op.create_table(
        "job_run",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("job", sa.String(length=40), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_run")),
    )
    op.create_index(
        op.f("ix_job_run_job_started_at"), "job_run", ["job", "started_at"], unique=False
    )
    op.create_table(
        "memory",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.Column("collection", sa.String(length=20), nullable=False),
        sa.Column("type", sa.String(length=20), nullable=False),
        sa.Column("category", sa.String(length=40), nullable=True),
        sa.Column("key", sa.String(length=200), nullable=True),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("subjects", sa.JSON(), nullable=False),
        sa.Column("importance", sa.Float(), nullable=False),
        sa.Column("source", sa.String(length=200), nullable=False),
        sa.Column("user", sa.String(length=200), nullable=True),
        sa.Column("channel", sa.String(length=200), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("occurred_at", sa.BigInteger(), nullable=True),
        sa.Column("last_accessed_at", sa.BigInteger(), nullable=True),
        sa.Column("access_count", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("forgotten_at", sa.BigInteger(), nullable=True),
        sa.Column("forgotten_reason", sa.Text(), nullable=True),
        sa.Column("superseded_by", sa.String(length=36), nullable=True),
        sa.Column("superseded_at", sa.BigInteger(), nullable=True),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.Column("equality", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memory")),
    )
    op.create_index(op.f("ix_memory_expires_at"), "memory", ["expires_at"], unique=False)
    op.create_index(
        "ix_memory_identity",
        "memory",
        ["space", "collection", "type", "importance"],
        unique=False,
        sqlite_where=sa.text("type = 'identity'"),
    )
    op.create_index(
        op.f("ix_memory_space_collection_channel_importance"),
        "memory",
        ["space", "collection", "channel", "importance"],
        unique=False,
    )
    op.create_index(
        op.f("ix_memory_space_collection_created_at"),
        "memory",
        ["space", "collection", "created_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_memory_space_collection_equality"),
        "memory",
        ["space", "collection", "equality"],
        unique=False,
    )
    op.create_index(
        op.f("ix_memory_space_collection_importance"),
        "memory",
        ["space", "collection", "importance"],
        unique=False,
    )
    op.create_index(op.f("ix_memory_space_key"), "memory", ["space", "key"], unique=False)
    op.create_index(op.f("ix_memory_superseded_by"), "memory", ["superseded_by"], unique=False)
    op.create_table(
        "meta",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_meta")),
    )
    op.create_table(
        "model_usage",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("purpose", sa.String(length=40), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("injected_tokens", sa.Integer(), nullable=False),
        sa.Column("price", sa.Float(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_usage")),
    )
    op.create_index(
        op.f("ix_model_usage_space_created_at"),
        "model_usage",
        ["space", "created_at"],
        unique=False,
    )
    op.create_table(
        "note",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.Column("source", sa.String(length=200), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("heading", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=32), nullable=False),
        sa.Column("modified_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_note")),
    )
    op.create_index(op.f("ix_note_space_source"), "note", ["space", "source"], unique=False)
    op.create_table(
        "outbox",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("item_id", sa.String(length=36), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_outbox")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "retrieval",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.Column("user", sa.String(length=200), nullable=True),
        sa.Column("channel", sa.String(length=200), nullable=True),
        sa.Column("message_preview", sa.Text(), nullable=False),
        sa.Column("memories_injected", sa.Integer(), nullable=False),
        sa.Column("notes_injected", sa.Integer(), nullable=False),
        sa.Column("tokens_added", sa.Integer(), nullable=False),
        sa.Column("took_ms", sa.Float(), nullable=False),
        sa.Column("stages", sa.JSON(), nullable=False),
        sa.Column("missing", sa.JSON(), nullable=False),
        sa.Column("skipped", sa.String(length=40), nullable=True),
        sa.Column("signals", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_retrieval")),
    )
    op.create_index(
        op.f("ix_retrieval_space_created_at"), "retrieval", ["space", "created_at"], unique=False
    )
    op.create_table(
        "setting",
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("space", "name", name=op.f("pk_setting")),
    )
    op.create_table(
        "turn",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.Column("channel", sa.String(length=200), nullable=False),
        sa.Column("author", sa.String(length=200), nullable=True),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("previous_id", sa.String(length=36), nullable=True),
        sa.Column("next_id", sa.String(length=36), nullable=True),
        sa.Column("session", sa.String(length=36), nullable=False),
        sa.Column("forgotten_at", sa.BigInteger(), nullable=True),
        sa.Column("forgotten_reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turn")),
    )
    op.create_index(op.f("ix_turn_previous_id"), "turn", ["previous_id"], unique=False)
    op.create_index(op.f("ix_turn_space_at"), "turn", ["space", "at"], unique=False)
    op.create_index(
        op.f("ix_turn_space_channel_at"), "turn", ["space", "channel", "at"], unique=False
    )
    op.create_table(
        "vector",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.Column("dense", sa.LargeBinary(), nullable=False),
        sa.Column("words", sa.LargeBinary(), nullable=False),
        sa.Column("traits", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", "model", name=op.f("pk_vector")),
    )
    op.create_index(op.f("ix_vector_space_kind"), "vector", ["space", "kind"], unique=False)
    op.create_table(
        "word",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("model", sa.String(length=200), nullable=False),
        sa.Column("text", sa.String(length=200), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_word")),
        sa.UniqueConstraint("model", "text", name=op.f("uq_word_model_text")),
    )
    op.create_table(
        "alias",
        sa.Column("memory_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("other", sa.String(length=200), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["memory.id"], name=op.f("fk_alias_memory_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("memory_id", "name", "other", name=op.f("pk_alias")),
    )
    op.create_index(op.f("ix_alias_space_name"), "alias", ["space", "name"], unique=False)
    op.create_index(op.f("ix_alias_space_other"), "alias", ["space", "other"], unique=False)
    op.create_table(
        "association",
        sa.Column("source_id", sa.String(length=36), nullable=False),
        sa.Column("target_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("review", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["source_id"], ["memory.id"], name=op.f("fk_association_source_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["target_id"], ["memory.id"], name=op.f("fk_association_target_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("source_id", "target_id", "kind", name=op.f("pk_association")),
    )
    op.create_index(
        op.f("ix_association_space_review"), "association", ["space", "review"], unique=False
    )
    op.create_index(op.f("ix_association_target_id"), "association", ["target_id"], unique=False)
    op.create_table(
        "claim",
        sa.Column("memory_id", sa.String(length=36), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.Column("relation", sa.String(length=60), nullable=False),
        sa.Column("subject", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["memory.id"], name=op.f("fk_claim_memory_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("memory_id", name=op.f("pk_claim")),
    )
    op.create_index(
        op.f("ix_claim_space_relation_subject"),
        "claim",
        ["space", "relation", "subject"],
        unique=False,
    )
    op.create_table(
        "message",
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.Column("channel", sa.String(length=200), nullable=False),
        sa.Column("author", sa.String(length=200), nullable=True),
        sa.Column("role", sa.String(length=20), nullable=True),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("external_id", sa.String(length=200), nullable=True),
        sa.Column("reply_to", sa.String(length=200), nullable=True),
        sa.Column("turn_id", sa.String(length=36), nullable=True),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["turn_id"], ["turn.id"], name=op.f("fk_message_turn_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_message")),
        sa.UniqueConstraint("id", name=op.f("uq_message_id")),
        sa.UniqueConstraint(
            "space", "channel", "external_id", name=op.f("uq_message_space_channel_external_id")
        ),
    )
    op.create_index(op.f("ix_message_external_id"), "message", ["external_id"], unique=False)
    op.create_index(op.f("ix_message_space_at"), "message", ["space", "at"], unique=False)
    op.create_index(
        op.f("ix_message_space_channel_at"), "message", ["space", "channel", "at"], unique=False
    )
    op.create_index(op.f("ix_message_space_live"), "message", ["space", "live"], unique=False)
    op.create_index(op.f("ix_message_turn_id"), "message", ["turn_id"], unique=False)
    op.create_table(
        "retrieval_item",
        sa.Column("retrieval_id", sa.String(length=36), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=10), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("path", sa.String(length=20), nullable=False),
        sa.Column("outcome", sa.String(length=40), nullable=False),
        sa.Column("signals", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["retrieval_id"],
            ["retrieval.id"],
            name=op.f("fk_retrieval_item_retrieval_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("retrieval_id", "position", name=op.f("pk_retrieval_item")),
    )
    op.create_table(
        "subject",
        sa.Column("memory_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("space", sa.String(length=200), nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["memory.id"], name=op.f("fk_subject_memory_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("memory_id", "name", name=op.f("pk_subject")),
    )
    op.create_index(
        op.f("ix_subject_space_name_memory_id"),
        "subject",
        ["space", "name", "memory_id"],
        unique=False,
    )
    sqlite.create_extras(op.get_bind())
