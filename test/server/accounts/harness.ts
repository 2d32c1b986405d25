import { join } from 'node:path'
import { mock } from 'node:test'
import type { RegistrationMode } from '../../../src/lib/accounts/protocol.ts'
import type { AccessEntry, Logger } from '../../../src/lib/util/logger.ts'
import { listenerOf } from '../../../src/server/http/app.ts'
import { createAccountsApp } from '../../../src/server/accounts/app.ts'
import { LoginLimits } from '../../../src/server/accounts/login-limits.ts'
import { Passwords } from '../../../src/server/accounts/passwords.ts'
import { SigningKeys } from '../../../src/server/accounts/signing-keys.ts'
import type { AccountTables, AccountAuditEntry } from '../../../src/server/accounts/schema.ts'
import { AccountStore } from '../../../src/server/accounts/store.ts'
import { hashOfSecret } from '../../../src/lib/util/secret.ts'
import { Tokens } from '../../../src/server/accounts/tokens.ts'
import { openDatabase } from '../../../src/server/database/database.ts'
import { ServerSocket } from '../../../src/server/http/server-socket.ts'
import { Metrics } from '../../../src/server/http/metrics.ts'
import { atEnd, newFolder } from '../../helpers/cleanup.ts'
import { type Answer, ask } from '../../helpers/mcp.ts'
import { serverDefaults } from '../../../src/server/http/limits.ts'

export const issuer = 'urn:service-cli:registry:test'

export interface AccountsSettings {
  registration?: RegistrationMode
  /** Default true, as on loopback. */
  local?: boolean
  passwords?: Passwords
  /** The store as the server is to see it. */
  wrap?: (store: AccountStore) => AccountStore
  allowedOrigins?: string[]
  /** `127.0.0.1` lets a test choose addresses with `X-Forwarded-For`. */
  trustedProxies?: string[]
}

export type AccountsServer = Awaited<ReturnType<typeof openAccountsServer>>

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
  call('POST', `${auth}/refresh`, { token, body })

export const rotate = ({ call }: AccountsServer, refresh_token: string) =>
  call('POST', `${auth}/refresh`, { body: { refresh_token } })

export const signUp = ({ call }: AccountsServer, username: unknown, more: object = {}) =>
  call('POST', `${auth}/register`, {
    body: { username, email: 'someone@studio.example', password, ...more },
  })

/** Hashing that costs next to nothing: what it protects from is not what most tests are about. */
export const cheap = { memory: 8, passes: 1, parallelism: 1 }

/** The database of a test in its folder; tests of PostgreSQL name another one. */
export const database = { url: async (): Promise<URL | undefined> => undefined }

/**
 * One registry for all tests of a suite, open from its first test on. Each test has users of its
 * own, and moves time forward alone.
 */
export function sharedAccountsServer(settings: AccountsSettings = {}): AccountsServer {
  const registry = {} as AccountsServer
  before(async () => void Object.assign(registry, await openAccountsServer(settings)))
  return registry
}

/** The time of every server of this process while one is open; timers go on by themselves. */
const clock = {
  users: 0,
  now: () => Date.now(),
  get nowMs() {
    return Date.now()
  },
  set nowMs(now: number) {
    mock.timers.setTime(now)
  },
}

/** A registry on a port and a database of its own, until the end. */
export async function openAccountsServer(settings: AccountsSettings = {}) {
  if (clock.users++ === 0) mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 15, 12) })
  atEnd(() => {
    if (--clock.users === 0) mock.timers.reset()
  })
  const folder = newFolder()
  const { log, logged } = recordingLog()
  const url = await database.url()
  const tables = await openDatabase<AccountTables>({ dataDir: folder, url, create: true })
  const stored = await AccountStore.open(tables)
  atEnd(() => stored.close())
  const store = settings.wrap?.(stored) ?? stored
  const keys = await SigningKeys.open(join(folder, 'signing-keys.json'), { create: true })
  const accessed: AccessEntry[] = []
  const { allowedOrigins, trustedProxies } = settings
  const where = { host: '127.0.0.1', port: 0, allowedOrigins, trustedProxies }
  const app = createAccountsApp({
    store,
    tokens: new Tokens({ store, keys, issuer }),
    passwords: settings.passwords ?? new Passwords(cheap),
    loginLimits: new LoginLimits(tables.pool),
    registration: settings.registration ?? 'open',
    local: settings.local ?? true,
    log,
    keys,
    reach: where,
    metrics: new Metrics('registry', entry => accessed.push(entry)),
  })
  const limits = serverDefaults
  const listener = listenerOf(app)
  const socket = new ServerSocket(where, { limits, log })
  await socket.bind({ listener })
  atEnd(() => socket.stop())
  const base = socket.url
  let registered = 0

  function call(
    method: string,
    path: string,
    { body, token, headers = {} }: CallOptions = {},
  ): Promise<Answer> {
    const json: Record<string, string> =
      body === undefined ? {} : { 'Content-Type': 'application/json' }
    const bearer: Record<string, string> =
      token === undefined ? {} : { Authorization: `Bearer ${token}` }
    const sent = body === undefined ? undefined : asBody(body)
    return ask(base + path, { method, headers: { ...json, ...bearer, ...headers }, body: sent })
  }

  return {
    base,
    store,
    keys,
    /** Set it to move time. */
    clock,
    logged,
    accessed,
    /** An object is sent as JSON. */
    call,
    /** A registered account with its tokens; of a new name where none is given. */
    async register(username = `user-${++registered}`, secret = password): Promise<any> {
      const body = { username, email: `${username}@studio.example`, password: secret }
      const answer = await call('POST', `${auth}/register`, { body })
      if (answer.status !== 201) throw new Error(`register: HTTP ${answer.status} ${answer.text}`)
      return answer.json
    },
    /** Makes the one-time code valid for the user name, for a minute. */
    makeCode: (username: string, code: string) =>
      store.setCode({
        usernameKey: username.toLowerCase(),
        hash: hashOfSecret(code),
        expiresAtMs: Date.now() + 60_000,
      }),
    /** The newest entries first, of one action and one account where they are named. */
    async audited(action?: string, accountId?: string): Promise<AccountAuditEntry[]> {
      const rows = await stored.listAudit({ limit: 1000, accountId })
      return rows.filter(row => action === undefined || row.action === action)
    },
  }
}

function asBody(body: unknown): string | Buffer {
  return typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
}

function recordingLog() {
  const logged: { level: string; fields: any; message: string | undefined }[] = []
  const at = (level: string) => (fields: object, message?: string) =>
    void logged.push({ level, fields, message })
  const log: Logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  return { log, logged }
}

/** The store with some of its methods replaced. */
export function withMethods(store: AccountStore, methods: Partial<AccountStore>): AccountStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

/** Status and problem code of an answer. */
export const outcome = ({ status, json: { code } }: Answer) => [status, code]
