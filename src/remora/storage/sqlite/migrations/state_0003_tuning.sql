CREATE TABLE compression_feedback (
  id INTEGER PRIMARY KEY,
  ts REAL NOT NULL,
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  kind TEXT NOT NULL,
  missing TEXT NOT NULL,            -- redacted
  trace_id TEXT,                    -- of the answer it is about, where one was found
  session TEXT
);
CREATE INDEX compression_feedback_tool ON compression_feedback (server, tool, ts);

CREATE TABLE tuning_log (
  id INTEGER PRIMARY KEY,
  ts REAL NOT NULL,
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  rule TEXT NOT NULL,
  field TEXT NOT NULL,
  old TEXT,                         -- JSON; NULL = it was not set
  new TEXT NOT NULL,                -- JSON
  reason TEXT NOT NULL,
  evidence TEXT NOT NULL,           -- JSON
  status TEXT NOT NULL,             -- applied, rolled_back, auto_rolled_back
  by TEXT NOT NULL,                 -- user, auto
  ended REAL                        -- when it was taken back
);

CREATE TABLE summaries (
  key TEXT PRIMARY KEY,
  ts REAL NOT NULL,
  text TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX summaries_ts ON summaries (ts);
