-- Database "inventory". Written by the inventory service only. Ledger rows are never changed once their
-- transaction has ended; stock rows are. Every transaction locks in one order, so none can deadlock:
-- idempotency_keys, reservations, releases, then stock by ascending SKU.

-- Every Idempotency-Key ever used, of reservations and releases alike, with the request that it stands for.
-- The same key with another request, or for another operation, is refused.
create table idempotency_keys (
  key        text primary key check (char_length(key) between 1 and 255),
  request    jsonb not null,
  created_at timestamptz not null default clock_timestamp()
);

-- Units by SKU. on_hand is set by PUT /stock/{sku} and at the first start; reserved moves with the ledger.
create table stock (
  sku      text primary key check (char_length(sku) between 1 and 64),
  on_hand  integer not null check (on_hand >= 0),
  -- Units promised to orders. The check is the last guard against overselling.
  reserved integer not null default 0 check (reserved between 0 and on_hand)
);

-- One row per forward key: a reservation, a remembered refusal and a void meet here, and the first insert
-- wins.
create table reservations (
  reservation_key text primary key check (char_length(reservation_key) between 1 and 255),
  -- 'void': the undo came first. The row bars the reservation, should a late attempt still arrive.
  -- 'refusal': out of stock. Nothing moved, so it is no line of the ledger; it answers the repeats.
  kind            text not null check (kind in ('reservation', 'refusal', 'void')),
  order_id        text not null check (char_length(order_id) between 1 and 64),
  items           jsonb not null check (jsonb_typeof(items) = 'array'), -- [{sku, quantity}]; [] when void
  -- The clock of the insert, not of the transaction: a release is then never older than its reservation.
  created_at      timestamptz not null default clock_timestamp(),
  check ((kind = 'void') = (items = '[]'::jsonb))
);
create index reservations_order_id on reservations (order_id);
create index reservations_created_at on reservations (created_at);

-- One release per reservation, whatever undo key it comes with: hence the reservation's key is the
-- primary key.
create table releases (
  reservation_key text primary key references reservations (reservation_key),
  -- The undo key whose call gave the stock back; later ones are in idempotency_keys only.
  release_key     text not null check (char_length(release_key) between 1 and 255),
  order_id        text not null check (char_length(order_id) between 1 and 64),
  items           jsonb not null check (jsonb_typeof(items) = 'array'), -- those of the reservation
  created_at      timestamptz not null default clock_timestamp()
);
create index releases_order_id on releases (order_id);
create index releases_created_at on releases (created_at);
