-- Database "payment". Written by the payment service only; nothing is ever updated or deleted.
-- Safety rests on three primary keys and "insert … on conflict do nothing": who loses reads the winner.

-- Every Idempotency-Key ever used, of charges and refunds alike, with the request that it stands for.
-- The same key with another request, or for another operation, is refused.
create table idempotency_keys (
  key        text primary key check (char_length(key) between 1 and 255),
  request    jsonb not null,
  created_at timestamptz not null default clock_timestamp()
);

-- One row per forward key: a charge, a remembered refusal and a void meet here, and the first insert wins.
create table charges (
  charge_key     text primary key check (char_length(charge_key) between 1 and 255),
  -- 'void': the undo came first. The row bars the charge, should a late attempt still arrive.
  -- 'refusal': declined. Nothing moved, so it is no line of the ledger; it answers the repeats.
  kind           text not null check (kind in ('charge', 'refusal', 'void')),
  order_id       text not null check (char_length(order_id) between 1 and 64),
  amount_minor   integer not null check (amount_minor >= 0), -- 1999 is 19.99 EUR; 0 when void
  -- ISO 4217; null when void: an undo knows no currency.
  currency       text check (currency ~ '^[A-Z]{3}$'),
  -- The clock of the insert, not of the transaction: a refund is then never older than its charge.
  created_at     timestamptz not null default clock_timestamp(),
  check ((kind = 'void') = (currency is null)),
  check ((kind = 'void') = (amount_minor = 0))
);
create index charges_order_id on charges (order_id);
create index charges_created_at on charges (created_at);

-- One refund per charge, whatever undo key it comes with: hence the charge's key is the primary key.
create table refunds (
  charge_key   text primary key references charges (charge_key),
  -- The undo key whose call moved the money; later ones are in idempotency_keys only.
  refund_key   text not null check (char_length(refund_key) between 1 and 255),
  order_id     text not null check (char_length(order_id) between 1 and 64),
  amount_minor integer not null check (amount_minor > 0), -- the whole charge: there are no partial refunds
  currency     text not null check (currency ~ '^[A-Z]{3}$'),
  created_at   timestamptz not null default clock_timestamp()
);
create index refunds_order_id on refunds (order_id);
create index refunds_created_at on refunds (created_at);
