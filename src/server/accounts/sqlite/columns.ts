/** The columns of an account, named as the members of `AccountRow`. */
export const accountColumns = `id, username, username_key AS usernameKey, email,
  email_key AS emailKey, password_hash AS passwordHash, created_at_ms AS createdAtMs,
  disabled_at_ms AS disabledAtMs, team`
