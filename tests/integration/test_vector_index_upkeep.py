"""The index of vectors gives no room back for dead ones: maintenance makes it anew, and no vector is lost by it."""

from pathlib import Path

from memorycore.domain.memory import Memory
from memorycore.domain.text import norm_hash
from memorycore.lifecycle import rows
from memorycore.lifecycle.rows import Cause
from memorycore.search import vector_index
from memorycore.store import vectors
from memorycore.testing import HashingEmbedder
from tests.homes import START, Home

COUNT = 5_200


def test_an_index_half_full_of_dead_vectors_is_made_anew(tmp_path: Path) -> None:
    home = Home(tmp_path)
    embedder = HashingEmbedder()
    with home.core(vectors=True) as core:
        texts = [f"The parcel for desk {number} came from Leeds." for number in range(COUNT)]
        made = embedder.embed_passages(texts)
        with core.db.write() as c:
            number = vectors.fingerprint_id(c, embedder.fingerprint, embedder.width)
            for place, text in enumerate(texts):
                memory = Memory(
                    id=f"m{place}", namespace="default", content=text, norm_hash=norm_hash(text), created_at=START,
                    updated_at=START,
                )  # fmt: skip
                stored = rows.add(c, memory, Cause(actor="test", at=START))
                vectors.attach(c, stored.seq, text, number, made[place : place + 1])
        assert vector_index.catch_up(core.db, embedder.fingerprint, embedder.calibration) == COUNT
        assert not vector_index.is_half_dead(core.db)
        with core.db.write() as c:
            c.execute("DELETE FROM embedding WHERE memory_seq % 5 > 0")
            assert vector_index.load(c)
            c.execute("DELETE FROM memory_vector WHERE rowid NOT IN (SELECT id FROM embedding)")
        assert vector_index.is_half_dead(core.db)
        assert core.maintain(["checkpoint"])["steps"][0]["outcome"] == "done"
        assert not vector_index.is_half_dead(core.db)
        with core.db.read() as c:
            assert c.execute("SELECT count(*) FROM embedding").get == COUNT // 5
        assert core.recall("parcel desk 4")["results"]
