CREATE TABLE calls (
  id INTEGER PRIMARY KEY,
  ts REAL NOT NULL,
  trace_id TEXT NOT NULL,
  session TEXT,
  principal TEXT,
  client TEXT,
  project TEXT,
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  door TEXT,
  era_front TEXT,
  era_up TEXT,
  outcome TEXT NOT NULL,
  error_category TEXT,
  error_code,                       -- a word of ours or a JSON-RPC number: kept as it came
  error_message TEXT,
  cache TEXT NOT NULL,
  type TEXT,
  strategy TEXT,
  query_source TEXT,
  handle TEXT,
  units_total INTEGER,
  units_kept INTEGER,
  in_bytes INTEGER,
  in_tokens INTEGER,
  out_bytes INTEGER,
  out_tokens INTEGER,
  surfaced_tokens INTEGER,
  ms_upstream REAL,
  ms_clean REAL,
  ms_compress REAL,
  ms_surface REAL,
  ms_total REAL NOT NULL,
  fallback TEXT,
  index_state TEXT
);
CREATE INDEX calls_ts ON calls (ts);
CREATE INDEX calls_session ON calls (session, ts);

CREATE TABLE tool_defs (
  session TEXT PRIMARY KEY,
  ts REAL NOT NULL,
  tokens_upstream INTEGER NOT NULL,
  tokens_listed INTEGER NOT NULL,
  tools INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX tool_defs_ts ON tool_defs (ts);

CREATE TABLE upstream_events (
  id INTEGER PRIMARY KEY,
  ts REAL NOT NULL,
  server TEXT NOT NULL,
  event TEXT NOT NULL,
  detail TEXT NOT NULL
);
CREATE INDEX upstream_events_ts ON upstream_events (ts);

CREATE TABLE manifests (
  server TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  era TEXT,
  payload TEXT NOT NULL,
  ts REAL NOT NULL
);
