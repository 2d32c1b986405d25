import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { accountKey, registerRequest, usernamePattern } from '../../lib/accounts/wire.ts'
import { withFileLock } from '../../lib/config/private-file.ts'
import { errnoOf, messageOf, ServiceError, usage } from '../../lib/util/errors.ts'
import { fsyncDirectory } from '../../lib/util/posix.ts'
import { cleanText, isUuid } from '../../lib/util/text.ts'
import { rfc3339OrNull, toRfc3339 } from '../../lib/util/time.ts'
import { type Database, openDatabase } from '../database/database.ts'
import { SigningKeys } from './signing-keys.ts'
import type { AccountRow, AccountTables, AuditEntry, ServiceTokenRow } from './schema.ts'
import { AccountStore } from './store.ts'
import { hashOfSecret } from './tokens.ts'

const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs

/** Teams are words in lower case. */
const teamPattern = /^[a-z0-9](?:[a-z0-9]|[._-](?=[a-z0-9])){0,63}$/

/** What an operator does to the data of an accounts server, whether that runs or not. */
export class Admin implements AsyncDisposable {
  readonly #keyFile: string
  readonly #database: Database<AccountTables>
  readonly #store: AccountStore

  private constructor(dataDir: string, database: Database<AccountTables>, store: AccountStore) {
    this.#keyFile = join(dataDir, 'signing-keys.json')
    this.#database = database
    this.#store = store
  }

  /** Creates nothing. Throws `storage_failed` when there is no accounts server. */
  static async open(place: { dataDir: string; database?: URL }): Promise<Admin> {
    const { dataDir, database: url } = place
    const database = await openDatabase<AccountTables>({ dataDir, url, create: false })
    return new Admin(dataDir, database, await AccountStore.open(database, false))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#store.close()
  }

  /** By user name or email address, as for a login. Throws `request_refused` when there is none. */
  async findUser(name: string): Promise<AccountRow> {
    const account = await this.#store.findAccount(accountKey(name))
    if (account !== null) return account
    throw new ServiceError('request_refused', `there is no account "${cleanText(name, 100)}"`, {
      hint: 'service-cli registry users list shows them',
    })
  }

  async listUsers() {
    const accounts = await this.#store.listAccounts()
    const users = accounts.map(({ id, username, email, team, createdAtMs, disabledAtMs }) => ({
      id,
      username,
      email,
      team,
      created_at: toRfc3339(createdAtMs),
      disabled_at: rfc3339OrNull(disabledAtMs),
    }))
    return { users }
  }

  /** Makes a code for a new account, in place of an earlier one. */
  async addUser(username: string) {
    if (!usernamePattern.test(username)) {
      const hint = 'use 3 to 64 letters and digits, with single . _ - between them'
      throw usage(`"${cleanText(username, 100)}" is not a valid user name`, hint)
    }
    const usernameKey = accountKey(username)
    if ((await this.#store.findAccount(usernameKey)) !== null) {
      const hint = `service-cli registry users reset-code ${username} makes a code for a lost password`
      throw new ServiceError('request_refused', `the account "${username}" exists`, { hint })
    }
    const made = await this.#makeCode(usernameKey, 7 * dayMs)
    await this.#record('code.created', null, { username, expires_at: made.expires_at })
    return { username, ...made }
  }

  /** Makes a code for a lost password, and ends every session and service token. */
  async makeResetCode(name: string) {
    const { id, username, usernameKey, disabledAtMs } = await this.findUser(name)
    if (disabledAtMs !== null) {
      const hint = `service-cli registry users enable ${username}`
      throw new ServiceError('request_refused', `the account "${username}" is disabled`, { hint })
    }
    const made = await this.#makeCode(usernameKey, hourMs)
    const ended = await this.#store.endAccess(id)
    await this.#record('code.created', id, { expires_at: made.expires_at })
    return { id, username, ...endedView(ended), ...made }
  }

  /** Changes what is given. A team of null: in none. */
  async setUser(name: string, changes: { team?: string | null; email?: string }) {
    const { id, username, ...before } = await this.findUser(name)
    const team = changes.team === undefined ? before.team : (changes.team?.toLowerCase() ?? null)
    if (team !== null && !teamPattern.test(team)) {
      const hint = 'use 1 to 64 letters and digits, with single . _ - between them'
      throw usage(`"${cleanText(team, 100)}" is not a valid team name`, hint)
    }
    const email = (changes.email ?? before.email).normalize('NFC')
    if (!registerRequest.shape.email.safeParse(email).success) {
      const hint = 'an address has an @, and no spaces or control characters'
      throw usage(`"${cleanText(email, 100)}" is not a valid email address`, hint)
    }
    const emailKey = accountKey(email)
    const holder = await this.#store.findAccount(emailKey)
    if (holder !== null && holder.id !== id) {
      throw new ServiceError('request_refused', `another account has the address "${email}"`)
    }
    await this.#store.updateAccount(id, { team, email, emailKey })
    await this.#record('account.changed', id, { team, email })
    return { id, username, email, team }
  }

  /** Ends every session and service token, too. */
  async disableUser(name: string) {
    const { id, username } = await this.findUser(name)
    const ended = await this.#store.disableAccount(id, Date.now())
    await this.#record('account.disabled', id)
    return { id, username, disabled: true, ...endedView(ended) }
  }

  async enableUser(name: string) {
    const { id, username } = await this.findUser(name)
    await this.#store.updateAccount(id, { disabledAtMs: null })
    await this.#record('account.enabled', id)
    return { id, username, disabled: false }
  }

  /** The audit entries stay. */
  async deleteUser(name: string) {
    const { id, username, usernameKey } = await this.findUser(name)
    await this.#store.deleteAccount(id, usernameKey)
    await this.#record('account.deleted', id, { username })
    return { id, username, deleted: true }
  }

  /** Newest first. `name` may be the id of a deleted account. */
  async readAudit({ name, limit }: { name?: string; limit: number }) {
    let accountId = name
    if (name !== undefined && !isUuid(name)) accountId = (await this.findUser(name)).id
    const rows = await this.#store.listAudit({ limit, accountId })
    const entries = rows.map(({ atMs, accountId, ...row }) => ({
      timestamp: toRfc3339(atMs),
      account_id: accountId,
      ...row,
    }))
    return { entries }
  }

  /** Publishes the next signing key, or signs with it. A running server follows within seconds. */
  async rotateKey({ activate }: { activate: boolean }) {
    const kid = await withFileLock(`${this.#keyFile}.lock`, async () => {
      const keys = await SigningKeys.open(this.#keyFile, { create: false })
      return activate ? keys.activate() : keys.rotate()
    })
    const state = activate ? 'signing' : 'next'
    await this.#record('keys.rotated', null, { kid, state })
    return { kid, state, file: this.#keyFile }
  }

  /** Writes database and keys to a new folder, whole or not at all. */
  async backUp(folder: string) {
    if (this.#database.pool !== null) {
      const hint = 'use pg_dump, and keep a copy of signing-keys.json in the data folder'
      throw usage('registry backup works on files, not on PostgreSQL', hint)
    }
    if (existsSync(folder)) {
      const hint = 'name a new folder with --out'
      throw new ServiceError('file_exists', `${folder} exists already`, { hint })
    }
    const temporary = `${folder}.${randomBytes(8).toString('hex')}.tmp`
    const copy = join(temporary, 'registry.db')
    const keyCopy = join(temporary, 'signing-keys.json')
    try {
      await mkdir(temporary, { mode: 0o700 })
      await sql`vacuum into ${copy}`.execute(this.#database.db)
      await copyFile(this.#keyFile, keyCopy)
      for (const file of [copy, keyCopy]) {
        await chmod(file, 0o600)
        await using handle = await open(file, 'r+')
        await handle.sync()
      }
      await fsyncDirectory(temporary)
      await rename(temporary, folder)
      await fsyncDirectory(dirname(folder))
    } catch (error) {
      await rm(temporary, { recursive: true, force: true })
      if (errnoOf(error) === null) throw error
      const message = `the backup ${folder} cannot be made: ${messageOf(error)}`
      throw new ServiceError('storage_failed', message, { cause: error })
    }
    await this.#record('registry.backed_up', null)
    return { folder }
  }

  async #makeCode(usernameKey: string, validMs: number) {
    const code = randomBytes(16).toString('hex')
    const expiresAtMs = Date.now() + validMs
    await this.#store.setCode({ usernameKey, hash: hashOfSecret(code), expiresAtMs })
    return { code, expires_at: toRfc3339(expiresAtMs) }
  }

  /** An operator acts without an account. */
  async #record(
    action: string,
    accountId: string | null,
    details: AuditEntry['details'] = {},
  ): Promise<void> {
    const row = { atMs: Date.now(), action, accountId, address: null }
    await this.#store.audit({ ...row, details: { by: 'owner', ...details } })
  }
}

function endedView({ sessions, tokens }: { sessions: number; tokens: ServiceTokenRow[] }) {
  return { ended_sessions: sessions, ended_tokens: tokens.map(({ id, name }) => ({ id, name })) }
}
