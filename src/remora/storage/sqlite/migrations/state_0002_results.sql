CREATE TABLE stash (
  handle TEXT PRIMARY KEY,
  original BLOB NOT NULL,           -- zstd
  cleaned BLOB,                     -- zstd; NULL where it is the original
  chars INTEGER NOT NULL,
  size INTEGER NOT NULL,            -- bytes of both blobs
  kind TEXT NOT NULL,
  cleaned_kind TEXT NOT NULL,
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  trace_id TEXT NOT NULL,
  created REAL NOT NULL,
  used REAL NOT NULL
);
CREATE INDEX stash_used ON stash (used, size);

CREATE TABLE stash_owners (
  handle TEXT NOT NULL,
  principal TEXT NOT NULL,
  PRIMARY KEY (handle, principal)
) WITHOUT ROWID;

CREATE TABLE recoveries (
  id INTEGER PRIMARY KEY,
  ts REAL NOT NULL,
  handle TEXT NOT NULL,
  call_id INTEGER,                  -- the newest reduced call that delivered this handle
  session TEXT,
  mode TEXT NOT NULL,
  out_tokens INTEGER NOT NULL
);
CREATE INDEX recoveries_ts ON recoveries (ts);
CREATE INDEX recoveries_call ON recoveries (call_id);
CREATE INDEX calls_handle ON calls (handle, ts) WHERE handle IS NOT NULL;
ALTER TABLE calls ADD COLUMN call_key TEXT;  -- hash of session, server, tool and arguments
CREATE INDEX calls_key ON calls (call_key, ts) WHERE call_key IS NOT NULL;

CREATE TABLE cache (
  key TEXT PRIMARY KEY,
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  result BLOB NOT NULL,             -- zstd
  size INTEGER NOT NULL,
  created REAL NOT NULL,
  expires REAL,                     -- NULL: until it is invalidated
  used REAL NOT NULL
);
CREATE INDEX cache_used ON cache (used, size);
CREATE INDEX cache_server ON cache (server, tool);
