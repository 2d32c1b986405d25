import type { Migration } from '../../database/migrations.ts'

/** Texts are compared byte by byte: `"C"`. Leases and ages are by the clock of the database. */
const joined = `
-- Gateways that run. A lease that is not renewed runs out.
CREATE TABLE gateways (
  id TEXT COLLATE "C" PRIMARY KEY,
  -- Where the others reach it, and what they present there.
  address TEXT NOT NULL,
  secret TEXT NOT NULL,
  lease_until TIMESTAMPTZ NOT NULL
);

-- An instance id belongs to the account that first used it.
CREATE TABLE joined_ids (
  instance_id TEXT COLLATE "C" PRIMARY KEY,
  account_id TEXT COLLATE "C" NOT NULL,
  used_at TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX joined_ids_of_account ON joined_ids (account_id, used_at);

-- Numbers of links and of changes: the later one is the larger one.
CREATE SEQUENCE joined_changes;

CREATE TABLE joined_instances (
  instance_id TEXT COLLATE "C" PRIMARY KEY,
  account_id TEXT COLLATE "C" NOT NULL,
  -- Whose it is, as JSON.
  principal TEXT NOT NULL,
  -- As it was told.
  record TEXT NOT NULL,
  link BIGINT NOT NULL,
  -- The gateway that holds the link; null: it is lost.
  gateway TEXT COLLATE "C",
  -- Why and when it was lost, or the instance ended.
  cause TEXT NOT NULL DEFAULT '',
  lost_at TIMESTAMPTZ,
  -- Listed no more: it stays for a while, so that every gateway learns the cause.
  is_over BOOLEAN NOT NULL DEFAULT false,
  change BIGINT NOT NULL
);
CREATE INDEX joined_instances_of_account ON joined_instances (account_id);
CREATE INDEX joined_instances_of_gateway ON joined_instances (gateway);
`

/**
 * Each change of a link is one event, however many gateways see it: the trigger writes it in the
 * transaction of the change.
 */
const events = `
CREATE TABLE gateway_events (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  event TEXT NOT NULL,
  dcc_type TEXT NOT NULL,
  instance_id TEXT NOT NULL,
  reason TEXT,
  -- The gateway that tells it, and its number there; null: of a link.
  gateway TEXT COLLATE "C",
  number BIGINT,
  UNIQUE (gateway, number)
);

CREATE FUNCTION record_link_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  before TEXT := 'gone';
  after TEXT := CASE WHEN NEW.is_over THEN 'gone' WHEN NEW.gateway IS NULL THEN 'lost' ELSE 'open' END;
  dcc_type TEXT;
BEGIN
  IF TG_OP = 'UPDATE' THEN
    before := CASE WHEN OLD.is_over THEN 'gone' WHEN OLD.gateway IS NULL THEN 'lost' ELSE 'open' END;
  END IF;
  IF before = after THEN
    RETURN NULL;
  END IF;
  BEGIN
    dcc_type := NEW.record::json ->> 'dcc_type';
  EXCEPTION WHEN OTHERS THEN
    -- A text that PostgreSQL cannot hold, such as U+0000.
    dcc_type := NULL;
  END;
  INSERT INTO gateway_events (event, dcc_type, instance_id, reason) VALUES (
    CASE
      WHEN after = 'gone' THEN 'instance_gone'
      WHEN after = 'lost' THEN 'instance_stale'
      WHEN before = 'lost' THEN 'instance_recovered'
      ELSE 'instance_appeared'
    END,
    coalesce(dcc_type, 'unknown'),
    left(NEW.instance_id, 8),
    CASE after
      WHEN 'gone' THEN NEW.cause
      WHEN 'lost' THEN 'its link is lost: ' || NEW.cause
      ELSE 'its link is open'
    END
  );
  RETURN NULL;
END $$;
CREATE TRIGGER joined_instances_event AFTER INSERT OR UPDATE ON joined_instances
  FOR EACH ROW EXECUTE FUNCTION record_link_event();
`

export const migrations: readonly Migration[] = [
  { number: 1, name: 'joined', sql: joined },
  { number: 2, name: 'events', sql: events },
]
