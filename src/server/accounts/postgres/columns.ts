/** The columns of an account, named as the members of `AccountRow`. */
export const accountColumns = `accounts.id, username, username_key AS "usernameKey", email,
  email_key AS "emailKey", password_hash AS "passwordHash",
  accounts.created_at_ms AS "createdAtMs", disabled_at_ms AS "disabledAtMs", team`
