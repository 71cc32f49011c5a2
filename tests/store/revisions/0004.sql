DROP TABLE job_run;
CREATE TABLE job_run ( id VARCHAR(36) NOT NULL, job VARCHAR(40) NOT NULL, space VARCHAR(200) NOT NULL, state VARCHAR(10) NOT NULL, payload JSON NOT NULL, attempts INTEGER NOT NULL, due_at BIGINT NOT NULL, started_at BIGINT, ended_at BIGINT, outcome TEXT, error TEXT, CONSTRAINT pk_job_run PRIMARY KEY (id) );
CREATE INDEX ix_job_run_state_due_at ON job_run (state, due_at);
CREATE INDEX ix_job_run_space_job_ended_at ON job_run (space, job, ended_at);
ALTER TABLE message ADD COLUMN working BOOLEAN DEFAULT 0 NOT NULL;
CREATE INDEX ix_message_working ON message (space, channel) WHERE working IS 1;
