import { randomBytes } from 'node:crypto'
import type { z } from 'zod'
import { accountKey, registerRequest, teamName } from '../../lib/accounts/wire.ts'
import { ServiceError, usage } from '../../lib/util/errors.ts'
import { hashOfSecret } from '../../lib/util/secret.ts'
import { cleanText } from '../../lib/util/text.ts'
import { toRfc3339 } from '../../lib/util/time.ts'
import { openDatabase } from '../database/database.ts'
import type { AccountRow, AccountTables, AccountAuditEntry } from './schema.ts'
import { AccountStore } from './store.ts'

const inviteMs = 7 * 24 * 60 * 60 * 1000

/** The data of an accounts server for its operator, whether that runs or not. */
export class Admin implements AsyncDisposable {
  readonly store: AccountStore

  private constructor(store: AccountStore) {
    this.store = store
  }

  /** Creates nothing. Throws `storage_failed` when there is no accounts server. */
  static async open(place: { dataDir: string; database?: URL }): Promise<Admin> {
    const { dataDir, database: url } = place
    const database = await openDatabase<AccountTables>({ dataDir, url, create: false })
    return new Admin(await AccountStore.open(database, false))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.store.close()
  }

  /** By user name or email address, as for a login. Throws `request_refused` when there is none. */
  async findUser(name: string): Promise<AccountRow> {
    const account = await this.store.findAccount(accountKey(name))
    if (account !== null) return account
    throw new ServiceError('request_refused', `there is no account "${cleanText(name, 100)}"`, {
      hint: 'service-cli registry users list shows them',
    })
  }

  /** Makes a code for a new account. */
  async addUser(username: string) {
    refuseInvalid(registerRequest.shape.username, username, 'user name')
    const usernameKey = accountKey(username)
    if ((await this.store.findAccount(usernameKey)) !== null) {
      const hint = `service-cli registry users reset-code ${username} makes a code for a lost password`
      throw new ServiceError('request_refused', `the account "${username}" exists`, { hint })
    }
    const made = await this.makeCode(usernameKey, inviteMs)
    await this.record('code.created', null, { username, expires_at: made.expires_at })
    return { username, ...made }
  }

  /** Changes what is given. A team of null: in none. */
  async setUser(name: string, changes: { team?: string | null; email?: string }) {
    const { id, username, ...before } = await this.findUser(name)
    const team = changes.team === undefined ? before.team : (changes.team?.toLowerCase() ?? null)
    if (team !== null) refuseInvalid(teamName, team, 'team name')
    const email = (changes.email ?? before.email).normalize('NFC')
    refuseInvalid(registerRequest.shape.email, email, 'email address')
    const emailKey = accountKey(email)
    const holder = await this.store.findAccount(emailKey)
    if (holder !== null && holder.id !== id) {
      throw new ServiceError('request_refused', `another account has the address "${email}"`)
    }
    await this.store.updateAccount(id, { team, email, emailKey })
    await this.record('account.changed', id, { team, email })
    return { id, username, email, team }
  }

  /** A one-time code of the user name, in place of an earlier one. */
  async makeCode(usernameKey: string, validMs: number) {
    const code = randomBytes(16).toString('hex')
    const expiresAtMs = Date.now() + validMs
    await this.store.setCode({ usernameKey, hash: hashOfSecret(code), expiresAtMs })
    return { code, expires_at: toRfc3339(expiresAtMs) }
  }

  /** Stores what the operator, who has no account, did to an account. */
  async record(
    action: string,
    accountId: string | null,
    details: AccountAuditEntry['details'] = {},
  ): Promise<void> {
    const row = { atMs: Date.now(), action, accountId, address: null }
    await this.store.audit({ ...row, details: { by: 'owner', ...details } })
  }
}

/** Throws `usage_invalid`, with the rule as the hint. */
function refuseInvalid(schema: z.ZodType, text: string, what: string): void {
  const { error } = schema.safeParse(text)
  if (error === undefined) return
  const message = `"${cleanText(text, 100)}" is not a valid ${what}`
  throw usage(message, `the ${what} ${error.issues[0]?.message}`)
}
