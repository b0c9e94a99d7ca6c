-- Totals of business KPIs by hour and by day, so that reading a month does not read its values.
-- Times are microseconds since 1970, UTC. What is here is made of business_values and kept in the
-- same transactions; the program makes it once for values that came before (docs/internals/kpis.md).
-- tenant_id leads every key and unique index, so that Citus can distribute the tables by it.

CREATE TABLE business_series ( -- a key that an agent has reported
    tenant_id BIGINT NOT NULL,
    series_no BIGINT GENERATED ALWAYS AS IDENTITY,
    key       TEXT   NOT NULL, -- shortened (store/names.h), with the whole of it in full_key
    agent_id  BIGINT NOT NULL,
    full_key  TEXT,
    PRIMARY KEY (tenant_id, series_no)
);

CREATE UNIQUE INDEX business_series_key ON business_series (tenant_id, key, agent_id);

CREATE TABLE business_rollups (
    tenant_id BIGINT   NOT NULL,
    series_no BIGINT   NOT NULL,
    level     SMALLINT NOT NULL, -- 0: of an hour, 1: of a day
    start     BIGINT   NOT NULL,
    state     BYTEA    NOT NULL, -- store/kpi_state.h
    PRIMARY KEY (tenant_id, series_no, level, start)
);

-- The values of one series by time.
DROP INDEX business_values_time;
CREATE INDEX business_values_time ON business_values (tenant_id, key, agent_id, timestamp);

INSERT INTO change_numbers (topic, number) VALUES ('rollups', 0); -- 1: made
