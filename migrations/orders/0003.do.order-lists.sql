-- Lists of orders, newest first. Each index ends in what a page is ordered by, so that a page is read and
-- nothing is sorted, however many orders a tenant has. An unfiltered list has orders_tenant_created.
create index orders_tenant_status_created on orders (tenant, status, created_at desc, order_id desc);
create index orders_tenant_user_created on orders (tenant, user_id, created_at desc, order_id desc);
-- What needs a person, of all tenants: the operators' list.
create index orders_attention_created on orders (created_at desc, order_id desc) where status = 'needs_attention';
