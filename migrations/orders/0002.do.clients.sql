-- Who may call the API, beside the tokens in API_KEYS and OPERATOR_KEYS. Written by `npm run clients` only, read
-- by the API. A client is there as long as one of its tokens is good.
create table client_tokens (
  -- Hex SHA-256 of the token, which is shown once and kept nowhere. A fast digest is right here: the tokens have 256
  -- random bits, so there is nothing to guess from it; a slow one is for passwords, and would cost each request.
  token_digest text primary key check (token_digest ~ '^[0-9a-f]{64}$'),
  -- A tenant places orders, an operator looks after the orders of all tenants.
  kind         text not null check (kind in ('tenant', 'operator')),
  name         text not null check (name ~ '^[A-Za-z0-9._-]{1,64}$'),
  created_at   timestamptz not null default now(),
  -- Null while the token is good without limit; set when it is rotated or revoked, by the database's clock. The row
  -- stays, so that it can be told which tokens there were.
  expires_at   timestamptz
);

-- The command asks by client; the API by digest.
create index client_tokens_client on client_tokens (kind, name);
