-- Whether it is known that an account belongs to the owner of its e-mail address. Of accounts that
-- exist it is known of those that the platform made: platform admins, and people of an identity
-- provider.

ALTER TABLE users ADD COLUMN confirmed BIGINT NOT NULL DEFAULT 0;  -- 1: the account is the owner's
ALTER TABLE users ADD COLUMN made_in   BIGINT NOT NULL DEFAULT 0;  -- the tenant whose admin made it; 0: none

UPDATE users SET confirmed = 1
 WHERE platform_role = 0 OR user_id IN (SELECT user_id FROM user_identities);
UPDATE users SET made_in = (SELECT MIN(tenant_id) FROM user_roles r WHERE r.user_id = users.user_id)
 WHERE user_id IN (SELECT user_id FROM user_roles GROUP BY user_id HAVING COUNT(*) = 1);
