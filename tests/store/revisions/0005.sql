CREATE TABLE reply ( space VARCHAR(200) NOT NULL, "key" VARCHAR(200) NOT NULL, request VARCHAR(64) NOT NULL, status INTEGER, body BLOB, created_at BIGINT NOT NULL, CONSTRAINT pk_reply PRIMARY KEY (space, "key") );
CREATE INDEX ix_reply_created_at ON reply (created_at);
