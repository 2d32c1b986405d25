import { Metrics } from '../../../src/server/http/metrics.ts'
import { createSecretKey, randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import type { AccessEntry, Logger } from '../../../src/lib/util/logger.ts'
import type { Clock } from '../../../src/lib/util/time.ts'
import type { AccountStore, AuditRow } from '../../../src/server/accounts/account-store.ts'
import { corsMethods, createAccountsListener } from '../../../src/server/accounts/app.ts'
import type { AuditTrail } from '../../../src/server/accounts/audit-trail.ts'
import type { KeySource } from '../../../src/server/accounts/access-tokens.ts'
import type { KeySet } from '../../../src/server/accounts/keys/key-ring.ts'
import { type AccountLimits, resolveAccountLimits } from '../../../src/server/accounts/limits.ts'
import type { Passwords } from '../../../src/server/accounts/password-hashing.ts'
import type { RegistrationMode } from '../../../src/lib/accounts/protocol.ts'
import { createAccountServices } from '../../../src/server/accounts/services.ts'
import { openSqliteStore } from '../../../src/server/accounts/sqlite/sqlite-store.ts'
import { createRequestChecks } from '../../../src/server/http/request-checks.ts'
import { listen } from '../../../src/server/http/listen.ts'
import { type Answer, ask } from '../../helpers/mcp.ts'
import { checkAnswer } from './openapi-check.ts'
import { type Bounds, boundsWith } from '../../helpers/bounds.ts'

export const issuer = 'urn:service-cli:registry:test'

export interface AccountsSettings {
  registration?: RegistrationMode
  /** Default true, as on loopback. */
  local?: boolean
  limits?: Partial<AccountLimits>
  serverLimits?: Partial<Bounds>
  passwords?: Passwords
  audit?: AuditTrail
  /** The store as the server is to see it. */
  wrap?: (store: AccountStore) => AccountStore
  allowedOrigins?: string[]
  /** `127.0.0.1` lets a test choose addresses with `X-Forwarded-For`. */
  trustedProxies?: string[]
}

export interface AccountsServer {
  readonly base: string
  /** Of the database. */
  readonly folder: string
  readonly store: AccountStore
  readonly keys: KeySource
  /** Set it to move time. */
  readonly clock: { nowMs: number; now(): number }
  readonly logged: { level: string; fields: any; message: string | undefined }[]
  readonly accessed: AccessEntry[]
  /** An object is sent as JSON; every answer is held against the OpenAPI document. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  /** A registered account with its tokens; of a new name where none is given. */
  register(username?: string, password?: string): Promise<any>
  /** The newest entries first, of one action and one account where they are named. */
  audited(action?: string, accountId?: string): Promise<AuditRow[]>
}

export interface CallOptions {
  body?: unknown
  token?: string
  headers?: Record<string, string>
}

export const auth = '/api/v1/auth'
export const password = 'a long and honest phrase'

export const logIn = (
  { call }: AccountsServer,
  username: unknown,
  secret: unknown = password,
  headers: Record<string, string> = {},
) => call('POST', `${auth}/login`, { body: { username, password: secret }, headers })

/** The body of a login that succeeds. */
export async function loggedIn(registry: AccountsServer, username = 'alice', secret = password) {
  const { status, text, json } = await logIn(registry, username, secret)
  if (status !== 200) throw new Error(`login: HTTP ${status} ${text}`)
  return json
}

/** 'ok', or the problem code of the refusal of an access token. */
export async function meCode({ call }: AccountsServer, token: string): Promise<string> {
  const { status, json } = await call('GET', `${auth}/me`, { token })
  return status === 200 ? 'ok' : json.code
}

export const refresh = ({ call }: AccountsServer, token: string, body?: unknown) =>
  call('POST', `${auth}/refresh`, { token, ...(body === undefined ? {} : { body }) })

export const signUp = ({ call }: AccountsServer, username: unknown, more: object = {}) =>
  call('POST', `${auth}/register`, {
    body: { username, email: 'someone@studio.example', password, ...more },
  })

/** Hashing that costs next to nothing: what it protects from is not what most tests are about. */
export const cheapHashing = { passwordHashBytes: 8 * 1024, passwordHashPasses: 1 }

/** Opens the store of a test; the tests of another store replace it. */
export const stores = {
  open: (folder: string, clock: Clock, log: Logger): Promise<AccountStore> =>
    openSqliteStore({ file: join(folder, 'registry.db'), clock, log }),
}

/** A registry on a port of its own for the length of a check, on a database of its own. */
export async function withAccountsServer(
  check: (registry: AccountsServer) => Promise<unknown>,
  settings: AccountsSettings = {},
): Promise<void> {
  await using opened = new AsyncDisposableStack()
  await check(await open(settings, opened))
}

/**
 * One registry for all tests of a suite, open from its first test on. Each test has users of its
 * own, and moves time forward alone.
 */
export function sharedAccountsServer(settings: AccountsSettings = {}): AccountsServer {
  const registry = {} as AccountsServer
  const opened = new AsyncDisposableStack()
  before(async () => void Object.assign(registry, await open(settings, opened)))
  after(() => opened.disposeAsync())
  return registry
}

async function open(
  settings: AccountsSettings,
  opened: AsyncDisposableStack,
): Promise<AccountsServer> {
  const folder = await mkdtemp(join(tmpdir(), 'registry-test-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const clock = { nowMs: Date.UTC(2026, 0, 15, 12), now: () => clock.nowMs }
  const { log, logged } = recordingLog()
  const stored = await stores.open(folder, clock, log)
  opened.defer(() => stored.close())
  const store = settings.wrap?.(stored) ?? stored
  const keys = await makeKeys()
  const accessed: AccessEntry[] = []
  const { passwords } = settings
  const made = createAccountServices({
    store,
    keys,
    issuer,
    registration: settings.registration ?? 'open',
    local: settings.local ?? true,
    limits: resolveAccountLimits({ ...cheapHashing, ...settings.limits }),
    clock,
    log,
    ...(passwords === undefined ? {} : { passwords }),
  })
  const services = { ...made, audit: settings.audit ?? made.audit }
  const limits = boundsWith(settings.serverLimits)
  const { allowedOrigins, trustedProxies } = settings
  const where = { host: '127.0.0.1', port: 0, allowedOrigins, trustedProxies }
  const listener = createAccountsListener({
    services,
    ...createRequestChecks(where, corsMethods),
    version: '0.0.0',
    limits,
    log,
    metrics: new Metrics('registry', entry => accessed.push(entry)),
  })
  const listening = await listen(where, { listener, limits, log })
  opened.defer(() => listening.stop(() => {}))
  const base = `http://127.0.0.1:${listening.address.port}`

  let registered = 0

  async function call(
    method: string,
    path: string,
    { body, token, headers = {} }: CallOptions = {},
  ): Promise<Answer> {
    const answer = await ask(base + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: asBody(body) }),
    })
    await checkAnswer(base, method, path, answer)
    return answer
  }

  return {
    base,
    folder,
    store,
    keys,
    clock,
    logged,
    accessed,
    call,
    async register(username = `user-${++registered}`, secret = password) {
      const body = { username, email: `${username}@studio.example`, password: secret }
      const answer = await call('POST', `${auth}/register`, { body })
      if (answer.status !== 201) throw new Error(`register: HTTP ${answer.status} ${answer.text}`)
      return answer.json
    },
    async audited(action, accountId) {
      const rows = await stored.listAudit({ limit: 1000, accountId })
      return rows.filter(row => action === undefined || row.action === action)
    },
  }
}

function asBody(body: unknown): string | Buffer {
  return typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
}

function recordingLog() {
  const logged: AccountsServer['logged'] = []
  const at = (level: string) => (fields: object, message?: string) =>
    void logged.push({ level, fields, message })
  const log: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  return { log, logged }
}

/** Keys in memory. */
export async function makeKeys(): Promise<KeySource> {
  const { kid, privateKey, publicKey, jwk } = await makeSigningKey()
  const refresh = { id: 1, key: createSecretKey(randomBytes(32)) }
  const keys: KeySet = {
    signing: { kid, alg: 'ES256', key: privateKey },
    verifying: new Map([[kid, publicKey]]),
    jwks: { keys: [jwk] },
    refresh,
    refreshKeys: new Map([[refresh.id, refresh.key]]),
  }
  return { current: () => keys }
}

export async function makeSigningKey() {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const shown = await exportJWK(publicKey)
  const kid = await calculateJwkThumbprint(shown)
  return { kid, privateKey, publicKey, jwk: { ...shown, kid, alg: 'ES256', use: 'sig' } }
}

/** Status and problem code of an answer. */
export const outcome = ({ status, json: { code } }: Answer) => [status, code]
