import { findAccount } from './find-account.ts'
import type { Admin } from './open-admin.ts'

/** Every login of the account ends; its service tokens do not. */
export async function endSessions(admin: Admin, name: string) {
  const { id, username } = await findAccount(admin, name)
  const ended = await admin.store.revokeSessions(id, 'ended_by_owner', admin.clock.now())
  await admin.record('sessions.ended', id, { ended })
  return { id, username, ended }
}
