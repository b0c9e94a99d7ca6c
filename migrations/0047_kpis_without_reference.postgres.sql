-- A registration declares up to 1,000 KPIs. Looking up their agent for each of them was half of what it
-- cost the server; it is looked up once, by the statement that locks its row before
-- (features/agents/registrations_store.c). An agent's row goes with its tenant alone, whose erasure
-- looks for KPIs once more before it ends.

ALTER TABLE kpis DROP CONSTRAINT IF EXISTS kpis_tenant_id_agent_id_fkey;
ALTER TABLE kpis DROP CONSTRAINT IF EXISTS kpis_tenant_id_fkey; -- as PostgreSQL named it before 12
