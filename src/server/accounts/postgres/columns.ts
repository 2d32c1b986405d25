/** The columns that only accounts have, named as the members of `AccountRow`. */
export const ownAccountColumns = `username, username_key AS "usernameKey", email,
  email_key AS "emailKey", password_hash AS "passwordHash", disabled_at_ms AS "disabledAtMs", team`

/** All columns of an account. */
export const accountColumns = `accounts.id, accounts.created_at_ms AS "createdAtMs",
  ${ownAccountColumns}`
