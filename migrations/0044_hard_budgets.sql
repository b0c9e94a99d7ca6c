-- 0044: how many hard budgets a tenant's rules have, so that those that stop agents are found fast.
ALTER TABLE alert_rules ADD COLUMN hard_budgets INTEGER NOT NULL DEFAULT 0;
CREATE INDEX alert_rules_hard ON alert_rules (tenant_id) WHERE hard_budgets > 0;
