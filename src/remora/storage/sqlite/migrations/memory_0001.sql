CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE migrations (n INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, at INTEGER NOT NULL, version TEXT NOT NULL) STRICT;

-- Small columns first and the content last: a look-up of visibility never touches overflow pages.
CREATE TABLE memories (
  rid INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL, id TEXT NOT NULL, namespace TEXT NOT NULL, status TEXT NOT NULL,
  kind TEXT NOT NULL, base_kind TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  superseded_by TEXT, expires_at INTEGER, valid_from INTEGER, valid_to INTEGER,
  subject_key TEXT, scope TEXT, trust TEXT NOT NULL, sensitivity TEXT NOT NULL, pinned INTEGER NOT NULL,
  importance REAL NOT NULL, confidence REAL NOT NULL, version INTEGER NOT NULL,
  content_hash TEXT NOT NULL, requested_kind TEXT, kind_defaulted INTEGER NOT NULL,
  archived_at INTEGER, deleted_at INTEGER, confirmations INTEGER NOT NULL, last_confirmed_at INTEGER,
  document_id TEXT, chunk_no INTEGER, page INTEGER, lang TEXT,
  tx_from INTEGER NOT NULL, op_id TEXT NOT NULL,
  conversation TEXT, turn REAL, session TEXT, agent TEXT, source_kind TEXT, title TEXT NOT NULL,
  tags TEXT NOT NULL, triggers TEXT NOT NULL, source TEXT NOT NULL, metadata TEXT NOT NULL, content TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX memories_id ON memories (tenant, id);
CREATE UNIQUE INDEX memories_key ON memories (tenant, namespace, subject_key)
  WHERE status = 'active' AND superseded_by IS NULL AND subject_key IS NOT NULL;
CREATE UNIQUE INDEX memories_pending_key ON memories (tenant, namespace, subject_key)
  WHERE status = 'pending' AND subject_key IS NOT NULL;
CREATE UNIQUE INDEX memories_text ON memories (tenant, content_hash, namespace, ifnull(subject_key, ''), ifnull(document_id, ''))
  WHERE status <> 'deleted';
CREATE INDEX memories_tombstones ON memories (tenant, content_hash) WHERE status = 'deleted';
-- Listing, and all that the catalog in memory needs, without reading a row.
CREATE INDEX memories_listing ON memories (tenant, namespace, created_at, id, kind, base_kind, status, superseded_by);
CREATE INDEX memories_bounds ON memories (tenant, expires_at, valid_from, valid_to)
  WHERE expires_at IS NOT NULL OR valid_from IS NOT NULL OR valid_to IS NOT NULL;
CREATE INDEX memories_kind ON memories (tenant, kind, created_at, id);
CREATE INDEX memories_heads ON memories (tenant, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_prefix ON memories (tenant, subject_key) WHERE subject_key IS NOT NULL;
CREATE INDEX memories_turns ON memories (tenant, conversation, turn, created_at, id) WHERE conversation IS NOT NULL;
CREATE INDEX memories_document ON memories (tenant, document_id, chunk_no) WHERE document_id IS NOT NULL;

-- The only definition of what is visible. remora_now() is bound per statement, so that a view has one time.
CREATE VIEW live_memories AS SELECT * FROM memories
  WHERE status = 'active' AND superseded_by IS NULL
    AND (expires_at IS NULL OR expires_at > remora_now())
    AND (valid_from IS NULL OR valid_from <= remora_now()) AND (valid_to IS NULL OR valid_to > remora_now());

CREATE TABLE memory_tags (
  tenant TEXT NOT NULL, tag TEXT NOT NULL, created_at INTEGER NOT NULL, rid INTEGER NOT NULL,
  PRIMARY KEY (tenant, tag, created_at, rid)
) STRICT, WITHOUT ROWID;
CREATE TABLE tag_counts (
  tenant TEXT NOT NULL, namespace TEXT NOT NULL, tag TEXT NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (tenant, namespace, tag)
) STRICT, WITHOUT ROWID;

-- Former states; the present one stands in memories. `row` is the whole memory as JSON.
CREATE TABLE memory_versions (
  tenant TEXT NOT NULL, id TEXT NOT NULL, version INTEGER NOT NULL, tx_from INTEGER NOT NULL, tx_to INTEGER NOT NULL,
  op_id TEXT NOT NULL, row TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX memory_versions_id ON memory_versions (tenant, id, version);
CREATE INDEX memory_versions_time ON memory_versions (tenant, tx_to);

CREATE TABLE ops (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant TEXT NOT NULL, op_id TEXT NOT NULL, batch_id TEXT NOT NULL, kind TEXT NOT NULL, target_type TEXT NOT NULL,
  target TEXT NOT NULL, version INTEGER NOT NULL, at INTEGER NOT NULL, actor TEXT NOT NULL, actor_name TEXT NOT NULL,
  reason TEXT, undoes TEXT, undone_by TEXT, before TEXT, after TEXT
) STRICT;
CREATE UNIQUE INDEX ops_id ON ops (tenant, op_id);
CREATE INDEX ops_target ON ops (tenant, target);
CREATE INDEX ops_batch ON ops (tenant, batch_id);

CREATE TABLE aliases (
  tenant TEXT NOT NULL, alias TEXT NOT NULL, system TEXT NOT NULL, id TEXT NOT NULL,
  PRIMARY KEY (tenant, alias, system, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX aliases_id ON aliases (tenant, id);

CREATE TABLE relations (
  tenant TEXT NOT NULL, id TEXT NOT NULL, src TEXT NOT NULL, dst TEXT NOT NULL, type TEXT NOT NULL, status TEXT NOT NULL,
  version INTEGER NOT NULL, row TEXT NOT NULL, PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX relations_out ON relations (tenant, src, type, dst);
CREATE INDEX relations_in ON relations (tenant, dst, type, src);
CREATE TABLE conflicts (
  tenant TEXT NOT NULL, id TEXT NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL, status TEXT NOT NULL,
  version INTEGER NOT NULL, row TEXT NOT NULL, PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX conflicts_a ON conflicts (tenant, a);
CREATE INDEX conflicts_b ON conflicts (tenant, b);

CREATE TABLE idempotency (
  tenant TEXT NOT NULL, actor TEXT NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, result TEXT NOT NULL,
  PRIMARY KEY (tenant, actor, key)
) STRICT, WITHOUT ROWID;

-- Search. The texts put in are prepared by the service; the words themselves stand only in memories.
CREATE VIRTUAL TABLE words USING fts5(body, ctx, key, tags, title, content='', contentless_delete=1,
  tokenize="unicode61 remove_diacritics 0 tokenchars '_-./:@#'");
CREATE VIRTUAL TABLE words_vocab USING fts5vocab(words, 'row');
CREATE VIRTUAL TABLE grams USING fts5(text, content='', contentless_delete=1, detail=none,
  tokenize='trigram case_sensitive 0 remove_diacritics 1');
CREATE VIRTUAL TABLE grams_vocab USING fts5vocab(grams, 'row');
CREATE TABLE word_tf (rid INTEGER PRIMARY KEY, len INTEGER NOT NULL, speaker TEXT, ctx_hash TEXT NOT NULL, tf BLOB NOT NULL) STRICT;
CREATE INDEX word_lengths ON word_tf (rid, len);
CREATE TABLE word_totals (tenant TEXT PRIMARY KEY, rows INTEGER NOT NULL, length INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE speakers (tenant TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (tenant, namespace, name)) STRICT, WITHOUT ROWID;
CREATE TABLE languages (tenant TEXT NOT NULL, namespace TEXT NOT NULL, lang TEXT NOT NULL, rows INTEGER NOT NULL,
  PRIMARY KEY (tenant, namespace, lang)) STRICT, WITHOUT ROWID;

CREATE TABLE spaces (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, dim INTEGER NOT NULL, label TEXT NOT NULL,
  canaries BLOB NOT NULL, active INTEGER NOT NULL) STRICT;
CREATE TABLE chunks (chunk_rid INTEGER PRIMARY KEY AUTOINCREMENT, rid INTEGER NOT NULL, no INTEGER NOT NULL,
  start INTEGER NOT NULL, "end" INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE INDEX chunks_rid ON chunks (rid, no);
CREATE TABLE embed_queue (space INTEGER NOT NULL, chunk_rid INTEGER NOT NULL, tries INTEGER NOT NULL, not_before INTEGER NOT NULL,
  PRIMARY KEY (space, chunk_rid)) STRICT, WITHOUT ROWID;

-- Which rows changed, for the search structures that every process keeps in memory; rid 0 = reload everything.
CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, rid INTEGER NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE TABLE leases (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
