-- Database "orders". Two tables, two writers: the API takes claims, the worker ends orders.
-- Safety rests on the two primary keys and on single-row statements, not on an isolation level.

-- One row per client key: first insert wins, and decides every race at the entry.
-- Written by the API when it takes the claim, by the worker when the order ends, deleted by the purge.
create table claims (
  tenant         text not null check (char_length(tenant) between 1 and 64),
  -- The operation the key belongs to, 'POST:/orders': one key may serve two operations.
  scope          text not null check (char_length(scope) between 1 and 64),
  -- Hex SHA-256 of the key. The raw key is kept beside it for people who ask about "their" key.
  key_digest     text not null check (key_digest ~ '^[0-9a-f]{64}$'),
  -- Null when the row was rebuilt from Temporal, which never sees a raw key.
  idempotency_key text check (char_length(idempotency_key) between 1 and 255),
  -- Hex SHA-256 of the canonical request: tells "again" from "another request under the same key".
  request_hash   text not null check (request_hash ~ '^[0-9a-f]{64}$'),
  -- What the claim creates, here an order id. No foreign key: order rows and claims end at different times.
  resource_id    text not null check (char_length(resource_id) between 1 and 64),
  workflow_id    text not null check (char_length(workflow_id) between 1 and 255),
  status         text not null default 'processing' check (status in ('processing', 'completed')),
  -- The saved answer, written once by the worker; all null while processing.
  answer_status  integer check (answer_status between 200 and 599),
  answer_headers jsonb,
  answer_body    text,
  created_at     timestamptz not null default now(),
  -- Null while processing: an unfinished claim never expires.
  completed_at   timestamptz,
  -- completed_at + the TTL, by the database's clock; null while processing.
  expires_at     timestamptz,
  primary key (tenant, scope, key_digest),
  check ((status = 'completed') = (completed_at is not null and expires_at is not null
    and answer_status is not null and answer_headers is not null and answer_body is not null))
);

-- The worker and the repair come with an order id, not with a key.
create index claims_resource_id on claims (resource_id);
-- The purge reads finished claims only, oldest first.
create index claims_expires_at on claims (expires_at) where expires_at is not null;

-- One row per order, kept for ever. Inserted by the API together with the claim; from then on written by
-- the worker, but for cancel_requested_at and checked_at.
create table orders (
  order_id       text primary key check (order_id ~ '^ORD-[0-9a-f]{32}$'),
  tenant         text not null check (char_length(tenant) between 1 and 64),
  workflow_id    text not null check (char_length(workflow_id) between 1 and 255),
  -- Null when the row was rebuilt from Temporal, which never sees the user.
  user_id        text check (char_length(user_id) between 1 and 64),
  amount_minor   integer not null check (amount_minor > 0), -- 1999 is 19.99 EUR, 1000 is 1000 JPY
  currency       text not null check (currency ~ '^[A-Z]{3}$'),
  items          jsonb not null,
  payment_method text not null check (char_length(payment_method) between 1 and 64),
  status         text not null default 'processing'
    check (status in ('processing', 'compensating', 'needs_attention', 'confirmed', 'cancelled')),
  -- Null until it is decided whether the order is kept or undone, then never changed: whoever comes second
  -- follows. This is what keeps a terminate, a reset or a slow commit from both confirming and refunding.
  decision       text check (decision in ('keep', 'undo')),
  -- Why the order is undone; null until then, and for ever on a kept order.
  reason         text,
  -- Steps and undos as GET /orders/{orderId} shows them; null until the first decision.
  steps          jsonb,
  -- The workflow that decided to undo: the order's own, or a repair. An operator's word goes to it. Null until
  -- then, and for ever on a kept order. Written by the worker.
  undone_by      text check (char_length(undone_by) between 1 and 255),
  -- When the reconciler last looked at the open order; null until it did.
  checked_at     timestamptz,
  -- When a client asked to cancel; null where nobody did. Written by the API.
  cancel_requested_at timestamptz,
  created_at     timestamptz not null default now(),
  updated_at     timestamptz not null default now(),
  check ((decision is not distinct from 'undo') = (reason is not null)),
  check (status <> 'confirmed' or decision = 'keep'),
  check (status not in ('cancelled', 'compensating', 'needs_attention') or decision = 'undo')
);

-- The reconciler reads orders that are not final, those first that were looked at longest ago.
create index orders_open on orders (coalesce(checked_at, updated_at)) where status not in ('confirmed', 'cancelled');
create index orders_tenant_created on orders (tenant, created_at desc, order_id desc);
